#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Root writes into a directory of somebody else, who has put links and pipes at the names of the outputs and of the
cache: no other file is written to, nothing waits, and what is written is for root alone."""
import os
import stat

import lib
from lib import check, equal

USER = 1000
SECRET = b"not to be written to\n"
OUTPUTS = ("-o", "run.gmt"), ("--folded", "run.folded"), ("--snapshot", "run.pickle")
# How a user puts something at a path.
PLANTS = {
    "a link to root's file": lambda path, victim: os.symlink(victim, path),
    "a dangling link": lambda path, victim: os.symlink(victim + ".new", path),
    "a second name of root's file": lambda path, victim: os.link(victim, path),
    "a pipe": lambda path, victim: os.mkfifo(path),
    "a file that the user reads": lambda path, victim: open(path, "wb").close(),
}


def places():
    """(root's file, a directory of the user)"""
    own, foreign = lib.folder(), lib.folder()
    victim = os.path.join(own, "victim")
    with open(victim, "wb") as file:
        file.write(SECRET)
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


def outputs():
    """recordings, flame graphs, snapshots: a new file of root's, or a sentence"""
    written = 0
    for option, name in OUTPUTS:
        for what, how in PLANTS.items():
            victim, foreign = places()
            path = os.path.join(foreign, name)
            plant(how, path, victim)
            done = run(option, path, "--oom-dir", "off")
            with open(victim, "rb") as file:
                check(file.read() == SECRET, f"{option} over {what}: root's file was written to")
            check(not os.path.exists(victim + ".new"), f"{option} over {what}: a file behind the link")
            if is_private(path):
                written += 1
            else:
                check(path in done.stderr, f"{option} over {what}: neither a file nor a sentence:", done.stderr)
            equal([n for n in os.listdir(foreign) if n.endswith(".tmp")], [], "files left behind")
    check(written, "nothing was written anywhere")


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
    check(names or not lib.FULL_STACKS, "no table is kept in root's own directory")
    check(all(is_private(os.path.join(own, n)) for n in names), "a table is not for root alone")


if __name__ == "__main__":
    lib.main(outputs, cache)
