#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Native stacks in a recording have the return addresses that libgcc's unwinder found in the program just before the
call. Where libgcc's unwinder cannot know an address, the program prints 0 (tests/standin/workloads/stacks.c)."""
import os
import shutil
import sys

import lib
import perf_probe
from lib import Target, Tool, check, equal

sys.path[1:1] = [os.path.join(lib.TOP, "tests")]
import stacklib  # noqa: E402

LIBRARY = os.path.join(lib.BUILT, "usr/lib-stacks/libstacks.so")
PC = (1 << 56) - 1
CUDA = "libcuda.so"


def expected(out):
    """{name: (size, [address])}, and the program's pid"""
    found, pid = {}, None
    for line in out:
        name, _, words = line.strip().partition("=")
        if name == "pid":
            pid = int(words)
        elif "," in words:
            size, *frames = words.split(",")
            found[name] = int(size), [int(f, 16) for f in frames]
    return found, pid


def begins_in_cuda(stack):
    """Behind ioctl(), where the kernel was asked for memory."""
    modules = [os.path.basename(f.module) for f in stack.frames if f.function != "ioctl"]
    return CUDA in modules[0] and CUDA not in modules[-1]


def difference(stack, frames):
    """`frames` begins in the function that called CUDA."""
    got = [word & PC for word in stack.words if not word & stacklib.PYTHON]
    skip = len(got) - len(frames)
    if skip < 1 or not stack.is_complete:
        return f"{stack.reason}, {len(got)} frames, not {len(frames)} and CUDA's"
    for i, (want, have) in enumerate(zip(frames, got[skip:])):
        if want and want != have:
            return f"frame {skip + i} is {have:x}, not {want:x}"
    if stack.frames is None:
        return "not named"
    if not begins_in_cuda(stack):
        return "does not begin in libcuda: " + ", ".join(map(str, stack.frames))
    return None


def compare(path, out, kernel=("context", "module"), skip=()):
    """All of a program's stacks. kernel: cases without an allocating call, found by what they call."""
    recording = stacklib.Stacks(path)
    wanted, pid = expected(out)
    stacks = {i: s for i, s in recording.stacks.items() if s.tgid == pid}
    by_size = {vals[1]: i for _, i, vals in recording.calls if len(vals) > 1 and i in stacks}
    wrong, names = [], {}
    check(wanted, "the program said nothing")
    for name, (size, frames) in wanted.items():
        if name in skip or not any(frames):
            continue
        if name in kernel:
            found = [s for s in stacks.values() if s.frames and any(a[1] == s.id for a in recording.allocs)
                     and any(f.function == name for f in s.frames)]
        else:
            found = [stacks[by_size[size]]] if size in by_size else []
        if not found:
            wrong.append(f"{name}: no stack")
        for stack in found:
            # Walked from a copy, which is of one stack: a loaded machine may not have the tables in time.
            if name == "altstack" and stack.reason == "outside":
                got = [word & PC for word in stack.words]
                what = None if got[2:] == frames[1:len(got) - 1] else f"frames {got}"
            else:
                what = difference(stack, frames)
            if what:
                wrong.append(f"{name}: {what}")
            names[name] = [f.function for f in stack.frames or ()]
    check(not wrong, "\n".join(wrong))
    return names, recording, stacks


def traced(*argv, before=False, between=None, tool=(), env=None):
    """(recording, the program's output, the report) of a program that is traced from its start, waits before it allocates,
    and stays until the end of the recording."""
    path = lib.folder() + "/run.gmt"
    tracer = Tool("-a", "-o", path, *tool).ready()
    target = Target("stacks", *argv, hold="expected", env={"STACKS_STAYS": "1", **(env or {})})
    if before:
        target.wait("before")
        tracer.idle()
        target.line()
    target.wait("expected")
    tracer.idle()
    if between:
        between(target)
    os.kill(int([line for line in target.err if line.startswith("pid=")][-1][4:]), lib.signal.SIGUSR1)
    target.wait("end")
    report = lib.settled(tracer, target.pid)
    target.line()
    equal(target.finish()[0], 0, "exit status " + target.stderr())
    return path, target.out, report


# A thread's first function. The C library's own symbols may be in a package for debugging only.
CLONE = ("__clone3", "clone3", "clone", "__clone", "")


