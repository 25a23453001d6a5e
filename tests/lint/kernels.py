#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""tests/kernels.sh, tested without a kernel: which console lines are faults, that a guest which dies has failed, which
kernel is newest."""
import contextlib
import io
import os
import sys

from tap import TOP, Tap

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(TOP, "tests/kernels"))
import machine  # noqa: E402
import packages  # noqa: E402
import run  # noqa: E402
import table  # noqa: E402

sys.path.insert(0, os.path.join(TOP, "tests/kernels/guest"))
import suite  # noqa: E402

BOOT = "[    1.0] WARNING: something while it boots\n[    9.1] " + machine.BEGIN + "\n"
BAD = ("[   12.5] BUG: unable to handle page fault for address: ff006844822421aa", "[   12.5] Oops: Oops: 0000 [#1] SMP NOPTI",
       "[   13.0][ T112] WARNING: CPU: 1 PID: 112 at kernel/bpf/verifier.c:1", "[   13.1] threads[99]: segfault at 0 ip 0",
       "[   13.2] traps: train[9] general protection fault ip:7f", "[   13.3] Kernel panic - not syncing: Fatal exception")
GOOD = ("[   13.7] NOTICE: Automounting of tracing to debugfs is deprecated", "[  482.3] Dynamic Preempt: full")


def faults():
    for line in BAD:
        if not machine.faults_of(BOOT + line + "\n"):
            yield f"taken for nothing: {line}"
    found = machine.faults_of(BOOT + "\n".join(GOOD) + "\n")
    if found:
        yield f"taken for a fault: {found}"


INT3 = "[   27.9] Oops: int3: 0000 [#{}] SMP NOPTI\n[   27.9] CPU: 0\n[   27.9] Hardware\n[   27.9] RIP: 0010:{}+0x6e/0x140\n"


def stale():
    for number, function, wanted in (1, "syscall_exit_work", True), (2, "syscall_exit_work", False), (1, "bpf_prog_1", False):
        if machine.is_stale(BOOT + INT3.format(number, function)) != wanted:
            yield f"int3 in {function}, oops {number}: {not wanted}"


def told(*checks):
    return [{"check": name, "wrong": [], "facts": {}, "seconds": 1} for name in checks]


def failed(lines, log=(), ending=""):
    rows = run.judged(machine.Outcome(lines, list(log), ending, 1))
    return {name for name, row in rows.items() if not row["passed"]}


def judging():
    checks = {*run.WANTED, "log"}
    every = told(*run.WANTED) + [{"doing": "end", "facts": {}}]
    if failed(every):
        yield f"a guest that is well has failed: {failed(every)}"
    for lines, log, ending, wanted in (
            ([], (), "it did not boot", checks),
            (every[:-2], ("Oops",), "it ended without being told to", {"preempt", "log"}),
            (every, ("WARNING: CPU: 0",), "", {"preempt", "log"}),
            (told("doctor", "load"), (), "", checks - {"doctor", "load", "log"})):
        if failed(lines, log, ending) != wanted:
            yield f"{log} {ending}: {sorted(failed(lines, log, ending))}, not {sorted(wanted)}"
    if len(table.rows([])) != 2:
        yield "a table of nothing has rows"


SCRIPT = {"script": "tests/bpf/test_x.py", "seconds": 1,
          "cases": [["a", "ok", ""], ["b", "skip", "no GPU"], ["c", "not ok", "it is\nwrong"]]}
ROWS = """ok 1 - 6.1: tests/bpf/test_x.py: a
ok 2 - 6.1: tests/bpf/test_x.py: b # SKIP no GPU
not ok 3 - 6.1: tests/bpf/test_x.py: c
#   it is
#   wrong
#   tests/bpf/test_x.py: 1 s
"""
TAP = """1..4
ok 1 - a
ok 2 - b # SKIP no GPU
not ok 3 - c
# it is
# wrong
"""


def scripts():
    """What scripts of the suite said in a guest has rows of its own, and one that does not get to its end has failed."""
    printed, rows = io.StringIO(), run.Tap()
    with contextlib.redirect_stdout(printed):
        run.scripts_reported(rows, "6.1", [{"doing": "suite", "facts": {}}, SCRIPT])
    if printed.getvalue() != ROWS or (rows.passed, rows.failed, rows.skipped) != (1, 1, 1):
        yield repr(printed.getvalue())
    cases = suite.cases_of(1, False, TAP, "")
    if cases[:3] != SCRIPT["cases"] or len(cases) != 4 or "4 cases planned, 3 reported" not in cases[3][2]:
        yield f"of a plan of 4: {cases}"
    for status, timed_out, out, how in ((0, False, "1..1\nok 1 - a\n", "ok"), (0, False, "1..0 # SKIP why\n", "skip"),
                                        (-9, True, "", "not ok"), (1, False, "", "not ok")):
        if {end for _, end, _ in suite.cases_of(status, timed_out, out, "")} != {how}:
            yield f"{out!r} with {status}: {suite.cases_of(status, timed_out, out, '')}"
    for out, is_well in (("\n".join(suite.DEMO_SAYS), True), (suite.DEMO_SAYS[0], False)):
        if (suite.demo_of(0, False, out, "")[0][1] == "ok") != is_well:
            yield f"the demo that says {out!r}"


def versions():
    order = ["6.1.0-1", "6.1.192-2", "6.12.9-1", "6.12.117-1~deb12u1", "7.3.4-1~bpo13+1", "7.10.1-1"]
    if sorted(reversed(order), key=packages.numbers) != order:
        yield f"{sorted(reversed(order), key=packages.numbers)}"
    for name, is_kernel in (("linux-image-6.1.0-56-cloud-amd64", True), ("linux-image-7.2.13+deb14-cloud-amd64", True),
                            ("linux-image-6.12.117+deb13-rt-amd64-unsigned", True), ("linux-image-6.12-cloud-amd64", False),
                            ("linux-image-cloud-amd64", False), ("linux-image-7.2.13+deb14-cloud-amd64-dbg", False)):
        if bool(packages.IMAGE.match(name)) != is_kernel:
            yield name
    if packages.suites_of(["trixie-rt", "newest"]) != ["trixie", "trixie-backports", "sid"]:
        yield f"{packages.suites_of(['trixie-rt', 'newest'])}"


tap = Tap()
tap.check("kernels.sh: faults in a kernel's log are seen, and nothing else", faults())
tap.check("kernels.sh: a guest that dies, or says nothing of a check, has failed", judging())
tap.check("kernels.sh: a breakpoint that qemu should not have run is told from a kernel's oops", stale())
tap.check("kernels.sh: each case of a test that ran in a guest is told", scripts())
tap.check("kernels.sh: versions of Debian's kernels are in order", versions())
tap.done()
