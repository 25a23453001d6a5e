#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The driver's own memory has the same amounts in the sum at the head of a report and in its tables by owner."""
import glob
import json
import os
import subprocess
import sys

from test_findings import DATA, TESTS

BIN = os.path.join(os.path.dirname(TESTS), os.environ.get("BUILD", "build"), "gpumemtrace")

# Owners without which all memory of a GPU has a name.
NAMELESS = {"unknown", "(not named)", "(without a stack)"}
# member of "physical": the owners in the tables
TERMS = {
    "context_bytes": ["CUDA context"],
    "modules_bytes": ["CUDA modules"],
    "other_bytes": ["CUDA streams", "CUDA launches", "CUDA graphs"],
}


def report_of(path):
    done = subprocess.run([BIN, "report", "--json", "-q", path], capture_output=True, text=True, timeout=100, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def gpus_of(report):
    """The memory on each GPU whose tables name all of it."""
    for process in report["processes"]:
        for gpu in process["gpus"]:
            if gpu["physical"] and gpu["stacks"] and gpu["stacks"]["stack_count"]:
                owners = {report["owners"][o["owner"]] if isinstance(o["owner"], int) else o["owner"]: o["live_bytes"]
                          for o in gpu["stacks"]["owners"] if o["live_bytes"]}
                if not NAMELESS & set(owners):
                    yield process["pid"], gpu, owners


def differences(report):
    """How many amounts were compared, and what differs."""
    count, wrong = 0, []
    for pid, gpu, owners in gpus_of(report):
        # What the driver carves out of the memory of a context stands in the tables under both.
        carved = max(0, -gpu["stacks"]["unexplained_bytes"])
        for term, names in TERMS.items():
            in_sum, in_tables = gpu["physical"][term], sum(owners.get(name, 0) for name in names)
            count += bool(in_sum)
            if not in_sum <= in_tables <= in_sum + carved:
                wrong.append(f"process {pid}: {term} {in_sum}, in the tables {in_tables}: {owners}")
    return count, wrong


def main():
    paths = sorted(glob.glob(DATA + "/kept/*.gmt") + glob.glob(DATA + "/found/*.gmt"))
    all_wrong, compared = [], 0
    for path in paths:
        count, wrong = differences(report_of(path))
        compared += count
        all_wrong += [f"{os.path.basename(path)}: {line}" for line in wrong]
    print("1..2")
    print(f"{'not ' if all_wrong else ''}ok 1 - sum and tables have the same amounts")
    for line in all_wrong:
        print("# " + line)
    print(f"{'not ' if compared < 10 else ''}ok 2 - {compared} amounts were compared")
    return 1 if all_wrong or compared < 10 else 0


if __name__ == "__main__":
    sys.exit(main())
