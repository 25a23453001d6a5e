#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""PyTorch's static probe tells the sizes that tensors asked for: a stand-in libc10_cuda has the probe with its
arguments and its counter."""
import json
import os
import platform

import lib
from lib import C10, C10_CUDA, GPU_B, Target, Tool, check, equal, process_of, row_of


def traced(*arguments, backend="native", env=None, gpu=GPU_B):
    """(the report, its row of the GPU, what the workload says) of a run that goes on when tracing has ended."""
    if platform.machine() != "x86_64":
        raise lib.Skip("PyTorch has the probe on x86-64 alone")
    recording = lib.folder() + "/run.gmt"
    target = Target("torch_backends", C10, C10_CUDA, backend, hold="loaded,end")
    target.wait("loaded")
    tool = Tool("-p", str(target.pid), "-o", recording, *arguments, env=env).ready()
    target.go()
    target.wait("end")
    report = tool.stop()
    target.go()
    status, out = target.finish()
    equal(status, 0, "exit status " + target.stderr())
    told = dict(line.split("=", 1) for line in out.splitlines() if "=" in line)
    again = json.loads(lib.run([lib.TOOL, "replay", "--json", recording]).stdout)
    row = row_of(process_of(report, target.pid), gpu)
    equal(row_of(process_of(again, target.pid), gpu), row, "the replay")
    equal(sum(report["losses"].values()), 0, "losses")
    return report, row, told, recording


def probed(report, path=C10_CUDA):
    return [l["probes"] for l in report["libraries"] if l["inode"] == os.stat(path).st_ino]


def asked(*arguments, **how):
    report, row, told, recording = traced("--requested-sizes", *arguments, **how)
    equal(probed(report), [1], "the probe")
    requested = row["torch"]["requested"]
    equal(requested["live_bytes"], int(told["asked"]), "bytes asked for")
    equal(requested["live_count"], row["torch"]["blocks"]["live_count"], "blocks")
    equal(requested["block_bytes"], row["torch"]["blocks"]["live_bytes"], "bytes of blocks")
    equal(told["wanted"], "0", "those who want to be told when nobody traces any more")
    text = lib.run([lib.TOOL, "report", "--full", recording]).stdout
    check("block rounding" in text, text)


def with_multi():
    """--requested-sizes: what live tensors asked for; when tracing ends, the library's counter is what it was"""
    asked()


def with_events():
    """... with a perf event for the probe, as before Linux 6.6; alone, for many of them take long to go"""
    asked("--layers", "framework", env={"GPUMEMTRACE_NO_UPROBE_MULTI": "1"}, gpu=None)


def unless_asked():
    """without --requested-sizes, or without the framework layer, the probe is left alone"""
    for arguments in (), ("--requested-sizes", "--layers", "api,kernel,nvml"):
        report, row, _, _ = traced(*arguments)
        equal(probed(report), [], "the probe")
        check(not row["torch"] or row["torch"]["requested"] is None, row["torch"])


def without_blocks():
    """a backend that tells and has no blocks: nothing is made of it"""
    report, row, _, _ = traced("--requested-sizes", backend="uncached")
    equal(probed(report), [1], "the probe")
    equal(row["torch"], None, "PyTorch's numbers")


if __name__ == "__main__":
    lib.main(with_multi, with_events, unless_asked, without_blocks)
