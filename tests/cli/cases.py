# SPDX-License-Identifier: BSD-2-Clause
"""What the tests of the command line share: the path of the binary, and cases printed as TAP."""
import os
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BIN = os.path.join(TOP, os.environ.get("BUILD", "build"), "gpumemtrace")
sys.path.insert(1, os.path.join(TOP, "tests"))
from patience import PATIENCE  # noqa: E402,F401

counts = {"all": 0, "failed": 0}


def check(name, fine, more=""):
    """One case; `more` is shown if it fails."""
    counts["all"] += 1
    counts["failed"] += not fine
    print(f"{'' if fine else 'not '}ok {counts['all']} - {name}", flush=True)
    for line in [] if fine else str(more).splitlines():
        print("# " + line)


def skip(name, why):
    counts["all"] += 1
    print(f"ok {counts['all']} - {name} # SKIP {why}", flush=True)


def done():
    """Prints the plan. The exit status."""
    print(f"1..{counts['all']}")
    return 1 if counts["failed"] else 0
