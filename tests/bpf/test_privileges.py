#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""gpumemtrace keeps only the privileges that tracing needs, and a user who is not root can trace with them; with less
it says what is lost."""
import json
import os
import shutil
import signal

import lib
from lib import Process, Skip, Target, Tool, check, equal, process_of

NUMBERS = {"dac_override": 1, "dac_read_search": 2, "fowner": 3, "kill": 5, "setgid": 6, "setuid": 7, "setpcap": 8,
           "sys_ptrace": 19, "sys_admin": 21, "perfmon": 38, "bpf": 39, "checkpoint_restore": 40}
LEAST = ("bpf", "perfmon", "sys_ptrace", "checkpoint_restore", "dac_read_search")
USER = 1000             # has no name on some machines, and needs none


def mask(names):
    return sum(1 << NUMBERS[name] for name in names)


def threads(pid):
    """Of each thread, what its status says."""
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/status", encoding="ascii", errors="replace") as file:
            yield dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)


def has_now():
    return int(next(threads(os.getpid()))["CapEff"], 16)


def is_confined(tool, kept):
    seen = list(threads(tool.pid))
    check(len(seen) > 1, "one thread only")
    for status in seen:
        for name in "CapPrm", "CapEff", "CapBnd":
            equal(int(status[name], 16), mask(kept) & has_now(), f"{name} of {status['Name']}")
        for name in "CapInh", "CapAmb":
            equal(int(status[name], 16), 0, name)
        equal((status["NoNewPrivs"], status["Seccomp"]), ("1", "2"), f"no_new_privs, seccomp of {status['Name']}")


def own_folder():
    path = lib.folder()
    os.chmod(path, 0o755)
    return path


def least():
    """while it traces it has the least capabilities, no_new_privs and a filter, in every thread"""
    target = Target("longrun", "forever")
    target.wait("ready")
    tool = Tool("-p", str(target.pid), dumps=own_folder()).ready()
    tool.idle()
    is_confined(tool, LEAST)
    tool.stop()


def tracepoints_of(pid):
    """The names of the tracepoints that its BPF links are on; "" for links without a name (kernels before 6.9)."""
    found = []
    for fd in os.listdir(f"/proc/{pid}/fdinfo"):
        try:
            with open(f"/proc/{pid}/fdinfo/{fd}", encoding="ascii", errors="replace") as file:
                text = file.read()
        except FileNotFoundError:       # it was closed meanwhile
            continue
        if "link_type:\tperf\n" in text or "link_type:\traw_tracepoint\n" in text:
            found += [line.split("\t")[1] for line in text.splitlines() if line.startswith("tp_name:")] or [""]
    return found


def least_tracepoint():
    """without CAP_SYS_ADMIN, too, the ioctls come from their own tracepoint, not from that of all system calls"""
    found = {}
    for name, env in (("own", {}), ("all", {"GPUMEMTRACE_NO_TRACEPOINT": "1"})):
        tool = Tool("-a", dumps=own_folder(), env=env).ready()
        is_confined(tool, LEAST)
        found[name] = tracepoints_of(tool.pid)
        tool.stop()
    if "" in found["own"] or not has_now() & mask(("sys_admin",)):
        raise Skip("this kernel does not name its links, or the tracepoint's number cannot be read")
    check("sys_exit_ioctl" in found["own"] and "sys_exit" not in found["own"], found)
    check("sys_exit" in found["all"] and "sys_exit_ioctl" not in found["all"], found)


def with_command():
    """with a command it can also signal a command that became another user"""
    command = ("setpriv", f"--reuid={USER}", "--clear-groups", "sleep", "1000")
    tool = Tool("--", *command, dumps=own_folder(), options=("--live",))
    tool.ready()
    tool.wait_line(lambda: any(l["comm"] == "sleep" for v in tool.views() for l in v["processes"]) or
                   any(is_sleep(pid) for pid in lib.descendants(tool.pid)), "the command")
    is_confined(tool, LEAST + ("kill",))
    tool.send(signal.SIGTERM)
    status, _ = tool.finish()
    equal(status, 128 + signal.SIGTERM, "the command's status " + tool.stderr())


def is_sleep(pid):
    try:
        with open(f"/proc/{pid}/comm", encoding="ascii") as file:
            return file.read() == "sleep\n"
    except (FileNotFoundError, ProcessLookupError):
        return False


def outputs_of_others():
    """it keeps what writing takes, if the files go to another user's directory"""
    path = lib.folder()
    os.chown(path, USER, USER)
    os.chmod(path, 0o700)
    target = Target("longrun", "forever")
    target.wait("ready")
    snapshot = os.path.join(path, "run.folded")
    tool = Tool("-p", str(target.pid), "--folded", snapshot, dumps=path).ready()
    tool.idle()
    is_confined(tool, LEAST + ("dac_override",))
    tool.send(signal.SIGUSR1)
    tool.wait_line(lambda: any(name.endswith(".gmt") for name in os.listdir(path)), "the dump")
    tool.stop()
    check(os.path.getsize(snapshot), "nothing was written")
    equal({os.stat(os.path.join(path, name)).st_mode & 0o777 for name in os.listdir(path)}, {0o600}, "modes")


