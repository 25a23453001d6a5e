# SPDX-License-Identifier: BSD-2-Clause
"""The scenarios. Each is a function of a compare.Scenario; the first line of its docstring is its description.

Invariant: a scenario starts its own processes, and depends on no other scenario.
"""
import os
import time

import lib
from compare import ASYNC, CLASS, EXPANDABLE, NATIVE
from lib import MIB


def from_start(s, mode):
    """Traced from its first instruction: live = torch, physical = NVML to the byte, through every step."""
    work = s.workload("torch_work.py", "tensors", "thread", "pin", "compute", "oom", "matmul", "drop", mode=mode)
    tool = s.tool(workload=work)
    failed = 0
    for step in ("tensors", "thread", "pin", "compute", "oom"):
        truth = work.next()
        view, proc = s.adds_up(step, tool, truth)
        # What cuMemCreate gave to the attempt was there at once, but never torch's.
        s.torch_agrees(step, mode, proc, truth, peaks=step != "oom")
        s.blocks_agree(step, mode, proc, truth, peaks=step != "oom")
        s.equal(step, "why PyTorch reports no blocks", proc.torch_silent, "cuda_malloc_async" if mode == ASYNC else None, "")
        if step == "oom":
            now = proc.failed(CLASS[mode])
            s.true(step, "failed allocations counted", now > failed, now - failed, "> 0")
        failed = proc.failed(CLASS[mode])
        if step == "pin":
            s.smi_agrees(step, proc)
        work.go(alone=step == "compute")       # the next step is oom: it may take all there is
    truth = work.next()
    view, proc = s.adds_up("matmul", tool, truth)
    gpu = truth["gpus"][0]
    row = proc.row(gpu["uuid"])
    own = sum(row.live(c) for c in ("device", "vmm", "pool"))
    s.info("matmul", "cuBLAS's own allocations", own - gpu["allocated" if mode == ASYNC else "reserved"])
    work.go()
    truth = work.next()
    view, proc = s.adds_up("drop", tool, truth)
    s.blocks_agree("drop", mode, proc, truth, peaks=False)
    row = proc.row(gpu["uuid"])
    s.true("drop", "the context is named", row.named["context"] > 0, row.named["context"], "> 0")
    for name, bytes_ in sorted(row.named.items()):
        s.info("drop", f"named: {name}", bytes_)
    s.smi_agrees("drop", proc)
    work.go()
    work.leave()
    status, view = tool.wait()
    s.ended_clean("end", tool, status, view, 7)


def native(s):
    """torch's native allocator, traced from the start."""
    from_start(s, NATIVE)


def expandable(s):
    """torch with expandable segments (cuMemCreate, cuMemMap), traced from the start."""
    from_start(s, EXPANDABLE)


def malloc_async(s):
    """torch with cudaMallocAsync, traced from the start."""
    from_start(s, ASYNC)


def late(s, mode):
    """Attach in the middle: before attach + what came since = NVML; then old memory is freed; then kill -9."""
    work = s.workload("torch_work.py", "tensors", "thread", "compute", "drop", "tensors", mode=mode).start()
    truth = work.next()
    used = s.nvml.used(truth["pid"])
    tool = s.tool("-p", str(truth["pid"]))
    view, proc = s.adds_up("attach", tool, truth, from_start=False)
    for uuid, bytes_used in sorted(used.items()):
        row = proc.row(uuid)
        s.equal("attach", "NVML at attach", row.baseline, bytes_used)
        s.equal("attach", "physical since attach", row.physical, 0)
    for step in ("thread", "compute", "drop", "tensors"):
        work.go()
        truth = work.next()
        view, proc = s.adds_up(step, tool, truth, from_start=False)
        s.blocks_agree(step, mode, proc, truth, from_start=False)
        for gpu in truth["gpus"]:
            row = proc.row(gpu["uuid"])
            if row:
                s.info(f"{step} GPU {row.index}", "live / before attach / torch reserved",
                       f"{row.live(CLASS[mode])} / {row.before}", gpu["reserved"])
        if step == "drop":
            s.smi_agrees(step, proc)
            unknown = proc.anomalies["free_unknown"]
            s.true(step, "frees of older memory are counted", unknown > 0, unknown, "> 0")
    work.kill()
    status, view = tool.wait()
    s.ended_clean("kill -9", tool, status, view, 0)
    proc = view.process(truth["pid"])
    s.true("kill -9", "shown as exited", proc and proc.exited)


def late_native(s):
    """Attached to a running torch, native allocator; kill -9 at the end."""
    late(s, NATIVE)


