#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Fills the GPU until memory runs out, in each case for another reason.

    oom_work.py NAME     caught: an error, a retry that is met and PyTorch's own limit, one after another; it goes on
                         launch: no room for what launches, handles and streams take; caught, and it goes on
                         leak, fragmented, neighbour, batch, nccl: planted causes; the error ends the process
                         holder: takes part of the GPU and holds it
"""
import ctypes
import os
import re
import socket
import sys
import time

import torch
from torch import nn

import truth
from cuda import Cuda
from peer import Peer

MIB, GIB = 1 << 20, 1 << 30
UNITS = {"MiB": MIB, "GiB": GIB, "KiB": 1 << 10, "bytes": 1}


def empty(size):
    return torch.empty(size, dtype=torch.uint8, device="cuda")


def free():
    return torch.cuda.mem_get_info()[0]


def blocked(size):
    """A size in whole 2 MiB, so that it is what is asked of CUDA, too."""
    return int(size) // (2 * MIB) * (2 * MIB)


def asked_in(message):
    """What PyTorch says it tried to allocate; it prints two decimals."""
    number, unit = re.search(r"Tried to allocate ([\d.]+) (\w+)", message).groups()
    return float(number) * UNITS[unit]


def fails(size):
    try:
        empty(size)
    except torch.cuda.OutOfMemoryError as e:
        return {"asked": size, "message": asked_in(str(e))}
    raise SystemExit(f"an allocation of {size} bytes succeeded")


def caught(peer):
    torch.cuda.init()
    kept = empty(MIB)
    peer.checkpoint("ready", **truth.said())
    # More than there is, with something in the cache that is freed first.
    cached = empty(blocked(free() * 0.2))
    del cached
    raised = fails(blocked(free() * 1.5))
    # A retry: it fits once the cache is emptied.
    room, retries = free(), truth.gpus()[0]["retries"]
    cached = empty(blocked(room * 0.6))
    del cached
    met = blocked(room * 0.7)
    again = empty(met)
    del again
    retries = truth.gpus()[0]["retries"] - retries
    torch.cuda.empty_cache()
    # PyTorch's own limit: the driver has the memory.
    torch.cuda.set_per_process_memory_fraction(0.05)
    limited = fails(blocked(torch.cuda.get_device_properties(0).total_memory * 0.1))
    torch.cuda.set_per_process_memory_fraction(1.0)
    more = [empty(size).zero_() for size in (MIB, 64 * MIB)]      # it goes on
    torch.cuda.synchronize()
    kept.add_(len(more))
    peer.checkpoint("end", **truth.said(), raised=raised, met=met, limited=limited, retries=retries)
    sys.exit(7)


def kernels():
    """Each needs memory that is not PyTorch's when it is used first: its kernel, a handle, a stream."""
    f32, f16 = (torch.empty(256, 256, device="cuda", dtype=t) for t in (torch.float, torch.half))
    f32_out, f16_out = torch.empty_like(f32), torch.empty_like(f16)
    image, weight = torch.empty(2, 3, 32, 32, device="cuda"), torch.empty(8, 3, 3, 3, device="cuda")
    heads = f16[None, None]
    return {
        "fill": lambda: f32.fill_(1), "add": lambda: torch.add(f32, f32, out=f32_out),
        "sin": lambda: torch.sin(f32, out=f32_out), "normal": f32.normal_, "sum": f32.sum,
        "sort": lambda: torch.sort(f32), "matmul": lambda: torch.mm(f32, f32, out=f32_out),
        "matmul, half": lambda: torch.mm(f16, f16, out=f16_out),
        "convolution": lambda: nn.functional.conv2d(image, weight), "softmax": lambda: torch.softmax(f32, 1),
        "fft": lambda: torch.fft.fft(f32), "cumsum": lambda: f32.cumsum(0), "erfinv": f32.erfinv_,
        "lgamma": f32.lgamma_, "topk": lambda: f32.topk(5),
        "attention": lambda: nn.functional.scaled_dot_product_attention(heads, heads, heads),
        "synchronize": torch.cuda.synchronize, "stream": torch.cuda.Stream, "to the host": f32.cpu,
    }


