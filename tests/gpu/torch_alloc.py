# SPDX-License-Identifier: BSD-2-Clause
"""Scenarios: PyTorch's allocator in its corners, and snapshots of the allocator, compared with torch's numbers.

Invariant: where PyTorch and the driver differ on purpose both are compared, each with its own truth.
"""
import collections
import os
import pickle
import subprocess
import sys

import ends
import lib
from compare import EXPANDABLE, NATIVE
from lib import MIB

sys.path.insert(0, os.path.dirname(lib.HERE))
import vizlib  # noqa: E402


def row_of(proc, truth):
    return proc.row(truth["gpus"][0]["uuid"])


def through(s, name, mode=NATIVE, env=None, look=None):
    """Every checkpoint of a workload to its end; look(step, proc, truth) compares more."""
    work, tool = s.traced("alloc_work.py", name, mode=mode, env=env)
    while True:
        truth = work.next()
        proc = s.holds(truth["name"], tool, truth, mode)
        if look:
            look(truth["name"], proc, truth)
        if truth["name"] == "end":
            return s.finish(work, tool)
        work.go()


def churn_native(s):
    """2000 blocks come and go on two streams: at no event does what is reserved differ from the segments."""
    through(s, "churn")


def churn_expandable(s):
    """The same with expandable segments."""
    through(s, "churn", EXPANDABLE)


def attached(s):
    """Attached while PyTorch allocates: allocated and reserved are PyTorch's, to the byte."""
    work = s.workload("alloc_work.py", "running", mode=NATIVE).start()
    ready = work.next()
    work.go()
    tool = s.tool("-p", str(ready["pid"]))
    truth = work.next()
    _, proc = s.adds_up("end", tool, truth, from_start=False)
    row, gpu = row_of(proc, truth), truth["gpus"][0]
    s.equal("end", "PyTorch allocated", row.torch["allocated"]["live_bytes"], gpu["allocated"])
    s.equal("end", "PyTorch reserved", row.torch["reserved"]["live_bytes"], gpu["reserved"])
    s.true("end", "it came while blocks were allocated", row.torch["blocks"]["allocs"] < gpu["allocs"],
           row.torch["blocks"]["allocs"], gpu["allocs"])
    work.go()
    work.leave()
    status, view = tool.wait()
    s.ended_clean("end", tool, status, view, 0)


def saved(s):
    """A PyTorch training is moved to host memory and back: sums are NVML's all along, blocks are PyTorch's."""
    work, tool = s.traced("alloc_work.py", "saved", mode=NATIVE)
    truth = work.next()
    before = row_of(s.holds("before", tool, truth, NATIVE), truth)
    if ends.move(s, "save", truth["pid"]):
        def is_saved(view):
            proc = view.process(truth["pid"])
            return proc and row_of(proc, truth) and row_of(proc, truth).checkpointed
        row = row_of(tool.wait_view(is_saved).process(truth["pid"]), truth)
        s.equal("saved", "physical and NVML", row.physical, s.nvml.used(truth["pid"]).get(row.uuid, 0))
        s.equal("saved", "what calls allocated", row.attributed, before.attributed)
        for name in ("allocated", "reserved"):
            s.equal("saved", "PyTorch " + name, row.torch[name]["live_bytes"], truth["gpus"][0][name])
        ends.move(s, "restore", truth["pid"])
    for step in ("after", "end"):
        work.go()
        truth = work.next()
        row = row_of(s.holds(step, tool, truth, NATIVE), truth)
        s.equal(step, "in host memory", row.checkpointed, 0)
    s.finish(work, tool)


def graph(s):
    """A CUDA graph's replays allocate nothing, and what was captured stays."""
    seen = {}
    through(s, "graph", look=lambda step, proc, truth: seen.update({step: row_of(proc, truth).torch["blocks"]["allocs"]}))
    s.equal("replayed", "blocks that 200 replays allocated", seen["replayed"] - seen["captured"], 0, "")


def mempool(s):
    """torch.cuda.MemPool: its blocks and segments are in the sums."""
    through(s, "mempool")


