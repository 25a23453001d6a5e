# SPDX-License-Identifier: BSD-2-Clause
"""The phases of a training that a recording says itself: the ranges of PyTorch's optimizers, and the calls of backwards."""
import collections
import os
import re
import subprocess

from patience import PATIENCE

BIN = os.path.join(os.environ.get("BUILD", "build"), "gpumemtrace")
PHASES = {"Optimizer.step": "optimizer", "Optimizer.zero_grad": "zero grad"}
RANGE = re.compile(r"^\+(\S+) fw_range pid (\d+) .*object=(\S+) what=(\w+) .*name=(.*)$", re.MULTILINE)


def ranges_of(path, start=0):
    """{pid: {(phase or None, begin, end)}} and {pid: {a backward's begin}}, in nanoseconds."""
    said = subprocess.run([BIN, "records", "--kind", "fw_range", path], capture_output=True, text=True, timeout=PATIENCE,
                          check=False).stdout
    found, begun, backwards = collections.defaultdict(set), {}, collections.defaultdict(set)
    for ts, pid, thing, what, name in RANGE.findall(said):
        at, pid = start + int(ts.replace(".", "")), int(pid)
        if what == "begin":
            begun[pid, thing] = at, name
        elif what == "end" and (pid, thing) in begun:
            from_ns, name = begun.pop((pid, thing))
            found[pid].add((PHASES.get(name.split("#")[0]), from_ns, at))
        elif what == "backward":
            backwards[pid].add(at)
    return found, backwards
