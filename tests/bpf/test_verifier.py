#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What the kernel's verifier has to do: it takes most of the time until tracing begins, and it gives up at a million
instructions of a program, on other kernels sooner than on this one."""
import ctypes
import os
import platform
import struct

import lib
from lib import Target, Tool, check

BPF = {"x86_64": 321, "aarch64": 280}.get(platform.machine())
PROG_GET_FD_BY_ID, OBJ_GET_INFO_BY_FD = 13, 15
NAME_AT, VERIFIED_AT, INFO_BYTES = 64, 216, 224      # in struct bpf_prog_info, include/uapi/linux/bpf.h of Linux 5.16
MOST = 200_000


def bpf(command, attr):
    """A file descriptor, or 0."""
    buffer = ctypes.create_string_buffer(attr, 128)
    got = ctypes.CDLL(None, use_errno=True).syscall(BPF, command, buffer, len(buffer))
    check(got >= 0, f"bpf({command})", os.strerror(ctypes.get_errno()))
    return got


def programs_of(pid):
    """The ids of the BPF programs that a process holds."""
    found = set()
    for fd in os.listdir(f"/proc/{pid}/fdinfo"):
        try:
            with open(f"/proc/{pid}/fdinfo/{fd}", encoding="utf-8") as file:
                found.update(int(line.split()[1]) for line in file if line.startswith("prog_id:"))
        except OSError:
            continue
    return found


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
    found = dict(map(verified, programs_of(tool.popen.pid)))
    tool.stop()
    target.popen.kill()
    check("call_enter" in found and min(found.values()) > 0, "programs", found)
    check(max(found.values()) < MOST, "instructions", found)


if __name__ == "__main__":
    if not BPF:
        print("1..0 # skip the number of bpf(2) is not known here")
    else:
        lib.main(few_instructions)
