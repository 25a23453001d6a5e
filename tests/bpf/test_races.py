#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The threads of gpumemtrace never touch the same memory at once: live sessions under the sanitizer for threads.

Only with the binary of `make SAN=thread`: .ci/run.
"""
import glob
import os
import signal
import subprocess
import sys

import lib
from lib import Target, Tool, check, equal

if subprocess.run(["grep", "-q", "__tsan_init", lib.TOOL], check=False).returncode:
    print("1..0 # SKIP the binary was built without SAN=thread")
    sys.exit(0)


class Watched:
    """A session whose races are written to files."""

    def __init__(self, *arguments, **more):
        self.folder = lib.folder()
        options = f"log_path={self.folder}/race exitcode=0 second_deadlock_stack=1 history_size=4"
        self.tool = Tool(*arguments, env={"TSAN_OPTIONS": options}, dumps=self.folder, **more)

    def end(self):
        report = self.tool.report()
        self.check()
        return report

    def check(self):
        found = []
        for path in glob.glob(self.folder + "/race.*"):
            with open(path, encoding="utf-8", errors="replace") as file:
                found.append(file.read())
        check(not found, "\n".join(found)[:6000])


def storm():
    """many threads allocate and free, with all stacks and a recording, while marks and dumps are asked for"""
    watched = Watched("-a", "-o", os.path.join(lib.folder(), "run.gmt"))
    watched.tool.ready()
    target = Target("threads", "8", "400", hold="end")
    for _ in range(5):
        watched.tool.send(signal.SIGUSR1)
        watched.tool.send(signal.SIGUSR2)
        watched.tool.more_views(1)
    target.wait("end")
    watched.tool.idle()
    watched.tool.send(signal.SIGINT)
    equal(watched.end()["exit_status"], 0, "exit status")
    check(glob.glob(watched.folder + "/*.gmt"), "no dump was written")
    target.go()
    lib.compare(watched.tool.views()[-1], target.pid, target.books(), skip=("residual", "peak"))


def dumps():
    """memory runs out, and dumps are written meanwhile"""
    watched = Watched("--", lib.workload("oom"))
    equal(watched.end()["exit_status"], 0, "exit status")
    check(glob.glob(watched.folder + "/*.gmt"), "no dump was written")


def processes():
    """processes come and go, so that mappings and tables change all the time"""
    watched = Watched("--stacks=full", "--", lib.workload("forks"), "both")
    equal(watched.end()["exit_status"], 0, "exit status")


def python():
    """a Python program, whose names the worker reads while it runs"""
    watched = Watched("--", sys.executable, "-c",
                      "import ctypes, threading, re, json\n"
                      f"cuda = ctypes.CDLL({lib.LIB!r})\n"
                      "cuda.cuInit(0)\n"
                      "context = ctypes.c_void_p()\n"
                      "cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)\n"
                      "def work(depth):\n"
                      "    if depth:\n"
                      "        return work(depth - 1)\n"
                      "    cuda.cuCtxSetCurrent(context)\n"
                      "    at = ctypes.c_uint64()\n"
                      "    for i in range(200):\n"
                      "        cuda.cuMemAlloc_v2(ctypes.byref(at), ctypes.c_size_t(4096))\n"
                      "        cuda.cuMemFree_v2(at)\n"
                      "threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]\n"
                      "[t.start() for t in threads]\n"
                      "[t.join() for t in threads]\n")
    equal(watched.end()["exit_status"], 0, "exit status")


def end_at_once():
    """a session ends while its threads have much to do"""
    target = Target("storm", "3600", "2", "1024")
    for number in (signal.SIGINT, signal.SIGTERM):
        watched = Watched("-p", str(target.pid))
        watched.tool.ready()
        watched.tool.send(signal.SIGUSR1)
        watched.tool.send(number)
        watched.end()


lib.main(storm, dumps, processes, python, end_at_once)
