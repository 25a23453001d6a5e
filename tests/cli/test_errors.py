#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Each wrong usage and each bad input ends with a sentence on standard error and its exit status; needs no root, GPU or
driver."""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lint"))
from tap import BUILD, TOP, Tap  # noqa: E402

sys.path.insert(1, os.path.join(TOP, "tests"))
from patience import PATIENCE  # noqa: E402

TOOL = os.path.join(BUILD, "gpumemtrace")
NOBODY = 65534


def drop_root():
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)


def run(*args, **options):
    """As nobody, with nothing on standard input unless the test says otherwise."""
    options.setdefault("stdin", subprocess.DEVNULL)
    options.setdefault("stdout", subprocess.PIPE)
    return subprocess.run([tool, *args], stderr=subprocess.PIPE, text=True, timeout=PATIENCE, preexec_fn=drop_root,
                          check=False, **options)


def speaks(result, code, *words):
    """What is wrong with an error: the status, or a sentence on standard error that does not say this."""
    if result.returncode != code:
        yield f"exit status {result.returncode}, not {code}: {result.stderr.strip()}"
    if not re.match(r"gpumemtrace: .*\w", result.stderr):
        yield f"no sentence on standard error: {result.stderr!r}"
    for word in words:
        if word not in result.stderr:
            yield f"it does not say {word!r}: {result.stderr!r}"


def silent(result):
    if result.stdout:
        yield f"something on standard output: {result.stdout[:200]!r}"


def usage():
    for args in [[], ["--bogus"], ["-p"], ["-p", "1,"], ["-p", "0"], ["--unit", "a/b"], ["--slurm-job", "x"], ["--cgroup", "/"],
                 ["--pod", "a_b"], ["ps", "x"], ["ps", "-p", "1"], ["1234"], ["-a", "-p", "1"], ["replay"], ["-a", "-d", "-1"],
                 ["-a", "-i", "0"], ["--"], ["-a", "--ring-size", "x"], ["-a", "--layers", "gpu"], ["replay", "-q"]]:
        result = run(*args)
        for wrong in [*speaks(result, 2), *silent(result)]:
            yield f"{args}: {wrong}"


def informs():
    for option, word in (("--help", "What is traced:"), ("--version", "gpumemtrace ")):
        result = run(option)
        if result.returncode or word not in result.stdout or result.stderr:
            yield f"{option}: status {result.returncode}, {result.stdout[:80]!r}, {result.stderr[:80]!r}"


def without_root():
    for args in (["-a"], ["-p", str(os.getpid())]):
        result = run(*args)
        yield from speaks(result, 4, "CAP_BPF")
        yield from silent(result)
    yield from speaks(run("--", "true"), 125, "CAP_BPF")


def doctor():
    result = run("doctor")
    if result.returncode != 4 or "MISSING" not in result.stdout or "->" not in result.stdout:
        yield f"as nobody: status {result.returncode}, {result.stdout[:200]!r}"
    try:
        json.loads(run("doctor", "--json").stdout)
    except ValueError as error:
        yield f"--json: {error}"


def no_recording(folder):
    files = {"text": b"hello\n", "empty": b"", "binary": bytes(range(256))}
    for name, data in files.items():
        with open(os.path.join(folder, name), "wb") as file:
            file.write(data)
        yield from speaks(run("replay", os.path.join(folder, name)), 1)
    yield from speaks(run("replay", os.path.join(folder, "missing")), 1, "missing")
    yield from speaks(run("replay", folder), 1)
    yield from speaks(run("replay", "-"), 1)


def report(*args, **options):
    """The last line of --json, or None."""
    result = run("replay", "--json", *args, **options)
    lines = result.stdout.splitlines()
    return result, json.loads(lines[-1]) if lines else None


def replays():
    for path in recordings:
        result, made = report(path)
        if result.returncode or not made or made["type"] != "report" or not made["processes"]:
            yield f"{path}: status {result.returncode}, {result.stderr.strip()}"
        with open(path, "rb") as file:
            piped = run("replay", "--json", "-", stdin=file)
        again = json.loads(piped.stdout.splitlines()[-1]) if piped.stdout else {}
        if {**again, "made_at": None} != {**(made or {}), "made_at": None}:
            yield f"{path}: another report when it comes through standard input"


def truncated(folder):
    """Cut anywhere: a clean end, a note, and with --strict status 5."""
    path = os.path.join(folder, "cut.gmt")
    with open(max(recordings, key=os.path.getsize), "rb") as file:
        data = file.read()
    for size in range(len(data) // 23, len(data) - 1, len(data) // 23):
        with open(path, "wb") as file:
            file.write(data[:size])
        result, made = report(path)
        if result.returncode not in (0, 1) or (result.returncode == 0 and not made["notes"]):
            yield f"{size} of {len(data)} bytes: status {result.returncode}, {result.stderr.strip()}"
        if "incomplete" not in result.stderr and "recording" not in result.stderr:
            yield f"{size} bytes: nothing is said of it"
    yield from speaks(run("replay", "--strict", path), 5)


def damaged(folder):
    """A byte changed anywhere is noticed, or changes nothing."""
    path = os.path.join(folder, "bad.gmt")
    with open(recordings[0], "rb") as file:
        data = bytearray(file.read())
    _, wanted = report(recordings[0])
    for at in range(3, len(data), len(data) // 40):
        data[at] ^= 0x41
        with open(path, "wb") as file:
            file.write(data)
        data[at] ^= 0x41
        result, made = report(path)
        if result.returncode < 0 or result.returncode > 1:
            yield f"byte {at}: status {result.returncode}"
        if result.returncode == 0 and not result.stderr and made["processes"] != wanted["processes"]:
            yield f"byte {at}: another report, and nothing is said of it"


def output_fails():
    with open("/dev/full", "w", encoding="utf-8") as full:
        yield from speaks(run("replay", recordings[0], stdout=full), 1, "No space left")
    reader, writer = os.pipe()
    os.close(reader)
    result = run("replay", recordings[0], stdout=writer)
    os.close(writer)
    if result.returncode < 0 and result.returncode != -13:
        yield f"nobody reads: killed by signal {-result.returncode}"


def outputs_clash(place):
    """A recording stays whole when an output has its name, and two outputs have one name each, however they are spelled."""
    folder = os.path.join(place, "clash")
    os.mkdir(folder)
    os.chmod(folder, 0o777)
    path, twice = os.path.join(folder, "run.gmt"), os.path.join(folder, "twice")
    with open(recordings[0], "rb") as file:
        data = file.read()
    with open(path, "wb") as file:
        file.write(data)
    os.chmod(path, 0o666)
    os.symlink("run.gmt", os.path.join(folder, "link"))
    dotted = os.path.join(folder, ".", "run.gmt")
    for words in (("report", path, "--html", path), ("report", path, "--folded", dotted), ("replay", f"--json={path}", path),
                  ("report", path, "--sqlite", os.path.join(folder, "link")), ("records", f"--json={path}", path),
                  ("diff", recordings[0], f"{path}@peak", "--html", path), ("diff", path, recordings[0], "--html", dotted)):
        yield from speaks(run(*words), 2, "is the recording that is read")
        with open(path, "rb") as file:
            if file.read() != data:
                yield f"{' '.join(words)}: the recording is another"
    yield from speaks(run("report", path, "--html", twice, "--folded", os.path.join(folder, ".", "twice")), 2, "two outputs")
    yield from speaks(run("-o", path, "--html", dotted, "--", "true"), 125, "two outputs")
    for other in ("/dev/null", twice):   # devices are for any number, and an old output is written again
        result = run("report", path, "-q", "--html", other, "--folded", "/dev/null")
        if result.returncode or result.stderr:
            yield f"{other}: {result.stderr.strip()}"


def descriptors_are_closed(place):
    """The file of the output does not get the number of a standard descriptor, which has other uses."""
    path = os.path.join(place, "list.json")
    result = subprocess.run(["sh", "-c", f'"$0" list --json="{path}" <&- 2>&-', TOOL], capture_output=True, check=False)
    if result.returncode or result.stdout:
        yield f"status {result.returncode}, on standard output: {result.stdout[:80]!r}"
    with open(path, "rb") as file:
        if json.load(file)["type"] != "probes":
            yield "the file has something else"


with tempfile.TemporaryDirectory(prefix="gmt-cli-") as place:
    os.chmod(place, 0o755)
    # Copies, for the tree may be in a folder that only root can enter. The binary needs nothing beside it.
    tool = shutil.copy(TOOL, place)
    recordings = [shutil.copy(path, place) for path in sorted(glob.glob(os.path.join(TOP, "tests/data/*.gmt")))]
    for path in (tool, *recordings):
        os.chmod(path, 0o755)
    tap = Tap()
    tap.check("wrong usage is status 2 and a sentence", usage())
    tap.check("--help and --version go to standard output", informs())
    tap.check("without root: status 4 (125 with a command), and what would help", without_root())
    tap.check("doctor says what is missing and the remedy", doctor())
    tap.check("what is no recording is refused with status 1", no_recording(place))
    tap.check("recordings replay without root, from a file and a pipe", replays())
    tap.check("a truncated recording gives what is whole and says so; --strict makes it 5", truncated(place))
    tap.check("a damaged recording never crashes it or passes unnoticed", damaged(place))
    tap.check("a full disk or a closed pipe on standard output", output_fails())
    tap.check("no output takes the place of a recording that is read, or of another output", outputs_clash(place))
    tap.check("closed standard descriptors are no place for files", descriptors_are_closed(place))
tap.done()