def late_expandable(s):
    """Attached to a running torch, expandable segments; kill -9 at the end."""
    late(s, EXPANDABLE)


def late_async(s):
    """Attached to a running torch, cudaMallocAsync; kill -9 at the end."""
    late(s, ASYNC)


def two(s):
    """Two processes at once with -a: one ran before, one comes later; each has its own sums."""
    old = s.workload("torch_work.py", "small", "thread", mode=NATIVE).start()
    old_truth = old.next()
    tool = s.tool("-a")
    s.adds_up("first", tool, old_truth, from_start=False)
    new = s.workload("torch_work.py", "small", "compute", mode=EXPANDABLE).start()
    new_truth = new.next()
    _, proc = s.adds_up("second", tool, new_truth)
    s.torch_agrees("second", EXPANDABLE, proc, new_truth)
    old.go()
    new.go()
    old_truth, new_truth = old.next(), new.next()
    s.adds_up("first again", tool, old_truth, from_start=False)
    _, proc = s.adds_up("second again", tool, new_truth)
    s.torch_agrees("second again", EXPANDABLE, proc, new_truth)
    old.go()
    new.go()
    s.equal("end", "first's exit status", old.wait(), 7, "")
    s.equal("end", "second's exit status", new.wait(), 7, "")
    status, view = tool.stop()
    s.ended_clean("end", tool, status, view, 0)


def unharmed(s):
    """A deterministic training gives bit-identical losses untraced, traced and untraced again."""
    work = s.workload("torch_work.py", "train", "train", "train", mode=NATIVE,
                      env={"CUBLAS_WORKSPACE_CONFIG": ":4096:8"}).start()
    untraced = work.next()
    tool = s.tool("-p", str(untraced["pid"]))
    view, proc = s.adds_up("attach", tool, untraced, from_start=False)
    work.go()
    traced = work.next()
    view, proc = s.adds_up("traced", tool, traced, from_start=False)
    calls = proc.allocs("device")
    s.true("traced", "allocations were traced", calls > 0, calls, "> 0")
    s.equal("traced", "losses, bit for bit", traced["losses"], untraced["losses"], "")
    status, view = tool.stop()
    s.ended_clean("detach", tool, status, view, 0)
    work.go()
    after = work.next()
    s.equal("detached", "losses, bit for bit", after["losses"], untraced["losses"], "")
    work.go()
    s.equal("end", "target's exit status", work.wait(), 7, "")


def driver(s):
    """Plain driver API: every way to get memory, by class, beside NVML, without a framework."""
    work = s.workload("driver_work.py")
    tool = s.tool(workload=work)
    while True:
        truth = work.next()
        step = truth["name"]
        if truth["problem"]:
            s.info(step, "not possible here", truth["problem"])
        view, proc = s.adds_up(step, tool, truth)
        s.classes_agree(step, proc, truth)
        row = proc.row(truth["uuid"])
        if row:
            s.info(step, "physical / free memory the device lost", row.physical, truth["taken"])
            s.info(step, "by purpose", {k: v for k, v in row.by_purpose.items() if v})
        work.go()
        if step == "reset":
            break
    work.leave()
    status, view = tool.wait()
    s.ended_clean("end", tool, status, view, 0)


def kill(s):
    """kill -9 of a target traced from the start: the report is whole, the status is 128 + 9."""
    work = s.workload("driver_work.py", "forever")
    tool = s.tool(workload=work)
    truth = work.next()
    _, proc = s.adds_up("forever", tool, truth)
    s.classes_agree("forever", proc, truth)
    work.kill()
    status, view = tool.wait()
    s.ended_clean("kill -9", tool, status, view, 137)


