#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Whichever call fails under the live view on a terminal, in the tracer or in the process between the command and the
terminal: the terminal is as it was, the command's output is there, and the report is as without the fault or something is
said.

One call fails for each stack from which a call is made. Of the stacks that ask for memory, a part fails; FAULTS=all takes
all of them, and each call together with all that follow.
"""
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import lib
from lib import check

sys.path.insert(1, os.path.join(lib.TOP, "tests"))
sys.path.insert(1, os.path.join(lib.TOP, "tests/faults"))
import faultlib  # noqa: E402
import pypilib  # noqa: E402
import terminallib  # noqa: E402
from faultlib import EXIT_CODES, Fault, Table, faults_of  # noqa: E402
from test_faults import AT_A_TIME, numbers, report_of  # noqa: E402

# In whose calls something fails.
SCREEN = ("relay_run", "relay_open", "relay_hold", "relay_settle", "relay_let_go", "start_process", "become_command",
          "curses_open", "curses_draw", "curses_put", "curses_resize", "curses_leave", "stage_open", "stage_enter")
FEW = {"malloc": 8, "files": 3}
BOUND = 60                      # seconds within which a session ends, on a busy machine
FIRST, LAST, STATUS = "the first line", "the last line", 7
COMMAND = f"echo {FIRST}; {lib.workload('basic')} >/dev/null 2>&1; sleep 0.7; echo {LAST}; exit {STATUS}"
CODES = re.compile(r"\x1b(\[[0-9;?]*[a-zA-Z]|\([A-Z0-9]|[>=78])|\x0f|\r")
# The beginnings of lines that each report has.
REPORT = {"FOUND", "basic", "layer"}


class Run:
    """A session on a terminal of its own."""

    def __init__(self, fault, folder):
        self.path = os.path.join(folder, f"run{id(self)}.gmt")
        env = lib.environment(GPUMEMTRACE_STANDIN_ROOT=lib.ROOT, TERM="xterm-256color", LC_ALL="C.UTF-8")
        argv = [lib.TOOL, "--driver-root", lib.ROOT, "--oom-dir", folder, "-i", "0.2", "-o", self.path, "--live", "--",
                "/bin/sh", "-c", COMMAND]
        with Table() as table:
            self.terminal = terminallib.Terminal(argv, env={**env, **fault.environment(table)})
            try:
                self.finish()
            finally:
                self.terminal.close()
            fault.read_table(table)
        fault.err = self.text

    def finish(self):
        """The end of the program, and of what the command has written."""
        try:
            self.status = self.terminal.finish(BOUND)
        except AssertionError:
            self.status = "a hang"
        end = time.monotonic() + 3
        while LAST.encode() not in self.terminal.bytes and time.monotonic() < end:
            self.terminal.read(0.1)
        self.text = CODES.sub("", self.terminal.bytes.decode(errors="replace"))
        behind = self.terminal.bytes.rpartition(b"\x1b[?1049l")[2].decode(errors="replace")
        self.had_screen = b"\x1b[?1049h" in self.terminal.bytes
        self.report = {line[:5] for line in CODES.sub("", behind).splitlines()} & REPORT
        self.is_restored = not self.terminal.is_alternate() and not self.terminal.is_hidden and \
            self.terminal.modes() == self.terminal.before

    def totals(self):
        """What the recording says; None: there is none."""
        if not os.path.exists(self.path) or not os.path.getsize(self.path):
            return None
        replay = subprocess.run([lib.TOOL, "replay", "--json", self.path], capture_output=True, check=False)
        os.unlink(self.path)
        return f"replay ended with {replay.returncode}" if replay.returncode else numbers(report_of(replay.stdout))


class Live:
    def __init__(self):
        self.said, self.totals = set(), None

    def note(self, kind, folder):
        fault = Fault(kind)
        run = Run(fault, folder)
        check(run.status == STATUS and run.had_screen and run.is_restored and LAST in run.text and run.report == REPORT,
              run.status, run.text)
        self.said |= fault.said()
        self.totals = run.totals()
        check(self.totals, "nothing to compare")
        return fault.stacks

    def what_is_wrong(self, fault, folder):
        run = Run(fault, folder)
        totals = run.totals()
        told = fault.said() - self.said
        if not fault.has_failed:
            return None
        if run.status not in (*EXIT_CODES, STATUS):
            return f"ended with {run.status}: {run.text[-300:]}"
        if not run.is_restored:
            return f"the terminal is not as it was: {run.text[-300:]!r}"
        if isinstance(totals, str):
            return totals
        lost = [what for what, is_there in (
            (f"the status {STATUS}", run.status == STATUS), ("the screen", run.had_screen), ("the first line", FIRST in run.text),
            ("the last line", LAST in run.text), ("the totals of the recording", totals == self.totals),
            ("the report", run.report == REPORT)) if not is_there]
        return f"without a sentence, lost: {', '.join(lost)}" if lost and not told else None


def part_of(faults, kind):
    """What `make test` has time for: a part of the places that ask for memory or touch files, all others of those that draw or pass
    on text, which no other test covers."""
    return [fault for fault in faults if faultlib.ALL or fault.nth == 1 and
            fault.stack.is_below(*SCREEN) and fault.stack.number // 2 % FEW.get(kind, 1) == 0]


def session(*kinds):
    """Calls of these kinds fail."""
    wrong, failed = [], 0
    folder = lib.folder()
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        for kind in kinds:
            live = Live()
            live.note(kind, folder)
            faults = part_of(faults_of(live.note(kind, folder), kind), kind)
            wrong += [f"{fault}: {bad}" for fault, bad in
                      zip(faults, pool.map(lambda fault, live=live: live.what_is_wrong(fault, folder), faults)) if bad]
            failed += sum(fault.has_failed for fault in faults)
    print(f"# {failed} calls failed: {', '.join(kinds)}", flush=True)
    check(failed, "no call failed")
    check(not wrong, "\n".join(wrong))


def memory():
    """there is no memory for the screen"""
    session("malloc")


def files():
    """a file of the screen, or of who passes the command's output on, cannot be opened, copied or looked at"""
    session("open", "files")


def text():
    """text and orders cannot be read or written"""
    session("read", "write")


def rest():
    """no process, no mapping, nothing that waits for events"""
    session("thread", "mmap", "wait")


if __name__ == "__main__":
    try:
        terminallib.emulator()
    except pypilib.Unavailable as error:
        print(f"1..0 # SKIP PyPI's pyte: {error}")
        sys.exit(0)
    if not os.path.exists(faultlib.SHIM):
        print("1..0 # SKIP the library that is preloaded was not built")
        sys.exit(0)
    lib.main(memory, files, text, rest)
