#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Turns call sequences written down on real GPU machines into wire records and expected totals.

    tsv2records.py SEQUENCES OUT     SEQUENCES/*.tsv -> OUT/*.gmt (recordings)
                                                        OUT/*.expect (what must hold, and who said so)

Invariant: a value that the sequence does not have is not made up. A call's value that was not
written down is marked unread; what cannot be said at all is left out and listed in README.md.
"""
import os
import re
import struct
import sys

import recfile
import wire

BASE_NS = 1_000_000_000     # the sequences start at 0; a time of 0 means "unknown" elsewhere
REPORT_MEMORY = "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE"
REPORT_OOM = "_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE"
LISTED = 400                # "at most 400 calls a function are listed"
MIB = 1 << 20


class Case:
    def __init__(self, name, w, pid, layers, gpus, from_start=True):
        self.name, self.wire, self.pid = name, w, pid
        self.records, self.expects, self.last_ns = [], [], 0
        self.add("SESSION", wall_ns=0, layers=layers, version="recorded", driver="580.159.04",
                 why_no_kernel="" if layers & w.consts["GMT_LAYER_KERNEL"] else "not recorded",
                 why_no_nvml="" if layers & w.consts["GMT_LAYER_NVML"] else "not recorded")
        for index, (uuid, name) in enumerate(gpus):
            self.add("GPU", index=index, minor=-1, uuid=uuid, name=name)
        self.add("PROC", tgid=pid, start_ns=BASE_NS, ns_pid=pid, comm="python3", cmdline="python3")
        self.add("ATTACH", tgid=pid, flags=w.consts["GMT_ATTACH_FROM_START"] if from_start else 0)

    def add(self, kind, ts_ns=0, **values):
        self.last_ns = max(self.last_ns, ts_ns)
        self.records.append(self.wire.record(kind, ts_ns=BASE_NS + ts_ns, **values))

    def expect(self, what, name, value, source):
        """`what` of `name` is `value` once the records so far were applied; `source` said so."""
        self.expects.append(f"{len(self.records)}\t{what}\t{name}\t{value}\t{source}")

    def write(self, folder):
        self.add("END", ts_ns=self.last_ns)
        recfile.write(os.path.join(folder, self.name + ".gmt"), self.records)
        with open(os.path.join(folder, self.name + ".expect"), "w", encoding="utf-8") as f:
            f.write("# after record\twhat\tof\tis\tsaid by\n")
            f.write("\n".join(self.expects) + "\n")


def rows(path):
    with open(path, encoding="utf-8") as f:
        lines = [line.rstrip("\n") for line in f]
    return [line.split("\t") for line in lines if not line.startswith("#")], [x for x in lines[1:] if x.startswith("#")]


# ---- calls ----

class Call:
    def __init__(self, cells):
        self.ts, self.tid, self.symbol = int(cells[0]), int(cells[1]), cells[2]
        self.args = [int(c, 16) for c in cells[3:9]]
        self.rc, self.out, self.duration = int(cells[9]), int(cells[10], 16), int(cells[11])

    def value(self, cap):
        """One value of the record, or None where the sequence does not have it."""
        kind, arg = cap[0], cap[1]
        if kind == "ARG":
            return self.args[arg]
        if kind == "ARG32":
            return self.args[arg] & 0xffffffff
        if kind in ("OUT", "OUT32") and arg == 0 or kind == "OUTAT" and cap[1:] == (0, 0):
            if self.rc:
                return 0                    # a failed call has none, and that is no gap
            return self.out & 0xffffffff if kind == "OUT32" else self.out
        return None


class Calls:
    """API call records of one process, in the order the probes would have sent them."""

    def __init__(self, case, apis):
        self.case, self.apis, self.seq, self.current = case, apis, {}, {}

    def emit(self, call, phase, seq, ts_ns, rc):
        api = self.apis[call.symbol]
        vals, unread = [], 0
        for i, cap in enumerate(api.caps):
            value = call.value(cap)
            unread |= (value is None) << i
            vals.append(value or 0)
        self.case.add("CALL", ts_ns=ts_ns, tgid=self.case.pid, tid=call.tid, api=api.id, phase=phase,
                      unread=unread, rc=rc, seq=seq, tail=struct.pack(f"<{len(vals)}Q", *vals))

    def events(self, calls):
        """(time, function that sends the record or checks) for each call."""
        consts = self.case.wire.consts
        for call in calls:
            api = self.apis.get(call.symbol)
            if api is None or api.scope:
                continue
            seq = self.seq[call.tid] = self.seq.get(call.tid, 0) + 1
            done = call.ts + call.duration
            if api.release:
                yield call.ts, self.emit, (call, consts["GMT_PHASE_ENTER"], seq, call.ts, 0)
                if call.rc:
                    yield done, self.emit, (call, consts["GMT_PHASE_UNDO"], seq, done, call.rc)
            elif not (call.rc and api.quiet_error) and not (api.change and self.unchanged(call)):
                yield done, self.emit, (call, consts["GMT_PHASE_DONE"], seq, done, call.rc)

    def unchanged(self, call):
        same = self.current.get(call.tid) == call.args[0]
        self.current[call.tid] = call.args[0]
        return same


def play(events):
    for _, function, args in sorted(events, key=lambda event: event[0]):
        function(*args)


def api_case(w, name, lines, from_start=True):
    """An API-only case. The GPU's UUID: cuDeviceGetUuid's first 8 bytes were written down, the rest is 0."""
    calls = [Call(line) for line in lines]
    low = next(c.out for c in calls if c.symbol == "cuDeviceGetUuid")
    pid = min(c.tid for c in calls)
    uuid = struct.pack("<QQ", low, 0)
    return Case(name, w, pid, w.consts["GMT_LAYER_API"], [(uuid, "NVIDIA H100")], from_start), calls


def ok(calls, symbol):
    return [c for c in calls if c.symbol == symbol and not c.rc]


def expect_failed(case, calls, symbol, cls):
    failed = sum(1 for c in calls if c.symbol == symbol and c.rc)
    case.expect("failed", cls, failed, f"rc of {symbol}")


def expect_clean(case):
    for anomaly in ("free_unknown", "double_alloc", "undo_unknown", "size_unknown"):
        case.expect("anomaly", anomaly, 0, "traced from the start")
    case.expect("lost", "all", 0, "nothing is missing")


def device_live(calls, until, skip=()):
    """Live cuMemAlloc bytes before `until`, by the calls alone; allocations in `skip` left out."""
    live = {}
    for c in calls:
        if c.ts >= until:
            break
        if c.symbol == "cuMemAlloc_v2" and not c.rc and c not in skip:
            live[c.out] = c.args[1]
        elif c.symbol == "cuMemFree_v2":
            live.pop(c.args[0], None)
    return sum(live.values())


def native(w, apis, lines):
    """torch reports its reserved total at each block: the driver's live bytes must equal it."""
    case, calls = api_case(w, "h100-native", lines)
    blocks = [c.args[0] for c in calls if c.symbol == REPORT_MEMORY]
    # cuBLAS's own allocations are not torch's: no block torch reported lies in them.
    others = [c for c in ok(calls, "cuMemAlloc_v2")
              if not any(c.out <= b < c.out + c.args[1] for b in blocks)]

    def others_live(ts):
        return sum(c.args[1] for c in others if c.ts < ts)

    def check(call):
        reserved = call.args[2] if call.symbol == REPORT_OOM else call.args[3]
        source = f"torch: {reserved} reserved"
        extra = others_live(call.ts)
        case.expect("live", "device", reserved + extra, source + (f"; cuBLAS itself {extra}" if extra else ""))

    assert {c.args[1] for c in others} == {0x400, 0x20000, 0x4000000}
    checks = [(c.ts, check, (c,)) for c in calls if c.symbol in (REPORT_MEMORY, REPORT_OOM)]
    play([*Calls(case, apis).events(calls), *checks])
    case.expect("live", "pinned", 0x2000000, "torch: a pinned tensor of 32 MiB")
    expect_failed(case, calls, "cuMemAlloc_v2", "device")
    expect_clean(case)
    return [case]


def malloc_async(w, apis, lines):
    """cudaMallocAsync: torch's blocks are the calls' own; cuBLAS uses cuMemAlloc beside them."""
    case, calls = api_case(w, "h100-malloc-async", lines)

    def check(live, source):
        case.expect("live", "pool", live, source)

    live, checks = {}, []
    for c in sorted(calls, key=lambda c: c.ts):
        if c.symbol == "cuMemAllocAsync" and not c.rc:
            live[c.out] = c.args[1]
        elif c.symbol == "cuMemFreeAsync":
            del live[c.args[0]]             # KeyError: the sequence does not add up
        elif c.symbol == "cuMemPoolGetAttribute" and c.args[1] == 7:
            checks.append((c.ts, check, (sum(live.values()), "sum of live blocks, at torch's query of USED_CURRENT")))
    play([*Calls(case, apis).events(calls), *checks])
    case.expect("live", "pool", 0x2000000, "torch: cuBLAS's workspace of 32 MiB is the last block")
    case.expect("live", "device", 0x400 + 0x20000 + 0x4000000, "cuBLAS's own three allocations")
    case.expect("live", "pinned", 0x2000000, "torch: a pinned tensor of 32 MiB")
    expect_failed(case, calls, "cuMemAllocAsync", "pool")
    expect_clean(case)
    return [case]


def expandable(w, apis, lines):
    """cuMemCreate and cuMemRelease are listed up to their 400th call, in the middle of an OOM: the
    first case says so with a loss record there; the second begins behind it, as a late attach."""
    case, calls = api_case(w, "h100-expandable", lines)
    gap = [c for c in calls if c.symbol == "cuMemCreate"][LISTED - 1].ts + 1
    first, rest = [c for c in calls if c.ts < gap], [c for c in calls if c.ts >= gap]
    mapped = {"bytes": 0}

    def check(call):
        mapped["bytes"] += call.args[1]
        case.expect("live", "vmm", mapped["bytes"], "torch makes mapped memory accessible: all of it is in use")

    oom = next(c.ts for c in calls if c.symbol == "cuMemAddressReserve" and c.ts > 299_600_000)
    play([*Calls(case, apis).events(first),
          *((c.ts, check, (c,)) for c in first if c.symbol == "cuMemSetAccess" and c.ts < oom)])
    case.expect("live", "vmm", sum(c.args[1] for c in ok(first, "cuMemCreate")),
                "sum of cuMemCreate: none was released yet")
    expect_failed(case, first, "cuMemCreate", "vmm")
    expect_clean(case)
    lost = (8042 - LISTED) + (8035 - LISTED)  # counted in the same run: 8,042 creates, 8,035 releases
    count = [lost if loss == "RING_FULL" else 0 for loss in w.losses]
    case.add("LOSS", ts_ns=gap, count=count)
    play(Calls(case, apis).events(rest))
    known = {c.out for c in ok(first, "cuMemCreate")}
    unknown = sum(1 for c in rest if c.symbol == "cuMemRelease" and c.args[0] not in known)
    case.expect("lost", "all", lost, "calls that are not listed")
    case.expect("anomaly", "free_unknown", unknown, "releases of handles whose creation is not listed")
    expect_end(case)

    late, _ = api_case(w, "h100-expandable-late", lines, from_start=False)
    play(Calls(late, apis).events(rest))
    releases = sum(1 for c in rest if c.symbol == "cuMemRelease")
    late.expect("anomaly", "free_unknown", releases, "every handle is from before attach")
    late.expect("live", "vmm", 0, "no cuMemCreate since attach")
    expect_end(late)
    return [case, late]


def expect_end(case):
    case.expect("live", "device", 0x400 + 0x20000 + 0x4000000, "cuBLAS's own three allocations")
    case.expect("live", "pinned", 0x2000000, "torch: a pinned tensor of 32 MiB")


# ---- ioctls ----

def uuid_bytes(text):
    return bytes.fromhex(text.replace("-", ""))


class Ioctls:
    """Kernel records of one process. A mapping's memory handle was not written down: it is the oldest
    object of that size on that GPU that has no mapping yet, which is how libcuda pairs them. Memory
    from RM_ALLOC_MEMORY (host pages, class 0x71) has no handle here: not sent, its mappings have 0."""

    def __init__(self, case):
        self.case = case
        self.vaspace_parent, self.device_uuid, self.sizes = {}, {}, {}
        self.unmapped = []          # [size, device handle or None, client, object]
        self.client = 0

    def add(self, kind, ts, tid, **values):
        self.case.add(kind, ts_ns=ts, tgid=self.case.pid, tid=tid, **values)

    def rm_alloc(self, ts, tid, f):
        v = {k: int(f[k], 16) for k in ("client", "parent", "object", "class", "status")}
        size = int(f.get("size", "0"))
        self.add("RM_ALLOC", ts, tid, client=v["client"] or v["object"], parent=v["parent"], object=v["object"],
                 class_id=v["class"], status=v["status"], flags=int(f.get("flags", "0"), 16),
                 attr=int(f.get("attr", "0"), 16), device_id=int(f.get("deviceId", "0"), 16), size=size)
        if v["class"] == 0x90f1:
            self.vaspace_parent[v["client"], v["object"]] = v["parent"]
        if size:
            self.sizes[v["client"], v["object"]] = size
            self.unmapped.append((size, v["parent"], v["client"], v["object"]))

    def rm_alloc_memory(self, ts, tid, f):
        self.unmapped.append((int(f["limit"], 16) + 1, None, 0, 0))

    def rm_free(self, ts, tid, f):
        v = {k: int(f[k], 16) for k in ("client", "parent", "object")}
        self.add("RM_FREE", ts, tid, **v)
        self.unmapped = [u for u in self.unmapped if u[2:] != (v["client"], v["object"])]

    def rm_dup_object(self, ts, tid, f):
        v = {k: int(f[k], 16) for k in ("client", "parent", "object", "clientSrc", "objectSrc")}
        self.add("RM_DUP", ts, tid, client=v["client"], parent=v["parent"], object=v["object"],
                 client_src=v["clientSrc"], object_src=v["objectSrc"])
        size = self.sizes.get((v["clientSrc"], v["objectSrc"]))
        self.unmapped.append((size, v["parent"], v["client"], v["object"]))

    def uvm_register_gpu(self, ts, tid, f):
        self.add("UVM_GPU", ts, tid, uuid=uuid_bytes(f["uuid"]))

    def uvm_register_gpu_vaspace(self, ts, tid, f):
        client, vaspace = int(f["hClient"], 16), int(f["hVaSpace"], 16)
        self.client = client
        self.device_uuid[self.vaspace_parent[client, vaspace]] = f["uuid"]
        self.add("UVM_VASPACE", ts, tid, uuid=uuid_bytes(f["uuid"]), client=client, vaspace=vaspace)

    def uvm_map_external_allocation(self, ts, tid, f):
        length = int(f["length"], 16)
        memory = self.memory_of(length, f["uuid"])
        self.add("UVM_MAP", ts, tid, base=int(f["base"], 16), length=length, offset=int(f["offset"], 16),
                 client=self.client, memory=memory, gpu_count=1, uuid=uuid_bytes(f["uuid"]))

    def memory_of(self, length, uuid):
        for i, (size, device, _, handle) in enumerate(self.unmapped):
            if size in (length, None) and (device is None or self.device_uuid.get(device) == uuid):
                del self.unmapped[i]
                return handle
        raise ValueError(f"a mapping of {length} bytes has no memory")

    def uvm_free(self, ts, tid, f):
        self.add("UVM_FREE", ts, tid, base=int(f["base"], 16))

    def uvm_create_external_range(self, ts, tid, f):
        pass                        # address space only


def ioctl_case(w, name, lines, said):
    pid = int(lines[0][1])
    gpus = [re.fullmatch(r"# (\d+), (\d+) MiB, GPU-(.*)", s) for s in said]
    per_pid = {m[3]: int(m[2]) for m in gpus if m and int(m[1]) == pid}
    index = sorted((int(m[1]), m[3]) for m in gpus if m and int(m[1]) != pid)
    layers = w.consts["GMT_LAYER_KERNEL"] | w.consts["GMT_LAYER_NVML"]
    case = Case(name, w, pid, layers, [(uuid_bytes(u), "NVIDIA H200") for _, u in index])
    ioctls = Ioctls(case)
    for cells in lines:
        fields = dict(pair.split("=", 1) for pair in cells[3].split() if "=" in pair)
        getattr(ioctls, cells[2].lower())(int(cells[0]), int(cells[1]), fields)
    end = int(lines[-1][0]) + 1
    for uuid, mib in per_pid.items():
        case.add("NVML", ts_ns=end, tgid=pid, used_bytes=mib * MIB, uuid=uuid_bytes(uuid),
                 when=w.consts["GMT_NVML_SAMPLE"])
    for uuid, mib in per_pid.items():
        case.expect("physical", uuid, mib * MIB, f"nvidia-smi: {mib} MiB")
        case.expect("residual", uuid, 0, "traced from the start")
    for s in said:
        m = re.fullmatch(r"# PTR dev \d ptr (0x[0-9a-f]+) n (\d+) (.*)", s)
        if m:
            first = int(m[1], 16)
            case.expect("address", m[3], hex(first), "torch: first byte of a tensor on this GPU")
            case.expect("address", m[3], hex(first + int(m[2]) - 1), "torch: its last byte")
    case.expect("anomaly", "rm_free_unknown", 0, "traced from the start")
    case.expect("anomaly", "rm_double_alloc", 0, "traced from the start")
    case.expect("lost", "all", 0, "nothing is missing")
    return [case]


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    source, out = sys.argv[1:]
    w, apis = wire.Wire(), wire.apis()
    for name, convert in (("native", native), ("malloc-async", malloc_async), ("expandable", expandable)):
        for case in convert(w, apis, rows(os.path.join(source, f"h100-torch2.11-{name}.tsv"))[0]):
            case.write(out)
    for name in ("native", "expandable"):
        for case in ioctl_case(w, "h200x2-ioctls-" + name, *rows(os.path.join(source, f"h200x2-ioctls-{name}.tsv"))):
            case.write(out)


if __name__ == "__main__":
    main()
