# SPDX-License-Identifier: BSD-2-Clause
"""Sets a return probe as another tracer would: by perf_event_open(2), without tracefs and without a BPF program."""
import ctypes
import os
import struct

PMU = "/sys/bus/event_source/devices/uprobe"
SYS_PERF_EVENT_OPEN = {"x86_64": 298, "aarch64": 241}[os.uname().machine]
ATTR_BYTES = 112        # PERF_ATTR_SIZE_VER5
CONFIG1 = 56            # offset in struct perf_event_attr; CONFIG2 is behind it


SECTIONS_AT, SEGMENTS_AT = 40, 32       # e_shoff and e_phoff of Elf64_Ehdr, elf(5)
SYMTAB, LOAD = 2, 1                     # SHT_SYMTAB, PT_LOAD


def headers(elf, at, number_at, form):
    """The section or the segment headers of an ELF file of 64 bits."""
    start, = struct.unpack_from("<Q", elf, at)
    size, count = struct.unpack_from("<HH", elf, number_at)
    return [struct.unpack_from(form, elf, start + i * size) for i in range(count)]


def addresses(elf):
    """{name: address} of the symbols."""
    sections, found = headers(elf, SECTIONS_AT, 58, "<IIQQQQIIQQ"), {}
    for _, kind, _, _, offset, size, link, _, _, entry in sections:
        for at in range(offset, offset + size, entry) if kind == SYMTAB else ():
            name, _, _, _, value, _ = struct.unpack_from("<IBBHQQ", elf, at)
            start = sections[link][4] + name
            found[elf[start:elf.index(b"\0", start)].decode()] = value
    return found


def file_offset(path, symbol):
    """Of a function in a file."""
    with open(path, "rb") as file:
        elf = file.read()
    address = addresses(elf)[symbol]
    for kind, _, offset, vaddr, _, size, _, _ in headers(elf, SEGMENTS_AT, 54, "<IIQQQQQQ"):
        if kind == LOAD and vaddr <= address < vaddr + size:
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
