#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Detach leaves nothing behind: no program in the kernel, no breakpoint in the target, nothing on disk."""
import ctypes
import os
import re
import signal
import time

import lib
from lib import Target, Tool, check, equal


def bpf_objects():
    """How many programs, maps and links are held by open files of gpumemtrace or anybody else we can see."""
    count = {"prog": 0, "map": 0, "link": 0}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/comm", encoding="ascii", errors="replace") as file:
                comm = file.read().strip()
            fds = os.listdir(f"/proc/{pid}/fd") if comm == "gpumemtrace" else []
        except OSError:
            continue
        for fd in fds:
            try:
                kind = re.match(r"anon_inode:bpf[-_](prog|map|link)", os.readlink(f"/proc/{pid}/fd/{fd}"))
            except OSError:
                continue
            if kind:
                count[kind.group(1)] += 1
    return count


def loaded_programs():
    """Ids of all programs in the kernel, by BPF_PROG_GET_NEXT_ID."""
    libc = ctypes.CDLL(None, use_errno=True)
    number = 280 if os.uname().machine == "aarch64" else 321
    ids, attr = set(), (ctypes.c_uint32 * 32)()
    while not libc.syscall(number, 11, ctypes.byref(attr), ctypes.sizeof(attr)):
        ids.add(attr[1])
        attr[0] = attr[1]
    return ids


def settle(found):
    """The kernel frees programs a little later: waits for it."""
    end = time.monotonic() + 5
    while not found() and time.monotonic() < end:
        time.sleep(0.05)
    return found()


def code_of(pid):
    """The bytes of the target's mapped libcuda code."""
    with open(f"/proc/{pid}/maps", encoding="ascii", errors="replace") as file:
        line = [l for l in file if "libcuda" in l and " r-xp " in l][0]
    start, end = (int(x, 16) for x in line.split()[0].split("-"))
    with open(f"/proc/{pid}/mem", "rb") as file:
        file.seek(start)
        return file.read(end - start)


def breakpoints():
    """probes are in the target's code while it is traced, and gone afterwards, however the tool ends"""
    lib.alone()
    target = Target("longrun", "forever")
    target.wait("ready")
    before = code_of(target.pid)
    for number in signal.SIGINT, signal.SIGKILL:
        tool = Tool("-p", str(target.pid)).ready()
        during = code_of(target.pid)
        changed = sum(a != b for a, b in zip(before, during))
        check(changed > 100, f"only {changed} bytes differ while it is traced")
        tool.send(number)
        tool.popen.wait()
        check(settle(lambda: code_of(target.pid) == before), f"the code is not as before after signal {number}")
    time.sleep(0.2)
    check(target.popen.poll() is None, "the target has ended")


def kernel_objects():
    """no BPF program stays in the kernel"""
    target = Target("longrun", "forever")
    target.wait("ready")
    before = loaded_programs()
    for number in signal.SIGINT, signal.SIGKILL:
        tool = Tool("-p", str(target.pid)).ready()
        mine = loaded_programs() - before
        check(mine, "no programs while it runs?")
        check(bpf_objects()["prog"] > 0, "no open programs?")
        tool.send(number)
        tool.popen.wait()
        check(settle(lambda: not loaded_programs() & mine), "programs stay", loaded_programs() & mine)


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


def nothing_on_disk():
    """no file is left in /tmp, /run, /var/run, /sys/fs/bpf or the working directory"""
    places = ["/tmp", "/run", "/sys/fs/bpf", "/dev/shm", os.getcwd()]

    def files():
        return {p: {f for f in os.listdir(p) if "gpumem" in f} for p in places if os.path.isdir(p)}
    target = Target("longrun", "forever")
    target.wait("ready")
    before = files()
    Tool("-p", str(target.pid)).ready().stop()
    equal(files(), before, "files")


if __name__ == "__main__":
    lib.main(breakpoints, kernel_objects, attach_again_and_again, nothing_on_disk)
