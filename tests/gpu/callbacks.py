#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Do callbacks that throw, and threads that are cancelled, do the same untraced and traced, on a real driver?

    callbacks.py          as root, with nothing else traced on the machine; $CALLBACKS: the program, if there is no C++ compiler

Runs each case of callbacks.cc untraced, traced with all stacks, and untraced again. Exit status: 0 all the same, 1 a
difference, 2 nothing could be run.
"""
import os
import shutil
import subprocess
import sys
import tempfile

import lib

SOURCE = os.path.join(lib.HERE, "callbacks.cc")
SECONDS = 60


def program(folder):
    built = os.environ.get("CALLBACKS")
    compiler = shutil.which("c++")
    if built or not compiler:
        return built
    path = os.path.join(folder, "callbacks")
    subprocess.run([compiler, "-std=c++17", "-O1", "-o", path, SOURCE, "-ldl", "-pthread"], check=True)
    return path


def end(command):
    """The exit status (of the program, also where gpumemtrace runs it), and what it said."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=SECONDS, check=False)
    status = done.returncode
    return 128 - status if status < 0 else status, done.stdout.decode(errors="replace")


def main():
    with tempfile.TemporaryDirectory(prefix="gpumemtrace-gpu-") as folder:
        path = program(folder)
        if not path:
            print("no C++ compiler, and $CALLBACKS names no program", file=sys.stderr)
            return 2
        cases = end([path])[1].split()
        differ = 0
        for case in cases:
            untraced = end([path, case])
            if untraced[0] == 9:
                print(f"{case}: this driver or machine cannot do it")
                continue
            traced = end([lib.GPUMEMTRACE, "-qq", *lib.OPTIONS, "--oom-dir", "off", "--", path, case])
            again = end([path, case])
            same = untraced == traced == again
            differ += not same
            print(f"{case}: {'the same' if same else 'NOT the same'}: status {untraced[0]}, {untraced[1].split(chr(10))[:-1]}")
            if not same:
                print(f"    traced: {traced}\n    untraced again: {again}")
    return 1 if differ else 0 if cases else 2


if __name__ == "__main__":
    sys.exit(main())
