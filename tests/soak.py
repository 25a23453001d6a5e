#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""soak.py [SECONDS]: processes of all kinds come and go under -a. The tracer must not grow after the first sixth of the
time, and must account for every process. An hour shows most; the default is 300 s. Needs root.

The churn: allocators of all kinds, forks, execs, libraries that are loaded and unloaded, programs that run out of
memory, programs that are killed, and files that claim to be a libcuda.
"""
import collections
import contextlib
import json
import os
import random
import signal
import sys
import tempfile
import threading
import time

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "bpf"))
import lib  # noqa: E402
from lib import check, equal  # noqa: E402

AT_ONCE = 3                 # programs
SAMPLES = 60                # at least; one each 5 s if that is more often
GROWTH = 0.1                # of resident memory, at most; beside:
LAST = 10.0                 # seconds for the last programs to end by themselves
SLACK = 16 << 20            # bytes: the 1,000 processes that are kept, and the allocator's moods
# (how often, command). The first two cannot tell their books: they are killed.
KILLED = 0, 1
PROGRAMS = [
    (2, ("longrun", "forever")),
    (2, ("storm", "3600", "2", "1024")),
    (6, ("basic",)),
    (3, ("threads", "4", "500")),
    (2, ("pools",)),
    (2, ("vmm",)),
    (2, ("contexts",)),
    (2, ("graphs",)),
    (2, ("host",)),
    (2, ("forks", "fork")),
    (2, ("forks", "exec")),
    (2, ("torch", lib.C10, "200")),
    (1, ("oom_cases", "caught")),
    (1, ("oom_cases", "retry")),
    (1, ("oom_cases", "exit")),
    (2, ("dl_late", lib.LIB)),          # opens libcuda at the first line, ends at the second
]
# Maps a file as code under the name of a library that is probed.
MAPPER = """import mmap, sys, time
with open(sys.argv[1], "rb") as f: m = mmap.mmap(f.fileno(), 0, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC)
time.sleep(0.2)"""


class Reader(threading.Thread):
    """Reads the tracer's lines: each process that has ended, once; the report."""

    def __init__(self, tool):
        super().__init__(daemon=True)
        self.tool, self.ended, self.report = tool, {}, None
        self.repeated, self.lines, self.live_bytes = 0, 0, 0
        self.start()

    def run(self):
        for text in self.tool.stdout:
            line = json.loads(text)
            self.lines += 1
            if line["type"] == "report":
                self.report = line
            else:
                self.live_bytes = len(text)
            for process in line["processes"]:
                if not process["exited"]:
                    continue
                key = process["pid"], process["attached_at"]["monotonic_ns"]
                self.repeated += key in self.ended and line["type"] == "live"
                self.ended.setdefault(key, process)


def hostile_file(folder, number):
    """A libcuda that is damaged: cut, filled with noise, or none."""
    path = os.path.join(folder, f"{number}", "libcuda.so.1")
    os.mkdir(os.path.dirname(path))
    with open(lib.LIB, "rb") as file:
        data = bytearray(file.read())
    how = number % 4
    if how == 0:
        data = data[:random.randrange(64, len(data))]
    elif how == 1:
        data = bytes(random.randrange(256) for _ in range(8192))
    else:
        for _ in range(200 if how == 2 else 5000):
            data[random.randrange(64, len(data))] = random.randrange(256)
    with open(path, "wb") as file:
        file.write(data)
    return path


def sample(pid):
    """What the tracer holds."""
    found = collections.Counter()
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
        fields = dict(line.split(":", 1) for line in file)
    found["resident"] = int(fields["VmRSS"].split()[0]) << 10
    found["threads"] = int(fields["Threads"])
    found["children"] = len(lib.descendants(pid))
    for number in os.listdir(f"/proc/{pid}/fdinfo"):
        try:
            with open(f"/proc/{pid}/fdinfo/{number}", encoding="ascii", errors="replace") as file:
                text = file.read()
        except OSError:
            continue
        found["descriptors"] += 1
        for kind in "map", "prog", "link":
            found[kind + "s"] += f"\n{kind}_id:" in text
    return found


