#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Every output of one run says what the ledger says: at the peak, the end, marks, failed requests, ends of iterations, and at
ten random instants. The ledger's numbers of an instant are a report of the records until then."""
import collections
import json
import os
import random
import sqlite3
import struct
import subprocess
import sys
import tempfile

from cases import BIN, PATIENCE, TOP, check, done, skip

sys.path[:0] = [os.path.join(TOP, "tests"), os.path.join(TOP, "tests", "recordings")]
import perfettolib  # noqa: E402
import pproflib  # noqa: E402
import recfile  # noqa: E402
import vizlib  # noqa: E402
from test_html import data_of, frames_of  # noqa: E402
from test_perfetto import named  # noqa: E402

# A training with a leak; one that runs out of memory; several GPUs and processes; marks; blocks from before the attach.
RECORDINGS = [os.path.join(TOP, "tests/data", name) for name in (
    "found/h200-logits.gmt", "kept/train-oom.gmt", "kept/old-driver.gmt", "kept/calls.gmt", "kept/cut.gmt", "kept/torch-late.gmt",
    "kept/synthetic.gmt")]
SUFFIXES = ("html", "sqlite", "pb.gz", "perfetto-trace", "folded", "pickle")
INSTANTS, OF_A_KIND = 10, 6
ALIVE = ("SELECT {0} FROM {1} t JOIN gpu g ON g.id = t.gpu WHERE process = ? AND birth_ns <= ? AND"
         " (death_ns IS NULL OR death_ns > ?){2}")
SERIES = {"allocated": ("calls", "allocation", " AND place = 'gpu'"), "tensors": ("blocks", "block", "")}
# What page and trace know exactly, for the process that the moment is of.
EXACT = {"peak": {"page, allocated", "trace, allocated"},
         "mark": {"page, allocated", "trace, allocated", "page, tensors", "trace, tensors"},
         "iteration": {"page, tensors", "trace, tensors"}}
EXACT["request"] = EXACT["window"] = EXACT["mark"]


def report(*words):
    said = subprocess.run([BIN, "report", "-q", "--json", "--top", "100000", *words], capture_output=True, timeout=PATIENCE, check=True)
    return json.loads(said.stdout.splitlines()[-1])


def times_of(process):
    """The time of the attach tells processes of one pid apart."""
    return process["pid"], process["attached_at"]["monotonic_ns"]


class Run:
    """A recording and all its outputs, which one report writes."""

    def __init__(self, folder, path):
        self.name, self.folder = os.path.basename(path), folder
        self.files = {suffix: os.path.join(folder, f"{self.name}.{suffix}") for suffix in SUFFIXES}
        self.view = report(*(word for to in self.files.values() for word in ("-o", to)), path)
        self.records = list(recfile.read(path))
        self.times = [struct.unpack_from("<Q", record, 16)[0] for record in self.records]
        self.page, self.db = data_of(self.files["html"]), sqlite3.connect(self.files["sqlite"])
        self.trace = perfettolib.Trace(self.files["perfetto-trace"])
        self.start = self.page["start_ns"]
        self.numbers, self.rows = self.numbers_of(), {}
        for (process, rows, _), shown in zip(named(self.view), self.page["processes"]):
            for (name, gpu), row in zip(rows, shown["rows"]):
                for what, (series, *_) in SERIES.items():
                    if row[series] and not (row["is_bare"] and series == "calls"):
                        self.rows[times_of(process), gpu["uuid"], what] = (name, row[series], frames_of(row[series]))

    def numbers_of(self):
        """The database's number of each process of the report."""
        return {(pid, attach): number for number, pid, attach in self.db.execute("SELECT id, pid, attach_ns FROM process")}

    # ---- the ledger ----

    def is_between(self, ts):
        """Whether the records until a time are the first ones of the recording, so that they can be cut off."""
        cut = sum(t <= ts for t in self.times)
        return 0 < cut and max(self.times[:cut]) <= ts < min(self.times[cut:], default=ts + 1)

    def ledger(self, ts):
        """{(process, GPU, what): bytes} of the processes that live at a time."""
        part, found = os.path.join(self.folder, "part.gmt"), {}
        recfile.write(part, self.records[:sum(t <= ts for t in self.times)])
        for process in report(part)["processes"]:
            for gpu in process["gpus"] if not process["exited"] else ():
                found[times_of(process), gpu["uuid"], "allocated"] = gpu["attributed"]["live_bytes"]
                if gpu["torch"]:
                    found[times_of(process), gpu["uuid"], "tensors"] = gpu["torch"]["stacks"]["live_bytes"]
        return {key: live for key, live in found.items() if live}

    # ---- the outputs ----

    def in_database(self, ts):
        found = {}
        for process, number in self.numbers.items():
            for what, (_, table, where) in SERIES.items():
                asked = ALIVE.format("uuid, sum(t.bytes)", table, where) + " GROUP BY t.gpu"
                found |= {(process, uuid, what): live for uuid, live in self.db.execute(asked, (number, ts, ts)) if live}
        return found

    def on_page(self, key, ts):
        """(least, most, the newest moment) of the page at a time."""
        frames, at = self.rows[key][2], ts - self.start
        now = next((frame for frame in reversed(frames) if frame[0] <= at), None)
        later = next((frame for frame in frames if frame[0] > at), None)
        point = now[3] if now else 0
        return (*later[4:6], point) if later and not (now and now[0] == at) else (point, point, point)

    def has_frame(self, ts, process):
        return any(frame[0] == ts - self.start and frame[1] for key, (*_, frames) in self.rows.items()
                   if self.numbers[key[0]] == process for frame in frames)

    def in_trace(self, key, ts):
        """(least, most, the newest point) of the trace at a time."""
        (pid, _), name = key[0], f"{self.rows[key][0]} {key[2]}"
        now = self.trace.at((pid, name), ts) or 0
        least, most = (self.trace.at((pid, f"{name}, at {word}, until the next point"), ts) for word in ("least", "most"))
        later = [value for at, value in self.trace.counters[pid, name] if at > ts][:1]
        return (min([now, *later]), max([now, *later]), now) if least is None else (least, most, now)

    def wrong_at(self, ts, exact=(), process=None, uuid=None):
        """Outputs that do not say what the ledger says at a time."""
        ledger = self.ledger(ts)
        if self.in_database(ts) != ledger:
            yield f"{self.name} at {ts}, database: {self.in_database(ts)}, not {ledger}"
        for key, what, (least, most, point) in ((key, what, look(key, ts)) for key in self.rows
                                                for what, look in (("page", self.on_page), ("trace", self.in_trace))):
            if self.numbers[key[0]] == process and uuid in (None, key[1]) and f"{what}, {key[2]}" in exact:
                least = most = point
            if not least <= ledger.get(key, 0) <= most:
                yield f"{self.name} at {ts}, {what}, {key}: {least} to {most}, not {ledger.get(key, 0)}"


