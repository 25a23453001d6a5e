#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What tracing costs a training: blocks of ResNet-50 steps, traced and untraced in turn, in one process.

    tests/gpu/cost.py [-n PAIRS] [-s STEPS]

In each pair of blocks one is traced (gpumemtrace -p is attached before it and detached after it), the
other is not; which comes first alternates. A pair's ratio is that of its two medians. The confidence
interval is a bootstrap over pairs. Writes cost.json. Exit status: 1 if the interval lies above the aim.

$GPUMEMTRACE_OPTIONS: further options, such as --block-stacks or --stacks=off.
"""
import argparse
import json
import os
import random
import statistics
import sys
import time

import compare
import lib
import run as runner

AIM = 0.005                        # of a training step
SETTLED_SECONDS = 1.0              # after the attach, once in a tracing's life: tables are read
NAMES = {"resnet": "ResNet-50 step", "graph": "ResNet-50 step as a CUDA graph",
         "async": "cuMemAllocAsync + cuMemFreeAsync", "sync": "cuMemAlloc + cuMemFree"}


def block(s, work, pid, todo, traced):
    """Times of one block: name -> list of nanoseconds."""
    tool = None
    if traced:
        tool = lib.Tool(s.run, f"cost{len(s.tools)}", "-p", str(pid), interval="1")
        s.tools.append(tool)
        tool.wait_view(lambda view: view.process(pid))
        time.sleep(SETTLED_SECONDS)
    work.go(work=todo)
    times = work.next()["times"]
    if tool:
        status, view = tool.stop()
        if status or view.lost:
            raise lib.Failure(f"gpumemtrace ended with {status}, lost {view.lost}: {tool.tail()}")
    return times


def interval(values, rounds=4000):
    """Median and its 95 % bootstrap interval."""
    pick = random.Random(1)
    medians = sorted(statistics.median(pick.choices(values, k=len(values))) for _ in range(rounds))
    return statistics.median(values), medians[int(0.025 * rounds)], medians[int(0.975 * rounds)]


def measure(s, pairs, steps):
    work = s.workload("cost_work.py").start()
    pid = work.next(seconds=150)["pid"]
    todo = {"resnet": steps, "graph": steps, "async": 5, "sync": 1}
    medians = {name: ([], []) for name in todo}
    block(s, work, pid, todo, True)            # the first of everything is not counted
    for i in range(pairs):
        for traced in ((False, True) if i % 2 else (True, False)):
            for name, times in block(s, work, pid, todo, traced).items():
                medians[name][traced].append(statistics.median(times))
    work.go(end=True)
    work.wait()
    return medians


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", "--pairs", type=int, default=60)
    parser.add_argument("-s", "--steps", type=int, default=20, help="training steps in a block")
    args = parser.parse_args()
    run = runner.Run()
    s = compare.Scenario(run, "cost")
    try:
        medians = measure(s, args.pairs, args.steps)
    finally:
        s.close()
        run.end_children()
    out = {}
    print(f"{'work':34} {'untraced':>10} {'traced':>10} {'added':>10} {'ratio':>8}   95 % of the ratio")
    for name, (untraced, traced) in medians.items():
        ratio, low, high = interval([t / u for t, u in zip(traced, untraced)])
        base, with_tool = statistics.median(untraced), statistics.median(traced)
        out[name] = {"untraced_ns": base, "traced_ns": with_tool, "ratio": ratio, "low": low, "high": high,
                     "pairs": args.pairs, "untraced_blocks_ns": untraced, "traced_blocks_ns": traced}
        print(f"{NAMES[name]:34} {base / 1000:7.2f} us {with_tool / 1000:7.2f} us {(with_tool - base) / 1000:7.2f} us "
              f"{ratio:8.4f}   {low:.4f} .. {high:.4f}")
    os.makedirs(runner.OUT, exist_ok=True)
    with open(os.path.join(runner.OUT, "cost.json"), "w", encoding="utf-8") as f:
        json.dump(out, f, indent=1)
    for name in ("resnet", "graph"):
        bad, met = out[name]["low"] > 1 + AIM, out[name]["high"] < 1 + AIM
        verdict = "NOT MET" if bad else "met" if met else "neither met nor missed: measure longer"
        more, low, high = (100 * (out[name][key] - 1) for key in ("ratio", "low", "high"))
        print(f"{NAMES[name]}: {more:+.2f} % ({low:+.2f} to {high:+.2f} %); aim: under {100 * AIM} % more: {verdict}")
    return 1 if any(out[name]["low"] > 1 + AIM for name in ("resnet", "graph")) else 0


if __name__ == "__main__":
    sys.exit(main())
