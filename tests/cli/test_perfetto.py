#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Traces for Perfetto: of each recording in tests/data the counters, slices and heap samples are the report's, decoded with
Perfetto's published descriptors; and by trace_processor where there is one."""
import collections
import glob
import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile

from cases import BIN, PATIENCE, TOP, check, done, skip

sys.path[:0] = [os.path.join(TOP, "tests"), os.path.join(TOP, "tests", "recordings")]
import perfettolib  # noqa: E402
import phaselib  # noqa: E402
import recfile  # noqa: E402
from foreign import first_bad, spoiled  # noqa: E402

DATA = sorted(glob.glob(os.path.join(TOP, "tests/data/**/*.gmt"), recursive=True))
LARGE = os.path.join(TOP, "tests/data/found/h200-logits.gmt")
FOLDERS = os.path.join(TOP, "tests/data/kept/train-oom.gmt")
with open(os.path.join(TOP, "include/gpumemtrace/terms.h"), encoding="utf-8") as terms:
    CATEGORIES = dict(re.findall(r'X\(\w+, \d+, "(\w+)", +"([^"]+)"',
                                 terms.read().split("define GMT_CATEGORIES(X)")[1].split("#define")[0]))
def report(*words):
    return subprocess.run([BIN, "report", "-q", *words], capture_output=True, timeout=PATIENCE, check=False,
                          env={**os.environ, "LC_ALL": "C"})


def trace_of(folder, path, *options):
    to = os.path.join(folder, os.path.basename(path) + ".perfetto-trace")
    said = report(*options, "-o", to, path)
    assert not said.returncode, said.stderr
    return to


# ---- names, as traces have them ----

def gpu_name(view, row):
    if row["gpu"] is None:
        return f"GPU {row['uuid'].split('-')[1][:4] if row['uuid'] else '?'}"
    gpu = next(g for g in view["gpus"] if g["uuid"] == row["uuid"])
    return f"GPU {gpu['mig']['parent_index']}:{gpu['index']}" if gpu["mig"] else f"GPU {gpu['index']}"


def named(view):
    """(process, its rows with their names, the name of its host's heap): processes of one pid are told apart."""
    lives = collections.Counter()
    for process in view["processes"]:
        pid = process["pid"]
        lives[pid] += 1
        more = f" (process {lives[pid]} of this pid)" if lives[pid] > 1 else ""
        yield process, [(gpu_name(view, row) + more, row) for row in process["gpus"]], "host" + more


# ---- counters ----

class Counters:
    """Compares counters of a trace with the levels of a report."""

    def __init__(self, trace, process):
        self.trace, self.process, self.wrong = trace, process, []

    def say(self, name, what, got, wanted):
        if got != wanted:
            self.wrong.append(f"pid {self.process['pid']}, {name}, {what}: {got}, not {wanted}")

    def end(self, key):
        """What a counter says last, before memory goes with the process."""
        exited = self.process["exited_at"]["monotonic_ns"] if self.process["exited"] else None
        values = [value for ts, value in self.trace.counters.get(key, []) if exited is None or ts < exited or value]
        return values[-1] if values else 0

    def level(self, name, level):
        """Memory whose GPU became known late was another GPU's for a moment, of which the peak there says nothing."""
        key, at = (self.process["pid"], name), level["peak_at"]
        if len(self.process["gpus"]) == 1 or level["peak_bytes"]:
            since = self.process["window_start"]["monotonic_ns"]
            self.say(name, "highest", self.trace.highest(key, since), level["peak_bytes"])
        if level["peak_bytes"]:
            self.say(name, "at the peak", self.trace.at(key, at["monotonic_ns"]), level["peak_bytes"])
        self.say(name, "at the end", self.end(key), level["live_bytes"])

    def categories(self, name, torch):
        at_peak = torch["stacks"]["peak_at"]
        for category in torch["categories"]:
            key = (self.process["pid"], f"{name} tensors: {CATEGORIES[category['category']]}")
            if at_peak and category["at_peak_bytes"]:
                got = self.trace.at(key, at_peak["monotonic_ns"])
                self.say(key[1], "at the peak", got, category["at_peak_bytes"])
            if not self.process["exited"]:
                self.say(key[1], "at the end", self.end(key), category["live_bytes"])

    def row(self, name, gpu):
        pid = self.process["pid"]
        self.level(f"{name} allocated", gpu["attributed"])
        if (pid, f"{name} by the kernel driver") in self.trace.counters:
            self.level(f"{name} by the kernel driver", gpu["physical"])
        if (pid, f"{name} by NVML") in self.trace.counters:
            self.say(name, "NVML", self.end((pid, f"{name} by NVML")), gpu["nvml"]["used_bytes"])
        if gpu["torch"] and (pid, f"{name} tensors") in self.trace.counters:
            self.level(f"{name} tensors", gpu["torch"]["stacks"])
            self.level(f"{name} reserved by the framework", gpu["torch"]["reserved"])
            self.categories(name, gpu["torch"])