# ---- moments ----

def moments(run, rng):
    """(kind, (time, process, GPU)) of some moments of each kind; but for peaks, a moment is that of all GPUs. An iteration has
    ended before the change that shows its end."""
    by_kind = collections.defaultdict(set)
    for kind, ts, process, uuid in run.db.execute(
            "SELECT kind, ts_ns, process, uuid FROM moment JOIN gpu g ON g.id = gpu WHERE kind <> 'end'"):
        by_kind[kind].add((ts - (kind == "iteration"), process, uuid if kind == "peak" else None))
    for kind, found in sorted(by_kind.items()):     # at the end processes give memory back: see at_end()
        clean = sorted((moment for moment in found if run.is_between(moment[0])), key=str)
        yield from ((kind, moment) for moment in rng.sample(clean, min(OF_A_KIND, len(clean))))


def at_moments(runs):
    rng, wrong, seen = random.Random(1), [], collections.Counter()
    for run in runs:
        for kind, (ts, *whose) in moments(run, rng):
            wrong += [f"{kind}: {text}" for text in run.wrong_at(ts, EXACT[kind], *whose)]
            if kind in ("window", "request", "iteration") and not run.has_frame(ts, whose[0]):
                wrong.append(f"{kind}: {run.name} at {ts}: the page has no moment")
            seen[kind] += 1
    print(f"# {dict(seen)}")
    check("at the peak, marks, failed requests and ends of iterations, outputs say what the ledger says",
          not wrong and set(seen) >= {"peak", "mark", "request", "iteration"}, "\n".join(wrong[:8]) + f"\n{len(wrong)}")


def at_instants(runs):
    rng, wrong, count = random.Random(2), [], 0
    for run in runs:
        first, last = min(run.times), max(run.times)
        for ts in [ts for ts in (rng.randrange(first, last) for _ in range(4 * INSTANTS)) if run.is_between(ts)][:INSTANTS]:
            wrong += run.wrong_at(ts)
            count += 1
    print(f"# {count} instants")
    check("at random instants the database is exact, and page and trace lie within their bounds", not wrong and
          count >= 5 * len(runs), "\n".join(wrong[:8]) + f"\n{len(wrong)}")


# ---- the end and the peak ----

def end_of(frames):
    """What the page says last before memory goes with the process."""
    return next((f[3] for f in reversed(frames) if f[3]), 0)


def wrong_ends(run):
    at_end = {(process, uuid): numbers for process, uuid, *numbers in ends_in_database(run)}
    for process, rows, _ in named(run.view):
        for name, gpu in rows:
            for what, level in (("allocated", gpu["attributed"]), ("tensors", (gpu["torch"] or {}).get("stacks"))):
                key, live, peak = (times_of(process), gpu["uuid"], what), level and level["live_bytes"], level and level["peak_bytes"]
                if key not in run.rows or not peak:
                    continue
                at, counter = level["peak_at"]["monotonic_ns"], (process["pid"], f"{name} {what}")
                numbers = {"database": at_end[key[:2]] if what == "allocated" else [live, peak],
                           "page": [end_of(run.rows[key][2]) if live else 0, run.rows[key][1]["peak"]],
                           "trace": [live, run.trace.at(counter, at)]}
                yield from (f"{run.name}, {output}, {key}: {got}, not {[live, peak]}"
                            for output, got in numbers.items() if got != [live, peak])


