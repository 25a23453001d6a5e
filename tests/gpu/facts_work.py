#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Makes one call of each kind, with a checkpoint before and after, so that a recording shows how libcuda carries out
the call. `facts_work.py` once; with a second process for the import."""
import ctypes
import sys
from ctypes import byref

import cuda
from cuda import Cuda
from peer import Peer

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


def main():
    peer = Peer()
    peer.checkpoint("start")
    cu = Cuda()
    peer.checkpoint("cuInit")
    dev = cu.device(0)
    cu.use(dev)
    peer.checkpoint("cuDevicePrimaryCtxRetain")
    if sys.argv[1:]:
        told = peer.checkpoint("ready")
        handle = cuda.IpcHandle.from_buffer_copy(bytes.fromhex(told["ipc"]))
        ptr = cu.out("cuIpcOpenMemHandle_v2", handle, ctypes.c_uint(1))
        peer.checkpoint("cuIpcOpenMemHandle_v2, 1 GiB")
        cu("cuIpcCloseMemHandle", ptr)
        peer.checkpoint("cuIpcCloseMemHandle")
        return
    ptrs = []
    for size, text in ((KIB, "1 KiB"), (KIB, "1 KiB again"), (MIB, "1 MiB"), (3 * MIB, "3 MiB"), (GIB, "1 GiB")):
        ptrs.append(cu.alloc(size))
        peer.checkpoint(f"cuMemAlloc_v2 {text}")
    handle = cuda.IpcHandle()
    cu("cuIpcGetMemHandle", byref(handle), ptrs[-1])
    peer.checkpoint("cuIpcGetMemHandle of it", ipc=bytes(handle.bytes).hex())
    for ptr, text in zip(ptrs, ("1 KiB", "1 KiB again", "1 MiB", "3 MiB", "1 GiB")):
        cu("cuMemFree_v2", ptr)
        peer.checkpoint(f"cuMemFree_v2 {text}")
    ptr = cu.alloc_async(10 * MIB)
    peer.checkpoint("cuMemAllocAsync 10 MiB")
    more = cu.alloc_async(100 * MIB)
    peer.checkpoint("cuMemAllocAsync 100 MiB")
    cu("cuMemFreeAsync", ptr, 0)
    cu("cuMemFreeAsync", more, 0)
    peer.checkpoint("cuMemFreeAsync of both")
    cu.sync()
    peer.checkpoint("cuCtxSynchronize")
    shared = cu.create(20 * MIB, dev)
    peer.checkpoint("cuMemCreate 20 MiB")
    address = cu.map(shared, 20 * MIB, dev)
    peer.checkpoint("cuMemMap, cuMemSetAccess")
    cu.unmap(address, 20 * MIB)
    peer.checkpoint("cuMemUnmap, cuMemAddressFree")
    cu("cuMemRelease", shared)
    peer.checkpoint("cuMemRelease")
    host = cu.out("cuMemHostAlloc", 16 * MIB, 0)
    peer.checkpoint("cuMemHostAlloc 16 MiB")
    cu("cuMemFreeHost", host)
    managed = cu.out("cuMemAllocManaged", 8 * MIB, 1)
    peer.checkpoint("cuMemAllocManaged 8 MiB")
    cu("cuMemFree_v2", managed)
    cu("cuDevicePrimaryCtxReset_v2", dev)
    peer.checkpoint("cuDevicePrimaryCtxReset_v2")


if __name__ == "__main__":
    main()
