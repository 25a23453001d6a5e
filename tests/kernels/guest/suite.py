# SPDX-License-Identifier: BSD-2-Clause
"""Runs the demo and tests of the tree in a guest, one after the other, as tests/run does on the machine that asks."""
import ctypes
import errno
import glob
import importlib.machinery
import importlib.util
import os
import signal
import subprocess
import tempfile
import time

from tracing import lib

DEMO, DEMO_SECONDS = "demos/demo.sh", "3"
PYTHON = "tests/symbol/test_python.py"
DEMO_SAYS = ("nothing was lost", "$ gpumemtrace report build/demo.gmt", "$ gpumemtrace oom build/demo-oom/")
SCRIPT_SECONDS = 2400                   # of one test's file: twice as long as tests/run gives it
LOOK_SECONDS, BEAT_SECONDS = 1, 60      # a guest that says nothing for long is taken for dead (STALL_SECONDS of machine.py)
LAST_LINES = 12                         # of what a script says that fails without a case
MOST_BYTES = 4 << 20


FINIT_MODULE = {"x86_64": 313, "aarch64": 273}


def load_modules():
    """Of the kernel, what the image has (MODULES of image.py): what is wrong."""
    libc, wrong = ctypes.CDLL(None, use_errno=True), []
    for path in glob.glob("/modules/*.ko"):
        with open(path, "rb") as file:
            if libc.syscall(FINIT_MODULE[os.uname().machine], file.fileno(), b"", 0):
                why = ctypes.get_errno()
                wrong += [f"{path} is not loaded: {os.strerror(why)}"] if why != errno.EEXIST else []
    return wrong


def loaded(path):
    """A module of a script without an ending."""
    loader = importlib.machinery.SourceFileLoader(os.path.basename(path) + "_script", path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


def scripts(words):
    """The demo and the tests with real probes whose path has one of the words."""
    paths = [DEMO, *(os.path.relpath(path, lib.TOP) for path in sorted(glob.glob(lib.TOP + "/tests/bpf/test_*"))), PYTHON]
    return [path for path in paths if any(word in path for word in words)]


def ran(argv, beat, env):
    """(exit status, whether the time was up, standard output, standard error); beat(output) now and then meanwhile."""
    begin = told = time.monotonic()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = subprocess.Popen(argv, cwd=lib.TOP, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True,
                                 env=dict(os.environ, BUILD=lib.BUILD, TOP=lib.TOP, **env))
        while child.poll() is None and time.monotonic() - begin < SCRIPT_SECONDS:
            try:
                child.wait(LOOK_SECONDS)
            except subprocess.TimeoutExpired:
                pass
            if time.monotonic() - told > BEAT_SECONDS:
                told = time.monotonic()
                beat(text_of(out))
        timed_out = child.poll() is None
        try:
            os.killpg(child.pid, signal.SIGKILL)        # and what the script has left
        except ProcessLookupError:
            pass
        return child.wait(), timed_out, text_of(out), text_of(err)


def text_of(file):
    return os.pread(file.fileno(), MOST_BYTES, 0).decode(errors="replace")


def said_of(text, runner):
    """[[case, "ok", "not ok" or "skip", why]] of TAP."""
    found = []
    for line in text.splitlines():
        result = runner.RESULT.match(line)
        if result:
            is_bad, number, name, word, why = result.groups()
            is_skipped = bool(word) and word.upper() == "SKIP"
            found.append([name.strip() or number, "skip" if is_skipped else "not ok" if is_bad else "ok", (why or "").strip()])
        elif found and found[-1][1] == "not ok" and line.startswith("#"):
            found[-1][2] = (found[-1][2] + "\n" + line.lstrip("# ")).strip()
    return found


def cases_of(status, timed_out, out, err):
    """As said_of(), with what the runner says of a script that crashes, hangs or runs too few cases."""
    runner = loaded(os.path.join(lib.TOP, "tests/run"))
    cases = said_of(out, runner)
    outcome = runner.judge(out, status, timed_out, SCRIPT_SECONDS)
    if not cases and outcome.skipped and not outcome.failed:
        return [["all of it", "skip", outcome.notes[0].removeprefix("skip ")]]
    told = {"FAIL " + name for name, how, _ in cases if how == "not ok"}
    last = "\n".join((out + err).splitlines()[-LAST_LINES:])
    return cases + [["the script", "not ok", f"{note.removeprefix('FAIL ')}\n{last}"] for note in outcome.notes
                    if note.startswith("FAIL ") and note not in told]


def demo_of(status, timed_out, out, err):
    """The demo ends well and shows the report, the same report from the recording, and the dump of what went wrong."""
    wrong = ["it had not ended"] if timed_out else [f"exit status {status}"] if status else []
    wrong += [f"it does not say {line!r}" for line in DEMO_SAYS if line not in out]
    last = (out + err).splitlines()[-LAST_LINES:] if wrong else []
    return [["the demo", "not ok" if wrong else "ok", "\n".join(wrong + last)]]


def told(words, tell, **env):
    """({script: how many of its cases ended how, and its seconds}, what is wrong)"""
    facts, wrong = {}, load_modules()
    for script in scripts(words):
        begin = time.monotonic()
        argv = [os.path.join(lib.TOP, script)] + ([DEMO_SECONDS] if script == DEMO else [])
        tell(doing=f"suite, {script}", facts={})
        got = ran(argv, lambda out: tell(doing=f"suite, {script}, after {(out.splitlines() or ['nothing'])[-1][:200]}", facts={}), env)
        cases = demo_of(*got) if script == DEMO else cases_of(*got)
        seconds = round(time.monotonic() - begin, 1)
        tell(script=script, cases=cases, seconds=seconds)
        ends = [how for _, how, _ in cases]
        facts[script] = {how: ends.count(how) for how in ("ok", "not ok", "skip")} | {"seconds": seconds}
        wrong += [f"{script}: {name}" for name, how, _ in cases if how == "not ok"]
    return facts, wrong if facts else ["no test has such a name"]
