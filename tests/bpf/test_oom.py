#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""When memory runs out, with real probes: the tool sees how programs react, and writes dumps meanwhile."""
import json
import os
import shutil
import signal

import lib
from lib import C10, C10_ENDBR, GPU_B, MIB, Target, Tool, check, equal, until

STEP = 256 * MIB


def read(path, *options):
    """What `gpumemtrace oom` says: a list of objects."""
    done = lib.run([lib.TOOL, "oom", "--json", *options, path])
    equal((done.returncode, done.stderr), (0, ""), "gpumemtrace oom " + path)
    return [json.loads(line) for line in done.stdout.splitlines()]


def dumps_in(folder):
    names = sorted(os.listdir(folder), key=lambda name: int(name.rsplit("-", 2)[-2]))
    check(all(name.endswith(".gmt") for name in names), "unfinished files:", names)
    return [os.path.join(folder, name) for name in names]


def of(pid, views):
    """Others may run out of memory meanwhile, where everything is traced."""
    return [v for v in views if asker(v)["pid"] == pid]


def run(*argv, arguments=()):
    """A workload to its end: (status, what each dump says, what the recording says, the tool)."""
    folder = lib.folder()
    recording = lib.folder() + "/run.gmt"
    tool = Tool("-o", recording, *arguments, "--", lib.workload(argv[0]), *argv[1:], options=("--no-live",),
                dumps=folder)
    status, _ = tool.finish()
    dumps = []
    for path in dumps_in(folder):
        dumps += read(path)
    return status, dumps, read(recording), tool


def same(dump, recorded):
    """A dump says what a replay of the whole recording says."""
    for key in "outcome", "by", "class", "call", "failures", "asked_bytes", "freed_bytes", "facts", "wait_status", "tid":
        equal(dump["oom"][key], recorded["oom"][key], key)
    for key in "first_at", "decided_at", "exited_at":
        equal(dump["oom"][key] and dump["oom"][key]["monotonic_ns"],
              recorded["oom"][key] and recorded["oom"][key]["monotonic_ns"], key)
    equal([r["held_bytes"] for r in dump["oom"]["rows"]], [r["held_bytes"] for r in recorded["oom"]["rows"]], "held")
    equal([p["cmdline"] for p in dump["processes"]], [p["cmdline"] for p in recorded["processes"]], "who")


def only(dumps, recorded, outcome, by):
    equal([v["oom"]["outcome"] for v in dumps], [outcome], "dumps")
    equal([v["oom"]["outcome"] for v in recorded], [outcome], "the recording's")
    equal(dumps[0]["oom"]["by"], by, "by what it was told")
    same(dumps[0], recorded[0])
    return dumps[0]


def asker(view):
    return view["processes"][view["oom"]["process"]]


def held(view, uuid=GPU_B):
    """Of the process that asked: its row on the GPU."""
    return next(row for row in asker(view)["gpus"] if row["uuid"] == uuid)


def caught():
    """an error that is caught: one dump, of what was held when it happened"""
    status, dumps, recorded, tool = run("oom_cases", "caught")
    equal(status, 0, "exit status " + tool.stderr())
    view = only(dumps, recorded, "raised", "went_on")
    oom = view["oom"]
    equal((oom["call"], oom["class"], oom["asked_bytes"], oom["failures"]), ("cuMemAlloc_v2", "device", STEP, 1), "what")
    equal(view["gpus"][oom["gpu"]]["uuid"], GPU_B, "the GPU")
    row = held(view)
    equal(row["attributed"]["live_bytes"] % STEP, 0, "what calls had asked for")
    check(8192 * MIB - 2 * STEP < row["physical"]["live_bytes"] <= 8192 * MIB, row["physical"])
    equal(sum(o["live_bytes"] for o in row["stacks"]["owners"]) + row["stacks"]["unexplained_bytes"],
          row["physical"]["live_bytes"], "the sum of the owners")
    equal(view["processes"][oom["process"]]["classes"]["pinned"]["live_bytes"], 64 * MIB, "pinned memory")
    equal((oom["cause"], oom["ground"]), ("full", "recorded"), "cause")
    check(oom["verdict"][1].startswith("WHY    GPU 1 is full: the traced processes hold"), oom["verdict"])
    check("ran out of memory" in tool.stderr() and "gpumemtrace oom " in tool.stderr(), tool.stderr())


