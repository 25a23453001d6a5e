#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The answer at the head of the report, for programs that keep more and more tensors: the line that made what stays is
named. A program without a leak has none named."""
import os
import re

import lib
import torchlib
from lib import Target, Tool, check, equal

PROGRAM = os.path.join(lib.TOP, "tests/bpf/torch_leaks.py")
SCREEN = 24                     # lines


def line_of(mark):
    with open(PROGRAM, encoding="ascii") as file:
        return next(n for n, line in enumerate(file, 1) if line.rstrip().endswith("# " + mark))


def of_process(view, pid):
    """The findings of a process: (kind, (file, line) or None, finding)"""
    found = []
    for finding in view["findings"]:
        if finding["process"] is None or view["processes"][finding["process"]]["pid"] != pid:
            continue
        symbol = finding["symbol"] is not None and view["symbols"][finding["symbol"]]
        found.append((finding["finding"], (symbol["file"], symbol["line"]) if symbol else None, finding))
    return found


def said(target, word):
    target.wait_line(lambda: word in [line.strip() for line in target.err], word)


def start(kind, *options, is_whole=False):
    """(the tracer, the program); is_whole: the program is traced from its start"""
    torch = torchlib.debian()
    env = {"LD_PRELOAD": torchlib.BLOCKS, "PYTHONWARNINGS": "ignore", **torch.env}
    tool = Tool("-a", *options).ready() if is_whole else None
    target = Target(torch.python, PROGRAM, kind, env=env)
    said(target, "ready")
    tool = tool or Tool("-p", str(target.pid), *options).ready()
    torchlib.until_probed(tool, target.pid)
    tool.idle()                 # the tables of stacks are there
    target.line()
    return tool, target


def at_the_end(kind, *options, is_whole=False):
    """(the findings when the work is done, the first screen of the report, the modules with live memory)"""
    path = lib.folder() + "/run.gmt"
    tool, target = start(kind, "-o", path, *options, is_whole=is_whole)
    said(target, "done")
    report = lib.settled(tool, target.pid)
    target.line()
    equal(target.finish()[0], 0, "exit status " + target.stderr())
    done = lib.run([lib.TOOL, "report", "-p", str(target.pid), path])
    equal(done.returncode, 0, done.stderr)
    row, = (row for row in lib.process_of(report, target.pid)["gpus"] if row["torch"])
    modules = {row["module"]: row["live_bytes"] for row in row["torch"]["stacks"]["modules"]["live"]}
    return of_process(report, target.pid), done.stdout.splitlines()[:SCREEN], modules


def meanwhile(kind, wanted):
    """Where the line of a finding is that comes while the program works."""
    tool, target = start(kind, "--block-stacks")
    places = []

    def is_found():
        for view in tool.views()[-1:]:
            places.extend(place for name, place, _ in of_process(view, target.pid) if name == wanted and place)
        return places

    tool.wait_line(is_found, wanted)
    target.line()
    equal(target.finish()[0], 0, "exit status " + target.stderr())
    equal(tool.report()["exit_status"], 0, "exit status")
    return places[0]


def only(found, kind):
    chosen = [f for f in found if f[0] == kind]
    check(len(chosen) == 1, f"no {kind}, or several:", [f[:2] for f in found])
    return chosen[0]


def losses():
    """a training that keeps its losses: a leak, its bytes in each iteration, and the line of the model that made them"""
    found, head, modules = at_the_end("losses", "--block-stacks")
    _, place, finding = only(found, "leak")
    equal(place, (PROGRAM, line_of("the line")), "the line")
    check(finding["count"] >= 30, finding)
    # each of four layers keeps its results
    check(4 * 64 * 256 * 4 <= finding["bytes"] <= 12 * 64 * 256 * 4, finding)
    check(modules["Net"] >= finding["part_bytes"] * 3 // 4, "the module:", modules, finding)
    check(any("LEAK" in line for line in head), "not on the first screen", *head)
    check(any(f"torch_leaks.py:{place[1]} " in line for line in head), "the line is not on the first screen", *head)
    check(any(re.search(r"called from torch_leaks.py:\d+ train$", line) for line in head), "the caller is missing", *head)


def summed():
    """... or adds them up with their graphs: the same"""
    found, head, _ = at_the_end("summed", "--block-stacks")
    equal(only(found, "leak")[1], (PROGRAM, line_of("the line")), "the line")
    check(any("LEAK" in line for line in head), "not on the first screen", *head)


def twice():
    """a training that keeps a second optimizer: what both keep, and the line"""
    found, head, _ = at_the_end("twice", "--block-stacks", is_whole=True)
    _, place, finding = only(found, "optimizer_state")
    equal(place, (PROGRAM, line_of("the optimizers' line")), "the line")
    check(4 <= finding["bytes"] / finding["part_bytes"] < 4.1, finding)
    check(any("STATE" in line for line in head), "not on the first screen", *head)


def anew():
    """a training that keeps its old optimizers, attached late: a leak of optimizer state, and the line"""
    found, head, _ = at_the_end("optimizers", "--block-stacks")
    equal(only(found, "leak")[1], (PROGRAM, line_of("the old optimizers' line")), "the line")
    check("of optimizer state" in only(found, "leak")[2]["sentence"], only(found, "leak"))
    check(any("LEAK" in line for line in head), "not on the first screen", *head)


def longer():
    """inputs become longer, and each iteration leaves more than the one before: nothing is found, as nothing stays"""
    found, head, _ = at_the_end("sorted", "--block-stacks")
    equal([f[0] for f in found], [], "findings")
    check("no leak of 1 % of the peak" in " ".join(map(str.strip, head)), *head)


def without_stacks():
    """... without stack traces of blocks: the report says how to see the line"""
    found, head, modules = at_the_end("losses")
    equal(only(found, "leak")[1], None, "the line")
    check(any("--block-stacks" in line for line in head), *head)
    # no line is blamed for the context and for the memory in which PyTorch's tensors lie
    check(any(line.endswith(" CUDA context") for line in head), "the context is not apart", *head)
    check(any("PyTorch's reserve, obtained at torch_leaks.py:" in line for line in head), "nor the reserve", *head)
    check(any(re.search("full in about .* iterations", line) for line in head), "the time is missing", *head)
    equal(modules, {}, "modules without stack traces of blocks")


def outputs():
    """an evaluation that keeps its outputs: the memory of a line grows all along"""
    equal(meanwhile("outputs", "growth"), (PROGRAM, line_of("the line")), "the line")


def cache():
    """a cache that grows with each token"""
    equal(meanwhile("cache", "growth"), (PROGRAM, line_of("the cache's line")), "the line")


def clean():
    """a training that keeps nothing: nothing is found"""
    found, head, _ = at_the_end("clean", "--block-stacks")
    equal([f[0] for f in found], [], "findings")
    check(any("LINES" in line for line in head), *head)
    check(any(line.startswith("FOUND   nothing:") for line in head), "not said that nothing was found", *head)
    check("no leak of 1 % of the peak" in " ".join(map(str.strip, head)), *head)


if __name__ == "__main__":
    lib.ready()
    try:
        torchlib.debian()
    except lib.Skip as why:
        print(f"1..0 # SKIP {why}")
    else:
        lib.main(losses, summed, twice, anew, longer, without_stacks, outputs, cache, clean)
