#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Programs that run out of memory for a known cause: the verdict names the cause and the line, on the first screen."""
import json
import os

import lib
import torchlib
from lib import Target, Tool, check, equal

PROGRAM = os.path.join(lib.TOP, "tests/bpf/torch_leaks.py")
LINES, COLUMNS, SCREEN = 40, 80, 24


def line_of(mark):
    with open(PROGRAM, encoding="ascii") as file:
        return next(n for n, line in enumerate(file, 1) if line.rstrip().endswith("# " + mark))


def said(target, word):
    target.wait_line(lambda: word in [line.strip() for line in target.err], word)


def explained(path):
    """(the only request of a dump, the lines for people)"""
    done = lib.run([lib.TOOL, "oom", "--json", path])
    equal((done.returncode, done.stderr), (0, ""), "gpumemtrace oom " + path)
    views = [json.loads(line) for line in done.stdout.splitlines()]
    equal(len(views), 1, "requests")
    lines = lib.run([lib.TOOL, "oom", path]).stdout.splitlines()
    check(len(lines) <= LINES and all(len(line) <= COLUMNS for line in lines), "too large", *lines)
    return views[0], lines


def verdict_of(kind, *options):
    """The program is traced from before its first tensor to its death: (view, lines, what the tool said)."""
    torch, folder = torchlib.debian(), lib.folder()
    env = {"LD_PRELOAD": torchlib.BLOCKS, "PYTHONWARNINGS": "ignore", **torch.env}
    target = Target(torch.python, PROGRAM, kind, env=env)
    said(target, "ready")
    tool = Tool("-p", str(target.pid), *options, dumps=folder).ready()
    torchlib.until_probed(tool, target.pid)
    tool.idle()                 # the tables of stacks are there
    target.line()
    equal(target.finish()[0], 1, "exit status " + target.stderr())
    equal(tool.report()["exit_status"], 0, "exit status " + tool.stderr())
    names = os.listdir(folder)
    equal(len(names), 1, "dumps")
    view, lines = explained(os.path.join(folder, names[0]))
    return view, lines, tool.stderr()


def on_screen(lines, *wanted):
    for text in wanted:
        check(any(text in line for line in lines[:SCREEN]), f"'{text}' is not on the first screen", *lines)


def cause(view, wanted, ground):
    oom = view["oom"]
    equal((oom["outcome"], oom["cause"], oom["ground"]), ("fatal", wanted, ground), "cause")
    return oom["parts"]


def place(view, symbol):
    check(symbol is not None, "no line")
    return view["symbols"][symbol]["file"], view["symbols"][symbol]["line"]


def leak():
    """a training that keeps its losses until it dies: a leak, and the line of the model, of all its stacks"""
    view, lines, message = verdict_of("losses-oom", "--block-stacks")
    parts = cause(view, "leak", "guess")
    equal(place(view, parts["where"][0]["symbol"]), (PROGRAM, line_of("the line")), "the line")
    check(parts["where"][0]["use"] == "kept" and parts["where"][0]["bytes"] > 4 << 20, parts["where"])
    equal(parts["do"][0], "find_keeper", "what to do first")
    on_screen(lines, "WHY    a leak: ", f"WHERE  torch_leaks.py:{line_of('the line')} ", "called from torch_leaks.py:",
              "NOT    another process: ")
    check(any("gpumemtrace oom " in line and ".gmt" in line for line in message.splitlines()), message)


def without_stacks():
    """... without stack traces of blocks: the verdict is the same, and says how to see the line"""
    view, lines, _ = verdict_of("losses-oom")
    parts = cause(view, "leak", "guess")
    check("trace_block_stacks" in parts["do"], parts["do"])
    on_screen(lines, "WHY    a leak: ", "--block-stacks")


def batch():
    """a batch that is too large: activations, and the line that asked"""
    view, lines, _ = verdict_of("batch", "--block-stacks")
    parts = cause(view, "activations", "guess")
    equal(place(view, parts["where"][0]["symbol"]), (PROGRAM, line_of("the line")), "the line")
    equal(place(view, parts["asked_symbol"])[0], PROGRAM, "who asked")
    on_screen(lines, "WHY    one iteration needs too much", "a smaller batch", "torch_leaks.py:")


def pieces():
    """free memory in pieces: fragmentation, and the line that asked for one that is larger"""
    view, lines, _ = verdict_of("pieces", "--block-stacks")
    parts = cause(view, "fragmentation", "follows")
    equal(parts["why"][0]["each_bytes"] < 8 << 20, True, "the largest piece")
    equal(place(view, parts["asked_symbol"]), (PROGRAM, line_of("the large one")), "who asked")
    equal(place(view, parts["where"][0]["symbol"]), (PROGRAM, line_of("the small ones")), "who holds")
    on_screen(lines, "WHY    fragmentation: ", f"torch_leaks.py:{line_of('the large one')} ")


def neighbour():
    """another process has filled the GPU: that process, and its line"""
    folder, holder = lib.folder(), Target("oom_cases", "caught", hold="on")
    holder.wait("on")
    tool = Tool("-a", dumps=folder).ready()
    tool.idle()
    target = Target("oom_cases", "killed")
    target.finish()
    lib.until(lambda: any(f"-{target.pid}-" in name for name in os.listdir(folder)))
    holder.go()
    holder.finish()
    tool.stop()
    name = next(name for name in os.listdir(folder) if f"-{target.pid}-" in name)
    view, lines = explained(os.path.join(folder, name))
    parts = cause(view, "neighbour", "guess")
    equal(view["processes"][parts["why"][0]["process"]]["pid"], holder.pid, "who")
    on_screen(lines, f"WHY    another process: pid {holder.pid} ", f"if pid {holder.pid} is yours, end it")


if __name__ == "__main__":
    lib.ready()
    try:
        torchlib.debian()
    except lib.Skip as why:
        print(f"1..0 # SKIP {why}")
    else:
        lib.main(leak, without_stacks, batch, pieces, neighbour)
