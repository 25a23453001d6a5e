#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Whichever call fails while a program is traced, the report is as without the fault or something is said, and the
recording can be read.

For each stack from which a call is made, in the tracer and in the processes that it forks, one call fails, and nothing
else. Of the stacks that ask for memory, a part fails. FAULTS=all takes all of them, a later call of each stack, and each
call together with all that follow.
"""
import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import lib
from lib import check, equal

sys.path.insert(1, os.path.join(lib.TOP, "tests/faults"))
import faultlib  # noqa: E402
from faultlib import Fault, faults_of  # noqa: E402

AT_A_TIME = 2 * os.cpu_count()   # a session waits more than it works
BOUND = 60                      # seconds within which a session ends, on a busy machine
# A kernel that seems to lack global functions verifies the programs for a minute.
SLOW = "probe_kern_btf_func_global"
READERS = ("worker_run", "keeper_run")
# Runs until one has all names: where Python's frames are missing, the interpreter's own function stands in their place.
TRIES = 10
# How walks end that lack neither frames nor names.
COMPLETE = {"native": ("root", "zero"), "python": ("none", "root", "no_state", "stale")}


def numbers(report):
    """The numbers that no failing call may change in silence."""
    return sorted((g["uuid"] or "", name, c["live_bytes"], c["peak_bytes"], c["allocs"], c["frees"])
                  for p in report["processes"] for g in p["gpus"] for name, c in g["classes"].items() if c["allocs"])


def names(report):
    """The functions in stacks."""
    return {symbol["function"] for symbol in report["symbols"] if symbol["function"]}


def says_incomplete(report):
    """Whether the report counts stacks that lack frames or names."""
    return any(count and name not in COMPLETE[language] for process in report["processes"]
               for language in COMPLETE for name, count in process["unwinding"][language].items())


def warnings(report):
    """What the report says of what is missing."""
    return {f"{key} {name}" for key in ("losses", "anomalies") for name, count in report[key].items() if count} | \
        {f"limit {limit}" for limit in report["limits"]} | {f"note {note}" for note in report["notes"]}


def report_of(output):
    """Of the tool's lines; the program that is traced prints some, too."""
    reports = [line for line in output.splitlines() if line.startswith(b"{") and b'"report"' in line]
    return json.loads(reports[-1]) if reports else None


def wrong_recording(path, fault, totals):
    """A recording that was begun can be read; one that is whole has the totals."""
    if not os.path.exists(path) or not os.path.getsize(path):
        return None
    replay = subprocess.run([lib.TOOL, "replay", "--json", path], capture_output=True, timeout=lib.PATIENCE, check=False)
    if replay.returncode:
        return f"replay of the recording: {replay.returncode}: {replay.stderr.decode()[-300:]}"
    got = report_of(replay.stdout)
    told = b"gpumemtrace: " in replay.stderr or warnings(got)
    return None if fault.status or told or numbers(got) == totals else "the recording has other totals, and no word of it"


class Session:
    """A way to trace a program: runs without a fault, and runs in which a call fails."""

    def __init__(self, *options, program=None, is_steady=False):
        self.options, self.program, self.is_steady = options, program or [lib.workload("basic")], is_steady
        self.said, self.warnings, self.totals, self.names = set(), set(), None, None

    def run(self, fault, folder):
        path = os.path.join(folder, f"run{id(fault)}.gmt")
        arguments = ["--driver-root", lib.ROOT, "--oom-dir", folder, "--json", "-o", path, *self.options, "--", *self.program]
        fault.run(arguments, env={"LD_LIBRARY_PATH": os.path.dirname(lib.LIB), "GPUMEMTRACE_STANDIN_ROOT": lib.ROOT})
        return path

    def note(self, kind, folder):
        """The stacks of a run without a fault."""
        whole = Fault(kind)
        for _ in range(TRIES):
            self.run(whole, folder)
            report = report_of(whole.out)
            equal(whole.status, 0, f"without a failing call: {whole.err}")
            if not (self.is_steady and says_incomplete(report)):
                break
        self.said |= whole.said()
        self.warnings |= warnings(report)
        self.totals = numbers(report)
        self.names = names(report) if self.names is None else self.names & names(report)
        check(self.totals and bool(self.names) == self.is_steady or not self.is_steady, "nothing to compare")
        return whole.stacks

    def lost(self, report):
        """What differs from a run without a fault."""
        if not report:
            return "no report"
        if numbers(report) != self.totals:
            return f"other totals: {numbers(report)}"
        gone = self.names - names(report) if self.is_steady and not says_incomplete(report) else ()
        return f"no names: {gone}" if gone else None

    def what_is_wrong(self, fault, folder):
        try:
            return self.judge(fault, folder)
        finally:
            fault.forget()

    def judge(self, fault, folder):
        begin = time.monotonic()
        path = self.run(fault, folder)
        wrong = fault.wrong_end()
        if wrong or not fault.has_failed:
            return wrong
        if time.monotonic() - begin > BOUND:
            return f"took {time.monotonic() - begin:.0f} s"
        report = report_of(fault.out)
        told = fault.said() - self.said or report and warnings(report) - self.warnings
        lost = None if told or fault.status else self.lost(report)
        if lost:
            return f"{lost}, and no word of it"
        return None if told else wrong_recording(path, fault, self.totals)


