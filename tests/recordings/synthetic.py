#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes recordings with every number that a recording or a dump can hold, also those that no stand-in makes.

    synthetic.py OUT     OUT/synthetic.gmt, OUT/synthetic-files.gmt, OUT/synthetic-neighbours.gmt, OUT/synthetic-dump.gmt

tests/data/kept has what it wrote with the headers of version 0.1.0. A new list of numbers, or a new number in one, gets
a file of its own there: a file that is kept never changes.
"""
import os
import struct
import sys

import recfile
import wire

S, MIB = 1_000_000_000, 1 << 20
UUIDS = [bytes([0xa0 + n]) * 16 for n in range(4)]
ALLOC, ARRAY, POOL = 0x7f0000000000, 0x7e0000000000, 0x7d0000000000
NEVER_KINDS = 0x7fff, 0xffff    # no version will use them


class Story:
    def __init__(self, version):
        self.wire, self.apis = wire.Wire(), wire.apis()
        self.consts, self.records = self.wire.consts, []
        self.now, self.pid, self.seq = S, 0, 0
        self.put("SESSION", tgid=0, wall_ns=1770113700 * S, layers=15, version=version, kernel="6.18.44", host="node17",
                 driver="580.159.04")
        for number, flags in enumerate((0, 0, 2, 1)):
            self.put("GPU", tgid=0, index=number, minor=number, flags=flags, parent_index=2, total_bytes=80 << 30,
                     uuid=UUIDS[number], gpu_instance=5 * (flags == 1), compute_instance=flags == 1, name="NVIDIA H100",
                     pci=f"00000000:{number:02x}:00.0")

    def put(self, kind, /, tgid=None, tid=None, **values):
        self.now += 1_000_000
        tgid = self.pid if tgid is None else tgid
        self.records.append(self.wire.record(kind, tgid=tgid, tid=tid or tgid, ts_ns=self.now, **values))

    def raw(self, kind, tail=b""):
        self.records.append(struct.pack("<HHIIIQ", 24 + len(tail), kind, self.pid, self.pid, 0, self.now) + tail)

    def process(self, pid, from_start=True):
        self.pid = pid
        self.put("PROC", start_ns=pid * S, uid=1000, ns_pid=pid, parent_tgid=1, comm="python3", cgroup="/user.slice",
                 cmdline=f"python3 program{pid}.py")
        self.put("ATTACH", flags=int(from_start))

    def call(self, symbol, *vals, rc=0, stack=0, undo=False, unread=0):
        api = self.apis[symbol]
        self.seq += not undo
        phase = 2 if undo else int(api.release)
        self.put("CALL", api=api.id, seq=self.seq, phase=phase, rc=rc, stack_id=stack, unread=unread,
                 tail=struct.pack(f"<{len(vals)}Q", *vals))

    def context(self, device=0):
        self.call("cuDeviceGet", device, device)
        self.call("cuDeviceGetUuid_v2", *struct.unpack("<2Q", UUIDS[device]), device)
        self.call("cuDevicePrimaryCtxRetain", 0xc0 + device, device)
        self.call("cuCtxSetCurrent", 0xc0 + device)

    def block(self, ptr, delta, allocated, reserved, device=0, stack=0):
        self.put("FW_MEM", ptr=ptr, delta=delta, total_allocated=allocated, total_reserved=reserved, device_type=1,
                 device_index=device, stack_id=stack)

    def name(self, number, function, module, line=0, file="", kind=0):
        texts = [t.encode() for t in (function, module, file)]
        tail = b"".join(t + b"\0" for t in texts)
        self.put("SYMBOL", tgid=0, id=number, line=line, kind=kind, offset=0x1f, function_len=len(texts[0]),
                 module_len=len(texts[1]), file_len=len(texts[2]), tail=tail.ljust(-(-len(tail) // 8) * 8, b"\0"))

    def frames(self, stack, *symbols):
        tail = struct.pack(f"<{len(symbols)}I", *symbols)
        self.put("STACK_FRAMES", stack_id=stack, count=len(symbols), tail=tail.ljust(-(-len(tail) // 8) * 8, b"\0"))

    def write(self, folder, name, reason=2):
        self.put("END", tgid=0, reason=reason)
        recfile.write(os.path.join(folder, name + ".gmt"), self.records)


# ---- a recording ----

def session(s):
    s.put("LIMIT", tgid=0, what="PyTorch's blocks have no stacks", why="the kernel refused the program", remedy="none")
    s.put("LIBRARY", tgid=0, dev=1, ino=2, probes=120, absent=4, shifted=3, attach_us=900, build_id="00ff",
          path="/lib/libcuda.so.1")
    s.pid = 900
    s.put("PROC_SEEN", start_ns=9 * S, comm="sh")
    s.put("PROC_FORK", tgid=901, parent_tgid=900, start_ns=10 * S)
    s.put("PROC_EXEC", tgid=901, start_ns=10 * S, comm="python3")


def classes(s):
    """Memory of every class, some of it freed."""
    s.process(1001)
    s.context()
    s.call("cuMemAlloc_v2", ALLOC, 3 * MIB)
    s.call("cuMemAllocAsync", POOL, 5 * MIB, 0)
    s.call("cuMemCreate", 0x11, 8 * MIB, 1, 0, 1)
    s.call("cuMemMap", ALLOC + (1 << 32), 8 * MIB, 0, 0x11)
    s.call("cuArrayCreate_v2", ARRAY, 1024, 1024, 0x20, 4)
    s.call("cuMemAllocManaged", ALLOC + (2 << 32), 7 * MIB, 1)
    s.call("cuMemHostAlloc", 0x7c0000000000, 11 * MIB, 0)
    s.call("cuMemHostRegister_v2", 0x7b0000000000, 13 * MIB, 0)
    s.call("cuIpcOpenMemHandle_v2", ALLOC + (3 << 32), 0x1234, 1)
    s.call("cuMemGetAddressRange_v2", ALLOC + (3 << 32), 16 * MIB, ALLOC + (3 << 32))
    s.call("cuImportExternalMemory", 0x22, 17 * MIB, 1)
    s.call("cuExternalMemoryGetMappedBuffer", ALLOC + (4 << 32), 0x22, 17 * MIB)
    s.call("cuGraphAddMemAllocNode", ALLOC + (5 << 32), 19 * MIB, 0)
    s.call("cuMemFree_v2", ALLOC)
    s.call("cuMemFree_v2", 0, rc=1, undo=True)


def anomalies(s):
    s.process(1002)
    s.context()
    s.call("cuMemFree_v2", ALLOC)                        # free_unknown
    s.call("cuMemAlloc_v2", ALLOC, MIB)
    s.call("cuMemAlloc_v2", ALLOC, 2 * MIB)              # double_alloc
    s.seq += 100
    s.call("cuMemFree_v2", ALLOC, rc=1, undo=True)       # undo_unknown
    s.call("cuMemAlloc_v2", ALLOC + (1 << 32), 0, unread=2)     # size_unknown
    s.put("CALL", tid=77, api=1, seq=1, tail=struct.pack("<2Q", ALLOC + (2 << 32), MIB))  # gpu_unknown
    ids = dict(client=0xc1d00001, parent=0xcaf00001)
    s.put("RM_ALLOC", client=0xc1d00001, object=0xc1d00001, class_id=0x41)
    s.put("RM_ALLOC", client=0xc1d00001, parent=0xc1d00001, object=0xcaf00001, class_id=0x80)
    for _ in range(2):                                   # rm_double_alloc
        s.put("RM_ALLOC", **ids, object=0xcaf00002, class_id=0x40, size=2 * MIB, cause__api=1, cause__seq=1)
    s.put("RM_FREE", client=0xc1d00077, parent=0xcaf00007, object=0xcaf00099)   # rm_free_unknown
    s.put("RM_DUP", **ids, object=0xcaf00003, client_src=0xc1d00001, object_src=0xcaf00002)
    s.put("UVM_GPU", uuid=UUIDS[0])
    s.put("RM_ALLOC", **ids, object=0xcaf00004, class_id=0x90f1)
    s.put("UVM_VASPACE", uuid=UUIDS[0], client=0xc1d00001, vaspace=0xcaf00004)
    s.put("UVM_MAP", base=ALLOC, length=2 * MIB, client=0xc1d00001, memory=0xcaf00002, gpu_count=1, uuid=UUIDS[0])
    s.put("UVM_UNMAP", base=ALLOC, length=2 * MIB, uuid=UUIDS[0])
    s.put("UVM_FREE", base=ALLOC)
    s.call("cuMemAlloc_v2", ALLOC + (3 << 32), 20 * MIB)
    s.block(ALLOC + (3 << 32), 512, 512, 20 * MIB)
    s.block(ALLOC + (3 << 32) + 512, 512, 1024, 99 * MIB)       # torch_reserved
    s.block(ALLOC + 8192, -512, 512, 99 * MIB)                  # torch_missed
    s.put("NVML", used_bytes=64 * MIB, uuid=UUIDS[0], when=1)
    s.put("PROC_EXIT", exit_code=9)
    s.call("cuMemAlloc_v2", ALLOC, MIB)                  # after_exit


def silences(s):
    """PyTorch that reports no blocks, for each cause."""
    s.name(1, "cuMemAlloc_v2", "/lib/libcuda.so.1")
    s.name(2, "torch::cuda::CUDAPluggableAllocator::malloc", "/lib/libtorch_cuda.so")
    s.name(3, "", "/srv/me/train.py", line=12, file="/srv/me/train.py", kind=1)
    s.frames(50, 1, 2, 3)
    pools, driver = ("cuMemAllocAsync", "cuMemFreeAsync", 0), ("cuMemAlloc_v2", "cuMemFree_v2")
    for pid, flags, calls, count, stack in ((1010, 1, pools, 2, 0), (1011, 2, driver, 2, 0), (1012, 4, driver, 2, 0),
                                            (1013, 0, driver, 20, 0), (1014, 0, driver, 20, 50)):
        s.process(pid)
        s.put("FRAMEWORK", flags=flags)
        s.context()
        if stack:
            s.put("STACK", id=stack, count=0, reason=1)
        for i in range(count):
            s.call(calls[0], ALLOC + i * MIB, 4096, *calls[2:], stack=stack)
            s.call(calls[1], ALLOC + i * MIB, *calls[2:])


def stacks(s):
    """A stack for each reason that its walk can end for."""
    s.process(1020)
    s.context()
    for number in range(16):
        s.put("STACK", id=100 + number, count=1, reason=number, tail=struct.pack("<Q", 0x400000 + number))
        s.call("cuMemAlloc_v2", ALLOC + number * MIB, 4096, stack=100 + number)
    for number in range(7):
        s.put("STACK", id=200 + number, count=0, reason=1, py_reason=number)
    s.put("CODE_MAPPED", start=0x400000, end=0x401000, number=2, has_file=1)
    s.put("STACK_COPY", stack_id=100, count=1, pc=1, sp=2, fp=3, base=2, tail=bytes(8))


def framework(s):
    """Ranges, phases, sizes, PyTorch's error; calls that fail, and a retry."""
    s.process(1030)
    s.context(1)
    s.call("cuMemAlloc_v2", ALLOC, 40 * MIB)
    used, at, blocks, number = 0, ALLOC, {}, 0

    def begin(what):
        nonlocal number
        number += 1
        s.put("FW_RANGE", object=number, what=0, name=what)
        return number

    def block(name, size):
        nonlocal used, at
        used += size
        blocks[name] = (at, size)
        s.block(at, size, used, 40 * MIB, device=1)
        s.put("FW_SIZE", ptr=at, size=size - 100, device_type=1, device_index=1)
        at += size

    def free(name):
        nonlocal used
        ptr, size = blocks.pop(name)
        used -= size
        s.block(ptr, -size, used, 40 * MIB, device=1)

    block("parameters", 2 * MIB)
    for i in range(4):
        whole = begin("iteration")
        block(f"input{i}", 64 << 10)
        block("activation", 512 << 10)
        block(f"kept{i}", 4096)
        s.put("FW_RANGE", what=2)
        if not i:
            block("gradient", MIB)
        block("temporary", 256 << 10)
        free("temporary")
        free("activation")
        step = begin("Optimizer.step#SGD.step")
        if not i:
            block("state", 2 * MIB)
        s.put("FW_RANGE", object=step, what=1)
        zero = begin("Optimizer.zero_grad#SGD.zero_grad")
        s.put("FW_RANGE", object=zero, what=1)
        s.put("FW_RANGE", object=whole, what=1)
        if i:
            free(f"input{i - 1}")
    block("last", 8192)
    s.call("cuMemAlloc_v2", 0, 60 << 30, rc=2)
    s.call("cuMemAlloc_v2", 0, 60 << 30, rc=2)
    s.put("FW_OOM", size=60 << 30, total_allocated=used, total_reserved=40 * MIB, device_type=1, device_index=1)
    s.call("cuMemAlloc_v2", 0, 50 << 30, rc=2)
    s.call("cuMemAlloc_v2", ALLOC + (1 << 40), 50 << 30)


