#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A session ends, whatever hangs: the recording is closed, the report comes, and a second signal ends it at once.

A thread of the tool is made to hang by ptrace: it is stopped until the process ends."""
import contextlib
import ctypes
import fcntl
import json
import os
import signal
import subprocess
import sys
import termios
import time

import lib
import bpf_stats
from lib import Target, Tool, check, equal, until

SEIZE, INTERRUPT = 0x4206, 0x4207       # PTRACE_SEIZE and PTRACE_INTERRUPT of sys/ptrace.h
WAIT_ALL = 0x40000000                   # __WALL of sys/wait.h
END = 2                                 # seconds that an end takes at most
DURATION = 3                # of -d, in seconds
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]


def thread_of(pid, name):
    """The id of a thread with this name."""
    def found():
        for tid in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{tid}/comm", encoding="ascii") as file:
                if file.read().strip() == name:
                    return int(tid)
        return None
    return until(found)


class Stopped:
    """A thread that stands still."""

    def __init__(self, tid):
        self.tid = tid
        for request in SEIZE, INTERRUPT:
            check(libc.ptrace(request, tid, None, None) == 0, "ptrace:", os.strerror(ctypes.get_errno()))
        os.waitpid(tid, WAIT_ALL)

    def ends(self, tool):
        """Waits for the end of the process: how long it took, in seconds. A process ends when the end of its traced
        threads was waited for."""
        begin = time.monotonic()

        def is_over():
            with contextlib.suppress(ChildProcessError):
                found, status = os.waitpid(self.tid, WAIT_ALL | os.WNOHANG)
                if found == tool.pid:                   # the first thread's status is the process's
                    tool.popen.returncode = os.waitstatus_to_exitcode(status)
            return tool.popen.poll() is not None
        check(until(is_over), "it does not end", tool.stderr())
        return time.monotonic() - begin


def replayed(path):
    done = lib.run([lib.TOOL, "replay", "--json", path])
    equal(done.returncode, 0, done.stderr)
    return json.loads([line for line in done.stdout.split("\n") if line.startswith("{")][-1])


def usual_end():
    """How long an end takes here and now, when nothing hangs, in seconds."""
    target = Target("longrun", "forever")
    target.wait("ready")
    tool = Tool("-p", str(target.pid)).ready()
    begin = time.monotonic()
    tool.stop()
    return time.monotonic() - begin


def hung_stacks():
    """a thread that hangs over a stack: SIGINT, SIGTERM and -d give a whole recording and the report within 2 s"""
    usual = usual_end()
    for how in signal.SIGINT, signal.SIGTERM, None:
        path = lib.folder() + "/run.gmt"
        tool = Tool("-a", "-o", path, *(() if how else ("-d", str(DURATION)))).ready()
        began = time.monotonic()
        held = Stopped(thread_of(tool.pid, "gmt-stacks"))
        target = Target("basic", hold="end")
        target.wait("end")
        if how:
            tool.send(how)
        took = held.ends(tool)
        if not how:
            took = time.monotonic() - began - DURATION     # the time began before tracing was ready
        report = tool.report()
        print(f"# signal {how}: {took:.1f} s, usually {usual:.1f} s")
        check(took < END + usual, f"it took {took:.1f} s, when nothing hangs {usual:.1f} s")
        equal(report["exit_status"], 0, tool.stderr())
        equal(report["end_reason"], "requested" if how else "duration", "end reason")
        check(lib.row_of(lib.process_of(report, target.pid), lib.GPU_B), "no memory")
        kept = replayed(path)
        equal(kept["end_reason"], report["end_reason"], "end reason of the recording")
        equal(kept["limits"], report["limits"], "limits of the recording")
        check(any("not named" in l["why"] for l in report["limits"]), "no word of the names", report["limits"])
        check("not named" in tool.stderr(), tool.stderr())


def target_gone():
    """when the targets are gone, names may take longer, and a signal ends the wait"""
    target = Target("basic", hold="start")
    target.wait("start")
    tool = Tool("-p", str(target.pid)).ready()
    held = Stopped(thread_of(tool.pid, "gmt-stacks"))
    target.go()
    target.finish()
    tool.send(signal.SIGINT)
    took = held.ends(tool)
    check(took < 10, f"it took {took:.1f} s")
    check("not named" in tool.stderr(), tool.stderr())


def hung_nvml():
    """NVML that does not answer: tracing goes on and says so, and the report comes"""
    usual = usual_end()
    sign = lib.ROOT + "/run/nvml-hangs"
    path = lib.folder() + "/run.gmt"
    target = Target("longrun", "forever")
    target.wait("ready")
    tool = Tool("-p", str(target.pid), "-o", path).ready()
    with open(sign, "w", encoding="ascii"):
        pass
    try:
        tool.wait_line(lambda: "NVML has not answered" in tool.stderr(), "the sentence")
        tool.more_views()
        begin = time.monotonic()
        tool.send(signal.SIGINT)
        report = tool.report()
        took = time.monotonic() - begin
    finally:
        os.unlink(sign)
    check(took < END + usual, f"it took {took:.1f} s, when nothing hangs {usual:.1f} s")
    equal(report["exit_status"], 0, tool.stderr())
    check(any("NVML has not answered" in l["why"] for l in replayed(path)["limits"]), "no word of it in the recording")


def hung_session():
    """the session itself hangs: a second signal ends it at once; without one the recording is closed first"""
    target = Target("longrun", "forever")
    target.wait("ready")
    for signals in 2, 1:
        path = lib.folder() + "/run.gmt"
        tool = Tool("-p", str(target.pid), "-o", path).ready()
        held = Stopped(tool.pid)
        tool.send(signal.SIGINT)
        if signals == 2:
            tool.send(signal.SIGTERM)
        held.ends(tool)
        equal(tool.popen.returncode, 128 + signal.SIGTERM if signals == 2 else 1, "exit status")
        if signals == 1:
            check("hangs" in tool.stderr() and path in tool.stderr(), tool.stderr())
            check(not replayed(path)["notes"], "the recording was not closed", replayed(path)["notes"])
        check(until(lambda: not os.path.exists(f"/proc/{tool.pid}")), "it is still there")


def slow_reader():
    """a reader that takes nothing: nothing is lost, the recording is closed, and the report waits; a signal ends it"""
    for signals in 1, 2:
        path = lib.folder() + "/run.gmt"
        target = Target("storm", "0", "1", "1024", hold="ready", env={"PAIRS": "200000"})
        target.wait("ready")
        argv = [lib.TOOL, "--driver-root", lib.ROOT, "--oom-dir", "off", "--json", "-i", "0.1", "-o", path, "-p",
                str(target.pid)]
        with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=lib.environment(),
                              text=True) as tool:
            first = tool.stdout.readline()
            pipe_is_full(tool.stdout)
            target.go()
            equal(target.finish()[0], 0, "the target's exit status")
            check(until(lambda: replayed(path)["end_reason"]), "the recording is not closed")
            if signals == 1:
                equal(replayed(path)["end_reason"], "targets_gone", "end reason")
                lines = [json.loads(line) for line in [first] + list(tool.stdout)]
                equal(lines[-1]["type"], "report", "the last line")
                equal((lines[-1]["lost"], tool.wait()), (0, 0), "lost, exit status")
            else:
                for _ in range(signals):            # the first one may come before the report
                    tool.send_signal(signal.SIGTERM)
                    time.sleep(lib.LOOK)
                equal(tool.wait(lib.PATIENCE), 128 + signal.SIGTERM, "exit status")


def pipe_is_full(file):
    """Until no more comes into a pipe that nobody reads. A page of it may have room that no writer uses."""
    least = fcntl.fcntl(file, fcntl.F_GETPIPE_SZ) // 4
    seen = []

    def is_full():
        seen.append(int.from_bytes(fcntl.ioctl(file, termios.FIONREAD, bytes(4)), sys.byteorder))
        return seen[-1] > least and len(set(seen[-100:])) == 1 and len(seen) > 100
    check(until(is_full), "the pipe does not fill up:", seen[-1])


def deaf_recording():
    """a recording that takes no data (a pipe that nobody reads, as a disk that hangs): a sentence, and the end"""
    target = Target("storm", "3600", "1", "1024")
    target.wait("ready")
    with subprocess.Popen([lib.TOOL, "--driver-root", lib.ROOT, "-q", "-o", "-", "-p", str(target.pid)],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=lib.environment()) as tool:
        pipe_is_full(tool.stdout)
        tool.send_signal(signal.SIGINT)
        equal(tool.wait(lib.PATIENCE), 1, "exit status")
        check(b"takes no more data" in tool.stderr.read(), "no word of it")
        done = lib.run([lib.TOOL, "replay", "--json", "-"], input=tool.stdout.read(), text=False)
        equal(done.returncode, 0, done.stderr)


def holder_of(tool):
    """The process that waits for the kernel where probes are removed one at a time."""
    for pid in lib.descendants(tool.pid):
        with open(f"/proc/{pid}/comm", encoding="ascii") as file:
            if file.read() == "gmt-probes\n":
                return pid
    return None


def traced_one_at_a_time(*arguments):
    """(the tool, its holder, its programs): probes are removed one at a time."""
    tool = Tool("-a", *arguments, env={"GPUMEMTRACE_NO_UPROBE_MULTI": "1"}).ready()
    holder = holder_of(tool)
    check(holder, "no process holds the probes")
    return tool, holder, set(bpf_stats.programs(tool.pid))


def all_gone(holder, programs):
    check(until(lambda: not os.path.exists(f"/proc/{holder}")), "the process that holds the probes stays")
    check(until(lambda: not bpf_stats.loaded() & programs), "programs stay")


def one_at_a_time():
    """probes that are removed one at a time: a second signal ends it at once, and no probe stays"""
    target = Target("longrun", "forever")
    target.wait("ready")
    tool, *held = traced_one_at_a_time()
    tool.send(signal.SIGINT)
    tool.wait_line(lambda: any('"report"' in line for line in tool.out), "the report")
    began = time.monotonic()
    tool.send(signal.SIGTERM)
    equal(tool.finish()[0], 128 + signal.SIGTERM, "exit status")       # when its outputs have ended, too
    took = time.monotonic() - began
    check(took < END, f"it took {took:.1f} s")
    all_gone(*held)
    print(f"# it took {took:.2f} s, and the probes were gone after {time.monotonic() - began:.1f} s")


def few_at_a_time():
    """few probes that are removed one at a time: nothing is left after the usual end, nor after kill -9"""
    for number in signal.SIGINT, signal.SIGKILL:
        tool, *held = traced_one_at_a_time("--layers", "framework")
        tool.send(number)
        tool.finish()
        check(number == signal.SIGKILL or not os.path.exists(f"/proc/{held[0]}"), "the process that holds the probes is left")
        all_gone(*held)


if __name__ == "__main__":
    lib.main(hung_stacks, target_gone, hung_nvml, hung_session, slow_reader, deaf_recording, one_at_a_time, few_at_a_time)
