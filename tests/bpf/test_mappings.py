#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A process with more executable mappings than are used for stacks: the calls of its program still have whole stacks,
the report tells of the others, and another process's stacks are not worse."""
import os
import sys

import lib
from lib import Process, Target, Tool, check, equal, process_of

MAPPINGS = 9000         # more than GMT_UNWIND_MAPPINGS_MAX
CALLS = 20
# Maps as many files as code as its second argument says, and calls libcuda (the first one) at a line.
MAPPER = """
import ctypes, mmap, os, sys
cuda = ctypes.CDLL(sys.argv[1])
keep = []
for i in range(int(sys.argv[2])):
    fd = os.open(f"{sys.argv[3]}/{i}.so", os.O_RDWR | os.O_CREAT)
    os.truncate(fd, 4096)
    keep.append(mmap.mmap(fd, 4096, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_EXEC))
    os.close(fd)
address = ctypes.c_uint64()
print("mapped", flush=True)
for line in sys.stdin:
    rc = cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(4096))
    print("called", flush=True)
"""


def mapper(count):
    process = Process([sys.executable, "-S", "-c", MAPPER, lib.LIB, str(count), lib.folder()],
                      env=lib.environment(lib.LIB))
    process.wait_line(lambda: "mapped\n" in process.out, "the mappings")
    return process


def call(process, tool):
    for number in range(CALLS):
        process.line()
        process.wait_line(lambda: process.out.count("called\n") > number, f"call {number}")
        tool.idle() if not number else tool.more_views(1)


def many():
    """the stacks of a process with too many mappings are whole, and so are another's; the report tells of the others"""
    process = mapper(MAPPINGS)
    other = Target("longrun", "steps", hold="start")
    other.wait("start")
    tool = Tool("-p", str(process.pid), "-p", str(other.pid), "--stacks", "native").ready()
    call(process, tool)
    other.go()
    other.wait("changed")
    report = lib.settled(tool, other.pid)
    other.go()
    process.popen.stdin.close()
    equal(report["exit_status"], 0, "exit status")
    for pid in process.pid, other.pid:
        unwinding = process_of(report, pid)["unwinding"]
        check(unwinding["stacks"] and unwinding["complete"] == unwinding["stacks"], f"process {pid}:", unwinding)
    check(any("1 process had more than 8192 executable mappings" in note for note in report["notes"]), report["notes"])


def few():
    """a process with fewer mappings is told of by no note"""
    process = mapper(MAPPINGS // 9)
    tool = Tool("-p", str(process.pid)).ready()
    call(process, tool)
    report = tool.stop()
    check(not any("executable mappings" in note for note in report["notes"]), report["notes"])
    process.popen.stdin.close()


if __name__ == "__main__":
    lib.main(many, few)
