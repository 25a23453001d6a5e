#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A job whose names are hostile (its comm, command line, paths, symbols, Python functions) does nothing to the terminal
of who traces the job, in any format."""
import fcntl
import os
import pty
import shutil
import struct
import subprocess
import sys
import termios
import threading

import lib
from lib import Target, check, equal

sys.path.insert(1, os.path.join(lib.TOP, "tests"))
from foreign import HOSTILE, first_bad, first_bad_of_table  # noqa: E402

NAME = HOSTILE.replace(b":", b"").replace(b";", b"")    # a list of directories is split there
PYTHON = f"""
import ctypes, signal, sys, time, types
libcuda = ctypes.CDLL({lib.LIB!r})
address, context, name = ctypes.c_uint64(), ctypes.c_void_p(), {HOSTILE.decode('latin1')!r}
libcuda.cuInit(0)
libcuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
libcuda.cuCtxSetCurrent(context)
def allocate():
    libcuda.cuMemAlloc_v2(ctypes.byref(address), 4096)
more = dict(co_qualname=name) if hasattr(allocate.__code__, "co_qualname") else dict()
hostile = types.FunctionType(allocate.__code__.replace(co_name=name, co_filename=name, **more), globals())
print("ready", flush=True)
while True:
    hostile()
    time.sleep(0.02)
"""


def hostile_target():
    """A program whose path, library and functions have hostile names, and so its comm and its command line."""
    folder = os.path.join(os.fsencode(lib.folder()), NAME)
    os.mkdir(folder)
    path = os.path.join(folder, NAME)
    library = shutil.copy(os.fsencode(lib.LIB), folder)
    with open(lib.workload("longrun"), "rb") as file:
        program = file.read()
    for symbol in b"wl_mem", b"wl_mem_free", b"wl_phase", b"cuMemAlloc_v2":
        if symbol.startswith(b"wl_"):
            program = program.replace(b"\0" + symbol + b"\0", b"\0" + NAME[:len(symbol)] + b"\0")
    with open(path, "wb") as file:
        file.write(program)
    os.chmod(path, 0o755)
    return Target(os.fsdecode(path), "forever", os.fsdecode(HOSTILE), lib=os.fsdecode(library))


def start_targets():
    native, python = hostile_target(), Target(sys.executable, "-c", PYTHON)
    idle = Target(shutil.copy(b"/bin/sleep", os.path.join(os.fsencode(lib.folder()), NAME)), "1000")
    native.wait("ready")
    python.wait_line(lambda: "ready\n" in python.out, "Python's start")
    return native, python, idle


def arguments(targets, *more):
    return [lib.TOOL, "--driver-root", lib.ROOT, "--oom-dir", "off", "-i", "0.2", "-p",
            ",".join(str(t.pid) for t in targets), *more]


def seen(out, what):
    shown = b"]0;x?", b"]0:x?", b"]0x?", b"\\u001B]0"
    check(any(word in out for word in shown), what, "does not show the names", out[-3000:])


def piped():
    """report, JSON, plain lines, messages, flame graphs"""
    for more in (), ("--json",), ("-v", "--full-stacks"), ("-q", "--folded", "-"), ("--block-stacks", "-a"):
        targets = start_targets()
        argv = arguments(targets, "-d", "3", *more)
        if "-a" in more:
            del argv[argv.index("-p"):argv.index("-p") + 2]
        done = lib.run(argv, text=False)
        out, err = done.stdout, done.stderr
        equal(done.returncode, 0, err)
        seen(out, " ".join(more))
        equal(first_bad(out), None, f"standard output with {more}")
        equal(first_bad(err), None, f"standard error with {more}")
        lib.Process.end_all()


def table():
    """the screen of the live view sends the terminal's own codes and no others"""
    targets = start_targets()
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 200, 0, 0))
    tool = subprocess.Popen(arguments(targets, "-d", "3"), stdout=slave, stderr=subprocess.PIPE,
                            env=lib.environment(TERM="xterm-256color", LC_ALL="C.UTF-8"))
    os.close(slave)
    data = []

    def read():
        try:
            while piece := os.read(master, 65536):
                data.append(piece)
        except OSError:         # the other side has gone
            pass
    reader = threading.Thread(target=read)
    reader.start()
    _, err = tool.communicate(timeout=lib.PATIENCE)
    reader.join()
    out = b"".join(data)
    equal(tool.returncode, 0, err)
    check(b"\x1b[?1049h" in out, "no screen was drawn")
    seen(out, "the screen")
    seen(err, "the message about a process without libcuda")
    equal(first_bad_of_table(out), None, "the terminal")
    equal(first_bad(err), None, "standard error")


if __name__ == "__main__":
    lib.main(piped, table)
