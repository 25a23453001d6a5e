# SPDX-License-Identifier: BSD-2-Clause
"""Trainings of a real PyTorch whose tensors are blocks on simulated GPUs. The report has the iterations, phases, ranges
and categories that the program counted. The program's results are those of a run without a tracer.

test_training*.py run them, each with a PyTorch.
"""
import functools
import json
import os
import sys

import lib
import torchlib
from lib import GPU_A, GPU_B, Tool, check, equal, process_of, row_of
from torch_truth import Story
from torchlib import Training

sys.path.insert(0, os.path.join(lib.TOP, "tests"))
import vizlib  # noqa: E402

GPUS = (GPU_B, GPU_A)       # by CUDA's numbers


def from_start(torch, variant, *options):
    """Probed before it has a tensor, to its end: (report, pid, truth)."""
    tool = Tool("-a", *options).ready()
    target = Training(torch, variant, hold="loaded,end" if options else "loaded")
    target.wait("loaded")
    torchlib.until_probed(tool, target.pid)
    if options:
        tool.idle()                 # the tables of stacks are there
    target.go()
    if options:
        target.wait("end")          # a process that has ended takes the names of its functions along
        tool.idle()
        target.go()
    status, out = target.finish()
    equal(status, 0, "exit status " + target.stderr())
    return lib.settled(tool, target.pid), target.pid, torchlib.truth_of(out)


def attached(torch, where, variant):
    """Attached at a hold of the program's: (report, pid, truth)."""
    target = Training(torch, variant, hold=where)
    target.wait(where)
    tool = Tool("-p", str(target.pid)).ready()
    target.go()
    status, out = target.finish()
    equal(status, 0, "exit status " + target.stderr())
    return tool.report(), target.pid, torchlib.truth_of(out)


def differences(what, got, wanted):
    return [f"{what} {key}: {got.get(key)}, not {wanted[key]}" for key in wanted if got.get(key) != wanted[key]]


def wrong_iterations(got, story, first=1):
    if [i["iteration"] for i in got] != list(range(1, len(got) + 1)):
        return [f"iterations {[i['iteration'] for i in got]}"]
    told = [phases for phases in story.iterations if phases] if story.was_backward else []
    if len(got) != len(told):
        return [f"{len(got)} iterations, not {len(told)}"]
    wrong = []
    for number, (iteration, phases) in enumerate(zip(got, told), 1):
        if iteration["complete"] != (number <= story.complete and (number > 1 or story.is_whole)):
            wrong.append(f"iteration {number} complete: {iteration['complete']}")
        if number < first:
            continue
        if set(iteration["phases"]) != set(phases):
            wrong.append(f"iteration {number}: phases {sorted(iteration['phases'])}, not {sorted(phases)}")
            continue
        for phase, cell in phases.items():
            wrong += differences(f"iteration {number} {phase}", iteration["phases"][phase], cell)
    return wrong


def wrong_ranges(got, story):
    names = {r["name"]: r for r in got}
    if set(names) != set(story.ranges):
        return [f"ranges {sorted(names)}, not {sorted(story.ranges)}"]
    keys = "times", "begin_bytes", "end_bytes", "peak_bytes"
    return [line for name, cell in story.ranges.items()
            for line in differences(f"range {name}", names[name], {key: cell[key] for key in keys})]


def wrong_categories(got, story, certain):
    """Those that can be told for certain, to the byte; and all bytes have one."""
    sums = {c["category"]: c for c in got}
    wanted = story.categories()
    wrong = []
    for key, total in ("live_bytes", story.allocated), ("at_peak_bytes", story.peak):
        if sum(c[key] for c in got) != total:
            wrong.append(f"sum of {key}: {sum(c[key] for c in got)}, not {total}")
    nothing = {"live_bytes": 0, "live_count": 0, "at_peak_bytes": 0}
    for name in certain:
        wrong += differences(f"category {name}", sums.get(name, nothing), wanted.get(name, nothing))
    return wrong


def compare(report, pid, truth, since=None, certain=()):
    """All devices of the training; since: where it was attached. An iteration that had begun is not compared."""
    process = process_of(report, pid)
    wrong = [f"lost {key}: {value}" for key, value in report["losses"].items() if value]
    for device in range(len(truth["losses"])):
        story = Story(truth["log"], device, since)
        row = row_of(process, GPUS[device])
        check(row and row["torch"], f"nothing of device {device}", process)
        t = row["torch"]
        wrong += differences("allocated", t["allocated"], {"live_bytes": story.allocated})
        wrong += differences("blocks", t["blocks"], story.blocks_counted())
        wrong += wrong_iterations(t["iterations"], story, 2 if since in ("forward", "backward") else 1)
        wrong += wrong_ranges(t["ranges"], story)
        if since is None:
            wrong += differences("allocated", t["allocated"], {"peak_bytes": story.peak})
            wrong += wrong_categories(t["categories"], story, certain)
    check(not wrong, "\n".join(wrong))