def recording(folder):
    s = Story("0.1.0")
    session(s)
    classes(s)
    anomalies(s)
    silences(s)
    stacks(s)
    framework(s)
    s.put("LOSS", tgid=0, count=range(1, s.consts["GMT_LOSS_COUNT"] + 1))
    s.put("MARK", tgid=0, number=1)
    for kind in NEVER_KINDS:
        s.raw(kind, bytes(8))
    s.raw(s.wire.kinds["RM_ALLOC"][0], bytes(8))         # too short
    s.write(folder, "synthetic")


def refused_files(folder):
    """The loss that was added: files of processes that could not be read."""
    s = Story("0.1.0")
    s.process(1001)
    s.put("LOSS", tgid=0, count=[0] * 10 + [3] + [0] * (s.consts["GMT_LOSS_COUNT"] - 11))
    s.write(folder, "synthetic-files")


def neighbours(folder):
    """Processes that are not traced, on the GPU of a request that fails: as many as have a name, and others; some go."""
    s = Story("0.1.0")
    s.process(1001, from_start=False)
    s.put("NVML", used_bytes=8 << 30, uuid=UUIDS[0])
    s.context()

    def neighbour(pid, used, count=1, comm="", gpu=0):
        s.put("GPU_NEIGHBOUR", tgid=pid, used_bytes=used, count=count, uuid=UUIDS[gpu], comm=comm)

    for free in (20 << 30, 1 << 30):
        s.put("GPU_MEMORY", tgid=0, used_bytes=(80 << 30) - free, free_bytes=free, processes_bytes=(79 << 30) - free, uuid=UUIDS[0])
        for number in range(16):
            neighbour(4000 + number, (number + 1) * 16 * MIB, comm=f"job {number}" if number else "")
        neighbour(0, 3 * MIB, count=3)
        neighbour(4003, 0)
        neighbour(5000, (70 << 30) - free, comm="sixteen bytes 16")
        neighbour(5001, 5 << 30, comm="elsewhere", gpu=1)
    neighbour(5002, MIB, comm="no room")                 # malformed: the list is full
    s.call("cuMemAlloc_v2", 0, 2 << 30, rc=2)
    s.call("cuMemGetInfo_v2", 1 << 30, 80 << 30)
    s.put("PROC_EXIT", exit_code=256)
    s.write(folder, "synthetic-neighbours")


