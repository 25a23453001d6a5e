#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Each layer works alone: without the NVIDIA kernel driver, without NVML, and with only some layers asked for."""
import os
import shutil
import sys
import tempfile

import lib
from lib import GPU_A, GPU_B, MIB, Target, Tool, check, equal, process_of, row_of, trace

sys.path.insert(1, os.path.join(lib.TOP, "tests/cli"))
import pagelib  # noqa: E402


def no_driver():
    """without the kernel driver's files: the API layer works alone and the output says so"""
    root = lib.make_root()
    shutil.rmtree(root + "/dev")
    shutil.rmtree(root + "/proc")
    tool = Tool("-a", root=root).ready()
    target = Target("basic", hold="end", env={"GPUMEMTRACE_STANDIN_ROOT": root})
    target.wait("end")
    report = lib.settled(tool, target.pid)
    check("kernel" not in report["session"]["layers"], report["session"]["layers"])
    check(report["session"]["why_no_kernel_layer"], "no reason given")
    target.go()
    books = {k: v for k, v in target.books().items() if not k.endswith("physical")}
    process = process_of(report, target.pid)
    lib.compare(report, target.pid, books, clean=False)
    equal(process["anomalies"]["gpu_unknown"], 0, "on an unknown GPU")


def api_alone():
    """--layers api"""
    process, report, _ = trace("basic", tool=("--layers", "api"), skip=("physical",))
    equal(report["session"]["layers"], ["api"], "layers")
    for row in process["gpus"]:
        equal((row["physical"], row["nvml"]), (None, None), "other layers' numbers")


def api_and_nvml():
    """--layers api,nvml: what no call asked for is the residual"""
    process, _, _ = trace("basic", tool=("--layers", "api,nvml"), clean=False, skip=("physical",))
    row = row_of(process, GPU_A)
    check(row["nvml"]["sum"]["residual_bytes"] >= 518 * MIB, "a context at least:", row["nvml"])
    equal(sum(row["nvml"]["sum"].values()), row["nvml"]["used_bytes"], "the sum")


def kernel_alone():
    """--layers kernel: exact physical bytes, nothing attributed; the page has the peak by line"""
    with tempfile.TemporaryDirectory() as folder:
        page = os.path.join(folder, "page.html")
        process, report, _ = trace("basic", tool=("--layers", "kernel", "-o", page), clean=False,
                                   skip=("live", "peak", "allocs", "frees", "failed"))
        data = pagelib.data_of(page)
    equal(report["session"]["layers"], ["kernel"], "layers")
    for uuid in GPU_A, GPU_B:
        equal(row_of(process, uuid)["attributed"]["live_bytes"], 0, "attributed")
    rows = next(p["rows"] for p in data["processes"] if p["pid"] == process["pid"])
    for gpu, row in zip(process["gpus"], rows):
        keys = row["calls"]["keys"]
        equal(sum(key[2] for key in keys), gpu["physical"]["peak_bytes"], "the page's peak")
        lines = {data["stacks"][key[0]][3] for key in keys}
        check(any("basic.c" in line for line in lines), "the page's lines", lines)


def wrong_layout_is_seen():
    """ioctls of another release than the driver says: this very test can fail"""
    tool = Tool("-a").ready()           # takes them for 580's
    target = Target("vmm", hold="end", env={"STANDIN_DRIVER": "535"})
    target.wait("end")
    report = lib.settled(tool, target.pid)
    target.go()
    try:
        lib.compare(report, target.pid, target.books())
    except lib.Failure:
        return
    raise lib.Failure("535's structures read as 580's gave the right totals")


def static_build():
    """the static build sees all but NVML, and the output says so"""
    ordinary, lib.TOOL = lib.TOOL, lib.TOOL + "-static"
    try:
        if not os.path.exists(lib.TOOL):
            raise lib.Skip("no static build (there is none with sanitizers)")
        _, report, _ = trace("basic")
    finally:
        lib.TOOL = ordinary
    equal(report["session"]["layers"], ["api", "kernel", "framework"], "layers")
    equal(report["session"]["why_no_nvml"],
          "this static build cannot load NVML; the sum is not checked against nvidia-smi", "why")


def without_tracefs():
    """without tracefs: the raw tracepoint sees the same ioctls"""
    os.environ["GPUMEMTRACE_NO_TRACEPOINT"] = "1"
    try:
        trace("basic")
    finally:
        del os.environ["GPUMEMTRACE_NO_TRACEPOINT"]


def without_uprobe_multi():
    """as on kernels before 6.6: one perf event for each probe"""
    os.environ["GPUMEMTRACE_NO_UPROBE_MULTI"] = "1"
    try:
        tool = Tool("-a").ready()
        target = Target("pools", hold="end")
        target.wait("end")
        tool.wait_line(lambda: any(p["pid"] == target.pid for p in tool.views()[-1]["processes"]), "the workload")
        report = tool.views()[-1]
        equal({name: count for name, count in report["losses"].items() if count}, {}, "losses")
        check(process_of(report, target.pid)["classes"]["pool"]["allocs"] > 0, "no call was seen")
        # Detaching takes the kernel 0.1 s for each probe; nothing more is learned from it.
        target.go()
        target.books()
    finally:
        del os.environ["GPUMEMTRACE_NO_UPROBE_MULTI"]


if __name__ == "__main__":
    lib.main(without_tracefs, without_uprobe_multi, no_driver, api_alone, api_and_nvml, kernel_alone,
             static_build, wrong_layout_is_seen)
