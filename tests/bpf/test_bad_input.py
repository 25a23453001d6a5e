#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Bad input and bad circumstances end with one clear sentence, the documented exit status, and nothing left behind."""
import mmap
import os
import subprocess
import sys

import lib
from lib import Target, Tool, check, equal


def run(*arguments, prefix=(), **env):
    root = [] if "replay" in arguments else ["--driver-root", lib.ROOT]
    done = lib.run([*prefix, lib.TOOL, *root, *arguments], env=lib.environment(**env))
    return done.returncode, done.stdout, done.stderr


def says(arguments, status, *words, **more):
    got, out, err = run(*arguments, **more)
    equal(got, status, f"{arguments}: exit status ({err})")
    check(err.strip(), f"{arguments}: no sentence")
    check(all(w in err for w in words), f"{arguments}: not", words, "in", err)
    check(len(err.splitlines()) <= 3, f"{arguments}: more than a sentence:", err)
    check(not out, f"{arguments}: messages on stdout:", out)


def no_such_pid():
    """a pid that does not exist"""
    says(["-p", "4194000"], 3, "4194000")
    says(["-p", "0"], 2)
    says(["-p", "1,,2"], 2, "1,,2")
    says(["-p", "no-such-name"], 3, "no-such-name")
    says(["-p", "-5"], 2)
    says(["-p", "99999999999999"], 2)


def a_zombie():
    """a process that has exited and was not waited for"""
    child = subprocess.Popen(["true"])
    check(lib.until(lambda: open(f"/proc/{child.pid}/stat", encoding="ascii").read().split()[2] == "Z"), "no zombie")
    says(["-p", str(child.pid)], 3, str(child.pid))
    child.wait()


def a_thread():
    """a thread's id: it says whose"""
    target = Target("storm", "3600", "2", "1024")
    target.wait("ready")
    tids = lib.until(lambda: (set(os.listdir(f"/proc/{target.pid}/task")) - {str(target.pid)}))
    tid = min(tids)
    says(["-p", tid], 3, tid, str(target.pid))


def a_kernel_thread():
    """a kernel thread"""
    says(["-p", "2"], 3, "2")


def not_cuda():
    """a process without libcuda: it says so, waits, ends with it, and with 3"""
    child = lib.Process(["sleep", "infinity"])
    tool = Tool("-p", str(child.pid), json_output=False, options=())
    tool.wait_line(lambda: "libcuda" in tool.stderr(), "the sentence")
    child.send(lib.signal.SIGKILL)
    child.popen.wait()
    equal(tool.finish()[0], 3, "exit status")


def exits_during_attach():
    """processes that exit while they are attached to: no crash, no hang, a sentence or a report"""
    for _ in range(15):
        target = Target("basic")
        status, _, err = run("-p", str(target.pid), "-d", "2")
        check(status in (0, 3), "exit status", status, err)
        target.finish()


def no_root():
    """without root: it says what is missing"""
    prefix = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all",
              "--bounding-set=-all")
    target = Target("longrun", "forever")
    target.wait("ready")
    says(["-p", str(target.pid)], 4, "root", prefix=prefix)
    says(["-a"], 4, "root", prefix=prefix)


def root_without_capabilities():
    """root in a container that was given nothing: sudo is no remedy"""
    prefix = ("setpriv", "--inh-caps=-all", "--bounding-set=-all")
    target = Target("longrun", "forever")
    target.wait("ready")
    for arguments in (["-p", str(target.pid)], ["-a"]):
        status, _, err = run(*arguments, prefix=prefix)
        equal(status, 4, "exit status " + err)
        check("root, but with no capabilities" in err and "--privileged" in err and "sudo" not in err, err)


def no_uprobes():
    """a kernel without uprobes: it says so before anything else"""
    prefix = ("unshare", "--mount", "/bin/sh", "-c", 'mount -t tmpfs tmpfs /sys/devices/uprobe && exec "$@"', "sh")
    target = Target("longrun", "forever")
    target.wait("ready")
    for arguments in (["-p", str(target.pid)], ["-a"]):
        says(arguments, 4, "uprobes: ", "CONFIG_UPROBE_EVENTS=y", prefix=prefix, GPUMEMTRACE_NO_UPROBE_MULTI="1")


def no_btf():
    """without /sys/kernel/btf: it says so"""
    prefix = ("unshare", "--mount", "/bin/sh", "-c", 'mount -t tmpfs tmpfs /sys/kernel/btf && exec "$@"', "sh")
    status, _, err = run("-a", "-d", "0.2", prefix=prefix)
    equal(status, 4, "exit status " + err)
    check("BTF" in err, err)


