#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Each way to run out of memory, in one run: what the first 24 lines of the live view (80x24, read by a terminal
emulator), of the report and of the verdict say. A program without a leak has none named."""
import glob
import os
import re
import sys
import time

import lib
import test_screen
import torchlib
from lib import Target, check, equal
from test_screen import LEAKS, case, quits, said, screen

sys.path.insert(1, os.path.join(lib.TOP, "tests"))
import pypilib  # noqa: E402
import terminallib  # noqa: E402
from patience import LOOK, PATIENCE  # noqa: E402

SCREEN = 24                     # lines
VIEWS = 3
DEMO = os.path.join(lib.TOP, "demos/train.c")
NAMED = re.compile(r"^(LEAK|GROWTH|STATE|OOM) ", re.M)


def line_of(mark, path=LEAKS):
    """file:line of the source line with this text, as it is shown; "# " marks ends a line."""
    with open(path, encoding="utf-8") as file:
        found = [n for n, line in enumerate(file, 1) if mark in line]
    check(len(found) == 1, f"'{mark}' in {path}: {found}")
    return f"{os.path.basename(path)}:{found[0]} "


def settled(terminal):
    """Until the tracer has done what there was to do: the tables of stacks are there."""
    terminal.wait(lib.Rest(terminal.pid).has_come, "a tracer at rest")


class Run:
    """A program, and the live view of it on a terminal."""

    def __init__(self, *targets, command=()):
        """Of these programs, or of a command from its start."""
        self.dumps, self.is_command = lib.folder(), bool(command)
        self.path = self.dumps + "/run.gmt"
        pids = ",".join(str(target.pid) for target in targets)
        what = ("--live", "--", *command) if command else ("-p", pids)
        self.terminal = screen("--block-stacks", "-o", self.path, *what, dumps=self.dumps)
        self.terminal.wait_text("1:processes")
        if command:
            return
        self.moment()
        settled(self.terminal)

    def text(self):
        return "\n".join(self.terminal.text())

    def shows(self, *words):
        """Until all of it is on the screen at once."""
        self.terminal.wait(lambda: all(word in self.text() for word in words), words)

    def has_dump(self):
        self.terminal.wait(lambda: glob.glob(self.dumps + "/gpumemtrace-oom-*.gmt"), "the dump")

    def moment(self):
        """Until there were some more live views: each changes the time since the attach."""
        for _ in range(VIEWS):
            seen = self.terminal.text()[0]
            self.terminal.wait(lambda old=seen: self.terminal.text()[0] != old, "the next live view")

    def explains(self, *words):
        """The key o: the verdict, on the screen."""
        self.terminal.keys("o")
        self.shows("The newest request for memory that failed", *words)
        self.terminal.keys("\r")
        self.shows("1:processes")

    def finish(self):
        """(first lines of the report, first lines of the verdict or "")"""
        if self.is_command:
            equal(self.terminal.finish(), 0, "exit status")
        else:
            quits(self.terminal)
        texts = [first_lines("report", self.path)]
        texts += [first_lines("oom", path) for path in sorted(glob.glob(self.dumps + "/gpumemtrace-oom-*.gmt"))]
        return (texts + [""])[:2]


def each_shows(wanted):
    """Until each screen has shown its words; all of them are read meanwhile."""
    end = time.monotonic() + PATIENCE
    while wanted:
        for run, words in list(wanted.items()):
            run.terminal.read(LOOK)
            if all(word in run.text() for word in words):
                del wanted[run]
            check(time.monotonic() < end, words, "not on the screen:", run.text())


def stays(text, run, target, others):
    """The text is in each live view while the target works, until the traced time has doubled and some time has passed;
    the others' screens are read meanwhile."""
    start = now = traced(run)
    while now < 2.5 * start and "done" not in [line.strip() for line in target.err]:
        check(text in run.text(), f"'{text}' has gone after {now} seconds:", run.text())
        for each in (run, *others):
            each.terminal.read(LOOK)
        now = traced(run)


def traced(run):
    """The seconds since the attach, as the live view says."""
    found = re.search(r"  attached (?:(\d+)m )?([\d.]+) ?(m?)s ", run.terminal.text()[0])
    check(found, run.text())
    return 60 * int(found[1] or 0) + float(found[2]) / (1000 if found[3] else 1)


def first_lines(command, path):
    done = lib.run([lib.TOOL, command, path])
    equal((done.returncode, done.stderr), (0, ""), f"gpumemtrace {command} {path}")
    return "\n".join(done.stdout.splitlines()[:SCREEN])


