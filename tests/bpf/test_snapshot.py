#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Live snapshots for PyTorch's viewers agree with the statistics of a stand-in libc10."""
import os
import sys

import lib
from c10lib import DEVICES, truth_of, whole_run
from lib import C10, GPU_B, MIB, Target, Tool, check, equal

sys.path.insert(0, os.path.join(lib.TOP, "tests"))
import vizlib  # noqa: E402


def compare(path, out):
    wrong = vizlib.problems(path)
    check(not wrong, "\n".join(wrong))
    truth, snapshot = truth_of(out), vizlib.load(path)
    equal(len(snapshot["device_traces"]), 2, "devices")
    for device, gpu in DEVICES.items():
        equal(vizlib.totals(snapshot, device), (truth[gpu, "allocated.live"], truth[gpu, "reserved.live"]),
              f"allocated and reserved of device {device}")
        equal(vizlib.active_peak(snapshot, device), truth[gpu, "allocated.peak"], f"peak of device {device}")
    return snapshot


def actions(snapshot, device):
    return {e["action"] for e in snapshot["device_traces"][device]}


def begins_with(frames, name):
    return frames and name in frames[0]["name"]


def from_start():
    """from before the first allocation: blocks, segments and the peak are the allocator's own, with stacks"""
    path = os.path.join(lib.folder(), "run.pickle")
    _, out = whole_run("-o", path)
    snapshot = compare(path, out)
    check({"segment_alloc", "segment_free", "alloc", "free_requested", "free_completed"} == actions(snapshot, 0),
          actions(snapshot, 0))
    check({"segment_map", "segment_unmap", "alloc", "free_requested", "free_completed"} == actions(snapshot, 1),
          actions(snapshot, 1))
    check(snapshot["allocator_settings"]["expandable_segments"], snapshot["allocator_settings"])
    for action, name in ("alloc", "reportMemoryUsageToProfiler"), ("segment_alloc", "cuMemAlloc_v2"):
        stacks = [e["frames"] for e in snapshot["device_traces"][0] if e["action"] == action]
        check(stacks and all(begins_with(frames, name) for frames in stacks), f"{action}: stacks", stacks[:3])


def attached_late():
    """attached in the middle: the same sums, with what was there before"""
    path = os.path.join(lib.folder(), "run.pickle")
    target = Target("torch", C10, hold="half")
    target.wait("half")
    tool = Tool("-p", str(target.pid), "--snapshot", path).ready()
    target.go()
    status, out = target.finish()
    equal(status, 0, "exit status")
    equal(tool.report()["exit_status"], 0, "exit status " + tool.stderr())
    snapshot = vizlib.load(path)
    made_up = [s for s in snapshot["segments"] if any("made up" in f["name"] for f in s["frames"])]
    check(made_up, "nothing is from before")
    truth = truth_of(out)
    for device, gpu in DEVICES.items():
        equal(vizlib.totals(snapshot, device), (truth[gpu, "allocated.live"], truth[gpu, "reserved.live"]),
              f"allocated and reserved of device {device}")
    wrong = vizlib.problems(path)
    check(not wrong, "\n".join(wrong))


def without_torch():
    """a command without PyTorch, to its end: each allocation is a segment with a block, what it held then is live, each
    size that failed is an event"""
    path = os.path.join(lib.folder(), "run.pickle")
    tool = Tool("-o", path, "--", lib.workload("oom"))
    status, out = tool.finish()
    equal(status, 0, "exit status " + tool.stderr())
    equal(os.listdir(os.path.dirname(path)), ["run.pickle"], "files")
    wrong = vizlib.problems(path)
    check(not wrong, "\n".join(wrong))
    snapshot, books = vizlib.load(path), lib.books_of(out)
    live, peak = (books[f"gpu.{GPU_B}.device.{what}"] for what in ("live", "peak"))
    equal(vizlib.totals(snapshot, 0), (live, live), "live")
    equal(vizlib.active_peak(snapshot, 0), peak, "peak")
    equal({len(s["blocks"]) for s in snapshot["segments"]}, {1}, "blocks in a segment")
    failed = [e for e in snapshot["device_traces"][0] if e["action"] == "oom"]
    equal([e["size"] for e in failed], [256 * MIB, 512 * MIB, 500 << 30], "sizes that failed")
    check(all(0 < e["device_free"] < 768 * MIB for e in failed[:2]), [e["device_free"] / MIB for e in failed])


if __name__ == "__main__":
    lib.main(from_start, attached_late, without_torch)
