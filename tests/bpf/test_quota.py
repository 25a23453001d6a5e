#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# alone: two thousand libraries and floods of mappings take the time that other tests with -a need
"""One user's processes take nothing from the others' jobs: copies of libcuda beyond a quota are not probed, and a flood
of mappings leads to no look at processes that are not targets. Both are said and counted."""
import contextlib
import errno
import os
import re
import resource
import shutil
import signal
import sys

import lib
from lib import Process, Target, Tool, check, equal, process_of

USER = 1000
COPIES = 110
DESCRIPTORS = 400       # a user gets half of them, and a libcuda takes two: less than COPIES
KEPT = 32               # files that nobody maps stay probed: UNMAPPED_KEPT
OTHERS = 10             # of other programs on this machine
GONE, TOGETHER = 100, 10 # files that come and go, so many at the same time
MAPPINGS = 2000         # more than the rings of mapping events hold
# Maps the files of its arguments as code, then any number of times the last one. A line on standard input lets it go on.
MAPPER = """
import ctypes, os, sys
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
def map_code(path):
    fd = os.open(path, os.O_RDONLY)
    address = libc.mmap(None, 8192, 5, 2, fd, 0)
    os.close(fd)
    return address
for path in sys.argv[2:]:
    map_code(path)
print("mapped", flush=True)
sys.stdin.readline()
for _ in range(int(sys.argv[1])):
    libc.munmap(map_code(sys.argv[-1]), 8192)
print("flooded", flush=True)
sys.stdin.readline()
"""


def mapper(times, *paths, user=False):
    argv = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups"] if user else []
    process = Process(argv + [sys.executable, "-S", "-c", MAPPER, str(times), *paths])
    process.wait_line(lambda: "mapped\n" in process.out, "the mappings")
    return process


def copies(count):
    place = lib.folder()
    os.chmod(place, 0o755)
    found = []
    for i in range(count):
        os.mkdir(f"{place}/{i}")
        found.append(shutil.copy(lib.LIB, f"{place}/{i}/libcuda.so.1"))
    return found


def end_mappers(mappers):
    for process in mappers:
        process.line()
        process.line()
        process.finish()
    mappers.clear()


def links(tool):
    """How many links of probes the tracer has."""
    found = 0
    for number in os.listdir(f"/proc/{tool.pid}/fdinfo"):
        with contextlib.suppress(OSError), open(f"/proc/{tool.pid}/fdinfo/{number}", encoding="ascii") as file:
            found += "\nlink_id:" in file.read()
    return found


def times(tool, path):
    """How often a file was probed."""
    inode = os.stat(path).st_ino
    return sum(library["inode"] == inode for library in tool.views()[-1]["libraries"])


