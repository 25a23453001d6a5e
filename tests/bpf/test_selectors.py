#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Targets by what people know of them: -p takes names, and asks on a terminal; groups of processes (a cgroup, a
container, a pod, a unit, a Slurm job) are traced with those that join later."""
import contextlib
import datetime
import json
import os
import pty
import re
import select
import shutil
import time

import lib
from lib import PATIENCE, Skip, Target, Tool, check, equal, process_of, until

NAME = f"job{os.getpid()}"          # of no other process
ID = "3f2a9c1b77d0aa11bb22cc33dd44ee55" + "%032x" % os.getpid()
UID = "0b1c2d3e-1111-4222-8333-%012x" % os.getpid()
# A process without CUDA that becomes one with CUDA when it is told to.
LATER = ("/bin/sh", "-c", 'read line; exec "$@"', "sh")


def pids(report):
    return {p["pid"] for p in report["processes"]}


def program(name=NAME):
    """A workload under a name of its own."""
    path = os.path.join(lib.folder(), name)
    shutil.copy(lib.workload("longrun"), path)
    return path


def running(path, **options):
    target = Target(path, "forever", **options)
    target.wait("ready")
    return target


def idle(name, *arguments):
    """A process without CUDA that has the name."""
    process = lib.Process([f"/somewhere/{name}", "-", *arguments], executable="/bin/cat")
    check(until(lambda: name.encode() in open(f"/proc/{process.pid}/cmdline", "rb").read()), "no command line")
    return process


# ---- names ----

def one_name():
    """-p NAME traces the process of this name; of several the one that has libcuda mapped"""
    target, other = running(program()), running(program("other" + NAME))
    idle(NAME)
    report = Tool("-p", NAME).ready().stop()
    equal(pids(report), {target.pid}, "processes")
    report = Tool("-p", f"*{NAME[2:]}", "-p", str(target.pid), "-p", "other*" + NAME[3:]).finish()
    equal(report[0], 2, "exit status of a pattern that fits both")
    report = Tool("-p", NAME, "-p", str(other.pid)).ready().stop()
    equal(pids(report), {target.pid, other.pid}, "processes by name and pid")


def refused_names():
    """a name of no process ends with 3, a name of several without a terminal with 2; the list shows what differs, the option takes them all"""
    tool = Tool("-p", "no" + NAME)
    equal(tool.finish()[0], 3, "exit status without a process")
    check(len(tool.err) == 1 and f"no process has the name 'no{NAME}'" in tool.err[0], tool.stderr())
    processes = [idle(NAME, f"/{'long/' * 60}{number}") for number in range(12)]
    tool = Tool("-p", NAME)
    equal(tool.finish()[0], 2, "exit status with twelve processes")
    check("the name of 12 processes" in tool.err[0] and "and 2 more" in tool.err[-2], tool.stderr())
    shown = [line.split() for line in tool.err if line.split()[1].isdigit()]
    equal([int(line[1]) for line in shown], sorted(p.pid for p in processes)[:10], "candidates, one a line")
    equal({line[-1].rpartition("/")[2].rpartition("...")[2] for line in shown} - {str(n) for n in range(12)}, set(), "what differs")
    equal(len({line[-1] for line in shown}), 10, "commands that differ: " + tool.stderr())
    option = tool.err[-1].partition("to trace all of them: gpumemtrace ")[2].split()
    equal(option, ["-p", ",".join(str(p.pid) for p in sorted(processes, key=lambda p: p.pid))], "the option")
    targets = [running(program()) for _ in range(2)]
    tool = Tool("-p", NAME)
    equal(tool.finish()[0], 2, "exit status with two CUDA processes of fourteen")
    check("12 more processes have the name and have not loaded libcuda" in tool.stderr(), tool.stderr())
    option = tool.err[-1].partition("to trace all of them: gpumemtrace ")[2].split()
    equal(pids(Tool(*option).ready().stop()), {target.pid for target in targets}, "processes of " + " ".join(option))


class Asked:
    """gpumemtrace on a terminal."""

    def __init__(self, *arguments):
        argv = [lib.TOOL, "--driver-root", lib.ROOT, "--oom-dir", "off", "--no-live", "-d", "0.5", *arguments]
        self.text = ""
        self.pid, self.terminal = pty.fork()
        if not self.pid:
            os.execve(argv[0], argv, lib.environment())

    def read(self):
        """More text; False at the end."""
        if not select.select([self.terminal], [], [], PATIENCE)[0]:
            raise lib.Failure(f"the terminal is silent after {self.text!r}")
        with contextlib.suppress(OSError):      # the end of a terminal
            got = os.read(self.terminal, 65536).decode(errors="replace")
            self.text += got
            return bool(got)
        return False

    def answer(self, answer):
        while "Which of them?" not in self.text.rpartition("\n")[2]:
            check(self.read(), "no question:", self.text)
        os.write(self.terminal, answer.encode() + b"\n")
        self.read()

    def status(self):
        while self.read():
            pass
        os.close(self.terminal)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def chooser():
    """on a terminal -p NAME asks which of several processes are meant"""
    path = program()
    first, second = sorted((running(path), running(path)), key=lambda target: target.pid)
    for answers, status, chosen in ((["x", "2"], 0, [second]), (["1,2"], 0, [first, second]), (["a"], 0, [first, second]),
                                    ([""], 2, []), (["0", "3", "-"], 2, [])):
        asked = Asked("-p", NAME)
        for answer in answers:
            asked.answer(answer)
        equal(asked.status(), status, f"exit status after {answers}: {asked.text}")
        for target in first, second:
            # A process that is not traced is named as a neighbour.
            traced = re.sub(r"OTHERS .*? are used by processes that are not traced.*?traces all", "", asked.text, flags=re.S)
            equal(f"pid {target.pid}" in traced, target in chosen, f"{target.pid} is traced after {answers}: {asked.text}")
        equal(asked.text.count("neither a number"), max(len(answers) - 1, 0), "questions asked again " + asked.text)


# ---- groups ----

def cgroup_mount():
    """Where cgroups of version 2 are, or of systemd's hierarchy of version 1."""
    with open("/proc/self/mounts", encoding="utf-8", errors="replace") as file:
        mounts = [line.split() for line in file]
    found = [m[1] for m in mounts if m[2] == "cgroup2"] + [m[1] for m in mounts if m[2] == "cgroup" and "name=" in m[3]]
    if not found:
        raise Skip("no hierarchy of cgroups is mounted")
    return found[0]


