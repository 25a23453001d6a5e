#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""-p, -a and a command select the right processes, a session ends when it should, and the command's exit status is
passed on."""
import errno
import os
import signal
import subprocess
import sys
import threading
import time

import lib
from lib import GPU_B, MIB, Target, Tool, check, equal, process_of, row_of, until

# Does not end by SIGINT, but says that it was there. A thread waits for the signal: Python runs a handler only after the
# read if the signal comes just before the read.
DEAF = """
import signal, sys, threading
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
def tell():
    while True:
        print("here", flush=True)
        signal.sigwait({signal.SIGINT})
threading.Thread(target=tell, daemon=True).start()
sys.stdin.read()
"""
# Its main thread ends, and another one goes on.
MAINLESS = """
import ctypes, os, threading, time
def go_on():
    while b"State:\\tZ" not in open(f"/proc/{os.getpid()}/status", "rb").read():
        time.sleep(0.01)
    print("here", flush=True)
    time.sleep(3600)
threading.Thread(target=go_on).start()
ctypes.CDLL(None).syscall(93 if os.uname().machine == "aarch64" else 60, 0)     # exit
"""


def pids(report):
    return {p["pid"] for p in report["processes"]}


def one_pid():
    """-p traces that process and no other"""
    first, second = Target("longrun", "forever", hold="start"), Target("longrun", "forever", hold="start")
    for target in first, second:
        target.wait("start")
    tool = Tool("-p", str(first.pid)).ready()
    for target in first, second:
        target.go()
        target.wait("ready")
    report = lib.settled(tool, first.pid)
    equal(pids(report), {first.pid}, "processes")
    check(process_of(report, first.pid)["gpus"], "nothing seen of the target")


def several_pids():
    """-p is repeatable, and takes a list"""
    targets = [Target("basic", hold="start") for _ in range(3)]
    for target in targets:
        target.wait("start")
    a, b, c = (t.pid for t in targets)
    tool = Tool("-p", f"{a},{b}", "-p", str(c)).ready()
    for target in targets:
        target.go()
    report = tool.report()      # all have exited: the session ends by itself
    equal(report["exit_status"], 0, "exit status")
    equal(report["end_reason"], "targets_gone", "end reason")
    equal(pids(report), {a, b, c}, "processes")
    for target in targets:
        lib.compare(report, target.pid, target.books(), skip=("live", "physical"))


def everything():
    """-a traces what runs already and what comes later"""
    early = Target("longrun", "forever", hold="start")
    early.wait("start")
    early.go()
    early.wait("ready")
    tool = Tool("-a").ready()
    late = Target("basic", hold="end")
    late.wait("end")
    report = lib.settled(tool, late.pid)
    check(not process_of(report, early.pid)["from_start"], "the early one was not seen from the start")
    late.go()
    lib.compare(report, late.pid, late.books())


def duration():
    """-d ends the session after that time"""
    started = time.monotonic()
    report = Tool("-a", "-d", "1").report()
    check(time.monotonic() - started > 0.9, "it took less")
    equal((report["end_reason"], report["exit_status"]), ("duration", 0), "end")


def command():
    """-- CMD is traced from its start, with its children, and its output is its own"""
    tool = Tool("--", lib.workload("forks"), "exec", options=("--no-live",))
    report = tool.report()
    equal(report["exit_status"], 0, "exit status " + tool.stderr())
    users = [p for p in report["processes"] if row_of(p, GPU_B)]
    equal(len(users), 2, "processes with GPU memory")
    row = row_of([p for p in users if p["comm"] == "forks"][0], GPU_B)
    equal(row["classes"]["device"]["peak_bytes"], 36 * MIB, "the parent's peak")
    check("child_status=0\n" in tool.out, "the command's own output is missing")


# What a program inherits beside its environment: limits, privileges, signals, descriptors. cat changes no signal.
INHERITED = ("cat", "/proc/self/status", "/proc/self/limits", "/proc/self/oom_score_adj", "/proc/self/cgroup")
DESCRIPTORS = (sys.executable, "-S", "-c", """if 1:
    import os
    print([fd for fd in range(1024) if os.path.exists(f"/proc/self/fd/{fd}")], os.getcwd(), os.umask(0), os.nice(0))
    """)
OWN = ("Pid", "Tgid", "Ngid", "NSpid", "NStgid", "NSpgid", "NSsid", "PPid", "FDSize", "Vm", "Rss", "Hugetlb", "SigQ",
       "voluntary", "nonvoluntary", "Cpus_allowed", "Mems_allowed", "Threads", "x86_Thread")


def inheritance():
    """a command inherits what gpumemtrace was given, and nothing of what gpumemtrace does to itself"""
    limits = "ulimit -S -n 100; ulimit -S -l 32; ulimit -S -c 0; umask 027; "
    tool = (lib.TOOL, "--driver-root", lib.ROOT, "--json", "--no-live", "--oom-dir", "off", "--")
    for argv in INHERITED, DESCRIPTORS:
        for prefix in "", limits, limits + "trap '' PIPE HUP; exec 7</dev/null; ":
            start = ["/bin/sh", "-c", prefix + 'exec "$@"', "sh"]
            plain, traced = lib.run([*start, *argv]), lib.run([*start, *tool, *argv])
            equal(traced.returncode, 0, "exit status " + traced.stderr)
            got, wanted = ([line for line in done.stdout.splitlines() if not line.startswith(("{",) + OWN)]
                           for done in (traced, plain))
            check(wanted, "nothing was printed", plain.stderr)
            equal(sorted(set(got) - set(wanted)), sorted(set(wanted) - set(got)), "inherited after " + repr(prefix))


def exit_status():
    """the command's exit status is passed through, 128 + signal if it was killed"""
    for script, wanted in (("exit 0", 0), ("exit 3", 3), ("kill -9 $$", 137), ("kill -TERM $$", 143)):
        tool = Tool("--", "/bin/sh", "-c", script, options=("--no-live",))
        status, _ = tool.finish()
        equal(status, wanted, script)


