#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""One process exports memory and another process imports it, by cuIpc and by cuMemCreate's file descriptor.

    ipc_work.py export|import

The handles go through the test's answers: what the exporter says is what the importer is told.
"""
import ctypes
import os
import sys
from ctypes import byref

import cuda
from cuda import Cuda
from peer import Peer

MIB = 1 << 20
SIZE = 256 * MIB
SYS_PIDFD_GETFD = 438              # x86-64 and arm64, include/uapi/asm-generic/unistd.h


def export(cu, peer, dev, uuid):
    ptr = cu.alloc(SIZE)
    handle = cuda.IpcHandle()
    cu("cuIpcGetMemHandle", byref(handle), ptr)
    shared = cu.create(SIZE, dev, cuda.POSIX_FD)
    fd = ctypes.c_int()
    cu("cuMemExportToShareableHandle", byref(fd), shared, cuda.POSIX_FD, 0)
    peer.checkpoint("exported", uuid=uuid, ipc=bytes(handle.bytes).hex(), fd=fd.value,
                    live={"device": SIZE, "vmm": SIZE})
    peer.checkpoint("imported by the other", uuid=uuid, live={"device": SIZE, "vmm": SIZE})


def import_(cu, peer, dev, uuid):
    told = peer.checkpoint("ready", uuid=uuid, live={})
    handle = cuda.IpcHandle.from_buffer_copy(bytes.fromhex(told["ipc"]))
    ptr = cu.out("cuIpcOpenMemHandle_v2", handle, ctypes.c_uint(1))
    peer.checkpoint("ipc opened", uuid=uuid, live={"device": 0, "vmm": 0})
    fd = ctypes.CDLL(None, use_errno=True).syscall(SYS_PIDFD_GETFD, os.pidfd_open(told["pid"]), told["fd"], 0)
    if fd < 0:
        raise OSError(ctypes.get_errno(), "pidfd_getfd")
    shared = cu.out("cuMemImportFromShareableHandle", ctypes.c_void_p(fd), cuda.POSIX_FD)
    address = cu.map(shared, SIZE, dev)
    peer.checkpoint("vmm imported", uuid=uuid, live={"device": 0, "vmm": 0})
    cu("cuIpcCloseMemHandle", ptr)
    cu.unmap(address, SIZE)
    cu("cuMemRelease", shared)
    os.close(fd)
    peer.checkpoint("closed", uuid=uuid, live={"device": 0, "vmm": 0})


def main():
    cu, peer = Cuda(), Peer()
    dev = cu.device(0)
    cu.use(dev)
    (export if sys.argv[1] == "export" else import_)(cu, peer, dev, cu.uuid(dev))


if __name__ == "__main__":
    main()
