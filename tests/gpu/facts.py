#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Finds out how this machine's kernel, driver and libcuda behave, prints the facts, and writes them to facts.json.

    tests/gpu/facts.py

Needs root and a GPU, not torch. Changes nothing. What cannot be found out is said, not guessed.
"""
import ctypes
import glob
import json
import os
import re
import struct
import subprocess
import sys

import compare
import lib
import run as runner

sys.path.insert(0, os.path.join(lib.TOP, "tests", "recordings"))
import recfile                     # noqa: E402
import wire                        # noqa: E402

NVML_FUNCTIONS = """nvmlDeviceGetComputeRunningProcesses_v3 nvmlDeviceGetGraphicsRunningProcesses_v3
nvmlDeviceGetMPSComputeRunningProcesses_v3 nvmlDeviceGetRunningProcessDetailList nvmlDeviceGetMemoryInfo_v2
nvmlDeviceGetMigMode nvmlDeviceGetMaxMigDeviceCount nvmlDeviceGetMigDeviceHandleByIndex nvmlDeviceGetGpuInstanceId
nvmlDeviceGetComputeInstanceId nvmlDeviceGetDeviceHandleFromMigDeviceHandle nvmlDeviceIsMigDeviceHandle
nvmlDeviceGetMinorNumber nvmlDeviceGetPciInfo_v3 nvmlDeviceGetAccountingMode nvmlDeviceGetProcessUtilization
nvmlDeviceGetConfComputeGpuAttestationReport nvmlEventSetWait_v2""".split()
KERNEL_CONFIG = """BPF_SYSCALL BPF_JIT DEBUG_INFO_BTF UPROBES UPROBE_EVENTS KPROBES FPROBE FTRACE_SYSCALLS
FUNCTION_TRACER BPF_LSM BPF_EVENTS""".split()
SHOWN = 12                         # kernel records printed for each step
FIRST = (("endbr64", b"\xf3\x0f\x1e\xfa"), ("nop5", b"\x0f\x1f\x44\x00\x00"), ("push", None))


def text(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as f:
            return f.read().strip()
    except OSError as e:
        return f"({e.strerror})"


def kernel():
    out = {"release": os.uname().release, "nvidia": text("/proc/driver/nvidia/version").splitlines()[0],
           "devices": [x.strip() for x in text("/proc/devices").splitlines() if "nvidia" in x],
           "uprobe PMU type": text("/sys/bus/event_source/devices/uprobe/type"),
           "BTF": os.path.exists("/sys/kernel/btf/vmlinux"),
           "module BTF": sorted(os.path.basename(p) for p in glob.glob("/sys/kernel/btf/nvidia*")),
           "tracefs": os.path.isdir("/sys/kernel/tracing/events"),
           "perf_event_paranoid": text("/proc/sys/kernel/perf_event_paranoid"),
           "lockdown": text("/sys/kernel/security/lockdown"),
           "nodes": {p: f"{os.major(os.stat(p).st_rdev)}:{os.minor(os.stat(p).st_rdev)}"
                     for p in sorted(glob.glob("/dev/nvidia*")) if not os.path.isdir(p)}}
    try:
        import gzip
        with gzip.open("/proc/config.gz", "rt") as f:
            config = dict(line.strip().split("=", 1) for line in f if line.startswith("CONFIG_"))
        out["config"] = {k: config.get("CONFIG_" + k, "n") for k in KERNEL_CONFIG}
    except OSError as e:
        out["config"] = f"({e.strerror})"
    return out


def nvml_facts(run):
    library = run.nvml.lib
    out = {"driver": run.nvml.version(), "missing": [f for f in NVML_FUNCTIONS if not hasattr(library, f)], "MIG": {}}
    for handle, uuid in run.nvml.devices:
        now, pending = ctypes.c_uint(), ctypes.c_uint()
        code = library.nvmlDeviceGetMigMode(handle, ctypes.byref(now), ctypes.byref(pending))
        out["MIG"][uuid] = f"mode {now.value}" if not code else f"error {code}"
    return out


# ---- libcuda's entries ----

def libcuda_path():
    ctypes.CDLL("libcuda.so.1")
    for line in text("/proc/self/maps").splitlines():
        if "libcuda.so" in line:
            return line.split(None, 5)[5]
    return None


def dynamic_functions(data):
    """Function -> file offset, from an ELF file's dynamic symbols (System V ABI, 64 bits)."""
    shoff, = struct.unpack_from("<Q", data, 0x28)
    phoff, = struct.unpack_from("<Q", data, 0x20)
    shentsize, shnum = struct.unpack_from("<HH", data, 0x3a)
    phentsize, phnum = struct.unpack_from("<HH", data, 0x36)
    sections = [struct.unpack_from("<IIQQQQIIQQ", data, shoff + i * shentsize) for i in range(shnum)]
    programs = [struct.unpack_from("<IIQQQQQQ", data, phoff + i * phentsize) for i in range(phnum)]
    loads = [p for p in programs if p[0] == 1]
    out = {}
    for _, kind, _, _, offset, size, link, _, _, entsize in sections:
        if kind != 11:                     # SHT_DYNSYM
            continue
        names = sections[link][4]
        for at in range(offset, offset + size, entsize):
            name, info, _, shndx, value, _ = struct.unpack_from("<IBBHQQ", data, at)
            if info & 15 == 2 and shndx:   # STT_FUNC, defined
                end = data.index(b"\0", names + name)
                where = next((value - p[3] + p[2] for p in loads if p[3] <= value < p[3] + p[5]), None)
                out[data[names + name:end].decode()] = where
    return out


