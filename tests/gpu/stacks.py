#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Stacks of a real training: counts the complete stacks, and checks that each allocation names a line and the right
owner.

    tests/gpu/stacks.py [NAME...]       of: start (traced from the start), late (attached), nccl (two GPUs),
                                        greenlets (if there is the package greenlet)

Results go to $OUT, or build/gpu-results: stacks-NAME.txt (each stack), .json (the report), .folded.
Exit status: 0 all holds, 1 something does not, 2 nothing could be run.
"""
import collections
import importlib.util
import json
import os
import subprocess
import sys
import time

import lib
import nvml

sys.path.insert(0, os.path.dirname(lib.HERE))
import stacklib  # noqa: E402

OUT = os.environ.get("OUT") or os.path.join(lib.TOP, "build", "gpu-results")
COMPLETE_AIM = 0.99
WORK = [sys.executable, os.path.join(lib.HERE, "stacks_work.py")]
ENV = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}


class Check:
    def __init__(self):
        self.failed = 0

    def __call__(self, good, text):
        self.failed += not good
        print(f"{'ok  ' if good else 'FAIL'} {text}", flush=True)


def files(name):
    base = os.path.join(OUT, f"stacks-{name}")
    return base, ["-o", f"/tmp/stacks-{name}.gmt", "--folded", base + ".folded", "--json", "--no-live", "-v", "--top", "30",
                  *lib.OPTIONS]


def from_start(name, *work):
    base, options = files(name)
    with open(base + ".json", "wb") as out, open(base + ".err", "wb") as err:
        status = subprocess.run([lib.GPUMEMTRACE, *options, "--", *WORK, *work], stdout=out, stderr=err, env=ENV,
                                timeout=150).returncode
    return status


def late(name):
    """Attached while the target sleeps, with a cache of tables that is empty or not: as it comes."""
    base, options = files(name)
    target = subprocess.Popen([*WORK, "resnet", "4", "5"], env=ENV, stdout=subprocess.DEVNULL)
    used = nvml.Nvml()
    deadline = time.monotonic() + 90
    while not any(used.used(target.pid).values()) and time.monotonic() < deadline:
        time.sleep(0.1)
    with open(base + ".json", "wb") as out, open(base + ".err", "wb") as err:
        status = subprocess.run([lib.GPUMEMTRACE, *options, "-p", str(target.pid)], stdout=out, stderr=err,
                                timeout=120).returncode
    target.wait(20)
    return status


def report_of(name):
    with open(os.path.join(OUT, f"stacks-{name}.json"), "rb") as f:
        lines = [line for line in f if line.startswith(b"{")]
    return json.loads(lines[-1])


def owners_of(report):
    owners = collections.Counter()
    for process in report["processes"]:
        for gpu in process["gpus"]:
            for owner in gpu["stacks"]["owners"]:
                owners[owner["allocator"] or owner["owner"]] += owner["at_peak_bytes"]
    return owners


def describe(name, found):
    with open(os.path.join(OUT, f"stacks-{name}.txt"), "w", encoding="utf-8") as f:
        for stack in found.stacks.values():
            calls = sum(1 for call in found.calls if call[1] == stack.id)
            kernel = sum(size for size, stack_id in found.allocs if stack_id == stack.id)
            f.write(f"stack {stack.id} of {stack.tgid}/{stack.tid}: {stack.reason}, python {stack.py_reason}, "
                    f"{calls} calls, {kernel} bytes of the kernel\n")
            f.writelines(f"    {frame}\n" for frame in stack.frames or ["(no names)"])


def check_stacks(name, check):
    found = stacklib.Stacks(f"/tmp/stacks-{name}.gmt")
    describe(name, found)
    stacks = list(found.stacks.values())
    reasons = collections.Counter(stack.reason for stack in stacks)
    uses = collections.Counter()
    for stack_id in [call[1] for call in found.calls if call[1]] + [alloc[1] for alloc in found.allocs]:
        uses[found.stacks[stack_id].reason if stack_id in found.stacks else "none"] += 1
    good = sum(stack.is_complete for stack in stacks)
    used = sum(count for reason, count in uses.items() if reason in stacklib.COMPLETE)
    print(f"     {name}: {len(stacks)} stacks, why each ended: {dict(reasons)}")
    print(f"     {name}: {sum(uses.values())} allocations, by why their stacks ended: {dict(uses)}")
    check(good >= COMPLETE_AIM * len(stacks), f"{name}: {good} of {len(stacks)} stacks are complete")
    check(used >= COMPLETE_AIM * sum(uses.values()), f"{name}: those of {used} of {sum(uses.values())} allocations")
    check(all(stack.frames for stack in stacks), f"{name}: every stack has names")
    asked = [found.stacks[call[1]] for call in found.calls if call[1] in found.stacks]
    in_python = [stack for stack in asked if stack.runs_python or stack.tid == stack.tgid]
    named = [stack for stack in in_python if any(f.is_python and f.line for f in stack.frames or ())]
    check(len(named) == len(in_python),
          f"{name}: {len(named)} of {len(in_python)} allocations that Python code led to name its line; "
          f"{len(asked) - len(in_python)} were made by threads that run none (autograd's, NCCL's)")
    gone = sum(1 for stack in stacks for f in stack.frames or () if f.is_python and not f.function)
    check(not gone, f"{name}: {gone} Python frames without a name")
    return found


def check_greenlets(found, check):
    """All that greenlets allocate, at one line, has the stack of a greenlet, which does not show who switched to it."""
    stacks = [s for s in found.stacks.values() if any(f.function.endswith("in_greenlet") for f in s.frames or ())]
    ends = collections.Counter(s.frames[-1].function.split("(")[0] for s in stacks)
    shown = {tuple(map(str, s.frames)) for s in stacks if s.frames[0].function.startswith("cuMemAlloc")}
    check(stacks and all(end.endswith("inner_bootstrap") for end in ends), f"greenlets: stacks end with {dict(ends)}")
    # The first call of a loop comes from a place of its own.
    check(1 <= len(shown) <= 2, f"greenlets: the allocations of one line have {len(shown)} stacks")


def check_report(name, check, wanted):
    report = report_of(name)
    owners = owners_of(report)
    print(f"     {name}: at the peak, by owner (MiB):",
          {owner: round(size / lib.MIB, 1) for owner, size in owners.most_common()})
    for owner in wanted:
        check(owners[owner] > 0, f"{name}: {owner} has {owners[owner] / lib.MIB:.1f} MiB")
    check(not report["lost"], f"{name}: {report['lost']} records lost")
    for process in report["processes"]:
        for gpu in process["gpus"]:
            stacks = gpu["stacks"]
            total = sum(owner["live_bytes"] for owner in stacks["owners"]) + (stacks["unexplained_bytes"] or 0)
            check(total == gpu["physical"]["live_bytes"],
                  f"{name}: owners add up to the physical {gpu['physical']['live_bytes']} bytes, to {total}")


def main():
    os.makedirs(OUT, exist_ok=True)
    try:
        gpus = len(nvml.Nvml().devices)
    except OSError as e:
        print(f"no NVIDIA GPU here: {e}", file=sys.stderr)
        return 2
    extra = (["nccl"] if gpus > 1 else []) + (["greenlets"] if importlib.util.find_spec("greenlet") else [])
    names = sys.argv[1:] or ["start", "late"] + extra
    check = Check()
    for name in names:
        begun = time.monotonic()
        status = {"start": lambda: from_start("start", "resnet", "8"), "late": lambda: late("late"),
                  "nccl": lambda: from_start("nccl", "nccl"),
                  "greenlets": lambda: from_start("greenlets", "greenlets")}[name]()
        check(status == 0, f"{name}: exit status {status}, {time.monotonic() - begun:.0f} s")
        found = check_stacks(name, check)
        if name == "greenlets":
            check_greenlets(found, check)
        check_report(name, check, {"nccl": ["NCCL", "cuBLAS", "CUDA context"]}.get(name, ["PyTorch"]))
    print(f"{check.failed} failed")
    return 1 if check.failed else 0


if __name__ == "__main__":
    sys.exit(main())