def command_fails():
    """a command that does not exist or cannot be run: 127, 126 and a sentence"""
    for argv, wanted in (("/nonexistent/program", 127), ("no-such-program-anywhere", 127), ("/etc/passwd", 126),
                         ("/tmp", 126)):
        tool = Tool("--", argv, options=("--no-live",))
        status, _ = tool.finish()
        equal(status, wanted, argv)
        check(argv in tool.stderr() and len(tool.err) == 1, "one sentence that names it:", tool.stderr())


def no_cuda():
    """a program that uses no CUDA: -p ends with 3 and a sentence, a command with its own status and a sentence"""
    sentence = "gpumemtrace: no traced process has used CUDA"
    target = lib.Process(["cat"])
    tool = Tool("-p", str(target.pid), options=("-i", "0.1")).ready()
    tool.wait_line(lambda: "has not loaded libcuda yet" in tool.stderr(), "the sentence that it waits")
    check("'gpumemtrace ps' lists the processes that use CUDA now" in tool.stderr(), "no remedy:", tool.stderr())
    target.popen.stdin.close()
    equal(tool.finish()[0], 3, "exit status when the process has ended")
    equal(tool.stderr().count(sentence + "; 'gpumemtrace ps' lists"), 1, "sentences " + tool.stderr())
    for options, sentences in (("--no-live",), 1), (("--no-live", "-q"), 0):
        tool = Tool("--", "/bin/sh", "-c", "exit 7", options=options)
        equal(tool.finish()[0], 7, "exit status of the command")
        equal(tool.err.count(sentence + "\n"), sentences, "sentences " + tool.stderr())
    tool = Tool("-a", "-d", "0.3")
    equal(tool.finish()[0], 0, "exit status with -a")


def quiet():
    """-q: the report and no messages; -qq: a command's standard error is its own, and the files are written"""
    path = os.path.join(lib.folder(), "run.gmt")
    for option, is_reported in ("-q", True), ("-qq", False):
        tool = Tool("-o", path, option, "--", "/bin/sh", "-c", "echo mine >&2; exit 7", json_output=False, options=())
        equal(tool.finish()[0], 7, "exit status of the command")
        equal("layers: " in tool.stderr(), is_reported, f"a report with {option}: {tool.stderr()}")
        check(is_reported or tool.stderr() == "mine\n", "more than the command's own words:", tool.stderr())
        check(os.path.getsize(path) > 0, "no recording")
        os.remove(path)


def refused_pids():
    """each pid that cannot be traced has a sentence and exit status 3"""
    zombie = subprocess.Popen(["true"])
    os.waitid(os.P_PID, zombie.pid, os.WEXITED | os.WNOWAIT)
    over = threading.Event()
    thread = threading.Thread(target=over.wait, daemon=True)
    thread.start()
    mainless = subprocess.Popen([sys.executable, "-c", MAINLESS], stdout=subprocess.PIPE)
    mainless.stdout.read(1)
    for pid, words in (2 ** 22 + 1, "does not exist"), (2, "is a kernel thread"), (zombie.pid, "zombie"), \
            (mainless.pid, "runs without its main thread"), (thread.native_id, f"is a thread of process {os.getpid()}: use -p {os.getpid()}"):
        tool = Tool("-p", str(pid))
        equal(tool.finish()[0], 3, f"exit status of -p {pid}")
        check(len(tool.err) == 1 and words in tool.err[0], f"one sentence with '{words}':", tool.stderr())
        remedies = "use -p", "'gpumemtrace ps' lists the processes", "trace the program from its start"
        check(any(remedy in tool.err[0] for remedy in remedies), "no remedy:", tool.stderr())
    over.set()
    mainless.kill()
    mainless.wait()
    zombie.wait()


