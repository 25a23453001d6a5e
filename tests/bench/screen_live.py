#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Measures the whole tracer's share of a core while its screen is looked at: 8 programs hold memory in 10,000 stacks
together, and the live view comes once a second. Run by `make bench`, as root.

The programs rest, then each makes 1,000 pairs of an allocation and its free each second. Beside them stands the same
session without a view (--no-live): the difference is what looking costs.
"""
import argparse
import fcntl
import os
import select
import signal
import struct
import subprocess
import sys
import termios
import time

import tracers
from tracers import BUILD, STANDIN

SIZES = {"80x24": (80, 24), "200x50": (200, 50)}
SETTLED = 0.05          # of a core: what is left to do after the attach is done
PAIRS = 100             # each 0.1 s


def processes_below(pid):
    found = [pid]
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as file:
                found += [below for child in file.read().split() for below in processes_below(int(child))]
    except (FileNotFoundError, ProcessLookupError):
        return []
    return found


def cpu_seconds(pid):
    """Of the process and of its children that live."""
    ticks = 0
    for one in processes_below(pid):
        try:
            with open(f"/proc/{one}/stat", encoding="ascii", errors="replace") as file:
                ticks += sum(map(int, file.read().rpartition(")")[2].split()[11:13]))
        except (FileNotFoundError, ProcessLookupError):
            pass
    return ticks / os.sysconf("SC_CLK_TCK")


class Session:
    """gpumemtrace on a terminal that nobody reads but this program."""

    def __init__(self, binary, size, arguments, pids):
        self.master, slave = os.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        command = [binary, "--driver-root", STANDIN, "--oom-dir", "off", *arguments, "-p", ",".join(map(str, pids))]
        self.child = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
                                      env=dict(os.environ, TERM="xterm-256color"))
        os.close(slave)

    def look(self, seconds, work=lambda: None):
        """The share of a core; work is called ten times a second."""
        begun, used = time.monotonic(), cpu_seconds(self.child.pid)
        while time.monotonic() < begun + seconds:
            work()
            until = time.monotonic() + 0.1
            while time.monotonic() < until:
                if select.select([self.master], [], [], max(0, until - time.monotonic()))[0]:
                    os.read(self.master, 65536)
        if self.child.poll() is not None:
            tracers.die(f"gpumemtrace ended with {self.child.returncode}")
        return (cpu_seconds(self.child.pid) - used) / (time.monotonic() - begun)

    def settle(self):
        while self.look(3) > SETTLED:
            pass

    def end(self):
        self.child.send_signal(signal.SIGINT)
        while self.child.poll() is None:
            if select.select([self.master], [], [], 0.1)[0]:
                try:
                    os.read(self.master, 65536)
                except OSError:
                    self.child.wait(30)
        os.close(self.master)


class Holder(tracers.Workload):
    kind = "same"

    def line(self, count):
        return f"{self.kind} {count}\n"

    def keep(self, count):
        self.kind = "keep"
        self.run(count)
        self.kind = "same"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", default=os.path.join(BUILD, "gpumemtrace"))
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--programs", type=int, default=8)
    parser.add_argument("--stacks", type=int, default=1250, help="of each program")
    parser.add_argument("--rounds", help="of bench.py")
    options = parser.parse_args()
    library = os.path.join(STANDIN, "usr/lib/libcuda.so.1")
    holders = [Holder([os.path.join(BUILD, "tests/bench/stacks"), library]) for _ in range(options.programs)]
    pids = [holder.pid for holder in holders]
    print(f"{options.programs} programs, {options.stacks} stacks each; share of a core")
    print(f"{'':24}{'at rest':>12}{'at work':>12}")
    for name, size, arguments in [("--no-live", (80, 24), ["--no-live"])] + \
            [("screen " + name, size, ["-i", "1"]) for name, size in SIZES.items()]:
        session = Session(options.binary, size, arguments, pids)
        session.look(3)
        for holder in holders:
            holder.keep(options.stacks)     # while it is traced: the stacks are known
        session.settle()
        rest = session.look(options.seconds)
        work = session.look(options.seconds, lambda: [holder.run(PAIRS) for holder in holders])
        print(f"{name:24}{rest:12.2%}{work:12.2%}", flush=True)
        session.end()
    for holder in holders:
        holder.end()
    return 0


if __name__ == "__main__":
    sys.exit(main())
