#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Whichever call fails while a program is traced, the totals are right or something is said, and the recording can be
read.

A sample of the calls of each kind fails, alone or together with all later ones. FAULTS=10 takes ten times as many.
"""
import json
import os
import subprocess
import sys

import lib
from lib import check, equal

sys.path.insert(1, os.path.join(lib.TOP, "tests/faults"))
import faultlib  # noqa: E402
from faultlib import Fault, faults  # noqa: E402

# Without the program of its trial, uprobe_multi counts as missing: then each probe is set, and removed, alone. That
# takes a minute on a busy kernel, and test_limits.py tests it.
TRIALS_OF_UPROBE_MULTI = 6


def numbers(line):
    """The report's numbers that no failing call may change in silence."""
    report = json.loads(line)
    rows = [(g["uuid"] or "", name, c["live_bytes"], c["peak_bytes"], c["allocs"], c["frees"])
            for p in report["processes"] for g in p["gpus"] for name, c in g["classes"].items() if c["allocs"]]
    return sorted(rows), sum(report["losses"].values()) + len(report["limits"])


def report_of(output):
    """Of the tool's lines; the program that is traced prints some, too."""
    reports = [line for line in output.splitlines() if line.startswith(b"{") and b'"report"' in line]
    return numbers(reports[-1]) if reports else None


def wrong_recording(path, fault, totals):
    """A recording that was begun can be read; one that is whole has the totals."""
    if not os.path.exists(path) or not os.path.getsize(path):
        return None
    replay = subprocess.run([lib.TOOL, "replay", "--json", path], capture_output=True, timeout=lib.PATIENCE, check=False)
    if replay.returncode:
        return f"replay of the recording: {replay.returncode}: {replay.stderr.decode()[-300:]}"
    got = report_of(replay.stdout)
    told = "gpumemtrace: " in fault.err + replay.stderr.decode() or got and got[1]
    return None if fault.status or told or got[0] == totals else "the recording has other totals, and no word of it"


def run(fault, folder, options):
    path = os.path.join(folder, "run.gmt")
    if os.path.exists(path):
        os.unlink(path)
    arguments = ["--driver-root", lib.ROOT, "--oom-dir", folder, "--json", "-o", path, *options, "--", lib.workload("basic")]
    fault.run(arguments, env={"LD_LIBRARY_PATH": os.path.dirname(lib.LIB), "GPUMEMTRACE_STANDIN_ROOT": lib.ROOT})
    return path


def what_is_wrong(fault, path, totals):
    wrong = fault.wrong_end()
    if wrong:
        return wrong
    got = report_of(fault.out)
    told = "gpumemtrace: " in fault.err or got and got[1]
    if fault.status == 0 and not told and (not got or got[0] != totals):
        return f"other totals, and no word of it: {got}"
    return wrong_recording(path, fault, totals)


def sample(kind, first, more, later, options=(), begin=0):
    """Calls of a kind fail: the first ones, some more, and some with all later ones."""
    folder = lib.folder()
    whole = Fault(kind, 0)
    run(whole, folder, options)
    equal(whole.status, 0, f"without a failing call: {whole.err}")
    totals = report_of(whole.out)[0]
    check(totals and whole.calls, f"nothing to compare: {totals}, {whole.calls} calls")
    runs = faults(kind, whole.calls, (first, more), (0, later), begin)
    wrong = []
    for fault in runs:
        path = run(fault, folder, options)
        bad = what_is_wrong(fault, path, totals)
        wrong += [f"{fault}: {bad}"] if bad else []
    check(any(f.where for f in runs), "no call failed")
    check(not wrong, "\n".join(wrong))


def memory():
    """there is no memory"""
    sample("malloc", 2, 5, 1)
    sample("malloc", 0, 4, 1, ("--stacks", "off"))


def opening():
    """a file cannot be opened"""
    sample("open", 1, 5, 2)


def reading():
    """a read fails, or each one from some moment on"""
    sample("read", 1, 4, 3)


def writing():
    """a write fails: a full disk, for one write or from some moment on"""
    sample("write", 2, 3, 3)


def mapping():
    """memory cannot be mapped"""
    sample("mmap", 1, 4, 2)


def bpf():
    """the kernel refuses what bpf() asks for"""
    sample("bpf", 1, 6, 2, begin=TRIALS_OF_UPROBE_MULTI)


def perf():
    """perf events cannot be opened"""
    sample("perf", 3, 0, 1)


def threads():
    """no thread and no process can be started"""
    sample("thread", 5, 0, 1)


def waiting():
    """nothing can wait for events"""
    sample("wait", 2, 4, 2)


def files():
    """a file cannot be closed, renamed, cut or looked at"""
    sample("files", 0, 5, 2)


if not os.path.exists(faultlib.SHIM):
    print("1..0 # SKIP the library that is preloaded was not built")
    sys.exit(0)
lib.main(memory, opening, reading, writing, mapping, bpf, perf, threads, waiting, files)
