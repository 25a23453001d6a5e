#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A small training job in PyTorch, for the demo on a real GPU: train.py [SECONDS]."""
import sys
import time

import torch


def main():
    seconds = float(sys.argv[1] if len(sys.argv) > 1 else 6)
    layers = [layer for _ in range(8) for layer in (torch.nn.Linear(4096, 4096), torch.nn.GELU())]
    model = torch.nn.Sequential(*layers).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    staging = torch.empty(512, 4096, pin_memory=True)
    kept, step, start = [], 0, None
    while start is None or time.monotonic() < start + seconds:
        loss = model(staging.normal_().cuda(non_blocking=True)).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        step += 1
        start = start or time.monotonic()   # the first step loads modules: that can take longer than the demo
        if step % 20 == 0:
            kept.append(torch.empty(8 << 20, dtype=torch.uint8, device="cuda"))  # a leak
        if step == 50:
            try:
                torch.empty(1 << 46, dtype=torch.uint8, device="cuda")
            except torch.cuda.OutOfMemoryError:
                print("train: out of memory, going on with a smaller batch", file=sys.stderr)
    print(f"train: {step} steps, torch has {torch.cuda.memory_reserved()} bytes reserved", file=sys.stderr)


if __name__ == "__main__":
    main()
