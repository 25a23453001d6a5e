# SPDX-License-Identifier: BSD-2-Clause
"""Makes the initial RAM disk that a guest runs in: a machine's Python, a few of its programs, and the built tree.

Nothing is downloaded or installed for it: the guest has no disk. Of the kernel's modules it gets only those that tests need.
"""
import lzma
import os
import re
import shutil
import stat
import subprocess

PYTHON = "/usr/bin/python3"
# Of tests/kernels/guest/init and standin/mkroot.sh; of demos/demo.sh; of what guest/suite.py runs.
PROGRAMS = ("sh", "mount", "mkdir", "chmod", "ln", "cat", "sleep", "dirname", "id", "env", "rm", "sed",
            "bash", "chroot", "cp", "find", "head", "setarch", "unshare")
LIBRARY_SKIPS = {"test", "tests", "idlelib", "tkinter", "ensurepip", "lib2to3", "turtledemo", "dist-packages",
                 "site-packages", "pydoc_data"}
TREE = "gpumemtrace"                    # where the tree lies in the guest
IN_TREE = ("tests/bpf", "tests/kernels", "tests/symbol", "tests/recordings", "tests/data", "tests/standin/mkroot.sh",
           "tests/stacklib.py", "tests/bpf_stats.py", "tests/patience.py", "tests/pypilib.py", "tests/run",
           "demos/demo.sh", "build/standin", "build/demos/train",
           "build/tests/symbol/unwind_test.bpf.o", "build/tests/symbol/python_test.bpf.o", "build/tests/symbol/pystack",
           "build/tests/symbol/pystack_bpf", "build/tests/symbol/test_unwind_bpf",
           "build/tests/symbol/test_unwind_bpf_guarded", "build/tests/symbol/test_unwind_bpf_fp")
DEVICES = {"dev/console": (5, 1), "dev/null": (1, 3)}
MOUNTED = ("dev", "proc", "sys", "tmp", "run", "root")
OPENED = ("libgcc_s.so.1", "libzstd.so.1")      # by the C library, to end a thread; by tests/recordings/recfile.py
MODULES = ("kernel/fs/overlayfs/overlay.ko*",)  # for tests in containers; a kernel may have it built in
SHARED = re.compile(r"(?:=> )?(/\S+) \(0x")


class Cpio:
    """An archive that the kernel unpacks: `newc` of cpio(5), which has the kernel's
    Documentation/driver-api/early-userspace/buffer-format.rst."""

    def __init__(self, file):
        self.file = file
        self.have = set()

    def _entry(self, name, mode, data=b"", device=(0, 0), changed=0):
        name = name.encode() + b"\0"
        fields = (len(self.have), mode, 0, 0, 1, changed, len(data), 0, 0, *device, len(name), 0)
        for part in (b"070701" + b"".join(b"%08X" % field for field in fields) + name, data):
            self.file.write(part + bytes(-len(part) % 4))

    def _new(self, name):
        """False for what is there; else its folders are there now."""
        if name in self.have or not name:
            return False
        if os.path.dirname(name):
            self.folder(os.path.dirname(name))
        self.have.add(name)
        return True

    def folder(self, name, mode=0o755):
        if self._new(name):
            self._entry(name, stat.S_IFDIR | mode)

    def link(self, name, target):
        if self._new(name):
            self._entry(name, stat.S_IFLNK | 0o777, os.fsencode(target))

    def device(self, name, numbers):
        if self._new(name):
            self._entry(name, stat.S_IFCHR | 0o600, device=numbers)

    def text(self, name, data, mode=0o644, changed=0):
        if self._new(name):
            self._entry(name, stat.S_IFREG | mode, data, changed=changed)

    def file_of(self, path, name):
        """With its time: Python compiles anew what is not as old as it was."""
        with open(path, "rb") as file:
            about = os.fstat(file.fileno())
            self.text(name, file.read(), stat.S_IMODE(about.st_mode), int(about.st_mtime))

    def end(self):
        self._entry("TRAILER!!!", 0)


class Here:
    """The machine that a guest has its files of: this one."""
    root = ""           # before the names of its files

    def libraries(self, files):
        """What these programs and libraries are linked with."""
        return SHARED.findall(subprocess.run(["ldd", *files], capture_output=True, text=True, check=False).stdout)

    def modules(self):
        """Folders of Python's own modules."""
        return set(subprocess.run([PYTHON, "-c", "import sysconfig; print(*map(sysconfig.get_path, ('stdlib', 'platstdlib')))"],
                                  capture_output=True, text=True, check=True).stdout.split())


