#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Each workload, traced from its start, has its own totals, NVML's and the kernel's; the tracer does not change its
output."""
import lib
from lib import check, equal, trace

WORKLOADS = [
    ("basic",), ("threads", "8", "3000"), ("contexts",), ("pools",), ("vmm",), ("vmm", "oom"), ("bound",), ("nccl",), ("host",),
    ("oom",), ("arrays",), ("modules",), ("graphs",), ("errors",), ("procaddr",), ("green",), ("ipc",), ("train", "4"),
    ("last_thread",),
]


def untraced(argv):
    done = lib.run([lib.workload(argv[0]), *argv[1:]])
    equal(done.returncode, 0, "exit status untraced")
    return done.stdout


def nvml_adds_up(process):
    """used = attributed + named + before + residual, and residual is 0: from the start everything is known."""
    for row in process["gpus"]:
        physical, nvml = row["physical"], row["nvml"]
        if physical["live_bytes"]:
            check(nvml, "NVML said nothing of", row["uuid"])
            equal(nvml["used_bytes"], physical["live_bytes"], f"NVML and the kernel layer on {row['uuid']}")
        named = sum(physical[k] for k in ("context_bytes", "modules_bytes", "pool_reserve_bytes", "rounding_bytes",
                                          "other_bytes"))
        equal(row["attributed"]["live_bytes"] + named, physical["live_bytes"], f"the sum on {row['uuid']}")
        equal(sum(physical["by_purpose_bytes"].values()), physical["live_bytes"], f"purposes on {row['uuid']}")


def case(argv):
    def test():
        process, report, out = trace(*argv)
        equal(out, untraced(argv), "stdout traced and untraced")
        nvml_adds_up(process)
        check(process["from_start"], "not seen from the start")
        for gpu in report["gpus"]:
            equal(gpu["used_bytes"] + gpu["free_bytes"], gpu["total_bytes"], "the GPU's own numbers")
            check(gpu["used_bytes"] >= gpu["processes_bytes"], "processes use more than the GPU")
        equal(report["session"]["layers"], ["api", "kernel", "nvml", "framework"], "layers")
    test.__doc__ = " ".join(argv)
    return test


def ordinals_untold():
    """without cuDeviceGetUuid the kernel layer alone says which GPU each byte is on"""
    process, _, _ = trace("basic", env={"WL_BARE": "1"}, skip=("failed",))
    nvml_adds_up(process)


if __name__ == "__main__":
    lib.main(*[case(argv) for argv in WORKLOADS], ordinals_untold)
