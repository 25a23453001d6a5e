#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""gpumemtrace's own memory has a bound (--memory): what it gives up is told, and the sums stay exact to the end."""
import contextlib
import glob
import json
import os
import re
import struct
import sys

import lib
from lib import GPU_B, MIB, Target, Tool, check, equal, process_of, row_of

BOUND = 64 * MIB
TABLES = 8 * MIB                # the first map of unwinding tables (GMT_SHARD_WORDS)
SIZE = 512                      # bytes of an allocation
MOST = 4_000_000                # more live allocations than fit into the bound
MOST_EACH = 140                 # bytes of a live allocation, if nothing else takes memory: 65 to 130, as tables double

# Makes allocations and frees none, until it is told to end.
KEEPS = f"""
import ctypes, sys, threading
cuda, u64, over = ctypes.CDLL(sys.argv[1]), ctypes.c_uint64, threading.Event()
pointer, context = u64(), u64()
for name, arguments in (("cuInit", (0,)), ("cuDevicePrimaryCtxRetain", (ctypes.byref(context), 0)),
                        ("cuCtxSetCurrent", (context,))):
    assert getattr(cuda, name)(*arguments) == 0, name
print("ready", flush=True)
sys.stdin.readline()
threading.Thread(target=lambda: (sys.stdin.readline(), over.set()), daemon=True).start()
allocate, place, size = cuda.cuMemAlloc_v2, ctypes.byref(pointer), u64({SIZE})
for i in range({MOST}):
    if over.is_set():
        break
    assert allocate(place, size) == 0
over.wait()
"""


# Allocates in a function of the library.
CALLS = """
import ctypes, sys
cuda, large, u64 = ctypes.CDLL(sys.argv[1]), ctypes.CDLL(sys.argv[2]), ctypes.c_uint64
pointer, context = u64(), u64()
assert cuda.cuInit(0) == 0 and cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
assert cuda.cuCtxSetCurrent(context) == 0
print("ready", flush=True)
sys.stdin.readline()
assert large.call(cuda.cuMemAlloc_v2, ctypes.byref(pointer), u64(1 << 20)) == 0
print("done", flush=True)
sys.stdin.readline()
"""
UNITS = 4_000_000                # compilation units of the library, each of which takes some 200 bytes to be read


def large_library(folder):
    """A library whose debug information takes more memory than gpumemtrace may have, while it is read."""
    source, units, path = (os.path.join(folder, name) for name in ("large.S", "units", "liblarge.so"))
    with open(units, "wb") as file:
        file.write(struct.pack("<IHIBB", 8, 4, 0, 8, 0) * UNITS)     # DWARF 4, 7.5.1; none has an entry
    with open(source, "w", encoding="ascii") as file:
        file.write(".globl call\n.type call, @function\ncall:\nsub $8, %rsp\nmov %rdi, %rax\nmov %rsi, %rdi\n"
                   "mov %rdx, %rsi\ncall *%rax\nadd $8, %rsp\nret\n.size call, .-call\n"
                   '.section .note.GNU-stack, "", @progbits\n'
                   f'.section .debug_info, "", @progbits\n.incbin "{units}"\n'
                   '.section .debug_abbrev, "", @progbits\n.quad 0\n')
    equal(lib.run(["gcc", "-shared", "-nostdlib", "-o", path, source]).returncode, 0, "gcc")
    return path


def open_maps(pid):
    """Bytes of the BPF maps to which a process has descriptors."""
    total = 0
    for number in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(OSError):      # it is closed meanwhile
            if os.readlink(f"/proc/{pid}/fd/{number}") == "anon_inode:bpf-map":
                with open(f"/proc/{pid}/fdinfo/{number}", encoding="ascii") as file:
                    total += sum(int(line.split()[1]) for line in file if line.startswith("memlock:"))
    return total


def measured():
    """own memory is in each view"""
    target = Target("basic", hold="end")
    target.wait("end")
    tool = Tool("-p", str(target.pid)).ready()
    tool.idle()
    tool.wait_line(lambda: tool.views()[-1]["own_memory"], "a measurement")
    own = tool.views()[-1]["own_memory"]
    equal((own["bound_bytes"], own["shed"]), (1 << 30, None), "bound, and what was given up")
    check(0 < own["tracer_bytes"] < 64 * MIB and own["readers_bytes"] > 0, own)
    check(own["most_bytes"] >= own["tracer_bytes"] + own["readers_bytes"], own)
    check(own["maps_bytes"] is None or own["maps_bytes"] > MIB, own)
    opened = open_maps(tool.pid)
    target.go()
    last = tool.report()["own_memory"]
    check(last["most_bytes"] >= own["most_bytes"], own, last)
    check(last["maps_bytes"] is None or last["maps_bytes"] >= opened + TABLES, "maps inside maps are missing", opened, last)