def is_protected(pid):
    """Whether root may not read the mappings of the process."""
    try:
        with open(f"/proc/{pid}/maps", "rb"):
            return False
    except OSError as error:
        return error.errno == errno.EACCES


def protected():
    """a process that root may not inspect: status 4, and a sentence that says what to do"""
    pid = next(filter(is_protected, filter(str.isdigit, os.listdir("/proc"))), None)
    if not pid:
        raise lib.Skip("root may inspect each process of this machine")
    tool = Tool("-p", pid)
    equal(tool.finish()[0], 4, "exit status")
    check(len(tool.err) == 1 and f"process {pid} may not be inspected" in tool.err[0], "one sentence:", tool.stderr())
    check("'gpumemtrace doctor'" in tool.err[0] and "'gpumemtrace ps' lists" in tool.err[0], "no remedy:", tool.stderr())


def signals():
    """SIGINT, SIGTERM, SIGHUP and SIGQUIT end with the report; the target lives on"""
    target = Target("longrun", "forever")
    target.wait("ready")
    for number in signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT:
        report = Tool("-p", str(target.pid)).ready().stop(number)
        equal(report["end_reason"], "requested", "end reason")
    check(target.popen.poll() is None, "the target has ended")


def command_interrupted():
    """SIGTERM to gpumemtrace with a command: the report comes, and nothing is left running"""
    tool = Tool("--", lib.workload("longrun"), "forever")
    tool.wait_line(lambda: "phase=ready\n" in tool.err, "the command's start")
    pid = int([line for line in tool.err if line.startswith("pid=")][0][4:])
    tool.send(signal.SIGTERM)
    report = tool.report()
    check(process_of(report, pid)["gpus"], "nothing seen of the command")
    check(until(lambda: not os.path.exists(f"/proc/{pid}")), "the command still runs")


def closed_pipe():
    """a reader that goes away (SIGPIPE) ends it cleanly, with no word from the shell"""
    target = Target("longrun", "forever")
    target.wait("ready")
    tool = f"{lib.TOOL} --driver-root {lib.ROOT} --json -i 0.1 -d 5 -p {target.pid}"
    done = lib.run(["/bin/sh", "-c", tool + " | head -1"])
    equal(done.returncode, 0, "head's status")
    check("Broken" not in done.stderr or done.stderr.count("\n") <= 1, done.stderr)
    check(target.popen.poll() is None, "the target has ended")


def reader_of_command_gone():
    """the command goes on when the reader of the output has gone, and its status is passed through"""
    command = "sh -c 'read line; exit 7'"
    tool = f"{lib.TOOL} --driver-root {lib.ROOT} --oom-dir off --json --live -i 0.1 -- {command}"
    shell = lib.Process(["/bin/sh", "-c", "{ " + tool + "; echo status $? >&2; } | head -1"])
    shell.wait_line(lambda: any("cannot write the report" in line for line in shell.err), "the tracing's end")
    shell.line()
    shell.wait_line(lambda: any(line.startswith("status") for line in shell.err), "the status")
    check("status 7\n" in shell.err, shell.stderr())
    shell.finish()


def outlived():
    """the command goes on when the time is over, and its status is passed through; a second SIGINT leaves it"""
    tool = Tool("-d", "0.5", "--", "sh", "-c", "read line; exit 7")
    tool.wait_line(lambda: tool.views() and tool.views()[-1]["type"] == "report", "the report")
    tool.line()
    equal(tool.finish()[0], 7, "exit status of a command that takes longer than -d")
    tool = Tool("--", sys.executable, "-c", DEAF, json_output=False)
    for number in 1, 2:
        tool.wait_line(lambda: tool.out.count("here\n") == number, "the command")
        tool.send(signal.SIGINT)
    tool.popen.wait(lib.PATIENCE)       # the command waits for the end of its input
    equal(tool.popen.returncode, 130, "exit status after the second SIGINT")


if __name__ == "__main__":
    lib.main(outlived, one_pid, several_pids, everything, duration, command, inheritance, exit_status, command_fails,
             no_cuda, quiet, refused_pids, protected, signals, command_interrupted, closed_pipe, reader_of_command_gone)
