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
from findinglib import ACCUSING, differences, found_in  # noqa: E402

TOO_MUCH = ("out_of_memory", "request", "the program asks for more than the GPU has, to see the error")
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


def finds_the_truth(command, true):
    """Traces the program from its start to its end; the report is the recording's."""
    path = os.path.join(lib.folder(), "run.gmt")
    done = lib.run([lib.TOOL, "--driver-root", lib.ROOT, "--oom-dir", "off", "--block-stacks", "-q", "-o", path, "--",
                    lib.workload(command[0]), *command[1:]], env=lib.environment(GPUMEMTRACE_STANDIN_ROOT=lib.ROOT))
    equal(done.returncode, 0, f"exit status ({done.stderr})")
    found = found_in(path)
    COUNTS.update(finding for _, finding, _ in found)
    # Two libcudas have a context each: whether both are there at the report's moment depends on the end of the program.
    found = [one for one in found if (command[0], one[1]) != ("dl_twolibs", "context")]
    wrong = list(differences(found, [(command[0], *finding) for finding in true]))
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
