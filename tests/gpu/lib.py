# SPDX-License-Identifier: BSD-2-Clause
"""What the GPU tests share: gpumemtrace and a workload as child processes, and the comparisons.

Invariant: the only place that knows gpumemtrace's command line; everything waits with a limit and
ends what it started.
"""
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

import shown

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
GPUMEMTRACE = os.path.abspath(os.environ.get("GPUMEMTRACE", os.path.join(TOP, "build", "gpumemtrace")))
OPTIONS = os.environ.get("GPUMEMTRACE_OPTIONS", "").split()    # --driver-root and --nvml of a stand-in driver
MIB = 1 << 20
STEP_SECONDS = 90              # the longest that one step of a workload may take: it may import torch
VIEW_SECONDS = 15              # the longest until the tool must have shown a moment
INTERVAL = "0.25"


class Failure(Exception):
    """A scenario cannot go on."""


class Exclusive:
    """Steps run side by side; one that takes all of the GPU's memory runs alone."""

    def __init__(self):
        self.changed = threading.Condition()
        self.running, self.alone = 0, False

    def enter(self, alone):
        with self.changed:
            self.changed.wait_for(lambda: not self.alone and not (alone and self.running))
            self.running += 1
            self.alone = alone

    def leave(self):
        with self.changed:
            self.running -= 1
            self.alone = False
            self.changed.notify_all()


class Tool:
    """gpumemtrace in the background; its JSON lines as they come."""

    def __init__(self, run, name, *options, command=None, env=None, interval=INTERVAL):
        self.name, self.views, self.other = name, [], []
        self.changed = threading.Condition()
        self.errors = open(os.path.join(run.scratch, name + ".err"), "wb")
        dumps = [] if "--oom-dir" in options else ["--oom-dir", run.scratch]
        argv = [GPUMEMTRACE, "--json", "--live", "-i", interval, *dumps, *OPTIONS, *options]
        if command:
            argv += ["--", *command]
        self.argv = argv
        self.proc = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=self.errors, stdin=subprocess.DEVNULL,
                                     env=env, cwd=HERE)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        run.started.append(self.proc)

    def read(self):
        for line in self.proc.stdout:
            try:
                view = shown.View(json.loads(line))
            except (ValueError, KeyError, TypeError):
                self.other.append(line.decode(errors="replace"))
                continue
            with self.changed:
                self.views.append(view)
                self.changed.notify_all()
        with self.changed:
            self.changed.notify_all()

    def wait_view(self, good, seconds=VIEW_SECONDS):
        """The first view from now on for which good(view)."""
        start = max(0, len(self.views) - 1)
        deadline = time.monotonic() + seconds
        with self.changed:
            while True:
                for view in self.views[start:]:
                    if good(view):
                        return view
                start = len(self.views)
                left = deadline - time.monotonic()
                if left <= 0:
                    raise Failure(f"{self.name}: gpumemtrace showed no such moment in {seconds} s: {self.tail()}")
                if not self.reader.is_alive() and start == len(self.views):
                    raise Failure(f"{self.name}: gpumemtrace has ended: {self.tail()}")
                self.changed.wait(min(left, 1))

    def at(self, pid, ts_ns, uuids):
        """The view of a moment after ts_ns, NVML's numbers included; uuids: GPUs that must be there."""
        def good(view):
            proc = view.process(pid)
            if not proc or not uuids:
                return proc and view.received_ns > ts_ns + 2 * float(INTERVAL) * 1e9
            rows = [proc.row(uuid) for uuid in uuids]
            return all(row and row.nvml_ts_ns >= ts_ns for row in rows)
        return self.wait_view(good)

    def mark(self):
        """Peaks and growth count from now on."""
        if not self.views or self.views[-1].marks is None:
            raise Failure(f"{self.name}: this gpumemtrace knows no marks")
        before = self.views[-1].marks
        self.proc.send_signal(signal.SIGUSR2)
        return self.wait_view(lambda view: view.marks > before)

    def stop(self, seconds=20):
        """Ctrl-C. Returns (exit status, last view)."""
        if self.proc.poll() is None:
            self.proc.send_signal(signal.SIGINT)
        return self.wait(seconds)

    def wait(self, seconds=30):
        try:
            status = self.proc.wait(seconds)
        except subprocess.TimeoutExpired:
            self.proc.kill()
            raise Failure(f"{self.name}: gpumemtrace did not end in {seconds} s") from None
        self.reader.join(10)
        return status, self.views[-1] if self.views else None

    def tail(self):
        with open(self.errors.name, "rb") as f:
            return (b"".join(f.readlines()[-3:])).decode(errors="replace").strip()


