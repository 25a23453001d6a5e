#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Holds memory of every class, which then goes by other means than frees.

    ends_work.py checkpoint|reset|fork
"""
import ctypes
import os
import signal
import sys
from ctypes import byref

import cuda
from cuda import Cuda
from peer import Peer

MIB = 1 << 20
LARGE, SMALL = 2048 * MIB, 64 * MIB
HOST = 2 * MIB


class Work:
    def __init__(self):
        self.cu, self.peer = Cuda(), Peer()
        self.dev = self.cu.device(0)
        self.uuid = self.cu.uuid(self.dev)
        self.live = {"device": 0, "pool": 0, "vmm": 0, "pinned": 0, "registered": 0}

    def checkpoint(self, name, has_context=True, **truth):
        self.peer.checkpoint(name, uuid=self.uuid, live=self.live, has_context=has_context, **truth)

    def take(self, large):
        self.cu.use(self.dev)
        self.address = self.cu.alloc(large)
        self.cu.alloc_async(SMALL)
        self.handle = self.cu.create(SMALL, self.dev)
        self.mapped = self.cu.map(self.handle, SMALL, self.dev)
        self.cu.out("cuMemHostAlloc", HOST, 0)
        self.buffer = ctypes.create_string_buffer(HOST)
        self.cu("cuMemHostRegister_v2", ctypes.addressof(self.buffer), HOST, 0)
        self.cu.sync()
        self.live = {"device": large, "pool": SMALL, "vmm": SMALL, "pinned": HOST, "registered": HOST}

    def reset(self):
        self.take(SMALL)
        self.checkpoint("before")
        self.cu("cuDevicePrimaryCtxReset_v2", self.dev)
        self.live = {"device": 0, "pool": 0, "pinned": 0, "registered": 0}
        self.checkpoint("reset", has_context=False)
        self.take(SMALL)
        del self.live["vmm"]           # the handle from before the reset: it may be there or not
        self.checkpoint("again")

    def save(self):
        """Between the two, somebody else moves all of it to host memory and back."""
        self.take(LARGE)
        self.checkpoint("before")
        self.checkpoint("after")
        self.cu("cuMemFree_v2", self.address)
        self.live["device"] = 0
        self.checkpoint("freed")

    def fork(self):
        self.take(SMALL)
        child = os.fork()
        if not child:
            signal.alarm(600)           # if nobody ends it
            signal.pause()
        self.checkpoint("with a child", child=child)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        self.checkpoint("without", child=child)


if __name__ == "__main__":
    {"checkpoint": Work.save, "reset": Work.reset, "fork": Work.fork}[sys.argv[1]](Work())
