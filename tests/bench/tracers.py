# SPDX-License-Identifier: BSD-2-Clause
"""The workloads that are measured, and the tracers that are attached to them."""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.abspath(os.environ.get("BUILD", os.path.join(TOP, "build")))
STANDIN = os.path.join(BUILD, "standin/root")
CORES = sorted(os.sched_getaffinity(0))


def die(text):
    sys.exit("bench: " + text)


class Workload:
    """A program such as pairs.c, on the last core."""

    def __init__(self, command, environment=None):
        self.child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1,
                                      env=environment or workload_env(),
                                      preexec_fn=lambda: os.sched_setaffinity(0, CORES[-1:]))
        self.pid = self.child.pid
        self.run(1000)

    def run(self, count):
        """Seconds for so many pairs."""
        self.child.stdin.write(self.line(count))
        line = self.child.stdout.readline()
        if not line:
            die("the workload ended")
        return int(line.split()[0]) / 1e9

    def line(self, count):
        """What asks for so many pairs."""
        return f"{count}\n"

    def ns_per_pair(self, batches=10, seconds=0.02):
        """The fastest of a few batches: what else runs on the machine only ever adds."""
        count = max(100, int(1000 * seconds / self.run(1000)))
        return min(self.run(count) for _ in range(batches)) * 1e9 / count

    def end(self):
        self.child.stdin.close()
        self.child.wait()


def workload_env():
    return dict(os.environ, GPUMEMTRACE_STANDIN_ROOT=STANDIN)


def off_core():
    os.sched_setaffinity(0, CORES[:-1] or CORES)


class Tracer:
    """A program that traces the workload between start() and stop(); ready is what it prints by then."""
    ready = "attached"
    ready_on = "stdout"
    end = "INT"

    def __init__(self, name, command):
        self.name, self.command = name, command
        self.child = self.sink = None
        self.start_seconds, self.stop_seconds = [], []

    def start(self, workload):
        self.sink = tempfile.TemporaryFile()
        command = [str(workload.pid) if part == "PID" else part for part in self.command]
        self.child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=self.sink, stderr=self.sink,
                                      preexec_fn=off_core)
        started = time.monotonic()
        while not re.search(self.ready, self.output()):
            if self.child.poll() is not None or time.monotonic() - started > 30:
                die(f"{self.name} did not start: {self.output()[-2000:]}")
            time.sleep(0.005)
        self.start_seconds.append(time.monotonic() - started)
        time.sleep(0.2)

    def output(self):
        """The first and last of what it printed: bpftrace prints a line an event."""
        size = os.fstat(self.sink.fileno()).st_size
        return (os.pread(self.sink.fileno(), 20000, 0) + os.pread(self.sink.fileno(), 20000, max(20000, size - 20000))) \
            .decode(errors="replace")

    def stop(self):
        started = time.monotonic()
        if self.end == "INT":
            self.child.send_signal(signal.SIGINT)
        else:
            self.child.stdin.close()
        self.child.wait(30)
        self.stop_seconds.append(time.monotonic() - started)
        return self.output()


class Empty(Tracer):
    end = "close"


class Gpumemtrace(Tracer):
    ready = r"\n"          # the first line of JSON: a live view

    def __init__(self, name, command):
        super().__init__(name, command)
        self.attach_seconds = []

    def output(self):
        """All of it: a line of JSON may be longer than what is kept of others."""
        return os.pread(self.sink.fileno(), os.fstat(self.sink.fileno()).st_size, 0).decode(errors="replace")

    def stop(self):
        output = super().stop()
        self.attach_seconds += [lib["attach_us"] / 1e6 for lib in report_of(output).get("libraries", [])]
        return output


class Bpftrace(Tracer):
    ready = r"ready\n"

    def __init__(self, name, script, library):
        script = script.replace("LIB", library)
        command = ["bpftrace", "-p", "PID", "-e", script]
        if not os.path.exists("/sys/kernel/tracing/uprobe_events"):  # it needs tracefs to detach: in a mount namespace
            command = ["unshare", "-m", "sh", "-c", 'mount -t tracefs tracefs /sys/kernel/tracing; exec "$@"', "sh"] + command
        super().__init__(name, command)


def report_of(output):
    """The last line of gpumemtrace --json."""
    lines = [line for line in output.splitlines() if line.startswith("{")]
    return json.loads(lines[-1]) if lines else {}


def table(rows, widths):
    for row in rows:
        print("  " + "  ".join(f"{cell:<{w}}" if i == 0 else f"{cell:>{w}}"
                               for i, (cell, w) in enumerate(zip(row, widths))))