# ---- a dump ----

def picture(s, number, outcome, sign, backend, phase, class_id):
    flags = s.consts["GMT_OOM_HAS_FREE"] | (s.consts["GMT_OOM_EXITED"] if outcome == 3 else 0)
    s.put("OOM", number=number, api=1, outcome=outcome, sign=sign, class_id=class_id, flags=flags, failures=number,
          stack_id=50, pieces=number % 3, asked_bytes=number << 30, failed_bytes=number << 30,
          given_bytes=(number << 20) * (outcome == 1),
          framework_bytes=max(number << 30, 512) - 512, freed_bytes=number << 10, free_bytes=number << 22, first_ns=s.now - 2000,
          last_ns=s.now - 1000, decided_ns=s.now, exit_ns=s.now, exit_code=9, uuid=UUIDS[0])
    row = dict(number=number, uuid=UUIDS[0], torch_backend=backend, phase=phase, iteration=number, since_ns=S, recent_ns=S,
               nvml=2 << 30, nvml_ns=s.now, stacks=2)
    s.put("OOM_ROW", **row, flags=2 | 4 | 8 | 16, class_bytes=[(c + 1) * MIB for c in range(9)] + [0] * 7, attributed=10 * MIB,
          physical=100 * MIB, before_attach=MIB, context=50 * MIB, modules=4 * MIB, pool_reserve=6 * MIB, rounding=20 * MIB,
          other=10 * MIB, torch_allocated=55 * MIB, torch_reserved=60 * MIB, torch_gap=3 * MIB, stacks_live=90 * MIB,
          stacks_peak=95 * MIB, stacks_peak_ns=s.now, rest_bytes=MIB, rest=1,
          category_bytes=[(c + 1) * 4096 for c in range(10)] + [0] * 6, torch_before=MIB, growth=4096, growth_count=5)
    for k in range(2):
        s.put("OOM_STACK", number=number, stack_id=50 + k, live=(2 - k) * 30 * MIB, count=2, at_peak=10 * MIB, grown=MIB,
              recent=2 * MIB, allocs=9, frees=7, alloc_bytes=99 * MIB, flags=k)
    s.put("OOM_ROW", **row, flags=32)                    # blocks, by what they are for
    for purpose in range(11):
        s.put("OOM_STACK", number=number, stack_id=60 + purpose, live=(20 - purpose) * 4096, count=1, purpose=purpose)
    s.put("OOM_WAITING", number=number, stack_id=60, waiting_id=50)
    s.put("OOM_ROW", number=number, flags=1, class_bytes=[0] * 4 + [MIB, 2 * MIB, 3 * MIB] + [0] * 9, since_ns=S,
          stacks_live=6 * MIB)


