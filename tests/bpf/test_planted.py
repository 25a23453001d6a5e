#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Root writes into a directory of somebody else, who has put links and pipes at the names of the outputs, of dumps and
of the cache: no other file is written to, nothing waits, and what is written is for root alone."""
import os
import signal
import socket
import stat
import time

import lib
from lib import check, equal

USER = 1000
SECRET = b"not to be written to\n"
OUTPUTS = ("-o", "run.gmt"), ("--folded", "run.folded"), ("--snapshot", "run.pickle"), ("--html", "run.html")
# How a user puts something at a path.
PLANTS = {
    "a link to root's file": lambda path, victim: os.symlink(victim, path),
    "a dangling link": lambda path, victim: os.symlink(victim + ".new", path),
    "a second name of root's file": lambda path, victim: os.link(victim, path),
    "a pipe": lambda path, victim: os.mkfifo(path),
    "a file that the user reads": lambda path, victim: open(path, "wb").close(),
    "a directory": lambda path, victim: os.mkdir(path),
    "a socket": lambda path, victim: bind_socket(path),
}
KNOWN = os.path.join(lib.BUILD, "tests/faults/known_numbers.so")
KNOWN_TIME = 1770113772                 # 2026-02-03 10:16:12 UTC


def bind_socket(path):
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(path)


def places():
    """(root's file, a directory of the user)"""
    own, foreign = lib.folder(), lib.folder()
    victim = os.path.join(own, "victim")
    with open(victim, "wb") as file:
        file.write(SECRET)
    os.chmod(victim, 0o644)
    os.chown(foreign, USER, USER)
    return victim, foreign


def plant(how, path, victim):
    """The user makes it: only a second name of root's file stays root's."""
    how(path, victim)
    if os.path.islink(path) or not os.path.samefile(path, victim):
        os.lchown(path, USER, USER)


def run(*words, **env):
    done = lib.run(["timeout", "60", lib.TOOL, "--driver-root", lib.ROOT, "-q", "--no-live", *words, "--",
                    lib.workload("basic")], env=lib.environment(**env))
    check(done.returncode != 124, "it waited", done.stderr)
    return done


def is_private(path):
    info = os.lstat(path)
    return (stat.S_ISREG(info.st_mode), stat.S_IMODE(info.st_mode), info.st_uid, info.st_nlink) == (True, 0o600, 0, 1)


def untouched(victim, where):
    with open(victim, "rb") as file:
        check(file.read() == SECRET, f"{where}: root's file was written to")
    info = os.lstat(victim)
    equal((stat.S_IMODE(info.st_mode), info.st_uid), (0o644, 0), f"{where}: mode and owner of root's file")
    check(not os.path.exists(victim + ".new"), f"{where}: a file behind the link")


def outputs():
    """recordings, flame graphs, snapshots: a new file of root's, or a sentence"""
    written = 0
    for option, name in OUTPUTS:
        for what, how in PLANTS.items():
            victim, foreign = places()
            path = os.path.join(foreign, name)
            plant(how, path, victim)
            done = run(option, path, "--oom-dir", "off")
            untouched(victim, f"{option} over {what}")
            if is_private(path):
                written += 1
            else:
                check(path in done.stderr, f"{option} over {what}: neither a file nor a sentence:", done.stderr)
            equal([n for n in os.listdir(foreign) if n.endswith(".tmp")], [], "files left behind")
    check(written, "nothing was written anywhere")


def dump_name(what):
    """What is the process and the number of a dump, or the number alone for a dump on SIGUSR1."""
    kind = "oom" if "-" in what else "dump"
    return f"gpumemtrace-{kind}-{time.strftime('%Y%m%d-%H%M%S', time.gmtime(KNOWN_TIME))}-{what}-00000001.gmt"


def trace_dump(foreign, pid, is_asked, step):
    """Traces until a dump was written, or a sentence said why not."""
    tool = lib.Tool("-p", str(pid), dumps=foreign, env={"LD_PRELOAD": KNOWN, "KNOWN_TIME": str(KNOWN_TIME),
                                                         "KNOWN_STEP": str(step)}).ready()
    if is_asked:
        tool.send(signal.SIGUSR1)
    else:
        os.kill(pid, signal.SIGUSR1)                    # the workload goes on, and asks for too much
    tool.wait_line(lambda: any("gpumemtrace oom " in line or "cannot write" in line for line in tool.err), "a dump")
    tool.send(signal.SIGINT)                            # or it ends with its target
    tool.finish()
    return tool.stderr()


def one_dump(what, how, place, is_asked):
    """place: "" where the dump itself is to be, a number where the file beside the dump is, "all" at all such numbers."""
    victim, foreign = places()
    target = lib.Target("oom_cases", "caught", hold="start")
    target.wait("start")
    path = os.path.join(foreign, dump_name("1" if is_asked else f"{target.pid}-1"))
    planted = path if place == "" else f"{path}.{1 if place == 'all' else place:08x}.tmp"
    plant(how, planted, victim)
    before = os.lstat(planted)
    said = trace_dump(foreign, target.pid, is_asked, 0 if place == "all" else 1)
    where = f"{what} at {os.path.basename(planted)}"
    untouched(victim, where)
    written = os.path.lexists(path) and is_private(path)
    check(written or "cannot write" in said and path in said, f"{where}: neither a dump nor a sentence:", said)
    equal(said.count("cannot write"), 0 if written else 1, f"{where}: sentences: {said}")
    if place != "":
        equal(os.lstat(planted)[:3], before[:3], f"{where}: what was planted")
    check(written == (place != "all" and not (place == "" and stat.S_ISDIR(before.st_mode))), f"{where}:", said)
    left = {name for name in os.listdir(foreign) if name.endswith(".tmp")} - {os.path.basename(planted)}
    equal(left, set(), f"{where}: files left behind")
    target.popen.kill()


def dumps():
    """dumps of failed requests and on SIGUSR1, by names that the user knows: a new file of root's, or a sentence"""
    if not os.path.exists(KNOWN):
        raise lib.Skip("known_numbers.so has not been built")
    for what, how in PLANTS.items():
        for place in "", 2, "all":
            one_dump(what, how, place, is_asked=True)
    for what in "a link to root's file", "a second name of root's file", "a pipe", "a directory":
        one_dump(what, PLANTS[what], "", is_asked=False)


def tables(folder):
    """The names in a folder that was given as the cache, once the tables of a process were made."""
    target = lib.Target("basic", hold="end")
    target.wait("end")
    tool = lib.Tool("-p", str(target.pid), env={"GPUMEMTRACE_CACHE": folder}).ready()
    tool.idle()
    tool.stop()
    target.go()
    equal(target.finish()[0], 0, "exit status")
    return os.listdir(folder)


def cache():
    """the cache: not in a directory of somebody else, not behind a link, not in one that others can write to"""
    victim, foreign = places()
    own = os.path.join(os.path.dirname(victim), "own")
    os.mkdir(own, 0o700)
    link = os.path.join(os.path.dirname(victim), "link")
    os.symlink(own, link)
    equal(tables(foreign), [], "tables in the user's directory")
    equal(tables(link), [], "tables behind a link")
    os.chmod(own, 0o770)
    equal(tables(own), [], "tables in a directory that others can write to")
    os.chmod(own, 0o700)
    names = tables(own)
    check(names, "no table is kept in root's own directory")
    check(all(is_private(os.path.join(own, n)) for n in names), "a table is not for root alone")
    for number, name in enumerate(sorted(names)):
        path = os.path.join(own, name)
        os.unlink(path)
        list(PLANTS.values())[number % len(PLANTS)](path, victim)
    for name in tables(own):
        path = os.path.join(own, name)
        check(is_private(path) or stat.S_ISDIR(os.lstat(path).st_mode), "still there, instead of a table:", path)
    untouched(victim, "tables over what was planted")


if __name__ == "__main__":
    lib.main(outputs, dumps, cache)