UNTRACED = "adam", "in-backward", "checkpoint-reentrant", "ranks", "oom"


@functools.lru_cache(None)
def losses_untraced(torch, variant):
    return Training(torch, variant).truth()["losses"]


def case(name, variant, certain=("parameter", "optimizer_state", "gradient", "input", "activation"), since=None):
    """A training that is compared with its truth and with itself untraced; since: where it is attached."""
    def test(torch):
        report, pid, truth = attached(torch, since, variant) if since else from_start(torch, variant)
        compare(report, pid, truth, since, certain)
        if variant in UNTRACED:
            equal(truth["losses"], losses_untraced(torch, variant), "losses, beside those without a tracer")
    test.__doc__ = name
    return test


# Who makes what lives at the end, in the program's words: the function of the file that is innermost on the stack.
# Gradients are made by a thread without Python.
MAKERS = {"__init__": "parameter", "unused_module": "parameter", "new_batch": "input", "step": "optimizer_state",
          "": "gradient"}


def snapshot(torch):
    """its snapshot for PyTorch's viewer: blocks, peak, and the lines of the program that made what is there"""
    path = os.path.join(lib.folder(), "run.pickle")
    report, pid, truth = from_start(torch, "adam", "-o", path)
    compare(report, pid, truth)
    story = Story(truth["log"])
    if not os.path.exists(path):            # somebody else's program is traced, too
        path = path.replace(".pickle", f".{pid}.pickle")
    equal(vizlib.problems(path), [], "what viewers choke on")
    taken = vizlib.load(path)
    equal(vizlib.totals(taken, 0)[0], story.allocated, "allocated")
    equal(vizlib.active_peak(taken, 0), story.peak, "peak")
    made = {}
    for block in (b for segment in taken["segments"] for b in segment["blocks"] if b["state"] != "inactive"):
        maker = next((f["name"].split(".")[-1] for f in block["frames"] if f["filename"] == torchlib.PROGRAM), "")
        made[MAKERS.get(maker, maker)] = made.get(MAKERS.get(maker, maker), 0) + block["size"]
    wanted = {name: sums["live_bytes"] for name, sums in story.categories().items() if sums["live_bytes"]}
    equal(made, wanted, "bytes by maker")


def out_of_memory(torch):
    """memory runs out in forward and below autograd's engine: the exception passes the probes, and each is one OOM"""
    argv, env = torchlib.training(torch, "oom")
    recording = lib.folder() + "/run.gmt"
    tool = Tool("-o", recording, "--", "env", *(f"{k}={v}" for k, v in env.items()), *argv, json_output=False,
                options=("--no-live",))
    status, out = tool.finish()
    equal(status, 0, "exit status " + tool.stderr())
    truth = torchlib.truth_of(out)
    equal(truth["caught"], 2, "exceptions that Python caught")
    equal(truth["losses"], losses_untraced(torch, "oom"), "losses, beside those without a tracer")
    told = lib.run([lib.TOOL, "oom", "--json", recording])
    equal((told.returncode, told.stderr), (0, ""), "gpumemtrace oom")
    ooms = [json.loads(line)["oom"] for line in told.stdout.splitlines()]
    equal([(o["outcome"], o["asked_bytes"]) for o in ooms], [("raised", 1 << 30)] * 2, "what oom says")


CASES = (
    case("Adam, zero_grad before each iteration", "adam"),
    case("SGD with momentum, one batch for all iterations", "sgd"),
    case("gradients that are never cleared", "kept"),
    case("gradients that are set to zero and to None in turn", "alternate"),
    case("two backwards for a step", "accumulate"),
    case("optimizer steps in hooks of the backward", "in-backward", ("parameter", "optimizer_state", "input")),
    case("ranges of the user's, one in the other, and around a backward", "ranges"),
    case("activation checkpoints, whose forward is done once more in backward", "checkpoint"),
    case("... by an engine in the engine", "checkpoint-reentrant"),
    case("inference, without a backward", "inference", ()),
    case("two threads, a GPU each", "ranks"),
    case("under PyTorch's own profiler, which has the CPU's blocks reported as well", "profiled"),
    case("memory that runs out twice", "oom"),
    out_of_memory,
    snapshot,
    case("attached between two iterations", "adam", since="half"),
    case("attached between two iterations with two backwards each", "accumulate", since="half"),
    case("attached in a forward, in ranges", "ranges", since="forward"),
    case("attached in the first of two backwards", "accumulate", since="backward"),
)


def bound(test, torch):
    def run():
        test(torch)
    run.__doc__ = test.__doc__
    return run


def main(find):
    """All cases with the PyTorch that find() gives."""
    lib.ready()
    try:
        torch = find()
    except lib.Skip as why:
        print(f"1..0 # SKIP {why}")
        return
    lib.main(*(bound(test, torch) for test in CASES))