def window(s):
    """Segments and blocks that lived, and events of each kind, with all flags and categories."""
    s.put("HISTORY", since=10, first=10, left_out=1)
    s.put("HISTORY_UNSEEN", allocated=4 * MIB, reserved=8 * MIB, device=0)
    ends = 10 + 2 + 11 * 2
    for i, flags in enumerate((1, 3, 5, 0)):
        s.put("HISTORY_RANGE", base=ALLOC + (i << 32), length=32 * MIB, born=(1 << 64) - 1, stack_id=50, flags=flags, device=i % 2)
    for category in range(11):
        s.put("HISTORY_RANGE", base=ALLOC + category * MIB, length=MIB, born=(1 << 64) - 1, asked=MIB - 7,
              stack_id=60 + category, is_block=1, device=0, category=category)
    free, number = ALLOC + 16 * MIB, 10
    for category in range(11):
        s.put("HISTORY_EVENT", address=free, size=MIB, born=number, stack_id=50, kind=1, device=0)
        s.put("HISTORY_EVENT", address=free, size=MIB, born=number, stack_id=50, kind=2, device=0, category=category)
        number += 2
    s.put("HISTORY_EVENT", kind=0)
    s.put("HISTORY_EVENT", address=0x7a0000000000, size=2 * MIB, born=number + 1, stack_id=50, kind=3, device=1)
    s.put("HISTORY_EVENT", address=0x7a0000000000, size=2 * MIB, born=number + 1, stack_id=50, kind=4, device=1)
    s.put("HISTORY_EVENT", address=5 * MIB, size=1 << 30, born=1, stack_id=50, kind=5, device=0)
    s.put("HISTORY_MARK", event=12, name="forward")
    s.put("HISTORY_MARK", event=ends - 4, is_end=1, name="forward")


