#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Whichever call fails, a command on a file gives its whole output, or ends with a sentence and a documented status.

Every one of the first calls of a kind fails, then a sample of the others, alone or together with all later ones.
FAULTS=10 takes ten times as many.
"""
import os
import re
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from cases import TOP, check, done, skip  # noqa: E402

sys.path.insert(0, os.path.join(TOP, "tests/faults"))
import faultlib  # noqa: E402
from faultlib import Fault, faults  # noqa: E402

DUMP = os.path.join(TOP, "tests/data/kept/train-oom-dump.gmt")
RUN = os.path.join(TOP, "tests/data/kept/torch-late.gmt")
ALONE, LATER = (200, 30), (7, 15)       # faultlib.faults()
DOCTORS = (2, 2), (1, 2)                # in their place: the doctor tries the kernel's features, half a second a run
KINDS = ("malloc", "open", "read", "write", "mmap", "files", "wait", "thread")
OLD = b"what was there before"


def commands(folder):
    """(name, arguments, file that is written)"""
    file = os.path.join(folder, "written")
    yield "replay", ["replay", DUMP], None
    yield "replay --json", ["replay", "--json", RUN], None
    yield "replay --folded", ["replay", "--folded", file, RUN], file
    yield "replay --snapshot", ["replay", "--snapshot", file, DUMP], file
    yield "oom", ["oom", DUMP], None
    yield "oom --json", ["oom", "--json", DUMP], None
    yield "oom --snapshot", ["oom", "--snapshot", file, DUMP], file
    yield "records", ["records", DUMP], None
    yield "records --json", ["records", "--json", RUN], None
    yield "list", ["list"], None
    yield "list --json", ["list", "--json"], None
    yield "doctor", ["doctor"], None


def read(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None


def timeless(out):
    """JSON says when it was made."""
    return re.sub(rb'"made_at": ?"[^"]*"', b"", out)


def wrong_output(fault, whole, written, is_doctor):
    """What is wrong with the outputs of a run that came to an end, or None."""
    if is_doctor:           # what fails is what the doctor is to find
        return None if fault.status not in (0, 4) or b"BPF" in fault.out else "the doctor says nothing"
    told = "gpumemtrace: " in fault.err
    if fault.status == 0 and not told and timeless(fault.out) != timeless(whole.out):
        return "another output, and no word of it"
    if written is None:
        return None
    now = read(written[0])
    if now not in (OLD, written[1]) and (fault.status == 0 or fault.kind != "malloc") and not told:
        return f"half a file: {len(now or b'')} of {len(written[1])} bytes"
    return "the file is not there" if fault.status == 0 and not told and now != written[1] else None


def one(fault, arguments, whole, makes_file):
    """One run in a folder of its own: (what is wrong or None, whether a call failed)."""
    with tempfile.TemporaryDirectory(prefix="gmt-faults-") as folder:
        written, own = None, arguments
        if makes_file:
            path = os.path.join(folder, "written")
            with open(path, "wb") as file:
                file.write(OLD)
            own = [path if a == makes_file[0] else a for a in arguments]
            written = (path, makes_file[1])
        fault.run(own)
        wrong = fault.wrong_end(report_is_answer=arguments[0] == "doctor") or \
            wrong_output(fault, whole, written, arguments[0] == "doctor")
    return (f"{fault}: {wrong}" if wrong else None), bool(fault.where)


def command(name, arguments, path):
    wrong, failed = [], 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for kind in KINDS:
            whole = Fault(kind, 0).run(arguments)
            makes_file = (path, read(path)) if path else None
            runs = faults(kind, whole.calls, *(DOCTORS if name == "doctor" else (ALONE, LATER)))
            for bad, any_failed in pool.map(lambda fault: one(fault, arguments, whole, makes_file), runs):
                wrong += [bad] if bad else []
                failed += any_failed
    check(f"{name}: {failed} runs in which calls failed", failed and not wrong, "\n".join(wrong[:20]))


def main():
    if not os.path.exists(faultlib.SHIM):
        skip("faults", "the library that is preloaded was not built")
        return done()
    with tempfile.TemporaryDirectory(prefix="gmt-faults-") as folder:
        for name, arguments, path in commands(folder):
            command(name, arguments, path)
    return done()


if __name__ == "__main__":
    sys.exit(main())