def wrong_bounds(trace):
    """Sums that leave what the trace says they lie within."""
    for (pid, name), events in trace.counters.items():
        least, most = ((pid, f"{name}, at {word}, until the next point") for word in ("least", "most"))
        for ts, value in events if least in trace.counters else ():
            if not trace.at(least, ts) <= value <= trace.at(most, ts):
                yield f"pid {pid}, {name}: {value} at {ts} is not within {trace.at(least, ts)} and {trace.at(most, ts)}"


# ---- heaps ----

def rows_of(stacks):
    """Each row once: a row is in the list of each order in which it is not 0."""
    return {json.dumps(row["stack"]): row for rows in stacks["top"].values() for row in rows}.values()


def wrong_heap(trace, pid, name, stacks):
    rows, nothing = rows_of(stacks), (0, [])
    if not rows:
        return
    end, peak = trace.heaps.get((pid, name), nothing), trace.heaps.get((pid, f"{name} at peak"), nothing)
    for what, got, wanted in (
            ("live", [s.allocated - s.freed for s in end[1]], [row["live_bytes"] for row in rows]),
            ("at the peak", [s.at_peak for s in peak[1]], [row["at_peak_bytes"] for row in rows]),
            ("allocated", [s.allocated for s in end[1]], [max(row["alloc_bytes"], row["live_bytes"]) for row in rows]),
            ("count", [s.allocs - s.frees for s in end[1]], [row["live_count"] for row in rows])):
        if sorted(filter(None, got)) != sorted(filter(None, wanted)):
            yield f"pid {pid}, heap {name}, {what}: {sum(got)}, not {sum(wanted)}"
    if stacks["peak_at"] and peak[0] != stacks["peak_at"]["monotonic_ns"]:
        yield f"pid {pid}, heap {name}: the peak is at {peak[0]}, not {stacks['peak_at']}"
    if (sum(s.at_peak for s in peak[1]), sum(s.allocated - s.freed for s in end[1])) != (stacks["peak_bytes"], stacks["live_bytes"]):
        yield f"pid {pid}, heap {name}: its sums are not {stacks['peak_bytes']} and {stacks['live_bytes']}"


def wrong_heaps(trace, view):
    for process, rows, host in named(view):
        yield from wrong_heap(trace, process["pid"], host, process["host_stacks"])
        for name, gpu in rows:
            yield from wrong_heap(trace, process["pid"], name, gpu["stacks"])
            if gpu["torch"]:
                yield from wrong_heap(trace, process["pid"], f"{name} tensors", gpu["torch"]["stacks"])


# ---- slices ----

def moments(folder, path, kind):
    """{pid: times} of the moments in the database of a recording."""
    to = os.path.join(folder, "moments.sqlite")
    if not os.path.exists(to + path.replace("/", "_")):
        said = report("--sqlite", to, path)
        assert not said.returncode, said.stderr
    with sqlite3.connect(to) as db:
        found = collections.defaultdict(set)
        for pid, ts in db.execute("SELECT pid, ts_ns FROM moment JOIN process p ON p.id = process WHERE kind = ?", (kind,)):
            found[pid].add(ts)
    return found


def wrong_slices(folder, path, trace):
    """Iterations and failed requests that are not those of the database, where each has a frame of its own."""
    for pid, wanted in moments(folder, path, "iteration").items():
        # An iteration has ended before the change that shows this.
        ends = {end + 1 for (p, name), slices in trace.slices.items() if p == pid and name.endswith(" iterations")
                for _, end, _ in slices}
        if ends != wanted:
            yield f"pid {pid}: iterations end at {sorted(ends ^ wanted)[:5]} in one of both"
    for pid, wanted in moments(folder, path, "request").items():
        got = {ts for (p, _), instants in trace.instants.items() if p == pid for ts, _ in instants}
        if got != wanted:
            yield f"pid {pid}: requests failed at {sorted(got ^ wanted)[:5]} in one of both"


