#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Tens of thousands of processes, alive or ended: a replay needs a bounded memory for each, and no sum is lost."""
import json
import os
import subprocess
import sys
import tempfile

import cases
from cases import check

sys.path.insert(1, os.path.join(cases.TOP, "tests/recordings"))
import synthetic  # noqa: E402

ALIVE = 10000
ENDED = 10000
KEPT = 1000                 # PROCESSES_ENDED of core/ledger/process.h
MOST_ALIVE = 12000          # bytes of memory for each process that is shown; 68,000 with a tree of JSON
MOST_ENDED = 200            # for each that is only in the sums
MIB = 1 << 20


def write(folder, name, count, ends, free):
    story = synthetic.Story("1.0")
    for pid in range(100000, 100000 + count):
        story.pid = pid
        story.call("cuMemAlloc_v2", synthetic.ALLOC, MIB)
        if free:
            story.call("cuMemFree_v2", synthetic.ALLOC)
        if ends:
            story.put("PROC_EXIT", exit_code=0)
    story.write(folder, name)
    return os.path.join(folder, name + ".gmt")


# A small process in between: what a program's parent takes counts for the program, too.
RUN = """import resource, subprocess, sys
status = subprocess.run(sys.argv[1:], check=False).returncode
print(status, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)"""


def replay(path, *options):
    """The report, and the greatest resident memory, in bytes."""
    done = subprocess.run([sys.executable, "-c", RUN, cases.BIN, "replay", *options, path], capture_output=True, check=True)
    status, most = map(int, done.stderr.split()[-2:])
    return status, done.stdout, most * 1024


def bounded(path):
    for command in ("report", "--json"), ("oom",), ("records",):
        done = subprocess.run([cases.BIN, *command, "--memory", "64M", path], capture_output=True, check=False)
        said = done.stderr.decode()
        fits = done.returncode == 0 and command[0] != "report"
        check(f"{command[0]} --memory: it fits, or one sentence says what to do", fits or
              (done.returncode, said.count("\n")) == (1, 1) and "more memory (--memory)" in said, (done.returncode, said))


def main():
    with tempfile.TemporaryDirectory() as folder:
        _, _, least = replay(write(folder, "few", 10, False, False), "--json")
        status, out, most = replay(write(folder, "alive", ALIVE, False, False), "--json")
        report = json.loads(out)
        each = (most - least) / ALIVE
        check("tens of thousands of processes are all in the report", len(report["processes"]) == ALIVE, status)
        check(f"each of them takes less than {MOST_ALIVE} bytes of memory", each < MOST_ALIVE, f"{each:.0f} bytes")
        print(f"# {each:.0f} bytes for a process")
        bounded(os.path.join(folder, "alive.gmt"))
        for name, free in (("ended", False), ("freed", True)):
            status, out, most = replay(write(folder, name, ENDED, True, free), "--json")
            report = json.loads(out)
            each = (most - least) / ENDED
            ended = report["ended_processes"]
            count = len(report["processes"]) + ended["count"]
            allocs = sum(p["classes"]["device"]["allocs"] for p in report["processes"] + [ended])
            frees = sum(p["classes"]["device"]["frees"] for p in report["processes"] + [ended])
            check(f"{name}: all are counted", (count, allocs, frees) == (ENDED, ENDED, ENDED * free),
                  (count, allocs, frees))
            check(f"{name}: the newest are shown one by one", [p["pid"] for p in report["processes"]] ==
                  list(range(100000 + ENDED - KEPT, 100000 + ENDED)), len(report["processes"]))
            check(f"{name}: each takes less than {MOST_ENDED} bytes", each < MOST_ENDED + MOST_ALIVE * KEPT / ENDED,
                  f"{each:.0f} bytes")
            print(f"# {each:.0f} bytes for a process")
            status, out, _ = replay(os.path.join(folder, name + ".gmt"), "--full")
            check(f"{name}: the report counts them", f"{ENDED - KEPT:,} more processes ".encode() in out, out[-600:])
    return cases.done()


if __name__ == "__main__":
    sys.exit(main())