def usage():
    """nothing to do, unknown options, contradictions"""
    says([], 2)
    says(["--nonsense", "-a"], 2, "nonsense")
    says(["-a", "-d", "soon"], 2, "soon")
    says(["-a", "-p", "1"], 2)
    says(["-a", "--ring-size", "tiny"], 2, "tiny")
    says(["-a", "--layers", "magic"], 2, "magic")
    says(["replay"], 2)
    says(["--"], 2)


def unwritable():
    """files and dumps that cannot be written: said before the command runs, with a remedy; a replay that cannot be read"""
    create = ("No such file or directory: create the directory",)
    for options, words in ((["-o", "/nonexistent/x.gmt"], create), (["-o", "/nonexistent/x.pickle"], create),
                           (["-o", "/nonexistent/x.folded"], create), (["-o", "/etc/passwd/x.folded"], (": name a directory",)),
                           (["--folded", "/etc"], (": name a file",)), (["--oom-dir", "/nonexistent"], create),
                           (["--oom-dir", "/etc/passwd"], (": name a directory",))):
        says(["-a", "-d", "0.2", *options], 1, options[1], *words)
        says([*options, "--", "/bin/echo", "ran"], 125, options[1], *words)
    got, _, err = run("replay", "/nonexistent/x.gmt")
    equal(got, 1, "exit status " + err)
    check("/nonexistent/x.gmt" in err, err)


def foreign_library():
    """--libcuda with a file that is none, or is not there"""
    for path in ("/bin/true", "/nonexistent/libcuda.so.1", "/etc/passwd"):
        _, _, err = run("-a", "-d", "0.2", "--no-live", "--libcuda", path)
        check(path in err, "not named:", err)


def unsupported_code():
    """a libcuda in which the kernel can probe a function not: its own name, and why"""
    path = os.path.join(lib.folder(), "libcuda.so.1")
    symbols = subprocess.run(["nm", "-D", lib.LIB], capture_output=True, text=True, check=True).stdout.split("\n")
    at = next(int(line.split()[0], 16) for line in symbols if line.endswith(" cuMemAlloc_v2"))
    with open(lib.LIB, "rb") as file:
        data = bytearray(file.read())
    data[at] = 0xf4                    # hlt: code lies at its address in the file
    with open(path, "wb") as file:
        file.write(data)
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC):
        _, _, err = run("-a", "-d", "0.2", "--no-live", "--libcuda", path)
        target = Target("longrun", "forever")
        target.wait("ready")
        tool = Tool("-a").ready()          # one user's file stops no tracing of others
        report = lib.settled(tool, target.pid)
    check(f"{path} cannot be probed (the kernel supports no probe at one of the functions)" in err, err)
    check(f"{path} cannot be probed" in tool.stderr(), tool.stderr())
    check(lib.process_of(report, target.pid), "the other program is not traced")


def no_nvml():
    """without NVML: everything else works, and it says so"""
    report = Tool("-a", "-d", "0.5", "--nvml", "off").report()
    equal(report["exit_status"], 0, "exit status")
    check("nvml" not in report["session"]["layers"], report["session"])
    check(report["session"]["why_no_nvml"], "no reason given")
    report = Tool("-a", "-d", "0.5", "--nvml", "/bin/true").report()
    check(report["session"]["why_no_nvml"], "no reason given")


def no_memory_for_the_ring():
    """a ring buffer that cannot be mapped: a sentence, with a command, too"""
    prefix = ("/bin/sh", "-c", 'ulimit -v 300000 && exec "$@"', "sh")
    says(["-a", "-d", "1", "--ring-size", "256M"], 4, "ring", "--ring-size", prefix=prefix)
    says(["--ring-size", "256M", "--", "true"], 125, "ring", "--ring-size", prefix=prefix)


def full_from_the_start():
    """a recording that cannot be written at all: the report says since when, and --strict holds for a command, too"""
    for options, command, wanted in (((), "true", 0), (("--strict",), "true", 5), (("--strict",), "exit 3", 3)):
        path = os.path.join(lib.folder(), "x.gmt")
        prefix = ("/bin/sh", "-c", "trap '' XFSZ; exec prlimit --fsize=100 \"$@\"", "sh")
        status, out, err = run(*options, "-q", "--no-live", "-o", path, "--", "/bin/sh", "-c", command, prefix=prefix)
        equal(status, wanted, f"{options} {command}: exit status ({err})")
        check(f"the recording {path} is incomplete" in out + err and "from +0.0" in out + err, out + err)


if __name__ == "__main__":
    lib.main(no_such_pid, a_zombie, a_thread, a_kernel_thread, not_cuda, exits_during_attach, no_root,
             root_without_capabilities, no_uprobes, no_btf,
             usage, unwritable, foreign_library, unsupported_code, no_nvml,
             no_memory_for_the_ring, full_from_the_start)