def sleep(s):
    """An engine asleep: its memory is given back below PyTorch, whose own sums stay."""
    work, tool = s.traced("alloc_work.py", "sleep")
    while True:
        truth = work.next()
        step = truth["name"]
        _, proc = s.adds_up(step, tool, truth)
        row, gpu = row_of(proc, truth), truth["gpus"][0]
        s.equal(step, "cuMemCreate live", row.live("vmm"), truth["vmm"])
        s.equal(step, "PyTorch allocated", row.torch["allocated"]["live_bytes"], gpu["allocated"])
        s.equal(step, "PyTorch reserved", row.torch["reserved"]["live_bytes"], gpu["reserved"])
        if step == "end":
            break
        work.go()
    s.finish(work, tool)


def record_stream(s):
    """A block that another stream still uses is no longer allocated: PyTorch's active bytes fall later."""
    def look(step, _proc, truth):
        gpu = truth["gpus"][0]
        pending = gpu["active"] - gpu["allocated"]
        s.equal(step, "active beyond allocated (torch)", pending, 64 * MIB if step == "freed" else 0)
    through(s, "record_stream", look=look)


def uncached(s):
    """PYTORCH_NO_CUDA_MEMORY_CACHING=1: what the driver gave is what the tensors take."""
    work, tool = s.traced("alloc_work.py", "uncached", env={"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"})
    for step in ("allocated", "end"):
        truth = work.next()
        _, proc = s.adds_up(step, tool, truth)
        s.classes_agree(step, proc, truth)
        s.equal(step, "PyTorch's blocks (it reports none)", row_of(proc, truth).torch, None, "")
        s.equal(step, "and why", proc.torch_silent, "uncached", "")
        if step == "allocated":
            work.go()
    s.finish(work, tool)


# ---- snapshots ----

def live_blocks(snapshot, device=0):
    return {(b["address"], b["size"]) for g in snapshot["segments"] if g["device"] == device
            for b in g["blocks"] if b["state"] == "active_allocated"}


def segments(snapshot):
    """Address and size of PyTorch's; ours have those of others beside them."""
    return {(g["address"], g["total_size"]) for g in snapshot["segments"]}


def events(snapshot, device=0):
    """Blocks that come and go: (what, address), and the events themselves."""
    found = [e for e in snapshot["device_traces"][device] if e["action"] in ("alloc", "free_completed")]
    return [(e["action"], e["addr"]) for e in found], found


def innermost(frames):
    """The innermost line of the workload."""
    own = [f for f in frames if f["filename"].endswith("alloc_work.py")]
    return f"{own[0]['name']}:{own[0]['line']}" if own else None


def line(event):
    """The line of the thread that allocated."""
    return innermost(vizlib.own_and_waiting(event)[0])


def snapshots_agree(s, step, path, truth_path, whole):
    """A snapshot of ours beside torch's own of the same process."""
    wrong = vizlib.problems(path)
    s.equal(step, "what a viewer would choke on", wrong, [], "")
    ours, torchs = vizlib.load(path), vizlib.load(truth_path)
    got, want = live_blocks(ours), live_blocks(torchs)
    if whole:
        s.equal(step, "PyTorch's segments that are missing", len(segments(torchs) - segments(ours)), 0, "")
        s.equal(step, "live blocks that are missing", len(want - got), 0, "")
    known = ours["device_traces"][0]
    began = {e["addr"] for e in torchs["device_traces"][0] if e["action"] == "alloc"}
    since = {(a, size) for a, size in want if a in began}
    s.equal(step, "live blocks of the recorded time that are missing", len(since - got), 0, "")
    (theirs, torch_events), (mine, our_events) = events(torchs), events(ours)
    addresses = {addr for _, addr in theirs}
    our_events = [e for e, (_, addr) in zip(our_events, mine) if addr in addresses]
    mine = [e for e in mine if e[1] in addresses]
    start = mine.index(theirs[0]) if theirs and theirs[0] in mine else 0
    s.equal(step, "allocations and frees, in their order", mine[start:][:len(theirs)] == theirs, True, "")
    differ = [(line(a), line(b)) for a, b in zip(our_events[start:], torch_events)
              if a["action"] == "alloc" and line(a) != line(b)]
    s.equal(step, "allocations whose line differs from torch's", len(differ), 0, "")
    s.info(step, "those lines", differ[:4])
    waiting = collections.Counter(innermost(vizlib.own_and_waiting(e)[1]) for e in our_events if line(e) is None)
    s.info(step, "lines that waited for a thread of autograd, which torch does not know", dict(waiting))
    s.equal(step, "out of memory events", sum(1 for e in known if e["action"] == "oom"), 1, "")
    s.info(step, "events", dict(collections.Counter(e["action"] for e in known)),
           dict(collections.Counter(e["action"] for e in torchs["device_traces"][0])))
    viewers_take(s, step, path)