# ---- a user who is not root ----

# What nobody but root can have: to mount tracefs, which tells a tracepoint's number, takes CAP_SYS_ADMIN.
UNNOTICED = "code that takes the place of other code"


def as_user(*names, uid=USER):
    """The prefix that runs a program as a user with these capabilities alone."""
    caps = ",".join(["-all"] + ["+" + name for name in names])
    return ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "--inh-caps", caps, "--ambient-caps", caps]


class UserTool(Tool):
    """gpumemtrace run by a user, with a cache that the user may write to."""

    def __init__(self, *arguments, names=LEAST, binary=None, root=lib.ROOT, env=None, **more):
        self.place = lib.folder()
        os.chown(self.place, USER, USER)
        os.chmod(lib.ROOT, 0o755)
        self.binary = binary or shutil.copy(lib.TOOL, lib.folder(dir="/tmp"))
        os.chmod(os.path.dirname(self.binary), 0o755)
        argv = as_user(*names) + [self.binary] + (["--driver-root", root] if root else [])
        argv += ["--oom-dir", "off", "--json", "--interval", "0.1", *arguments]
        Process.__init__(self, argv, env=lib.environment(GPUMEMTRACE_STANDIN_ROOT=lib.ROOT, HOME=self.place, **(env or {})),
                         **more)
        self.read, self.parsed = 0, []


def needs_capabilities(names):
    if has_now() & mask(names) != mask(names):
        raise Skip("this place does not have the capabilities")


def plain_user():
    """a user with the five capabilities traces root's processes as root does, early and late"""
    needs_capabilities(LEAST)
    early = Target("longrun", "forever")
    early.wait("ready")
    tool = UserTool("-a").ready()
    traces_both(tool, early)
    check(not any("CAP_" in line or "cannot" in line for line in tool.err if UNNOTICED not in line), tool.stderr())


def traces_both(tool, early, skip=()):
    """The tool of a confined user sees a process that comes now, and the one that ran before."""
    is_confined_user(tool)
    late = Target("basic", hold="end")
    late.wait("end")
    report = lib.settled(tool, late.pid)
    late.go()
    lib.compare(report, late.pid, late.books(), clean=False, skip=skip)
    check(process_of(report, early.pid)["gpus"], "nothing of the process that ran already")


def is_confined_user(tool):
    for status in threads(tool.pid):
        equal(int(status["CapEff"], 16), mask(LEAST), "CapEff of " + status["Name"])
        equal((status["NoNewPrivs"], status["Seccomp"]), ("1", "2"), "no_new_privs, seccomp of " + status["Name"])


def with_less():
    """without one of them it traces, and names what is lost and the remedy: said, recorded, in doctor"""
    needs_capabilities(LEAST)
    for missing in [("sys_ptrace",), ("checkpoint_restore",), ("dac_read_search",), LEAST[2:]]:
        names = [n for n in LEAST if n not in missing]
        tool = UserTool("-a", names=names).ready()
        late = Target("basic", hold="end")
        late.wait("end")
        report = lib.settled(tool, late.pid)
        late.go()
        equal(report["exit_status"], 0, "exit status")
        wanted = [f"CAP_{name.upper()}" for name in missing]
        limits = [limit for limit in report["limits"] if UNNOTICED not in limit["what"]]
        equal([limit["why"].split()[-1] for limit in limits], wanted, "limits")
        check(all(name in limit["remedy"] for name, limit in zip(wanted, limits)), limits)
        check(all(any(name in line for line in tool.err) for name in wanted), tool.stderr())
        unread = any("could not be read for lack of privileges" in note for note in report["notes"])
        equal(unread, "sys_ptrace" in missing, f"note about unread code {report['notes']}")
        if "sys_ptrace" in missing:
            check(any("cannot be opened" in line or "could not be read" in line for line in tool.err), tool.stderr())
        doctor = lib.run(as_user(*names) + [tool.binary, "doctor", "--json"])
        found = [f for f in json.loads(doctor.stdout)["features"] if f["name"] == "privileges"][0]
        check(found["state"] == "warn" and all(n in found["detail"] and n in found["remedy"] for n in wanted), found)


