#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Nothing is lost silently: losses of a ring buffer that is too small are counted, and a ring of the usual size loses
nothing."""
import sys

import lib
from lib import GPU_A, GPU_B, MIB, Process, Target, Tool, check, equal, process_of, row_of

TRIES = 5
PAIRS = 150000

# Two contexts, the first of which is current. CHANGE makes the other one current while records are lost.
CONTEXTS = r"""
import ctypes, sys
cuda, u64 = ctypes.CDLL(sys.argv[1]), ctypes.c_uint64
ptr, contexts, uuid = u64(), [u64(), u64()], ctypes.create_string_buffer(16)
def call(name, *arguments):
    assert getattr(cuda, name)(*arguments) == 0, name
def hold(word):
    print(word, flush=True)
    sys.stdin.readline()
hold("loaded")
call("cuInit", 0)
for i, context in enumerate(contexts):
    call("cuDeviceGetUuid", uuid, i)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), i)
call("cuCtxSetCurrent", contexts[0])
call("cuMemAlloc_v2", ctypes.byref(ptr), u64(1 << 20))
hold("ready")
for i in range(5000):
    call("cuMemAlloc_v2", ctypes.byref(ptr), u64(1 << 10))
    call("cuMemFree_v2", ptr)
call(sys.argv[2], contexts[1])
hold("changed")
for i in range(10):
    if sys.argv[2] == "cuCtxSetCurrent":
        call(sys.argv[2], contexts[1])
    call("cuMemAlloc_v2", ctypes.byref(ptr), u64(4 << 20))
hold("done")
"""


def storm(*options, threads=1, env=None):
    """A storm of pairs traced from its start: (report, pairs made, exit status)."""
    tool = Tool(*options, "--", lib.workload("storm"), "0", str(threads), "1024", options=("--no-live",),
                env=dict(env or {}, PAIRS=str(PAIRS)))
    report = tool.report()
    return report, threads * PAIRS + 1


def no_loss():
    """as many records as one core can make: none lost, every pair counted"""
    report, pairs = storm()
    equal(report["lost"], 0, "lost")
    device = row_of(report["processes"][0], GPU_B)["classes"]["device"]
    equal((device["allocs"], device["frees"], device["live_bytes"]), (pairs, pairs, 0), "pairs")
    equal(report["exit_status"], 0, "exit status")


def threads():
    """... and from four threads that reuse each other's addresses at once"""
    report, pairs = storm(threads=4)
    device = row_of(report["processes"][0], GPU_B)["classes"]["device"]
    equal(report["lost"], 0, "lost")
    equal(device["allocs"], pairs, "allocations")
    equal(device["frees"], pairs, "frees")
    equal(report["processes"][0]["anomalies"]["double_alloc"], 0, "double allocations")


def flood(*options, reap=True, json_output=True):
    """A ring of one page that nobody empties while a storm goes on: (tool, target)."""
    target = Target("storm", "0", "1", "1024", hold="ready", env={"PAIRS": str(PAIRS)})
    target.wait("ready")
    tool = Tool("-p", str(target.pid), "--ring-size", "4096", *options, json_output=json_output)
    tool.wait_line(lambda: tool.out, "the first view")
    tool.send(lib.signal.SIGSTOP)
    target.go()
    target.wait("end")
    if reap:
        target.finish()
    tool.send(lib.signal.SIGCONT)
    return tool, target


def tiny_ring():
    """a ring of one page loses records, says how many and why, and the numbers fit together"""
    tool, target = flood()
    report = tool.report()
    check(report["losses"]["ring_full"] > PAIRS, "lost", report["losses"])
    equal(report["lost"], sum(report["losses"].values()) + report["records"]["malformed"], "the sum of losses")
    row = row_of(process_of(report, target.pid), GPU_B)
    seen = row["classes"]["device"]["allocs"] + row["classes"]["device"]["frees"] if row else 0
    lost = report["losses"]["ring_full"]
    check(seen + lost >= 2 * PAIRS, f"{seen} seen and {lost} lost of {2 * PAIRS}")
    equal(report["exit_status"], 0, "exit status without --strict")


def lost_context(call):
    """10 allocations of 4 MiB after a call whose record was lost changed the context: live MiB by GPU."""
    work = Process([sys.executable, "-c", CONTEXTS, lib.LIB, call], env=lib.environment())
    work.wait_line(lambda: "loaded\n" in work.out, "the library")
    # With -a the calls of other tests would fill the ring, too.
    tool = Tool("-p", str(work.pid), "--ring-size", "4096", "--layers", "api", "--nvml", "off").ready()
    work.line()
    work.wait_line(lambda: "ready\n" in work.out, "two contexts")
    tool.idle()
    tool.send(lib.signal.SIGSTOP)
    work.line()
    work.wait_line(lambda: "changed\n" in work.out, "the other context")
    tool.send(lib.signal.SIGCONT)
    tool.idle()
    work.line()
    work.wait_line(lambda: "done\n" in work.out, "the allocations")
    report = lib.settled(tool, work.pid)
    check(report["losses"]["ring_full"] > 100, "lost", report["losses"])
    rows = process_of(report, work.pid)["gpus"]
    return {row["uuid"]: row["classes"]["device"]["live_bytes"] // MIB for row in rows}


def lost_set():
    """a lost cuCtxSetCurrent is sent again with the next one"""
    equal(lost_context("cuCtxSetCurrent"), {GPU_B: 1, GPU_A: 40}, "MiB by GPU")


def lost_push():
    """after a lost cuCtxPushCurrent the context is unknown, and no GPU is charged"""
    live = lost_context("cuCtxPushCurrent_v2")
    equal((live.pop(GPU_B), sum(live.values())), (1, 40), "MiB on the old context's GPU and on no GPU")
    check(not live.get(GPU_A), "MiB by GPU", live)


def strict():
    """--strict makes a loss an error (5), and its absence none"""
    tool, _ = flood("--strict")
    equal(tool.report()["exit_status"], 5, "exit status")
    for _ in range(TRIES):
        target = Target("basic", hold="start")
        target.wait("start")
        tool = Tool("-p", str(target.pid), "--strict").ready()
        target.go()
        report = tool.report()
        # another test's program may map so much that events of mappings are lost, which counts
        if not any("mapping event" in note for note in report["notes"]):
            break
    equal(report["exit_status"], 0, f"exit status without a loss: {report['losses']} {report['notes']} {tool.stderr()}")


def said_in_text():
    """the loss is printed next to the result for people, too"""
    tool, _ = flood(json_output=False)
    _, out = tool.finish()
    check("ring buffer full" in out + tool.stderr(), out)


def lost_exit():
    """the session ends though the record of the target's exit was lost and nobody has waited for it"""
    tool, _ = flood(reap=False)
    equal(tool.report()["end_reason"], "targets_gone", "end reason")


if __name__ == "__main__":
    lib.main(no_loss, threads, tiny_ring, lost_set, lost_push, strict, said_in_text, lost_exit)
