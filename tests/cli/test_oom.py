#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""`gpumemtrace oom` gives the right verdicts, in the right words, for recordings of real programs."""
import json
import os
import subprocess

from cases import BIN, PATIENCE, TOP, check, done

GIB = 1 << 30


def run(*words):
    said = subprocess.run([BIN, "oom", *words], capture_output=True, timeout=PATIENCE, text=True)
    return said.returncode, said.stdout, said.stderr


def data(name):
    return os.path.join(TOP, "tests", "data", name + ".gmt")


def requests(name):
    code, out, err = run("--json", data(name))
    check(name + ": exit status 0, no message", code == 0 and not err, err)
    return [json.loads(line) for line in out.splitlines()]


def one(name, call, tries):
    views = requests(name)
    check(name + ": exactly one", len(views) == 1, views)
    oom = views[0]["oom"]
    check(name + ": raised and caught", oom["outcome"] == "raised" and oom["by"] == "went_on", oom)
    check(name + ": what was asked for", (oom["call"], oom["asked_bytes"], oom["failures"]) == (call, 500 * GIB, tries), oom)
    row = oom["rows"][0]
    held = views[0]["processes"][row["process"]]["gpus"][row["row"]]["attributed"]["live_bytes"]
    check(name + ": who held what", held == row["held_bytes"] > 300 << 20, row)


def main():
    # torch's native allocator empties its cache of 100 MiB before the second try
    one("h100-native", "cuMemAlloc_v2", 2)
    one("h100-malloc-async", "cuMemAllocAsync", 1)
    check("the cache that was emptied in between", requests("h100-native")[0]["oom"]["freed_bytes"] == 100 << 20)
    check("none", requests("h200x2-ioctls-native") == [])
    code, out, err = run(data("h200x2-ioctls-native"))
    check("none, in words", code == 0 and out == "no request failed for lack of memory\n" and not err, out)
    code, out, err = run(data("h100-native"))
    check("the verdict comes first", "\nASKED  500 GiB by cuMemAlloc_v2" in out and
          "\nWHY    one request of 500 GiB, more than was free" in out, out)
    check("in short", len(out.splitlines()) < 12 and all(len(line) <= 80 for line in out.splitlines()), out)
    check("in full", "BY CALLS" not in out and "BY CALLS" in run("--full", data("h100-native"))[1], out)
    check("no file", run()[0] == 2 and run("/nonexistent")[0] == 1)
    check("no recording", run(BIN)[0] == 1)
    return done()


raise SystemExit(main())
