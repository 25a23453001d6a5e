#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The files of a recording of a million events: their time, beside that of the report alone, and their memory, which does not
grow with the events. Times are the processor's, so that they hold on a busy machine."""
import os
import sqlite3
import subprocess
import sys
import tempfile

from cases import BIN, PATIENCE, check, done

BENCH = os.path.join(os.path.dirname(BIN), "tests/bench/page_bench")
FEW, MANY = 250_000, 1_000_000
FILES = ("sqlite", "perfetto-trace", "pb.gz", "html")
TIMES, MIB, GROWTH_MIB = 12, 128, 8      # measured: 5 times, 25 MiB, 1 MiB


def cost(folder, recording, suffix=None):
    """(seconds, MiB, path) of a report that writes a file."""
    to = os.path.join(folder, f"{os.path.basename(recording)}.{suffix}")
    with subprocess.Popen([BIN, "report", "-q", *(["-o", to] if suffix else []), recording], stdout=subprocess.DEVNULL) as child:
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = status
    assert not status, (suffix, status)
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, to


def whole(path):
    """What is wrong with the database of all events."""
    with sqlite3.connect(path) as db:
        blocks, = db.execute("SELECT count(*) FROM block").fetchone()
        yield from [f"{blocks} blocks"] * (blocks < MANY // 4)
        yield from [text for text, in db.execute("PRAGMA integrity_check") if text != "ok"]
        yield from (f"{kind} {number}: {got}, not {wanted}" for kind, number, got, wanted in db.execute(
            "SELECT kind, m.id, coalesce((SELECT sum(a.bytes) FROM allocation a WHERE place = 'gpu' AND a.process = m.process AND"
            " a.gpu = m.gpu AND birth <= m.change AND (death IS NULL OR death > m.change)), 0) AS got, m.bytes"
            " FROM moment m WHERE kind <> 'iteration' AND got <> m.bytes"))


def main():
    with tempfile.TemporaryDirectory(prefix="gmt-large-") as folder:
        few, many = (os.path.join(folder, name) for name in ("few.gmt", "many.gmt"))
        for path, events in ((few, FEW), (many, MANY)):
            subprocess.run([BENCH, path, str(events)], stdout=subprocess.DEVNULL, timeout=PATIENCE, check=True)
        alone, _, _ = cost(folder, many)
        for suffix in FILES:
            _, before, _ = cost(folder, few, suffix)
            seconds, mib, to = cost(folder, many, suffix)
            print(f"# {suffix}: {seconds:.2f} s, the report alone {alone:.2f} s; {mib:.0f} MiB, of a quarter of the events"
                  f" {before:.0f} MiB; {os.path.getsize(to) / 1e6:.1f} MB")
            check(f"{suffix}: at most {TIMES} times the report's time", seconds < TIMES * max(alone, 0.1), (seconds, alone))
            check(f"{suffix}: its memory does not grow with the events", mib < MIB and mib < before + GROWTH_MIB, (before, mib))
            if suffix == "sqlite":
                wrong = list(whole(to))
                check("the database has each event", not wrong, "\n".join(wrong[:5]))
    return done()


if __name__ == "__main__":
    sys.exit(main())