def has(text, *words):
    for word in words:
        check(word in text, f"'{word}' is not in the first {SCREEN} lines:\n{text}")


def started(kind):
    """The shell that becomes the program: it is traced from before its start."""
    torch = torchlib.debian()
    env = {"PYTHONWARNINGS": "ignore", **torch.env}
    command = 'read line; LD_PRELOAD="$0" exec "$@"'
    return Target("/bin/sh", "-c", command, torchlib.BLOCKS, torch.python, LEAKS, kind, env=env)


def fails(target, run):
    target.line("fail\n")
    said(target, "failed")
    run.shows("OOM  ")
    run.has_dump()


def keeping(kind, why):
    """A training that keeps more with each iteration."""
    line, target = line_of("# the line"), test_screen.leaking(kind)
    run = Run(target)
    target.line()
    said(target, "done")
    run.shows("LEAK ", line + "Net.forward keeps", "kept over iterations")
    fails(target, run)
    run.shows("LEAK ", line + "Net.forward keeps")
    run.explains("WHY    a leak: ", f"WHERE  {line}Net.forward")
    report, verdict = run.finish()
    has(report, "LEAK ", line + "Net.forward keeps", why)
    has(verdict, "WHY    a leak: ", f"WHERE  {line}Net.forward", "DO     1 find what keeps")


@case
def losses():
    """a training that keeps its losses"""
    keeping("losses", "keep .item() of losses, .detach() of outputs")


@case
def seldom():
    """a training that keeps one loss in five iterations"""
    target = test_screen.leaking("seldom")
    run, words = Run(target), ("LEAK ", line_of("# the line") + "Net.forward keeps", "iterations, at least ")
    target.line()
    said(target, "done")
    run.shows(*words)
    has(run.finish()[0], *words)


@case
def summed():
    """a loss that is summed with its graph"""
    keeping("summed", "keep .item() of losses, .detach() of outputs")


@case
def growing():
    """an evaluation that keeps its outputs, a cache that grows with each token, and the demo, side by side"""
    cache_line, leak_line = (line_of(text, DEMO) for text in ("CACHE_PART_BYTES, &prop", "alloc(&leak, 8 * MIB)"))
    lines = {"outputs": line_of("# the line"), "cache": line_of("# the cache's line")}
    targets = {kind: test_screen.leaking(kind) for kind in lines}
    runs = {kind: Run(target) for kind, target in targets.items()}
    # What the demo says would stand in the screen.
    demo = Run(command=("/bin/sh", "-c", 'exec "$0" 16 2>/dev/null', os.path.join(lib.BUILD, "demos/train")))
    for target in targets.values():
        target.line()
    each_shows({**{runs[kind]: ("GROWTH  (guess) " + line, "a cache, a list or a dictionary that is never emptied?")
                   for kind, line in lines.items()}, demo: ("GROWTH  ", cache_line, leak_line)})
    demo.shows("OOM  ", cache_line, leak_line)
    demo.has_dump()
    stays("GROWTH  (guess) " + lines["outputs"], runs["outputs"], targets["outputs"], (runs["cache"], demo))
    for kind, line in lines.items():
        fails(targets[kind], runs[kind])
        runs[kind].explains(f"WHERE  {line}")
        report, verdict = runs[kind].finish()
        has(report, "LINES ", line)
        has(verdict, "ASKED ", f"WHERE  {line}")
        # In the pretended GPU, a cache and its longer copy are there at the same time, for long.
        check("growing all along" not in verdict or "WHY    growth: " in verdict, verdict)
        if kind == "outputs":
            has(report, "GROWTH  (guess) " + line)
            has(verdict, "WHY    growth: ", "at " + line, "and PyTorch's own memory limit")
    report, verdict = demo.finish()
    has(report, "OOM  ", leak_line, "GROWTH  ")  # the demo empties its cache at its end
    has(verdict, "WHY    one request of 64 TiB", "ASKED  64 TiB", line_of("TOO_MUCH) != 0", DEMO))


@case
def twice():
    """an optimizer's state that is there twice"""
    line, target = line_of("# the optimizers' line"), started("twice")
    run = Run(target)
    target.line()
    said(target, "ready")
    run.moment()
    settled(run.terminal)
    target.line()
    said(target, "done")
    run.shows("STATE ", line, "optimizer state")
    fails(target, run)
    run.shows(line, "optimizer state")
    run.explains(f"WHERE  {line}", "optimizer state")
    report, verdict = run.finish()
    has(report, "STATE ", line)
    has(verdict, "ASKED ", f"WHERE  {line}", "WHY    optimizer state: optimizers keep ",
        "DO     1 look for a second optimizer")


