# SPDX-License-Identifier: BSD-2-Clause
"""Prepares arm64 kernels on an x86-64 machine: unpacks Debian's arm64 packages into a folder, cross-builds the tree
there, and makes a guest of the folder. Nothing of the folder runs on this machine outside the guest."""
import dataclasses
import glob
import os
import re
import shutil
import subprocess
import zlib

import built
import packages
from packages import Unavailable

ARCH = "arm64"
CROSS = "aarch64-linux-gnu"
SUITE = "trixie"
CLOUD = "linux-image-cloud-arm64"
# `plain`: return addresses are not signed, for the CPU lacks pointer authentication.
PLAIN = {"variant": "plain", "arguments": ("-cpu", "max,pauth=off")}
# The kernel sizes what is for each possible CPU, of which GH200 has 72; two of them run. Small files take whole pages.
# With a thread of qemu for each CPU, 6.12.118 died in two of two runs while a uprobe was attached or removed
# (perf_ctx_sched_task_cb, without a context), and not with one thread for all CPUs.
MANY_CPUS = {"variant": "72 CPUs", "arguments": ("-smp", "72", "-m", "4096"), "append": "maxcpus=2", "threads": "single"}
# What can be asked for: suite, the metapackage of its kernel (none: built.py builds one), and how its machine differs.
WORDS = {
    "arm64": (SUITE, CLOUD, {}),
    "arm64-16k": (SUITE, "linux-image-arm64-16k", {}),
    "arm64-64k": (SUITE, None, MANY_CPUS),
    "arm64-plain": (SUITE, CLOUD, PLAIN),
    "arm64-backports": ("trixie-backports", CLOUD, {}),
    "arm64-bookworm": ("bookworm", CLOUD, {}),
    "arm64-bookworm-plain": ("bookworm", CLOUD, PLAIN),
}
NEEDS = {f"{CROSS}-gcc": f"gcc-{CROSS}", "qemu-system-aarch64": "qemu-system-arm"}   # program: package
# What the guest has of it (image.py), and what the build needs (tests/setup.sh).
PACKAGES = ("python3", "dash", "bash", "coreutils", "findutils", "sed", "mount", "util-linux", "libstdc++6", "libc6-dev",
            "libbpf-dev", "libelf-dev", "libdw-dev", "libiberty-dev", "liblzma-dev", "zlib1g-dev", "libzstd-dev", "libjansson-dev",
            "libncurses-dev", "libsqlite3-dev", "libcmocka-dev")
MERGED = "bin", "sbin", "lib"                           # which are links to folders below /usr
FOLDERS = "/lib/" + CROSS, "/usr/lib/" + CROSS          # where the loader finds libraries
LOADER = "/lib/ld-linux-aarch64.so.1"
NEEDED = re.compile(r"\((?:NEEDED)\).*\[(.+)\]")


class NotBuilt(Exception):
    """What the compiler said."""


class Machine:
    """As image.Here, of what was unpacked."""

    def __init__(self, root):
        self.root = root

    def libraries(self, files):
        found, left = {self.root + LOADER}, list(files)
        while left:
            dynamic = subprocess.run(["readelf", "-Wd", *left], capture_output=True, text=True, check=False).stdout
            paths = self._at(NEEDED.findall(dynamic))
            left = sorted(paths - found)
            found |= paths
        return found

    def _at(self, names):
        return {path for name in names for path in (f"{self.root}{folder}/{name}" for folder in FOLDERS)
                if os.path.exists(path)}

    def modules(self):
        return [path[len(self.root):] for path in glob.glob(self.root + "/usr/lib/python3.[0-9]*")]


def host_suite():
    """The libraries are those of this machine's release, for which its compiler is made."""
    with open("/etc/os-release", encoding="utf-8") as file:
        found = re.search(r"^VERSION_CODENAME=(\w+)", file.read(), re.M)
    return found.group(1) if found and found.group(1) in packages.SUITES else SUITE


def unpack(archive, folder, suite):
    """Machine of all PACKAGES and what they depend on, once; `archive` is asked for them if they are not there."""
    root = os.path.join(folder, f"root-{ARCH}-{suite}-{zlib.crc32(' '.join(PACKAGES).encode()):08x}")
    if os.path.exists(root):
        return Machine(root)
    got = archive.apt_get("-y", "--download-only", "--no-install-recommends", "-t", suite, "install", *PACKAGES)
    if got.returncode:
        raise Unavailable(f"{suite}'s packages for {ARCH} cannot be fetched: {(got.stderr.splitlines() or [''])[-1]}")
    shutil.rmtree(root + ".new", ignore_errors=True)
    for name in MERGED:
        os.makedirs(f"{root}.new/usr/{name}")
        os.symlink("usr/" + name, f"{root}.new/{name}")
    for package in sorted(glob.glob(os.path.join(archive.apt, "cache/archives/*.deb"))):
        with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", package], stdout=subprocess.PIPE) as tar:
            subprocess.run(["tar", "-x", "--keep-directory-symlink", "--no-same-owner", "-C", root + ".new"],
                           stdin=tar.stdout, check=True)
    for path in glob.glob(f"{root}.new{FOLDERS[1]}/*.so"):
        if os.path.islink(path) and os.readlink(path).startswith("/"):
            inside(path, root + ".new")
    os.rename(root + ".new", root)
    return Machine(root)


def inside(link, root):
    """Makes an absolute link one to the same file below the root, where the linker finds it."""
    target = os.path.relpath(root + os.readlink(link), os.path.dirname(link))
    os.unlink(link)
    os.symlink(target, link)


def build(top, place, root):
    """The tree, copied to `place` and built there: its folder."""
    os.makedirs(place, exist_ok=True)
    for path in "Makefile", "bpf", "demos", "include", "tests", "user", "vmlinux":
        if os.path.isdir(os.path.join(top, path)):
            shutil.copytree(os.path.join(top, path), os.path.join(place, path), dirs_exist_ok=True, symlinks=True,
                            ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(os.path.join(top, path), place)
    done = subprocess.run([os.environ.get("MAKE", "make"), "--no-print-directory", "-C", place, "CROSS=" + CROSS,
                           "SYSROOT=" + root, "guest-programs"],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise NotBuilt(done.stderr.strip()[-600:])
    return place


def kernel_of(archive, word):
    suite, meta, machine = WORDS[word]
    kernel = packages.fetched(archive, archive.of_meta(word, suite, meta)) if meta else built.kernel(archive, word, CROSS)
    return dataclasses.replace(kernel, **machine) if isinstance(kernel, packages.Kernel) else kernel


def find(folder, words):
    """As packages.find(), of WORDS; and the Machine that their guests are of."""
    lacking = [package for program, package in NEEDS.items() if not shutil.which(program)]
    try:
        if lacking:
            raise Unavailable("apt-get install " + " ".join(lacking))
        suites = {WORDS[word][0] for word in words} | {host_suite()}
        archive = packages.Archive(folder, sorted(suites, key=packages.SUITES.index), ARCH)
        machine = unpack(archive, folder, host_suite())
        pairs = [(word, kernel_of(archive, word)) for word in words]
    except (Unavailable, OSError, subprocess.CalledProcessError) as why:
        return [(word, Unavailable(str(why))) for word in words], None
    return pairs, machine