def first_instruction(head):
    for name, code in FIRST:
        if code and head.startswith(code):
            return name
    if head[0] in range(0x50, 0x58) or head[0] == 0x41 and head[1] in range(0x50, 0x58):
        return "push"
    return head.hex()


def libcuda_facts():
    path = libcuda_path()
    with open(path, "rb") as f:
        data = f.read()
    functions, kinds, absent = dynamic_functions(data), {}, []
    for symbol in wire.apis():
        if functions.get(symbol) is None:
            absent.append(symbol)
            continue
        at = functions[symbol]
        kinds.setdefault(first_instruction(data[at:at + 12]), []).append(symbol)
    return {"path": os.path.realpath(path), "exported functions": len(functions), "absent": absent,
            "first instruction": {k: len(v) for k, v in kinds.items()},
            "neither push nor nop": {k: v for k, v in kinds.items() if k not in ("push", "nop5")}}


# ---- what libcuda asks of the kernel ----

def describe(kind, f):
    if kind == "RM_ALLOC":
        words = f"class {f['class_id']:x}" + (f" {f['size'] / lib.MIB:g} MiB attr {f['attr']:x} flags {f['flags']:x}"
                                             if f["size"] else "")
        return f"RM_ALLOC {words} client {f['client']:x} object {f['object']:x} status {f['status']:x}"
    if kind in ("RM_FREE", "RM_DUP"):
        return f"{kind} client {f['client']:x} object {f['object']:x}" + \
            (f" from client {f['client_src']:x} object {f['object_src']:x}" if kind == "RM_DUP" else "")
    if kind in ("UVM_MAP", "UVM_UNMAP", "UVM_FREE"):
        return f"{kind} base {f['base']:x}" + (f" {f['length'] / lib.MIB:g} MiB" if "length" in f else "") + \
            (f" client {f['client']:x} memory {f['memory']:x} GPUs {f['gpu_count']}" if kind == "UVM_MAP" else "")
    return kind


def ioctls(path, checkpoints):
    """Step -> the kernel records between its checkpoint and the one before."""
    w, symbols = wire.Wire(), {a.id: a.symbol for a in wire.apis().values()}
    steps = [(name, []) for name, _ in checkpoints]
    for record in recfile.read(path):
        kind, f = w.parse(record)
        if kind is None or not re.match("RM_|UVM_", kind):
            continue
        step = next((i for i, (_, ts) in enumerate(checkpoints) if f["hdr.ts_ns"] <= ts), None)
        if step is not None:
            by = symbols.get(f.get("cause.api"), "-")
            steps[step][1].append(f"{describe(kind, f)} in {by}")
    return dict(steps)


def trace_itself(run):
    s = compare.Scenario(run, "facts")
    giver = s.workload("facts_work.py")
    tool = s.tool(workload=giver)
    seen, ipc = [], None
    try:
        while True:
            truth = giver.next()
            seen.append((truth["name"], truth["ts_ns"]))
            if "ipc" in truth:
                ipc = importing(s, truth)
            giver.go()
            if truth["name"].startswith("cuDevicePrimaryCtxReset"):
                break
        giver.leave()
        tool.wait()
        return {"one process": ioctls(f"{run.scratch}/facts.gmt", seen), "importer": ipc}
    finally:
        s.close()


def importing(s, told):
    taker = s.workload("facts_work.py", "import")
    tool = s.tool(workload=taker, name="import")
    seen, used = [], {}
    while True:
        truth = taker.next()
        seen.append((truth["name"], truth["ts_ns"]))
        used[truth["name"]] = s.nvml.used(truth["pid"])
        taker.go(ipc=told["ipc"])
        if truth["name"] == "cuIpcCloseMemHandle":
            break
    taker.leave()
    tool.wait()
    return {"ioctls": ioctls(f"{s.run.scratch}/facts.import.gmt", seen), "NVML": used}


def doctor(_):
    done = subprocess.run([lib.GPUMEMTRACE, "doctor", *lib.OPTIONS], capture_output=True, text=True, timeout=30)
    return {"exit status": done.returncode, "says": (done.stdout + done.stderr).splitlines()}


def short(steps):
    """Of each step what concerns memory: enough to read, the rest is in the file."""
    out = {}
    for step, lines in steps.items():
        memory = [x for x in lines if re.search(r"class (40|3e|71) |FREE|DUP|MAP", x)]
        out[step] = memory[:SHOWN] + ([f"... {len(lines) - SHOWN} more"] if len(memory) > SHOWN else [])
    return out


def main():
    facts, run = {}, runner.Run()
    for name, find in (("kernel", lambda _: kernel()), ("NVML", nvml_facts), ("libcuda", lambda _: libcuda_facts()),
                       ("doctor", doctor), ("ioctls", trace_itself)):
        try:
            facts[name] = find(run)
        except Exception as e:             # one fact that cannot be had must not hide the others
            facts[name] = f"{type(e).__name__}: {e}"
    run.end_children()
    os.makedirs(runner.OUT, exist_ok=True)
    with open(os.path.join(runner.OUT, "facts.json"), "w", encoding="utf-8") as f:
        json.dump(facts, f, indent=1)
    if isinstance(facts["ioctls"], dict):
        seen = facts["ioctls"]
        seen["one process"] = short(seen["one process"])
        if seen["importer"]:
            seen["importer"]["ioctls"] = short(seen["importer"]["ioctls"])
    print(json.dumps(facts, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
