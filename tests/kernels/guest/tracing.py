# SPDX-License-Identifier: BSD-2-Clause
"""Traces the demo's job with each kind of stacks, and takes from the report what must be the same on every machine.
Used on the machine that runs the tests as well as in its guests."""
import json
import os
import sys
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
sys.path[:0] = [os.path.join(TOP, "tests"), os.path.join(TOP, "tests/bpf")]
import lib  # noqa: E402

MODES = {"full": (), "native": ("--stacks", "native"), "python": ("--stacks", "python"), "fp": ("--stacks", "fp"),
         "off": ("--stacks", "off"), "block-stacks": ("--block-stacks",)}
SLOW = ("--interval", "0.5")            # views that an emulated machine has time for
JOB = os.path.join(lib.TOP, "build/demos/train")
JOB_SECONDS = "3"
SKIPPED = "program_skipped"             # a loss: the kernel did not run a program because another task was inside of the program
RUNS = 3                # of what has lost nothing else
# The job's end by the clock of the report: the shell that started the job has nothing else to do.
TIMED = '"$@"; read -r now rest </proc/uptime; echo "$now" >"$ENDED"'
METRICS = ("allocs", "frees", "failed", "live_bytes", "peak_bytes")


def rows_of(classes):
    return {name: [row[k] for k in METRICS] for name, row in classes.items() if row["allocs"]}


def totals(report, comm="train"):
    """What the job did, without times and numbers of processes."""
    found = {}
    for process in report["processes"]:
        if process["comm"] != comm:
            continue
        found["process"] = rows_of(process["classes"])
        for gpu in process["gpus"]:
            found[gpu["uuid"]] = rows_of(gpu["classes"])
            if gpu["physical"]:
                found[gpu["uuid"]]["physical"] = gpu["physical"]["peak_bytes"]
    return found


def troubles(report):
    """Losses and anomalies that are not 0."""
    return {name: count for name, count in {**report["losses"], **report["anomalies"]}.items() if count}


def unwound(report, comm="train"):
    """(stacks, complete ones, {reason: the others})"""
    stacks = complete = 0
    reasons = {}
    for process in report["processes"]:
        found = process["unwinding"] if process["comm"] == comm else None
        if not found:
            continue
        stacks += found["stacks"]
        complete += found["complete"]
        for name, count in found["native"].items():
            if count and name not in ("root", "zero", "none"):
                reasons[name] = reasons.get(name, 0) + count
    return stacks, complete, reasons


def more_views(tool, count):
    """The tool's view after so many more; the others are not read, which takes an emulated machine long."""
    wanted = sum(line.startswith("{") for line in tool.out) + count
    tool.wait_line(lambda: sum(line.startswith("{") for line in tool.out) >= wanted, f"{count} more views")
    return json.loads([line for line in tool.out if line.startswith("{")][-1])


ending = []     # tools that have reported and still remove probes, which takes some kernels half a minute


def reported(tool):
    """The report of a tool that is at its end; the next one may begin."""
    tool.wait_line(lambda: any('"report"' in line for line in tool.out), "the report")
    lib.Process.running.remove(tool)
    ending.append(tool)
    return json.loads([line for line in tool.out if line.startswith("{")][-1])


def stopped(tool):
    tool.send(lib.signal.SIGINT)
    return reported(tool)


def ended():
    """What is wrong with the ends of those that have reported."""
    wrong = []
    while ending:
        tool = ending.pop()
        try:
            status = tool.finish()[0]
        except lib.Failure as why:
            tool.popen.kill()
            status = why
        if status:
            wrong.append(f"{' '.join(tool.popen.args[1:])}: exit status {status}")
    return wrong


def said(text):
    """What the tool told its user of what it does without, or why it did not start."""
    return [line for line in text.splitlines() if line.startswith("gpumemtrace: ")]


def traced(mode):
    """The job from its start, recorded: a dictionary that JSON can hold."""
    folder = lib.folder()
    recording, ended = folder + "/run.gmt", folder + "/ended"
    begin = time.monotonic()
    tool = lib.Tool("-o", recording, *MODES[mode], "--", "/bin/sh", "-c", TIMED, "sh", JOB, JOB_SECONDS,
                    env={"ENDED": ended}, options=("-q",))
    report = reported(tool)
    seen = time.clock_gettime(time.CLOCK_BOOTTIME)
    with open(ended, encoding="ascii") as file:
        job_ended = float(file.read())
    # A file's time is the wall clock's.
    written = os.stat(recording).st_mtime - time.time() + time.clock_gettime(time.CLOCK_BOOTTIME)
    replayed = lib.run([lib.TOOL, "replay", "--json", recording]).stdout
    again = [json.loads(line) for line in replayed.splitlines() if line.startswith("{")]
    stacks, complete, reasons = unwound(report)
    return {"mode": mode, "totals": totals(report), "troubles": troubles(report),
            "stacks": stacks, "complete": complete, "reasons": reasons, "layers": report["session"]["layers"],
            "replay_same": bool(again) and totals(again[-1]) == totals(report), "said": said(tool.stderr()),
            "seconds": round(time.monotonic() - begin, 1), "report_s": round(seen - job_ended, 2),
            "recording_s": round(written - job_ended, 2)}


def speed():
    """Seconds for the same work everywhere, the best of three."""
    best = []
    for _ in range(3):
        begin = time.monotonic()
        sum(number * number for number in range(300_000))
        best.append(time.monotonic() - begin)
    return min(best)


def tried(mode):
    """As traced(); {"refused": why} where it cannot be."""
    try:
        return traced(mode)
    except (lib.Failure, OSError, ValueError, KeyError) as why:
        return {"mode": mode, "refused": " ".join(str(why).split())[-400:]}
    finally:
        lib.Process.end_all()
        while lib.folders:
            lib.shutil.rmtree(lib.folders.pop(), ignore_errors=True)


def unskipped(mode):
    """As tried(), with "skipped": how often it was begun again because the kernel had skipped a program and nothing else was
    lost. A kernel whose tracepoints can be preempted skips a program that another task is inside of: the skip is
    counted and told, and the job is run once more."""
    for skipped in range(RUNS):
        job = tried(mode)
        if set(job.get("troubles", ())) != {SKIPPED}:
            break
    return {**job, "skipped": skipped}


def reference():
    """What guests are compared with: the job on this machine, and how fast this machine is."""
    jobs = {mode: tried(mode) for mode in MODES}
    ended()
    return {"jobs": jobs, "speed": speed()}