class Image:
    """Files of a machine, where they are there; files of the tree, below TREE."""

    def __init__(self, cpio, top, tool, machine, places, libraries):
        self.cpio, self.top, self.machine = cpio, top, machine
        for name in "bin", "sbin", "lib", "lib64":
            if os.path.islink(f"{machine.root}/{name}"):
                cpio.link(name, os.readlink(f"{machine.root}/{name}"))
        for name in MOUNTED:
            cpio.folder(name)
        for name, numbers in DEVICES.items():
            cpio.device(name, numbers)
        for name, library in libraries.items():
            self._place(library, name)
        cpio.file_of(os.path.join(top, "tests/kernels/guest/init"), "init")
        cpio.file_of(tool, os.path.join(TREE, "build/gpumemtrace"))
        self.libraries = []         # of the tree
        for place in IN_TREE + tuple(places):
            self._tree(place)
        self._machine(tool)

    def _place(self, path, name):
        if os.path.islink(path):
            self.cpio.link(name, os.readlink(path))
        else:
            self.cpio.file_of(path, name)

    def _tree(self, place):
        path = os.path.join(self.top, place)
        if os.path.isfile(path) and not os.path.islink(path):
            self.cpio.file_of(path, os.path.join(TREE, place))
            self.libraries += [path] if ".so" in os.path.basename(path) else []
        elif os.path.islink(path):
            self.cpio.link(os.path.join(TREE, place), os.readlink(path))
        elif os.path.isdir(path):
            self.cpio.folder(os.path.join(TREE, place), stat.S_IMODE(os.stat(path).st_mode))
            for name in sorted(os.listdir(path)):
                if name != "__pycache__":
                    self._tree(os.path.join(place, name))

    def _machine(self, tool):
        root = self.machine.root
        modules = [path for place in self.machine.modules() for path in self._library(root + place)]
        search = "/usr/sbin:/usr/bin:/sbin:/bin".split(":")
        programs = [next(path for path in (f"{root}{p}/{name}" for p in search) if os.path.exists(path))
                    for name in PROGRAMS]
        for path in [root + PYTHON, *programs]:
            self._file(path)
        workloads = os.path.join(self.top, "build/standin/workloads")
        linked = [root + PYTHON, tool, *programs, *modules, *self.libraries,
                  *(os.path.join(workloads, name) for name in os.listdir(workloads))]
        shared = set(self.machine.libraries(linked))
        shared |= {os.path.join(os.path.dirname(path), name) for path in shared for name in OPENED}
        for path in sorted(shared):
            # The stand-in's own libraries are found by the workloads in the tree.
            if not path.startswith(self.top):
                self._file(path)

    def _library(self, place):
        """Python's own modules; those that are linked with something."""
        for root, folders, files in os.walk(place):
            folders[:] = [f for f in folders if f not in LIBRARY_SKIPS and not f.startswith("config-")]
            for name in files:
                path = os.path.join(root, name)
                self._file(path)
                if ".so" in name:
                    yield path

    def _file(self, path):
        """With the links that lead to it; folders that are links are the machine's bin, lib, …"""
        path = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
        if os.path.islink(path):
            self.cpio.link(path[len(self.machine.root) + 1:], os.readlink(path))
            self._file(os.path.join(os.path.dirname(path), os.readlink(path)))
        elif os.path.isfile(path):
            self.cpio.file_of(path, path[len(self.machine.root) + 1:])


def version_of(machine):
    """Of a machine's Python: "3.11"."""
    return max((os.path.basename(place) for place in machine.modules()), key=len).removeprefix("python")


def make(path, top, tool, more, machine, tools=(), places=(), libraries=None):
    """Writes the image; more: {name in the tree: its bytes}; tools: programs that need no more than `tool` does; places:
    what it has of the tree, too; libraries: {name: file} of what takes the place of the machine's."""
    with open(path, "wb") as file:
        cpio = Cpio(file)
        Image(cpio, top, tool, machine, places, libraries or {})
        for name, data in more.items():
            cpio.text(os.path.join(TREE, name), data)
        for other in tools:
            cpio.file_of(other, os.path.join(TREE, "build/tools", os.path.basename(other)))
        cpio.end()


def with_modules(path, image, kernel):
    """Writes an image with a kernel's own MODULES behind it: where a second archive follows, the kernel unpacks both."""
    with open(path, "wb") as file:
        with open(image, "rb") as first:
            shutil.copyfileobj(first, file)
        cpio = Cpio(file)
        for pattern in MODULES:
            module = kernel.file("lib/modules/*/" + pattern, "usr/lib/modules/*/" + pattern)
            if module:
                with (lzma.open if module.endswith(".xz") else open)(module, "rb") as packed:
                    cpio.text("modules/" + os.path.basename(module).split(".")[0] + ".ko", packed.read())
        cpio.end()
