#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Targets in containers are traced: with their own mount namespace, overlayfs, pid namespace and root directory."""
import os
import shutil

import lib
from lib import GPU_B, Target, Tool, check, equal, process_of

# A container as runtimes make it: own mounts, the image on overlayfs, own pids, the driver's files from the host.
CONTAINER = r"""
set -e
image=$1 work=$2 root=$3
shift 3
mount -t tmpfs tmpfs "$work"
mkdir "$work/upper" "$work/work" "$work/merged"
mount -t overlay overlay -o "lowerdir=$image,upperdir=$work/upper,workdir=$work/work" "$work/merged"
cd "$work/merged"
for d in usr lib lib64 bin etc; do
	[ -d "/$d" ] || continue
	mkdir -p "$d"
	mount --bind "/$d" "$d"
done
mkdir -p proc dev driver/run tmp
mount -t proc proc proc
mount --bind /dev dev
mount --bind "$root/run" driver/run
exec chroot . "$@"
"""


def image(libcuda):
    """A folder as an image's layer: a program and libcuda where a container has it."""
    path = lib.folder()
    os.makedirs(path + "/opt/cuda")
    os.makedirs(path + "/driver")
    shutil.copy(libcuda, path + "/opt/cuda/libcuda.so.1")
    shutil.copytree(lib.ROOT + "/proc", path + "/driver/proc")
    shutil.copytree(lib.ROOT + "/dev", path + "/driver/dev", symlinks=True)
    for name in ("basic", "longrun"):
        shutil.copy(lib.workload(name), path + "/opt")
    return path


def start(name, hold, libcuda=lib.LIB, arguments=()):
    layer, work = image(libcuda), lib.folder()
    target = Target("/opt/" + name, *arguments, hold=hold, prefix=(
        "unshare", "--mount", "--pid", "--fork", "--kill-child",
        "/bin/bash", "-c", CONTAINER, "container", layer, work, lib.ROOT),
                    env={"LD_LIBRARY_PATH": "/opt/cuda", "GPUMEMTRACE_STANDIN_ROOT": "/driver"})
    target.layer = layer
    return target


def inner_pid(target):
    """The pid outside of the program, which calls itself 1."""
    with open(f"/proc/{target.pid}/task/{target.pid}/children", encoding="ascii") as file:
        return int(file.read().split()[0])


def finish(target, pid):
    os.kill(pid, lib.signal.SIGUSR1)
    return target.books()


def whole_container():
    """-a: libcuda of an image on overlayfs, found where only the container sees it"""
    tool = Tool("-a").ready()
    first = start("longrun", "ready")
    first.wait("ready")
    pid = inner_pid(first)
    library = f"/proc/{pid}/root/opt/cuda/libcuda.so.1"
    tool.probes(library)
    inode = os.stat(library).st_ino
    report = lib.settled(tool, pid)
    process = process_of(report, pid)
    equal(process["ns_pid"], 1, "its own pid")
    check("pid=1\n" in first.err, first.stderr())
    equal(len([l for l in report["libraries"] if l["inode"] == inode]), 1, "times that its library is probed")
    finish(first, pid)


def by_pid():
    """-p with the host's pid; the library is the container's, and every call after attach is seen"""
    target = start("basic", "context")         # holds before its first allocation
    target.wait("context")
    pid = inner_pid(target)
    tool = Tool("-p", str(pid)).ready()
    os.kill(pid, lib.signal.SIGUSR1)
    target.wait("context", 2)
    os.kill(pid, lib.signal.SIGUSR1)
    books = target.books()
    report = tool.report()
    wanted = {k: v for k, v in books.items() if not k.endswith("physical")}
    process = lib.compare(report, pid, wanted, skip=("live",), clean=False)
    equal(process["ns_pid"], 1, "its own pid")
    equal(sum(report["losses"].values()), 0, "losses")


def same_file_once():
    """one file reached by a bind mount and by its own name is probed once: nothing counts twice"""
    mount = lib.folder()
    tool = Tool("-a").ready()
    script = f'mount --bind "{os.path.dirname(lib.LIB)}" "{mount}" && exec "$@"'
    inside = Target("basic", hold="end", prefix=("unshare", "--mount", "/bin/sh", "-c", script, "sh"),
                    env={"LD_LIBRARY_PATH": mount, "GPUMEMTRACE_STANDIN_ROOT": lib.ROOT})
    outside = Target("basic", hold="end")
    inside.wait("end")
    outside.wait("end")
    report = lib.settled(tool, inside.pid)
    equal(len([l for l in report["libraries"] if l["inode"] == os.stat(lib.LIB).st_ino]), 1, "times it is probed")
    for target in inside, outside:
        target.go()
        lib.compare(report, target.pid, target.books())


def overlay_of_a_probed_file():
    """a libcuda on overlayfs whose lower file is probed as well: nothing counts twice"""
    work = lib.folder()
    tool = Tool("-a").ready()
    script = (f'mount -t tmpfs tmpfs "{work}" && mkdir "{work}/u" "{work}/w" "{work}/m" && '
              f'mount -t overlay overlay -o "lowerdir={os.path.dirname(lib.LIB)},upperdir={work}/u,'
              f'workdir={work}/w" "{work}/m" && exec "$@"')
    inside = Target("basic", hold="start", prefix=("unshare", "--mount", "/bin/sh", "-c", script, "sh"),
                    env={"LD_LIBRARY_PATH": work + "/m", "GPUMEMTRACE_STANDIN_ROOT": lib.ROOT})
    inside.wait("start")
    tool.idle()                 # the library is noticed and probed
    inside.go()
    status, out = inside.finish()
    equal(status, 0, "exit status " + inside.stderr())
    report = lib.settled(tool, inside.pid)
    lib.compare(report, inside.pid, lib.books_of(out), skip=("live", "physical"))


def in_a_container():
    """gpumemtrace itself in a container with pids of its own: it says that it cannot, and how it can"""
    done = lib.run(["unshare", "--pid", "--fork", "--mount-proc", lib.TOOL, "--driver-root", lib.ROOT, "-p", "1"])
    equal(done.returncode, 4, "exit status " + done.stderr)
    check("--pid=host" in done.stderr, done.stderr)


if __name__ == "__main__":
    lib.main(whole_container, by_pid, same_file_once, overlay_of_a_probed_file, in_a_container)
