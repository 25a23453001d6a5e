#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Files that are written while a program runs: pprof, Perfetto's descriptors and SQLite read the statistics of a stand-in
libc10 in them."""
import os
import sqlite3
import sys

import lib
from c10lib import DEVICES, truth_of, whole_run
from lib import Skip, check, equal

sys.path.insert(0, os.path.join(lib.TOP, "tests"))
import perfettolib  # noqa: E402
import pproflib  # noqa: E402


def written():
    """(the beginning of the files' names, the program's pid, its own numbers): one run writes all files."""
    stem = os.path.join(lib.folder(), "run.")
    pid, out = whole_run(*(word for suffix in ("pb.gz", "perfetto-trace", "sqlite") for word in ("-o", stem + suffix)))
    return stem, pid, truth_of(out)


def in_pprof(path, truth):
    samples = pproflib.decode(path)["samples"]
    for kind, level in ("inuse_space", "live"), ("peak_space", "peak"):
        for device, gpu in DEVICES.items():
            found = sum(s["values"][kind] for s in samples if (s["labels"]["kind"], s["labels"].get("device")) ==
                        ("buffer", f"cuda:{device}"))
            equal(found, truth[gpu, f"allocated.{level}"], f"{kind} on cuda:{device}")
        said = pproflib.run(path, "-top", "-unit=B", f"-sample_index={kind}", "-nodecount=10000", "-nodefraction=0",
                            "-tagfocus=kind=buffer")
        check(f"accounting for {sum(truth[gpu, f'allocated.{level}'] for gpu in DEVICES.values())}B," in said, said)
    said = pproflib.run(path, "-top", "-sample_index=alloc_space", "-nodecount=10000", "-nodefraction=0")
    check("reportMemoryUsageToProfiler" in said, "no function's name", said)


def in_perfetto(path, pid, truth):
    trace = perfettolib.Trace(path)
    counters = {name: events for (of, name), events in trace.counters.items() if of == pid}
    for level, found in (("allocated.live", [events[-1][1] for name, events in counters.items() if name.endswith(" tensors")]),
                         ("allocated.peak", [max(v for _, v in e) for name, e in counters.items() if name.endswith(" tensors")]),
                         ("reserved.live", [e[-1][1] for name, e in counters.items() if name.endswith(" reserved by the framework")])):
        equal(sorted(found), sorted(truth[gpu, level] for gpu in DEVICES.values()), level)
    for level, ending in ("allocated.peak", " tensors at peak"), ("allocated.live", " tensors"):
        sums = [sum(s.at_peak or s.allocated - s.freed for s in samples) for (_, name), (_, samples) in trace.heaps.items()
                if name.endswith(ending)]
        equal(sorted(sums), sorted(truth[gpu, level] for gpu in DEVICES.values()), f"samples: {level}")
    names = {frame.name for _, samples in trace.heaps.values() for sample in samples for frame in sample.frames}
    check(any("reportMemoryUsageToProfiler" in name for name in names), names)


def in_sqlite(path, truth):
    with sqlite3.connect(path) as db:
        for device, gpu in DEVICES.items():
            live, = db.execute("SELECT coalesce(sum(bytes), 0) FROM block WHERE device = ? AND death IS NULL", (device,)).fetchone()
            equal(live, truth[gpu, "allocated.live"], f"blocks on device {device}")


def files():
    """pprof, Perfetto's descriptors and SQLite read the allocator's own numbers, at the peak and at the end"""
    stem, pid, truth = written()
    in_sqlite(stem + "sqlite", truth)
    try:
        in_perfetto(stem + "perfetto-trace", pid, truth)
        in_pprof(stem + "pb.gz", truth)
    except (perfettolib.Unavailable, pproflib.Unavailable) as why:
        raise Skip(str(why)) from None


if __name__ == "__main__":
    lib.main(files)
