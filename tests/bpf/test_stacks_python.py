#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Python frames of each allocation have the names, files and lines of the program's own traceback. The native stack
around the Python frames is complete. Every CPython 3.8 to 3.14 that is found is tested."""
import json
import os
import sys

import lib
from lib import Target, Tool, check, equal

sys.path[1:1] = [os.path.join(lib.TOP, "tests"), os.path.join(lib.TOP, "tests/symbol")]
import stacklib  # noqa: E402
import test_python  # noqa: E402

PROGRAM = os.path.join(lib.TOP, "tests/bpf/python_allocations.py")
LIBRARY = os.path.join(lib.BUILT, "usr/lib-stacks/libstacks.so")
ALLOCATIONS = 90        # of one program, at least
# Of a stack that is complete; the C library's own symbols may be in a package for debugging only.
ROOTS = {"main": {"_start"}, "worker": {"__clone3", "clone3", "__clone", "clone", ""}}
ROOTS["native"] = ROOTS["worker"]


def pythons():
    """{version: program}"""
    found = test_python.pythons()
    return {version: path for path, version in sorted(found.items()) if (3, 8) <= version <= (3, 14)}


def python_frames(stack):
    return [[f.function, f.file, f.line] for f in stack.frames or () if f.is_python]


def wrong_native(stack, said):
    """What is wrong with the frames that are not Python's."""
    native = [f.function for f in stack.frames if not f.is_python]
    if not stack.is_complete:
        return f"is not complete: {stack.reason}"
    if native[0] != "cuMemAlloc_v2":
        return f"begins with {native[0]}"
    if native[-1] not in ROOTS[said["thread"]]:
        return f"of a {said['thread']} thread ends with {native[-1]}"
    if stack.frames[0].is_python:
        return "begins with Python"
    modules = {os.path.basename(f.module).split(".so")[0].split(".cpython")[0] for f in stack.frames}
    if said["frames"] and "_ctypes" not in modules:
        return f"knows nothing of ctypes: {modules}"
    return None


def wrong_stacks(recording, pid, lines, may_lack_python=False):
    """What the program said, against what was recorded of it."""
    by_size = {vals[1]: stack_id for api, stack_id, vals in recording.calls if len(vals) > 1
               and stack_id in recording.stacks and recording.stacks[stack_id].tgid == pid}
    wrong = []
    for said in lines:
        stack = recording.stacks.get(by_size.get(said["size"]))
        name = f"{said['name']} ({said['size']})"
        if not stack or stack.frames is None:
            wrong.append(f"{name}: no stack" + (" named" if stack else ""))
            continue
        # Of a program that allocates at once a stack may be cut off, as was seen on a loaded machine: it says so.
        is_cut = may_lack_python and not stack.is_complete and stack.frames[0].function == "cuMemAlloc_v2"
        found = None if is_cut else wrong_native(stack, said)
        if python_frames(stack) or not may_lack_python:
            found = test_python.difference(said["frames"], python_frames(stack)) or found
        if found:
            wrong.append(f"{name}: {found}")
    return wrong


class Program(Target):
    """Waits for a line before it allocates, if it `waits`, and for one before it ends."""

    def __init__(self, python, waits=True):
        super().__init__(python, PROGRAM, lib.LIB, LIBRARY, env={"WAIT": "all" if waits else "end"})
        self.wait_said("ready")

    def wait_said(self, word):
        self.wait_line(lambda: word + "\n" in self.out, f"the program's {word}")

    def said(self):
        return [json.loads(line) for line in self.out if line.startswith("{")]

    def allocate(self):
        self.line()
        self.wait_said("done")

    def end(self):
        self.line()
        equal(self.finish()[0], 0, "exit status " + self.stderr())


def compare(path, programs, **options):
    """{name: program}: every allocation of each."""
    recording, wrong = stacklib.Stacks(path), []
    for name, program in programs.items():
        lines = program.said()
        check(len(lines) >= ALLOCATIONS, f"{name}: only {len(lines)} allocations")
        wrong += [f"{name} {line}" for line in wrong_stacks(recording, program.pid, lines, **options)]
        program.end()
    check(not wrong, f"{len(wrong)} wrong\n" + "\n".join(wrong[:40]))


def every_version():
    """with and without the GIL, in all kinds of frames and threads: 3.8 to 3.14"""
    path, found = lib.folder() + "/run.gmt", pythons()
    check(found, "no CPython was found")
    tool = Tool("-a", "-o", path, "--stack-depth", "1024").ready()   # recursion_in_c: 560 frames with 3.8
    programs = {"%d.%d" % version: Program(python) for version, python in found.items()}
    tool.idle()
    for program in programs.values():
        program.allocate()
    losses = tool.stop()["losses"]
    compare(path, programs)
    equal({k: v for k, v in losses.items() if v}, {}, "losses")


def late():
    """a program that runs already: -p"""
    path = lib.folder() + "/run.gmt"
    program = Program(pythons()[max(pythons())])
    tool = Tool("-p", str(program.pid), "-o", path).ready()
    tool.idle()
    program.allocate()
    tool.stop()
    compare(path, {"-p": program})


def at_once():
    """a program that allocates as soon as it has libcuda: no wrong frame, native or Python"""
    path = lib.folder() + "/run.gmt"
    tool = Tool("-a", "-o", path).ready()
    program = Program(pythons()[max(pythons())], waits=False)
    program.wait_said("done")
    tool.stop()
    compare(path, {"at once": program}, may_lack_python=True)


if __name__ == "__main__":
    lib.main(every_version, late, at_once)