def retry():
    """a retry that works is a retry: no dump, and the recording tells what was freed"""
    status, dumps, recorded, tool = run("oom_cases", "retry")
    equal((status, dumps), (0, []), "status, dumps " + tool.stderr())
    equal([(v["oom"]["outcome"], v["oom"]["by"], v["oom"]["freed_bytes"]) for v in recorded],
          [("retry", "given", STEP)], "outcome")


def killed():
    """killed right after: fatal, by SIGKILL"""
    status, dumps, recorded, tool = run("oom_cases", "killed")
    equal(status, 128 + signal.SIGKILL, "exit status " + tool.stderr())
    view = only(dumps, recorded, "fatal", "exit")
    equal(view["oom"]["wait_status"], signal.SIGKILL, "wait status")
    check(view["oom"]["verdict"][0].startswith("ASKED  256 MiB by cuMemAlloc_v2"), view["oom"]["verdict"])


def ended():
    """ended with 1: fatal"""
    status, dumps, recorded, _ = run("oom_cases", "exit")
    equal(status, 1, "exit status")
    equal(only(dumps, recorded, "fatal", "exit")["oom"]["wait_status"], 256, "wait status")


def with_pytorch(case, c10, *arguments, status=0):
    """The case from when libc10 is probed: what each dump says, the recording, and the tool. The file is the target's
    alone: the tracer probes the file only when this process maps it."""
    folder, recording = lib.folder(), lib.folder() + "/run.gmt"
    c10 = shutil.copy(c10, lib.folder())
    tool = Tool("-a", "-o", recording, *arguments, dumps=folder).ready()
    target = Target("oom_cases", case, c10, hold="loaded")
    target.wait("loaded")
    tool.probes(c10)
    target.go()
    equal(target.finish()[0], status, "exit status " + target.stderr())
    tool.stop()
    dumps = [v for path in dumps_in(folder) for v in read(path)]
    return of(target.pid, dumps), of(target.pid, read(recording)), tool


def pytorch():
    """PyTorch's report, of both releases: raised, with its own size, and CUDA's word on what was free"""
    for c10 in C10, C10_ENDBR:
        dumps, recorded, _ = with_pytorch("torch", c10)
        equal([v["oom"]["by"] for v in dumps], ["went_on", "reported"], "both")   # it was filled up before
        same(dumps[1], recorded[1])
        oom = dumps[1]["oom"]
        equal((oom["outcome"], oom["framework_bytes"], oom["asked_bytes"]), ("raised", 2 * STEP - 512, 2 * STEP), "what")
        equal(oom["facts"]["free_by"], "cuda", "who says what is free")


def pytorch_limit():
    """a limit of PyTorch's own: raised without a call that failed"""
    dumps, recorded, _ = with_pytorch("limit", C10)
    oom = only(dumps, recorded, "raised", "reported")["oom"]
    equal((oom["call"], oom["asked_bytes"]), (None, STEP), "what")


def burst():
    """dozens of errors in a moment, the last one fatal: the first and the last have a dump and a line, the last one always"""
    dumps, recorded, tool = with_pytorch("burst", C10, status=1)
    equal([v["oom"]["outcome"] for v in recorded], ["raised"] * 40 + ["fatal"], "what happened")
    starts, pid = [v["oom"]["first_at"]["monotonic_ns"] for v in recorded], asker(recorded[-1])["pid"]
    equal(dumps[-1]["oom"]["number"], recorded[-1]["oom"]["number"], "the last dump's request")
    same(dumps[-1], recorded[-1])
    equal(held(dumps[-1])["attributed"]["live_bytes"], held(dumps[0])["attributed"]["live_bytes"], "what was held")
    if starts[-1] - starts[0] < 80_000_000:        # else a busy machine has made more than one burst of them
        equal([v["oom"]["outcome"] for v in dumps], ["raised", "fatal"], "dumps")
        equal(sum(f"process {pid} ran out of memory" in line for line in tool.err), 1, "lines\n" + tool.stderr())
    check(any(f"process {pid} ended because it ran out of memory" in line for line in tool.err), tool.stderr())
    dumps, recorded, tool = with_pytorch("burst", C10, "--oom-max", "1", status=1)
    equal([v["oom"]["outcome"] for v in dumps], ["fatal"], "the only dump")
    same(dumps[0], recorded[-1])


