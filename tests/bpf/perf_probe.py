# SPDX-License-Identifier: BSD-2-Clause
"""Sets a return probe as another tracer would: by perf_event_open(2), without tracefs and without a BPF program."""
import ctypes
import os
import struct
import subprocess

PMU = "/sys/bus/event_source/devices/uprobe"
SYS_PERF_EVENT_OPEN = {"x86_64": 298, "aarch64": 241}[os.uname().machine]
ATTR_BYTES = 112        # PERF_ATTR_SIZE_VER5
CONFIG1 = 56            # offset in struct perf_event_attr; CONFIG2 is behind it


def file_offset(path, symbol):
    """Of a function in a file whose code lies at the same offset as in memory less the segment's difference."""
    symbols = subprocess.run(["nm", path], capture_output=True, text=True, check=True).stdout.split("\n")
    address = next(int(line.split()[0], 16) for line in symbols if line.endswith(" T " + symbol))
    headers = subprocess.run(["readelf", "-lW", path], capture_output=True, text=True, check=True).stdout.split("\n")
    for line in headers:
        words = line.split()
        if words[:1] == ["LOAD"]:
            offset, vaddr, size = int(words[1], 16), int(words[2], 16), int(words[4], 16)
            if vaddr <= address < vaddr + size:
                return address - vaddr + offset
    raise ValueError(symbol)


def return_probe(path, symbol, pid):
    """A descriptor: the probe is there until it is closed."""
    with open(PMU + "/type", encoding="ascii") as file:
        kind = int(file.read())
    with open(PMU + "/format/retprobe", encoding="ascii") as file:
        bit = int(file.read().strip().split(":")[1])
    name = ctypes.create_string_buffer(path.encode())
    attr = ctypes.create_string_buffer(ATTR_BYTES)
    struct.pack_into("<IIQQ", attr, 0, kind, ATTR_BYTES, 1 << bit, 1)
    struct.pack_into("<QQ", attr, CONFIG1, ctypes.addressof(name), file_offset(path, symbol))
    descriptor = ctypes.CDLL(None, use_errno=True).syscall(SYS_PERF_EVENT_OPEN, attr, pid, -1, -1, 8)  # FD_CLOEXEC
    if descriptor < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return descriptor
