#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The BPF programs stay far below the limits of kernels. The verifier takes most of the time until tracing begins, and
gives up after a million instructions of a program; other kernels get there sooner than this kernel. The memory of maps
is taken from the machine."""
import ctypes
import os
import platform
import re
import struct
import sys

import lib
from lib import Target, Tool, check

sys.path.insert(1, os.path.join(lib.TOP, "tests"))
import bpf_stats  # noqa: E402

BPF = bpf_stats.BPF.get(platform.machine())
PROG_GET_FD_BY_ID, OBJ_GET_INFO_BY_FD = 13, 15
NAME_AT, VERIFIED_AT, INFO_BYTES = 64, 216, 224      # in struct bpf_prog_info, include/uapi/linux/bpf.h of Linux 5.16
MOST = 200_000
TASK_STORAGE = 29                      # BPF_MAP_TYPE_TASK_STORAGE
SHARD_BYTES = 8 << 20                  # of one map of unwinding tables


def bpf(command, attr):
    """A file descriptor, or 0."""
    buffer = ctypes.create_string_buffer(attr, 128)
    got = ctypes.CDLL(None, use_errno=True).syscall(BPF, command, buffer, len(buffer))
    check(got >= 0, f"bpf({command})", os.strerror(ctypes.get_errno()))
    return got


def verified(program):
    """(name, instructions that the verifier went through)"""
    fd = bpf(PROG_GET_FD_BY_ID, struct.pack("I", program))
    info = ctypes.create_string_buffer(INFO_BYTES)
    bpf(OBJ_GET_INFO_BY_FD, struct.pack("IIQ", fd, len(info), ctypes.addressof(info)))
    os.close(fd)
    return info.raw[NAME_AT:].split(b"\0")[0].decode(), struct.unpack_from("I", info.raw, VERIFIED_AT)[0]


def few_instructions():
    """no program is more than a fifth of what the verifier takes"""
    target = Target("longrun", "forever")
    target.wait("ready")
    tool = Tool("-p", str(target.pid), "--block-stacks", "--requested-sizes").ready()
    found = dict(map(verified, bpf_stats.programs(tool.popen.pid)))
    tool.stop()
    target.popen.kill()
    check("call_enter" in found and min(found.values()) > 0, "programs", found)
    check(max(found.values()) < MOST, "instructions", found)


def maps_of(pid):
    """(value size, memlock in bytes, type) of each map that the process holds"""
    found = {}
    for fd in os.listdir(f"/proc/{pid}/fdinfo"):
        try:
            with open(f"/proc/{pid}/fdinfo/{fd}", encoding="ascii") as file:
                fields = dict(line.split(":\t", 1) for line in file.read().splitlines() if ":\t" in line)
        except FileNotFoundError:       # closed meanwhile
            continue
        if "map_id" in fields:
            found[int(fields["map_id"])] = [int(fields[name]) for name in ("value_size", "memlock", "map_type")]
    return found.values()


def little_memory():
    """a thread keeps less than 7.5 KiB in the kernel; all maps but the tables less than 36 MiB and 112 KiB for each CPU"""
    target = Target("longrun", "forever")
    target.wait("ready")
    tool = Tool("-p", str(target.pid), "--block-stacks", "--requested-sizes").ready()
    found = maps_of(tool.popen.pid)
    tool.stop()
    target.popen.kill()
    with open("/sys/devices/system/cpu/possible", encoding="ascii") as file:
        cpus = int(re.findall(r"\d+", file.read())[-1]) + 1
    threads = [size for size, _, kind in found if kind == TASK_STORAGE]
    check(threads and sum(threads) <= 7680, "of each thread", threads)
    maps = sum(memlock for size, memlock, _ in found if memlock < SHARD_BYTES or size > 8)
    check(0 < maps < (36 << 20) + cpus * (112 << 10), "maps", maps, sorted(found))


if __name__ == "__main__":
    if not BPF:
        print("1..0 # skip the number of bpf(2) is not known here")
    else:
        lib.main(few_instructions, little_memory)
