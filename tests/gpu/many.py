#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Measures gpumemtrace's own memory beside many trainings: small residual networks, all traced with -a.

    tests/gpu/many.py [-n COUNT] [-s STEPS]

Traces the trainings twice, with and without the stacks of blocks, each time from their start. Prints the most memory
that gpumemtrace and the processes that read files for it had, what they have when the trainings rest, the memory of
its BPF maps, and what was lost. Exit status: 1 if more than the aim was taken, or a training is not in the report.
"""
import argparse
import json
import os
import signal
import subprocess
import sys
import time

import lib

AIMS = {"with block stacks": (["--block-stacks"], 200), "without": ([], 100)}       # MiB, at the most
QUIET_SECONDS = 15                  # of rest: own memory is said every ten seconds
LOAD_SECONDS = 600                  # so many programs import torch side by side

TRAINING = """
import sys
import torch
from torch import nn
class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        def layer():
            return nn.Sequential(nn.Conv2d(width, width, 3, padding=1), nn.BatchNorm2d(width))
        self.body = nn.Sequential(layer(), nn.ReLU(), layer())
    def forward(self, x):
        return torch.relu(x + self.body(x))
model = nn.Sequential(nn.Conv2d(3, 64, 7, 2, 3), *[Block(64) for _ in range(8)], nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                      nn.Linear(64, 10)).cuda()
optimizer = torch.optim.Adam(model.parameters())
for step in range(int(sys.argv[1])):
    optimizer.zero_grad()
    image, label = torch.randn(4, 3, 64, 64, device="cuda"), torch.randint(10, (4,), device="cuda")
    nn.functional.cross_entropy(model(image), label).backward()
    optimizer.step()
torch.cuda.synchronize()
print("trained", flush=True)
sys.stdin.readline()
"""


class Many:
    """A tracing with -a, and the trainings that it sees from their start."""

    def __init__(self, options):
        self.started = []
        self.tool = subprocess.Popen(
            [lib.GPUMEMTRACE, "--json", "--live", "-i", "5", "--oom-dir", "off", *lib.OPTIONS, "-a", *options],
            stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
        self.started.append(self.tool)
        self.tool.stdout.readline()                 # the probes are in place
        self.last = None

    def train(self, count, steps):
        trainings = [subprocess.Popen([sys.executable, "-c", TRAINING, str(steps)], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE) for _ in range(count)]
        self.started += trainings
        for training in trainings:
            if training.stdout.readline() != b"trained\n":
                raise lib.Failure("a training has failed")
        return trainings

    def views(self, seconds):
        """Takes views for a time."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            line = self.tool.stdout.readline()
            if not line:
                raise lib.Failure("gpumemtrace has ended")
            self.last = json.loads(line)
        return self.last

    def stop(self):
        self.tool.send_signal(signal.SIGINT)
        for line in self.tool.stdout:
            self.last = json.loads(line)
        return self.tool.wait(60), self.last

    def end(self):
        for process in self.started:
            if process.poll() is None:
                process.kill()
                process.wait()


def measure(name, count, steps):
    """Whether the aim was met."""
    options, aim = AIMS[name]
    many = Many(options)
    try:
        trainings = many.train(count, steps)
        rest = many.views(QUIET_SECONDS)["own_memory"]
        status, report = many.stop()
        own = report["own_memory"]
        seen = {p["pid"] for p in report["processes"] if any(row["torch"] for row in p["gpus"])}
        missing = [t.pid for t in trainings if t.pid not in seen]
    finally:
        many.end()
    now = rest["tracer_bytes"] + rest["readers_bytes"]
    maps = own["maps_bytes"]
    print(f"{count} trainings, {name}: at the most {own['most_bytes'] / lib.MIB:.0f} MiB (aim {aim}), at rest"
          f" {now / lib.MIB:.0f} MiB, of these {rest['readers_bytes'] / lib.MIB:.0f} MiB of readers; BPF maps"
          f" {'unknown' if maps is None else f'{maps / lib.MIB:.0f} MiB'}; {report['lost']} lost; exit status {status}")
    if own["shed"]:
        print("  given up: " + own["shed"])
    if missing:
        print(f"  not seen: {missing}")
    return status == 0 and not missing and not own["shed"] and own["most_bytes"] <= aim * lib.MIB


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("-n", type=int, default=21, help="trainings")
    options.add_argument("-s", type=int, default=20, help="steps of each")
    args = options.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    signal.alarm(2 * LOAD_SECONDS)              # nothing waits for ever
    met = [measure(name, args.n, args.s) for name in AIMS]
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
