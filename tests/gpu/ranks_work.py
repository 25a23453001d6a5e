#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Trainings on two GPUs, one rank each: processes over NCCL, or threads of one process.

    ranks_work.py fsdp no|yes       FSDP, with or without activation checkpointing: a checkpoint after each phase
    ranks_work.py reshard           fully_shard with reshard_after_forward True, False and 2, after each forward
    ranks_work.py offload           fully_shard with its parameters in pinned host memory
    ranks_work.py threads           a rank is a thread

Of processes rank 0 speaks for all: what the others say it has over the store that they met by.
"""
import gc
import json
import os
import sys
import threading
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.utils.checkpoint import checkpoint as recomputed

import truth
from peer import Peer

WORLD = 2
ITERATIONS = 4


class Rank:
    def __init__(self, rank, port):
        self.rank, self.peer, self.said = rank, Peer() if rank == 0 else None, 0
        torch.cuda.set_device(rank)
        self.store = dist.TCPStore("127.0.0.1", port)
        dist.init_process_group("nccl", store=dist.PrefixStore("nccl", self.store), rank=rank, world_size=WORLD,
                                device_id=torch.device("cuda", rank))

    def checkpoint(self, name, **more):
        torch.cuda.synchronize()
        self.said += 1
        told = {"pid": os.getpid(), "rank": self.rank, "ts_ns": time.monotonic_ns(), **truth.said(), **more}
        self.store.set(f"{self.said}/{self.rank}", json.dumps(told))
        if self.rank:
            self.store.get(f"{self.said}/go")
            return
        ranks = [json.loads(self.store.get(f"{self.said}/{rank}")) for rank in range(WORLD)]
        self.peer.checkpoint(name, ranks=ranks)
        self.store.set(f"{self.said}/go", "go")


# ---- FSDP, phase by phase ----

def convolutions(wide, wrap):
    """Three times 5 x 5 over many channels: activations of 49 MiB, parameters of 4."""
    parts, channels = [], 64
    for _ in range(3):
        parts += [nn.Conv2d(channels, wide, 5, padding=2), wrap(nn.BatchNorm2d(wide)), nn.ReLU(inplace=True)]
        channels = wide
    return nn.Sequential(*parts, nn.AdaptiveAvgPool2d((1, 1)), nn.Flatten())


class Network(nn.Module):
    def __init__(self, wrap, recomputes, wide=128):
        super().__init__()
        self.recomputes = recomputes
        self.stem = wrap(nn.Sequential(nn.Conv2d(3, 64, 3), wrap(nn.BatchNorm2d(64)), nn.ReLU(inplace=True)))
        self.body = wrap(convolutions(wide, wrap))
        self.head = wrap(nn.Linear(wide, 10))

    def forward(self, x):
        x = self.stem(x)
        return self.head(recomputed(self.body, x, use_reentrant=True) if self.recomputes else self.body(x))


def fsdp(rank, recomputes):
    from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
    torch.manual_seed(0)
    batch = torch.randn(2, 3, 224, 224, device="cuda")
    model = FSDP(Network(lambda m: FSDP(m.cuda()), recomputes == "yes").cuda())
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4, momentum=0.9)

    def say(name, **more):
        torch._C._cuda_clearCublasWorkspaces()     # they come and go with what cuBLAS is asked for
        rank.checkpoint(name, **more)

    for _ in range(ITERATIONS):
        say("start")
        out = model(batch)
        say("forward")
        loss = nn.functional.mse_loss(out[0].sum(), torch.zeros((), device="cuda"))
        del out
        say("loss")
        loss.backward()
        say("backward")
        optimizer.step()
        say("optimizer")
        optimizer.zero_grad(set_to_none=True)
        say("done")
    say("end")


# ---- fully_shard ----

def layers(count=6, width=2048):
    return nn.Sequential(*(nn.Linear(width, width, bias=False, device="cuda") for _ in range(count)))


def reshard(rank):
    from torch.distributed.fsdp import fully_shard
    for how in (True, False, 2):
        model = layers()
        for layer in model:
            fully_shard(layer, reshard_after_forward=how)
        fully_shard(model, reshard_after_forward=how)
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
        batch = torch.randn(32, 2048, device="cuda")
        for i in range(2):
            loss = model(batch).sum()
            if i:
                rank.checkpoint("forward", how=str(how))
            loss.backward()
            del loss
            optimizer.step()
            optimizer.zero_grad()
        rank.checkpoint("optimizer", how=str(how))
        del model, optimizer, batch, layer
        gc.collect()               # models are in cycles
        torch.cuda.empty_cache()
    rank.checkpoint("end")


def offload(rank):
    from torch.distributed.fsdp import CPUOffloadPolicy, fully_shard
    policy = CPUOffloadPolicy(pin_memory=True)
    rank.checkpoint("before")
    model = layers()
    for layer in model:
        fully_shard(layer, offload_policy=policy)
    fully_shard(model, offload_policy=policy)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    batch = torch.randn(32, 2048, device="cuda")
    for _ in range(2):
        model(batch).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    rank.checkpoint("offloaded")
    rank.checkpoint("end")


def rank_main(number, port, name, arguments):
    rank = Rank(number, port)
    {"fsdp": fsdp, "reshard": reshard, "offload": offload}[name](rank, *arguments)
    dist.destroy_process_group()


# ---- ranks as threads ----

def thread_main(device, meet, sizes):
    torch.cuda.set_device(device)
    torch.manual_seed(device)
    model = nn.Sequential(*(nn.Linear(512, 512, device="cuda") for _ in range(4 + 2 * device)))
    optimizer = torch.optim.Adam(model.parameters())
    for i in range(60):
        optimizer.zero_grad(set_to_none=i % 3 > 0)
        model(torch.randn(sizes[i % len(sizes)] * (1 + device), 512, device="cuda")).sum().backward()
        optimizer.step()
        if i % 20 == 19:
            torch.cuda.synchronize()
            meet.wait()            # the main thread says what each has
            meet.wait()


def threads():
    peer, meet = Peer(), threading.Barrier(WORLD + 1)
    workers = [threading.Thread(target=thread_main, args=(d, meet, (64, 4096, 700))) for d in range(WORLD)]
    for worker in workers:
        worker.start()
    for name in ("20 steps", "40 steps", "60 steps"):
        meet.wait()
        peer.checkpoint(name, **truth.said())
        meet.wait()
    for worker in workers:
        worker.join()
    peer.checkpoint("end", **truth.said())


def main():
    if sys.argv[1] == "threads":
        threads()
    else:
        # Port 0: the kernel picks one, and nobody else can get the same.
        store = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
        mp.spawn(rank_main, args=(store.port, sys.argv[1], sys.argv[2:]), nprocs=WORLD)
    sys.exit(7)


if __name__ == "__main__":
    main()
