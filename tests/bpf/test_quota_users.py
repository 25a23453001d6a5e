#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# alone: floods of stack traces and of processes take the time that other tests with -a need
"""One user's processes cannot use up the stack traces and the traced processes of all: what goes beyond the user's share
is refused, counted and told, and another user's job keeps its stack traces and totals."""
import os
import re
import sys

import lib
import stacklib
from lib import MIB, Process, Tool, check, equal, process_of

HOSTILE, HONEST = 1001, 1002
STACKS = 60             # a user's share in this test
CALLS = 300             # of the hostile user, each with a stack of its own
FEW = 40                # likewise of the other user: all must be there
PROCESSES = 4
STARTED = 9             # processes that the hostile user starts
# Becomes the user, starts so many processes that each allocate, then allocates from so many lines of Python.
JOB = """
import ctypes, os, sys
cuda, u64 = ctypes.CDLL(sys.argv[1]), ctypes.c_uint64
uid, children, lines = map(int, sys.argv[2:])
def call(name, *arguments):
    assert getattr(cuda, name)(*arguments) == 0, name
def begin():
    context = u64()
    call("cuInit", 0)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
    call("cuCtxSetCurrent", context)
def allocate():
    call("cuMemAlloc_v2", ctypes.byref(u64()), u64(1 << 20))
def hold(word):
    os.write(1, word.encode() + b"\\n")    # at once: children write, too
    sys.stdin.readline()
os.setgroups([])
os.setresgid(uid, uid, uid)
os.setresuid(uid, uid, uid)
hold("ready")
for child in range(children):
    if not os.fork():
        begin()
        allocate()
        os.write(1, b"child %d\\n" % os.getpid())
        sys.stdin.readline()
        os._exit(0)
begin()
code = compile("allocate()\\n" * lines, "flood", "exec")  # which stays, for its name
exec(code)
hold("done")
"""


def job(uid, children=0, lines=1):
    process = Process([sys.executable, "-S", "-c", JOB, lib.LIB, str(uid), str(children), str(lines)],
                      env=lib.environment())
    process.wait_line(lambda: "ready\n" in process.out, "the start")
    return process


def let_work(process, children=0):
    process.line()
    process.wait_line(lambda: "done\n" in process.out and len(children_of(process)) >= children, "its work")


def children_of(process):
    return [int(line.split()[1]) for line in process.out if line.startswith("child")]


def live_mib(report, pid):
    return sum(row["classes"]["device"]["live_bytes"] for row in process_of(report, pid)["gpus"]) // MIB


def limits_of(report, uid):
    return [limit for limit in report["limits"] if f"user {uid} " in limit["what"]]


def stacks_of(recording, pid):
    """The ids of the stacks of a process's allocations; 0: none."""
    return [stack for (_, stack, vals), caller in zip(recording.calls, recording.callers)
            if caller == pid and len(vals) > 1 and MIB in vals]


def stacks():
    """a user's stack traces beyond the share are not taken; another user has all stack traces, with their names"""
    path = lib.folder() + "/run.gmt"
    hostile, honest = job(HOSTILE, lines=CALLS), job(HONEST, lines=FEW)
    tool = Tool("-p", str(hostile.pid), "-p", str(honest.pid), "-o", path, "--layers", "api",
                env={"GPUMEMTRACE_USER_STACKS": str(STACKS)}).ready()
    let_work(hostile)
    let_work(honest)
    report = lib.settled(tool, hostile.pid)
    equal((live_mib(report, hostile.pid), live_mib(report, honest.pid)), (CALLS, FEW), "MiB")
    recording = stacklib.Stacks(path)
    taken = stacks_of(recording, hostile.pid)
    missing = taken.count(0)
    check(len(taken) == CALLS and CALLS - STACKS <= missing < CALLS, f"{missing} of {len(taken)} without a stack")
    own = stacks_of(recording, honest.pid)
    equal((len(set(own)), own.count(0)), (FEW, 0), "stacks of the other user, and allocations without")
    check(all(frame.function for stack in set(own) for frame in recording.stacks[stack].frames if frame.is_python),
          "frames without names")
    limits = limits_of(report, HOSTILE)
    equal([limit["what"] for limit in limits], [f"some allocations of user {HOSTILE} have no stack trace"], "limits")
    equal(re.findall(r": (\d+) ", limits[0]["why"]), [str(report["losses"]["stack_lost"])], "told, and lost")
    check(report["losses"]["stack_lost"] >= missing, "lost", report["losses"])
    equal(limits_of(report, HONEST), [], "limits of the other user")
    equal(sum(f"user {HOSTILE}" in line for line in tool.err), 1, "said once: " + tool.stderr())


def processes(follow):
    hostile, honest = job(HOSTILE, children=STARTED), job(HONEST)
    options = ("-p", str(hostile.pid), "-p", str(honest.pid)) if follow else ("-a",)
    tool = Tool(*options, "--layers", "api", env={"GPUMEMTRACE_USER_PROCESSES": str(PROCESSES)}).ready()
    let_work(hostile, STARTED)
    let_work(honest)
    report = lib.settled(tool, honest.pid)
    traced = {process["pid"] for process in report["processes"]}
    found = traced & {hostile.pid, *children_of(hostile)}
    equal(len(found), PROCESSES, "traced processes of the hostile user")
    equal(live_mib(report, honest.pid), 1, "MiB of the other user")
    limits = limits_of(report, HOSTILE)
    equal([limit["what"] for limit in limits], [f"some processes of user {HOSTILE} are not traced"], "limits")
    told = int(re.search(r": (\d+) ", limits[0]["why"]).group(1))
    check(STARTED + 1 - PROCESSES <= told <= report["losses"]["target_map_full"], told, "told", report["losses"])
    equal(limits_of(report, HONEST), [], "limits of the other user")


def all_processes():
    """-a: a user's processes beyond the share are not traced; another user's job is"""
    processes(False)


def children():
    """-p: likewise the children of a target"""
    processes(True)


def ended():
    """a process that has ended makes room for the next one and its stack traces"""
    tool = Tool("-a", "--layers", "api", env={"GPUMEMTRACE_USER_PROCESSES": "1",
                                              "GPUMEMTRACE_USER_STACKS": str(STACKS)}).ready()
    for _ in range(3):
        process = job(HOSTILE, lines=FEW)
        let_work(process)
        process.line()
        equal(process.finish()[0], 0, "exit status " + process.stderr())
        pid = process.pid
        tool.wait_line(lambda: any(p["pid"] == pid and p["exited"] for p in tool.views()[-1]["processes"]), "its end")
    equal(limits_of(tool.stop(), HOSTILE), [], "limits")


if __name__ == "__main__":
    os.umask(0)                         # the simulated GPUs' account is written by all users
    os.chmod(lib.ROOT, 0o755)
    lib.main(stacks, all_processes, children, ended)
