# SPDX-License-Identifier: BSD-2-Clause
"""Scenarios: trainings on one GPU, compared with torch's numbers in the same process.

Invariant: each number that is compared is read by torch while nothing is allocated or freed.
"""
from compare import NATIVE, PHASES
from lib import MIB


def row_of(proc, truth):
    return proc.row(truth["gpus"][0]["uuid"])


# ---- peaks of a window ----

def windowed(s, name, live):
    """Peak and live bytes over a window: torch's reset_peak_memory_stats() beside a mark."""
    work, tool = s.traced("train_work.py", name, options=["--block-stacks", "--requested-sizes"])
    before = work.next()
    s.holds("before", tool, before)
    tool.mark()
    work.go()
    after = work.next()
    proc = s.holds("after", tool, {**after, "gpus": [{**g, **g["window"]} for g in after["gpus"]]}, peaks=False)
    s.window_agrees("after", proc, after)
    row = row_of(proc, after)
    requested = row.torch["requested"] or {"live_bytes": 0}
    s.near("after", "asked for and live at the end, over the begin", requested["live_bytes"] -
           before["gpus"][0]["requested"], live, 0.01)
    s.phases_agree("after", row, after["iterations"], before=1)
    s.finish(work, tool)
    return row, after


def peak(s):
    """A bfloat16 MLP with Adam, two iterations: peak and live bytes of a window = torch's, to the byte."""
    windowed(s, "mlp", 3 * 4 * (512 * 512 + 512) * 2 + 16 * 512 * 2)


def peak_checkpointed(s):
    """The same with activation checkpointing: what is computed again is allocated inside backward."""
    parameters = 4 * (2 * 1024 * 2048 + 2048 + 1024) * 2
    row, after = windowed(s, "checkpointed", 3 * parameters + 128 * 1024 * 1024 * 2)
    hidden = 128 * 1024 * 2048 * 2
    for i in row.torch.get("iterations") or ():
        backward = i["phases"].get("backward", {})
        if i["iteration"] > 1 and "optimizer" in i["phases"]:
            s.true(f"iteration {i['iteration']}", "backward allocates the hidden tensors again",
                   backward.get("alloc_bytes", 0) >= 3 * 2 * hidden, backward.get("alloc_bytes"), f">= {6 * hidden}")
            s.true(f"iteration {i['iteration']}", "backward has a peak of its own",
                   backward.get("peak_bytes", 0) >= backward.get("begin_bytes", 0) + 2 * hidden, backward.get("peak_bytes"))


# ---- where a training's memory is ----

def stacks_of(view, row, key):
    """The first lines of PyTorch's stacks by a number, with what they hold."""
    out = []
    for top in row.torch["stacks"]["top"][key]:
        stack = view.json["stacks"][top["stack"]]
        names = [view.json["symbols"][f] for f in stack["frames"]]
        out.append((top["live_bytes"], [f"{n['function']} ({n['file'] or n['module']}:{n['line'] or 0})" for n in names]))
    return out


def resnet(s, name):
    work, tool = s.traced("train_work.py", name, options=["--block-stacks", "--top", "30"])
    first = work.next()
    s.roles_agree("first", row_of(s.holds("first", tool, first), first), first["roles"])
    work.go()
    truth = work.next()
    row = row_of(s.holds("end", tool, truth), truth)
    s.phases_agree("end", row, truth["iterations"])
    s.roles_agree("end", row, truth["roles"])
    view = s.finish(work, tool)
    stacks = stacks_of(view, row_of(view.process(truth["pid"]), truth), "peak")
    s.true("end", "stacks of blocks are named", any("train_work.py" in f for _, frames in stacks for f in frames), len(stacks))
    phases = [i["phases"] for i in row.torch.get("iterations") or () if i["complete"]]
    return truth, phases, first["roles"]


def gradients_kept(s):
    """ResNet-50 whose gradients nobody clears: from the second iteration on they and the optimizer's state are there."""
    truth, phases, roles = resnet(s, "leak")
    s.true("end", "gradients are live at the end", truth["roles"]["gradient"] > 100_000_000, truth["roles"]["gradient"])
    if not phases:
        s.true("end", "phases are there", False)
        return
    begins = [p["forward"]["begin_bytes"] for p in phases[1:]]
    s.true("end", "every later iteration begins at the same height", len(set(begins)) == 1, begins)
    peaks = [max(p[name]["peak_bytes"] for name in PHASES if name in p) for p in phases]
    s.true("end", "the second iteration's peak is above the first's", peaks[1] > peaks[0], peaks)
    s.equal("end", "above it by gradients and momentum or less", peaks[1] - peaks[0] <=
            roles["gradient"] + roles["optimizer_state"], True, "")


def gradients_cleared(s):
    """ResNet-50 with zero_grad: gradients go each time; momentum comes with the first step, once."""
    truth, phases, roles = resnet(s, "clean")
    s.equal("end", "no gradients at the end (torch)", truth["roles"]["gradient"], 0)
    if not phases:
        s.true("end", "phases are there", False)
        return
    rise = [p["optimizer"]["end_bytes"] - p["optimizer"]["begin_bytes"] for p in phases]
    s.equal("end", "the optimizer's steps keep", rise, [roles["optimizer_state"]] + [0] * (len(phases) - 1))
    back = [p["zero_grad"]["begin_bytes"] - p["zero_grad"]["end_bytes"] for p in phases[1:]]
    s.true("end", "zero_grad gives back the gradients", all(b >= 4 * 25_557_032 for b in back), back, 4 * 25_557_032)


