#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""torch_training.py VARIANT [ITERATIONS]: trains a small model with a real PyTorch, whose tensors libblocks.so (preloaded,
see tests/standin/libblocks) makes blocks on pretended GPUs. Prints as JSON its losses, what it did and each block.

It holds where WL_HOLD says until SIGUSR1, as the stand-in's workloads do: "loaded", "half" (of the iterations are over),
in that one's "forward" and "backward", "end".
"""
import contextlib
import ctypes
import json
import os
import signal
import sys
import threading

signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])     # before there are threads

import torch  # noqa: E402
from torch.autograd.profiler import record_function  # noqa: E402
from torch.utils.checkpoint import checkpoint  # noqa: E402

import torch_ranges  # noqa: E402

WIDTH, BATCH, LAYERS = 256, 64, 4
TOO_MUCH = 1 << 30

native = ctypes.CDLL(None)
native.blocks_log.restype = ctypes.c_void_p
native.blocks_tag.argtypes = ctypes.c_void_p, ctypes.c_uint
native.blocks_limit.argtypes = (ctypes.c_uint64,)
CALLBACK = ctypes.CFUNCTYPE(None)

BEGIN, END, TAGGED, HELD = "begin", "end", "tag", "hold"
texts = {}                      # what is marked: its number
texts_lock = threading.RLock()


class Entry(ctypes.Structure):
    _fields_ = [("ptr", ctypes.c_uint64), ("size", ctypes.c_int64), ("allocated", ctypes.c_uint64),
                ("device", ctypes.c_uint32), ("what", ctypes.c_uint16), ("number", ctypes.c_uint16)]


def number(*text):
    with texts_lock:
        return texts.setdefault(text, len(texts))


@contextlib.contextmanager
def marked(name):
    native.blocks_mark(number(BEGIN, name))
    try:
        yield
    finally:
        native.blocks_mark(number(END, name))


def tag(tensor, category):
    if tensor is not None:
        native.blocks_tag(tensor.data_ptr(), number(TAGGED, category))


@contextlib.contextmanager
def user_range(name):
    with marked(name), record_function(name):
        yield


def hold(phase):
    native.blocks_mark(number(HELD, phase))
    print(f"phase={phase}", file=sys.stderr, flush=True)
    if phase in os.environ.get("WL_HOLD", "").split(","):
        signal.sigwait([signal.SIGUSR1])


def by_autograd(function):
    """Calls it on the thread of autograd for the calling thread's GPU."""
    results = []
    native.blocks_on_autograd_thread(CALLBACK(lambda: results.append(function())))
    return results[0]


class Engine:
    """Autograd's: marks when it runs, and lets another thread report meanwhile. What a backward's node asks of it (a
    checkpoint's) is asked by that other thread, as with a GPU."""
    running = threading.local()

    def __init__(self, engine):
        self.engine = engine

    def __getattr__(self, name):
        return getattr(self.engine, name)

    def run_backward(self, *arguments, **options):
        if getattr(Engine.running, "now", False):
            return by_autograd(lambda: self.mark_and_run(arguments, options))
        Engine.running.now = True
        native.blocks_backward(1)
        try:
            return self.mark_and_run(arguments, options)
        finally:
            native.blocks_backward(0)
            Engine.running.now = False

    def mark_and_run(self, arguments, options):
        with marked("backward"):
            return self.engine.run_backward(*arguments, **options)


class Block(torch.nn.Module):
    """A layer of the model; how its activations are kept is the variant's."""

    def __init__(self, variant):
        super().__init__()
        self.variant, self.hold_in = variant, set()
        self.layers = torch.nn.Sequential(torch.nn.Linear(WIDTH, WIDTH), torch.nn.ReLU())

    def forward(self, x):
        if self.variant == "ranges":
            with user_range("## layer ##"):
                return self.held(self.layers(x))
        if self.variant.startswith("checkpoint"):
            return checkpoint(self.layers, x, use_reentrant=self.variant == "checkpoint-reentrant")
        return self.held(self.layers(x))

    def held(self, x):
        if "forward" in self.hold_in:
            hold("forward")
        if "backward" in self.hold_in:
            x.register_hook(lambda _: by_autograd(lambda: hold("backward")))
        self.hold_in = set()
        return x


