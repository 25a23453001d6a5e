# SPDX-License-Identifier: BSD-2-Clause
"""Reads the kernel's count of how long BPF programs run."""
import ctypes
import os
import platform

ENABLE_STATS = 32
BPF = {"x86_64": 321, "aarch64": 280}


class Counted:
    """The kernel counts, until this is closed."""

    def __enter__(self):
        attr = (ctypes.c_uint32 * 32)()
        self.fd = ctypes.CDLL(None, use_errno=True).syscall(BPF[platform.machine()], ENABLE_STATS, attr, 4)
        if self.fd < 0:
            raise OSError(ctypes.get_errno(), "the kernel does not count how long BPF programs run")
        return self

    def __exit__(self, *_):
        os.close(self.fd)


def programs(pid):
    """{id: what the kernel says of it} of all programs of a process: those it holds, and those its links hold."""
    found = {}
    for fd in os.listdir(f"/proc/{pid}/fdinfo"):
        try:
            with open(f"/proc/{pid}/fdinfo/{fd}", encoding="utf-8") as file:
                fields = dict(line.split(":", 1) for line in file if ":" in line)
        except OSError:
            continue
        if "run_time_ns" in fields:
            found[int(fields["prog_id"])] = fields
    return found


def ran(pid):
    """(nanoseconds, runs) of all programs of a process."""
    found = programs(pid).values()
    return tuple(sum(int(fields[name]) for fields in found) for name in ("run_time_ns", "run_cnt"))
