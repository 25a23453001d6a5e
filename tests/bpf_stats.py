# SPDX-License-Identifier: BSD-2-Clause
"""Which BPF programs the kernel has, and how long they ran."""
import ctypes
import os
import platform

GET_NEXT_ID, ENABLE_STATS = 11, 32      # BPF_PROG_GET_NEXT_ID and BPF_ENABLE_STATS of linux/bpf.h
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


def loaded():
    """Ids of all programs in the kernel."""
    libc = ctypes.CDLL(None, use_errno=True)
    ids, attr = set(), (ctypes.c_uint32 * 32)()
    while not libc.syscall(BPF[platform.machine()], GET_NEXT_ID, ctypes.byref(attr), ctypes.sizeof(attr)):
        ids.add(attr[1])
        attr[0] = attr[1]
    return ids


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
