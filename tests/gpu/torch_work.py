#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A PyTorch workload: takes the steps that its arguments name, in order, with a checkpoint after each step.

    torch_work.py STEP...

PYTORCH_CUDA_ALLOC_CONF says which allocator is used. Tensors are never freed but by `drop`.
"""
import gc
import os
import sys
import threading

import torch

import truth
from peer import Peer

MIB = 1 << 20
OOM_BYTES = 500 << 30          # more than any GPU has
SIZES = (1024, 5 * MIB, 100 * MIB, 300 * MIB)

kept, pinned = [], []
peer = Peer()


def devices():
    return range(torch.cuda.device_count())


def empty(size, device):
    return torch.empty(size, dtype=torch.uint8, device=f"cuda:{device}")


def imported():
    """Nothing of CUDA was called yet."""


def tensors():
    for device in devices():
        for size in SIZES:
            kept.append(empty(size, device))


def small():
    """One GPU, one small tensor: for tests that are about something else."""
    kept.append(empty(20 * MIB, 0))


def thread():
    worker = threading.Thread(target=lambda: kept.append(empty(50 * MIB, 0)))
    worker.start()
    worker.join()


def pin():
    pinned.append(torch.empty(32 * MIB, dtype=torch.uint8, pin_memory=True))


def compute():
    """Elementwise kernels: loads a module, uses no library that allocates by itself."""
    for device in devices():
        x = torch.ones(1 << 20, device=f"cuda:{device}")
        x.mul_(2).add_(1)
        kept.append(x)
        torch.cuda.synchronize(device)


def oom():
    try:
        empty(OOM_BYTES, 0)
    except torch.cuda.OutOfMemoryError:
        return
    raise SystemExit("an allocation of 500 GiB succeeded")


def matmul():
    a = torch.ones(1024, 1024, device="cuda:0")
    kept.append(a @ a)
    torch.cuda.synchronize()


def peers():
    """Copies between the first two GPUs: enables peer access."""
    kept.append(empty(MIB, 0).to("cuda:1"))
    kept.append(empty(MIB, 1).to("cuda:0"))
    torch.cuda.synchronize(0)
    torch.cuda.synchronize(1)


def nccl():
    """NCCL in one process over all GPUs. Without NVLink multicast, which outlives a crash."""
    os.environ["NCCL_NVLS_ENABLE"] = "0"
    try:
        from torch.cuda import nccl as collective
        parts = [torch.ones(MIB, device=f"cuda:{i}") for i in devices()]
        collective.all_reduce(parts)
    except Exception as e:              # its lack is no fault of what is tested
        return {"problem": f"{type(e).__name__}: {e}"}
    for i in devices():
        torch.cuda.synchronize(i)
    kept.extend(parts)
    return {}


def drop():
    kept.clear()
    gc.collect()
    torch.cuda.synchronize()
    torch.cuda.empty_cache()


def train():
    """Twelve steps of a small network; the losses, bit for bit, are the answer."""
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 10)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    generator = torch.Generator(device="cuda").manual_seed(2)
    losses = []
    for step in range(12):
        # A new size in each step, so that the allocator works while it is traced.
        x = torch.randn(64 + 512 * step, 256, device="cuda", generator=generator)
        y = torch.randint(10, (len(x),), device="cuda", generator=generator)
        loss = torch.nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item().hex())
        torch.cuda.empty_cache()
    return {"losses": losses}


def main():
    torch.use_deterministic_algorithms("train" in sys.argv[1:])
    for step in sys.argv[1:]:
        more = globals()[step]() or {}
        peer.checkpoint(step, gpus=truth.gpus(), pinned=sum(t.numel() for t in pinned), torch=torch.__version__, **more)
    sys.exit(7)


if __name__ == "__main__":
    main()