@case
def batch():
    """a huge batch"""
    line, target = line_of("# the line"), test_screen.leaking("batch")
    run = Run(target)
    fails(target, run)
    run.shows("OOM  ", " failed: perhaps one iteration needs too much", line + "Net.forward", "activations")
    run.explains("WHY    one iteration needs too much", "DO     1 use a smaller batch")
    report, verdict = run.finish()
    has(report, "OOM  ", " failed: perhaps one iteration needs too much", line + "Net.forward  activations")
    has(verdict, "WHY    one iteration needs too much", f"WHERE  {line}Net.forward", "DO     1 use a smaller batch")


@case
def pieces():
    """free memory in pieces"""
    asks, holds, target = line_of("# the large one"), line_of("# the small ones"), test_screen.leaking("pieces")
    run = Run(target)
    fails(target, run)
    run.shows("OOM  ", f"8 MiB at {asks}failed: fragmentation", holds)
    run.explains("WHY    fragmentation: ", "ASKED  8 MiB, at " + asks)
    report, verdict = run.finish()
    has(report, f"OOM     8 MiB at {asks}failed: fragmentation", holds)
    has(verdict, "WHY    fragmentation: ", "ASKED  8 MiB, at " + asks, f"WHERE  {holds}")


def one_asks_and_one_holds():
    """A program that will ask for memory, and a neighbour that has taken the rest."""
    target = Target("oom_cases", "caught", hold="loaded,on")
    target.wait("loaded")
    holder = Target("oom_cases", "caught", hold="on")
    holder.wait("on")
    return target, holder


@case
def neighbour():
    """a neighbour that takes the rest"""
    target, holder = one_asks_and_one_holds()
    run = Run(target, holder)
    target.go()
    target.wait("on")
    run.shows("OOM  ", " failed: another process")
    reason = f"failed: another process: pid {holder.pid} (oom_cases) holds "    # a long id breaks the line
    has(" ".join(run.text().split()), reason)
    run.has_dump()
    run.explains(f"WHY    another process: pid {holder.pid} ")
    report, verdict = run.finish()
    has(" ".join(report.split()), "OOM ", reason)
    has(verdict, f"WHY    another process: pid {holder.pid} ", f"if pid {holder.pid} is yours, end it", "ASKED ")


@case
def untraced():
    """a neighbour that takes the rest, and is not traced"""
    target, holder = one_asks_and_one_holds()
    run = Run(target)
    who = f"pid {holder.pid} (oom_cases)"
    run.shows(f"not traced: {who}: ")
    target.go()
    target.wait("on")
    reason = f"failed: processes that are not traced: {who} holds "      # a long id breaks the line
    run.terminal.wait(lambda: reason in " ".join(run.text().split()), "the reason")
    run.has_dump()
    run.explains("WHY    other processes: ")
    report, verdict = run.finish()
    has(" ".join(report.split()), "OOM ", reason, f"used by processes that are not traced: {who}: ")
    has(" ".join(verdict.split()), "WHY other processes: ", f"({who}: ", f"DO 1 if {who} is yours, end it", f"{who}, not traced")


@case
def attached_late():
    """the demo behind a shell that is attached to: the GPU that was asked is not known"""
    target = Target("/bin/sh", "-c", 'read line; exec "$0" 6 2>/dev/null', os.path.join(lib.BUILD, "demos/train"))
    run = Run(target)
    target.line()
    run.shows("OOM  ")
    run.has_dump()
    verdict = run.finish()[1]
    # The records may name the GPU.
    check(re.search(r"WHY    one request of 64 TiB, more than (any GPU has: the largest has|all 8 GiB of GPU)", verdict),
          verdict)


@case
def clean():
    """a training that keeps nothing: nothing is named"""
    target = test_screen.leaking("clean")
    run = Run(target)
    target.line()
    said(target, "done")
    run.shows("PyTorch cuda:0 = GPU 1  reserved")
    run.moment()
    equal(NAMED.findall(run.text()), [], run.text())
    report, verdict = run.finish()
    equal(NAMED.findall(report), [], report)
    equal(verdict, "", "a verdict")


if __name__ == "__main__":
    lib.ready()
    try:
        terminallib.emulator()
        torchlib.debian()
    except (pypilib.Unavailable, lib.Skip) as why:
        print(f"1..0 # SKIP {why}")
    else:
        CASES = [losses, seldom, summed, growing, twice, batch, pieces, neighbour, untraced, attached_late, clean]
        lib.main(*[test for test in CASES if not sys.argv[1:] or test.__doc__ in sys.argv[1:]])