@contextlib.contextmanager
def cgroup(path):
    """A cgroup, and a function for preexec_fn that puts a process into it."""
    mount = cgroup_mount()
    full = os.path.join(mount, path)
    try:
        os.makedirs(full)
    except OSError as error:
        raise Skip(f"no cgroup can be made in {mount}: {error}") from None

    def enter(pid=0):
        with open(os.path.join(full, "cgroup.procs"), "w", encoding="ascii") as file:
            file.write(str(pid))
    try:
        yield enter
    finally:
        lib.Process.end_all()
        for _ in path.split("/"):
            until(lambda: remove(full))
            full = os.path.dirname(full)


def remove(path):
    with contextlib.suppress(OSError):          # a process is ending
        os.rmdir(path)
    return not os.path.exists(path)


def seen(tool, pid):
    tool.wait_line(lambda: any(p["pid"] == pid for view in tool.views()[-1:] for p in view["processes"]), f"process {pid}")


def members():
    """--cgroup traces what is in a cgroup and below, what joins it later, and nothing else; it ends when the group is empty"""
    with cgroup(f"gmt-{NAME}/below") as enter:
        outside = running(lib.workload("longrun"))
        early = running(lib.workload("longrun"), preexec_fn=enter)
        waits = Target(*LATER, lib.workload("longrun"), "forever", preexec_fn=enter)
        tool = Tool("--cgroup", f"/gmt-{NAME}").ready()
        seen(tool, early.pid)
        waits.line()                            # it was there, without CUDA
        seen(tool, waits.pid)
        late = Target("basic", hold="start", preexec_fn=enter)      # neither it nor its parent was there
        late.wait("start")
        seen(tool, late.pid)
        late.go()
        books = late.books()
        for target in early, waits:
            target.popen.kill()
        report = tool.report()
        equal(report["exit_status"], 0, "exit status")
        equal(report["end_reason"], "targets_gone", "end reason")
        equal(pids(report), {early.pid, waits.pid, late.pid}, "processes")
        lib.compare(report, late.pid, books, skip=("live", "physical"))
        check(process_of(report, waits.pid)["from_start"], "the one that waited was not seen from its start")
        check(outside.popen.poll() is None, "the one outside has ended")


