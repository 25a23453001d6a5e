# SPDX-License-Identifier: BSD-2-Clause
"""Runs gpumemtrace with calls that fail (fail_calls.c), and chooses which of the calls fail."""
import os
import random
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(1, os.path.join(TOP, "tests"))
from patience import PATIENCE  # noqa: E402

BUILD = os.path.abspath(os.environ.get("BUILD", os.path.join(TOP, "build")))
TOOL = os.path.join(BUILD, "gpumemtrace")
SHIM = os.path.join(BUILD, "tests/faults/fail_calls.so")
KINDS = ("malloc", "open", "read", "write", "mmap", "bpf", "perf", "thread", "wait", "files")
TIMES = float(os.environ.get("FAULTS", "1"))
EXIT_CODES = (0, 1, 2, 3, 4, 5, 125, 126, 127)


class Fault:
    """One run: what is to fail, what has failed, and how the tool ended."""

    def __init__(self, kind, nth, on=False):
        self.kind, self.nth, self.on = kind, nth, on
        self.status, self.out, self.err, self.calls, self.where = None, b"", "", 0, ""

    def __str__(self):
        return f"{self.kind} {self.nth}{' and all later ones' if self.on else ''} ({self.where or 'none failed'})"

    def environment(self, told):
        env = dict(os.environ, LD_PRELOAD=SHIM, FAULT_PROGRAM="/gpumemtrace", FAULT_KIND=self.kind,
                   FAULT_NTH=str(self.nth), FAULT_TOLD=told)
        if self.on:
            env["FAULT_ON"] = "1"
        return env

    def read_told(self, told):
        """What the preloaded library says of the run."""
        try:
            with open(told, encoding="utf-8") as file:
                _, number, rest = file.readline().rstrip("\n").split(" ", 2)
        except (FileNotFoundError, ValueError):
            return
        if number == "0":
            self.calls = int(rest)
        else:
            self.where = named(rest)

    def run(self, argv, **options):
        """Runs the tool to its end; more than PATIENCE is a failure of the case, as a signal is."""
        with tempfile.TemporaryDirectory(prefix="gmt-fault-") as folder:
            told = os.path.join(folder, "told")
            env = {**self.environment(told), **options.pop("env", {})}
            try:
                done = subprocess.run([TOOL, *argv], env=env, stdin=subprocess.DEVNULL, capture_output=True,
                                      timeout=PATIENCE, check=False, **options)
                self.status, self.out, self.err = done.returncode, done.stdout, done.stderr.decode(errors="replace")
            except subprocess.TimeoutExpired:
                self.status, self.err = "a hang", ""
            self.read_told(told)
        return self

    def wrong_end(self, report_is_answer=False):
        """What no failing call may do, or None. report_is_answer: the output says what is missing, not the errors."""
        if self.status not in EXIT_CODES:
            return f"ended with {self.status}: {self.err.strip()[-300:]}"
        said = [line for line in self.err.splitlines() if line.startswith("gpumemtrace: ")]
        if self.status and not said and not (report_is_answer and b"->" in self.out):
            return f"exit status {self.status} without a sentence: {self.err.strip()[-300:]!r}"
        return None


def named(told):
    """`function /program+0x123` with the source's line, where addr2line is there."""
    function, place = told.split(" ", 1)
    program, _, offset = place.rpartition("+")
    if not program.endswith("/gpumemtrace"):
        return f"{function} in {place}"
    try:
        line = subprocess.run(["addr2line", "-fipe", TOOL, offset], capture_output=True, text=True, check=False).stdout
    except OSError:
        line = ""
    return f"{function} in {' '.join(line.split()) or place}"


def chosen(calls, first, more, seed):
    """Which of the calls fail: the first ones, and others by chance, the same in each run. FAULTS: so many times more."""
    first, more = min(int(first * TIMES), calls), int(more * TIMES)
    rest = range(first + 1, calls + 1)
    return [*range(1, first + 1), *sorted(random.Random(seed).sample(rest, min(more, len(rest))))]


def faults(kind, calls, alone, later, begin=0):
    """Runs in which one of so many calls fails, behind the first `begin`: alone, or with all later ones. Of both: how
    many of the first calls, and how many others."""
    return [Fault(kind, begin + nth, on) for on, share in ((False, alone), (True, later))
            for nth in chosen(calls - begin, *share, 1 + on)]