class Training:
    """One model on one device."""

    def __init__(self, variant, seed=0):
        torch.manual_seed(seed)
        self.variant, self.losses, self.caught = variant, [], 0
        self.random = torch.Generator().manual_seed(seed)
        self.model = torch.nn.Sequential(*[Block(variant) for _ in range(LAYERS)])
        self.unused = self.unused_module()
        self.parameters = [*self.model.parameters(), *self.unused.parameters()]
        for p in self.parameters:
            tag(p, "parameter")
        self.input, self.target = self.new_batch(), self.new_batch()
        self.optimizers = {}
        groups = [[p] for p in self.model.parameters()] if variant == "in-backward" else [self.parameters]
        for group in groups:
            made = torch.optim.SGD(group, lr=0.1, momentum=0.9) if variant == "sgd" else torch.optim.Adam(group, lr=1e-3)
            self.optimizers[group[0]] = made
        self.hooked = []
        if variant == "in-backward":
            for p in self.model.parameters():
                accumulate = p.expand_as(p).grad_fn.next_functions[0][0]
                accumulate.register_hook(self.step_hook(self.optimizers[p]))
                self.hooked.append(accumulate)

    def unused_module(self):
        """Has no gradients."""
        return torch.nn.Linear(WIDTH, WIDTH)

    def new_batch(self):
        batch = torch.randn(BATCH, WIDTH, generator=self.random)
        tag(batch, "parameter" if self.variant == "sgd" else "input")     # kept for good, none can tell it apart
        return batch.requires_grad_(self.variant == "checkpoint-reentrant")     # which works only so

    def step_hook(self, optimizer):
        def step():
            self.tag_gradients()
            self.step(optimizer)
            self.zero_grad(optimizer, True)
        return lambda *_: by_autograd(step)

    def tag_gradients(self):
        for p in [*self.parameters, self.input, self.target]:
            tag(p.grad, "gradient")

    def step(self, optimizer):
        with marked(f"Optimizer.step#{type(optimizer).__name__}.step"):
            optimizer.step()
        for state in optimizer.state.values():
            for value in state.values():
                if torch.is_tensor(value):
                    tag(value, "optimizer_state")

    def zero_grad(self, optimizer, to_none):
        with marked(f"Optimizer.zero_grad#{type(optimizer).__name__}.zero_grad"):
            optimizer.zero_grad(set_to_none=to_none)

    def loss(self):
        return torch.nn.functional.mse_loss(self.model(self.input), self.target)

    def forward_backward(self):
        if self.variant == "ranges":
            with user_range("## forward ##"):
                loss = self.loss()
            with user_range("## b\u00e4ckward ##"):
                loss.backward()
        else:
            loss = self.loss()
            loss.backward()
        self.tag_gradients()
        self.losses.append(loss.item().hex())

    def out_of_memory(self, where):
        """Memory runs out once, in forward or below the engine, and the program goes on."""
        class Hungry(torch.autograd.Function):
            @staticmethod
            def forward(_, x):
                return torch.empty(TOO_MUCH // 4) if where == "forward" else x.clone()

            @staticmethod
            def backward(_, grad):
                return torch.empty(TOO_MUCH // 4) if where == "backward" else grad

        try:
            Hungry.apply(self.model(self.input)).sum().backward()
        except RuntimeError as error:
            if "memory" in str(error):
                self.caught += 1

    def iteration(self, i):
        only = next(iter(self.optimizers.values()))
        if i and self.variant != "sgd":
            self.input, self.target = self.new_batch(), self.new_batch()
        if self.variant == "inference":
            with torch.no_grad():
                self.losses.append(self.loss().item().hex())
            return
        if self.variant == "oom" and i in (1, 2):
            self.out_of_memory("forward" if i == 1 else "backward")
        if self.variant in ("adam", "profiled", "sgd", "ranges", "ranks", "oom", "checkpoint", "checkpoint-reentrant"):
            self.zero_grad(only, True)
        for _ in range(2 if self.variant == "accumulate" else 1):
            self.forward_backward()
        if self.variant != "in-backward":
            self.step(only)
        if self.variant in ("accumulate", "alternate"):
            self.zero_grad(only, self.variant == "accumulate" or i % 2 == 1)

    def run(self, iterations):
        for i in range(iterations):
            if i == iterations // 2 and self.variant != "ranks":
                hold("half")
                self.model[1].hold_in = {"forward"} if self.variant == "inference" else {"forward", "backward"}
            self.iteration(i)


def start(device):
    if native.blocks_start(device):
        sys.exit(f"no pretended GPU {device}")


def train_ranks(iterations):
    """Two threads, each with a GPU."""
    trainings, turn = {}, threading.Barrier(2)

    def rank(device):
        start(device)
        with texts_lock:        # one source of random numbers for both
            trainings[device] = Training("ranks", device)
        turn.wait()
        trainings[device].run(iterations)

    threads = [threading.Thread(target=rank, args=(device,)) for device in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [trainings[device] for device in range(2)]


def profiler(variant):
    """PyTorch's own, with which the CPU's allocator reports, too: the same tensors, on the CPU."""
    if variant != "profiled":
        return contextlib.nullcontext()
    return torch.autograd.profiler.profile(profile_memory=True, use_kineto=False)


def log():
    count = ctypes.c_size_t()
    entries = ctypes.cast(native.blocks_log(ctypes.byref(count)), ctypes.POINTER(Entry))
    names = {value: key for key, value in texts.items()}
    lines = []
    for entry in entries[:count.value]:
        if entry.what:
            kind, text = names[entry.number]
            by_autograd = kind != TAGGED and entry.ptr == 1
            lines.append([kind, entry.device, entry.ptr, text, entry.allocated, by_autograd])
        else:
            lines.append(["block", entry.device, entry.ptr, entry.size, entry.allocated, entry.number == 1])
    return lines


def main():
    variant, iterations = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 6
    torch.set_num_threads(1)
    torch_ranges.begin_as_2_0()
    torch.autograd.Variable._execution_engine = Engine(torch.autograd.Variable._execution_engine)
    hold("loaded")
    if variant == "ranks":
        trainings = train_ranks(iterations)
    else:
        start(0)
        trainings = [Training(variant)]
        with profiler(variant):
            trainings[0].run(iterations)
    hold("end")
    native.blocks_device(-1)
    json.dump({"torch": torch.__version__, "losses": [t.losses for t in trainings], "log": log(),
               "caught": sum(t.caught for t in trainings)}, sys.stdout)
    sys.stdout.flush()
    os._exit(0)     # what goes with the interpreter is nobody's business


main()
