#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Whichever call fails, a command on a file gives its whole output, or ends with a sentence and a documented status.

Commands that write to standard output: each call fails once, in a child of one run (fail_which.c), up to 200 calls from
one place. Other commands: for each stack from which a call is made, the first call and a later one fail, in a run of its
own. FAULTS=all lets each call fail, and each alone and with all that follow.
"""
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from cases import TOP, check, done, skip  # noqa: E402

sys.path.insert(0, os.path.join(TOP, "tests/faults"))
import faultlib  # noqa: E402
from faultlib import Fault, Table, faults_of  # noqa: E402

DUMP = os.path.join(TOP, "tests/data/kept/train-oom-dump.gmt")
RUN = os.path.join(TOP, "tests/data/kept/torch-late.gmt")
KINDS = ("malloc", "open", "read", "write", "mmap", "files", "wait", "thread")
MOST = {} if faultlib.ALL else {"FAULT_MOST": "200"}
OLD = b"what was there before"

# They have one thread and write only to standard output.
PRINTING = (["report", RUN], ["report", "--full", DUMP], ["replay", "--json", RUN], ["oom", DUMP], ["oom", "--json", DUMP],
            ["oom", os.path.dirname(DUMP)], ["diff", RUN + "@1s", DUMP], ["diff", "--json", RUN, "@end"], ["report", RUN, DUMP],
            ["records", DUMP], ["records", "--json", RUN], ["list"], ["list", "--json"],
            ["help"], ["help", "report"], ["version"])


def commands(folder):
    """(name, arguments, file that is written), of commands that need a run for each fault"""
    file = os.path.join(folder, "written")
    yield "report --folded", ["report", "--folded", file, RUN], file
    yield "report --html", ["report", "--html", file, RUN], file
    yield "report --pprof", ["report", "--pprof", file, RUN], file
    yield "report --perfetto", ["report", "--perfetto", file, RUN], file
    yield "report --sqlite", ["report", "--sqlite", file, RUN], file
    yield "report --snapshot", ["report", "--snapshot", file, DUMP], file
    yield "oom --snapshot", ["oom", "--snapshot", file, DUMP], file
    yield "doctor", ["doctor"], None


# ---- in children of one run ----

def judge_each(arguments, kind):
    """(calls that failed, what is wrong)"""
    def run(table, whole, **options):
        env = {**os.environ, **table.environment(kind, FAULT_EACH=whole.name, **MOST)}
        return subprocess.run([faultlib.TOOL, *arguments], env=env, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              check=False, **options)
    with Table() as first, Table() as table, tempfile.NamedTemporaryFile() as whole, tempfile.TemporaryFile() as again:
        plain = run(first, whole, stdout=subprocess.PIPE)
        if plain.returncode or not plain.stdout:
            return 0, [f"without a failing call: {plain.returncode} {plain.stderr}"]
        whole.write(plain.stdout)
        whole.flush()
        ended = run(table, whole, stdout=again)
        again.seek(0)
        tried, bad, stacks = table.read()
        if ended.returncode or again.read() != plain.stdout:
            return tried, [f"the children changed their parent: {ended.returncode} {ended.stderr[-300:]}"]
        lines = [line for line in ended.stderr.decode(errors="replace").splitlines() if line.startswith("FAULT ")]
        return tried, [f"{kind} {line[:300]}: {stacks[int(line.split()[1], 16)].where()}" for line in lines[:20]] or \
            ["lines are missing"] * bool(bad)


def printing(arguments):
    tried, wrong = 0, []
    for kind in KINDS:
        calls, bad = judge_each(arguments, kind)
        tried += calls
        wrong += bad
    return tried, wrong


# ---- a run for each fault ----

def read(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None


def wrong_output(fault, whole, written, is_doctor):
    """What is wrong with the outputs of a run that came to an end, or None."""
    if is_doctor:           # what fails is what the doctor is to find, and a doctor that cannot write says nothing
        can_speak = not (fault.kind == "write" and fault.is_on)
        return "the doctor says nothing" if can_speak and fault.status in (0, 4) and b"BPF" not in fault.out else None
    if fault.status == 0 and not fault.said() and fault.out != whole.out:
        return "another output, and no word of it"
    if written is None:
        return None
    now = read(written[0])
    if now not in (OLD, written[1]) and (fault.status == 0 or fault.kind != "malloc") and not fault.said():
        return f"half a file: {len(now or b'')} of {len(written[1])} bytes"
    return "the file is not there" if fault.status == 0 and not fault.said() and now != written[1] else None


def one(fault, arguments, whole, makes_file):
    """One run in a folder of its own: what is wrong, or None."""
    with tempfile.TemporaryDirectory(prefix="gmt-faults-") as folder:
        written, own = None, arguments
        if makes_file:
            path = os.path.join(folder, "written")
            with open(path, "wb") as file:
                file.write(OLD)
            own = [path if a == makes_file[0] else a for a in arguments]
            written = (path, makes_file[1])
        fault.run(own)
        is_doctor = arguments[0] == "doctor"
        wrong = fault.wrong_end(is_doctor) or wrong_output(fault, whole, written, is_doctor)
    fault.forget()
    return f"{fault}: {wrong}" if wrong else None


def command(name, arguments, path):
    wrong, failed = [], 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for kind in (*KINDS, "bpf", "perf") if name == "doctor" else KINDS:
            whole = Fault(kind).run(arguments)
            makes_file = (path, read(path)) if path else None
            runs = [fault for fault in faults_of(whole.stacks, kind) if name != "doctor" or chosen(fault)]
            wrong += [bad for bad in pool.map(lambda fault: one(fault, arguments, whole, makes_file), runs) if bad]
            failed += sum(fault.has_failed for fault in runs)
    check(f"{name}: {failed} runs in which calls failed", failed and not wrong, "\n".join(wrong[:20]))


def chosen(fault):
    """The doctor tries the kernel's features, half a second a run."""
    return faultlib.ALL or fault.nth == 1 and (fault.stack.number >> 1) % (16 if fault.kind == "malloc" else 8) == 0


def main():
    if not os.path.exists(faultlib.SHIM):
        skip("faults", "the library that is preloaded was not built")
        return done()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for arguments, (tried, wrong) in zip(PRINTING, pool.map(printing, PRINTING)):
            name = " ".join(os.path.basename(word) for word in arguments)
            check(f"{name}: {tried} calls failed", tried and not wrong, "\n".join(wrong[:20]))
    with tempfile.TemporaryDirectory(prefix="gmt-faults-") as folder:
        for name, arguments, path in commands(folder):
            command(name, arguments, path)
    return done()


if __name__ == "__main__":
    sys.exit(main())