def viewers_take(s, step, path):
    for command in ("stats",), ("trace",), ("trace_plot", "-o", path + ".html"), ("segment_plot", "-o", path + ".html"):
        done = subprocess.run([sys.executable, "-m", "torch.cuda._memory_viz", command[0], path, *command[1:]],
                              capture_output=True, timeout=120)
        s.true(step, f"torch.cuda._memory_viz {command[0]}", done.returncode == 0, done.stderr.decode()[-200:])


def export(s, mode):
    path, truth_path = (os.path.join(s.run.scratch, f"{s.name}.{end}.pickle") for end in ("ours", "torch"))
    work, tool = s.traced("alloc_work.py", "export", mode=mode, options=["--block-stacks", "--snapshot", path])
    work.next()
    # Of a request that is too large, pieces take all that the GPU has for a moment.
    work.go(path=truth_path, alone=mode == EXPANDABLE)
    s.holds("end", tool, work.next(), mode, peaks=False)
    s.finish(work, tool)
    snapshots_agree(s, "end", path, truth_path, True)
    again = path + ".replay.pickle"
    done = subprocess.run([lib.GPUMEMTRACE, "replay", "-q", "-o", again, f"{s.run.scratch}/{s.name}.gmt"], capture_output=True,
                          timeout=60)
    s.equal("replay", "exit status", done.returncode, 0, done.stderr.decode()[-200:])
    with open(path, "rb") as a, open(again, "rb") as b:
        s.true("replay", "the same snapshot", pickle.load(a) == pickle.load(b))


def export_native(s):
    """A snapshot of a run: segments, live blocks, events and lines are those of torch's own recorder."""
    export(s, NATIVE)


def export_expandable(s):
    """The same with expandable segments."""
    export(s, EXPANDABLE)


def export_late(s):
    """Attached late, ended while it runs: what came since is in the snapshot, what was before in one piece."""
    path, truth_path = (os.path.join(s.run.scratch, f"{s.name}.{end}.pickle") for end in ("ours", "torch"))
    work = s.workload("alloc_work.py", "export", mode=NATIVE).start()
    ready = work.next()
    tool = s.tool("-p", str(ready["pid"]), "--block-stacks", "--snapshot", path)
    s.adds_up("attach", tool, ready, from_start=False)
    work.go(path=truth_path)
    truth = work.next()
    s.adds_up("end", tool, truth, from_start=False)
    status, view = tool.stop()
    s.ended_clean("end", tool, status, view, 0)
    snapshots_agree(s, "end", path, truth_path, False)
    allocated = sum(size for _, size in live_blocks(vizlib.load(path)))
    s.true("end", "what is live is at least what PyTorch has allocated", allocated >= truth["gpus"][0]["allocated"],
           allocated, truth["gpus"][0]["allocated"])
    work.go()


SCENARIOS = {"torch-saved": saved, "torch-churn": churn_native, "torch-churn-expandable": churn_expandable, "torch-attached": attached,
             "torch-graph": graph, "torch-mempool": mempool, "torch-sleep": sleep, "torch-record-stream": record_stream,
             "torch-uncached": uncached, "torch-export": export_native, "torch-export-expandable": export_expandable,
             "torch-export-late": export_late}