def ipc(s):
    """Memory of another process: the exporter keeps the charge. Does NVML count the importer?"""
    giver = s.workload("ipc_work.py", "export")
    giver_tool = s.tool(workload=giver, name="export")
    taker = s.workload("ipc_work.py", "import")
    taker_tool = s.tool(workload=taker, name="import")
    given, ready = giver.next(), taker.next()
    _, proc = s.adds_up("exported", giver_tool, given)
    s.classes_agree("exported", proc, given)
    s.adds_up("before import", taker_tool, ready)
    used = s.nvml.used(ready["pid"]).get(ready["uuid"], 0)
    taker.go(ipc=given["ipc"], fd=given["fd"], pid=given["pid"])
    for step in ("ipc opened", "vmm imported", "closed"):
        truth = taker.next()
        now = s.nvml.used(truth["pid"]).get(truth["uuid"], 0)
        s.info(step, "NVML counts at the importer (MiB more than before)", (now - used) // MIB, "256 = it counts it")
        used = now
        _, proc = s.adds_up(step, taker_tool, truth)
        s.classes_agree(step, proc, truth)
        row = proc.row(truth["uuid"])
        s.info(step, "imported: class / physical", proc.live("imported"), row.imported)
        if step != "closed":
            taker.go()
    giver.go()
    truth = giver.next()
    s.adds_up("others imported it", giver_tool, truth)
    for work, tool in ((taker, taker_tool), (giver, giver_tool)):
        work.go()
        work.leave()
        status, view = tool.wait()
        s.ended_clean("end", tool, status, view, 0)


# ---- two GPUs ----

def both(s, mode):
    """Tensors on two GPUs, then copies between them (peer access): each GPU has its own sums."""
    steps = ["tensors", "thread", "compute", "peers"] + (["nccl"] if mode == NATIVE else []) + ["drop"]
    work = s.workload("torch_work.py", *steps, mode=mode, env={"NCCL_NVLS_ENABLE": "0"})
    tool = s.tool(workload=work)
    for step in steps:
        truth = work.next()
        if truth.get("problem"):
            s.info(step, "not possible here", truth["problem"])
        view, proc = s.adds_up(step, tool, truth)
        if step not in ("nccl", "drop"):
            s.torch_agrees(step, mode, proc, truth)
        if step in ("tensors", "drop"):
            s.smi_agrees(step, proc)
        work.go()
    work.leave()
    status, view = tool.wait()
    s.ended_clean("end", tool, status, view, 7)


def both_native(s):
    """Two GPUs, native allocator, peer access and NCCL."""
    both(s, NATIVE)


def both_expandable(s):
    """Two GPUs, expandable segments, peer access."""
    both(s, EXPANDABLE)


def both_async(s):
    """Two GPUs, cudaMallocAsync, peer access."""
    both(s, ASYNC)


def reversed_gpus(s):
    """CUDA_VISIBLE_DEVICES=1,0: GPUs keep nvidia-smi's numbers, whatever CUDA calls them."""
    work = s.workload("torch_work.py", "small", "tensors", mode=NATIVE, env={"CUDA_VISIBLE_DEVICES": "1,0"})
    tool = s.tool(workload=work)
    for step in ("small", "tensors"):
        truth = work.next()
        _, proc = s.adds_up(step, tool, truth)
        s.torch_agrees(step, NATIVE, proc, truth)
        row = proc.row(truth["gpus"][0]["uuid"])
        s.equal(step, "CUDA device 0 is GPU", row.index, s.nvml.uuids().index(row.uuid), "")
        s.smi_agrees(step, proc)
        work.go()
    work.leave()
    status, view = tool.wait()
    s.ended_clean("end", tool, status, view, 7)


def both_late(s):
    """Attached to a running torch on two GPUs; kill -9 at the end."""
    late(s, NATIVE)


def report(s):
    """-o and replay: the recording gives the same totals as the run, without root or GPU."""
    path = os.path.join(s.run.scratch, "report.gmt")
    work = s.workload("driver_work.py", "forever")
    tool = lib.Tool(s.run, "report", "-o", path, command=work.command, env=work.env)
    s.tools.append(tool)
    truth = work.next()
    s.adds_up("run", tool, truth)
    work.go()
    work.leave()
    status, live = tool.wait()
    s.ended_clean("run", tool, status, live, 0)
    again = lib.replay(s.run, path)
    for key in ("processes", "gpus", "libraries", "anomalies", "losses", "records"):
        s.true("replay", f"the same {key}", again.json[key] == live.json[key])
    s.info("replay", "size of the recording", os.path.getsize(path))


ONE_GPU = {"native": native, "expandable": expandable, "async": malloc_async, "late-native": late_native,
           "late-expandable": late_expandable, "late-async": late_async, "two": two, "unharmed": unharmed,
           "driver": driver, "kill": kill, "ipc": ipc, "report": report}
TWO_GPUS = {"both-native": both_native, "both-expandable": both_expandable, "both-async": both_async,
            "reversed": reversed_gpus, "both-late": both_late}


def timed(s, function):
    """Runs one scenario to its end; what goes wrong is a row of its table."""
    started = time.monotonic()
    try:
        function(s)
    except Exception as e:              # a scenario that breaks must not take the others with it
        s.row("-", f"{type(e).__name__}: {e}", "", "", False)
    finally:
        s.close()
        s.seconds = time.monotonic() - started
