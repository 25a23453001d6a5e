#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Makes the README's table of kernels from the newest results: tests/kernels/table.py [RESULTS]
(build/kernels/results.json)."""
import json
import os
import sys

import packages

RESULTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../build/kernels/results.json")
HEAD = ("kernel", "loads", "totals", "stacks complete", "Python, PyTorch", "late attach", "ready in", "preempted",
        "kernel's log")


def facts(row, check):
    return row["rows"].get(check, {}).get("facts", {})


def verdict(row, *checks):
    """"": it was not asked"""
    found = [row["rows"][check]["passed"] for check in checks if check in row["rows"]]
    return "" if not found else "yes" if all(found) else "no"


def loads(row):
    if not verdict(row, "load"):
        return ""
    refused = [mode for mode, got in facts(row, "load").items() if "ready_s" not in got]
    if verdict(row, "load") == "yes":
        return "all modes"
    return "**not** " + ", ".join(refused) if refused else "**no**"


def stacks(row):
    full = facts(row, "stacks").get("full")
    if not verdict(row, "stacks"):
        return ""
    if not full:
        return "**no**"
    text = f"{full['complete']} of {full['stacks']}"
    reasons = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in full["reasons"].items())
    return text + (f" ({reasons})" if reasons else "")


def preempted(row):
    got = facts(row, "preempt")
    if not verdict(row, "preempt"):
        return ""
    models = ", ".join(model or "its own" for model in got.get("models", []))
    minutes = f"{got.get('seconds', 0) / 60:.1f} min ({models or 'not reached'})"
    return minutes if verdict(row, "preempt") == "yes" else f"**no**, {minutes}"


def ready(row):
    seconds = [got["ready_s"] for got in facts(row, "load").values() if "ready_s" in got]
    return f"{min(seconds)}–{max(seconds)} s" if seconds else ""


def cells(row):
    say = {"yes": "yes", "no": "**no**", "": ""}
    return (row["release"], loads(row), say[verdict(row, "totals")].replace("yes", "equal"), stacks(row),
            say[verdict(row, "python", "torch")], say[verdict(row, "late")].replace("yes", "equal"), ready(row), preempted(row),
            say[verdict(row, "log")].replace("yes", "silent") + (f" (boot {row['boots']})" if row.get("boots", 1) > 1 else ""))


def order(row):
    return "arm64" in row["release"], packages.numbers(row["release"]), row["release"]


def rows(results):
    """Lines of Markdown; a kernel that did not boot is none."""
    lines = [HEAD, ("---",) * len(HEAD)] + [cells(row) for row in sorted(results, key=order) if row["started"]]
    return ["| " + " | ".join(line) + " |" for line in lines]


if __name__ == "__main__":
    with open(sys.argv[1] if len(sys.argv) > 1 else RESULTS, encoding="utf-8") as source:
        print("\n".join(rows(json.load(source))))
