#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What the report finds in each recording is what is true of the program: a finding that is new here is a false alarm, or
an entry of TRUE with the reason why it is true."""
import collections
import glob
import os
import sys

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(1, TESTS)
from findinglib import ACCUSING, differences, found_in  # noqa: E402

DATA = os.path.join(TESTS, "data")

TOO_MUCH = "the program asks for more than the GPU has, to see the error"
FILLED = "the program fills the GPU before it asks"
LATE = "the program was attached to while it held memory"
# recording: its true findings (findinglib.py). A recording without an entry has none.
TRUE = {
    "found/h200-caches": [("python3 train.py", "growth", "train.py:130", "the generation keeps a cache for each text")],
    "found/h200-logits": [("python3 train.py", "leak", "train.py:120", "each iteration keeps a part of its logits")],
    "found/torch-cache": [("python3 torch_leaks.py", "growth", "torch_leaks.py:177", "the cache grows with each token")],
    "found/torch-outputs": [("python3 torch_leaks.py", "growth", "torch_leaks.py:60", "the evaluation keeps its outputs")],
    "found/torch-summed": [("python3 torch_leaks.py", "leak", "torch_leaks.py:60", "the sum of the losses keeps their graphs")],
    "found/torch-twice": [("python3 torch_leaks.py", "optimizer_state", "torch_leaks.py:103", "there are two optimizers")],
    "h100-malloc-async": [("python3", "out_of_memory", "request", TOO_MUCH)],
    "h100-native": [("python3", "out_of_memory", "request", TOO_MUCH)],
    "kept/calls": [("pools", "out_of_memory", "request", TOO_MUCH)],
    "kept/cut": [("longrun forever", "before_attach", None, LATE)],
    "kept/losses": [("storm 0 1 1024", "before_attach", None, LATE)],
    "kept/oom-launch": [("oom_cases launch", "out_of_memory", "full", FILLED)],
    "kept/oom-module": [("oom_cases module", "out_of_memory", "full", FILLED)],
    "kept/oom-torch": [("oom_cases torch", "out_of_memory", "full", FILLED)],
    "kept/synthetic-neighbours": [("python3 program1001.py", "out_of_memory", "untraced", "NVML lists who holds the GPU"),
                                  ("a GPU", "untraced", None, "likewise"),
                                  ("python3 program1001.py", "before_attach", None, LATE)],
    "kept/synthetic": [("python3 program1030.py", "out_of_memory", "request", "one record of each kind")],
    "kept/torch-late": [("torch libc10.so", "before_attach", None, LATE)] * 2,   # on two GPUs
    "kept/train-oom": [("python3 torch_training.py", "out_of_memory", "framework_limit",
                        "the training sets a limit and asks for more")],
}


def main():
    paths = {os.path.relpath(path, DATA)[:-4]: path
             for path in sorted(glob.glob(DATA + "/*.gmt") + glob.glob(DATA + "/kept/*.gmt") + glob.glob(DATA + "/found/*.gmt"))}
    print(f"1..{len(paths) + 1}")
    counts, failed = collections.Counter(), 0
    for number, (name, path) in enumerate(paths.items(), 1):
        found = found_in(path)
        counts.update(finding for _, finding, _ in found)
        wrong = list(differences(found, TRUE.get(name, [])))
        print(f"{'not ' if wrong else ''}ok {number} - {name}: {len(found)} findings, all true")
        for line in wrong:
            print("# " + line)
        failed += bool(wrong)
    missing = sorted(set(TRUE) - set(paths))
    print(f"{'not ' if missing else ''}ok {len(paths) + 1} - each entry has a recording")
    print(f"# {sum(counts[kind] for kind in ACCUSING)} accusations in {len(paths)} recordings; {dict(counts)}", *missing)
    return 1 if failed or missing else 0


if __name__ == "__main__":
    sys.exit(main())
