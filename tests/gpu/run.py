#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Runs scenarios side by side on the machine's GPUs and prints each comparison.

    tests/gpu/run.sh [-l] [-v] [-j N] [NAME...]      NAME: a scenario or a part of its name; -l lists them

Results go to $OUT, or build/gpu-results: table.txt, rows.json, stderr.txt, recordings.tar.gz.
Exit status: 0 all equal, 1 a mismatch, 2 nothing could be run.
"""
import argparse
import concurrent.futures
import inspect
import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import threading
import time

import compare
import ends
import lib
import nvml
import scenarios
import torch_alloc
import torch_oom
import torch_ranks
import torch_train

OUT = os.environ.get("OUT") or os.path.join(lib.TOP, "build", "gpu-results")
SCENARIO_SECONDS = 300
# By what they need; the last are about two GPUs.
ONE_GPU = {**scenarios.ONE_GPU, **ends.SCENARIOS, **torch_train.SCENARIOS, **torch_alloc.SCENARIOS,
           **torch_oom.SCENARIOS}
TWO_GPUS = {**scenarios.TWO_GPUS, **torch_ranks.SCENARIOS, **torch_oom.TWO_GPUS}


class Run:
    def __init__(self):
        self.scratch = tempfile.mkdtemp(prefix="gpumemtrace-gpu-")
        self.nvml = nvml.Nvml()
        self.exclusive = lib.Exclusive()
        self.filling = threading.RLock()           # one fills a GPU at a time, however many steps that takes
        self.started = []
        self.lock = threading.Lock()

    def say(self, text):
        with self.lock:
            print(text, flush=True)

    def smi(self, pid):
        return nvml.smi(pid)

    def end_children(self):
        for proc in self.started:
            if proc.poll() is None:
                proc.kill()


def chosen(names, gpus):
    known = dict(ONE_GPU)
    if gpus >= 2:
        known.update(TWO_GPUS)
    picked = {k: f for k, f in known.items() if not names or any(n in k for n in names)}
    # On two GPUs the others have nothing new to show, but may be asked for by name.
    if gpus >= 2 and not names:
        picked = dict(TWO_GPUS)
    return picked


def table(results, marks):
    """The rows that ended so, then one line for each scenario."""
    lines = []
    for s in results:
        for r in s.rows:
            if r["ok"] not in marks:
                continue
            mark = {True: "ok", False: "FAIL", None: "info"}[r["ok"]]
            shown, truth = (v if len(str(v)) <= 60 else str(v)[:57] + "..." for v in (r["tool"], r["truth"]))
            lines.append(f"{mark:4} {s.name:24} {r['step']:24} {r['what']:44} {shown!s:>16} {truth!s:>16} "
                         f"{r['unit']}".rstrip())
    lines += ["", f"{'scenario':24} {'equal':>6} {'not':>4} {'info':>5} {'seconds':>8}  what it shows"]
    for s in results:
        count = [sum(1 for r in s.rows if r["ok"] is v) for v in (True, False, None)]
        lines.append(f"{s.name:24} {count[0]:6} {count[1]:4} {count[2]:5} {s.seconds:8.1f}  {s.text}")
    return "\n".join(lines)


def save(run, results, text):
    os.makedirs(OUT, exist_ok=True)
    with open(os.path.join(OUT, "table.txt"), "w", encoding="utf-8") as f:
        f.write(text + "\n")
    with open(os.path.join(OUT, "rows.json"), "w", encoding="utf-8") as f:
        json.dump([r for s in results for r in s.rows], f, indent=0)
    with open(os.path.join(OUT, "stderr.txt"), "wb") as f:
        for name in sorted(n for n in os.listdir(run.scratch) if n.endswith(".err")):
            with open(os.path.join(run.scratch, name), "rb") as g:
                content = g.read(200_000)
            if content:
                f.write(f"==== {name}\n".encode() + content + b"\n")
    with tarfile.open(os.path.join(OUT, "recordings.tar.gz"), "w:gz") as tar:
        for name in sorted(n for n in os.listdir(run.scratch) if n.endswith(".gmt")):
            tar.add(os.path.join(run.scratch, name), name)


def beside(run, jobs, some, picked):
    """Runs scenarios side by side."""
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        futures = [pool.submit(scenarios.timed, s, picked[s.name]) for s in some]
        _, late = concurrent.futures.wait(futures, SCENARIO_SECONDS)
        if late:
            run.say(f"{len(late)} scenarios took more than {SCENARIO_SECONDS} s: their processes are ended")
            run.end_children()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-l", "--list", action="store_true")
    parser.add_argument("-v", "--verbose", action="store_true", help="print what was equal, too")
    parser.add_argument("-j", "--jobs", type=int, default=max(2, (os.cpu_count() or 2) * 3 // 4))
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    if args.list:
        for name, function in {**ONE_GPU, **TWO_GPUS}.items():
            print(f"{name:24} {inspect.getdoc(function)}")
        return 0
    if not os.access(lib.GPUMEMTRACE, os.X_OK):
        print(f"{lib.GPUMEMTRACE} is not there: build it or set GPUMEMTRACE", file=sys.stderr)
        return 2
    try:
        run = Run()
    except OSError as e:
        print(f"no NVIDIA GPU here: {e}", file=sys.stderr)
        return 2
    picked = chosen(args.names, len(run.nvml.devices))
    if not picked:
        print("no scenario has such a name (-l lists them), or it needs more GPUs", file=sys.stderr)
        return 2
    run.say(f"{len(run.nvml.devices)} GPU(s), driver {run.nvml.version()}; {len(picked)} scenarios, "
            f"{args.jobs} side by side")
    results = []
    for name, function in picked.items():
        s = compare.Scenario(run, name)
        s.text = inspect.getdoc(function)
        results.append(s)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    started = time.monotonic()
    try:
        # Those that fill a GPU would take from the others what these need.
        for fills in False, True:
            beside(run, args.jobs, [s for s in results if s.name.startswith("oom-") == fills], picked)
    finally:
        run.end_children()
    save(run, results, table(results, (True, False, None)))
    shutil.rmtree(run.scratch, ignore_errors=True)
    print(table(results, (True, False, None) if args.verbose else (False, None)))
    bad = sum(1 for s in results for r in s.rows if r["ok"] is False)
    print(f"\n{time.monotonic() - started:.0f} s, results in {OUT}: " + (f"{bad} MISMATCHES" if bad else "all equal"))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
