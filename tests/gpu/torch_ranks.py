# SPDX-License-Identifier: BSD-2-Clause
"""Scenarios: trainings on two GPUs, each rank compared with torch's numbers in that rank.

Invariant: ranks are never summed; each is compared with its own torch.
"""
from compare import NATIVE
from lib import MIB

STEPS = ("start", "forward", "loss", "backward", "optimizer", "done")
# memory_allocated in MiB after each step, by whether activations are computed again: the first iteration, the others.
# It is what PyTorch's own test of FSDP's memory expects.
EXPECTED = {"no": ((3, 340, 340, 5, 7, 5), (5, 342, 342, 7, 7, 5)), "yes": ((3, 51, 51, 5, 7, 5), (5, 53, 53, 7, 7, 5))}
QUIET = {"NCCL_NVLS_ENABLE": "0"}      # NVLink multicast outlives a crash


def mib(size):
    return None if size is None else round(size / MIB)


def of_ranks(s, *command):
    work = s.workload("ranks_work.py", *command, mode=NATIVE, env=QUIET)
    return work, s.tool(workload=work)


def hold(s, step, tool, truth, peaks=True):
    return [s.holds(f"{step} rank {told['rank']}", tool, told, peaks=peaks) for told in truth["ranks"]]


def row_of(proc, told):
    return proc.row(told["gpus"][told["rank"]]["uuid"])


def phases_in_mib(s, proc, told, table):
    """The report's phases, from one end of the run."""
    where = f"rank {told['rank']}"
    seen = {i["iteration"]: i["phases"] for i in row_of(proc, told).torch.get("iterations") or () if i["complete"]}
    s.equal(where, "iterations that ended", len(seen), len(table), "")
    for number, at in enumerate(table, 1):
        found = seen.get(number, {})
        for phase, key, step in (("forward", "end_bytes", "loss"), ("backward", "end_bytes", "backward"),
                                 ("optimizer", "end_bytes", "optimizer")):
            shown, truth = mib(found.get(phase, {}).get(key)), mib(at[step])
            s.row(f"{where} iteration {number}", f"phase {phase}, end (+-1)", shown, truth,
                  shown is not None and abs(shown - truth) <= 1, "MiB")


def fsdp(s, recomputes):
    work, tool = of_ranks(s, "fsdp", recomputes)
    tables = [[], []]
    for iteration in range(4):
        for step in STEPS:
            truth = work.next()
            for rank, told in enumerate(truth["ranks"]):
                proc = tool.at(told["pid"], told["ts_ns"], list(s.nvml.used(told["pid"]))).process(told["pid"])
                gpu, row = told["gpus"][rank], row_of(proc, told)
                if step == STEPS[0]:
                    tables[rank].append({})
                tables[rank][-1][step] = gpu["allocated"]
                where = f"rank {rank} iteration {iteration} {step}"
                s.equal(where, "PyTorch allocated", row.torch["allocated"]["live_bytes"], gpu["allocated"])
                want = EXPECTED[recomputes][iteration > 0][STEPS.index(step)]
                shown = mib(row.torch["allocated"]["live_bytes"])
                s.row(where, "PyTorch allocated, as PyTorch's test wants it (+-1)", shown, want, abs(shown - want) <= 1, "MiB")
            work.go()
    truth = work.next()
    procs = hold(s, "end", tool, truth)
    for proc, told, table in zip(procs, truth["ranks"], tables):
        phases_in_mib(s, proc, told, table)
        for number, at in enumerate(table):
            s.info(f"rank {told['rank']} iteration {number}", "MiB after " + ", ".join(STEPS), [mib(at[x]) for x in STEPS])
    s.finish(work, tool)


def fsdp_plain(s):
    """FSDP on two GPUs: memory after each phase of four iterations, in MiB, of each rank."""
    fsdp(s, "no")


def fsdp_recomputed(s):
    """The same with activation checkpointing."""
    fsdp(s, "yes")


def reshard(s):
    """fully_shard's reshard_after_forward True, False and 2: what is held after forward differs, and is torch's."""
    work, tool = of_ranks(s, "reshard")
    after = {}
    for _ in range(3):
        for step in ("forward", "optimizer"):
            truth = work.next()
            how = truth["ranks"][0]["how"]
            procs = hold(s, f"{how} {step}", tool, truth)
            after[how, step] = [row_of(p, t).torch["allocated"]["live_bytes"] for p, t in zip(procs, truth["ranks"])]
            work.go()
    hold(s, "end", tool, work.next())
    full = 2048 * 2048 * 4
    for rank in range(2):
        kept, freed, halves = (after[how, "forward"][rank] for how in ("False", "True", "2"))
        s.true(f"rank {rank}", "with False gathered parameters stay until backward", kept - freed >= 4 * full,
               (kept - freed) / MIB, f">= {4 * full / MIB}")
        s.near(f"rank {rank}", "2 is all ranks, so True", halves, freed, 0.02)
    s.finish(work, tool)


def offload(s):
    """fully_shard with its parameters on the host: pinned memory = torch's, in each rank."""
    work, tool = of_ranks(s, "offload")
    for step in ("before", "offloaded"):
        truth = work.next()
        hold(s, step, tool, truth)
        for told in truth["ranks"]:
            s.true(f"{step} rank {told['rank']}", "pinned memory is there when it is asked for (torch)",
                   bool(told["pinned"]) == (step == "offloaded"), told["pinned"])
        work.go()
    hold(s, "end", tool, work.next())
    s.finish(work, tool)


def threads(s):
    """Ranks that are threads of one process: each GPU's blocks and peaks are its own."""
    work, tool = s.traced("ranks_work.py", "threads")
    for _ in range(4):
        truth = work.next()
        proc = s.holds(truth["name"], tool, truth)
        s.equal(truth["name"], "GPUs in use", sum(1 for row in proc.rows if row.torch), 2, "")
        if truth["name"] == "end":
            break
        work.go()
    s.finish(work, tool)


SCENARIOS = {"torch-fsdp": fsdp_plain, "torch-fsdp-recomputed": fsdp_recomputed, "torch-reshard": reshard,
             "torch-offload-ranks": offload, "torch-threads": threads}
