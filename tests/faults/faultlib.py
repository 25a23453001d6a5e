# SPDX-License-Identifier: BSD-2-Clause
"""Runs gpumemtrace with calls that fail, chosen by their stacks (fail_which.c)."""
import os
import re
import struct
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
ALL = os.environ.get("FAULTS") == "all"
EXIT_CODES = (0, 1, 2, 3, 4, 5, 125, 126, 127)

# struct table of fail_which.c
HEAD = struct.Struct("<3Q40x")
STACK = struct.Struct("<QII16s24Q")
STACKS = 8192


class Table:
    """The file that a run shares with its test; goes with the `with` block."""

    def __init__(self):
        # pylint: disable=consider-using-with
        self.file = tempfile.NamedTemporaryFile(prefix="gmt-fault-")
        self.file.truncate(HEAD.size + STACKS * STACK.size)
        os.chmod(self.file.name, 0o666)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()

    def environment(self, kind, **more):
        return {"LD_PRELOAD": SHIM, "FAULT_PROGRAM": "/gpumemtrace", "FAULT_KIND": kind, "FAULT_TABLE": self.file.name,
                **more}

    def read(self):
        """(runs that were judged, those that were bad, {hash: Stack})"""
        with open(self.file.name, "rb") as file:
            _, tried, bad = HEAD.unpack(file.read(HEAD.size))
            rows = STACK.iter_unpack(file.read())
            return tried, bad, {row[0]: Stack(*row) for row in rows if row[0]}


class Stack:
    """The calls from one place: how many there were, how many failed, and the places of the program, innermost first."""

    def __init__(self, number, calls, failed, function, *frames):
        self.number, self.calls, self.failed = number, calls, failed
        self.function = function.rstrip(b"\0").decode()
        self.frames = [frame for frame in frames if frame]

    def where(self):
        """Its functions and their lines, if addr2line is there."""
        command = ["addr2line", "-fpse", TOOL, *[hex(frame) for frame in self.frames]]
        try:
            lines = subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()
        except OSError:
            lines = command[3:]
        return f"{self.function} < " + " < ".join(line.replace(" at ", ":") for line in lines[:8])

    def is_below(self, *functions):
        """Whether one of these functions of the program leads to the call."""
        command = ["addr2line", "-fie", TOOL, *[hex(frame) for frame in self.frames]]
        try:
            lines = subprocess.run(command, capture_output=True, text=True, check=False).stdout.split("\n")
        except OSError:
            return True
        return bool(set(functions) & set(lines[::2]))


class Fault:
    """One run: which call is to fail, whether it has failed, and how the tool ended."""

    def __init__(self, kind, stack=None, nth=1, is_on=False):
        self.kind, self.stack, self.nth, self.is_on = kind, stack, nth, is_on
        self.status, self.out, self.err, self.has_failed, self.stacks = None, b"", "", False, {}

    def __str__(self):
        return f"FAULT_KIND={self.kind} FAULT_STACK={self.stack.number:x} FAULT_NTH={self.nth}" \
               f"{' FAULT_ON=1' if self.is_on else ''}: {self.stack.where()}"

    def environment(self, table):
        if not self.stack:
            return table.environment(self.kind)
        more = {"FAULT_ON": "1"} if self.is_on else {}
        return table.environment(self.kind, FAULT_STACK=f"{self.stack.number:x}", FAULT_NTH=str(self.nth), **more)

    def read_table(self, table):
        stacks = table.read()[2]
        self.has_failed = any(stack.failed for stack in stacks.values())
        if not self.stack:          # thousands of runs would keep the stacks of each
            self.stacks = stacks

    def run(self, argv, env=None, **options):
        """Runs the tool to its end; more than PATIENCE is a failure of the case, as a signal is."""
        with Table() as table:
            env = {**os.environ, **self.environment(table), **(env or {})}
            try:
                done = subprocess.run([TOOL, *argv], env=env, stdin=subprocess.DEVNULL, capture_output=True,
                                      timeout=PATIENCE, check=False, **options)
                self.status, self.out, self.err = done.returncode, done.stdout, done.stderr.decode(errors="replace")
            except subprocess.TimeoutExpired:
                self.status, self.err = "a hang", ""
            self.read_table(table)
        return self

    def forget(self):
        """What the run printed, once it is judged."""
        self.out, self.err = b"", ""

    def said(self):
        """The tool's own sentences, without their numbers."""
        return {re.sub(r"\d+", "N", line) for line in self.err.splitlines() if line.startswith("gpumemtrace: ")}

    def wrong_end(self, report_is_answer=False):
        """What no failing call may do, or None. report_is_answer: the output says what is missing, not the errors."""
        if self.status not in EXIT_CODES:
            return f"ended with {self.status}: {self.err.strip()[-300:]}"
        if self.status and not self.said() and not (report_is_answer and b"->" in self.out):
            return f"exit status {self.status} without a sentence: {self.err.strip()[-300:]!r}"
        return None


def faults_of(stacks, kind):
    """For each stack its first call and a later one; FAULTS=all: also together with all that follow."""
    for stack in sorted(stacks.values(), key=lambda s: s.number):
        for is_on in (False, True) if ALL else (False,):
            yield Fault(kind, stack, 1, is_on)
            if stack.calls > 1:
                yield Fault(kind, stack, (stack.calls + 2) // 2, is_on)
