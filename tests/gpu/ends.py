# SPDX-License-Identifier: BSD-2-Clause
"""Scenarios in which memory goes by other means than frees: a checkpoint, a reset of the primary context, a fork."""
import os
import subprocess
import sys

import lib


def move(s, what, pid):
    """False: this driver cannot do it."""
    command = [sys.executable, os.path.join(lib.HERE, "checkpoint.py"), what, str(pid)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=lib.HERE)
    if done.returncode == 3:
        s.info(what, "not possible here", done.stderr.strip())
        return False
    s.equal(what, "exit status of checkpoint.py", done.returncode, 0, done.stderr.strip())
    return not done.returncode


def by_purpose(row):
    """The context and "other" together."""
    purposes = dict(row.by_purpose)
    purposes["context"] = purposes.get("context", 0) + purposes.pop("other", 0)
    return purposes


def saved_agrees(s, tool, truth, before):
    """While the memory is in host memory: the calls' sums stay, physical bytes are NVML's, and the rest is named."""
    def is_saved(view):
        proc = view.process(truth["pid"])
        row = proc and proc.row(truth["uuid"])
        return row and row.checkpointed
    proc = tool.wait_view(is_saved).process(truth["pid"])
    row, used = proc.row(truth["uuid"]), s.nvml.used(truth["pid"]).get(truth["uuid"], 0)
    s.classes_agree("saved", proc, truth)
    s.equal("saved", "physical and NVML", row.physical, used)
    # The driver takes some memory for itself meanwhile (4 MiB on an H100, driver 580.159.04), which is "other".
    own = row.named["other"] - before.named["other"]
    s.true("saved", "memory of the driver's own meanwhile: 16 MiB at most", 0 <= own <= 16 << 20, own)
    s.equal("saved", "in host memory, less the driver's own: physical before, less now", -row.checkpointed - own,
            before.physical - row.physical)
    s.equal("saved", "context", row.named["context"], before.named["context"])


def checkpoint(s):
    """Checkpoint and restore: what is in host memory is said, and what comes back has its owners."""
    work = s.workload("ends_work.py", "checkpoint")
    tool = s.tool(workload=work)
    truth = work.next()
    _, proc = s.adds_up("before", tool, truth)
    s.classes_agree("before", proc, truth)
    before = proc.row(truth["uuid"])
    if move(s, "save", truth["pid"]):
        saved_agrees(s, tool, truth, before)
        move(s, "restore", truth["pid"])
    for step in ("after", "freed"):
        work.go()
        truth = work.next()
        _, proc = s.adds_up(step, tool, truth)
        s.classes_agree(step, proc, truth)
        row = proc.row(truth["uuid"])
        s.equal(step, "in host memory", row.checkpointed, 0)
        if step == "after":
            # The driver makes a context's memory of other pieces again (one of 2 MiB on an H100, driver 580.159.04).
            s.equal(step, "physical bytes by purpose", by_purpose(row), by_purpose(before))
            s.equal(step, "bytes with an owner", row.owned, before.owned)
    work.go()
    work.leave()
    status, view = tool.wait()
    s.ended_clean("end", tool, status, view, 0)


def reset(s):
    """cuDevicePrimaryCtxReset: pools, registrations and arrays go with the context."""
    work = s.workload("ends_work.py", "reset")
    tool = s.tool(workload=work)
    for step in ("before", "reset", "again"):
        truth = work.next()
        _, proc = s.adds_up(step, tool, truth)
        s.classes_agree(step, proc, truth)
        work.go()
    work.leave()
    status, view = tool.wait()
    s.ended_clean("end", tool, status, view, 0)


def fork(s):
    """A process forks while it holds memory: the memory is the parent's, and is counted once."""
    work = s.workload("ends_work.py", "fork")
    tool = s.tool(workload=work)
    for step in ("with a child", "without"):
        truth = work.next()
        view, proc = s.adds_up(step, tool, truth)
        s.classes_agree(step, proc, truth)
        child = view.process(truth["child"])
        s.equal(step, "the child's device memory", sum(row.attributed for row in child.rows) if child else 0, 0)
        s.info(step, "NVML's number for the child", s.nvml.used(truth["child"]).get(truth["uuid"], 0))
        work.go()
    work.leave()
    status, view = tool.wait()
    s.ended_clean("end", tool, status, view, 0)


SCENARIOS = {"end-checkpoint": checkpoint, "end-reset": reset, "end-fork": fork}