def used(things):
    """Each of them by name, when (CLOCK_MONOTONIC), and the error that it raised, if any."""
    done = []
    for name, use in things.items():
        begin, error = time.clock_gettime_ns(time.CLOCK_MONOTONIC), None
        try:
            use()
        except RuntimeError as e:
            error = str(e).splitlines()[0]
        done.append({"name": name, "begin": begin, "end": time.clock_gettime_ns(time.CLOCK_MONOTONIC), "error": error})
        empty(512)                 # of what is cached: it goes on
        time.sleep(0.15)           # so that each has a picture
    return done


def launch(peer):
    things, cache, cuda_pointer = kernels(), empty(64 * MIB), ctypes.c_ulonglong()
    peer.checkpoint("ready", **truth.said())
    kept, cuda = [], Cuda()
    while free() > 64 * MIB:
        kept.append(empty(blocked(free() / 2)))
    while not cuda("cuMemAlloc_v2", ctypes.byref(cuda_pointer), 2 * MIB, may_fail=True):
        pass
    time.sleep(2)                  # that was one more
    del cache                      # PyTorch has room, CUDA has none
    full = used(things)
    kept.pop(0)
    torch.cuda.empty_cache()
    peer.checkpoint("end", **truth.said(), full=full, again=used({"sort": things["sort"], "topk": things["topk"]}))
    sys.exit(7)


def leak(peer):
    """A list that only grows: slowly for a while, as leaks do, then until there is no more."""
    model, history = nn.Linear(1024, 1024).cuda(), []

    def remember(size):
        history.append(torch.empty(size, dtype=torch.uint8, device="cuda"))      # the leak
    for _ in range(240):
        model(torch.randn(64, 1024, device="cuda"))
        remember(8 * MIB)
        time.sleep(0.1)
    peer.checkpoint("ready", **truth.said())
    while True:
        remember(2 * GIB)


def fragmented(peer):
    """Segments of 1 GiB, each three quarters full: a quarter of the GPU is cached, and no gap has 1 GiB."""
    empty(1)
    peer.checkpoint("ready", **truth.said())
    kept = []
    while free() > GIB + 64 * MIB:
        whole = empty(GIB)
        del whole
        kept.append(empty(768 * MIB))
    empty(blocked(2 * GIB))


def holder(peer):
    empty(1)
    peer.checkpoint("ready", **truth.said())
    kept = empty(blocked(free() * 0.6))
    peer.checkpoint("holds", **truth.said(), holds=kept.numel())
    sys.exit(7)


def neighbour(peer):
    """It would have fit, were it not for another process."""
    empty(1)
    peer.checkpoint("ready", **truth.said())
    kept = [empty(blocked(free() * 0.5))]
    kept.append(empty(blocked(free() + 2 * GIB)))


class Deep(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(1024, 1024) for _ in range(64))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x).relu()    # all of these wait for backward
        return x


def batch(peer):
    """Activations of a batch that is too large: 4 GiB each."""
    model = Deep().cuda()
    model(torch.randn(8, 1024, device="cuda")).sum().backward()
    peer.checkpoint("ready", **truth.said())
    model(torch.randn(1 << 20, 1024, device="cuda")).sum().backward()


def nccl_rank(rank, port):
    """NCCL's buffers are most of what is held when rank 0 asks for more than is left."""
    import torch.distributed as dist
    torch.cuda.set_device(rank)
    peer = Peer() if rank == 0 else None
    store = dist.TCPStore("127.0.0.1", port, 2, rank == 0)
    dist.init_process_group("nccl", store=dist.PrefixStore("nccl", store), rank=rank, world_size=2,
                            device_id=torch.device("cuda", rank))
    before = free()
    x = torch.ones(MIB, device="cuda")
    dist.all_reduce(x)
    torch.cuda.synchronize()
    if rank:
        store.get("over")
        os._exit(0)
    peer.checkpoint("ready", took=before - free(), **truth.said())
    try:
        empty(blocked(free() + 2 * GIB))
    finally:
        store.set("over", "yes")


def nccl(_):
    import torch.multiprocessing as mp
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    mp.spawn(nccl_rank, args=(port,), nprocs=2)


if __name__ == "__main__":
    name = sys.argv[1]
    globals()[name](None if name == "nccl" else Peer())
