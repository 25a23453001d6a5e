#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Measures what tracing costs a training: ResNet-50 steps, traced in several ways and with PyTorch's own recorder.

    tests/gpu/cost.py [-c CYCLES] [-r ROUNDS] [-s STEPS] [--any-cpu] [MODE...]

MODE: driver blocks stacks python all; floor stacks-native stacks-python. floor is an empty probe where PyTorch's
blocks are reported: what any probe there costs at the least. It wants $GPUMEMTRACE_EMPTY, the folder of
build/tests/bench/empty and empty.bpf.o.

Two processes train alike on one CPU, or with --any-cpu where the kernel puts them, taking turns of a few steps: one
is observed in one way for some rounds, then in none, then in the next way; its twin never is (it has copies of the
probed libraries). A period's number is the
median over its rounds of observed / twin, which takes out what the machine does meanwhile; a mode's effect is its
period's number by the mean of the unobserved periods before and after, which takes out how the processes differ.
The confidence interval is a bootstrap over cycles. Writes cost.json. Exit status: 1 if an interval lies above its
aim, but for an aim that an empty probe alone misses (0.7 to 1.6 us each, 1298 times a step, on virtual machines).
With floor, what is over the empty probe in the same cycle is shown, too, and has an aim. How long BPF programs ran a
step is counted by the kernel, in turns of their own.

