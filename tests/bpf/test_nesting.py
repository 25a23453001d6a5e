#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Calls inside calls count once: WSL puts a loader stub in front of the driver, and both export the API (HAMi-core
#326)."""
import os
import subprocess
import sys

import lib
from lib import Tool, Process, equal, process_of

# The forwarding function calls the real one, or jumps to it: then both are entered with one stack pointer.
STUB = r"""
#include <dlfcn.h>
#include <stdlib.h>
static void *real(const char *name)
{
	static void *handle;

	if (!handle)
		handle = dlopen(getenv("STUB_REAL"), RTLD_NOW | RTLD_LOCAL);
	return dlsym(handle, name);
}
#define FORWARD(name)                                                                        \
	static long (*name##_real)(long, long, long);                                        \
	long name(long a, long b, long c)                                                    \
	{                                                                                    \
		if (!name##_real)                                                            \
			name##_real = (long (*)(long, long, long))real(#name);               \
		return RESULT(name##_real(a, b, c));                                         \
	}
FORWARD(cuInit) FORWARD(cuDevicePrimaryCtxRetain) FORWARD(cuCtxSetCurrent) FORWARD(cuMemAlloc_v2)
FORWARD(cuMemFree_v2) FORWARD(cuMemHostAlloc) FORWARD(cuMemFreeHost) FORWARD(cuCtxDestroy_v2)
"""
FLAVOURS = {"call": ("-DRESULT(x)=((x) | 0 * (long)__builtin_frame_address(0))", "-O0"),
            "jump": ("-DRESULT(x)=(x)", "-O2", "-fomit-frame-pointer", "-foptimize-sibling-calls")}

WORK = r"""
import ctypes, sys
cuda = ctypes.CDLL(sys.argv[1])
ptr, ctx = ctypes.c_uint64(), ctypes.c_uint64()
u64 = ctypes.c_uint64
assert cuda.cuInit(0) == 0
assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(ctx), 0) == 0
assert cuda.cuCtxSetCurrent(ctx) == 0
for i in range(20):
    assert cuda.cuMemAlloc_v2(ctypes.byref(ptr), u64(1 << 20)) == 0
    if i % 2:
        assert cuda.cuMemFree_v2(ptr) == 0
assert cuda.cuMemAlloc_v2(ctypes.byref(ptr), u64(1 << 50)) == 2
assert cuda.cuMemFree_v2(u64(0x1234000)) != 0
assert cuda.cuMemHostAlloc(ctypes.byref(ptr), u64(1 << 20), 0) == 0
print("done", flush=True)
sys.stdin.read()
"""


def behind(flavour):
    folder = lib.folder()
    source, stub = os.path.join(folder, "stub.c"), os.path.join(folder, "libcuda.so.1")
    with open(source, "w", encoding="ascii") as file:
        file.write(STUB)
    subprocess.run(["gcc", "-shared", "-fPIC", "-w", *FLAVOURS[flavour], source, "-o", stub, "-ldl"], check=True)
    tool = Tool("-a", "--libcuda", stub).ready()
    work = Process([sys.executable, "-c", WORK, stub], env=lib.environment(STUB_REAL=lib.LIB))
    work.wait_line(lambda: "done\n" in work.out, "the workload's end")
    report = lib.settled(tool, work.pid)
    device = process_of(report, work.pid)["classes"]["device"]
    equal((device["allocs"], device["frees"], device["failed"]), (20, 10, 1), "allocations, frees, failures")
    equal(device["live_bytes"], 10 << 20, "live bytes")
    equal(process_of(report, work.pid)["classes"]["pinned"]["allocs"], 1, "pinned")
    # The free of an address that never was has failed, so it is taken back whole.
    wrong = {k: v for k, v in process_of(report, work.pid)["anomalies"].items() if v}
    equal(wrong, {}, "anomalies")
    equal(sum(report["losses"].values()), 0, "losses")
    work.popen.stdin.close()
    work.finish()


def called():
    """a stub that calls the driver: each call counts once"""
    behind("call")


def jumped():
    """a stub that jumps to the driver: each call counts once"""
    behind("jump")


if __name__ == "__main__":
    lib.main(called, jumped)
