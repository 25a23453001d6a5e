#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Memory that goes and comes back without a call, as at a checkpoint: it stays its owners', and is told as checkpointed."""
import lib
from lib import MIB, Target, Tool, check, equal

ASKED = 30 * MIB        # what the workload holds in the end, in whole pages
TIMES = 20


def checkpointed():
    """while the memory is away, it is told as checkpointed; when it is back, all numbers are as before"""
    target = Target("checkpointed", hold="start,away,back")
    target.wait("start")
    tool = Tool("-p", str(target.pid)).ready()
    target.go()
    found = []
    for phase in "away", "back":
        target.wait(phase)
        tool.idle()
        found.append(lib.row_of(lib.process_of(tool.views()[-1], target.pid), lib.GPU_B))
        target.go()
    books = target.books()
    for row in found:
        equal(row["attributed"]["live_bytes"], ASKED, "bytes that calls allocated")
    away, back = (row["physical"] for row in found)
    equal(away["checkpointed_bytes"], -ASKED, "checkpointed while it is away")
    equal(back["checkpointed_bytes"], 0, "checkpointed when it is back")
    equal(back["live_bytes"] - away["live_bytes"], ASKED, "physical bytes that came back")
    equal(back["other_bytes"], 0, "bytes that nobody asked for")
    lib.compare(tool.report(), target.pid, books, skip=("physical", "residual"))


def often():
    """many checkpoints, with calls in between: no anomaly, and the totals are right"""
    process, _, _ = lib.trace("checkpointed", str(TIMES))
    physical = lib.row_of(process, lib.GPU_B)["physical"]
    equal(physical["checkpointed_bytes"], 0, "checkpointed")
    check(physical["other_bytes"] == 0, "other:", physical)


if __name__ == "__main__":
    lib.main(checkpointed, often)