def context():
    """no memory left for another process's context: that is seen, and who has the memory"""
    status, dumps, recorded, tool = run("oom_cases", "context")
    equal(status, 0, "exit status " + tool.stderr())
    equal([(v["oom"]["call"], v["oom"]["outcome"]) for v in dumps],
          [("cuMemAlloc_v2", "raised"), ("cuDevicePrimaryCtxRetain", "fatal")], "dumps")
    same(dumps[1], recorded[1])
    oom = dumps[1]["oom"]
    check(oom["rows"][0]["held_bytes"] > 7168 * MIB and oom["rows"][0]["process"] != oom["process"], oom["rows"])


def watched(case):
    """A workload that runs already, so that tables for its stacks are there: (status, dumps, what the recording says)."""
    folder, recording = lib.folder(), lib.folder() + "/run.gmt"
    target = Target("oom_cases", case, hold="loaded")
    target.wait("loaded")
    tool = Tool("-p", str(target.pid), "-o", recording, dumps=folder).ready()
    tool.idle()
    target.go()
    status, _ = target.finish()
    equal(tool.report()["exit_status"], 0, "exit status " + tool.stderr())
    return status, [v for path in dumps_in(folder) for v in read(path)], read(recording)


def functions(view):
    return [view["symbols"][s]["function"] for s in view["stacks"][view["oom"]["stack"]]["frames"]]


def module():
    """no memory left for a module: the call, its stack, and what the kernel driver was asked for in it"""
    status, dumps, recorded = watched("module")
    equal(status, 1, "exit status")
    view = only(dumps, recorded, "fatal", "exit")
    oom = view["oom"]
    equal((oom["call"], oom["refused"], oom["failures"]), ("cuModuleLoadData", False, 1), "what")
    check(oom["asked_bytes"] in (2 * MIB, 4 * MIB), oom["asked_bytes"])
    equal(view["gpus"][oom["gpu"]]["uuid"], GPU_B, "the GPU")
    check("for a module" in oom["verdict"][0], oom["verdict"])
    check("cuModuleLoadData" in functions(view) and "main" in functions(view), functions(view))


def stream():
    """no memory left for a stream: the call is told, though its other errors are not"""
    status, dumps, recorded = watched("stream")
    equal(status, 0, "exit status")
    view = only(dumps, recorded, "raised", "exit")
    oom = view["oom"]
    equal((oom["call"], oom["refused"], oom["asked_bytes"]), ("cuStreamCreate", False, 2 * MIB), "what")
    check("for a stream" in oom["verdict"][0], oom["verdict"])


def launch():
    """no memory left for a kernel: no call is traced, but that is told, whether the process dies of it or not"""
    status, dumps, recorded = watched("launch")
    equal(status, 1, "exit status")
    view = only(dumps, recorded, "fatal", "exit")
    oom = view["oom"]
    equal((oom["call"], oom["refused"], oom["failures"], oom["asked_bytes"]), (None, True, 2, 2 * MIB), "what")
    check("cuLaunchKernel" in functions(view) and "main" in functions(view), functions(view))
    check("ASKED  2 MiB in cuLaunchKernel, " in oom["verdict"][0], oom["verdict"])
    status, dumps, recorded = watched("survived")
    equal(status, 0, "survived")
    oom = only(dumps, recorded, "raised", "return")["oom"]
    equal((oom["refused"], oom["failures"]), (True, 2), "survived")