$GPUMEMTRACE_OPTIONS: further options of gpumemtrace in all modes.
"""
import argparse
import json
import math
import os
import random
import statistics
import subprocess
import sys
import time

import compare
import lib
import run as runner

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import bpf_stats  # noqa: E402

SETTLED_SECONDS = 1.0              # after the attach, once in a tracing's life: tables are read
TRACED = {"driver": ["--layers", "api,kernel,nvml"], "blocks": [], "stacks": ["--block-stacks"],
          "stacks-native": ["--block-stacks", "--stacks", "native"],
          "stacks-python": ["--block-stacks", "--stacks", "python"]}
EMPTY = os.environ.get("GPUMEMTRACE_EMPTY")
RECORDED = {"python": "python", "all": "all"}
MODES = ["driver", "blocks", "stacks", "python", "all"]      # unless others are asked for
TEXT = {"none": "not observed", "floor": "an empty probe on PyTorch's report",
        "driver": "gpumemtrace, driver only", "blocks": "gpumemtrace, with PyTorch's blocks",
        "stacks": "gpumemtrace --block-stacks", "stacks-native": "gpumemtrace --block-stacks --stacks native",
        "stacks-python": "gpumemtrace --block-stacks --stacks python", "python": "_record_memory_history, Python stacks",
        "all": "_record_memory_history, mixed stacks"}
OVER = ", over an empty probe"
PIECES = {"resnet": "step", "resnet" + OVER: "... over an empty probe", "resnet launches": "its launches (CPU)",
          "graph": "step as a CUDA graph", "async": "cuMemAllocAsync pair", "sync": "cuMemAlloc pair"}
# (mode, piece): by how much more at most
AIMS = {("driver", "resnet"): 0.005, ("blocks", "resnet"): 0.05, ("stacks", "resnet"): 0.15, ("blocks", "graph"): 0.005,
        ("blocks", "resnet" + OVER): 0.05, ("stacks", "resnet" + OVER): 0.10}


class Empty:
    """A probe that does nothing."""

    def __init__(self, pid):
        with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
            path = next(line.split(None, 5)[5].strip() for line in maps if line.rstrip().endswith("/libc10.so"))
        self.proc = subprocess.Popen([f"{EMPTY}/empty", f"{EMPTY}/empty.bpf.o", path, "fw_block"],
                                     stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        if self.proc.stdout.readline() != b"attached\n":
            raise lib.Failure("the empty probe could not be attached")

    def stop(self):
        self.proc.stdin.close()
        self.proc.wait()
        return self.proc.returncode, None


class Pair:
    """The observed process and its twin."""

    def __init__(self, s, cpu, work):
        self.s, self.todo = s, work
        self.twin = s.workload("cost_work.py", cpu, "own").start()
        self.twin.next(seconds=200)
        self.observed = s.workload("cost_work.py", cpu).start()
        told = self.observed.next(seconds=200)
        self.pid, self.blocks = told["pid"], told["blocks"]
        self.tools = 0
        self.bpf = {}              # mode -> [(nanoseconds, runs) of BPF programs a step]

    def start(self, mode):
        if mode == "floor":
            return Empty(self.pid)
        self.tools += 1
        tool = lib.Tool(self.s.run, f"cost{self.tools}", "-p", str(self.pid), *TRACED[mode], interval="1")
        self.s.tools.append(tool)
        tool.wait_view(lambda view: view.process(self.pid))
        time.sleep(SETTLED_SECONDS)
        return tool

    def count_bpf(self, mode, pid):
        steps = self.todo["resnet"]
        with bpf_stats.Counted():
            before = bpf_stats.ran(pid)
            self.observed.go(work={"resnet": steps})
            self.observed.next()
            ran = bpf_stats.ran(pid)
        self.bpf.setdefault(mode, []).append([(b - a) / steps for a, b in zip(before, ran)])

    def turn(self, work, **more):
        work.go(work=self.todo, **more)
        return {name: statistics.median(values) for name, values in work.next()["times"].items()}

    def period(self, mode, rounds):
        """For each piece of work: the logarithm of observed / twin, and nanoseconds of each."""
        tool = self.start(mode) if mode in TRACED or mode == "floor" else None
        self.observed.go(record=RECORDED.get(mode), work=self.todo)      # the first of everything is not counted
        self.observed.next()
        self.turn(self.twin)
        ratios, times = {}, {}
        for i in range(rounds):
            order = (self.observed, self.twin) if i % 2 else (self.twin, self.observed)
            seen = {work: self.turn(work) for work in order}
            for name, value in seen[self.observed].items():
                ratios.setdefault(name, []).append(math.log(value / seen[self.twin][name]))
                times.setdefault(name, []).append((value, seen[self.twin][name]))
        if mode in RECORDED:
            self.observed.go(record=None)
            self.observed.next()
        if tool:
            self.count_bpf(mode, tool.proc.pid)
            status, view = tool.stop()
            if status or (view and view.lost):
                raise lib.Failure(f"gpumemtrace ended with {status}, lost {view.lost}: {tool.tail()}")
        return {name: statistics.median(values) for name, values in ratios.items()}, times


def keep_off(cpu):
    """This process, and what it starts, gets off that CPU and the one that shares its core: the workloads'."""
    try:
        with open(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list", encoding="ascii") as f:
            siblings = {int(n) for part in f.read().strip().split(",") for n in part.split("-")}
    except (OSError, ValueError):
        siblings = set()
    rest = os.sched_getaffinity(0) - siblings - {cpu}
    os.sched_setaffinity(0, rest or os.sched_getaffinity(0))


def measure(pair, modes, cycles, rounds):
    """mode -> piece -> a logarithm a cycle; and the times of all periods."""
    effects, times = {mode: {} for mode in modes}, {}
    pair.period("none", 2)

    def period(mode):
        value, taken = pair.period(mode, rounds)
        for name, values in taken.items():
            times.setdefault(mode, {}).setdefault(name, []).extend(values)
        return value
    before = period("none")
    for cycle in range(cycles):
        for mode in modes[cycle % len(modes):] + modes[:cycle % len(modes)]:
            value = period(mode)
            after = period("none")
            for name in value:
                effects[mode].setdefault(name, []).append(value[name] - (before[name] + after[name]) / 2)
            before = after
    return effects, times


def interval(values, rounds=4000):
    """Mean and its 95 % bootstrap interval."""
    pick = random.Random(1)
    means = sorted(statistics.fmean(pick.choices(values, k=len(values))) for _ in range(rounds))
    return [math.exp(v) for v in (statistics.fmean(values), means[int(0.025 * rounds)], means[int(0.975 * rounds)])]


def add_over_floor(effects):
    """What a mode adds to the empty probe, cycle by cycle."""
    floor = effects.get("floor")
    for mode, pieces in effects.items():
        if floor and mode in TRACED and mode != "driver":
            pieces["resnet" + OVER] = [a - b for a, b in zip(pieces["resnet"], floor["resnet"])]


def judged(aim, low, high, floor):
    if aim is None:
        return ""
    if low > 1 + aim:
        return "NOT MET" if floor < 1 + aim else "not even by an empty probe"
    return "met" if high < 1 + aim else "open"


def results(effects, times):
    out = []
    floor = interval(effects["floor"]["resnet"])[0] if "floor" in effects else 0
    for mode, pieces in effects.items():
        for name, values in pieces.items():
            ratio, low, high = interval(values)
            timed = name.removesuffix(OVER)
            observed, twin = (statistics.median(v[i] for v in times[mode][timed]) for i in (0, 1))
            none = statistics.median(v[0] for v in times["none"][timed])
            aim = AIMS.get((mode, name))
            verdict = judged(aim, low, high, floor if name == "resnet" else 0)
            out.append({"mode": mode, "piece": name, "ratio": ratio, "low": low, "high": high, "cycles": values,
                        "aim": aim, "verdict": verdict, "none_ns": none, "observed_ns": observed, "twin_ns": twin})
    return out


def table(rows, blocks, bpf):
    print(f"\na step allocates {blocks} blocks")
    for mode, counted in bpf.items():
        ns, runs = (statistics.median(values) for values in zip(*counted))
        if runs:
            print(f"{TEXT[mode]:40} BPF programs: {runs:.0f} runs a step, {ns / 1000:.1f} us, {ns / runs:.0f} ns a run")
    print(f"{'':40} {'':22} {'unobserved':>11} {'added':>10} {'':>8}  {'95 %':18} aim")
    for name in PIECES:
        for r in rows:
            if r["piece"] == name:
                added = (r["ratio"] - 1) * r["none_ns"] / 1000
                aim = f"under {r['aim']:.1%}: {r['verdict']}" if r["aim"] else ""
                print(f"{TEXT[r['mode']]:40} {PIECES[name]:22} {r['none_ns'] / 1000:8.1f} us {added:7.1f} us "
                      f"{100 * (r['ratio'] - 1):+7.2f} % ({100 * (r['low'] - 1):+.2f} .. {100 * (r['high'] - 1):+.2f})"
                      f"  {aim}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-c", "--cycles", type=int, default=10)
    parser.add_argument("-r", "--rounds", type=int, default=8, help="turns of each process in a period")
    parser.add_argument("-s", "--steps", type=int, default=4, help="training steps in a turn")
    parser.add_argument("--any-cpu", action="store_true", help="leave it to the kernel where they run")
    parser.add_argument("modes", nargs="*", help=" ".join(["floor", *TRACED, *RECORDED]))
    args = parser.parse_args()
    modes = args.modes or MODES
    run = runner.Run()
    s = compare.Scenario(run, "cost")
    try:
        cpu = max(os.sched_getaffinity(0))
        if not args.any_cpu:
            keep_off(cpu)
        pair = Pair(s, "any" if args.any_cpu else str(cpu),
                    {"resnet": args.steps, "graph": args.steps, "async": 1, "sync": 1})
        effects, times = measure(pair, modes, args.cycles, args.rounds)
        for work in pair.twin, pair.observed:
            work.go(end=True)
            work.wait()
    finally:
        s.close()
        run.end_children()
    add_over_floor(effects)
    rows = results(effects, times)
    os.makedirs(runner.OUT, exist_ok=True)
    with open(os.path.join(runner.OUT, "cost.json"), "w", encoding="utf-8") as f:
        json.dump({"blocks": pair.blocks, "bpf": pair.bpf, "rows": rows, "times": times}, f, indent=1)
    table(rows, pair.blocks, pair.bpf)
    return 1 if any(r["verdict"] == "NOT MET" for r in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
