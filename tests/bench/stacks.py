#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Measures what a stack adds to the probe of one cuMemAlloc, beside bpftrace's ustack and beside a copy of 64 KiB of
the stack. Run by `make bench`, as root.

A process calls from one stack again and again (repeated), from 16 in turn (known), or from one that never was before
(new). Two numbers tell the cost: how much longer the process runs, against the same tracer without stacks in the same
round; and how long its BPF programs run, which the kernel counts (in runs of their own: counting costs as well).
"""
import argparse
import glob
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import bpf_stats  # noqa: E402
import stacklib   # noqa: E402
import tracers    # noqa: E402
from tracers import BUILD, STANDIN, TOP  # noqa: E402

HERE = os.path.join(TOP, "tests/bench")
PADDING = 80000        # of environment, which lies above main's frame: so 64 KiB of every stack can be copied
BPFTRACE = """
uprobe:LIB:cuMemAlloc_v2 { @[WHAT] = count(); }
interval:ms:100 { printf("ready\\n"); }
"""
KINDS = {"same": "repeated", "turns": "known", "new": "new"}
MODES = ("full", "native", "python")
WALKED = "bpftrace, ustack"
COPIED = "64 KiB copied"


class Workload(tracers.Workload):
    """stacks.c or stacks_python.py."""
    kind = "same"

    def __init__(self, command):
        environment = dict(tracers.workload_env(), PADDING="x" * PADDING)
        super().__init__(command, environment)

    def line(self, count):
        return f"{self.kind} {count}\n"


def pid_of(tracer):
    """bpftrace may run below the shell that mounts tracefs for it; exec keeps the pid."""
    return tracer.child.pid


def bpf_ns_per_pair(workload, tracer, batches=7, count=1000):
    """The quickest of a few batches. A batch of new stacks is small: the collector names each."""
    took = []
    for _ in range(batches):
        before = bpf_stats.ran(pid_of(tracer))[0]
        workload.run(count)
        took.append((bpf_stats.ran(pid_of(tracer))[0] - before) / count)
        time.sleep(0.05)
    return min(took)


def gpumemtrace(mode, recording=None, binary=os.path.join(BUILD, "gpumemtrace")):
    command = [binary, "--json", "-i", "0.5", "--driver-root", STANDIN, "--stacks", mode]
    return tracers.Gpumemtrace("stacks " + mode, command + (["-o", recording] if recording else []) + ["-p", "PID"])


def settle(workload):
    """Until the tables are there: the first stacks ask for them."""
    for _ in range(5):
        workload.run(20)
        time.sleep(0.1)


def measured(workload, tracer, kinds, counted):
    """{kind: ns a pair} under a tracer, or without one."""
    if tracer:
        tracer.start(workload)
        settle(workload)
    found = {}
    for kind in kinds:
        workload.kind = kind
        found[kind] = bpf_ns_per_pair(workload, tracer) if counted else workload.ns_per_pair(seconds=0.01)
    workload.kind = "same"
    if tracer:
        tracer.stop()
    return found


def rounds_of(workload, pairs, kinds, rounds, counted):
    """{(name, kind): [ns that a tracer takes more than what it is compared with, a round]}; pairs of such."""
    found = {}
    for _ in range(rounds):
        for tracer, without in pairs:
            base = measured(workload, without, kinds, counted)
            for kind, ns in measured(workload, tracer, kinds, counted).items():
                found.setdefault((tracer.name, kind), []).append(ns - base[kind])
    return found


def frames_of(workload, mode):
    """How many frames gpumemtrace takes, native and Python ones, and whether to the end."""
    with tempfile.NamedTemporaryFile(suffix=".gmt") as recording:
        tracer = gpumemtrace(mode, recording.name)
        tracer.start(workload)
        settle(workload)
        workload.run(100)
        tracer.stop()
        stacks = stacklib.Stacks(recording.name)
    calls = {}
    for _, stack_id, _ in stacks.calls:
        calls[stack_id] = calls.get(stack_id, 0) + 1
    calls.pop(0, None)
    stack = stacks.stacks[max(calls, key=calls.get)]
    words, python = iter(stack.words), 0
    for word in words:
        if word & stacklib.PYTHON:
            python += 1
            next(words)
    return len(stack.words) - 2 * python, python, stack.is_complete


def bpftrace_frames(output):
    """The frames of the stack that was seen most often."""
    stacks = re.findall(r"@\[\n(.*?)\n\]: (\d+)", output, re.S)
    return max(((int(count), len(text.splitlines())) for text, count in stacks), default=(0, 0))[1]


def tracer_pairs(library, modes):
    pairs = [(gpumemtrace(mode), gpumemtrace("off")) for mode in modes]
    object_path = os.path.join(BUILD, "tests/bench")
    copied, empty = ([f"{object_path}/empty", f"{object_path}/{name}.bpf.o", library, "cuMemAlloc_v2"]
                     for name in ("copy", "empty"))
    pairs.append((tracers.Empty(COPIED, copied), tracers.Empty("empty", empty)))
    if shutil.which("bpftrace"):
        pairs.append((tracers.Bpftrace(WALKED, BPFTRACE.replace("WHAT", "ustack"), library),
                      tracers.Bpftrace("bpftrace", BPFTRACE.replace("WHAT", "1"), library)))
    return pairs


def row(title, kind, wall, bpf, copied, frames):
    """frames: native, python, complete."""
    native, python, complete = frames
    count = native + python
    return (title, kind, f"{bpf / copied:.2f}", f"{bpf:.0f}", f"{wall:.0f}", f"{native} + {python}",
            f"{bpf / count:.0f}" if count else "", "" if complete else "cut off")


def compare(title, workload, library, modes, rounds):
    kinds = tuple(KINDS)
    pairs = tracer_pairs(library, modes)
    wall = rounds_of(workload, pairs, kinds, rounds, False)
    with bpf_stats.Counted():
        bpf = rounds_of(workload, pairs, kinds, min(rounds, 3), True)
    wall = {key: statistics.median(values) for key, values in wall.items()}
    bpf = {key: statistics.median(values) for key, values in bpf.items()}
    copied = bpf[COPIED, "same"]
    rows = [("", "stack", "x 64 KiB", "BPF ns", "wall ns", "frames", "BPF ns a frame", "")]
    for tracer, _ in pairs:
        mode = tracer.name.split()[-1]
        if tracer.name == COPIED:
            frames = 0, 0, True
        elif tracer.name == WALKED:
            tracer.start(workload)
            workload.run(100)
            frames = bpftrace_frames(tracer.stop()), 0, False
        else:
            frames = frames_of(workload, mode)
        for kind in kinds:
            key = tracer.name, kind
            rows.append(row(tracer.name, KINDS[kind], wall[key], bpf[key], copied, frames))
    print(f"\nWhat a stack adds to the probe of one cuMemAlloc: {title} (medians of {rounds} rounds)")
    tracers.table(rows, (20, 8, 8, 8, 8, 10, 14, 8))


def training(workload, rounds):
    """A loop that works between its calls: how much longer it takes, traced without stacks and with them."""
    workload.kind = "train"
    took = {name: [] for name in ("off", "full")}
    for _ in range(rounds):
        for mode, found in took.items():
            tracer = gpumemtrace(mode)
            before = workload.ns_per_pair(seconds=0.05)
            tracer.start(workload)
            settle(workload)
            traced = workload.ns_per_pair(seconds=0.05)
            tracer.stop()
            untraced = (before + workload.ns_per_pair(seconds=0.05)) / 2
            found.append((traced / untraced, untraced))
    workload.kind = "same"
    rows = [("", "x untraced", "rounds from .. to", "us a layer")]
    for mode, found in took.items():
        ratios = [ratio for ratio, _ in found]
        layer = statistics.median(ratio * ns for ratio, ns in found) / 1000
        rows.append(("stacks " + mode, f"{statistics.median(ratios):.3f}", f"{min(ratios):.3f} .. {max(ratios):.3f}",
                     f"{layer:.1f}"))
    print("\nA loop of 16 layers in Python, each with some 50 us of work, an allocation and a free (medians)")
    tracers.table(rows, (20, 10, 18, 10))


def starting(workload, rounds):
    """The verifier goes through the stack walk when the programs are loaded."""
    found = {}
    for mode in ("off", "full"):
        tracer = gpumemtrace(mode)
        for _ in range(rounds):
            tracer.start(workload)
            tracer.stop()
        found[mode] = statistics.median(tracer.start_seconds) * 1000
    print("\nStart to first view (medians)")
    tracers.table([("stacks " + mode, f"{ms / found['off']:.2f} x", f"{ms:.0f} ms") for mode, ms in found.items()],
                  (20, 10, 10))


def libraries():
    """Those of PyTorch, where a test has unpacked them, and of this Python."""
    packages = os.path.join(TOP, "build/real-libc10/root/usr/lib/*/lib")
    names = ("torch_cpu.so*", "torch_python.so*", "c10.so*")
    found = [path for name in names for path in glob.glob(packages + name) if not os.path.islink(path)]
    return found + [os.path.realpath(sys.executable)]


def unwinding_tables(paths):
    print("\nUnwinding tables (aims for a whole PyTorch: below 100 MiB, below 1 s, 100 ns a row)", flush=True)
    with tempfile.TemporaryDirectory(prefix="gmt-bench-") as folder:
        subprocess.run([os.path.join(BUILD, "tests/bench/tables"), os.path.join(folder, "cache"), *paths], check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", help="of bench.py")
    parser.add_argument("--libraries", nargs="*", help="whose unwinding tables are measured")
    args = parser.parse_args()
    if os.geteuid():
        tracers.die("needs root: sudo make bench")
    with tempfile.TemporaryDirectory(prefix="gmt-bench-") as folder:
        library = os.path.join(folder, "libcuda.so.1")
        shutil.copy(os.path.join(STANDIN, "usr/lib/libcuda.so.1"), library)
        workload = Workload([os.path.join(BUILD, "tests/bench/stacks"), library])
        compare("a native program", workload, library, ["full"], args.rounds)
        workload.end()
        workload = Workload([sys.executable, os.path.join(HERE, "stacks_python.py"), library])
        compare(f"Python {platform.python_version()}", workload, library, MODES, args.rounds)
        training(workload, args.rounds)
        starting(workload, args.rounds)
        workload.end()
    unwinding_tables(args.libraries or libraries())


if __name__ == "__main__":
    main()