def all_kinds():
    """plain, by pointer, recursion, through libc, threads, signals, code without tables, contexts, modules, dlopen"""
    path, out, report = traced(env={"STACKS_LIBRARY": LIBRARY})
    names, _, _ = compare(path, out)
    plain = names["plain"]
    equal(plain[0], "cuMemAlloc_v2", "the innermost frame")
    equal(plain[1:6], ["stacks_allocate", "stacks_inner", "stacks_outer", "stacks_run", "run_all"], "plain")
    equal(plain[-1], "_start", "the outermost frame")
    check(names["thread"][-1] in CLONE, names["thread"])
    check("while_loading" in names["loading"] and "dlopen" in " ".join(names["loading"]), names["loading"])
    check("cuDevicePrimaryCtxRetain" in names["context"], names["context"])
    check("cuModuleLoadData" in names["module"], names["module"])
    equal({k: v for k, v in report["losses"].items() if v}, {}, "losses")


def return_probes():
    """return probes of another tracer on the functions around it"""
    program, probes = lib.workload("stacks"), []

    def place(target):
        for symbol in ("stacks_run", "stacks_outer", "stacks_inner", "stacks_allocate"):
            probes.append(perf_probe.return_probe(program, symbol, target.pid))

    try:
        path, out, _ = traced(between=place)
    finally:
        for probe in probes:
            os.close(probe)
    check(probes, "no probes")
    compare(path, out)


def without_waiting():
    """a program that allocates as soon as it runs: stacks are walked from copies of their memory"""
    path = lib.folder() + "/run.gmt"
    tracer = Tool("-a", "-o", path).ready()
    target = Target("stacks", hold="end")
    target.wait("end")
    lib.settled(tracer, target.pid)
    # A copy is of one stack, and what is mapped for a moment only may not be seen in time.
    compare(path, target.out, skip=("altstack", "jit"))
    target.go()


def fork_child():
    """a child that uses CUDA, of a parent that does not"""
    path, out, report = traced("fork")
    compare(path, out)
    pid = expected(out)[1]
    equal(lib.process_of(report, pid)["pid"], pid, "the child")


def another_program():
    """exec: the same pid has other code at other places"""
    other = lib.folder() + "/another-program"
    shutil.copy(lib.workload("stacks"), other)
    path, out, _ = traced("exec", other, before=True)
    names, recording, stacks = compare(path, out)
    equal(names["plain"][-1], "_start", "the outermost frame")
    modules = {os.path.basename(s.frames[-1].module) for s in stacks.values() if s.frames}
    check({"stacks", "another-program"} <= modules, "programs:", modules)


def many_alike():
    """more calls than stacks are copied: the kernel's own walk finds one stack, and the stack is complete"""
    path = lib.folder() + "/run.gmt"
    target = Target("stacks", "same", "500", hold="expected,end")
    target.wait("expected")
    tool = Tool("-p", str(target.pid), "-o", path).ready()
    tool.idle()
    target.go()
    target.wait("end")
    tool.idle()
    report = tool.stop()
    target.go()
    equal(target.finish()[0], 0, "exit status " + target.stderr())
    recording = stacklib.Stacks(path)
    calls = [stack_id for _, stack_id, vals in recording.calls if vals[1:2] == (lib.MIB,)]
    equal(len(calls), 500, "calls")
    bad = [recording.stacks[i].reason for i in calls if not recording.stacks[i].is_complete]
    check(not bad, len(bad), "calls without a whole stack:", set(bad), report["notes"])
    equal(len(set(calls)), 1, "stacks of one place")


def ends_at_once():
    """a process that ends right after its allocation: exact, and what is known of its stack is no lie"""
    path = lib.folder() + "/run.gmt"
    for _ in range(5):
        tool = Tool("-o", path, "--", lib.workload("stacks"), "exit", options=("--no-live",))
        report = tool.report()
        process = report["processes"][0]
        equal(sum(g["classes"]["device"]["allocs"] for g in process["gpus"]), 1, "allocations")
        stacks = stacklib.Stacks(path).stacks
        check(stacks, "no stack at all")
        for stack in stacks.values():
            if stack.is_complete and stack.frames:
                equal(stack.frames[-1].function, "_start", "the outermost frame of " +
                      f"{', '.join(map(str, stack.frames))} ({stack.reason})")


def astray():
    """frame pointers that lead to memory without frames: no word of this memory is taken for a frame, Python's or native"""
    path = lib.folder() + "/run.gmt"
    Tool("--stacks", "fp", "-o", path, "--", lib.workload("stacks"), "astray", options=("--no-live",)).report()
    recording = stacklib.Stacks(path)
    counts = [len(recording.stacks[stack_id].words) for _, stack_id, vals in recording.calls if vals[1:2] == (lib.MIB,)]
    equal(counts, [3], "frames of the allocation: the driver's, and two that frame pointers lead to")
    for stack in recording.stacks.values():
        equal([hex(word) for word in stack.words[1:] if word & ~PC], [], "words that are no address")


if __name__ == "__main__":
    lib.main(all_kinds, return_probes, without_waiting, fork_child, another_program, many_alike, ends_at_once, astray)