# ---- nothing that a training can notice ----

def unharmed_gradients(s):
    """Losses, outputs, gradients and weights, bit for bit, and hooks: untraced, traced with all stacks, untraced."""
    work = s.workload("train_work.py", "exact", mode=NATIVE, env={"CUBLAS_WORKSPACE_CONFIG": ":4096:8"}).start()
    untraced = work.next()
    tool = s.tool("-p", str(untraced["pid"]), "--block-stacks")
    s.adds_up("attach", tool, untraced, from_start=False)
    work.go()
    traced = work.next()
    _, proc = s.adds_up("traced", tool, traced, from_start=False)
    s.blocks_agree("traced", NATIVE, proc, traced, from_start=False)
    blocks = row_of(proc, traced).torch["blocks"]["allocs"]
    s.true("traced", "blocks were traced", blocks > 100, blocks)
    status, view = tool.stop()
    s.ended_clean("detach", tool, status, view, 0)
    work.go()
    after = work.next()
    for name, truth in (("traced", traced), ("detached", after)):
        for what in "losses", "outputs", "gradients", "weights":
            s.equal(name, f"{what}, bit for bit", truth["run"][what], untraced["run"][what], "")
        s.equal(name, "each hook ran once in each step", sorted(set(truth["run"]["hooks"])), [truth["run"]["steps"]], "")
    work.go()
    s.equal("end", "target's exit status", work.wait(), 7, "")


# ---- gradients and optimizers ----

def alternating(s):
    """zero_grad keeps the gradients' bytes in even iterations and frees them in odd ones; an unused layer has none."""
    work, tool = s.traced("train_work.py", "alternate", options=["--block-stacks"])
    for step in ("cleared 0", "cleared 1"):
        truth = work.next()
        s.roles_agree(step, row_of(s.holds(step, tool, truth), truth), truth["roles"])
        s.equal(step, "gradients (torch)", truth["roles"]["gradient"] > 0, step == "cleared 0", "")
        work.go()
    truth = work.next()
    row = row_of(s.holds("end", tool, truth), truth)
    s.phases_agree("end", row, truth["iterations"])
    s.equal("end", "gradients of the unused layer (torch)", truth["unused_gradients"], 0)
    s.finish(work, tool)


def optimizer_in_backward(s):
    """Optimizers that step inside backward: their state is made and gradients are freed there; flat from then on."""
    work, tool = s.traced("train_work.py", "in_backward", options=["--block-stacks"])
    for step in ("iteration 1", "iteration 5"):
        s.holds(step, tool, work.next())
        work.go()
    truth = work.next()
    row = row_of(s.holds("end", tool, truth), truth)
    s.equal("end", "flat after the first iteration (torch)", len(set(truth["ends"])), 1, "")
    s.roles_agree("end", row, truth["roles"])
    seen = row.torch.get("iterations") or []
    s.info("end", "iterations", [(i["iteration"], i["complete"], sorted(i["phases"])) for i in seen], len(truth["ends"]))
    ended = [i for i in seen if i["complete"]]
    s.true("end", "iterations, of which the last may not have ended", 0 <= len(truth["ends"]) - len(ended) <= 1, len(ended),
           len(truth["ends"]))
    for i in ended[1:len(truth["ends"]) - 1]:
        ends = {name: phase["end_bytes"] for name, phase in i["phases"].items()}
        s.equal(f"iteration {i['iteration']}", "its last phase ends where the first iteration did",
                truth["ends"][0] in ends.values(), True, ends)
    s.finish(work, tool)


def ranges(s):
    """record_function's ranges: how often, and what is allocated at their begin, end and peak."""
    work, tool = s.traced("train_work.py", "windows")
    truth = work.next()
    row = row_of(s.holds("end", tool, truth), truth)
    seen = {r["name"]: r for r in row.torch.get("ranges") or ()}
    for name, told in truth["ranges"].items():
        for key, value in told.items():
            s.equal("end", f"{name}: {key}", seen.get(name, {}).get(key), value, "")
    s.finish(work, tool)


def offloaded(s):
    """save_on_cpu(pin_memory=True): pinned host memory = torch's, apart from device memory; without it there is none."""
    work, tool = s.traced("train_work.py", "offload")
    while True:
        truth = work.next()
        proc = s.holds(truth["name"], tool, truth)
        s.true(truth["name"], "pinned memory is there if it is asked for", bool(truth["pinned"]) == truth["offloads"],
               proc.live("pinned"), truth["pinned"])
        if truth["name"] == "6 iterations":
            break
        work.go()
    s.true("end", "it is that of the activations", proc.live("pinned") >= 512 * 2048 * 4 * 4, proc.live("pinned") / MIB)
    s.finish(work, tool)


SCENARIOS = {"torch-peak": peak, "torch-peak-checkpointed": peak_checkpointed, "torch-gradients-kept": gradients_kept,
             "torch-gradients-cleared": gradients_cleared, "torch-unharmed": unharmed_gradients,
             "torch-alternating": alternating, "torch-in-backward": optimizer_in_backward, "torch-ranges": ranges,
             "torch-offloaded": offloaded}
