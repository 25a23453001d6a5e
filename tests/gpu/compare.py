# SPDX-License-Identifier: BSD-2-Clause
"""Compares the tool's numbers in a scenario with those of torch, NVML and nvidia-smi.

Invariant: a comparison that could not be made is a failed one; only info() never fails.
"""
import threading
import time

import lib
from lib import MIB

NATIVE, EXPANDABLE, ASYNC = "native", "expandable", "async"
ALLOC_CONF = {NATIVE: "", EXPANDABLE: "expandable_segments:True", ASYNC: "backend:cudaMallocAsync"}
PHASES = ("zero_grad", "forward", "backward", "optimizer")
CLASS = {NATIVE: "device", EXPANDABLE: "vmm", ASYNC: "pool"}


class Scenario:
    """One scenario: its children, and the rows of its table."""

    def __init__(self, run, name):
        self.run, self.name, self.nvml = run, name, run.nvml
        self.rows, self.workloads, self.tools = [], [], []
        self.lock = threading.Lock()
        self.seconds = 0.0

    # ---- children ----

    def tool(self, *options, workload=None, name=None):
        """gpumemtrace with these options; with a workload it is started by it, from the start."""
        name = f"{self.name}{'.' + name if name else ''}"
        options = [*options, "-o", f"{self.run.scratch}/{name}.gmt"]
        tool = lib.Tool(self.run, name, *options, command=workload and workload.command,
                        env=workload and workload.env)
        self.tools.append(tool)
        return tool

    def workload(self, *command, mode=None, env=None):
        env = dict(env or {})
        if mode:
            env["PYTORCH_CUDA_ALLOC_CONF"] = ALLOC_CONF[mode]
        workload = lib.Workload(self.run, *command, env=env)
        self.workloads.append(workload)
        return workload

    def traced(self, *command, options=(), mode=NATIVE, env=None):
        """A workload under gpumemtrace from its start, and gpumemtrace."""
        work = self.workload(*command, mode=mode, env=env)
        return work, self.tool(*options, workload=work)

    def finish(self, work, tool, want=7):
        """From the last checkpoint to the report."""
        work.go()
        work.leave()
        status, view = tool.wait()
        self.ended_clean("end", tool, status, view, want)
        return view

    def close(self):
        for workload in self.workloads:
            workload.leave()
            workload.listener.close()
        for tool in self.tools:
            if tool.proc.poll() is None:
                tool.proc.terminate()
        for proc in [w.proc for w in self.workloads if w.proc] + [t.proc for t in self.tools]:
            if proc.poll() is None:
                try:
                    proc.wait(5)
                except Exception:
                    proc.kill()

    # ---- rows ----

    def row(self, step, what, shown, truth, good, unit=""):
        with self.lock:
            self.rows.append({"scenario": self.name, "step": step, "what": what, "tool": shown, "truth": truth,
                              "ok": good, "unit": unit})
        if good is False:
            self.run.say(f"MISMATCH {self.name}/{step}: {what}: gpumemtrace {shown}, truth {truth} {unit}")

    def equal(self, step, what, shown, truth, unit="bytes"):
        self.row(step, what, shown, truth, shown == truth, unit)

    def true(self, step, what, good, shown="", truth=""):
        self.row(step, what, shown, truth, bool(good))

    def near(self, step, what, shown, truth, part, unit="bytes"):
        """Equal but for a part of the truth."""
        self.row(step, f"{what} (+-{part:.0%})", shown, truth, shown is not None and abs(shown - truth) <= part * truth,
                 unit)

    def info(self, step, what, shown, truth=""):
        self.row(step, what, shown, truth, None)

    # ---- comparisons ----

    def holds(self, step, tool, truth, mode=NATIVE, peaks=True):
        """All of a moment at which a workload traced from its start holds still. Its process, as it is shown.

        Libraries beside PyTorch (cuBLAS, NCCL) have memory, too: what is PyTorch's is told by its blocks and by owner."""
        view, proc = self.adds_up(step, tool, truth)
        self.blocks_agree(step, mode, proc, truth, peaks=peaks)
        self.equal(step, "pinned memory of PyTorch", view.host_of(proc.pid).get("PyTorch", 0), truth["pinned"])
        return proc

    def adds_up(self, step, tool, truth, uuids=None, from_start=True):
        """physical (+ what was there before) equals NVML on each GPU NVML lists, residual 0. The view."""
        used = self.nvml.used(truth["pid"])
        ts = max(truth["ts_ns"], time.monotonic_ns())
        view = tool.at(truth["pid"], ts, uuids if uuids is not None else list(used))
        proc = view.process(truth["pid"])
        for uuid, bytes_used in sorted(used.items()):
            row = proc.row(uuid)
            where = f"{step} GPU {row.index}"
            self.true(where, "the kernel layer is active", row.physical is not None)
            self.equal(where, "NVML as gpumemtrace saw it = NVML", row.nvml, bytes_used)
            parts = "physical" if from_start else "physical + before attach"
            self.equal(where, parts + " = NVML", row.total(), bytes_used)
            self.equal(where, "residual = 0", row.residual, 0)
            self.equal(where, "the parts' sum = NVML", row.sum, bytes_used)
            if from_start:
                self.equal(where, "before attach = 0", row.before, 0)
        self.equal(step, "records lost", view.lost, 0, "")
        return view, proc

    def smi_agrees(self, step, proc):
        """nvidia-smi prints the MiB that the tool shows."""
        smi = self.run.smi(proc.pid)
        if smi is None:
            self.info(step, "nvidia-smi", "not there")
            return
        for uuid, value in sorted(smi.items()):
            row = proc.row(uuid)
            where = f"{step} GPU {row.index}"
            self.equal(where, "physical + before attach = nvidia-smi", row.total() // MIB, value, "MiB")

    def torch_agrees(self, step, mode, proc, truth, peaks=True):
        """Live bytes are what torch has reserved (cudaMallocAsync: what it has allocated), on each GPU."""
        cls = CLASS[mode]
        for gpu in truth["gpus"]:
            if not gpu["reserved_peak"]:
                continue
            row = proc.row(gpu["uuid"])
            where = f"{step} GPU {row.index}"
            if mode == ASYNC:
                self.equal(where, "pool live = torch allocated", row.live(cls), gpu["allocated"])
                self.equal(where, "pool physical = torch reserved", row.by_purpose.get("pool", 0), gpu["reserved"])
            else:
                self.equal(where, f"{cls} live = torch reserved", row.live(cls), gpu["reserved"])
                if peaks:
                    self.equal(where, f"{cls} peak = torch peak", row.peak(cls), gpu["reserved_peak"])
        self.equal(step, "pinned = torch pinned", proc.live("pinned"), truth["pinned"])

    def blocks_agree(self, step, mode, proc, truth, from_start=True, peaks=True):
        """PyTorch's own blocks. Attached late: what it holds is known as of the newest event, not what it gave back."""
        for gpu in truth["gpus"]:
            row = proc.row(gpu["uuid"])
            if not row or not row.torch:
                self.true(step, "PyTorch's blocks are seen", mode == ASYNC or not gpu["reserved_peak"] or not from_start)
                continue
            where, t = f"{step} GPU {row.index}", row.torch
            self.equal(where, "PyTorch allocated", t["allocated"]["live_bytes"], gpu["allocated"])
            if not from_start:
                continue
            self.equal(where, "PyTorch allocated, peak", t["allocated"]["peak_bytes"], gpu["allocated_peak"])
            self.equal(where, "PyTorch reserved", t["reserved"]["live_bytes"], gpu["reserved"])
            self.equal(where, "bytes of its segments", t["segments"]["live_bytes"], gpu["reserved"])
            self.equal(where, "bytes of its blocks", t["blocks"]["live_bytes"], gpu["allocated"])
            self.equal(where, "number of its blocks", t["blocks"]["live_count"], gpu["blocks"], "")
            # Some of what PyTorch takes for itself is asked for elsewhere: its sizes are not told.
            if t["requested"] and t["requested"]["live_count"] == gpu["blocks"]:
                self.equal(where, "what its blocks were asked for", t["requested"]["live_bytes"], gpu["requested"])
            if peaks:
                self.equal(where, "PyTorch reserved, peak", t["reserved"]["peak_bytes"], gpu["reserved_peak"])
        for name in "torch_missed", "torch_reserved":
            self.equal(step, name, proc.anomalies[name], 0, "")

    def window_agrees(self, step, proc, truth):
        """After a mark peaks are those of the window, as torch's are after reset_peak_memory_stats()."""
        for gpu in truth["gpus"]:
            row = proc.row(gpu["uuid"])
            if not gpu["reserved_peak"] or not row:
                continue
            where, t, window = f"{step} GPU {row.index}", row.torch, gpu["window"]
            self.equal(where, "PyTorch allocated, peak of the window", t["allocated"]["peak_bytes"],
                       window["allocated_peak"])
            self.equal(where, "PyTorch reserved, peak of the window", t["reserved"]["peak_bytes"],
                       window["reserved_peak"])
            self.near(where, "and that is about active_bytes' peak", t["allocated"]["peak_bytes"],
                      window["active_peak"], 0.1)

    def phases_agree(self, step, row, iterations, before=0):
        """What is allocated at the begin, the end and the peak of each phase of each whole iteration, to the byte.

        before: iterations that torch was not asked about. The first forward pass begins before the model is made."""
        seen = {i["iteration"]: i for i in (row.torch or {}).get("iterations") or ()}
        whole = [(n, i) for n, i in enumerate(iterations, 1 + before) if "optimizer" in i]
        self.equal(step, "iterations that ended", sum(1 for i in seen.values() if i["complete"]), len(whole) + before, "")
        for number, told in whole:
            found = seen.get(number, {}).get("phases", {})
            for phase in told:
                for what in ("begin_bytes", "peak_bytes", "end_bytes"):
                    if (number, phase) != (1 + before, "forward") or what == "end_bytes":
                        self.equal(f"{step} iteration {number}", f"{phase}, {what.split('_', 1)[0]}",
                                   found.get(phase, {}).get(what), told[phase][what])

    def roles_agree(self, step, row, roles):
        """Categories are a guess from lifetimes: gradients and optimizer state to the byte, the rest about.

        It takes --block-stacks to tell cuBLAS's workspaces of the thread that runs backward from gradients."""
        found = {c["category"]: c["live_bytes"] for c in (row.torch or {}).get("categories") or ()}
        self.true(step, "there are categories", found)
        for role in "gradient", "optimizer_state":
            self.equal(step, f"category {role}", found.get(role, 0), roles[role])
        lasting = sum(roles.get(role, 0) for role in ("parameter", "buffer", "input"))
        self.near(step, "categories parameter and input", sum(found.get(c, 0) for c in ("parameter", "input")), lasting, 0.02)
        self.info(step, "categories", {k: v for k, v in found.items() if v}, roles)

    def classes_agree(self, step, proc, truth):
        for cls, live in sorted(truth["live"].items()):
            self.equal(step, f"{cls} live", proc.live(cls), live)

    def ended_clean(self, step, tool, status, view, want):
        self.equal(step, "exit status", status, want, "")
        self.true(step, "a report at the end", view and view.is_report)
        self.equal(step, "records lost", view and view.lost, 0, "")
        for name, count in sorted(view.anomalies.items() if view else ()):
            if count:
                self.info(step, f"anomaly {name}", count)