def wrong_phases(path, trace):
    """Steps are slices from the begin to the end of their range, backwards begin with their call, no slice overlaps."""
    ranges, backwards = phaselib.ranges_of(path, trace.clocks[perfettolib.MONOTONIC])
    for (pid, name), slices in trace.slices.items():
        if not name.endswith(" phases"):
            continue
        if any(before[1] > after[0] for before, after in zip(slices, slices[1:])):
            yield f"pid {pid}, {name}: slices overlap"
        for begin, end, phase in slices:
            if phase in phaselib.PHASES.values() and (phase, begin, end) not in ranges[pid] and end != slices[-1][1]:
                yield f"pid {pid}, {name}: no {phase} from {begin} to {end}"
            if phase == "backward" and begin not in backwards[pid]:
                yield f"pid {pid}, {name}: no backward begins at {begin}"
        lacking = {one for one in ranges[pid] if one[0] and one[1] > slices[0][0]} - {(p, b, e) for b, e, p in slices}
        if lacking and sum(key[0] == pid and key[1].endswith(" phases") for key in trace.slices) == 1:
            yield f"pid {pid}, {name}: without {sorted(lacking)[:3]}"


def wrong_clocks(view, trace):
    at = view["at"]
    start = at["monotonic_ns"] - at["offset_ns"]
    if (trace.clocks[perfettolib.MONOTONIC], trace.clocks[perfettolib.MONOTONIC_COARSE]) != (start, start):
        yield f"clocks: {trace.clocks}, not {start}"
    if at["unix_ns"] and trace.clocks.get(perfettolib.REALTIME) != at["unix_ns"] - at["offset_ns"]:
        yield f"the clock of day: {trace.clocks}, not {at}"


def differences(folder, path, trace):
    view = json.loads(report("--json", "--top", "100000", path).stdout.splitlines()[-1])
    for process, rows, _ in named(view):
        counters = Counters(trace, process)
        for name, gpu in rows:
            if (process["pid"], f"{name} allocated") in trace.counters:
                counters.row(name, gpu)
        yield from counters.wrong
    yield from wrong_bounds(trace)
    yield from wrong_heaps(trace, view)
    yield from wrong_slices(folder, path, trace)
    yield from wrong_phases(path, trace)
    yield from wrong_clocks(view, trace)


def recordings(folder):
    wrong, seen = [], collections.Counter()
    for path in DATA:
        trace = perfettolib.Trace(trace_of(folder, path))
        wrong += [f"{os.path.relpath(path, TOP)}: {text}" for text in differences(folder, path, trace)]
        seen["counters"] += sum(map(len, trace.counters.values()))
        seen["bounds"] += sum("at most" in name for _, name in trace.counters)
        seen["slices"] += sum(map(len, trace.slices.values()))
        seen["phases"] += sum(len(slices) for (_, name), slices in trace.slices.items() if name.endswith(" phases"))
        seen["instants"] += sum(map(len, trace.instants.values()))
        seen["reasons"] += sum(" failed: " in name for instants in trace.instants.values() for _, name in instants)
        seen["samples"] += sum(len(samples) for _, samples in trace.heaps.values())
    print(f"# {len(DATA)} recordings: {dict(seen)}")
    check(f"{len(DATA)} recordings: counters, slices and samples are the report's", not wrong and len(DATA) > 30,
          "\n".join(wrong[:12]) + f"\n{len(wrong)}")
    check("each kind of event is seen", all(seen.values()) and len(seen) == 7, seen)


# ---- by Perfetto's own reader ----