def without():
    """without CAP_BPF or CAP_PERFMON nothing can be traced: one sentence, exit status 4"""
    for missing in "bpf", "perfmon":
        tool = UserTool("-a", names=[n for n in LEAST if n != missing])
        status, _ = tool.finish()
        equal(status, 4, "exit status")
        check(len(tool.err) == 1 and "CAP_BPF" in tool.err[0] and "sudo" in tool.err[0], tool.stderr())


def one_by_one():
    """without uprobe_multi (before Linux 6.6) a probe takes CAP_SYS_ADMIN: root keeps it, and a user needs it"""
    env = {"GPUMEMTRACE_NO_UPROBE_MULTI": "1"}
    target = Target("longrun", "forever")
    target.wait("ready")
    tool = Tool("-p", str(target.pid), dumps=own_folder(), env=env).ready()
    is_confined(tool, LEAST + ("sys_admin",))
    tool.idle()
    check(process_of(tool.stop(), target.pid)["gpus"], "nothing was traced")
    user = UserTool("-a", env=env)
    equal(user.finish()[0], 4, "exit status")
    check(len(user.err) == 1 and "CAP_SYS_ADMIN" in user.err[0], user.stderr())


def with_capabilities():
    """A copy of the program, with capabilities on its file."""
    needs_capabilities(LEAST)
    place = lib.folder(dir="/var/tmp")
    os.chmod(place, 0o755)
    binary = shutil.copy(lib.TOOL, place)
    if not shutil.which("setcap"):
        raise Skip("there is no setcap")
    done = lib.run(["setcap", ",".join("cap_" + n for n in LEAST) + "+ep", binary])
    if done.returncode:
        raise Skip(done.stderr.strip())
    return binary


def file_capabilities():
    """capabilities on the file are as good as an ambient set; what the environment says is ignored then"""
    binary = with_capabilities()
    early = Target("longrun", "forever")
    early.wait("ready")
    # without a driver's root there is no kernel layer here; one probe at a time would take CAP_SYS_ADMIN
    tool = UserTool("-a", names=(), binary=binary, root=None, env={"GPUMEMTRACE_NO_UPROBE_MULTI": "1"}).ready()
    traces_both(tool, early, skip=("physical",))


def chosen_code():
    """with capabilities on the file, a user cannot choose the code that is loaded: one sentence, exit status 4"""
    binary = with_capabilities()
    for arguments in ("-a", "--driver-root", "/"), ("-a", "--nvml", "/x.so"), ("doctor", "--driver-root", "/"):
        done = lib.run(as_user() + [binary, *arguments])
        equal((done.returncode, done.stdout), (4, ""), f"{arguments}")
        check(done.stderr.count("\n") == 1 and arguments[-2] in done.stderr and "use sudo" in done.stderr, done.stderr)
    done = lib.run(as_user() + [binary, "--nvml", "/x.so", "--", "echo", "started"])
    equal((done.returncode, done.stdout), (125, ""), "with a command")
    equal(lib.run([binary, "doctor", "--nvml", "/x.so"]).stderr, "", "as root, who may choose")
    equal(lib.run(as_user() + [binary, "--nvml", "off", "--version"]).returncode, 0, "--nvml off")


def private_files():
    """with capabilities on the file, the files that a user names are read as the user"""
    binary = with_capabilities()
    secret = os.path.join(lib.folder(), "secret")
    with open(secret, "w", encoding="ascii") as file:
        file.write("x" * 100)
    for arguments in ("replay", secret), ("records", secret), ("oom", secret), ("-a", "--owners", secret):
        done = lib.run(as_user() + [binary, *arguments])
        check(done.returncode == 1 and "Permission denied" in done.stderr, arguments, done.returncode, done.stderr)
        check("x" * 10 not in done.stderr + done.stdout, "it shows the secret")


if __name__ == "__main__":
    lib.main(least, least_tracepoint, with_command, outputs_of_others, plain_user, with_less, without, one_by_one, file_capabilities,
             chosen_code, private_files)
