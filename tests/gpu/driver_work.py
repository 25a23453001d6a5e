#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A workload of plain driver API calls on the first GPU, without a framework: every way to get memory, one after
another, with a checkpoint after each. `live` is what the classes must show at the checkpoint.

    driver_work.py           all of it; exit status 0
    driver_work.py forever   some memory of each kind, then waits to be killed
"""
import ctypes
import mmap
import sys
from ctypes import byref, c_size_t, c_uint

import cuda
from cuda import Cuda
from peer import Peer

MIB = 1 << 20
# A module with 16 MiB of global data and one kernel.
PTX = b""".version 6.0
.target sm_50
.address_size 64
.visible .global .align 8 .b8 buffer[16777216];
.visible .entry nothing() { ret; }
\0"""


class Work:
    def __init__(self):
        self.cu = Cuda()
        self.peer = Peer()
        self.dev = self.cu.device(0)
        self.uuid = self.cu.uuid(self.dev)
        self.live = {}             # class -> bytes; only classes that were used
        self.free_before = None

    def charge(self, cls, size):
        self.live[cls] = self.live.get(cls, 0) + size

    def checkpoint(self, name, **more):
        free = self.cu.free_bytes() if more.pop("has_context", True) else None
        taken = self.free_before - free if free is not None and self.free_before is not None else None
        self.free_before = free
        return self.peer.checkpoint(name, uuid=self.uuid, live=dict(self.live), taken=taken, **more)

    # ---- steps ----

    def context(self):
        self.cu.use(self.dev)

    def small(self):
        """Small allocations come out of one block of 2 MiB: physical grows less than it is asked for."""
        self.ptrs = [self.cu.alloc(s) for s in (1, 1024, 4096, 100_000, MIB, 3 * MIB)]
        self.charge("device", 1 + 1024 + 4096 + 100_000 + 4 * MIB)

    def large(self):
        self.ptrs.append(self.cu.alloc(256 * MIB))
        self.charge("device", 256 * MIB)

    def pitch(self):
        pitch = c_size_t()
        self.ptrs.append(self.cu.out("cuMemAllocPitch_v2", byref(pitch), 1000, 3000, 4))
        self.charge("device", pitch.value * 3000)
        self.pitched = pitch.value * 3000

    def free(self):
        for ptr in self.ptrs:
            self.cu("cuMemFree_v2", ptr)
        self.cu("cuMemFree_v2", 0)
        self.charge("device", -self.live["device"])

    def pool(self):
        self.ptrs = [self.cu.alloc_async(10 * MIB) for _ in range(3)]
        self.cu.sync()
        self.charge("pool", 30 * MIB)

    def pool_free(self):
        """Freed to the pool; the default release threshold of 0 gives it back at the synchronisation."""
        for ptr in self.ptrs[1:]:
            self.cu("cuMemFreeAsync", ptr, 0)
        self.cu.sync()
        self.charge("pool", -20 * MIB)

    def pool_trim(self):
        self.cu("cuMemFreeAsync", self.ptrs[0], 0)
        self.cu.sync()
        self.cu("cuMemPoolTrimTo", self.cu.out("cuDeviceGetDefaultMemPool", self.dev), 0)
        self.charge("pool", -10 * MIB)

    def own_pool(self):
        props = cuda.PoolProps(type=cuda.PINNED, location=cuda.Location(cuda.DEVICE, self.dev))
        self.memory_pool = self.cu.out("cuMemPoolCreate", byref(props))
        keep = ctypes.c_ulonglong(1 << 62)
        self.cu("cuMemPoolSetAttribute", self.memory_pool, 4, byref(keep))   # RELEASE_THRESHOLD
        self.ptrs = [self.cu.out("cuMemAllocFromPoolAsync", 40 * MIB, self.memory_pool, 0) for _ in range(2)]
        self.cu.sync()
        self.charge("pool", 80 * MIB)

    def own_pool_reserve(self):
        """Freed, but the pool keeps it."""
        self.cu("cuMemFreeAsync", self.ptrs.pop(), 0)
        self.cu.sync()
        self.charge("pool", -40 * MIB)

    def own_pool_destroy(self):
        self.cu("cuMemFreeAsync", self.ptrs.pop(), 0)
        self.cu.sync()
        self.cu("cuMemPoolDestroy", self.memory_pool)
        self.charge("pool", -40 * MIB)

    def vmm(self):
        self.size = 20 * MIB
        self.handles = [self.cu.create(self.size, self.dev) for _ in range(3)]
        self.charge("vmm", 3 * self.size)

    def vmm_map(self):
        """One is released while it is mapped: it stays."""
        self.vas = [self.cu.map(h, self.size, self.dev) for h in self.handles[:2]]
        self.cu("cuMemRelease", self.handles[0])

    def vmm_unmap(self):
        """The released one goes with its mapping, the other one stays."""
        for va in self.vas:
            self.cu.unmap(va, self.size)
        self.charge("vmm", -self.size)

    def vmm_release(self):
        self.cu("cuMemRelease", self.handles[1])
        self.cu("cuMemRelease", self.handles[2])
        self.charge("vmm", -2 * self.size)

    def sleep(self):
        """As an engine that sleeps: the memory goes, the addresses stay."""
        self.handles = [self.cu.create(self.size, self.dev) for _ in range(2)]
        self.vas = [self.cu.map(h, self.size, self.dev) for h in self.handles]
        for va, handle in zip(self.vas, self.handles):
            self.cu("cuMemUnmap", va, self.size)
            self.cu("cuMemRelease", handle)

    def wake(self):
        """New memory where the old one was; released at once, it lives as long as it is mapped."""
        for va in self.vas:
            handle = self.cu.create(self.size, self.dev)
            self.cu.map_at(va, handle, self.size, self.dev)
            self.cu("cuMemRelease", handle)
        self.charge("vmm", 2 * self.size)

    def wake_end(self):
        for va in self.vas:
            self.cu.unmap(va, self.size)
        self.charge("vmm", -2 * self.size)

    def one_unmap(self):
        """As ggml: pieces side by side in one range, each released once it is mapped."""
        self.range = self.cu.out("cuMemAddressReserve", 8 * self.size, 0, 0, 0)
        for i in range(3):
            handle = self.cu.create(self.size, self.dev)
            self.cu.map_at(self.range + i * self.size, handle, self.size, self.dev)
            self.cu("cuMemRelease", handle)
        self.charge("vmm", 3 * self.size)

    def one_unmap_end(self):
        """One call ends the three mappings."""
        self.cu("cuMemUnmap", self.range, 3 * self.size)
        self.cu("cuMemAddressFree", self.range, 8 * self.size)
        self.charge("vmm", -3 * self.size)

    def retained(self):
        """As NCCL frees: the handle by its address, which is one more reference, unmap, two releases."""
        self.va = self.cu.map(self.cu.create(self.size, self.dev), self.size, self.dev)
        self.charge("vmm", self.size)

    def retained_once(self):
        """Unmapped, with a reference too many: it stays."""
        self.handle = self.cu.out("cuMemRetainAllocationHandle", self.va)
        self.cu("cuMemUnmap", self.va, self.size)
        self.cu("cuMemRelease", self.handle)

    def retained_end(self):
        self.cu("cuMemRelease", self.handle)
        self.cu("cuMemAddressFree", self.va, self.size)
        self.charge("vmm", -self.size)

    def managed(self):
        """Touched on the GPU: physical pages there that are no object of the process, so NVML leaves them out."""
        self.managed_ptr = self.cu.out("cuMemAllocManaged", 8 * MIB, 1)
        self.charge("managed", 8 * MIB)
        self.cu("cuMemsetD8_v2", self.managed_ptr, 1, 8 * MIB)
        self.cu.sync()

    def host(self):
        self.host_ptrs = [self.cu.out("cuMemHostAlloc", 16 * MIB, 0), self.cu.out("cuMemAllocHost_v2", 3 * MIB)]
        self.charge("pinned", 19 * MIB)
        self.buffer = mmap.mmap(-1, MIB)
        self.buffer_at = ctypes.addressof(ctypes.c_char.from_buffer(self.buffer))
        self.cu("cuMemHostRegister_v2", self.buffer_at, MIB, 0)
        self.charge("registered", MIB)

    def host_free(self):
        for ptr in self.host_ptrs:
            self.cu("cuMemFreeHost", ptr)
        self.cu("cuMemHostUnregister", self.buffer_at)
        self.cu("cuMemFree_v2", self.managed_ptr)
        self.charge("pinned", -19 * MIB)
        self.charge("registered", -MIB)
        self.charge("managed", -8 * MIB)

    def arrays(self):
        """1024 x 1024 floats; 64^3 floats x 4; a mipmap of 512 x 512 floats with three levels."""
        flat = cuda.ArrayDesc(1024, 1024, cuda.FORMAT_FLOAT, 1)
        cube = cuda.Array3DDesc(64, 64, 64, cuda.FORMAT_FLOAT, 4, 0)
        mip = cuda.Array3DDesc(512, 512, 0, cuda.FORMAT_FLOAT, 1, 0)
        self.array_handles = [self.cu.out("cuArrayCreate_v2", byref(flat)),
                              self.cu.out("cuArray3DCreate_v2", byref(cube))]
        self.mip = self.cu.out("cuMipmappedArrayCreate", byref(mip), c_uint(3))
        self.charge("array", 4 * MIB + 4 * MIB + 4 * (512 * 512 + 256 * 256 + 128 * 128))

    def arrays_free(self):
        for handle in self.array_handles:
            self.cu("cuArrayDestroy", handle)
        self.cu("cuMipmappedArrayDestroy", self.mip)
        self.charge("array", -self.live["array"])

    def module(self):
        self.mod = self.cu.out("cuModuleLoadData", ctypes.c_char_p(PTX))
        self.cu.out("cuModuleGetFunction", self.mod, ctypes.c_char_p(b"nothing"))

    def module_unload(self):
        self.cu("cuModuleUnload", self.mod)

    def graph(self):
        """Two nodes: allocate 32 MiB, free it. Memory comes with the launch and is kept for the next."""
        graph = self.cu.out("cuGraphCreate", 0)
        params = cuda.AllocNodeParams(bytesize=32 * MIB)
        params.pool.type, params.pool.location = cuda.PINNED, cuda.Location(cuda.DEVICE, self.dev)
        node = ctypes.c_ulonglong(self.cu.out("cuGraphAddMemAllocNode", graph, 0, 0, byref(params)))
        self.cu.out("cuGraphAddMemFreeNode", graph, byref(node), 1, params.dptr)
        self.exec = self.cu.out("cuGraphInstantiateWithFlags", graph, 0)
        self.stream = self.cu.out("cuStreamCreate", 0)
        self.cu("cuGraphLaunch", self.exec, self.stream)
        self.cu.sync()
        self.the_graph = graph

    def graph_destroy(self):
        self.cu("cuGraphExecDestroy", self.exec)
        self.cu("cuGraphDestroy", self.the_graph)
        self.cu("cuDeviceGraphMemTrim", self.dev)
        self.cu("cuStreamDestroy_v2", self.stream)

    def second_context(self):
        """cuMemAlloc in a context of its own, and one beside it by cuMemCreate."""
        self.handles = [self.cu.create(20 * MIB, self.dev)]
        self.ctx = self.cu.out("cuCtxCreate_v2", 0, self.dev)
        self.cu.alloc(64 * MIB)
        self.charge("device", 64 * MIB)
        self.charge("vmm", 20 * MIB)

    def second_context_destroy(self):
        """What cuMemAlloc gave goes with the context, what cuMemCreate gave does not."""
        self.cu("cuCtxDestroy_v2", self.ctx)
        self.charge("device", -64 * MIB)
        self.cu.use(self.dev)

    def out_of_memory(self):
        for name, args in (("cuMemAlloc_v2", ()), ("cuMemAllocAsync", (0,))):
            ptr = ctypes.c_ulonglong()
            if not self.cu(name, byref(ptr), 500 << 30, *args, may_fail=True):
                raise SystemExit("an allocation of 500 GiB succeeded")

    def reset(self):
        """Everything of the primary context goes; the handle made by cuMemCreate is released before."""
        self.cu("cuMemRelease", self.handles[0])
        self.cu.alloc(64 * MIB)
        self.cu("cuDevicePrimaryCtxReset_v2", self.dev)
        self.charge("vmm", -20 * MIB)


OPTIONAL = {"module", "module_unload", "graph", "graph_destroy", "arrays", "arrays_free", "own_pool",
            "own_pool_reserve", "own_pool_destroy", "managed", "second_context", "second_context_destroy"}
STEPS = ("context", "small", "large", "pitch", "free", "pool", "pool_free", "pool_trim", "own_pool", "own_pool_reserve",
         "own_pool_destroy", "vmm", "vmm_map", "vmm_unmap", "vmm_release", "sleep", "wake", "wake_end", "one_unmap",
         "one_unmap_end", "retained", "retained_once", "retained_end", "managed", "host", "host_free", "arrays",
         "arrays_free", "module", "module_unload", "graph", "graph_destroy", "second_context",
         "second_context_destroy", "out_of_memory", "reset")
FOREVER = ("context", "small", "large", "vmm", "pool")


def run_step(work, name):
    """A step that this machine cannot do is named, and the next ones go on."""
    try:
        getattr(work, name)()
        return None
    except (cuda.CudaError, AttributeError) as e:
        if name not in OPTIONAL:
            raise
        return str(e)


def main():
    work = Work()
    if sys.argv[1:] == ["forever"]:
        for step in FOREVER:
            run_step(work, step)
        work.checkpoint("forever")
        return
    for step in STEPS:
        problem = run_step(work, step)
        work.checkpoint(step, problem=problem, has_context=step != "reset")


if __name__ == "__main__":
    main()
