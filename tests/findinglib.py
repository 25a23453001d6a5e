# SPDX-License-Identifier: BSD-2-Clause
"""Compares what the report of a recording finds with what is true of the programs.

A true finding is (command, finding, cause or line, why this is true): the cause of a request that failed, or the line that
is accused of keeping memory.
"""
import json
import os
import subprocess

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TOOL = os.path.join(TOP, os.environ.get("BUILD", "build"), "gpumemtrace")
# Findings that accuse a line of the program.
ACCUSING = {"leak", "growth", "optimizer_state"}


def name_of(process):
    """The program, and the words behind it that are no paths."""
    words = process["cmdline"].split() or [process["comm"]]
    return " ".join([os.path.basename(words[0])] + [os.path.basename(word) for word in words[1:]])


def line_of(report, finding):
    """FILE:LINE that is accused, or None."""
    symbol = report["symbols"][finding["symbol"]] if finding["symbol"] is not None else {}
    return f"{os.path.basename(symbol['file'])}:{symbol['line']}" if symbol.get("file") and symbol.get("line") else None


def report_of(path):
    done = subprocess.run([TOOL, "report", "--json", "-q", path], capture_output=True, text=True, timeout=100, check=True)
    reports = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert len(reports) == 1 and reports[0]["type"] == "report", done.stdout[:200]
    return reports[0]


def findings_of(report):
    """[(command, finding, cause or line)] of the report."""
    processes = report["processes"]
    return [(name_of(processes[f["process"]]) if f["process"] is not None else "a GPU", f["finding"],
             line_of(report, f) if f["finding"] in ACCUSING else f["cause"]) for f in report["findings"]]


def found_in(path):
    return findings_of(report_of(path))


def is_same(found, true):
    """The command may have more words than the true finding."""
    return (found[0] + " ").startswith(true[0] + " ") and found[1:] == true[1:3]


def differences(found, true):
    """Sentences: what was found and is not known as true, and what is true and was not found."""
    left = list(true)
    for one in found:
        same = [entry for entry in left if is_same(one, entry)]
        if same:
            left.remove(same[0])
        else:
            yield f"new, and maybe a false alarm: {one}"
    yield from (f"no longer found: {entry}" for entry in left)
