#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The test runner itself: tests/run must not take a crash, a hang or a short plan for success."""
import importlib.machinery
import importlib.util
import os
import sys
import tempfile

from tap import TOP, Tap

sys.path.insert(1, os.path.join(TOP, "tests"))
from patience import PATIENCE  # noqa: E402

sys.dont_write_bytecode = True
loader = importlib.machinery.SourceFileLoader("runner", os.path.join(TOP, "tests/run"))
runner = importlib.util.module_from_spec(importlib.util.spec_from_loader("runner", loader))
loader.exec_module(runner)

# script: passed, failed, skipped
CASES = [
    ("echo 1..2; echo ok 1 - a; echo 'ok 2 - b # SKIP no GPU'", (1, 0, 1)),
    ("echo 1..1; echo not ok 1 - a; exit 1", (0, 1, 0)),
    ("echo ok 1 - a; echo 1..1", (1, 0, 0)),
    ("echo '1..0 # SKIP needs root'", (0, 0, 1)),
    ("echo 1..1; echo ok 1 - a; echo 1..1; echo ok 1 - b", (2, 0, 0)),
    ("echo 1..1; echo ok 1 - a; exit 3", (1, 1, 0)),
    ("echo 1..3; echo ok 1 - a; echo ok 2 - b", (2, 1, 0)),
    ("echo 1..1; echo ok 1 - a; kill -SEGV $$", (1, 1, 0)),
    ("echo ok 1 - a", (1, 1, 0)),
    ("true", (0, 1, 0)),
    ("echo 1..1; echo ok 1 - a; echo 'Bail out! no'", (1, 1, 0)),
    ("# timeout: 5\necho 1..1; echo ok 1 - a; sleep 3600", (1, 1, 0)),
    ("echo 1..1; sleep 3600 & echo ok 1 - a", (1, 0, 0)),
]


def wrong(script, wanted):
    with tempfile.TemporaryDirectory() as place:
        path = os.path.join(place, "test_it")
        with open(path, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\n" + script + "\n")
        os.chmod(path, 0o755)
        outcome, _, _, took = runner.run(path, place)
    got = (outcome.passed, outcome.failed, outcome.skipped)
    if got != wanted:
        yield f"{got}, not {wanted}: {outcome.notes}"
    if took > PATIENCE:
        yield f"it took {took:.0f} s"


def not_alone():
    """Two tests that run side by side, and one that is to run alone, which comes last and finds no other."""
    with tempfile.TemporaryDirectory() as place:
        tests = []
        for name, line in (("a", "# alone: it counts"), ("b", ""), ("c", "")):
            path = os.path.join(place, name)
            with open(path, "w", encoding="utf-8") as file:
                file.write(f"#!/bin/sh\n{line}\ntouch {place}/runs-{name}; sleep 0.2; ls {place} | grep -c runs-\n"
                           f"rm {place}/runs-{name}; echo 1..1; echo ok 1\n")
            os.chmod(path, 0o755)
            tests.append(("cli", path))
        results = [(os.path.basename(test[1]), result[1].split("\n")[0]) for test, result in runner.in_turn(tests, place, 2)]
    if [name for name, _ in results] != ["b", "c", "a"]:
        yield f"the order is {results}"
    if results[-1][1] != "1":
        yield f"{results[-1][1]} tests ran when the last did"


def file_left():
    """What a test leaves in the top directory is named, but not what was there, nor what is built."""
    with tempfile.TemporaryDirectory() as place:
        for name in "old", "build", "new":
            os.mkdir(os.path.join(place, name))
        got = runner.left_behind({"old"}, place)
    if got != ["new"]:
        yield f"{got} was left"


tap = Tap()
for text, counts in CASES:
    tap.check(text.replace("#", "").replace("\n", "; "), wrong(text, counts))
tap.check("a test that asks for it runs alone, after the others", not_alone())
tap.check("what a test leaves in the top directory is a failure", file_left())
tap.done()
