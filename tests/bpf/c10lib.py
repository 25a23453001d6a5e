# SPDX-License-Identifier: BSD-2-Clause
"""The stand-in libc10: its own statistics, and a run of its program under gpumemtrace from before the first allocation."""
from lib import C10, GPU_A, GPU_B, Target, Tool, equal

DEVICES = {0: GPU_B, 1: GPU_A}      # as CUDA numbers them


def truth_of(out, of="torch."):
    lines = (line.split("=") for line in out.splitlines() if line.startswith(of))
    return {tuple(key.split(".", 2)[1:]): int(value) for key, value in lines}


def whole_run(*options):
    """(pid, what the program said)"""
    target = Target("torch", C10, hold="loaded,end")
    target.wait("loaded")
    tool = Tool("-p", str(target.pid), *options).ready()
    target.go()
    target.wait("end")      # a process that has ended takes the names of its functions along
    tool.stop()
    target.go()
    status, out = target.finish()
    equal(status, 0, "exit status")
    return target.pid, out
