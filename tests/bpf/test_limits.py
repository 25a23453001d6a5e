#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What a kernel refuses or lacks is left out, and the output says so; everything else works as before."""
import json
import os
import sys

import lib
from lib import GPU_B, Tool, check, equal, row_of

sys.path.insert(1, os.path.join(lib.TOP, "tests"))
import stacklib  # noqa: E402

BTF = "/sys/kernel/btf/vmlinux"
WALK = ("--stacks", "full")


def train(env=None, options=()):
    """The demo's training traced from its start: (report, its stacks)."""
    path = os.path.join(lib.folder(), "run.gmt")
    tool = Tool("-o", path, *options, "--", os.path.join(lib.TOP, "build/demos/train"), "1", options=("--no-live",),
                env=env)
    report = tool.report()
    replay = json.loads(lib.run([lib.TOOL, "replay", "--json", path]).stdout.splitlines()[-1])
    equal(replay["limits"], report["limits"], "a replay's limits")
    equal(report["lost"], 0, "lost")
    return report, stacklib.Stacks(path).stacks.values()


def totals(report):
    return {name: row["allocs"] for name, row in row_of(report["processes"][0], GPU_B)["classes"].items()}


def said(report, *words):
    limits = report["limits"]
    equal(len(limits), len(words), limits)
    for limit, word in zip(limits, words):
        check(word in limit["what"] and limit["why"] and limit["remedy"], "not", word, "in", limit)


def nothing():
    """this kernel takes all of it, and nothing is said"""
    said(train(options=("--block-stacks", "--requested-sizes"))[0])


def one_by_one():
    """a program that is refused costs what it is for, and no more"""
    whole, _ = train()
    report, stacks = train({"GPUMEMTRACE_REFUSED": "fw_block,ioctl_tracepoint"}, ("--block-stacks",))
    said(report, "blocks have no stack traces", "by itself has no stack traces")
    equal(totals(report), totals(whole), "allocations")
    check(any(s.is_complete for s in stacks), "no stack is complete")


def stacks_of_the_kernel():
    """without the stacks' own walk the kernel's is left, and then none; totals stay"""
    whole, _ = train()
    for refused, word in (("call_enter", "frame pointers"), ("call_enter,call_enter", "no stack traces")):
        report, stacks = train({"GPUMEMTRACE_REFUSED": refused}, WALK)
        check(word in report["limits"][-1]["what"], word, report["limits"])
        equal(totals(report), totals(whole), "allocations")
        check(not any(s.is_complete for s in stacks), "a stack is complete")
        equal(bool(stacks), refused == "call_enter", "stacks")


def no_kernel_layer():
    """both programs for ioctls refused: the layer is off, with the reason"""
    twice = ",".join(["ioctl_tracepoint"] * 2 + ["ioctl_sys_exit"])
    report, _ = train({"GPUMEMTRACE_REFUSED": twice})
    check("kernel" not in report["session"]["layers"], report["session"])
    check("verifier" in report["session"]["why_no_kernel_layer"], report["session"])


def without_helpers():
    """types without bpf_loop() or bpf_find_vma(), as before 5.17: the kernel's walk, and that is said"""
    with open(BTF, "rb") as file:
        types = file.read()
    for name in b"BPF_FUNC_loop", b"BPF_FUNC_find_vma":
        path = os.path.join(lib.folder(), "btf")
        with open(path, "wb") as file:
            file.write(types.replace(b"\0" + name + b"\0", b"\0" + b"x" * len(name) + b"\0"))
        report, stacks = train({"GPUMEMTRACE_BTF": path}, WALK)
        said(report, "frame pointers")
        check("bpf_loop" in report["limits"][0]["why"], report["limits"])
        check(stacks and not any(s.is_complete for s in stacks), "stacks")


def doctor():
    """doctor loads the real programs, and says what is left out of them"""
    whole = ("", "ok", "all were loaded")
    for refused, state, word in whole, ("fw_block", "warn", "blocks have no stack traces"), \
            ("call_enter,call_enter", "warn", "no stack traces"):
        done = lib.run([lib.TOOL, "doctor", "--json"], env=lib.environment(GPUMEMTRACE_REFUSED=refused))
        found = [f for f in json.loads(done.stdout)["features"] if f["name"] == "BPF programs"][0]
        check(found["state"] == state and word in found["detail"], found)


if __name__ == "__main__":
    lib.main(nothing, one_by_one, stacks_of_the_kernel, no_kernel_layer, without_helpers, doctor)
