#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""compile_commands.json names every C source, with a command that a compiler accepts."""
import json
import os
import shutil
import subprocess

from tap import TOP, Tap, files

# One of the collector, of the BPF programs, and of a test: -fsyntax-only writes nothing.
TRIED = ("user/core/ledger/ledger.c", "bpf/gmt.bpf.c", "tests/unit/ledger/test_ledger.c")
BY_TESTS = {"tests/symbol/offsets.c"}  # compiled by test_offsets.sh, with each Python's headers
MAKE = ("make", "-s", "--no-print-directory", "print-compile-commands")


def printed():
    env = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
    run = subprocess.run(MAKE, cwd=TOP, env=env, capture_output=True, text=True, check=False)
    return {entry["file"]: entry for entry in json.loads(run.stdout or "[]")}


def rejected(entry):
    words = [word for word in entry["arguments"] if word not in ("-MMD", "-MP", "-c")]
    clean = words[1:words.index("-o")] + words[words.index("-o") + 2:]
    if "-MT" in clean:
        start = clean.index("-MT")
        clean[start:start + 4] = []
    run = subprocess.run(["clang", "-fsyntax-only", *clean, "-Wno-error"], cwd=entry["directory"], capture_output=True, text=True,
                         check=False)
    return run.stderr.splitlines() if run.returncode else []


tap = Tap()
found = printed()
tap.check("each source of user/, bpf/, tests/ and demos/ is named",
          [name for name in files("user", "bpf", "tests", "demos", ends=(".c",)) if name not in {*found, *BY_TESTS}])
for source in TRIED:
    if not shutil.which("clang"):
        tap.check(f"clang takes the command of {source}", [], "no clang")
    else:
        tap.check(f"clang takes the command of {source}", rejected(found[source]) if source in found else ["not named"])
tap.done()