class Churn:
    def __init__(self, folder):
        self.folder, self.running, self.started = folder, [], 0
        self.books = {}             # pid -> what the program noted
        self.killed = set()

    def start(self):
        self.started += 1
        if self.started % 20 == 0:
            path = hostile_file(self.folder, self.started)
            lib.Process([sys.executable, "-c", MAPPER, path]).finish()
            return
        index = random.choices(range(len(PROGRAMS)), [often for often, _ in PROGRAMS])[0]
        target = lib.Target(*PROGRAMS[index][1])
        with contextlib.suppress(BrokenPipeError):      # a short one has ended
            target.line("\n\n")
        target.until = time.monotonic() + random.uniform(1, 3) if index in KILLED else None
        self.running.append(target)

    def reap(self):
        for target in list(self.running):
            if target.until and time.monotonic() > target.until:
                target.send(signal.SIGKILL)
                self.killed.add(target.pid)
            elif target.popen.poll() is None:
                continue
            status, out = target.finish()
            self.running.remove(target)
            lib.Process.running.remove(target)
            if not target.until and not status and f"pid={target.pid}\n" in target.err:
                self.books[target.pid] = lib.books_of(out)

    def churn(self):
        self.reap()
        while len(self.running) < AT_ONCE:
            self.start()

    def end(self):
        for target in self.running:
            target.until = target.until and 1.0     # long ago
        late = time.monotonic() + LAST
        while self.running:
            self.reap()
            time.sleep(lib.LOOK)
            for target in self.running if time.monotonic() > late else []:
                print("# does not end:", target.popen.args, target.stderr().split(), flush=True)
                target.until = 1.0


def worst(samples, what):
    return max(s[what] for s in samples)


def check_growth(samples):
    """Nothing grows after the first sixth: the second sixth is compared with the last."""
    sixth = len(samples) // 6
    check(sixth >= 3, "too few samples:", len(samples))
    early, late = samples[sixth:2 * sixth], samples[-sixth:]
    for what in sorted(late[-1]):
        most = worst(early, what)
        print(f"# {what}: {most} in the second sixth, {worst(late, what)} in the last", flush=True)
        room = most * GROWTH + SLACK if what == "resident" else AT_ONCE + 1
        check(worst(late, what) <= most + room, f"{what} grows from {most} to {worst(late, what)}")


def check_processes(churn, reader):
    """Each program's own books are in the process's last line."""
    wrong = []
    newest = {}
    for (pid, _), process in reader.ended.items():
        if any(c["allocs"] for c in process["classes"].values()):
            newest[pid] = process
    for pid, books in churn.books.items():
        if not any(books.values()):
            continue
        if pid not in newest:
            wrong.append(f"process {pid} was never seen")
            continue
        try:
            lib.compare({"processes": [newest[pid]]}, pid, books, clean=False, skip=("physical",))
        except lib.Failure as failure:
            wrong.append(f"process {pid} ({newest[pid]['cmdline']}): {failure}")
    wrong += [f"process {pid}, which was killed, was never seen" for pid in churn.killed
              if pid not in {pid for pid, _ in reader.ended}]
    check(not wrong, f"{len(wrong)} of {len(churn.books)}:", "\n".join(wrong[:5]))


def soak(seconds):
    with tempfile.TemporaryDirectory(prefix="gmt-soak-") as folder:
        argv = [lib.TOOL, "-a", "--json", "-i", "1", "--window", "2000", "--driver-root", lib.ROOT, "--oom-dir",
                folder, "--oom-max", "5", "-o", folder + "/run.gmt"]
        with open(folder + "/err", "w+", encoding="utf-8", errors="replace") as err:
            tool = lib.subprocess.Popen(argv, stdout=lib.subprocess.PIPE, stderr=err, env=lib.environment(
                GPUMEMTRACE_STANDIN_ROOT=lib.ROOT, GPUMEMTRACE_CACHE=folder + "/cache",
                GPUMEMTRACE_UNMAPPED_MS=str(int(min(60.0, seconds / 30) * 1000))), text=True)
            reader = Reader(tool)
            lib.until(lambda: reader.lines)
            churn, samples = Churn(folder), []
            begin = time.monotonic()
            while time.monotonic() < begin + seconds:
                churn.churn()
                if time.monotonic() > begin + len(samples) * min(5.0, seconds / SAMPLES):
                    samples.append(sample(tool.pid))
                time.sleep(lib.LOOK)
                check(tool.poll() is None, "the tracer has ended:", open(err.name, encoding="utf-8").read()[-2000:])
            churn.end()
            seen = reader.lines
            lib.until(lambda: reader.lines > seen + 2)
            tool.send_signal(signal.SIGINT)
            asked = time.monotonic()
            equal(tool.wait(lib.PATIENCE), 0, "exit status")
            print(f"# {churn.started} programs, {len(reader.ended)} processes, the end took"
                  f" {time.monotonic() - asked:.1f} s", flush=True)
            reader.join(lib.PATIENCE)
        losses = {k: v for k, v in reader.report["losses"].items() if v}
        print(f"# losses {losses}, resident {samples[-1]['resident'] >> 20} MiB, a live line"
              f" {reader.live_bytes >> 10} KiB", flush=True)
        equal(reader.repeated, 0, "processes that were shown again after their end")
        check_processes(churn, reader)
        check_growth(samples)


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 300.0

    def case():
        """a tracer that runs for long does not grow, and accounts for every process"""
        soak(seconds)
    lib.main(case)


if __name__ == "__main__":
    main()