def fill_memory(output):
    """A target whose live allocations alone take the bound, the tool that has ended of that, and its report."""
    target = lib.Process([sys.executable, "-c", KEEPS, lib.LIB], env=lib.environment())
    target.wait_line(lambda: target.out, "its start")
    tool = Tool("-p", str(target.pid), "--memory", str(BOUND), "-o", output, options=("--interval", "1")).ready()
    target.line()
    report = tool.report()
    target.line()
    equal(target.finish()[0], 0, "the target's exit status")
    equal((report["end_reason"], report["exit_status"]), ("error", 1), "the end " + tool.stderr())
    return target, tool, report


def bounded():
    """live allocations alone that take the bound end the tracing; until then each byte is counted"""
    folder = lib.folder()
    recording = os.path.join(folder, "run.gmt")
    target, tool, report = fill_memory(recording)
    own = report["own_memory"]
    equal(own["shed"], "names", "what was given up")
    check(BOUND <= own["most_bytes"] < 3 * BOUND, own)
    said = [limit["what"] for limit in report["limits"]]
    for what in ("stack traces of new allocations", "events of the window and of the page", "names of stack traces", "ended early"):
        check(any(what in text for text in said), what, said)
        check(what in tool.stderr(), what, tool.stderr())
    device = row_of(process_of(report, target.pid), GPU_B)["classes"]["device"]
    equal(device["live_bytes"], device["live_count"] * SIZE, "bytes")
    equal((device["live_count"], device["frees"], report["lost"] - report["losses"]["stack_lost"]),
          (device["allocs"], 0, 0), "counts")
    again = json.loads(lib.run([lib.TOOL, "replay", "--json", recording]).stdout)
    equal(again["own_memory"], own, "own memory in a replay")
    equal(again["processes"], report["processes"], "the replay's processes")
    equal(glob.glob(folder + "/*"), [recording], "files")


def page_gives_way():
    """a page keeps single allocations until memory is short: then these go, are counted, and live allocations go on"""
    page = os.path.join(lib.folder(), "run.html")
    target, tool, report = fill_memory(page)
    check("the live allocations alone take" in tool.stderr(), tool.stderr())
    live = row_of(process_of(report, target.pid), GPU_B)["classes"]["device"]["live_count"]
    each = report["own_memory"]["tracer_bytes"] / live
    check(each < MOST_EACH, f"{live} live allocations, {each:.0f} bytes each: they do not take the memory alone")
    with open(page, encoding="utf-8") as file:
        text = file.read()
    counts = [int(re.search(rf'"{name}":(\d+)', text)[1]) for name in ("life_count", "lives_left_out")]
    equal(sum(counts), live, f"lives in the page and left out, {counts}")
    check(re.search(r"single events before \+[\d.]+ s are given up", text), "the page does not say what was given up")


def readers_give_way():
    """a file whose debug information alone takes the bound costs its own names, and nothing else"""
    target = lib.Process([sys.executable, "-S", "-c", CALLS, lib.LIB, large_library(lib.folder())],
                         env=lib.environment())
    target.wait_line(lambda: target.out, "its start")
    tool = Tool("-p", str(target.pid), "--memory", str(BOUND), options=("--interval", "1")).ready()
    target.line()
    target.wait_line(lambda: "done\n" in target.out, "its work")
    tool.wait_line(lambda: tool.views()[-1]["own_memory"]["most_bytes"] > BOUND, "the reading of the file")
    report = lib.settled(tool, target.pid)
    target.line()
    own = report["own_memory"]
    equal(own["shed"], "readers", "what was given up")
    check("ended early" not in tool.stderr(), tool.stderr())
    equal(row_of(process_of(report, target.pid), GPU_B)["classes"]["device"]["live_bytes"], MIB, "bytes")


if __name__ == "__main__":
    lib.main(measured, bounded, page_gives_way, readers_give_way)
