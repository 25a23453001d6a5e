#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Where PyTorch holds memory and reports no blocks, the output says so and names the cause; a replay says the same."""
import json
import os
import re
import shutil

import lib
from lib import C10, C10_CUDA, Target, Tool, check, equal, process_of

SENTENCE = "PyTorch reports no blocks ("


def traced(backend, wanted, *arguments, c10=C10, env=None):
    """What the report says of the process, and the text of a replay. The file is the target's alone: the tracer probes
    the file only when this process maps it. The program waits until a view says what is wanted: names of stacks come
    from files that are mapped."""
    c10 = shutil.copy(c10, lib.folder())
    recording = lib.folder() + "/run.gmt"
    tool = Tool("-a", "-o", recording, *arguments).ready()
    target = Target("torch_backends", c10, C10_CUDA, backend, hold="loaded,end", env=env)
    target.wait("loaded")
    tool.probes(c10)
    target.go()
    target.wait("end")
    tool.idle()
    if wanted:
        tool.wait_line(lambda: silent_in(tool.views()[-1], target.pid) == wanted, f"a view that says {wanted}")
    target.go()
    status, _ = target.finish()
    equal(status, 0, "exit status " + target.stderr())
    process = process_of(lib.settled(tool, target.pid), target.pid)
    again = json.loads(lib.run([lib.TOOL, "replay", "--json", recording]).stdout)
    equal(silent_in(again, target.pid), process["torch_silent"], "the replay")
    return process["torch_silent"], lib.run([lib.TOOL, "replay", recording]).stdout, target.pid


def silent_in(view, pid):
    return process_of(view, pid)["torch_silent"]


def says(backend, wanted, text, *arguments, **options):
    silent, report, pid = traced(backend, wanted, *arguments, **options)
    report = re.sub(r"\n {10}(?! )", " ", report)        # notes without their breaks
    equal(silent, wanted, "torch_silent")
    said = f"note    process {pid}: {SENTENCE}"
    if wanted:
        check(f"{said}{text})" in report, report)
    else:
        check(said not in report, report)


def by_stacks():
    """cudaMallocAsync and no caching, chosen by the program: the stacks of its allocations tell"""
    says("async", "cuda_malloc_async", "backend cudaMallocAsync")
    says("uncached", "uncached", "caching is off")


def by_environment():
    """... chosen by the environment: that tells, also without stacks"""
    for name, value, backend, wanted, text in (
            ("PYTORCH_NO_CUDA_MEMORY_CACHING", "1", "uncached", "uncached", "caching is off"),
            ("PYTORCH_CUDA_ALLOC_CONF", "backend:cudaMallocAsync", "async", "cuda_malloc_async", "backend cudaMallocAsync")):
        says(backend, wanted, text, "--stacks", "off", env={name: value})


def reports():
    """the native allocator reports, and one that is loaded and takes nothing is not silent"""
    says("native", None, None)
    says("idle", None, None)
    says("idle", None, None, env={"PYTORCH_CUDA_ALLOC_CONF": "backend:cudaMallocAsync"})


def too_old():
    """a libc10 without the function that blocks are reported with"""
    path = lib.folder() + "/libc10.so"
    shutil.copy(os.path.join(lib.BUILT, "usr/lib-stacks/libstacks.so"), path)
    says("uncached", "not_probed", "PyTorch is older than 1.10, or libc10 cannot be probed", c10=path)


def switched_off():
    """--layers without framework: nothing is said of PyTorch"""
    tool = Tool("-a", "--layers", "api,kernel,nvml").ready()
    target = Target("torch_backends", C10, C10_CUDA, "async")
    target.finish()
    equal(process_of(lib.settled(tool, target.pid), target.pid)["torch_silent"], None, "torch_silent")


if __name__ == "__main__":
    lib.main(by_stacks, by_environment, reports, too_old, switched_off)
