# SPDX-License-Identifier: BSD-2-Clause
"""steady_allocations.py LIBCUDA ROUNDS: allocates and frees from the same Python functions again and again, so that the
names of its stacks do not depend on how soon its files are read."""
import ctypes
import sys
import time

CUDA = ctypes.CDLL(sys.argv[1])
CONTEXT, ADDRESS = ctypes.c_void_p(), ctypes.c_uint64()


def allocate(size):
    CUDA.cuMemAlloc_v2(ctypes.byref(ADDRESS), ctypes.c_size_t(size))


def one_round():
    allocate(1 << 20)
    CUDA.cuMemFree_v2(ADDRESS)


CUDA.cuInit(0)
CUDA.cuDevicePrimaryCtxRetain(ctypes.byref(CONTEXT), 0)
CUDA.cuCtxSetCurrent(CONTEXT)
for _ in range(int(sys.argv[2])):
    one_round()
    time.sleep(0.02)
allocate(2 << 20)
