# SPDX-License-Identifier: BSD-2-Clause
"""Many threads allocate on few CPUs, so that a thread is preempted inside a BPF program while another thread runs the
same program. The registers and the stack of a program must stay its own: then the totals are the threads' own.
tests/kernels/run.py reads the kernel's complaints on its console."""
import time

import lib
from tracing import MODES, SLOW, ended, more_views, stopped

SWITCH = "/sys/kernel/debug/sched/preempt"      # CONFIG_PREEMPT_DYNAMIC, kernel/sched/debug.c
WORKLOADS = (("threads", "16", "400"), ("threads", "16", "400"))        # at once
RING = "128M"           # has room for what they do until the reader's turn comes
# What kernels take away, and what is counted. A tracepoint's program is skipped where another one runs on the CPU: an ioctl
# is missing, which tells on which GPU an allocation is. A thread's state is hidden, or cannot be made, at times: then
# the call is not seen. Totals are compared where nothing was lost.
COUNTED = {"program_skipped", "thread_state", "return_unseen", "inflight_orphan"}
CUT = "stack_cut"       # an emulated machine builds unwinding tables slowly: stacks stay cut off, which changes no total
# With the kernel's own model, and with full preemption; each begins and ends once: half a minute on some kernels.
SHARES = (("off", "full", "block-stacks"), ("fp", "native", "python", "full"))


def models():
    """(the model that the kernel has, others that it can be switched to); ("", []) where it does not tell."""
    try:
        with open(SWITCH, encoding="ascii") as file:
            words = file.read().split()
    except OSError:
        return "", []
    own = [word.strip("()") for word in words if word.startswith("(")]
    return (own or [""])[0], [word for word in words if not word.startswith("(")]


def switch(model):
    with open(SWITCH, "w", encoding="ascii") as file:
        file.write(model)
    lib.equal(models()[0], model, "the preemption model")


def once(tool):
    """[(pid, what a program says of itself)] of programs that run at the same time; then the ring is emptied."""
    targets = [lib.Target(*argv) for argv in WORKLOADS]
    books = [(target.pid, target.books()) for target in targets]
    more_views(tool, 1)
    return books


def under_load(mode, seconds):
    """Traces threads for so long, at least once: (seconds, programs, {loss: count}, what is wrong)."""
    tool = lib.Tool("-a", "--ring-size", RING, *MODES[mode], options=SLOW).ready()
    begin, books = time.monotonic(), []
    while not books or time.monotonic() - begin < seconds:
        books += once(tool)
    took = time.monotonic() - begin
    report = stopped(tool)
    lost = {name: count for name, count in report["losses"].items() if count}
    wrong = [f"lost {name}: {count}" for name, count in lost.items() if name not in COUNTED | {CUT}]
    report["losses"][CUT] = 0
    for pid, own in books if not set(lost) - {CUT} else ():
        try:
            lib.compare(report, pid, own, skip=("residual",))
        except lib.Failure as why:
            wrong.append("; ".join(str(why).splitlines()[:4])[:400])
    return took, len(books), lost, wrong


def preempted(seconds, note):
    """With the kernel's own model and, where it can be switched, with full preemption; each mode has its share.
    note(name, facts) is called before each share, so that what the kernel died of is known."""
    own, others = models()
    wanted = [own] + (["full"] if "full" in others else [])
    facts = {"models": wanted, "seconds": 0.0, "programs": 0, "lost": {}}
    wrong = []
    for model, modes in zip(wanted, SHARES):
        if model != own:
            switch(model)
        for mode in modes:
            note(f"preempted ({model or 'unknown'}), --stacks {mode}", facts)
            try:
                took, programs, lost, bad = under_load(mode, seconds / len(wanted) / len(modes))
            except lib.Failure as why:
                wrong.append(f"{model}, {mode}: " + " ".join(str(why).split())[:300])
                continue
            finally:
                lib.Process.end_all()
            facts["seconds"] = round(facts["seconds"] + took, 1)
            facts["programs"] += programs
            facts["lost"] = {name: facts["lost"].get(name, 0) + lost.get(name, 0) for name in {**facts["lost"], **lost}}
            wrong += [f"{model}, {mode}: {line}" for line in bad[:3]]
            if len(bad) > 3:
                wrong.append(f"{model}, {mode}: {len(bad) - 3} more")
    return facts, wrong + ended()
