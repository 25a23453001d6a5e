#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Dumps, with real probes, tell PyTorch's viewers what happened before the dump."""
import json
import os
import re
import signal
import subprocess
import sys

import lib
from lib import C10, MIB, Target, Tool, check, equal

sys.path.insert(0, os.path.join(lib.TOP, "tests"))
import vizlib  # noqa: E402

STEP = 256 * MIB


def snapshot_of(path, *options, pid=None):
    """What `gpumemtrace oom` makes of a dump: no viewer chokes on it."""
    out = os.path.join(lib.folder(), "dump.pickle")
    done = lib.run([lib.TOOL, "oom", *options, "-o", out, path])
    equal(done.returncode, 0, "gpumemtrace oom " + path)
    if pid and not os.path.exists(out):                  # others ran out of memory meanwhile
        out = out.replace(".pickle", f".{pid}.pickle")
    wrong = vizlib.problems(out)
    check(not wrong, "\n".join(wrong))
    return vizlib.load(out)


def dumps_in(folder, word):
    return sorted(os.path.join(folder, name) for name in os.listdir(folder) if word in name)


def without_names(snapshot):
    """Names of a process that is gone may have come in one and not in the other; the tool's settings are alike."""
    return [[{k: v for k, v in e.items() if k != "frames"} for e in trace] for trace in snapshot["device_traces"]], \
           [(s["address"], s["total_size"], [(b["address"], b["size"], b["state"]) for b in s["blocks"]])
            for s in snapshot["segments"]]


def one_gpu(dump, snapshot):
    """cuda:0 is GPU 1 of the stand-in: the verdict says so, and a dump can be restricted to a GPU."""
    said = json.loads(lib.run([lib.TOOL, "oom", "--json", dump]).stdout)
    rows = [(row["ordinal"], row["uuid"]) for process in said["processes"] for row in process["gpus"]]
    equal(rows, [(0, lib.GPU_B)], "the process's GPUs")
    head = lib.run([lib.TOOL, "oom", dump]).stdout.splitlines()[1]
    check("cuda:0 = GPU 1" in head, head)
    equal(snapshot_of(dump, "--gpu", "1"), snapshot, "the snapshot of this GPU")
    none = os.path.join(lib.folder(), "none.pickle")
    done = lib.run([lib.TOOL, "oom", "--gpu", "0", "-o", none, dump])
    check("was not written" in done.stderr and not os.path.exists(none), "the other GPU: " + done.stderr)


def out_of_memory():
    """an error that is caught: the snapshot of the dump ends with it, of what was held then, with stacks"""
    folder = lib.folder()
    tool = Tool("--live", "--", lib.workload("oom_cases"), "caught", env={"WL_HOLD": "on"}, dumps=folder)
    tool.wait_line(lambda: any("-oom-" in line for line in tool.err), "the dump")
    tool.idle()                                          # the names are there; then it may go
    tool.send(signal.SIGTERM)
    equal(tool.finish()[0], 128 + signal.SIGTERM, "exit status " + tool.stderr())
    dumps = dumps_in(folder, "-oom-")
    equal(len(dumps), 1, "dumps")
    check(re.search(r"/gpumemtrace-oom-\d{8}-\d{6}-\d+-1-[0-9a-f]{8}\.gmt$", dumps[0]), dumps[0])
    equal(os.stat(dumps[0]).st_mode & 0o777, 0o600, "mode: it holds command lines")
    snapshot = snapshot_of(dumps[0])
    events = snapshot["device_traces"][0]
    equal((events[-1]["action"], events[-1]["size"]), ("oom", STEP), "the last event")
    equal(sum(e["action"] == "oom" for e in events), 1, "events of want of memory")
    allocated, reserved = vizlib.totals(snapshot, 0)
    equal((allocated, reserved % STEP), (reserved, 0), "what was held: no more, for it was in steps")
    one_gpu(dumps[0], snapshot)
    check(any("cuMemAlloc" in f["name"] or "libcuda" in f["filename"] for f in events[-1]["frames"]), events[-1])


