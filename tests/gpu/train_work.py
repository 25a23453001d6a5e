#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Trainings on one GPU, each with its truth: torch's numbers at checkpoints and in each phase.

    train_work.py NAME       a function below: mlp, checkpointed, leak, clean, exact, offload, ...

Optimizers, hooks and models are as plain as what is shown allows; nothing here knows that it is traced.
"""
import contextlib
import hashlib
import sys
import time

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint as recomputed

import truth
from peer import Peer

peer = Peer()
CUDA = "cuda"


def say(name, **more):
    torch.cuda.synchronize()
    return peer.checkpoint(name, **truth.said(), **more)


def warm(dtype, size=768):
    """An iteration of its own, in which cuBLAS takes its workspaces, also those of the thread that runs backward."""
    layer = nn.Linear(size, size, device=CUDA, dtype=dtype)
    layer(torch.randn(1, size, device=CUDA, dtype=dtype)).sum().backward()
    torch.optim.SGD(layer.parameters(), lr=1e-3).step()
    torch.cuda.synchronize()


def iterate(phases, optimizer, loss_of):
    """backward() would make its seed before the phase begins, and what is freed after it is still the phase's."""
    with phases("forward"):
        loss = loss_of()
        seed = torch.ones_like(loss)
    with phases("backward"):
        loss.backward(seed)
        del loss, seed
    with phases("optimizer"):
        optimizer.step()


class Block(nn.Module):
    def __init__(self, width, dtype):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(width, 2 * width, device=CUDA, dtype=dtype), nn.ReLU(),
                                  nn.Linear(2 * width, width, device=CUDA, dtype=dtype))

    def forward(self, x):
        return self.body(x)


class Recomputing(nn.Module):
    """All blocks but the first keep their input only, and are computed again in backward."""

    def __init__(self, blocks, width, dtype):
        super().__init__()
        self.blocks = nn.ModuleList(Block(width, dtype) for _ in range(blocks))

    def forward(self, x):
        for i, block in enumerate(self.blocks):
            x = recomputed(block, x, preserve_rng_state=True, use_reentrant=False) if i else block(x)
        return x


def windowed(make, dtype, batch_shape):
    """Two iterations inside a window, with Adam; its begin and its end are checkpoints."""
    torch.manual_seed(1)
    warm(dtype)
    truth.begin_window()
    say("before")
    model = make()
    optimizer = torch.optim.Adam(model.parameters(), foreach=True)
    batch = torch.randn(*batch_shape, device=CUDA, dtype=dtype)
    phases = truth.Phases()
    for _ in range(2):
        iterate(phases, optimizer, lambda: model(batch).sum())
        with phases("zero_grad"):
            optimizer.zero_grad()
    say("after", iterations=phases.iterations)


def mlp():
    """4 x [Linear(512), ReLU] in bfloat16, batch 16."""
    windowed(lambda: nn.Sequential(*(m for _ in range(4) for m in (nn.Linear(512, 512, device=CUDA, dtype=torch.bfloat16),
                                                                   nn.ReLU()))), torch.bfloat16, (16, 512))


def checkpointed():
    """4 blocks of width 1024 in float16, three of them recomputed; a batch of 128 x 1024."""
    windowed(lambda: Recomputing(4, 1024, torch.float16), torch.float16, (128, 1024, 1024))


# ---- ResNet-50 ----

def resnet(clears):
    import torchvision
    torch.manual_seed(1)
    model = torchvision.models.resnet50(weights=None).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    batch = torch.randn(16, 3, 224, 224, device=CUDA)
    labels = torch.randint(1000, (16,), device=CUDA)
    phases = truth.Phases()
    for i in range(5):
        if clears:
            with phases("zero_grad"):
                optimizer.zero_grad(set_to_none=True)
        iterate(phases, optimizer, lambda: nn.functional.cross_entropy(model(batch), labels))
        if i == 0:
            say("first", roles=truth.roles(model, optimizer, [batch, labels]))
    if clears:
        with phases("zero_grad"):
            optimizer.zero_grad(set_to_none=True)
    say("end", iterations=phases.iterations, roles=truth.roles(model, optimizer, [batch, labels]))


def leak():
    """Nobody clears the gradients."""
    resnet(False)


def clean():
    """Gradients are cleared before each iteration, and at the end."""
    resnet(True)


# ---- what a training must not notice ----

def digest(tensors):
    h = hashlib.sha256()
    for t in tensors:
        h.update(t.detach().cpu().numpy().tobytes())
    return h.hexdigest()


def exact_run(steps=8):
    torch.manual_seed(3)
    model = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.Conv2d(16, 32, 3, stride=2),
                          nn.ReLU(), nn.AvgPool2d(7), nn.Flatten(), nn.Linear(512, 10)).cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    hooks, losses, gradients = [0] * len(list(model.parameters())), [], []

    def count(i):
        def hook(_):
            hooks[i] += 1
        return hook
    for i, p in enumerate(model.parameters()):
        p.register_post_accumulate_grad_hook(count(i))
    for i in range(steps):
        x = torch.randn(16 + 8 * i, 3, 64, 64, device=CUDA)
        out = model(x)
        loss = nn.functional.cross_entropy(out, torch.arange(len(x), device=CUDA) % 10)
        optimizer.zero_grad()
        loss.backward()
        gradients.append(digest(p.grad for p in model.parameters()))
        optimizer.step()
        losses.append(loss.item().hex())
        torch.cuda.empty_cache()   # the driver's allocations, too, happen in each step
    return {"losses": losses, "gradients": gradients, "outputs": digest([out]), "weights": digest(model.parameters()),
            "hooks": hooks, "steps": steps}