def one_user():
    """a user's copies of libcuda beyond the quota are not probed; another user's job is traced on"""
    paths = copies(COPIES + 1)
    hoarder = mapper(0, *paths[1:], user=True)
    limited = lib.folder() + "/limited"
    with open(limited, "w", encoding="ascii") as file:
        file.write(f'#!/bin/sh\nulimit -n {DESCRIPTORS}\nexec "{lib.TOOL}" "$@"\n')
    os.chmod(limited, 0o755)
    tool = Tool("-a", "--layers", "api", binary=limited).ready()
    target = Target("longrun", "steps", hold="start", lib=paths[0])
    target.wait("start")
    tool.probes(paths[0])
    target.go()
    target.wait("changed")
    report = lib.settled(tool, target.pid)
    target.go()
    equal(report["exit_status"], 0, "exit status " + tool.stderr())
    equal(process_of(report, target.pid)["gpus"] != [], True, "the job is traced")
    inodes = {library["inode"] for library in report["libraries"]}
    probed = sum(os.stat(path).st_ino in inodes for path in paths[1:])
    check(0 < probed <= DESCRIPTORS // 2 // 2, f"{probed} copies were probed")
    equal([f"user {USER} are not probed" in limit["what"] for limit in report["limits"]], [True], report["limits"])
    check(any("quota" in note for note in report["notes"]), report["notes"])
    equal(sum(f"user {USER}" in line for line in tool.err), 1, "said once: " + tool.stderr())
    hoarder.line()


def come_and_go():
    """files that no process maps any more lose their probes and their part of the quota; most are forgotten
    A file that is mapped again is probed again."""
    paths = copies(GONE + 1)
    stays, gone = mapper(0, paths[0]), []
    tool = Tool("-a", "--layers", "api", "--verbose", env={"GPUMEMTRACE_UNMAPPED_MS": "300"}).ready()
    before = links(tool)
    for path in paths[1:]:
        gone.append(mapper(0, path))
        tool.probes(path)
        if len(gone) == TOGETHER:
            end_mappers(gone)
    check(lib.until(lambda: links(tool) <= before + 2 * (KEPT + OTHERS)), f"{links(tool)} links, {before} at first")
    check(lib.until(lambda: not times(tool, paths[1])), "the file is not forgotten")
    again = mapper(0, paths[1])
    check(lib.until(lambda: times(tool, paths[1]) == 1), "the file is not probed again")
    equal(times(tool, paths[0]), 1, "the file that stays mapped was probed")
    report = tool.stop()
    dropped = [int(n) for n in re.findall(r"the probes of (\d+) files were removed", tool.stderr())]
    check(len(dropped) == 1 and dropped[0] >= GONE - KEPT - OTHERS, "dropped", dropped)
    # others' programs may end without the names of their stack traces
    equal([limit for limit in report["limits"] if "not probed" in limit["what"]], [], "limits")
    inodes = {os.stat(path).st_ino for path in paths}
    listed = sum(library["inode"] in inodes for library in report["libraries"])
    check(listed <= 2 * KEPT + OTHERS + 2, f"{listed} libraries are listed")
    check(report["libraries_forgotten"] >= GONE - listed, report["libraries_forgotten"], "libraries were forgotten")
    end_mappers([stays, again])


def flood():
    """a process that is no target floods the mapping events of a -p tracer: no look at it, and the target's library is
    still found"""
    foreign, late = copies(1)[0], copies(1)[0]
    target, other = mapper(0), mapper(MAPPINGS, foreign)
    tool = Tool("-p", str(target.pid), "--layers", "api").ready()
    tool.send(signal.SIGSTOP)           # it reads no event
    other.line()
    other.wait_line(lambda: "flooded\n" in other.out, "the flood")
    loader = mapper(0, late)            # no target: its library must not be probed, either
    tool.send(signal.SIGCONT)
    tool.wait_line(lambda: any("probed late" in line for line in tool.err), "the sentence about lost events")
    tool.more_views()
    tool.send(signal.SIGINT)
    report = tool.report()              # 3: no target has used CUDA
    inodes = {library["inode"] for library in report["libraries"]}
    check(not inodes & {os.stat(path).st_ino for path in (foreign, late)}, "a file of no target was probed")
    check(any("mapping event" in note for note in report["notes"]), report["notes"])
    for process in other, target, loader:
        process.line()


def found_late():
    """a library that a target maps while events are lost is probed by the look that follows"""
    paths = copies(2)
    target = Target(sys.executable, "-S", "-c", MAPPER.replace("for _", "map_code(sys.argv[2])\nfor _").replace(
        "for path in sys.argv[2:]", "for path in []"), str(MAPPINGS), paths[0], paths[1])
    target.wait_line(lambda: "mapped\n" in target.out, "the start")
    tool = Tool("-p", str(target.pid), "--layers", "api").ready()
    tool.send(signal.SIGSTOP)
    other = mapper(MAPPINGS, paths[1])
    other.line()
    other.wait_line(lambda: "flooded\n" in other.out, "the flood")
    target.line()
    target.wait_line(lambda: "flooded\n" in target.out, "the target's flood")
    tool.send(signal.SIGCONT)
    tool.probes(paths[0])
    tool.send(signal.SIGINT)
    equal(tool.report()["exit_status"], 3, "exit status: the target has the library, and made no call")
    for process in other, target:
        process.line()


def without_descriptors():
    """a library that is mapped while the tracer has no free descriptor is probed when there is one; the report tells"""
    path = copies(1)[0]
    tool = Tool("-a", "--layers", "api", "--strict").ready()
    tool.idle()
    before = resource.prlimit(tool.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(tool.pid, resource.RLIMIT_NOFILE, (0, before[1]))
    process = mapper(0, path)
    tool.wait_line(lambda: any(os.strerror(errno.EMFILE) in line for line in tool.err), "the sentence")
    check(not times(tool, path), "the library was probed without a descriptor")
    resource.prlimit(tool.pid, resource.RLIMIT_NOFILE, before)
    tool.probes(path)
    tool.send(signal.SIGINT)
    report = tool.report()
    check(any("to probe libraries failed" in note and os.strerror(errno.EMFILE) in note for note in report["notes"]),
          report["notes"])
    equal(report["exit_status"], 5, "exit status with --strict")
    process.line()


if __name__ == "__main__":
    lib.main(one_user, come_and_go, flood, found_late, without_descriptors)
