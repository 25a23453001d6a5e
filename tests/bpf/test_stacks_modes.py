#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""All ways to take stacks (--stacks and related options) give the same totals. Also: files in containers, deleted and
replaced files, a replay, and tables that are kept on disk."""
import json
import os
import shutil
import sys

import lib
import test_container
import test_stacks
import test_stacks_python as python
from lib import Target, Tool, check, equal

sys.path[1:1] = [os.path.join(lib.TOP, "tests")]
import stacklib  # noqa: E402


def classes(report, pid):
    """What was allocated, without the times."""
    return {gpu["uuid"]: {name: [row[k] for k in ("live_bytes", "peak_bytes", "allocs", "frees", "failed")]
                          for name, row in gpu["classes"].items()} for gpu in lib.process_of(report, pid)["gpus"]}


def owners_add_up(report, pid):
    for gpu in lib.process_of(report, pid)["gpus"]:
        stacks = gpu.get("stacks")
        if stacks:
            equal(sum(o["live_bytes"] for o in stacks["owners"]), stacks["live_bytes"], "the owners' sum")


def callers(path, out):
    """The kernel's walk has the driver's function, who called it, once, and their callers."""
    wanted, pid = test_stacks.expected(out)
    recording = stacklib.Stacks(path)
    sizes = {size: name for name, (size, _) in wanted.items()}
    found = {sizes[vals[1]]: recording.stacks[i] for (_, i, vals), caller in zip(recording.calls, recording.callers)
             if caller == pid and i and len(vals) > 1 and vals[1] in sizes}
    check("plain" in found and "pointer" in found, list(found))
    for name, stack in found.items():
        caller = "by_pointer" if name == "pointer" else "stacks_allocate"
        equal([f.function for f in stack.frames[:2]], ["cuMemAlloc_v2", caller], "who called in " + name)
        check(stack.words[2:3] != stack.words[1:2], name, "has its caller twice")


def modes():
    """full, native, python, fp, off: what each takes, and the same totals with all"""
    totals, counts = {}, {}
    for mode in ("full", "native", "python", "fp", "off"):
        path, out, report = test_stacks.traced(tool=("--stacks", mode))
        pid = test_stacks.expected(out)[1]
        stacks = [s for s in stacklib.Stacks(path).stacks.values() if s.tgid == pid]
        totals[mode], counts[mode] = classes(report, pid), len(stacks)
        owners_add_up(report, pid)
        by_tables = mode in ("full", "native")
        if by_tables:
            test_stacks.compare(path, out)
        elif mode == "python":
            wanted = test_stacks.expected(out)[0]["plain"][0]
            recording = stacklib.Stacks(path)       # -a records other tests' programs, too
            stack_id = next(i for (_, i, vals), caller in zip(recording.calls, recording.callers)
                            if caller == pid and vals[1:] == (wanted,))
            equal([len(s.words) for s in stacks if s.id == stack_id], [1], "frames of a program without Python")
        elif mode == "fp" or by_tables:
            equal({s.reason for s in stacks}, {"not walked"}, "reasons")
            callers(path, out)
    equal(counts["off"], 0, "stacks with --stacks off")
    for mode, total in totals.items():
        equal(total, totals["off"], f"totals with {mode}")


def equal_addresses():
    """processes with equal addresses and without a list of mappings: each has stacks of its own"""
    path = lib.folder() + "/run.gmt"
    tool = Tool("-a", "--stacks", "fp", "-o", path).ready()
    targets = []
    for _ in range(2):
        targets.append(Target("basic", prefix=("setarch", "-R")))
        targets[-1].books()
    lib.settled(tool, None)
    stacks = stacklib.Stacks(path).stacks.values()
    words = [sorted(tuple(s.words) for s in stacks if s.tgid == target.pid) for target in targets]
    check(words[0], "no stacks")
    equal(words[1], words[0], "the second process's stacks")


def modes_of_python():
    """native leaves Python's frames out, python all others but the driver's function"""
    for mode in ("native", "python"):
        path = lib.folder() + "/run.gmt"
        program = python.Program(python.pythons()[max(python.pythons())])
        tool = Tool("-p", str(program.pid), "-o", path, "--stacks", mode).ready()
        tool.idle()
        program.allocate()
        tool.stop()
        recording = stacklib.Stacks(path)
        by_size = {vals[1]: recording.stacks.get(i) for api, i, vals in recording.calls if len(vals) > 1}
        for said in program.said():
            stack = by_size[said["size"]]
            frames = python.python_frames(stack)
            if mode == "native":
                equal(frames, [], "Python's frames of " + said["name"])
                equal(python.wrong_native(stack, dict(said, frames=[])), None, said["name"])
            else:
                equal(frames, said["frames"], said["name"])
                equal([f.function for f in stack.frames if not f.is_python], ["cuMemAlloc_v2"], said["name"])
        program.end()


def depth():
    """--stack-depth: the innermost frames, and it is said that there were more"""
    path, out, _ = test_stacks.traced(tool=("--stack-depth", "4"))
    wanted, pid = test_stacks.expected(out)
    recording = stacklib.Stacks(path)
    stacks = {i: s for i, s in recording.stacks.items() if s.tgid == pid}
    by_size = {vals[1]: i for _, i, vals in recording.calls if len(vals) > 1 and i in stacks}
    plain = stacks[by_size[wanted["plain"][0]]]
    equal((len(plain.words), plain.reason), (4, "depth"), "frames and reason")
    equal([w & test_stacks.PC for w in plain.words[2:]], wanted["plain"][1][1:3], "frames")


def sample():
    """--stack-sample: a stack for every so many bytes, exact totals, and the rest is (without a stack)"""
    path, out, report = test_stacks.traced("same", "100", tool=("--stack-sample", "10M", "--top", "5"))
    pid = test_stacks.expected(out)[1]
    recording = stacklib.Stacks(path)
    calls = [stack_id for (_, stack_id, vals), caller in zip(recording.calls, recording.callers)
             if caller == pid and len(vals) > 1 and vals[1] == lib.MIB]
    equal(len(calls), 100, "calls")
    equal(sum(1 for i in calls if i), 10, "calls with a stack")
    gpu = lib.row_of(lib.process_of(report, pid), lib.GPU_B)
    equal(gpu["classes"]["device"]["live_bytes"], 100 * lib.MIB, "live")
    none = [row for row in gpu["stacks"]["top"]["live"] if report["stacks"][row["stack"]]["state"] == "none"]
    equal([(row["live_bytes"], row["live_count"]) for row in none], [(90 * lib.MIB, 90)], "without a stack")
    owners_add_up(report, pid)


def container():
    """a program in a container: its names come from files that only the container sees"""
    path = lib.folder() + "/run.gmt"
    tool = Tool("-a", "-o", path).ready()
    target = test_container.start("basic", "context")      # of each GPU, before its first allocation
    target.wait("context")
    pid = test_container.inner_pid(target)
    tool.probes(f"/proc/{pid}/root/opt/cuda/libcuda.so.1")
    tool.idle()
    os.kill(pid, lib.signal.SIGUSR1)
    target.wait("context", 2)
    lib.settled(tool, pid)
    test_container.finish(target, pid)
    recording = stacklib.Stacks(path)
    stacks = [s for s in recording.stacks.values() if s.tgid == pid and any(c[0] == 1 and c[1] == s.id
                                                                             for c in recording.calls)]
    check(stacks, "no stacks")
    for stack in stacks:
        functions = [f.function for f in stack.frames]
        equal((functions[0], functions[-1], stack.is_complete), ("cuMemAlloc_v2", "_start", True), stack.reason)
        check("main" in functions and os.path.basename(stack.frames[-1].module) == "basic",
              list(map(str, stack.frames)))


def deleted_and_replaced():
    """a program whose file was deleted, or replaced by another one, since: the names of what is mapped"""
    for replaced in False, True:
        path, program = lib.folder() + "/run.gmt", lib.folder() + "/program"
        shutil.copy(lib.workload("stacks"), program)
        target = Target(program, hold="expected", env={"STACKS_STAYS": "1"})
        target.wait("expected")
        os.unlink(program)
        if replaced:
            shutil.copy(lib.workload("basic"), program)
        tracer = Tool("-p", str(target.pid), "-o", path).ready()
        tracer.idle()
        target.go()
        target.wait("end")
        lib.settled(tracer, target.pid)
        target.line()
        equal(target.finish()[0], 0, "exit status")
        names, _, _ = test_stacks.compare(path, target.out)
        equal(names["plain"][1:6], ["stacks_allocate", "stacks_inner", "stacks_outer", "stacks_run", "run_all"], "plain")


def replayed():
    """a replay says the same of stacks and owners as the session did"""
    path, _, report = test_stacks.traced(env={"STACKS_LIBRARY": test_stacks.LIBRARY})
    done = lib.run([lib.TOOL, "replay", "--json", path])
    equal(done.returncode, 0, done.stderr)
    again = json.loads([line for line in done.stdout.splitlines() if line.startswith("{")][-1])
    check(report["stacks"] and report["symbols"], "no stacks in the report")
    for key in ("processes", "stacks", "symbols"):
        equal(json.dumps(again[key], sort_keys=True), json.dumps(report[key], sort_keys=True), key)


def cached(folder):
    """{file: its inode} after a run with that cache, whose stacks are whole."""
    path = lib.folder() + "/run.gmt"
    target = Target("stacks", hold="expected", env={"STACKS_STAYS": "1"})
    target.wait("expected")
    tracer = Tool("-p", str(target.pid), "-o", path, env={"GPUMEMTRACE_CACHE": folder}).ready()
    tracer.idle()
    target.go()
    target.wait("end")
    lib.settled(tracer, target.pid)
    target.line()
    equal(target.finish()[0], 0, "exit status")
    test_stacks.compare(path, target.out)
    return {e.name: e.inode() for e in os.scandir(folder)} if os.path.isdir(folder) else {}


def cache():
    """tables on disk are found again; damaged ones, and a place where none can be kept, do no harm"""
    folder = lib.folder() + "/cache"
    first = cached(folder)
    check(len(first) >= 3 and all(name.endswith(".unwind") for name in first), first)
    equal(cached(folder), first, "files of the second run")
    for number, name in enumerate(first):
        with open(os.path.join(folder, name), "r+b") as file:
            size = os.path.getsize(file.name)
            if number % 2:
                file.truncate(size // 2)
            else:
                file.seek(size // 2)
                file.write(b"\xff" * 64)
    again = cached(folder)
    equal(set(again), set(first), "files of the third run")
    check(not any(again[name] == first[name] for name in first), "a damaged file is still there")
    equal(cached("/proc/nowhere"), {}, "files where none can be")
    os.chmod(folder, 0o777)
    equal(cached(folder), again, "files where others may write")


if __name__ == "__main__":
    lib.main(modes, equal_addresses, modes_of_python, depth, sample, container, deleted_and_replaced,
             replayed, cache)