def part_of(faults, kind, share):
    """What `make test` has time for: one in `share` of the places that ask for memory, and of those that touch files."""
    few = {"malloc": share, "files": 8, "read": 6, "bpf": 4, "open": 2}.get(kind, 1)
    return [fault for fault in faults if faultlib.ALL or fault.nth == 1 and fault.stack.number // 2 % few == 0 and
            not fault.stack.is_below(SLOW)]


def sample(session, *kinds, share=24, below=()):
    """Calls of these kinds fail; below: only those that these functions lead to."""
    folder = lib.folder()
    wrong, failed = [], 0
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        for kind in kinds:
            faults = part_of(faults_of(session.note(kind, folder), kind), kind, share)
            faults = [fault for fault in faults if not below or fault.stack.is_below(*below)]
            wrong += [f"{fault}: {bad}" for fault, bad in
                      zip(faults, pool.map(lambda fault: session.what_is_wrong(fault, folder), faults)) if bad]
            failed += sum(fault.has_failed for fault in faults)
    print(f"# {failed} calls failed: {', '.join(kinds)}", flush=True)
    check(failed, "no call failed")
    check(not wrong, "\n".join(wrong))


def memory():
    """there is no memory"""
    sample(Session(), "malloc")


def without_stacks():
    """without stacks, there is no memory"""
    sample(Session("--stacks", "off"), "malloc", share=32)


def files():
    """a file cannot be opened, closed, renamed, cut or looked at"""
    sample(Session(), "open", "files")


def text():
    """a read or a write fails: a full disk, an end that is gone"""
    sample(Session(), "read", "write")


def kernel():
    """the kernel refuses what bpf() asks for, mappings and perf events"""
    sample(Session(), "bpf", "mmap", "perf")


def attached():
    """attached to a program, the kernel has no memory for the probes of libcuda: that is said, and nothing is traced"""
    target = lib.Target("basic", hold="context")
    target.wait("context")
    arguments = ["--driver-root", lib.ROOT, "--oom-dir", "off", "-p", str(target.pid), "-d", "0.1"]
    whole = Fault("bpf").run(arguments)
    equal(whole.status, 0, f"without a failing call: {whole.err}")
    faults = [fault for fault in faults_of(whole.stacks, "bpf") if fault.stack.is_below("attach_library")]
    check(faults, "no call places probes")
    for fault in faults:
        fault.run(arguments)
        check(fault.has_failed, f"{fault}: no call failed")
        equal(fault.status, 4, f"{fault}: exit status ({fault.err})")
        check("cannot be probed (Cannot allocate memory)" in fault.err, f"{fault}: {fault.err}")


def unwatched():
    """mappings cannot be watched: the report says so, and what helps"""
    session, folder = Session(), lib.folder()
    faults = [fault for fault in faults_of(session.note("perf", folder), "perf") if fault.stack.is_below("watch_open")]
    check(faults, "no call watches mappings")
    session.run(faults[0], folder)
    limits = [limit for limit in report_of(faults[0].out)["limits"] if "loaded later" in limit["what"]]
    equal([limit["remedy"] for limit in limits], ["Raise `ulimit -n`"], f"the limit ({faults[0].err})")


def processes():
    """no thread and no process can be started, and nothing can wait for events"""
    sample(Session(), "thread", "wait")


def readers():
    """in the processes that read files of targets, memory, reads and descriptors fail: names are there, or a file is refused"""
    steady = Session(program=[sys.executable, os.path.join(lib.TOP, "tests/bpf/steady_allocations.py"), lib.LIB, "40"],
                     is_steady=True)
    sample(steady, "malloc", "read", "open", share=6, below=READERS)


if __name__ == "__main__":
    if not os.path.exists(faultlib.SHIM):
        print("1..0 # SKIP the library that is preloaded was not built")
        sys.exit(0)
    lib.main(memory, without_stacks, files, text, kernel, attached, unwatched, processes, readers)
