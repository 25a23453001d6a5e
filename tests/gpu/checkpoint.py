#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Moves the GPU memory of another process to host memory, or back, by the driver API (CUDA 12.8 and later).

    checkpoint.py save|restore PID

Exit status: 0 done, 3 this driver cannot do it.
"""
import ctypes
import sys

import cuda

STEPS = {"save": ("cuCheckpointProcessLock", "cuCheckpointProcessCheckpoint"),
         "restore": ("cuCheckpointProcessRestore", "cuCheckpointProcessUnlock")}
NOT_SUPPORTED = 801                    # cuda.h, CUDA_ERROR_NOT_SUPPORTED


def main():
    cu = cuda.Cuda()
    for name in STEPS[sys.argv[1]]:
        if not cu.has(name):
            print(f"libcuda has no {name}", file=sys.stderr)
            return 3
        arguments = (ctypes.c_uint64 * 8)()            # each structure of arguments has 64 bytes; 0: the defaults
        code = cu(name, ctypes.c_int(int(sys.argv[2])), arguments, may_fail=True)
        if code:
            print(f"{name} returned {code}", file=sys.stderr)
            return 3 if code == NOT_SUPPORTED else 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
