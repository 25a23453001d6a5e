#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""soak.py [SECONDS]: processes of all kinds come and go under -a. The tracer must not grow after the first sixth of the
time, must lose nothing, and must account for every process. An hour shows most; the default is 300 s. Needs root.

The churn: allocators of all kinds, forks, execs, libraries that are loaded and unloaded, programs that run out of
memory, programs whose memory goes and comes back without a call, as at a checkpoint, programs that are killed, and
files that claim to be a libcuda.

A pid comes again within an hour. So a process is known by its pid and the time of its start.
"""
import collections
import contextlib
import json
import os
import random
import signal
import statistics
import sys
import tempfile
import threading
import time

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "bpf"))
import lib  # noqa: E402
from lib import check, equal  # noqa: E402

AT_ONCE = 3                 # programs
SAMPLES = 60                # at least; one each 5 s if that is more often
GROWTH = 0.1                # of the tracer's memory, at most; beside:
LAST = 10.0                 # seconds for the last programs to end by themselves
REST = 60.0                 # ... and at most for the tracer to do what is left, which other programs may add to
SLACK = 16 << 20            # bytes: the 1,000 processes that are kept, and the allocator's moods
RING = "128M"               # what a busy machine leaves unread for some seconds
TICK_NS = 1000000000 // os.sysconf("SC_CLK_TCK")
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
    (2, ("checkpointed", "20")),
    (2, ("forks", "fork")),
    (2, ("forks", "exec")),
    (2, ("torch", lib.C10, "200")),
    (1, ("oom_cases", "caught")),
    (1, ("oom_cases", "retry")),
    (1, ("oom_cases", "exit")),
    (2, ("dl_late", lib.LIB)),          # opens libcuda at the first line, ends at the second
]
# Maps a file as code under the name of a library that is probed, and unmaps it.
MAPPER = """import mmap, sys, time
with open(sys.argv[1], "rb") as f: m = mmap.mmap(f.fileno(), 0, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC)
time.sleep(0.2)
m.close()"""
# Loads and unloads libraries, so that each lies where another one was.
LOADER = """import _ctypes, ctypes, sys
for n in range(20):
    for path in sys.argv[1:]:
        _ctypes.dlclose(ctypes.CDLL(path)._handle)"""


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
                self.ended.setdefault(key, numbers_of(process))

    def users(self):
        """life -> its process, of those that allocated; of the programs that a process ran, the last one."""
        return {life_of(process): process for process in self.ended.values()
                if any(c["allocs"] for c in process["classes"].values())}


def numbers_of(process):
    """What is kept of a process: an hour has tens of thousands."""
    rows = [{k: row[k] for k in ("uuid", "classes")} for row in process["gpus"]]
    return {**{k: process[k] for k in ("pid", "start_boottime_ns", "cmdline", "classes")}, "gpus": rows}


def life_of(process):
    return process["pid"], process["start_boottime_ns"] // TICK_NS


def life_of_child(pid):
    """Of a child that nobody has waited for: its pid is still its own."""
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
        return pid, int(file.read().rpartition(")")[2].split()[19])


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
    found["resident memory"] = int(fields["VmRSS"].split()[0]) << 10
    found["anonymous memory"] = int(fields["RssAnon"].split()[0]) << 10
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
        self.books = {}             # life -> what the program noted
        self.killed = set()         # lives

    def start(self):
        self.started += 1
        if self.started % 20 == 0:
            path = hostile_file(self.folder, self.started // 20)
            lib.run([sys.executable, "-c", MAPPER, path])
            os.unlink(path)
            return
        if self.started % 20 == 10:
            lib.run([sys.executable, "-c", LOADER, lib.LIB, lib.LIB_ENDBR, lib.C10])
            return
        index = random.choices(range(len(PROGRAMS)), [often for often, _ in PROGRAMS])[0]
        target = lib.Target(*PROGRAMS[index][1])
        target.life = life_of_child(target.pid)
        with contextlib.suppress(BrokenPipeError):      # a short one has ended
            target.line("\n\n")
        target.until = time.monotonic() + random.uniform(1, 3) if index in KILLED else None
        self.running.append(target)

    def reap(self):
        for target in list(self.running):
            if target.until and time.monotonic() > target.until:
                target.send(signal.SIGKILL)
                self.killed.add(target.life)
            elif target.popen.poll() is None:
                continue
            status, out = target.finish()
            self.running.remove(target)
            lib.Process.running.remove(target)
            if not target.until and not status and f"pid={target.pid}\n" in target.err:
                self.books[target.life] = lib.books_of(out)

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


class Soak:
    """One session, and what is checked of it."""

    def __init__(self, seconds):
        self.seconds = seconds
        self.samples, self.rest, self.files = [], collections.Counter(), []
        self.churn = self.reader = None

    def trace(self, folder, err):
        argv = [lib.TOOL, "-a", "--json", "-i", "1", "--window", "2000", "--ring-size", RING, "--driver-root", lib.ROOT,
                "--oom-dir", folder, "--oom-max", "5", "-o", folder + "/run.gmt"]
        tool = lib.subprocess.Popen(argv, stdout=lib.subprocess.PIPE, stderr=err, env=lib.environment(
            GPUMEMTRACE_STANDIN_ROOT=lib.ROOT, GPUMEMTRACE_CACHE=folder + "/cache",
            GPUMEMTRACE_UNMAPPED_MS=str(int(min(60.0, self.seconds / 30) * 1000))), text=True)
        try:
            self.reader, self.churn = Reader(tool), Churn(folder)
            lib.until(lambda: self.reader.lines)
            self.go_on(tool)
            self.churn.end()
            seen = self.reader.lines
            lib.until(lambda: self.reader.lines > seen + 2)
            lib.until(lambda: lib.workers_wait(tool.pid), REST)
            self.rest = sample(tool.pid)
            tool.send_signal(signal.SIGINT)
            asked = time.monotonic()
            equal(tool.wait(lib.PATIENCE), 0, "exit status")
            print(f"# {self.churn.started} programs, {len(self.reader.ended)} processes, the end took"
                  f" {time.monotonic() - asked:.1f} s", flush=True)
            self.reader.join(lib.PATIENCE)
        finally:
            tool.kill()
            tool.wait()
            self.print_growth()

    def go_on(self, tool):
        begin = time.monotonic()
        while time.monotonic() < begin + self.seconds:
            self.churn.churn()
            check(tool.poll() is None, "the tracer has ended")
            if time.monotonic() > begin + len(self.samples) * min(5.0, self.seconds / SAMPLES):
                self.samples.append(sample(tool.pid))
            time.sleep(lib.LOOK)

    def sixths(self, of):
        """For each sixth of the time the most of each thing, or the median."""
        sixth = max(len(self.samples) // 6, 1)
        parts = [self.samples[i * sixth:(i + 1) * sixth] for i in range(5)] + [self.samples[-sixth:]]
        return [{what: of([s[what] for s in part] or [0]) for what in self.samples[-1]} for part in parts]

    def print_growth(self):
        """Before any check can fail."""
        if not self.samples:
            return
        for title, of in (("the most of, by sixths", max), ("the median of", statistics.median_low)):
            print(f"# {title:23}" + " " * 58 + f"{'at rest':>12}")
            for what in sorted(self.rest):
                print(f"# {what:16}" + "".join(f" {part.get(what, 0):10}" for part in self.sixths(of)) +
                      f" {self.rest[what]:10}")
        sys.stdout.flush()

    def run(self):
        """a tracer sees programs of all kinds come and go, and ends well"""
        with tempfile.TemporaryDirectory(prefix="gmt-soak-") as folder:
            with open(folder + "/err", "w+", encoding="utf-8", errors="replace") as err:
                try:
                    self.trace(folder, err)
                except lib.Failure as failure:
                    err.seek(0)
                    raise lib.Failure(f"{failure}; it said: {err.read()[-2000:]}") from None
                err.seek(0)
                self.files = [line.strip()[:300] for line in err if ", because it " in line]
        check(self.reader.report, "no report")
        print(f"# a live line of {self.reader.live_bytes >> 10} KiB, notes {self.reader.report['notes']}", flush=True)

    def losses(self):
        """it loses nothing"""
        check(self.reader and self.reader.report, "no report")
        losses = dict(self.reader.report["losses"])
        # A program may be killed in a call that has made another call: that other call is not known.
        if losses["return_unseen"] <= len(self.churn.killed):
            losses["return_unseen"] = 0
        lost = [f"{k}: {v}" for k, v in losses.items() if v]
        lost += [note for note in self.reader.report["notes"] if "lost" in note]     # mappings, of any program
        if losses["file_refused"] or losses["reader_ended"]:
            lost += self.files
        check(not lost, "\n".join(lost))

    def growth(self):
        """it does not grow after the first sixth of the time"""
        check(len(self.samples) >= 18, "too few samples:", len(self.samples))
        # What grows lifts the median above the most of before. The most alone depends on which programs chance has put
        # side by side.
        early, late = self.sixths(max)[1], self.sixths(statistics.median_low)[-1]
        grown = []
        for what, most in early.items():
            room = most * GROWTH + SLACK if "memory" in what else AT_ONCE + 1
            if late[what] > most + room:
                grown.append(f"{what}: from at most {most} to mostly {late[what]}")
        check(not grown, "\n".join(grown))

    def processes(self):
        """the last line of each process has the numbers that the program noted"""
        check(self.reader and self.reader.report, "no report")
        wrong = []
        users = self.reader.users()
        for life, books in self.churn.books.items():
            if not any(books.values()):
                continue
            if life not in users:
                wrong.append(f"process {life} was never seen")
                continue
            try:
                lib.compare({"processes": [users[life]]}, life[0], books, clean=False, skip=("physical",))
            except lib.Failure as failure:
                wrong.append(f"process {life} ({users[life]['cmdline']}): {failure}")
        seen = set(map(life_of, self.reader.ended.values()))
        wrong += [f"process {life}, which was killed, was never seen" for life in self.churn.killed - seen]
        check(not wrong, f"{len(wrong)} of {len(self.churn.books)}:", "\n".join(wrong[:5]))
        print(f"# {len(self.churn.books)} books, {len(self.churn.killed)} killed", flush=True)

    def repeated(self):
        """no process is shown again after its end"""
        check(self.reader, "no lines")
        equal(self.reader.repeated, 0, "processes that were shown again")


def main():
    soak = Soak(float(sys.argv[1]) if len(sys.argv) > 1 else 300.0)
    lib.main(soak.run, soak.losses, soak.growth, soak.processes, soak.repeated)


if __name__ == "__main__":
    main()
