#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What the report finds in each recording is what is true of the program: a finding that is new here is a false alarm, or
an entry of TRUE with the reason why it is true."""
import collections
import glob
import json
import os
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DATA = os.path.join(TOP, "tests", "data")
BIN = os.path.join(TOP, os.environ.get("BUILD", "build"), "gpumemtrace")
# Findings that accuse the program: their entry in TRUE says which line keeps the memory.
ACCUSING = {"leak", "growth", "optimizer_state"}

TOO_MUCH = "the program asks for more than the GPU has, to see the error"
FILLED = "the program fills the GPU before it asks"
LATE = "the program was attached to while it held memory"
# recording: [(command, finding, cause of a failed request or the line that keeps the memory, why it is true)]. A recording
# without an entry has none.
TRUE = {
    "found/h200-caches": [("python3 train.py", "growth", "train.py:130", "the generation keeps a cache for each text")],
    "found/h200-logits": [("python3 train.py", "leak", "train.py:120", "each iteration keeps a part of its logits")],
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


def name_of(process):
    """The program, and the words behind it that are no paths."""
    words = process["cmdline"].split() or [process["comm"]]
    return " ".join([os.path.basename(words[0])] + [os.path.basename(word) for word in words[1:]])


def line_of(report, finding):
    """FILE:LINE that is accused, or None."""
    symbol = report["symbols"][finding["symbol"]] if finding["symbol"] is not None else {}
    return f"{os.path.basename(symbol['file'])}:{symbol['line']}" if symbol.get("file") and symbol.get("line") else None


def found_in(path):
    """[(command, finding, cause or line)] of the report."""
    done = subprocess.run([BIN, "report", "--json", "-q", path], capture_output=True, text=True, timeout=100, check=True)
    reports = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert len(reports) == 1 and reports[0]["type"] == "report", done.stdout[:200]
    processes = reports[0]["processes"]
    return [(name_of(processes[f["process"]]) if f["process"] is not None else "a GPU", f["finding"],
             line_of(reports[0], f) if f["finding"] in ACCUSING else f["cause"]) for f in reports[0]["findings"]]


def is_same(found, true):
    """The command may have more words than the entry."""
    return (found[0] + " ").startswith(true[0] + " ") and found[1:] == true[1:3]


def differences(found, true):
    left = list(true)
    for one in found:
        same = [entry for entry in left if is_same(one, entry)]
        if same:
            left.remove(same[0])
        else:
            yield f"new, and maybe a false alarm: {one}"
    yield from (f"no longer found: {entry}" for entry in left)


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