def dump(folder):
    s = Story("0.1.0")
    s.put("LOSS", tgid=0, count=[0] * s.consts["GMT_LOSS_COUNT"])
    s.process(1001)
    s.name(1, "cuMemAlloc_v2", "/lib/libcuda.so.1")
    s.name(2, "forward", "/srv/me/train.py", line=12, file="/srv/me/train.py", kind=1)
    s.name(3, "backward", "/srv/me/train.py", line=40, file="/srv/me/train.py", kind=1)
    s.frames(50, 1, 2)
    s.frames(51, 1, 3)
    for number in range(11):
        s.name(10 + number, f"layer{number}", "/srv/me/model.py", line=number, file="/srv/me/model.py", kind=1)
        s.frames(60 + number, 1, 10 + number, 2)
    # Each outcome, sign, backend, phase and class at least once.
    outcomes = [0, 1, 2, 3, 1, 2, 2, 2, 3, 2]
    signs = [0, 1, 4, 6, 2, 3, 5, 7, 6, 4]
    for i, (outcome, sign) in enumerate(zip(outcomes, signs)):
        picture(s, i + 1, outcome, sign, i % 4, i % 4, i if i < 9 else 255)
    picture(s, 0, 4, 0, 2, 3, 255)
    window(s)
    s.write(folder, "synthetic-dump", reason=0)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    recording(sys.argv[1])
    refused_files(sys.argv[1])
    neighbours(sys.argv[1])
    dump(sys.argv[1])