def exact():
    """The same training three times: losses, outputs, gradients, weights, and how often each hook ran."""
    torch.use_deterministic_algorithms(True)
    torch.backends.cudnn.benchmark = False
    for _ in range(3):
        say("exact", run=exact_run())


# ---- gradients and optimizers ----

class TwoLayers(nn.Module):
    """The second layer is used by nobody, so it never has a gradient."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(1024, 1024, device=CUDA), nn.Linear(1024, 1024, device=CUDA)

    def forward(self, x):
        return self.first(x)


def alternate():
    """zero_grad(set_to_none) is True in every second iteration only: the others keep the gradients' bytes."""
    model = TwoLayers()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    batch = torch.randn(64, 1024, device=CUDA)
    phases = truth.Phases()
    for i in range(10):
        iterate(phases, optimizer, lambda: model(batch).sum())
        with phases("zero_grad"):
            optimizer.zero_grad(set_to_none=i % 2 == 1)
        if i < 2:
            say(f"cleared {i}", roles=truth.roles(model, optimizer, [batch]))
    say("end", iterations=phases.iterations, roles=truth.roles(model, optimizer, [batch]),
        unused=sum(p.numel() * 4 for p in model.second.parameters()),
        unused_gradients=truth.block_bytes([p.grad for p in model.second.parameters()]))


def in_backward():
    """A parameter's optimizer steps in backward, when its gradient is there, and the gradient goes at once."""
    model = nn.Sequential(*(nn.Linear(1024, 1024, device=CUDA) for _ in range(6)))
    optimizers = {p: torch.optim.Adam([p], foreach=True) for p in model.parameters()}

    def hook(p):
        optimizers[p].step()
        optimizers[p].zero_grad()
    for p in model.parameters():
        p.register_post_accumulate_grad_hook(hook)
    batch = torch.randn(64, 1024, device=CUDA)
    phases, ends = truth.Phases(), []
    for i in range(10):
        with phases("forward"):
            loss = model(batch).sum()
        with phases("backward"):
            loss.backward()
        del loss
        phases.iterations.append({})
        torch.cuda.synchronize()
        ends.append(torch.cuda.memory_allocated())
        if i in (0, 4):
            say(f"iteration {i + 1}")
    del batch
    after = torch.zeros(1, device=CUDA)        # a backward is over when its thread allocates again
    states = [v for o in optimizers.values() for s in o.state.values() for v in s.values() if torch.is_tensor(v) and v.is_cuda]
    say("end", iterations=phases.iterations, ends=ends, after=after.numel(),
        roles={"optimizer_state": truth.block_bytes(states), "gradient": truth.block_bytes([p.grad for p in model.parameters()]),
               "parameter": truth.block_bytes(list(model.parameters()))})


# ---- host memory ----

def offload_run(iterations, offloads):
    model = nn.Sequential(*(m for _ in range(4) for m in (nn.Linear(2048, 2048, device=CUDA), nn.GELU())))
    batch = torch.randn(512, 2048, device=CUDA)
    for _ in range(iterations):
        with torch.autograd.graph.save_on_cpu(pin_memory=True) if offloads else contextlib.nullcontext():
            loss = model(batch).sum()
        torch.cuda.synchronize()
        loss.backward()
        model.zero_grad()


def offload():
    """Activations wait for backward in pinned host memory: not at all, then in 2 iterations, then in 6."""
    for name, iterations, offloads in (("off", 2, False), ("2 iterations", 2, True), ("6 iterations", 6, True)):
        offload_run(iterations, offloads)
        say(name, offloads=offloads)


def windows():
    """Ranges that the program names, and what they take."""
    kept = []
    ranges = {}
    for i in range(3):
        for name, size in (("load batch", 8 << 20), ("prepare", 24 << 20)):
            truth.restart()
            begin = torch.cuda.memory_allocated()
            with torch.profiler.record_function(name):
                kept.append(torch.empty(size, dtype=torch.uint8, device=CUDA))
                torch.empty(2 * size, dtype=torch.uint8, device=CUDA)
            ranges[name] = {"times": i + 1, "begin_bytes": begin, "end_bytes": torch.cuda.memory_allocated(),
                            "peak_bytes": torch.cuda.max_memory_allocated()}
            truth.restart()
        time.sleep(0.01)
    say("end", ranges=ranges)


WORK = {f.__name__: f for f in (mlp, checkpointed, leak, clean, exact, alternate, in_backward, offload, windows)}

if __name__ == "__main__":
    WORK[sys.argv[1]]()
    sys.exit(7)
