#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A tracer that attaches in the middle of a run shows older memory, frees of older memory, and libraries that are
loaded later."""
import os
import shutil

import lib
from lib import GPU_B, MIB, Target, Tool, check, equal, process_of, row_of


def adds_up():
    """attached late: before attach is what NVML said, and frees of unknown addresses reduce it"""
    target = Target("longrun", hold="ready")
    target.wait("ready")
    tool = Tool("-p", str(target.pid)).ready()
    first = [v for v in tool.views()][0]
    row = row_of(process_of(first, target.pid), GPU_B)
    baseline = 518 * MIB + 10 * 30 * MIB + 2 * MIB + 32 * MIB   # context, blocks, small ones, the pool
    equal(row["before_attach_bytes"], baseline, "before attach, at first")
    target.popen.send_signal(lib.signal.SIGUSR1)
    target.wait("changed")
    # It has freed half of the blocks and the pool's memory (never seen allocated) and allocated four new ones.
    status, out = target.finish()
    equal(status, 0, "exit status")
    report = tool.report()
    process = process_of(report, target.pid)
    books = lib.books_of(out)
    last = [v for v in tool.views() if v["type"] == "live"]
    check(not process["from_start"], "taken for a process traced from the start")
    lib.compare(report, target.pid, {k: v for k, v in books.items() if "device" in k}, clean=False,
                skip=("live", "frees"))
    check(process["anomalies"]["free_unknown"] > 0, "no frees of unknown addresses:", process["anomalies"])
    equal(sum(report["losses"].values()), 0, "losses")
    check(last, "no live view")


def held_adds_up():
    """... and the sum is NVML's number while the process lives, residual 0"""
    target = Target("longrun", hold="ready")
    target.wait("ready")
    tool = Tool("-p", str(target.pid)).ready()
    report = lib.settled(tool, target.pid)
    row = row_of(process_of(report, target.pid), GPU_B)
    equal(sum(row["nvml"]["sum"].values()), row["nvml"]["used_bytes"], "the sum")
    equal(row["nvml"]["sum"]["residual_bytes"], 0, "residual")
    equal(row["nvml"]["used_bytes"], row["nvml"]["baseline_bytes"], "nothing has happened since attach")
    target.go()
    target.books()


def freed_from_before():
    """kernel objects from before attach that are freed reduce it by what NVML says"""
    target = Target("longrun", "steps", hold="ready")
    target.wait("ready")
    tool = Tool("-p", str(target.pid)).ready()
    target.go()                        # "steps": it stays in the next phase
    target.wait("changed")
    report = lib.settled(tool, target.pid)
    row = row_of(process_of(report, target.pid), GPU_B)
    freed = 5 * 30 * MIB + 32 * MIB
    equal(row["before_attach_bytes"], row["nvml"]["baseline_bytes"] - freed, "before attach")
    equal(row["nvml"]["sum"]["residual_bytes"], 0, "residual")
    check(row["nvml"]["before_attach_frees"] >= 6, "kernel objects freed:", row["nvml"]["before_attach_frees"])
    equal(row["physical"]["live_bytes"], 3 * 26 * MIB, "physical since attach: three blocks of 25 MiB, rounded up")
    target.send(lib.signal.SIGUSR2)    # its books; the last one it allocates lies in a chunk from before
    target.wait_line(lambda: any(line.startswith("checksum") for line in target.out), "the books")
    lib.compare(report, target.pid, {k: v for k, v in lib.books_of("".join(target.out)).items() if "device" in k
                                     and not k.endswith(".frees")}, clean=False)


def late_library():
    """a program that opens libcuda after attach, by a path nobody knew"""
    tool = Tool("-a").ready()
    copy = lib.make_root() + "/usr/lib/libcuda.so.1"
    target = Target("dl_late", copy, env={"GPUMEMTRACE_STANDIN_ROOT": lib.ROOT})
    target.wait("start")
    target.line()
    target.wait("allocated")
    report = lib.settled(tool, target.pid)
    process = process_of(report, target.pid)
    check(any(l["path"].endswith(copy[-30:]) for l in report["libraries"]), "not probed:", report["libraries"])
    check(row_of(process, GPU_B), "no row")
    target.line()
    equal(target.finish()[0], 0, "exit status")


def late_library_known():
    """... and one that is probed already: every byte from the start"""
    tool = Tool("-a").ready()
    target = Target("dl_late", lib.LIB)
    target.wait("start")
    target.line()
    target.wait("allocated")
    report = lib.settled(tool, target.pid)
    target.line()
    lib.compare(report, target.pid, target.books())


def too_late():
    """a program that ends before its library is probed is counted"""
    tool = Tool("-a", "--strict").ready()
    copy = shutil.copy(lib.LIB, lib.folder())
    tool.send(lib.signal.SIGSTOP)
    Target("basic", lib=copy).books()
    tool.send(lib.signal.SIGCONT)
    tool.idle()
    tool.send(lib.signal.SIGINT)
    report = tool.report()
    check(not [l for l in report["libraries"] if l["path"] == copy], "the library was probed")
    check(any("libcuda was probed" in note for note in report["notes"]), report["notes"])
    equal(report["exit_status"], 5, "exit status with --strict")


def two_libraries():
    """two different libcudas at once, in two processes and in one"""
    tool = Tool("-a", "--libcuda", lib.LIB_ENDBR).ready()
    first = Target("basic", hold="end")
    second = Target("basic", "1", hold="end", lib=lib.LIB_ENDBR, env={"STANDIN_DRIVER": "580"})
    both = Target("dl_twolibs", lib.LIB, lib.LIB_ENDBR, hold="end", env={"STANDIN_DRIVER": "580"})
    for target in first, second, both:
        target.wait("end")
    report = lib.settled(tool, first.pid)
    for path in lib.LIB, lib.LIB_ENDBR:
        probed = [l for l in report["libraries"] if l["inode"] == os.stat(path).st_ino]
        equal(len(probed), 1, f"times {path} is probed")
    for target in first, second, both:
        target.go()
        lib.compare(report, target.pid, target.books())


def neighbours():
    """processes of the GPU that are not traced have a pid, a name and NVML's bytes while they are there; a change is told once"""
    traced, other = Target("longrun", hold="ready"), Target("longrun", hold="ready")
    traced.wait("ready")
    other.wait("ready")
    path = lib.folder() + "/run.gmt"
    tool = Tool("-p", str(traced.pid), "-o", path).ready()

    def listed(pid):
        found = [g["neighbours"] for g in tool.views()[-1]["gpus"] if g["uuid"] == GPU_B][0]
        return [n for n in found if n["pid"] == pid]
    tool.wait_line(lambda: listed(other.pid), "the neighbour")
    held = row_of(process_of(tool.views()[-1], traced.pid), GPU_B)["nvml"]["used_bytes"]    # both have the same
    tool.more_views()
    equal(listed(other.pid), [{"pid": other.pid, "comm": "longrun", "used_bytes": held}], "the neighbour")
    equal(listed(traced.pid), [], "the traced process, as a neighbour")
    other.popen.kill()
    tool.wait_line(lambda: not listed(other.pid), "the end of the neighbour")
    tool.stop()
    told = lib.run([lib.TOOL, "records", "--json", "--kind", "gpu_neighbour", "--pid", str(other.pid), path]).stdout.splitlines()
    equal([lib.json.loads(line)["fields"]["used_bytes"] for line in told], [held, 0], "what was told of the neighbour")


if __name__ == "__main__":
    lib.main(adds_up, held_adds_up, freed_from_before, late_library, late_library_known, too_late, two_libraries, neighbours)
