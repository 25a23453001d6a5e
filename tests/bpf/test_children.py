#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Processes that come and go are traced right: fork, exec, exit, kill -9, many short processes."""
import signal
import time

import lib
from lib import GPU_B, MIB, Target, Tool, check, equal, process_of, row_of


def fork_child():
    """a child that uses CUDA though its parent does not"""
    tool = Tool("--", lib.workload("forks"), "fork", options=("--no-live",))
    report = tool.report()
    equal(report["exit_status"], 0, "exit status")
    users = [p for p in report["processes"] if row_of(p, GPU_B)]
    equal([row_of(p, GPU_B)["classes"]["device"]["peak_bytes"] for p in users], [13 * MIB], "peaks")


def fork_then_exec():
    """parent, child and what the child becomes: each has its own, and nothing is inherited"""
    tool = Tool("-a").ready()
    target = Target("forks", "exec", hold="end")
    target.wait("end")                  # of the grandchild's program
    child = [int(line[4:]) for line in target.err if line.startswith("pid=")][-1]
    report = lib.settled(tool, child)
    parent = process_of(report, target.pid)
    equal(row_of(parent, GPU_B)["classes"]["device"]["live_bytes"], 17 * MIB, "the parent's live bytes")
    rows = [row_of(p, GPU_B) for p in report["processes"] if p["pid"] == child and row_of(p, GPU_B)]
    equal(len(rows), 1, "rows of the child")
    equal(rows[0]["classes"]["device"]["allocs"], 106, "the child's allocations")
    equal(rows[0]["nvml"]["sum"]["residual_bytes"], 0, "residual")


def children_before():
    """the children that a process has already, as those of a launcher; none with --no-children"""
    parent = Target("forks", "fork", hold="child")
    parent.wait("child")
    child = [int(line[4:]) for line in parent.err if line.startswith("pid=")][-1]
    for options, wanted in ((), [parent.pid, child]), (("--no-children",), [parent.pid]):
        tool = Tool(*options, "-p", str(parent.pid)).ready()
        report = lib.settled(tool, None)
        equal(sorted(p["pid"] for p in report["processes"]), sorted(wanted), f"processes with {options}")
    report = lib.settled(Tool("-p", str(parent.pid)).ready(), None)
    row = row_of(process_of(report, child), GPU_B)
    check(row["before_attach_bytes"] >= 13 * MIB, "before the attach", row["before_attach_bytes"])
    parent.go()


def no_children():
    """--no-children: only the command itself"""
    tool = Tool("--no-children", "--", lib.workload("forks"), "exec", options=("--no-live",))
    report = tool.report()
    equal(len([p for p in report["processes"] if row_of(p, GPU_B)]), 1, "processes")


def killed():
    """kill -9: the report is whole, and says what the process held when it was killed"""
    target = Target("longrun", "forever")
    target.wait("ready")
    tool = Tool("-p", str(target.pid)).ready()
    tool.wait_line(lambda: row_of(process_of(tool.views()[-1], target.pid), GPU_B)["classes"]["device"]["allocs"] > 3,
                   "allocations")
    target.send(signal.SIGKILL)
    report = tool.report()
    process = process_of(report, target.pid)
    equal((process["exited"], process["wait_status"]), (True, 9), "exit")
    row = row_of(process, GPU_B)
    # It allocates 3 MiB, waits, and frees them: one of these, or the moment between, is when it was hit.
    check(row["attributed"]["live_bytes"] in (0, 3 << 20), "held at its end", row["attributed"]["live_bytes"])
    equal(report["end_reason"], "targets_gone", "end reason")


def killed_in_the_middle():
    """... also while others go on under -a"""
    tool = Tool("-a").ready()
    victim, other = Target("basic", hold="end"), Target("basic", "1", hold="end")
    victim.wait("end")
    other.wait("end")
    victim.send(signal.SIGKILL)
    victim.popen.wait()
    report = lib.settled(tool, other.pid)
    check(process_of(report, victim.pid)["exited"], "not seen to exit")
    other.go()
    lib.compare(report, other.pid, other.books())


def start_ticks(pid):
    """when it was started, as exactly as /proc says it"""
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
        return int(file.read().rpartition(")")[2].split()[19])


def start_as(pid, *argv, **options):
    """a workload with this pid, which has just become free"""
    for _ in range(50):
        with open("/proc/sys/kernel/ns_last_pid", "w", encoding="ascii") as file:
            file.write(str(pid - 1))
        target = Target(*argv, **options)
        if target.pid == pid:
            return target
        target.popen.kill()
        target.popen.wait()
    raise lib.Skip("the pid was not given out again: the machine is busy")


def reused_pid():
    """a pid that is given out again: two processes, each with its own totals"""
    tool = Tool("-a").ready()
    pids = []
    for _ in range(10):
        time.sleep(0.01 - time.clock_gettime(time.CLOCK_BOOTTIME) % 0.01)
        first = Target("basic", "1")
        ticks = start_ticks(first.pid)
        first.books()
        second = start_as(first.pid, "procaddr", hold="end", env={"STANDIN_CONTEXT_MIB": "16"})
        second.wait("end")
        pids.append(first.pid)
        if len(pids) > 1 and start_ticks(second.pid) == ticks:
            break                       # also where their start times are the same, as far as can be told
    report = lib.settled(tool, None)
    for pid in pids:
        processes = [p for p in report["processes"] if p["pid"] == pid]
        equal([(p["exited"], row_of(p, GPU_B)["classes"]["device"]["allocs"]) for p in processes],
              [(True, 106), (False, 5)], "exited, allocations")
        check(processes[0]["start_boottime_ns"] <= processes[1]["start_boottime_ns"], "start times")
        equal(processes[1]["anomalies"]["after_exit"], 0, "records after the end")


def many_short():
    """forty processes after each other, none lost and none mixed up"""
    tool = Tool("-a").ready()
    pids = []
    for _ in range(40):
        target = Target("procaddr", env={"STANDIN_CONTEXT_MIB": "16"})
        pids.append(target.pid)
        target.books()
    report = lib.settled(tool, pids[-1])
    for pid in pids:
        process = process_of(report, pid)
        device = row_of(process, GPU_B)["classes"]["device"]
        equal((device["allocs"], device["frees"], process["exited"]), (5, 2, True), f"pid {pid}")


def each_end_is_shown():
    """each process that ends is in one live line, whole, also if its records wait in the ring while a line is made"""
    tool = Tool("-a", "--ring-size", "128M").ready()
    storm = Target("storm", "3600", "1", "1024", hold="ready", env={"PAIRS": "300000"})
    victims = [Target("basic", hold="end") for _ in range(3)]
    for target, phase in (storm, "ready"), *((victim, "end") for victim in victims):
        target.wait(phase)
    tool.more_views()
    tool.send(signal.SIGSTOP)
    storm.go()
    storm.books()                       # more records than are taken before a line is made
    for victim in victims:
        victim.send(signal.SIGKILL)
        victim.popen.wait()
    tool.send(signal.SIGCONT)
    tool.idle()
    report = tool.stop()
    equal(process_of(report, storm.pid)["classes"]["device"]["allocs"], 300001, "allocations")
    shown = [p["pid"] for view in tool.views() if view["type"] == "live" for p in view["processes"] if p["exited"]]
    equal([shown.count(target.pid) for target in (storm, *victims)], [1] * 4, "lines that have the process as ended")


if __name__ == "__main__":
    lib.main(fork_child, fork_then_exec, children_before, no_children, killed, killed_in_the_middle, reused_pid, many_short,
             each_end_is_shown)