class Workload:
    """A workload's checkpoints. It is started by start(), or by a Tool that is given command and env."""

    def __init__(self, run, *command, env=None):
        self.run, self.proc, self.file = run, None, None
        self.command = [sys.executable, *command]
        path = tempfile.mktemp(dir=run.scratch, suffix=".sock")
        self.env = {**os.environ, **(env or {}), "GMT_TEST_SOCKET": path, "PYTHONDONTWRITEBYTECODE": "1"}
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen(1)
        self.pid, self.alone = None, False
        run.exclusive.enter(False)
        self.inside = True

    def start(self):
        errors = open(os.path.join(self.run.scratch, f"workload-{id(self)}.err"), "wb")
        self.proc = subprocess.Popen(self.command, env=self.env, cwd=HERE, stdin=subprocess.DEVNULL, stderr=errors,
                                     stdout=errors)
        self.run.started.append(self.proc)
        return self

    def next(self, seconds=STEP_SECONDS):
        """The next checkpoint: a dictionary."""
        try:
            if not self.file:
                self.listener.settimeout(seconds)
                sock, _ = self.listener.accept()
                sock.settimeout(seconds)
                self.file = sock.makefile("rwb")
            line = self.file.readline()
        except OSError as e:
            raise Failure(f"{self.command[1:]}: no checkpoint: {e}") from None
        finally:
            self.leave()
        if not line:
            raise Failure(f"{self.command[1:]}: ended before its next checkpoint")
        truth = json.loads(line)
        self.pid = truth["pid"]
        return truth

    def death(self, seconds=60):
        """It ends before another checkpoint, and its memory with it."""
        try:
            if self.file.readline():
                raise Failure(f"{self.command[1:]}: it lives")
            deadline = time.monotonic() + seconds
            while (self.is_there() or self.run.nvml.used(self.pid)) and time.monotonic() < deadline:
                time.sleep(0.02)
        finally:
            self.leave()

    def is_there(self):
        try:
            with open(f"/proc/{self.pid}/stat", encoding="utf-8", errors="replace") as f:
                return f.read().rsplit(")", 1)[1].split()[0] not in "ZX"
        except (OSError, IndexError):
            return False

    def go(self, alone=False, **answer):
        """Lets it go on to its next checkpoint. alone: no other workload is between two meanwhile."""
        self.run.exclusive.enter(alone)
        self.inside = True
        self.file.write(json.dumps(answer).encode() + b"\n")
        self.file.flush()

    def leave(self):
        if self.inside:
            self.inside = False
            self.run.exclusive.leave()

    def wait(self, seconds=30):
        try:
            return self.proc.wait(seconds)
        except subprocess.TimeoutExpired:
            raise Failure(f"{self.command[1:]}: did not end") from None
        finally:
            self.leave()

    def kill(self):
        os.kill(self.pid, signal.SIGKILL)


def replay(run, path):
    """The report that a replay of the recording gives."""
    done = subprocess.run([GPUMEMTRACE, "replay", "--json", path], capture_output=True, timeout=60, cwd=run.scratch)
    if done.returncode:
        raise Failure(f"replay ended with {done.returncode}: {done.stderr.decode(errors='replace')}")
    return shown.View(json.loads(done.stdout.splitlines()[-1]))