def take_pid(pid, start):
    """Starts a process that gets this pid, which is free."""
    def started():
        with open("/proc/sys/kernel/ns_last_pid", "w", encoding="ascii") as file:
            file.write(str(pid - 1))
        target = start()
        if target.pid == pid:
            return target
        target.popen.kill()
        target.popen.wait()
        return None
    target = until(started)
    check(target, f"no process got the pid {pid}")
    return target


def reused_pid():
    """a process that gets the pid of a member between the look and the attach is not traced"""
    shim, now = os.path.join(lib.BUILD, "tests/faults/swap_pid.so"), os.path.join(lib.folder(), "now")
    if not os.path.exists(shim):
        raise Skip("built with a sanitizer: nothing can be preloaded")
    with cgroup(f"gmt-{NAME}") as enter:
        stays, member = (Target(*LATER, lib.workload("longrun"), "forever", preexec_fn=enter) for _ in range(2))
        pid = member.pid
        tool = Tool("--cgroup", f"/gmt-{NAME}", env={"LD_PRELOAD": shim, "SWAP_PID": str(pid), "SWAP_NOW": now})
        check(until(lambda: os.path.exists(now)), "the member was not held", tool.stderr())
        member.popen.kill()
        member.popen.wait()
        other = take_pid(pid, lambda: Target(lib.workload("longrun"), "forever"))
        other.wait("ready")
        os.remove(now)
        tool.ready()
        stays.line()
        seen(tool, stays.pid)
        equal(pids(tool.stop()), {stays.pid}, f"processes; {pid} is another one's pid now")


def kinds():
    """a container, a pod and a unit are found by their cgroups, a Slurm job by its environment; JSON says what they are"""
    path = f"gmt-{NAME}.slice/kubepods/pod{UID}/crio-{ID}"
    with cgroup(path) as enter:
        target = running(lib.workload("longrun"), preexec_fn=enter)
        for arguments in ("--container", ID[:20]), ("--container", ID), ("--pod", UID), ("--unit", f"gmt-{NAME}.slice"), \
                ("--cgroup", os.path.join(cgroup_mount(), path)):
            report = Tool(*arguments).ready().stop()
            equal(pids(report), {target.pid}, f"processes of {arguments}")
            process = process_of(report, target.pid)
            equal((process["pod_uid"], process["unit"]), (UID, f"gmt-{NAME}.slice"), "pod and unit")
            equal(process["container"]["runtime"], "cri-o", "runtime")
            check(ID.startswith(process["container"]["id"]), "another container", process["container"])
    job = running(lib.workload("longrun"), env={"SLURM_JOB_ID": str(os.getpid()), "SLURM_STEP_ID": "3"})
    for text in str(os.getpid()), f"{os.getpid()}.3":
        equal(pids(Tool("--slurm-job", text).ready().stop()), {job.pid}, "processes of job " + text)


def idle_groups():
    """a group without CUDA: a sentence at once; a process of the group that loads libcuda is traced"""
    with cgroup(f"gmt-{NAME}") as enter:
        waits = Target(*LATER, lib.workload("longrun"), "forever", preexec_fn=enter)
        tool = Tool("--cgroup", f"/gmt-{NAME}").ready()
        tool.wait_line(lambda: "no process that was chosen has loaded libcuda yet" in tool.stderr(), "the sentence that it waits")
        waits.line()
        seen(tool, waits.pid)
        tool.stop()
        tool = Tool("--cgroup", f"/gmt-{NAME}").ready()
        seen(tool, waits.pid)
        tool.stop()
        check("has loaded libcuda yet" not in tool.stderr(), "the sentence though there is CUDA:", tool.stderr())


def empty_groups():
    """a group without a process ends with 3 and one sentence"""
    for arguments, words in ((("--container", ID), f"container '{ID}'"), (("--unit", NAME), f"unit '{NAME}'"),
                             (("--pod", f"default/{NAME}"), f"pod 'default/{NAME}'"), (("--cgroup", "/" + NAME), "cgroup"),
                             (("--slurm-job", "4294967295.7"), "Slurm job '4294967295.7'")):
        tool = Tool(*arguments)
        equal(tool.finish()[0], 3, f"exit status of {arguments}")
        check(len(tool.err) == 1 and words in tool.err[0], f"one sentence with {words}:", tool.stderr())


# ---- gpumemtrace ps ----