def pytorch():
    """PyTorch's own error: the event is there where it was raised, with its size and CUDA's word on what was free"""
    folder = lib.folder()
    tool = Tool("-a", "--block-stacks", dumps=folder).ready()
    target = Target("oom_cases", "torch", C10, hold="loaded")
    target.wait("loaded")
    tool.probes(C10)
    target.go()
    equal(target.finish()[0], 0, "exit status " + target.stderr())
    tool.stop()
    dumps = [p for p in dumps_in(folder, "-oom-") if f"-{target.pid}-" in p]
    dump = max(dumps, key=lambda name: int(name.rsplit("-", 2)[-2]))
    last = snapshot_of(dump, pid=target.pid)["device_traces"][0][-1]
    equal((last["action"], last["size"]), ("oom", 2 * STEP - 512), "the last event")
    check(STEP <= last["device_free"] < 2 * STEP, last["device_free"])


def asked_for():
    """SIGUSR1: what is in the dump is what a snapshot of the same moment has; tracing goes on"""
    folder = lib.folder()
    path = os.path.join(folder, "end.pickle")
    tool = Tool("-o", path, "--", lib.workload("torch"), C10, env={"WL_HOLD": "half"}, dumps=folder)
    tool.wait_line(lambda: any(line.strip() == "phase=half" for line in tool.err), "phase half")
    for number in 1, 2:
        tool.send(signal.SIGUSR1)
        tool.wait_line(lambda: sum("gpumemtrace-dump-" in line for line in tool.err) >= number, "the dump")
    tool.send(signal.SIGTERM)                             # the command's own, which ends by it
    equal(tool.finish()[0], 128 + signal.SIGTERM, "exit status " + tool.stderr())
    dumps = dumps_in(folder, "-dump-")
    equal(len(dumps), 2, "dumps")
    end = without_names(vizlib.load(path))
    check(len(end[0][0]) > 20, "nothing has happened")
    for dump in dumps:
        equal(without_names(snapshot_of(dump)), end, dump)
    few = snapshot_of(dumps[0], "--window", "5")
    # The end of a segment that was a block by itself is four of PyTorch's events.
    check(0 < sum(map(len, few["device_traces"])) <= 4 * 5, "few are few", few["device_traces"])


def window_off():
    """--window off: a dump is of one moment, and a snapshot of it would be empty"""
    folder = lib.folder()
    tool = Tool("--window", "off", "--", lib.workload("oom_cases"), "caught", options=("--no-live",), dumps=folder)
    equal(tool.finish()[0], 0, "exit status " + tool.stderr())
    done = lib.run([lib.TOOL, "oom", "-o", folder + "/no.pickle", dumps_in(folder, "-oom-")[0]])
    equal((done.returncode, "was not written" in done.stderr, os.path.exists(folder + "/no.pickle")), (0, True, False),
          done.stderr)


def full_disk():
    """a disk that is full: said once, nothing is left there, and tracing goes on"""
    folder = lib.folder()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8k", "gmt-test", folder], capture_output=True,
                      check=False).returncode:
        raise lib.Skip("nothing may be mounted here")
    try:
        with open(folder + "/full", "wb") as file:
            file.write(bytes(8192))
        tool = Tool("--json", "--", lib.workload("oom"), options=("--no-live",), dumps=folder)
        status, _ = tool.finish()
        equal(status, 0, "exit status")
        equal(tool.stderr().count(": No space left"), 1, "times that it is said\n" + tool.stderr())
        equal(os.listdir(folder), ["full"], "files")
        check(json.loads(tool.out[-1])["processes"], "no report")
    finally:
        subprocess.run(["umount", folder], check=True)


if __name__ == "__main__":
    lib.main(out_of_memory, pytorch, asked_for, window_off, full_disk)
