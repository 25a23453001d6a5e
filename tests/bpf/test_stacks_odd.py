#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Stacks that are not as usual are right, or say what they lack: stacks of greenlets, of Python code
that takes the place of other code, of several interpreters in a
process, and of libraries that take the addresses of others."""
import json
import os
import sys

import lib
from lib import Skip, Target, Tool, check, equal

sys.path[1:1] = [os.path.join(lib.TOP, "tests"), os.path.join(lib.TOP, "tests/symbol")]
import pypilib  # noqa: E402
import stacklib  # noqa: E402
import test_python  # noqa: E402

PROGRAM = os.path.join(lib.TOP, "tests/bpf/odd_stacks.py")
ALWAYS = 4096           # odd_stacks.py's
INTERPRETERS = 7        # GMT_PY_END_INTERPRETERS


def pythons():
    """{version: program}"""
    found = {version: path for path, version in sorted(test_python.pythons().items())
             if (3, 8) <= version <= (3, 14)}
    check(found, "no CPython was found")
    return found


def traced(python, case, *arguments, env=None, waits=0):
    """What the program said of its allocations, and the recording. The program `waits` so often for the tool."""
    path = lib.folder() + "/run.gmt"
    program = Target(python, PROGRAM, lib.LIB, case, *arguments, env=env)
    program.wait_line(lambda: "ready\n" in program.out, "ready")
    tool = Tool("-p", str(program.pid), "-o", path, "--stack-depth", "1024").ready()
    tool.idle()
    program.line()
    for number in range(waits):
        program.wait_line(lambda: program.out.count("waits\n") > number, f"wait {number}")
        tool.more_views(1)
        tool.idle()
        program.line()
    program.wait_line(lambda: "done\n" in program.out, "done")
    tool.idle()
    tool.stop()
    program.line()
    equal(program.finish()[0], 0, "exit status " + program.stderr())
    return [json.loads(line) for line in program.out if line.startswith("{")], stacklib.Stacks(path)


def stacks_by_name(said, recording):
    """{name: (frames that the program said, stack)}"""
    by_size = {vals[1]: stack_id for _, stack_id, vals in recording.calls if len(vals) > 1}
    found = {line["name"]: (line["frames"], recording.stacks.get(by_size.get(line["size"]))) for line in said}
    lacking = [name for name, (_, stack) in found.items() if not stack or stack.frames is None]
    check(not lacking, "no stack of", lacking)
    return found


def python_frames(stack):
    return [[f.function, f.file, f.line] for f in stack.frames if f.is_python]


# ---- greenlets ----

def wrong_of_greenlets(said, recording):
    for name, (frames, stack) in stacks_by_name(said, recording).items():
        if not stack.is_complete:
            yield f"{name}: {stack.reason}"
        yield from filter(None, [test_python.difference(frames, python_frames(stack))])
        last = stack.frames[-1].function.split("(")[0]
        if not last.endswith("_start" if name.startswith("main") else "inner_bootstrap"):
            yield f"{name}: ends with {last}"
    again = {recording.stacks[stack_id].words for _, stack_id, vals in recording.calls
             if len(vals) > 1 and vals[1] == ALWAYS}
    if len(again) > 2:              # the loop of 3.13 makes its first call from another place in itself
        yield f"{len(again)} stacks of one line in 6 greenlets"


def greenlets():
    """a greenlet's stack ends where the greenlet begins, wherever it was started and goes on: each CPython that is found"""
    wrong, skipped = [], []
    for version, python in pythons().items():
        try:
            folder = pypilib.greenlet(lib.BUILD, "%d.%d" % version)
        except pypilib.Unavailable as why:
            skipped.append(why)
            continue
        found = traced(python, "greenlets", env={"PYTHONPATH": folder})
        wrong += ["%d.%d: %s" % (*version, line) for line in wrong_of_greenlets(*found)]
    check(not wrong, f"{len(wrong)} wrong\n" + "\n".join(wrong[:40]))
    if skipped:
        raise Skip(str(skipped[0]))


# ---- code objects ----

def wrong_of_reuse(said, recording):
    named = 0
    for name, (frames, stack) in stacks_by_name(said, recording).items():
        found = python_frames(stack)
        unnamed = [i for i, frame in enumerate(found) if not frame[0]]  # the code had gone before its name was read
        named += not unnamed
        frames = [found[i] if i in unnamed else frame for i, frame in enumerate(frames)]
        yield from (f"{name}: {line}" for line in filter(None, [test_python.difference(frames, found)]))
    if not named:
        yield "no stack has names"


def reuse():
    """code that takes the place of other code has its own name, if only the names differ: each CPython that is found"""
    wrong = []
    for version, python in pythons().items():
        wrong += ["%d.%d: %s" % (*version, line) for line in wrong_of_reuse(*traced(python, "reuse"))]
    check(not wrong, f"{len(wrong)} wrong\n" + "\n".join(wrong[:40]))


# ---- interpreters ----

def wrong_of_interpreters(said, recording, version):
    by_size = {vals[1]: stack_id for _, stack_id, vals in recording.calls if len(vals) > 1}
    for line in said:
        stack = recording.stacks[by_size[line["size"]]]
        names = line["names"] if "names" in line else [frame[0] for frame in line["frames"]]
        found = [frame.function.split(".")[-1] for frame in stack.frames if frame.is_python]
        # Without the GIL, up to 3.11, nothing tells which interpreter the thread runs.
        if version < (3, 12) and "released" in line["name"]:
            if found or stack.py_reason != INTERPRETERS:
                yield f"{line['name']}: has {found}, reason {stack.py_reason}"
        elif [name or names[i] for i, name in enumerate(found[:len(names)])] != names: # code that has gone has no name
            yield f"{line['name']}: has {found}, not {names}"


def interpreters():
    """with several interpreters Python frames are the right ones, or missing, and the stack says so"""
    wrong = []
    for version, python in pythons().items():
        found = traced(python, "interpreters")
        wrong += ["%d.%d: %s" % (*version, line) for line in wrong_of_interpreters(*found, version)]
    check(not wrong, f"{len(wrong)} wrong\n" + "\n".join(wrong[:40]))


# ---- libraries ----

TWINS = os.path.join(lib.BUILT, "usr/lib-twins")


def replaced():
    """a library that takes another one's addresses: a frame has the name of the right one, or none, and the stack says so"""
    said, recording = traced(sys.executable, "replaced", TWINS, waits=4)
    by_size = {vals[1]: stack_id for _, stack_id, vals in recording.calls if len(vals) > 1}
    names = {line["size"]: line["name"] for line in said if "name" in line}
    found = {}
    for line in (line for line in said if "library" in line):
        stack = recording.stacks[by_size[line["size"]]]
        inner = {f.function[6:] for f in stack.frames if f.function.startswith("inner_")}
        found[names[line["size"]]] = stack.is_complete
        check(inner <= {line["library"]}, names[line["size"]], "is named", inner)
        check(inner or not stack.is_complete, names[line["size"]], "has no name and is", stack.reason)
    if len({line["at"] for line in said if "library" in line}) > 1:
        raise Skip("the libraries have addresses of their own")
    equal(found["known"], True, "known long before")
    equal(len(found), 5, "allocations")


if __name__ == "__main__":
    lib.main(greenlets, reuse, interpreters, replaced)
