#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Repeats a piece of work as often as asked, and prints how long each repetition took.

    cost_work.py CPU [own]   on that CPU, or "any"; own: with copies of the libraries that are probed, for itself alone

Pieces: resnet: one ResNet-50 training step, batch 8, 224 x 224, SGD; also how long its launches took, which is all
that the CPU does. graph: the same step, replayed as a CUDA graph. async, sync: one allocation and its free through
libcuda (64 KiB, 2 MiB), called by ctypes: of use for differences only.

All of it runs on that CPU: a step of this size waits for the CPU, and moving between CPUs makes its
time vary by 16 % from block to block, on one by 1.7 %; the graph's by 0.1 % (H200, 16 blocks of 20).

A breakpoint is in the file, so in every process that has it mapped. What shall be untraced beside a process that
is traced needs files of its own: a mount namespace puts copies in their places.
"""
import ctypes
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import time
from ctypes import byref, c_ulonglong

from peer import Peer

OF_TORCH = ("libc10.so", "libc10_cuda.so", "libtorch_cpu.so")
MS_BIND, MS_REC, MS_PRIVATE = 4096, 16384, 1 << 18
HISTORY = 100_000                  # events that PyTorch's own recorder keeps


def path_of_libcuda():
    """Where it is: asked of another process, since this one must not map it yet."""
    ask = "import ctypes; ctypes.CDLL('libcuda.so.1'); print(open('/proc/self/maps').read())"
    maps = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True).stdout
    return next(line.split(None, 5)[5] for line in maps.splitlines() if "/libcuda.so" in line)


def own_copies():
    """Other inodes under the same names, seen by this process only."""
    libc = ctypes.CDLL(None, use_errno=True)

    def mount(source, target, flags):
        if libc.mount(source.encode(), target.encode(), None, ctypes.c_ulong(flags), None):
            raise OSError(ctypes.get_errno(), f"mount {target}")
    folder = os.path.join(importlib.util.find_spec("torch").submodule_search_locations[0], "lib")
    paths = [path_of_libcuda(), *(os.path.join(folder, name) for name in OF_TORCH)]
    copies = tempfile.mkdtemp(prefix="gpumemtrace-own-")
    os.unshare(os.CLONE_NEWNS)
    mount("none", "/", MS_REC | MS_PRIVATE)
    for path in paths:
        path = os.path.realpath(path)
        copy = os.path.join(copies, os.path.basename(path))
        shutil.copy(path, copy)
        mount(copy, path, MS_BIND)
    shutil.rmtree(copies)              # the mounts keep them


def resnet():
    import torch
    import torchvision
    torch.manual_seed(1)
    torch.backends.cudnn.benchmark = False
    model = torchvision.models.resnet50(weights=None).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    x = torch.randn(8, 3, 224, 224, device="cuda")
    y = torch.randint(1000, (8,), device="cuda")

    def launch():
        optimizer.zero_grad(set_to_none=True)
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()

    def step():
        launch()
        launched = time.perf_counter_ns()
        torch.cuda.synchronize()
        return launched

    def replay():
        graph.replay()
        torch.cuda.synchronize()

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):          # PyTorch wants a few steps on a side stream before a capture
        for _ in range(3):
            launch()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        launch()
    return step, replay


def record(stacks):
    """PyTorch's own recorder: None, "python" or "all"."""
    import torch
    if stacks:
        torch.cuda.memory._record_memory_history("all", context="all", stacks=stacks, max_entries=HISTORY)
    else:
        torch.cuda.memory._record_memory_history(None)


def allocated():
    import torch
    return torch.cuda.memory_stats()["allocation.all.allocated"]


def pairs(alloc, free, size, *stream, count=200):
    lib = ctypes.CDLL("libcuda.so.1")
    alloc, free = getattr(lib, alloc), getattr(lib, free)
    ptr, size = c_ulonglong(), c_ulonglong(size)
    stream = [c_ulonglong(s) for s in stream]

    def step():
        for _ in range(count):
            if alloc(byref(ptr), size, *stream) or free(ptr, *stream):
                sys.exit("an allocation failed")
    step.count = count
    return step


def repeated(step, repeat):
    """Nanoseconds of each repetition, and of its launches where it tells."""
    whole, launches = [], []
    for _ in range(repeat):
        start = time.perf_counter_ns()
        launched = step()
        end = time.perf_counter_ns()
        whole.append((end - start) / getattr(step, "count", 1))
        if launched:
            launches.append(launched - start)
    return whole, launches


def main():
    if sys.argv[1] != "any":
        os.sched_setaffinity(0, {int(sys.argv[1])})
    if sys.argv[2:] == ["own"]:
        own_copies()
    peer = Peer()
    step, replay = resnet()
    work = {"resnet": step, "graph": replay,
            "async": pairs("cuMemAllocAsync", "cuMemFreeAsync", 64 << 10, 0),
            "sync": pairs("cuMemAlloc_v2", "cuMemFree_v2", 2 << 20)}
    for _ in range(15):
        step()
        replay()
    before = allocated()
    step()
    blocks = allocated() - before
    work["async"]()
    work["sync"]()
    times = {}
    while True:
        todo = peer.checkpoint("done", times=times, blocks=blocks)
        times = {}
        if "record" in todo:
            record(todo["record"])
        for name, repeat in todo.get("work", {}).items():
            times[name], launches = repeated(work[name], repeat)
            if launches:
                times[name + " launches"] = launches
        if todo.get("end"):
            return


if __name__ == "__main__":
    main()
