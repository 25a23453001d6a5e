#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Exercises the corners of PyTorch's allocator, one function for each corner, with checkpoints.

    alloc_work.py NAME       churn, running, graph, mempool, sleep, record_stream, uncached, export, training, saved
"""
import ctypes
import os
import pickle
import random
import sys
import time

import torch
from torch import nn

import cuda
import truth
from peer import Peer

peer = Peer()
MIB = 1 << 20


def say(name, **more):
    torch.cuda.synchronize()
    return peer.checkpoint(name, **truth.said(), **more)


def empty(size):
    return torch.empty(size, dtype=torch.uint8, device="cuda")


# ---- coming and going ----

class Churn:
    """Blocks of all sizes on two streams; caches are emptied now and then."""

    def __init__(self):
        self.pick, self.kept = random.Random(1), []
        self.streams = [torch.cuda.current_stream(), torch.cuda.Stream()]

    def turn(self):
        size = int(512 * 2 ** self.pick.uniform(0, 17))
        with torch.cuda.stream(self.pick.choice(self.streams)):
            self.kept.append(empty(size))
        if len(self.kept) > 60 or self.pick.random() < 0.4:
            del self.kept[self.pick.randrange(len(self.kept))]
        if self.pick.random() < 0.01:
            torch.cuda.synchronize()
            torch.cuda.empty_cache()


def churn():
    work = Churn()
    for name in ("500 turns", "1000 turns", "1500 turns", "end"):
        for _ in range(500):
            work.turn()
        say(name)


def running():
    """It works on while somebody attaches, then holds still, an allocation being the last that it did."""
    work = Churn()
    for name in ("ready", "end"):
        until = time.monotonic() + (4 if name == "end" else 0.5)
        while time.monotonic() < until:
            work.turn()
            time.sleep(0.0005)
        work.kept.append(empty(3 * MIB))
        say(name)


def saved():
    """A training. Between "before" and "after" somebody else moves its memory to host memory and back."""
    model = nn.Sequential(nn.Linear(1024, 4096), nn.ReLU(), nn.Linear(4096, 1024)).cuda()
    optimizer = torch.optim.Adam(model.parameters())
    for name in ("before", "after", "end"):
        for _ in range(5):
            optimizer.zero_grad()
            model(torch.randn(512, 1024, device="cuda")).square().mean().backward()
            optimizer.step()
        if name == "after":            # what came back is as good as new
            del optimizer
            torch.cuda.empty_cache()
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        say(name)


def graph():
    """A CUDA graph: allocations when it is captured, none when it is replayed."""
    x = torch.randn(256, 1024, device="cuda")
    layer = nn.Linear(1024, 1024, device="cuda")
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side), torch.no_grad():
        layer(x).relu()
    torch.cuda.current_stream().wait_stream(side)
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured), torch.no_grad():
        out = layer(x).relu().mul(2)
    captured.replay()
    say("captured")
    for _ in range(200):
        captured.replay()
    say("replayed")
    del out
    captured.reset()
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    say("end")


def mempool():
    """A pool of its own inside the allocator."""
    pool = torch.cuda.MemPool()
    with torch.cuda.use_mem_pool(pool):
        kept = [empty(48 * MIB) for _ in range(3)]
    kept.append(empty(10 * MIB))
    say("pool")
    del kept[0]
    say("one freed")
    kept.clear()
    del pool
    torch.cuda.empty_cache()
    say("end")


# ---- an engine that sleeps ----

class Sleeper:
    """A pool's memory from cuMemCreate. Asleep it is given back while its addresses stay, and PyTorch does not know."""

    UNIT = 2 * MIB

    def __init__(self):
        self.cu, self.live = cuda.Cuda(), {}
        self.alloc = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p)(self.give)
        self.free = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p)(self.take)
        address = [ctypes.cast(f, ctypes.c_void_p).value for f in (self.alloc, self.free)]
        self.allocator = torch._C._cuda_customAllocator(*address)

    def back(self, address, size, device):
        """Memory where the address is."""
        handle = self.cu.create(size, device)
        self.cu.map_at(address, handle, size, device)
        self.live[address] = (handle, size, device)

    def give(self, size, device, _):
        size = -(-size // self.UNIT) * self.UNIT
        address = self.cu.out("cuMemAddressReserve", size, 0, 0, 0)
        self.back(address, size, device)
        return address

    def take(self, address, _size, _device, _stream):
        handle, size, _ = self.live.pop(address)
        self.cu.unmap(address, size)
        self.cu("cuMemRelease", handle)

    def sleep(self):
        for address, (handle, size, _) in self.live.items():
            self.cu("cuMemUnmap", address, size)
            self.cu("cuMemRelease", handle)

    def wake(self):
        for address, (_, size, device) in list(self.live.items()):
            self.back(address, size, device)

    def bytes(self):
        return sum(size for _, size, _ in self.live.values())


def sleep():
    torch.cuda.init()
    empty(1)
    sleeper = Sleeper()
    pool = torch.cuda.MemPool(sleeper.allocator)
    with torch.cuda.use_mem_pool(pool):
        kept = [empty(64 * MIB) for _ in range(4)]
    say("awake", vmm=sleeper.bytes())
    torch.cuda.synchronize()
    sleeper.sleep()
    say("asleep", vmm=0)
    sleeper.wake()
    say("awake again", vmm=sleeper.bytes())
    kept.clear()
    say("end", vmm=sleeper.bytes())
    os._exit(7)                    # the pool's end would come after the interpreter's


# ---- one more stream, no cache ----

def record_stream():
    """Freed while another stream still uses it: no longer allocated, active until that stream is done."""
    side = torch.cuda.Stream()
    tensor = empty(64 * MIB)
    tensor.add_(1)
    torch.cuda.synchronize()
    say("before")
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        torch.cuda._sleep(20_000_000_000)      # some seconds of the GPU's clock
        tensor.add_(1)
    tensor.record_stream(side)
    del tensor
    peer.checkpoint("freed", **truth.said())   # waits for no stream
    torch.cuda.synchronize()
    kept = empty(MIB)                          # the allocator looks at its events
    say("done")
    del kept
    say("end")


def uncached():
    """PYTORCH_NO_CUDA_MEMORY_CACHING=1: a cudaMalloc for each tensor."""
    kept = [empty(size) for size in (20 * MIB, 7 * MIB, 100 * MIB)]
    say("allocated", live={"device": sum(t.numel() for t in kept)})
    del kept[2]
    say("end", live={"device": sum(t.numel() for t in kept)})


# ---- what a snapshot must have ----

def training(steps=3):
    torch.manual_seed(1)
    model = nn.Sequential(*(m for _ in range(3) for m in (nn.Linear(1024, 1024), nn.ReLU()))).cuda()
    optimizer = torch.optim.Adam(model.parameters())
    held = []
    for i in range(steps):
        loss = model(torch.randn(256 << i, 1024, device="cuda")).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        held.append(empty((5 + i) * MIB))
    try:
        empty(500 << 30)
    except torch.cuda.OutOfMemoryError:
        pass
    return model, optimizer, held


def export():
    """A training, beside PyTorch's own recorder of it. The process ends with all that it holds."""
    torch.cuda.init()
    before = empty(30 * MIB)
    path = say("ready")["path"]
    torch.cuda.memory._record_memory_history(max_entries=200000, stacks="python")
    kept = training()
    torch.cuda.synchronize()
    with open(path, "wb") as file:
        pickle.dump(torch.cuda.memory._snapshot(), file, protocol=4)
    torch.cuda.memory._record_memory_history(enabled=None)
    say("end", kept=len(kept) + before.numel())
    os._exit(7)


if __name__ == "__main__":
    globals()[sys.argv[1]]()
    sys.exit(7)
