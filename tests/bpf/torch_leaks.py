#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""torch_leaks.py KIND: programs of a real PyTorch that keep more and more tensors, or do not. libblocks.so is preloaded
(tests/standin/libblocks): tensors are blocks on a pretended GPU. The comment "the line" is where what stays was made.

losses: a training keeps its losses, and with each loss its graph. seldom: one loss in five iterations. summed: a
training adds up its losses, and with the sum their graphs. twice: a training goes on with a second optimizer, and
keeps the first one. gradients: a training never sets its gradients to zero. optimizers: a training has a new optimizer
now and then, and keeps the old ones. outputs: an evaluation keeps its outputs. cache: a cache grows with each token.
clean: a training that keeps nothing. sorted: likewise, with longer inputs each time. Prints "ready" on standard error,
waits for a line, works, prints "done" and waits for another line; outputs and cache end with that line at the latest.
The line "fail" instead of one of these has it work until memory runs out, print "failed" and wait for a line with all
that it holds.

These run out of memory, and die of it: losses-oom keeps its losses in a pretended GPU with less memory. batch: a training
whose last batch is too large. pieces: of many small tensors, every other one is kept, and then a large one is made.
"""
import ctypes
import select
import sys
import time

import torch

import torch_ranges

MIB = 1 << 20
WIDTH, BATCH = 256, 64
TOO_MANY = 12 * 1024                 # 12 MiB for each tensor of a batch, in 64 MiB
LITTLE = 12 * MIB                    # some 20 iterations of losses
ROOM = {"twice": 0, "batch": 64 * MIB, "pieces": 64 * MIB}  # before memory runs out

native = ctypes.CDLL(None)


class Engine:
    """Autograd's, which lets another thread report meanwhile, as with a GPU."""

    def __init__(self, engine):
        self.engine = engine

    def __getattr__(self, name):
        return getattr(self.engine, name)

    def run_backward(self, *arguments, **options):
        native.blocks_backward(1)
        try:
            return self.engine.run_backward(*arguments, **options)
        finally:
            native.blocks_backward(0)


class Net(torch.nn.Module):
    def __init__(self, width=WIDTH):
        super().__init__()
        self.layers = torch.nn.ModuleList([torch.nn.Linear(width, width) for _ in range(4)])

    def forward(self, x):
        for layer in self.layers:
            x = torch.tanh(layer(x))                        # the line
        return x


def is_asked_to_end():
    """After a moment."""
    return select.select([sys.stdin], [], [], 0.05)[0]


def train(keep, every=1):
    net, kept = Net(), []
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for step in range(40):
        optimizer.zero_grad()
        loss = net(torch.randn(BATCH, WIDTH)).pow(2).mean()
        loss.backward(retain_graph=keep)
        optimizer.step()
        if keep and step % every == 0:
            kept.append(loss)
        time.sleep(0.02)
    return net, optimizer, kept


def add_up():
    net, total = Net(), 0
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for _ in range(40):
        optimizer.zero_grad()
        loss = net(torch.randn(BATCH, WIDTH)).pow(2).mean()
        loss.backward(retain_graph=True)
        optimizer.step()
        total = total + loss
        time.sleep(0.02)
    return net, optimizer, total


def optimize_twice():
    net = Net(2 * WIDTH)
    optimizers = [torch.optim.Adam(net.parameters()), torch.optim.Adam(net.parameters())]
    for step in range(10):
        optimizer = optimizers[step > 2]
        optimizer.zero_grad()
        net(torch.randn(BATCH, 2 * WIDTH)).pow(2).mean().backward()
        optimizer.step()                                    # the optimizers' line
    return net, optimizers


def keep_gradients():
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    for _ in range(10):
        loss = net(torch.randn(BATCH, WIDTH)).pow(2).mean()
        one = torch.ones(())                                # or else backward() makes it, on this thread
        native.blocks_backward(1)
        loss.backward(one)                                  # the gradients' line
        native.blocks_backward(0)
        optimizer.step()
        time.sleep(0.02)
    return net, optimizer


def optimize_anew():
    net, optimizers = Net(), []
    for step in range(40):
        if step % 5 == 0:
            optimizers.append(torch.optim.Adam(net.parameters()))
        optimizers[-1].zero_grad()
        net(torch.randn(BATCH, WIDTH)).pow(2).mean().backward()
        optimizers[-1].step()                               # the old optimizers' line
        time.sleep(0.02)
    return net, optimizers


def grow_inputs():
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for step in range(40):
        out = net(torch.randn(BATCH + 16 * step, WIDTH))    # is there until the next one
        loss = out.pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        time.sleep(0.02)
    return net, optimizer, out


def losses_oom():
    native.blocks_limit(ctypes.c_uint64(LITTLE))
    return train(True)


def batch():
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for size in (BATCH,) * 4 + (TOO_MANY,):
        optimizer.zero_grad()
        net(torch.randn(size, WIDTH)).pow(2).mean().backward()
        optimizer.step()


def pieces():
    small = [torch.zeros(MIB // 4) for _ in range(60)]      # the small ones
    del small[::2]
    return small, torch.zeros(8 * MIB // 4)                 # the large one


def evaluate():
    net, outputs = Net(), []
    with torch.no_grad():
        while len(outputs) < 400 and not is_asked_to_end():
            outputs.append(net(torch.randn(2 * BATCH, WIDTH)))
    return outputs


def generate():
    cache = torch.zeros(64, WIDTH)
    while len(cache) < 300 * BATCH and not is_asked_to_end():
        cache = torch.cat([cache, torch.randn(BATCH, WIDTH)])  # the cache's line
    return cache


KINDS = {"losses": lambda: train(True), "seldom": lambda: train(True, 5), "clean": lambda: train(False),
         "summed": add_up, "twice": optimize_twice, "gradients": keep_gradients, "optimizers": optimize_anew,
         "sorted": grow_inputs, "outputs": evaluate, "cache": generate, "losses-oom": losses_oom, "batch": batch,
         "pieces": pieces}


def run_out(kind):
    native.blocks_room(ctypes.c_uint64(ROOM.get(kind, 3 * MIB)))
    try:
        KINDS[kind]()
    except RuntimeError:                # its traceback holds what the function had
        native.blocks_room(ctypes.c_uint64(MIB))
        torch.zeros(1)                  # the program goes on
        print("failed", file=sys.stderr, flush=True)
        sys.stdin.readline()


def main():
    ctypes.CDLL("libcuda.so.1")         # a tracer attaches to what has it
    print("ready", file=sys.stderr, flush=True)
    command = sys.stdin.readline()
    torch.set_num_threads(1)
    torch_ranges.begin_as_2_0()
    if native.blocks_start(0):
        sys.exit("no pretended GPU")
    if sys.argv[1] != "gradients":      # whose line asks for the gradients itself
        torch.autograd.Variable._execution_engine = Engine(torch.autograd.Variable._execution_engine)
    kept = None
    if command != "fail\n":
        kept = KINDS[sys.argv[1]]()
        print("done", file=sys.stderr, flush=True)
        command = sys.stdin.readline()
    if command == "fail\n":
        run_out(sys.argv[1])
    native.blocks_device(-1)
    del kept


main()
