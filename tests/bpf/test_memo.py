#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A remembered stack equals the stack that a walk would find. Stacks that differ only in their outermost frames, while
all registers are alike, are the easiest to confuse."""
import collections
import os
import shutil
import sys

import lib
from lib import Process, Tool, check, equal

sys.path[1:1] = [os.path.join(lib.TOP, "tests"), os.path.join(lib.TOP, "tests/symbol")]
import bpf_stats  # noqa: E402
import stacklib  # noqa: E402
import test_python  # noqa: E402

STACKS = os.path.join(lib.BUILD, "tests/bench/stacks")
PYTHON = sys.executable, os.path.join(lib.TOP, "tests/bench/stacks_python.py")
LIBRARY = os.path.join(lib.BUILT, "usr/lib-stacks/libstacks.so")
TURNS = 16
ROUNDS = 6
STEPS = ("same", 50), ("new", 300), ("turns", 10 * TURNS), ("same", 50)


def make(caller, kind, count):
    lines = len(caller.out)
    caller.line(f"{kind} {count}\n")
    caller.wait_line(lambda: len(caller.out) > lines, f"{kind} {count}")


def ids_of(command, *arguments, beside=False, what=STEPS):
    """{step: ids of its stacks, in order}, and the stacks themselves. `beside`: another process takes memory from
    ever new places meanwhile."""
    place = lib.folder()
    library, recording = place + "/libcuda.so.1", place + "/run.gmt"
    shutil.copy(lib.LIB, library)
    caller = Process([*command, library, *arguments], env=lib.environment())
    make(caller, "same", 1)
    other = Process([*command, library, *arguments], env=lib.environment()) if beside else caller
    make(other, "same", 1)
    tool = Tool("-p", str(caller.pid), "-p", str(other.pid), "-o", recording).ready()
    for _ in range(10):                  # the first stacks ask for tables
        make(caller, "same", 5)
        tool.more_views(1)
    tool.idle()
    if beside:
        other.line("new 100000\n")
    for kind, count in what:
        make(caller, kind, count)
    if beside:
        other.popen.kill()
    equal(tool.stop()["lost"], 0, "lost")
    found = stacklib.Stacks(recording)
    ids = [call[1] for call, pid in zip(found.calls, found.callers) if call[1] and pid == caller.pid]
    ids = ids[-sum(count for _, count in what):]
    steps = []
    for _, count in what:
        steps.append(ids[:count])
        ids = ids[count:]
    return steps, found.stacks


def compare(command, *arguments, beside=False):
    (same, new, turns, again), stacks = ids_of(command, *arguments, beside=beside)
    equal(len(set(same)), 1, "stacks of one place")
    equal(len(set(new)), len(new), "stacks of as many calls, all from elsewhere")
    equal(len({stacks[i].words for i in new}), len(new), "... and as many contents")
    check(not set(new) & set(same), "a new stack is taken for an old one")
    equal(len(set(turns)), TURNS, "stacks in turn")
    check(all(turns[i] == turns[i % TURNS] for i in range(len(turns))), "out of turn:", turns)
    equal(again, same, "the first stack again")
    check(all(stacks[i].is_complete for i in same + new + turns), {stacks[i].reason for i in same + new + turns})


def native():
    """a native program: each stack has its own id, the same one always the same, none is mistaken for another"""
    compare([STACKS])


def far():
    """... when what differs lies far up the stack, where it is looked at word by word"""
    compare([STACKS], "20000")


def shared():
    """... while another process needs all the room there is for remembering"""
    compare([STACKS], beside=True)


def python():
    """... Python, by its frames"""
    compare(PYTHON)


def through():
    """... Python that is called back by C, when the C function alone differs, deep between Python's frames"""
    # CPython 3.13's loop makes a first call from another place in itself than those that follow.
    (_, ids), stacks = ids_of(PYTHON, LIBRARY, what=[("through", 1), ("through", 100)])
    sides = "stacks_call_back_left", "stacks_call_back_right"
    called = [[side for side in sides if any(f.function == side for f in stacks[i].frames)] for i in ids]
    equal(called, [[sides[(i // 3 ^ i // 5) & 1]] for i in range(100)], "who called back")
    equal(len(set(ids)), 2, "stacks")


def between():
    """... a generator between two of Python's frames, which are where they are without it, in each CPython that is found"""
    pythons = [path for path, version in test_python.pythons().items() if (3, 11) <= version <= (3, 14)]
    for path in [sys.executable, *pythons]:
        (ids,), stacks = ids_of((path, PYTHON[1]), what=[("between", 160)])
        seen = [any(f.function == "passed_on" for f in stacks[i].frames) for i in ids]
        equal(seen, [i < 40 or i % 8 != 0 for i in range(160)], f"by a generator, {path}")


def deep():
    """... and deep recursions are remembered, in each CPython: to find one again takes less than half of a walk"""
    for path, version in test_python.pythons().items():
        if not (3, 8) <= version <= (3, 14):
            continue
        depth = 90 if version >= (3, 11) else 30      # of older ones each frame lies by itself
        caller = Process([path, PYTHON[1], lib.LIB], env=lib.environment())
        make(caller, "same", 1)
        tool = Tool("-p", str(caller.pid)).ready()
        for _ in range(10):                  # the first stacks ask for tables
            make(caller, "deep", f"5 {depth}")
            tool.more_views(1)
        tool.idle()
        took = collections.defaultdict(list)
        with bpf_stats.Counted():
            for kind in ("deeper", "deep") * ROUNDS:
                before = bpf_stats.ran(tool.pid)
                make(caller, kind, f"{300 // ROUNDS} {depth}")
                took[kind].append([b - a for a, b in zip(before, bpf_stats.ran(tool.pid))])
        tool.stop()
        caller.popen.kill()
        # The least of them: interrupts and other programs add to the time, and nothing takes from it.
        check(2 * min(took["deep"])[0] < min(took["deeper"])[0], f"{path}: (ns, runs)", dict(took))


if __name__ == "__main__":
    lib.main(native, far, shared, python, through, between, deep)
