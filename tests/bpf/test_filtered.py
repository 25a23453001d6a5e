#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# alone: a tracer that takes the kernel for a bad one refuses to probe what other tests have put under a filter
"""Where return probes kill processes under a seccomp filter, no return probe goes to a file that such a process maps.

The kernel that runs this is a good one, or the first case says so; the others are told to take it for a bad one. The
stand-in puts every process that calls cuInit under a filter; one that only loads it stays without."""
import json
import os
import sys

import lib
from lib import Process, Target, Tool, check, compare, equal

HERE = os.path.dirname(os.path.abspath(__file__))
FILTER = (sys.executable, os.path.join(HERE, "under_filter.py"))
BAD = {"GPUMEMTRACE_RETURN_PROBES_KILL": "seccomp"}


THREAD = f"""
import ctypes, sys, threading
sys.path.insert(0, {HERE!r})
import under_filter
ctypes.CDLL({lib.LIB!r})
def thread():
    under_filter.filtered()
    print("filtered", flush=True)
    sys.stdin.readline()
print("loaded", flush=True)
sys.stdin.readline()
threading.Thread(target=thread).start()
"""


def loaded():
    started = Process([sys.executable, "-c", THREAD], env=lib.environment())
    started.wait_line(lambda: "loaded\n" in started.out, "the library")
    return started


def filter_a_thread(started):
    started.line()
    started.wait_line(lambda: "filtered\n" in started.out, "the filter")


def target(**more):
    """A workload under a filter from its start."""
    started = Target("basic", hold="end", prefix=FILTER, **more)
    started.wait("end")
    return started


def ends(started):
    """A process that has loaded the library, and has its thread or not."""
    started.line("\n\n")
    equal(started.finish()[0], 0, "exit status " + started.stderr())


def alone():
    """Whether no other program of the machine has a libcuda that -a would trace."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/maps", encoding="utf-8", errors="replace") as maps:
                if any("/libcuda.so" in line and not line.rstrip().endswith(lib.LIB) for line in maps):
                    return False
        except OSError:
            pass
    return True


def survives(started):
    started.go()
    return started.books()


def refused(arguments, *words, env=None, say_no=()):
    """The tool ends with 4 and one sentence."""
    done = lib.run([lib.TOOL, "--driver-root", lib.ROOT, "--oom-dir", "off", *arguments],
                   env=lib.environment(**(env or BAD)))
    equal(done.returncode, 4, f"{arguments}: exit status ({done.stderr})")
    check(all(w in done.stderr for w in words), f"{arguments}: not", words, "in", done.stderr)
    check(not any(w in done.stderr for w in say_no), f"{arguments}: said", done.stderr)
    equal(len(done.stderr.splitlines()), 1, f"{arguments}: sentences of {done.stderr!r}")


def doctor(**env):
    done = lib.run([lib.TOOL, "doctor", "--json"], env=lib.environment(**env))
    return {f["name"]: f for f in json.loads(done.stdout)["features"]}["return probes"]


def survives_here():
    """tried: a return probe lets a process under a filter live, and its calls are counted"""
    found = doctor()
    if found["state"] != "ok":
        raise lib.Skip("not on this kernel: " + found["detail"])
    tool = Tool("-a").ready()
    filtered = target()
    report = lib.settled(tool, filtered.pid)
    compare(report, filtered.pid, survives(filtered))


def the_doctor():
    """doctor says what was tried, whom it would hurt, and what cannot be known"""
    bad, unknown = doctor(**BAD), doctor(GPUMEMTRACE_RETURN_PROBES_KILL="unknown")
    equal(bad["state"], "warn", "a bad kernel")
    check("seccomp" in bad["detail"] and "6.12.14" in bad["remedy"], bad)
    equal(unknown["state"], "warn", "an unknown kernel")
    check("could not be tried" in unknown["detail"], unknown)


def a_filtered_process():
    """-p of a process under a filter, of one beside it, and -a: refused, and both live"""
    filtered, other = target(), loaded()
    for arguments in [["-p", str(filtered.pid)], ["-p", str(other.pid)]] + ([["-a"]] if alone() else []):
        refused(arguments, "seccomp filter", f"process {filtered.pid} ", "libcuda.so.1", "6.12.14")
    refused(["-p", str(other.pid)], "could not be tried", str(filtered.pid),
            env={"GPUMEMTRACE_RETURN_PROBES_KILL": "unknown"})
    survives(filtered)
    ends(other)


def no_filtered_process():
    """without such a process the same kernel's file is probed; one with another libcuda loses that one alone"""
    if not alone():     # of several files that are refused the first one is named
        raise lib.Skip("another program of the machine has a libcuda")
    started, elsewhere = loaded(), target(lib=lib.LIB_ENDBR)
    tool = Tool("-a", env=BAD).ready()
    tool.probes(lib.LIB)
    tool.wait_line(lambda: f"process {elsewhere.pid} " in tool.stderr(), "a word about the other file")
    check(not any(l["inode"] == os.stat(lib.LIB_ENDBR).st_ino for l in tool.stop()["libraries"]), "it was probed")
    ends(started)
    survives(elsewhere)


def a_filtered_thread():
    """a single thread under a filter counts as well"""
    started = loaded()
    filter_a_thread(started)
    refused(["-p", str(started.pid)], "seccomp filter", str(started.pid))
    ends(started)


def gives_up(tool, pid):
    tool.wait_line(lambda: "probes were removed" in tool.stderr(), "the sentence")
    check(f"process {pid} " in tool.stderr(), tool.stderr())
    tool.send(2)
    report = tool.report()
    check(any("not traced from" in note and str(pid) in note for note in report["notes"]), report["notes"])
    equal(tool.stderr().count("probes were removed"), 1, "said once: " + tool.stderr())
    return report


def maps_later():
    """a filtered process that maps the file later: the probes go at once, and the report says since when"""
    started = loaded()
    tool = Tool("-p", str(started.pid), "--strict", env=BAD).ready()
    filtered = target()
    report = gives_up(tool, filtered.pid)
    equal(report["exit_status"], 5, "exit status with --strict")
    survives(filtered)
    ends(started)


def filters_later():
    """a process that asks for a filter when the file has been probed: the next look finds it"""
    started = loaded()
    tool = Tool("-p", str(started.pid), env=BAD).ready()
    check("probes were removed" not in tool.stderr(), tool.stderr())
    filter_a_thread(started)
    equal(gives_up(tool, started.pid)["exit_status"], 0, "exit status")
    ends(started)


if __name__ == "__main__":
    lib.main(survives_here, the_doctor, a_filtered_process, no_filtered_process, a_filtered_thread, maps_later,
             filters_later)
