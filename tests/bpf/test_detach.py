#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Detach leaves nothing behind: no program in the kernel, no breakpoint in the target, nothing on disk."""
import os
import shutil
import signal
import time

import lib
import bpf_stats
from lib import LIB, Target, Tool, check, equal, until

FILES = 100             # one after the other, their links take a tenth of a second each file
MOST = 5.0              # seconds


def code_of(pid, name="libcuda"):
    """The bytes of the target's mapped libcuda code."""
    with open(f"/proc/{pid}/maps", encoding="ascii", errors="replace") as file:
        line = [l for l in file if name in l and " r-xp " in l][0]
    start, end = (int(x, 16) for x in line.split()[0].split("-"))
    with open(f"/proc/{pid}/mem", "rb") as file:
        file.seek(start)
        return file.read(end - start)


def breakpoints():
    """probes are in the target's code while it is traced, and gone afterwards, however the tool ends"""
    copy = lib.unknown_copy(LIB)
    target = Target("longrun", "forever", env={"LD_PRELOAD": copy})
    target.wait("ready")
    before = code_of(target.pid, copy)
    for number in signal.SIGINT, signal.SIGKILL:
        tool = Tool("-p", str(target.pid), "--libcuda", copy).ready()
        during = code_of(target.pid, copy)
        changed = sum(a != b for a, b in zip(before, during))
        check(changed > 100, f"only {changed} bytes differ while it is traced")
        tool.send(number)
        tool.popen.wait()
        check(until(lambda: code_of(target.pid, copy) == before), f"the code is not as before after signal {number}")
    check(target.popen.poll() is None, "the target has ended")


def kernel_objects():
    """no BPF program stays in the kernel"""
    target = Target("longrun", "forever")
    target.wait("ready")
    for number in signal.SIGINT, signal.SIGKILL:
        tool = Tool("-p", str(target.pid)).ready()
        mine = set(bpf_stats.programs(tool.pid))
        check(mine and mine <= bpf_stats.loaded(), "no programs while it runs?", mine)
        tool.send(number)
        tool.popen.wait()
        check(until(lambda: not bpf_stats.loaded() & mine), "programs stay", bpf_stats.loaded() & mine)


def attach_again_and_again():
    """ten attaches and detaches to a process that allocates on: its results are the same"""
    untraced = Target("threads", "4", "100000")
    wanted = untraced.finish()
    target = Target("threads", "4", "100000")
    target.wait("start")
    for _ in range(10):
        if target.popen.poll() is None:
            tool = Tool("-p", str(target.pid), "-d", "0.1")
            tool.finish()
    equal(target.finish(), wanted, "status and output")


def many_files():
    """the probes of many files are removed at once: the kernel's waits do not add up"""
    if "(uprobe_multi)" not in lib.run([lib.TOOL, "doctor"]).stdout:
        raise lib.Skip("no uprobe_multi")
    place, arguments = lib.folder(), []
    for i in range(FILES):
        os.mkdir(f"{place}/{i}")
        arguments += ["--libcuda", shutil.copy(LIB, f"{place}/{i}/libcuda.so.1")]
    tool = Tool("-a", "--layers", "api", *arguments).ready()
    asked = time.monotonic()
    tool.stop()
    took = time.monotonic() - asked
    check(took < MOST, f"the end took {took:.1f} s")


def nothing_on_disk():
    """no file is left in /tmp, /run, /var/run, /sys/fs/bpf or the working directory"""
    places = ["/tmp", "/run", "/sys/fs/bpf", "/dev/shm", os.getcwd()]

    def files():
        return {p: {f for f in os.listdir(p) if "gpumem" in f} for p in places if os.path.isdir(p)}
    target = Target("longrun", "forever")
    target.wait("ready")
    before = files()
    Tool("-p", str(target.pid)).ready().stop()
    new = {place: found - before[place] for place, found in files().items()}
    check(not any(new.values()), "files", new)


if __name__ == "__main__":
    lib.main(breakpoints, kernel_objects, attach_again_and_again, many_files, nothing_on_disk)
