# SPDX-License-Identifier: BSD-2-Clause
"""Reads one JSON line of gpumemtrace (user/doc/json-schema.json) into the form that the comparisons need.

Invariant: the only place that knows the JSON's members. UUIDs are without their prefix.
"""
import collections
import time

NAMED = ("context", "modules", "pool_reserve", "rounding", "other")


class Row:
    """A process on a GPU."""

    def __init__(self, view, row):
        self.uuid = (row["uuid"] or "").split("-", 1)[-1]
        self.index = view["gpus"][row["gpu"]]["index"] if row["gpu"] is not None else None
        self.classes = row["classes"]
        self.attributed = row["attributed"]["live_bytes"]
        physical = row["physical"] or {}
        self.physical = physical.get("live_bytes")         # None: the kernel layer is not active
        self.by_purpose = physical.get("by_purpose_bytes", {})
        self.named = {n: physical.get(n + "_bytes") for n in NAMED}
        self.imported = physical.get("imported_bytes")
        self.checkpointed = physical.get("checkpointed_bytes", 0)  # 0, or less
        self.owned = sum(owner["live_bytes"] for owner in row["stacks"]["owners"])
        self.before = row["before_attach_bytes"]
        nvml = row["nvml"] or {}
        self.nvml, self.baseline = nvml.get("used_bytes"), nvml.get("baseline_bytes")
        self.nvml_ts_ns = nvml.get("at", {}).get("monotonic_ns", 0)
        self.residual = nvml.get("sum", {}).get("residual_bytes")
        self.sum = sum(nvml["sum"].values()) if nvml else None
        self.torch = row["torch"]                           # None: its allocator has reported nothing

    def live(self, cls):
        return self.classes[cls]["live_bytes"]

    def peak(self, cls):
        return self.classes[cls]["peak_bytes"]

    def total(self):
        """What gpumemtrace says NVML must show, from its own counting."""
        return (self.attributed if self.physical is None else self.physical) + self.before


class Process:
    def __init__(self, view, process):
        self.pid, self.exited, self.wait_status = process["pid"], process["exited"], process["wait_status"]
        self.from_start, self.torch_silent = process["from_start"], process["torch_silent"]
        self.classes, self.anomalies = process["classes"], process["anomalies"]
        self.rows = [Row(view, row) for row in process["gpus"]]

    def live(self, cls):
        return self.classes[cls]["live_bytes"]

    def failed(self, cls):
        return self.classes[cls]["failed"]

    def allocs(self, cls):
        return self.classes[cls]["allocs"]

    def row(self, uuid):
        return next((row for row in self.rows if row.uuid == uuid), None)


class View:
    def __init__(self, line):
        self.json, self.received_ns = line, time.monotonic_ns()
        self.is_report = line["type"] == "report"
        self.lost, self.losses, self.anomalies = line["lost"], line["losses"], line["anomalies"]
        self.layers = line["session"]["layers"]
        self.end_reason = line["end_reason"]
        self.marks = line.get("marks")
        self.processes = [Process(line, p) for p in line["processes"]]

    def host_of(self, pid):
        """Host memory by framework, else by owner, of the newest with that pid."""
        found = [p for p in self.json["processes"] if p["pid"] == pid][-1:]
        sums = collections.Counter()
        for proc in found:
            for owner in proc["host_stacks"]["owners"]:
                sums[owner["allocator"] or owner["owner"]] += owner["live_bytes"]
        return sums

    def process(self, pid):
        """The newest with that pid."""
        found = [p for p in self.processes if p.pid == pid]
        return found[-1] if found else None
