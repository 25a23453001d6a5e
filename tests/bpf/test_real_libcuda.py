#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A real libcuda without a GPU (Debian's libcuda1, driver 535): every probe attaches, fires, and detaches clean."""
import ctypes
import json
import os
import re
import signal
import subprocess
import sys

import lib
from lib import Process, Tool, check, equal

HERE = os.path.dirname(os.path.abspath(__file__))
SYS_BPF = 280 if os.uname().machine == "aarch64" else 321
BPF_ENABLE_STATS = 32
ENDBR64 = b"\xf3\x0f\x1e\xfa"


def library():
    return lib.packaged("real-libcuda", "non-free", "libcuda.so.[0-9][0-9]*", "libcuda1")


def rows():
    listed = subprocess.run([lib.TOOL, "list", "--json"], capture_output=True, text=True, check=True).stdout
    return json.loads(listed)["probes"]


def count_runs():
    """From now on the kernel counts how often each program runs, until the descriptor is closed."""
    attr = (ctypes.c_uint32 * 32)()     # BPF_STATS_RUN_TIME is 0
    fd = ctypes.CDLL(None).syscall(SYS_BPF, BPF_ENABLE_STATS, ctypes.byref(attr), ctypes.sizeof(attr))
    check(fd >= 0, "BPF_ENABLE_STATS failed")
    return fd


def runs(pid):
    """How often the tool's uprobe programs have run."""
    seen = {}
    for fd in os.listdir(f"/proc/{pid}/fdinfo"):
        try:
            with open(f"/proc/{pid}/fdinfo/{fd}", encoding="ascii") as file:
                text = file.read()
        except OSError:
            continue
        kind, number, count = (re.search(rf"^{k}:\t(\d+)", text, re.M) for k in ("prog_type", "prog_id", "run_cnt"))
        if kind and int(kind.group(1)) == 2 and count:      # BPF_PROG_TYPE_KPROBE: uprobes too
            seen[number.group(1)] = int(count.group(1))
    return sum(seen.values())


def code(pid, path):
    """Where the library's code is mapped, and its bytes."""
    with open(f"/proc/{pid}/maps", encoding="ascii", errors="replace") as file:
        line = [l for l in file if path in l and " r-xp " in l][0]
    start, end = (int(x, 16) for x in line.split()[0].split("-"))
    with open(f"/proc/{pid}/mem", "rb") as file:
        file.seek(start)
        return start, file.read(end - start)


def caller(path):
    target = Process([sys.executable, HERE + "/call_libcuda.py", path])
    target.wait_line(lambda: target.out, "the library to be opened")
    return target


def ask(target, symbol):
    seen = len(target.out)
    target.line(symbol + "\n")
    target.wait_line(lambda: len(target.out) > seen, symbol)
    return target.out[seen].split()


def attaches():
    """every row that it exports is attached at its entry, behind endbr64 if it has one, and detached clean"""
    path = lib.unknown_copy(library())
    target = caller(path)
    start, before = code(target.pid, path)
    tool = Tool("-p", str(target.pid), "--libcuda", path).ready()
    _, during = code(target.pid, path)
    tool.send(signal.SIGINT)
    report = tool.report()
    equal(report["exit_status"], 3, "the exit status: no call was made yet")
    check(lib.until(lambda: code(target.pid, path)[1] == before), "the code is not as it was after detach")
    answers = [ask(target, row["symbol"]) for row in rows()]
    entries = {int(a[3]) - start for a in answers if a[1] != "absent"}
    moved = {e for e in entries if before[e:e + 4] == ENDBR64}
    check(len(entries) > 100, "only", len(entries), "rows are exported")
    probed = [l for l in report["libraries"] if l["path"].endswith(os.path.basename(path))]
    equal([(l["probes"], l["absent"], l["behind_endbr64"]) for l in probed],
          [(len(entries), len(rows()) - len(entries), len(moved))], "probes, absent, behind endbr64")
    changed = {i for i, (a, b) in enumerate(zip(before, during)) if a != b}
    equal(changed, {e + 4 if e in moved else e for e in entries}, "places of the breakpoints")
    check(all(during[i] == 0xcc for i in changed), "not breakpoints")


def fires():
    """each fires, at entry and, but for those without a return probe, at return, through cuGetProcAddress's pointer; failed allocations are recorded"""
    path = library()
    target = caller(path)
    tool = Tool("-p", str(target.pid)).ready()
    stats = count_runs()
    wrong, pointers = [], 0
    try:
        for row in rows():
            before = runs(tool.pid)
            answer = ask(target, row["symbol"])
            if answer[1] == "absent":
                continue
            fired = runs(tool.pid) - before
            pointers += answer[2] == "proc"
            if fired < (1 if "no_return" in row["flags"] else 2):
                wrong.append(f"{row['symbol']} (result {answer[1]}): {fired} runs")
            if answer[1] == "0":
                wrong.append(f"{row['symbol']} succeeds without a GPU")
    finally:
        os.close(stats)
    check(not wrong, "; ".join(wrong))
    check(pointers > 100, f"only {pointers} pointers come from cuGetProcAddress")
    report = lib.settled(tool, target.pid)
    process = lib.process_of(report, target.pid)
    failed = {name: c["failed"] for name, c in process["classes"].items() if c["failed"]}
    for name in "device", "pool", "vmm", "array", "pinned", "registered", "managed":
        check(failed.get(name), f"no failed {name} allocation:", failed)
    equal(sum(c["live_bytes"] + c["allocs"] for c in process["classes"].values()), 0, "live bytes and allocations")
    equal(process["anomalies"]["undo_unknown"], 0, "failed frees that could not be taken back")
    equal(sum(report["losses"].values()), 0, "losses")


if __name__ == "__main__":
    lib.main(attaches, fires)