def ends_in_database(run):
    by_number = {number: process for process, number in run.numbers.items()}
    found = collections.defaultdict(dict)
    for kind, number, uuid, live in run.db.execute(
            "SELECT kind, process, uuid, m.bytes FROM moment m JOIN gpu g ON g.id = gpu WHERE kind IN ('end', 'peak')"):
        found[by_number[number], uuid][kind] = live
    return [(*key, kinds.get("end", 0), kinds.get("peak", 0)) for key, kinds in found.items()]


def by_stack(run):
    """(what, live, at the peak) of all memory by stack trace: by the report, the trace, and the profile."""
    gpus = [gpu for process in run.view["processes"] for gpu in process["gpus"]]
    blocks = [gpu["torch"]["stacks"] for gpu in gpus if gpu["torch"]]
    samples = pproflib.decode(run.files["pb.gz"])["samples"]
    heaps = [(name, heap) for (_, name), (_, heap) in run.trace.heaps.items() if " tensors" in name]
    yield "tensors of the report", sum(b["live_bytes"] for b in blocks), sum(b["peak_bytes"] for b in blocks)
    yield ("tensors of the profile", *(sum(s["values"][kind] for s in samples if s["labels"]["kind"] == "buffer")
                                       for kind in ("inuse_space", "peak_space")))
    yield ("tensors of the trace", sum(s.allocated - s.freed for _, heap in heaps for s in heap),
           sum(s.at_peak for _, heap in heaps for s in heap))


def with_stacks(gpu):
    return gpu["torch"] and any(owner["owner"] != "(without a stack)" for owner in gpu["torch"]["stacks"]["owners"])


def wrong_stacks(run):
    if any(with_stacks(gpu) for process in run.view["processes"] for gpu in process["gpus"]):
        (_, *wanted), *others = by_stack(run)
        yield from (f"{run.name}, {what}: {got}, not {wanted}" for what, *got in others if got != wanted)
    profile = pproflib.totals(pproflib.decode(run.files["pb.gz"]))["inuse_space"]
    with open(run.files["folded"], encoding="utf-8") as file:
        folded = sum(int(line.rpartition(" ")[2]) for line in file)
    if profile != folded:
        yield f"{run.name}: {profile} in the profile, {folded} in folded stacks"


def pickles(run):
    """The snapshots: of one process it has the name that was given, else each has its own."""
    stem = run.files["pickle"][:-len("pickle")]
    for process in run.view["processes"]:
        for path in (run.files["pickle"], f"{stem}{process['pid']}.pickle"):
            if os.path.exists(path) and sum(p["pid"] == process["pid"] for p in run.view["processes"]) == 1:
                yield process, vizlib.load(path)
                break


def wrong_pickles(run, seen):
    """What lives in a snapshot are the blocks, and the memory around them, of the database; but not handles, which are
    nowhere until they are mapped. In the synthetic recording blocks lie in no memory."""
    for process, snapshot in pickles(run) if run.name != "synthetic.gmt" else ():
        got = sum(block["size"] for segment in snapshot["segments"] for block in segment["blocks"]
                  if block["state"] == "active_allocated")
        at, number = (process["exited_at"] or run.view["at"])["monotonic_ns"] - process["exited"], run.numbers[times_of(process)]
        has_handles, = run.db.execute("SELECT count(*) FROM allocation WHERE process = ? AND class = 'vmm'", (number,)).fetchone()
        blocks, others = (run.db.execute(ALIVE.format("coalesce(sum(t.bytes), 0)", table, where), (number, at, at)).fetchone()[0]
                          for table, where in (("block", ""), ("allocation", " AND address NOT NULL AND NOT is_segment AND"
                                                               " (place = 'gpu' OR class = 'imported')")))
        seen["pickles"] += not has_handles
        if not has_handles and got != blocks + others:
            yield f"{run.name}, {process['pid']}: {got} in the snapshot, {blocks} and {others} in the database"


def at_end(runs):
    wrong, seen = [], collections.Counter()
    for run in runs:
        wrong += [*wrong_ends(run), *wrong_stacks(run), *wrong_pickles(run, seen)]
        seen["rows"] += len(run.rows)
    print(f"# {dict(seen)}")
    check("at the end and at the peak, outputs say what the report says", not wrong and seen["rows"] > 20 and seen["pickles"] > 10,
          "\n".join(wrong[:12]) + f"\n{len(wrong)}")


def main():
    try:
        perfettolib.descriptors()
    except perfettolib.Unavailable as why:
        skip("all outputs", why)
        return done()
    with tempfile.TemporaryDirectory(prefix="gmt-outputs-") as folder:
        runs = [Run(folder, path) for path in RECORDINGS]
        at_end(runs)
        at_moments(runs)
        at_instants(runs)
    return done()


if __name__ == "__main__":
    sys.exit(main())
