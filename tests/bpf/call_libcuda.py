#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""call_libcuda.py LIBRARY: calls, for each symbol name on standard input, the pointer that cuGetProcAddress returns for
the name.

Answers one line for each: the symbol, its result (every call fails where there is no GPU), whether the pointer
is one that cuGetProcAddress gives, and its address. Six arguments that point to zeroed memory satisfy every
prototype here.
"""
import ctypes
import re
import sys

VERSIONS = (13000, 12080, 12050, 12040, 12030, 12020, 12010, 12000, 11060, 11040, 11030, 11020, 11010, 11000,
            10020, 10010, 10000, 9020, 8000, 7000, 6050, 6000, 5050, 5000, 4010, 4000, 3020, 3010, 3000,
            2030, 2020, 2010, 2000)


def pointer(library, symbol):
    """The pointer for exactly this variant: of all versions and both flavours, the one that equals the export."""
    exported = ctypes.cast(getattr(library, symbol), ctypes.c_void_p).value
    base = re.sub(r"(_v\d+)?(_ptsz)?$", "", symbol)
    status = ctypes.c_int()
    for version in VERSIONS:
        for flags in (0, 2):
            pfn = ctypes.c_void_p()
            rc = library.cuGetProcAddress_v2(base.encode(), ctypes.byref(pfn), version, ctypes.c_uint64(flags),
                                             ctypes.byref(status))
            if not rc and pfn.value == exported:
                return exported, True
    return exported, False


def main():
    library = ctypes.CDLL(sys.argv[1])
    memory = ctypes.create_string_buffer(65536)
    print("ready", flush=True)
    for line in sys.stdin:
        symbol = line.strip()
        if not hasattr(library, symbol):
            print(symbol, "absent", flush=True)
            continue
        address, same = pointer(library, symbol)
        arguments = [ctypes.c_uint64(ctypes.addressof(memory) + 8192 * i) for i in range(6)]
        if symbol == "cuInit":
            arguments[0] = ctypes.c_uint64(0)
        rc = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_uint64] * 6)(address)(*arguments)
        print(symbol, rc, "proc" if same else "export", address, flush=True)


main()
