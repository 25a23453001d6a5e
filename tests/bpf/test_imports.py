#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Imported memory counts for the exporter and not for the importer; both add up to NVML's numbers."""
import lib
from lib import GPU_B, MIB, Target, Tool, equal, process_of, row_of


def exporter_and_importer():
    """IPC, shared VMM memory, a shared pool's pointer, external memory"""
    tool = Tool("-a").ready()
    target = Target("ipc", hold="imported")
    target.wait("imported")
    importer = [int(line[4:]) for line in target.err if line.startswith("pid=")][1]
    report = lib.settled(tool, importer)
    exporting = row_of(process_of(report, target.pid), GPU_B)
    equal({k: v["live_bytes"] for k, v in exporting["classes"].items() if v["live_bytes"]},
          {"device": 50 * MIB + 5000, "pool": 3 * MIB, "vmm": 20 * MIB}, "the exporter's live bytes")
    process = process_of(report, importer)
    row = row_of(process, GPU_B)
    imported = row["classes"]["imported"]
    equal(imported["live_count"], 1, "imported allocations: one handle opened twice and closed once")
    equal(imported["live_bytes"], 0, "imported bytes: the exporter has them")
    equal(row["attributed"]["live_bytes"], 0, "the importer's own bytes")
    for each in exporting, row:
        equal(each["nvml"]["used_bytes"], each["physical"]["live_bytes"], "NVML and the kernel layer")
        equal(each["nvml"]["sum"]["residual_bytes"], 0, "residual")
    equal(row["physical"]["live_bytes"], 518 * MIB, "the importer's physical bytes: its context")
    equal(lib.strange(report, process), [], "what is strange")


def peer_mapping():
    """memory of one GPU mapped on the other as well counts once, on its own"""
    process, _, _ = lib.trace("nccl", hold="mapped", skip=("live", "peak", "allocs", "frees", "failed", "physical"))
    a, b = row_of(process, lib.GPU_A), row_of(process, GPU_B)
    equal((a["classes"]["vmm"]["live_bytes"], b["classes"]["vmm"]["live_bytes"]), (32 * MIB, 0), "attributed")
    equal((a["physical"]["live_bytes"], b["physical"]["live_bytes"]), (550 * MIB, 518 * MIB), "physical")


if __name__ == "__main__":
    lib.main(exporter_and_importer, peer_mapping)