def listed():
    """ps lists the processes that have libcuda mapped, with user, GPU memory and place, as text and as JSON"""
    target, other = running(program()), idle(NAME)
    done = lib.run([lib.TOOL, "ps", "--json", "--driver-root", lib.ROOT])
    equal(done.returncode, 0, "exit status " + done.stderr)
    value = json.loads(done.stdout)
    check_schema(value)
    made = datetime.datetime.strptime(value["made_at"], "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=datetime.timezone.utc)
    check(abs(time.time() - made.timestamp()) < PATIENCE, "made_at", value["made_at"])
    process = process_of(value, target.pid)
    check(other.pid not in pids(value), "a process without libcuda is listed")
    with open("/proc/self/cgroup", encoding="utf-8") as file:
        check(any(line.rstrip("\n").endswith(":" + process["cgroup"]) for line in file), "cgroup", process["cgroup"])
    equal((process["uid"], process["user"], process["comm"]), (0, "root", NAME), "facts")
    check(len(process["gpus"]) == 1 and process["gpus"][0]["used_bytes"] > lib.MIB, "GPU memory", process["gpus"])
    lines = lib.run([lib.TOOL, "ps", "--driver-root", lib.ROOT]).stdout.splitlines()
    line = [line for line in lines if line.split()[0] == str(target.pid)]
    check(len(line) == 1 and "root" in line[0] and " MiB" in line[0] and NAME + " forever" in line[0], "lines", lines)
    value = json.loads(lib.run([lib.TOOL, "ps", "--json", "--nvml", "off"]).stdout)
    equal((process_of(value, target.pid)["gpus"], value["why_no_gpus"]), (None, "switched off"), "without NVML")
    check_schema(value)


def tracers():
    """other tracers, into which NVML loads libcuda, are not listed, not chosen by a name, and not shown by -a or a group"""
    def tracing(pid, **more):
        return Tool("-p", str(pid), env={"LD_PRELOAD": lib.LIB}, binary=link, **more).ready()
    link = os.path.join(lib.folder(), "tracer" + NAME)
    os.symlink(lib.TOOL, link)
    target = running(program())
    tracer = tracing(target.pid)
    for options in ("--driver-root", lib.ROOT), ("--nvml", "off"):
        found = pids(json.loads(lib.run([lib.TOOL, "ps", "--json", *options]).stdout))
        check(target.pid in found and tracer.pid not in found, f"ps {options} lists {found}, not {target.pid} alone")
    equal(pids(Tool("-p", f"*{NAME}").ready().stop()), {target.pid}, "chosen by a name")
    tool = Tool("-p", "tracer" + NAME)
    equal(tool.finish()[0], 2, "exit status with a name that only the tracer and its helpers have")
    check("is the name of" in tool.err[0], tool.stderr())
    found = pids(Tool("-a").ready().stop())
    check(target.pid in found and tracer.pid not in found, f"-a shows {found}, not {target.pid} alone")
    with cgroup("gmt-" + NAME) as enter:
        member = running(lib.workload("longrun"), preexec_fn=enter)
        tracing(target.pid, preexec_fn=enter)
        equal(pids(Tool("--cgroup", f"/gmt-{NAME}").ready().stop()), {member.pid}, "shown by --cgroup")


def unread():
    """ps without privileges names processes that it could not inspect, and the remedy, as text and as JSON"""
    tool = os.path.join(lib.folder(), "gpumemtrace")
    shutil.copy(lib.TOOL, tool)
    os.chmod(os.path.dirname(tool), 0o755)
    prefix = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all")
    text = lib.run([*prefix, tool, "ps", "--nvml", "off"]).stdout
    check(re.search(r"^\d+ process(es)? could not be inspected: the mappings of pid \d+ \(.*run gpumemtrace ps as root$", text,
                    re.MULTILINE), "no pid, no reason or no remedy:", text)
    value = json.loads(lib.run([*prefix, tool, "ps", "--nvml", "off", "--json"]).stdout)
    check_schema(value)
    hidden = value["hidden_processes"]
    equal(len(hidden), min(value["hidden"], 8), "processes that are named")


def check_schema(value):
    try:
        import jsonschema
    except ImportError:
        return
    with open(os.path.join(lib.TOP, "user", "doc", "json-schema.json"), encoding="utf-8") as file:
        schema = {**json.load(file), "$ref": "#/$defs/cuda_processes"}
    errors = list(jsonschema.Draft202012Validator(schema).iter_errors(value))
    check(not errors, "the schema does not hold:", errors[:3])


if __name__ == "__main__":
    lib.main(one_name, refused_names, chooser, members, reused_pid, kinds, idle_groups, empty_groups, listed, tracers, unread)
