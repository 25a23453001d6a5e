#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# alone: a return probe of another test in the same library changes how an untraced program ends
"""A traced program does what it does untraced, also if its callbacks throw or its threads are cancelled; and what a
return probe cannot let pass ends as the manual page says."""
import os
import shutil
import signal

import lib
from lib import Process, Tool, check, equal

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "throws.cc")


def program():
    path = os.path.join(lib.folder(), "throws")
    if not shutil.which("g++"):
        raise lib.Skip("there is no g++")
    built = lib.run(["g++", "-O1", "-o", path, SOURCE, "-L" + os.path.dirname(lib.LIB), "-l:libcuda.so.1", "-pthread"])
    if built.returncode:
        raise lib.Skip("no C++ compiler: " + built.stderr[-200:])
    return path


def ends(path, case):
    """(exit status, output)"""
    return Process([path, case], env=lib.environment()).finish()


def both(case):
    """Ends untraced and traced."""
    path = program()
    untraced = ends(path, case)
    tool = Tool("-a").ready()
    traced = ends(path, case)
    tool.stop()
    return untraced, traced


def same(case):
    untraced, traced = both(case)
    equal(untraced[0], 0, "exit status")
    check(untraced[1], "it says nothing")
    equal(traced, untraced, "what the traced program does")


def allocator():
    """an exception after a call: PyTorch's pluggable allocators"""
    same("allocator")


def destructor():
    """an exception from a user object's destructor, which the driver runs inside cuGraphExecDestroy"""
    same("destructor")


def cancelled():
    """a thread that is cancelled between calls, or in such a destructor"""
    same("cancel")
    same("cancel-destructor")


def log():
    """an exception from a callback inside a call with a return probe ends the program"""
    untraced, traced = both("log")
    check("caught" in untraced[1], untraced)
    equal(traced, (-signal.SIGABRT, ""), "what the traced program does")


def cancelled_inside():
    """a thread that is cancelled inside such a call ends without the destructors of its callers"""
    untraced, traced = both("cancel-call")
    equal(untraced, (0, "destroyed: callback\ndestroyed: thread\ncancelled: 1\n"), "the untraced program")
    equal(traced, (0, "destroyed: callback\ncancelled: 1\n"), "the traced program")


if __name__ == "__main__":
    lib.main(allocator, destructor, cancelled, log, cancelled_inside)