def in_processor(folder):
    if not perfettolib.processor():
        skip("trace_processor reads the same", "no trace_processor_shell is on the PATH: decoded with Perfetto's published"
             " descriptors")
        return
    to = trace_of(folder, LARGE)
    trace = perfettolib.Trace(to)
    wanted = sum(map(len, trace.counters.values()))
    check("trace_processor reads the counters", int(perfettolib.query(to, "SELECT count(*) FROM counter")[0]) == wanted, wanted)
    live = {name: sum(s.allocated - s.freed for s in samples) or None for (_, name), (_, samples) in trace.heaps.items()}
    rows = perfettolib.query(to, "SELECT heap_name || '=' || sum(size) FROM heap_profile_allocation GROUP BY heap_name")
    got = {name.strip('"'): int(size.strip('"')) for name, size in (row.split("=") for row in rows)}
    check("and the heaps", all(got.get(name, 0) == size for name, size in live.items() if size), (got, live))
    errors = perfettolib.query(to, "SELECT name, value FROM stats WHERE severity IN ('error', 'data_loss') AND value > 0")
    check("without an error", not errors, errors)


# ---- names that others choose ----

def texts_of(trace):
    yield from (name for _, name in trace.counters)
    yield from (text for names in trace.processes.values() for name, line in names for text in (name, *line))
    yield from (name for instants in trace.instants.values() for _, name in instants)
    yield from (name for slices in trace.slices.values() for *_, name in slices)
    for _, samples in trace.heaps.values():
        yield from (text for sample in samples for frame in sample.frames for text in frame[:3])


def hostile(folder):
    to = os.path.join(folder, "hostile.gmt")
    recfile.write(to, list(spoiled(recfile.read(LARGE), recfile.RAW_MAX)))
    texts = "\n".join(texts_of(perfettolib.Trace(trace_of(folder, to))))
    check("hostile names are there, without what a terminal obeys", "]0;x" in texts and not first_bad(texts.encode()), texts[:300])


def shared(folder):
    secret, plain = (perfettolib.Trace(trace_of(folder, FOLDERS, *options)) for options in (("--redact",), ()))
    found = [[text for text in texts_of(trace) if "/opt/" in text or "/usr/" in text or "torch_training.py oom" in text]
             for trace in (secret, plain)]
    check("--redact leaves no folder and no command line", not found[0] and len(found[1]) > 3, found[0][:3])
    found = [{text for text in texts_of(trace) if text.startswith("tests/standin/")} for trace in (secret, plain)]
    check("--redact leaves no folder of a relative path", not found[0] and found[1], found)
    check("and the same numbers", secret.counters == plain.counters and
          [(key, ts, [s[1:] for s in samples]) for key, (ts, samples) in secret.heaps.items()] ==
          [(key, ts, [s[1:] for s in samples]) for key, (ts, samples) in plain.heaps.items()])
    frames = {frame for _, samples in plain.heaps.values() for sample in samples for frame in sample.frames}
    check("frames have names, modules, files and lines", any(f.name and f.file.endswith(".py") and f.line for f in frames) and
          any(".so" in f.module for f in frames), list(frames)[:5])


# ---- the file ----

def files(folder):
    with open(trace_of(folder, LARGE), "rb") as file:
        first = file.read()
    said = report("--perfetto", "-", LARGE)
    check("--perfetto - is standard output, the same each time", not said.returncode and said.stdout == first, said.stderr)
    other = os.path.join(folder, "x.pftrace")
    said = report("-o", other, LARGE)
    with open(other, "rb") as file:
        check("-o x.pftrace writes a trace", not said.returncode and file.read() == first, said.stderr)
    said = report("-qq", "--perfetto", "/dev/full", LARGE)
    check("a full disk is an error", said.returncode == 1 and b"/dev/full: No space left" in said.stderr, said.stderr)
    empty, to = os.path.join(folder, "empty.gmt"), os.path.join(folder, "empty.perfetto-trace")
    recfile.write(empty, list(recfile.read(LARGE))[:1])
    said = subprocess.run([BIN, "report", "-o", to, empty], capture_output=True, timeout=PATIENCE, check=False)
    check("an empty trace says why", b"is empty: no process was traced" in said.stderr, said.stderr)
    check("... and can be read", not perfettolib.Trace(to).counters)


def main():
    with tempfile.TemporaryDirectory(prefix="gmt-perfetto-") as folder:
        try:
            perfettolib.descriptors()
        except perfettolib.Unavailable as why:
            skip("traces are decoded", why)
            return done()
        for test in (recordings, in_processor, hostile, shared, files):
            test(folder)
    return done()


if __name__ == "__main__":
    sys.exit(main())
