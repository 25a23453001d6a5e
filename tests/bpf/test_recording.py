#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A replay needs no root and gives the report of the live session; recordings survive a full disk, a cut, a killed
recorder."""
import json
import os
import signal

import lib
from lib import Target, Tool, check, equal


def recorded(*argv, path=None, env=None):
    """A workload recorded: (path, the report of the recording session)."""
    path = path or lib.folder() + "/run.gmt"
    tool = Tool("-o", path, "--", lib.workload(argv[0]), *argv[1:], options=("--no-live",), env=env)
    return path, tool.report()


def replay(path, *arguments, prefix=()):
    done = lib.run([*prefix, lib.TOOL, "replay", "--json", *arguments, path])
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return done.returncode, lines[-1] if lines else None, done.stderr


def same_report():
    """replay FILE.gmt gives the report of the session, byte for byte, as any user"""
    path, report = recorded("train", "3")
    equal(os.stat(path).st_mode & 0o777, 0o600, "mode: it holds command lines")
    os.chmod(os.path.dirname(path), 0o755)
    os.chmod(path, 0o644)
    nobody = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
    status, replayed, err = replay(path, prefix=nobody)
    equal(status, 0, "exit status " + err)
    for key in report.keys() - {"exit_status", "made_at"}:
        equal(json.dumps(replayed[key], sort_keys=True), json.dumps(report[key], sort_keys=True), key)


def all_workloads():
    """... for pools, VMM, contexts, IPC and PyTorch as well"""
    for argv in (("pools",), ("vmm", "oom"), ("contexts",), ("ipc",), ("forks", "exec"), ("threads", "4", "2000"),
                 ("torch", lib.C10, "200")):
        path, report = recorded(*argv)
        status, replayed, err = replay(path)
        equal(status, 0, err)
        equal(replayed["processes"], report["processes"], " ".join(argv))


def names_of(report):
    """The stacks of the report in words."""
    symbols = [symbol["function"] for symbol in report["symbols"]]
    return sorted([symbols[frame] for frame in stack["frames"]] for stack in report["stacks"])


def symbols_again():
    """... and where all symbols get new ids again and again: each stack has its names"""
    wanted = names_of(recorded("train", "2")[1])
    path, report = recorded("train", "2", env={"GPUMEMTRACE_SYMBOLS": "5"})
    records = lib.run([lib.TOOL, "records", "--kind", "SYMBOLS_END", path]).stdout
    check(records.count("last_id=") > 3, "ends of symbols:", records)
    equal(names_of(report), wanted, "names")
    check(len({json.dumps(symbol) for symbol in report["symbols"]}) == len(report["symbols"]), "a symbol is there twice")
    status, replayed, err = replay(path)
    equal(status, 0, err)
    for key in "processes", "stacks", "symbols":
        equal(replayed[key], report[key], key)


def cut_short():
    """a recording cut anywhere: the part that is there, and a note; never a crash"""
    path, report = recorded("basic")
    size = os.path.getsize(path)
    with open(path, "rb") as file:
        data = file.read()
    for cut in [0, 1, 7, 16, 63, size // 3, size // 2, size - 9, size - 1]:
        with open(path, "wb") as file:
            file.write(data[:cut])
        status, replayed, err = replay(path)
        check(status in (0, 1), f"cut at {cut}: exit status", status, err)
        check(err.strip() or replayed and replayed["notes"], f"cut at {cut}: no word of it")


def damaged():
    """flipped bytes: noticed, never a crash"""
    path, _ = recorded("basic")
    with open(path, "rb") as file:
        data = bytearray(file.read())
    for place in range(0, len(data), max(1, len(data) // 60)):
        data[place] ^= 0xff
        with open(path, "wb") as file:
            file.write(data)
        status, _, err = replay(path)
        data[place] ^= 0xff
        check(status in (0, 1), f"byte {place}: exit status", status, err)


def not_a_recording():
    """a file that is none"""
    for path in ("/etc/passwd", "/dev/null", lib.TOOL):
        status, _, err = replay(path)
        equal(status, 1, path)
        check(path in err, "not named:", err)


def full_disk():
    """a full disk: the recording ends, the session goes on, says so, and the exit status tells"""
    place = lib.folder()
    script = f'mount -t tmpfs -o size=64k tmpfs "{place}" && "$@"; s=$?; cp "{place}/x.gmt" "{place}.gmt"; exit $s'
    target = Target("storm", "0", "1", "1024", hold="ready", env={"PAIRS": "100000"})
    target.wait("ready")
    tool = lib.Process(["unshare", "--mount", "/bin/sh", "-c", script, "sh", lib.TOOL, "--driver-root", lib.ROOT,
                        "--oom-dir", "off", "--json", "-i", "0.1", "-o", place + "/x.gmt", "-p", str(target.pid)],
                       env=lib.environment())
    tool.wait_line(lambda: tool.out, "the first view")
    target.go()
    status, out = tool.finish()
    report = json.loads(out.splitlines()[-1])
    try:
        equal(status, 1, "exit status")
        check("No space left" in tool.stderr() + "".join(report["notes"]), tool.stderr(), report["notes"])
        process = lib.process_of(report, target.pid)
        equal(lib.row_of(process, lib.GPU_B)["classes"]["device"]["allocs"], 100000, "allocations in the report")
        status, replayed, err = replay(place + ".gmt")
        check(status in (0, 1) and replayed, "what was written can be read", err)
        check(replayed["notes"] or err, "and says that it is not all")
    finally:
        os.unlink(place + ".gmt")


def killed_recorder():
    """a recorder killed with -9 leaves a recording that can be replayed"""
    target = Target("longrun", "forever")
    target.wait("ready")
    path = lib.folder() + "/killed.gmt"
    tool = Tool("-p", str(target.pid), "-o", path).ready()
    tool.wait_line(lambda: len(tool.views()) > 20, "two seconds")
    tool.send(signal.SIGKILL)
    tool.popen.wait()
    status, replayed, err = replay(path)
    check(status in (0, 1) and replayed, "not readable:", err)
    equal(replayed["end_reason"], None, "end reason")
    check(lib.row_of(lib.process_of(replayed, target.pid), lib.GPU_B), "no row")


def to_stdout():
    """-o - writes the recording to standard output, and replay - reads it"""
    recorder = lib.run([lib.TOOL, "--driver-root", lib.ROOT, "--oom-dir", "off", "-q", "-o", "-", "-a", "-d", "0.5"],
                       text=False)
    equal(recorder.returncode, 0, recorder.stderr)
    done = lib.run([lib.TOOL, "replay", "--json", "-"], text=False, input=recorder.stdout)
    equal(done.returncode, 0, done.stderr)
    equal(json.loads(done.stdout.splitlines()[-1])["end_reason"], "duration", "end reason")


if __name__ == "__main__":
    lib.main(same_report, all_workloads, symbols_again, cut_short, damaged, not_a_recording, full_disk, killed_recorder, to_stdout)