def expandable():
    """expandable segments: hundreds of creates and a failure are one, however often it happens"""
    status, dumps, recorded, tool = run("vmm", "oom")
    equal(status, 0, "exit status " + tool.stderr())
    equal(len(dumps), 1, "dumps")
    oom = only(dumps, recorded, "raised", "exit")["oom"]
    equal((oom["call"], oom["failures"]), ("cuMemCreate", 3), "what")
    equal(oom["asked_bytes"], (oom["pieces"] + 1) * 20 * MIB, "what all pieces are together")
    check(oom["pieces"] > 300, oom["pieces"])


def bounded():
    """no more dumps than --oom-max, and a word about it"""
    status, dumps, recorded, tool = run("oom", arguments=("--oom-max", "1"))
    equal(status, 0, "exit status")
    equal((len(dumps), len(recorded)), (1, 3), "dumps, requests")
    check("no more dumps will follow" in tool.stderr(), tool.stderr())


def named(view):
    """Whether any stack of the picture has names."""
    row = view["oom"]["rows"][0]
    stacks = view["processes"][row["process"]]["gpus"][row["row"]]["stacks"]
    return any(view["stacks"][s["stack"]]["state"] == "named" for s in stacks["top"]["live"])


def at_once():
    """the dump is there while the target still runs; and has names before the target ends"""
    folder = lib.folder()
    tool = Tool("-a", dumps=folder).ready()
    target = Target("oom_cases", "caught", hold="on")
    target.wait("on")
    names = until(lambda: [name for name in os.listdir(folder) if name.endswith(".gmt") and f"-{target.pid}-" in name])
    check(names, "no dump")
    path = os.path.join(folder, names[0])
    equal(read(path)[0]["oom"]["outcome"], "raised", "outcome")
    check(until(lambda: named(read(path)[0])), "no stack has names")
    target.send(signal.SIGKILL)
    target.finish()
    tool.stop()
    view = read(path)[0]
    equal(view["oom"]["outcome"], "raised", "it had gone on: no fatal one")
    check(named(view), "the names are gone")


def asked_for():
    """SIGUSR1: a picture of what is held now, and tracing goes on"""
    folder = lib.folder()
    target = Target("oom_cases", "caught", hold="on")
    tool = Tool("-p", str(target.pid), dumps=folder).ready()
    target.wait("on")
    before = len(os.listdir(folder))
    for number in 1, 2:
        tool.send(signal.SIGUSR1)
        tool.wait_line(lambda: sum("gpumemtrace-dump-" in line for line in tool.err) >= number, "the dump")
    paths = [p for p in dumps_in(folder) if "gpumemtrace-dump-" in p]
    equal(len(paths), 2, f"dumps beside {before}")
    view = read(paths[0])[0]
    equal((view["oom"]["outcome"], view["oom"]["number"]), ("none", 0), "outcome")
    report = tool.views()[-1]
    now = next(g for p in report["processes"] for g in p["gpus"] if g["uuid"] == GPU_B)
    then = next(g for p in view["processes"] for g in p["gpus"] if g["uuid"] == GPU_B)
    equal(then["attributed"]["live_bytes"], now["attributed"]["live_bytes"], "what is held")
    target.go()
    equal(target.finish()[0], 0, "exit status of the target")
    equal(tool.report()["exit_status"], 0, "exit status " + tool.stderr())


def nowhere_to_write():
    """a folder that is gone when memory runs out: said once, and tracing goes on"""
    folder = os.path.join(lib.folder(), "gone")
    os.mkdir(folder)
    target = Target("oom_cases", "caught", hold="loaded")
    target.wait("loaded")
    tool = Tool("-p", str(target.pid), dumps=folder).ready()
    os.rmdir(folder)
    target.go()
    equal(tool.report()["exit_status"], 0, "exit status " + tool.stderr())
    equal(tool.stderr().count(": No such file"), 1, "times that it is said\n" + tool.stderr())


if __name__ == "__main__":
    lib.main(caught, retry, killed, ended, pytorch, pytorch_limit, burst, context, module, stream, launch, expandable,
             bounded, at_once, asked_for, nowhere_to_write)
