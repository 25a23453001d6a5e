#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What the report finds in each of the stand-in's programs is what is true of the program: each other finding is a false
alarm. The last line counts them."""
import collections
import os
import sys

import lib
from lib import C10, C10_CUDA, LIB, LIB_ENDBR, check, equal

sys.path.insert(1, os.path.join(lib.TOP, "tests"))
from findinglib import ACCUSING, differences, findings_of, report_of  # noqa: E402

TOO_MUCH = ("out_of_memory", "request", "the program asks for more than the GPU has, to see the error")
MUCH_CONTEXT = 1 << 30      # CONTEXT_BYTES of core/view/thresholds.h
FILLED = ("out_of_memory", "full", "the program fills the GPU before it asks")
# (program and its arguments): its true findings (findinglib.py) without the command, or none.
PROGRAMS = {
    ("arrays",): [],
    ("basic",): [],
    ("bound",): [],
    ("checkpointed", "20"): [],
    ("contexts",): [],
    ("dl_twolibs", LIB, LIB_ENDBR): [],
    ("errors",): [],
    ("forks", "both"): [],
    ("graphs",): [],
    ("green",): [],
    ("host",): [],
    ("ipc",): [],
    ("last_thread",): [],
    ("left", "jump"): [],
    ("left", "callback"): [],
    ("longrun",): [],
    ("modules",): [],
    ("nccl",): [],
    ("oom",): [TOO_MUCH],
    ("oom_cases", "caught"): [FILLED],
    ("oom_cases", "retry"): [],
    ("pools",): [TOO_MUCH],
    ("procaddr",): [],
    ("stacks", "same", "2000"): [],
    ("storm", "3", "4", "65536"): [],
    ("storm", "3", "4", "65536", "async"): [],
    ("threads", "8", "5000"): [],
    ("torch", C10, "2000"): [],
    ("torch_backends", C10, C10_CUDA, "native"): [],
    ("train", "300"): [TOO_MUCH],
    ("vmm",): [],
}
COUNTS = collections.Counter()


def seen_late(command, report):
    """Two libcudas have a context each, and the report has both, or what the end has left."""
    contexts = [gpu["physical"]["context_bytes"] for process in report["processes"] for gpu in process["gpus"] if gpu["physical"]]
    are_two = command[0] == "dl_twolibs" and max(contexts, default=0) >= MUCH_CONTEXT
    return [("context", None, "two contexts on one GPU")] if are_two else []


def finds_the_truth(command, true):
    """Traces the program from its start to its end; the report is the recording's."""
    path = os.path.join(lib.folder(), "run.gmt")
    done = lib.run([lib.TOOL, "--driver-root", lib.ROOT, "--oom-dir", "off", "--block-stacks", "-q", "-o", path, "--",
                    lib.workload(command[0]), *command[1:]], env=lib.environment(GPUMEMTRACE_STANDIN_ROOT=lib.ROOT))
    equal(done.returncode, 0, f"exit status ({done.stderr})")
    report = report_of(path)
    found = findings_of(report)
    COUNTS.update(finding for _, finding, _ in found)
    wrong = list(differences(found, [(command[0], *finding) for finding in true + seen_late(command, report)]))
    check(not wrong, "\n".join(wrong))


def case(command, true):
    def test():
        finds_the_truth(command, true)
    test.__doc__ = " ".join(os.path.basename(word) for word in command) + f": {len(true)} findings, all true"
    return test


def are_all_tried():
    """each program of the stand-in is tried"""
    there = {name[:-2] for name in os.listdir(os.path.join(lib.TOP, "tests/standin/workloads")) if name.endswith(".c")}
    equal(sorted(there - {"wl_common"} - {command[0] for command in PROGRAMS} - {"dl_late"}), [], "not tried")
    print(f"# {sum(COUNTS[kind] for kind in ACCUSING)} accusations in {len(PROGRAMS)} programs; {dict(COUNTS)}")


if __name__ == "__main__":
    lib.main(*[case(command, true) for command, true in PROGRAMS.items()], are_all_tried)
