#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Compares what two binaries cost on the same workloads, in turns. Run by `make bench AGAINST=BINARY`, as root. Exit
status 1: the newer binary's BPF programs take more than 3 % longer for a pair or a stack, both by the median and by the
fastest of the rounds. Both are needed: in six runs of one binary, each figure alone varied by up to 9 %.

BPF ns are the kernel's own count; wall time also has the probe itself, which is the same for both, and what else the
machine does: its fastest round is shown beside.
"""
import argparse
import os
import statistics
import sys

import stacks
import tracers
from stacks import bpf_stats

MOST = 1.03
MODES = ("off", "fp", "native", "full")


def rounds_of(workload, binaries, mode, rounds, counted):
    """{(kind, binary): [ns a pair, a round]}"""
    kinds = tuple(stacks.KINDS) if mode != "off" else ("same",)
    found = {}
    for number in range(rounds):
        for binary in binaries[::1 if number % 2 else -1]:
            tracer = stacks.gpumemtrace(mode, binary=binary)
            for kind, ns in stacks.measured(workload, tracer, kinds, counted).items():
                found.setdefault((kind, binary), []).append(ns)
    return found


def compare(title, workload, binaries, modes, rounds):
    """Rows of the table, and those of them that are too slow."""
    rows, slower = [], []
    for mode in modes:
        wall = rounds_of(workload, binaries, mode, rounds, False)
        with bpf_stats.Counted():
            bpf = rounds_of(workload, binaries, mode, rounds, True)
        for kind in dict.fromkeys(kind for kind, _ in bpf):
            older, newer = ([bpf[kind, binary], wall[kind, binary]] for binary in binaries)
            old, new = statistics.median(older[0]), statistics.median(newer[0])
            fastest, fastest_wall = (min(b) / min(a) for a, b in zip(older, newer))
            rows.append((title, mode, stacks.KINDS[kind], f"{new / old:.2f}", f"{fastest:.2f}", f"{old:.0f}", f"{new:.0f}",
                         f"{fastest_wall:.2f}"))
            slower += rows[-1:] if min(new / old, fastest) > MOST else []
    return rows, slower


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("older", help="the binary that is compared with")
    parser.add_argument("--rounds", type=int, default=7)
    args = parser.parse_args()
    if os.geteuid():
        tracers.die("needs root: sudo make bench")
    binaries = [os.path.abspath(args.older), os.path.join(tracers.BUILD, "gpumemtrace")]
    library = os.path.join(tracers.STANDIN, "usr/lib/libcuda.so.1")
    programs = (("native", [os.path.join(tracers.BUILD, "tests/bench/stacks"), library], MODES),
                ("Python", [sys.executable, os.path.join(stacks.HERE, "stacks_python.py"), library], MODES[-1:]))
    rows, slower = [("program", "stacks", "stack", "x older", "fastest", "older ns", "newer ns", "wall fastest")], []
    for title, command, modes in programs:
        workload = stacks.Workload(command)
        for found, total in zip(compare(title, workload, binaries, modes, args.rounds), (rows, slower)):
            total += found
        workload.end()
    print(f"BPF time of one cuMemAlloc and its stack, beside {args.older} ({args.rounds} rounds in turn)")
    tracers.table(rows, (10, 8, 10, 8, 8, 10, 10, 14))
    print(f"{len(slower)} more than {MOST - 1:.0%} slower")
    sys.exit(1 if slower else 0)


if __name__ == "__main__":
    main()
