#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The training whose stacks stacks.py looks at.

    stacks_work.py resnet STEPS [SECONDS]   trains ResNet-50; SECONDS: sleeps so long first, with CUDA in use
    stacks_work.py greenlets                tensors in greenlets that take turns (needs the package greenlet)
    stacks_work.py nccl                     two processes, each a matmul and an all-reduce over NCCL
"""
import os
import sys
import time


def train(steps, seconds):
    import torch
    import torchvision
    torch.manual_seed(1)
    x = torch.randn(32, 3, 224, 224, device="cuda")
    time.sleep(seconds)
    model = torchvision.models.resnet50(weights=None).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    y = torch.randint(1000, (32,), device="cuda")
    held = []
    for step in range(steps):
        optimizer.zero_grad(set_to_none=True)
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        held.append(torch.empty(40 << 20, dtype=torch.uint8, device="cuda"))    # the leak, on purpose
    torch.cuda.synchronize()
    print(f"reserved={torch.cuda.memory_reserved()}", flush=True)


def in_greenlet(main, held):
    import torch
    while True:
        held.append(torch.empty(40 << 20, dtype=torch.uint8, device="cuda"))    # too large for a segment that is there
        main.switch()


def switch_below(depth, one):
    if depth:
        return max([1], key=lambda _: switch_below(depth - 1, one) or 0)
    one.switch()
    return 1


def greenlets():
    import greenlet
    main, held = greenlet.getcurrent(), []
    made = [greenlet.greenlet(lambda: in_greenlet(main, held)) for _ in range(4)]
    for turn in range(5):
        for number, one in enumerate(made):
            switch_below((turn * 3 + number) % 7, one)


def rank_main(rank, port):
    import torch
    import torch.distributed as dist
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", rank=rank, world_size=2)
    a = torch.randn(2048, 2048, device="cuda")
    b = (a @ a).sum()
    big = torch.ones(64 << 20, device="cuda")
    for _ in range(3):
        dist.all_reduce(big)
    torch.cuda.synchronize()
    print(f"rank={rank} sum={b.item():.1f}", flush=True)
    time.sleep(1.5)
    dist.destroy_process_group()


def main():
    if sys.argv[1] == "resnet":
        train(int(sys.argv[2]), float(sys.argv[3]) if len(sys.argv) > 3 else 0)
        return
    if sys.argv[1] == "greenlets":
        greenlets()
        return
    import torch.multiprocessing as mp
    mp.spawn(rank_main, args=(29500 + os.getpid() % 1000,), nprocs=2)


if __name__ == "__main__":
    main()
