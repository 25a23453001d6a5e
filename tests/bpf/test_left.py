#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Calls that are left without a return hide no other call, and are counted; calls made in the middle of a call count as
their own.

Losses are counted for a session as a whole. A tracer of all processes, in another test, would count the calls that are
left here as its own losses. So the workload loads a libcuda that no other tracer knows, under a link with the usual
name: the kernel shows the file behind the link."""
import os

import lib
from lib import compare, equal


def hidden_libcuda():
    """(the file, the link)"""
    path = lib.unknown_copy(lib.LIB)
    link = os.path.join(lib.folder(), os.path.basename(lib.LIB))
    os.symlink(path, link)
    return path, link


def left(case, unseen):
    """The workload's own books are the tracer's, and so many calls were left."""
    path, link = hidden_libcuda()
    tool = lib.Tool("-a", "--libcuda", path).ready()
    target = lib.Target("left", case, hold="end", lib=link)
    target.wait("end")
    report = lib.settled(tool, target.pid)
    target.go()
    compare(report, target.pid, target.books(), clean=False)
    equal({k: v for k, v in report["losses"].items() if v}, {"return_unseen": unseen} if unseen else {}, "losses")
    anomalies = lib.process_of(report, target.pid)["anomalies"]
    equal({k: v for k, v in anomalies.items() if v}, {}, "anomalies")


def jump():
    """longjmp: calls deeper on the stack are seen, also where nothing has overwritten the call's return address"""
    left("jump", 1)


def many():
    """more calls are left than the tracer can keep"""
    left("many", 20)


def handler():
    """signal handlers on a stack of their own that make calls, return or jump"""
    left("signal", 10)


def callback():
    """callbacks that make calls inside a call"""
    left("callback", 0)


def fiber():
    """stacks that the program itself switches"""
    left("fiber", 0)


def thread():
    """threads that end inside a call"""
    left("thread", 10)


if __name__ == "__main__":
    lib.main(jump, many, handler, callback, fiber, thread)
