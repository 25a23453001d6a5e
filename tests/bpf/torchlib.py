# SPDX-License-Identifier: BSD-2-Clause
"""A real PyTorch on the CPU for tests: its tensors are blocks on simulated GPUs (tests/standin/libblocks); and its
trainings.

It is Debian's, whose packages are unpacked below build/ (30 MB, once), or PyPI's (pypi_torch.py). With $TORCH_PYTHON, a
Python that has a torch, it is that one alone.
"""
import dataclasses
import json
import os
import subprocess

import lib
import pypi_torch
from lib import Skip, Target, check, equal

BLOCKS = os.path.join(lib.BUILT, "usr/lib-blocks/libblocks.so")
PROGRAM = os.path.join(lib.TOP, "tests/bpf/torch_training.py")
PYTHON = "/usr/bin/python3"             # the Python of Debian's packages
# What libtorch_cpu uses something of. For the others that it is linked to (OpenCV, FFmpeg, databases: 500 MB with what
# they need) an empty library of that name does.
PACKAGES = """
    python3-torch python3-typing-extensions libtorch1.13 libblas3 libcpuinfo0 libdnnl2 libfmt9 libgflags2.2 libgfortran5
    libgloo0 libgomp1 libgoogle-glog0v6 libhiredis0.14 libibverbs1 liblapack3 libnl-3-200 libnl-route-3-200 libnuma1
    libonnx1 libprotobuf32 libpthreadpool0 libquadmath0 libsleef3 libtensorpipe0 libunwind8 libuv1 libxnnpack0
    ocl-icd-libopencl1
""".split()


def debians():
    """The environment for Debian's Python to find Debian's PyTorch."""
    found = lib.packaged("real-torch", "main", "libtorch_python.so.1.13.0", *PACKAGES)
    libraries = os.path.dirname(found)
    root = libraries[:-len("/usr/lib/x86_64-linux-gnu")]
    folders = [os.path.dirname(lib.LIB), libraries, libraries + "/blas", libraries + "/lapack", root + "/usr/lib",
               root + "/lib/x86_64-linux-gnu", root + "/empty"]
    env = {"LD_LIBRARY_PATH": ":".join(folders), "PYTHONPATH": root + "/usr/lib/python3/dist-packages",
           "GLOG_minloglevel": "2", **lib.BYTECODE}
    linked = lib.run(["ldd", found], env={**os.environ, **env}).stdout
    for line in linked.splitlines():
        if "not found" in line:
            name = line.split()[0]
            os.makedirs(root + "/empty", exist_ok=True)
            subprocess.run(["cc", "-shared", "-Wl,-soname," + name, "-o", f"{root}/empty/{name}", "-xc", "/dev/null"],
                           check=True)
    return env


@dataclasses.dataclass(eq=False)        # a key of caches
class PyTorch:
    """The Python that has it, and the environment in which it finds it."""
    python: str
    env: dict


def debian():
    """That of $TORCH_PYTHON or Debian's; a Skip where there is none."""
    if os.environ.get("TORCH_PYTHON"):
        return PyTorch(os.environ["TORCH_PYTHON"], {})
    env = debians()
    works = lib.run([PYTHON, "-c", "import torch"], env={**os.environ, **env})
    if works.returncode:
        raise Skip("Debian's PyTorch cannot be imported: " + (works.stderr.strip().splitlines() or [""])[-1])
    return PyTorch(PYTHON, env)


def pypi():
    """PyPI's; a Skip where there is none."""
    if os.environ.get("TORCH_PYTHON"):
        raise Skip("TORCH_PYTHON names another PyTorch")
    return PyTorch(PYTHON, pypi_torch.environment(PYTHON))


def training(torch, variant, *words):
    """(command, environment) of torch_training.py."""
    argv = [torch.python, PROGRAM, variant, *map(str, words)]
    return argv, {"LD_PRELOAD": BLOCKS, "PYTHONWARNINGS": "ignore", **torch.env}


class Training(Target):
    """torch_training.py; hold: where it holds."""

    def __init__(self, torch, variant, *words, hold=None):
        argv, env = training(torch, variant, *words)
        super().__init__(*argv, hold=hold, env=env)

    def truth(self):
        """What it says at its end."""
        status, out = self.finish()
        equal(status, 0, "exit status " + self.stderr())
        return truth_of(out)


def mapped(pid, name):
    with open(f"/proc/{pid}/maps", encoding="ascii") as maps:
        return next(line.split()[-1] for line in maps if f"/{name}.so" in line)


def until_probed(tool, pid):
    """Until the blocks and the ranges of a process that has loaded torch are seen."""
    for name in "libc10", "libtorch_cpu":
        tool.probes(mapped(pid, name))


def truth_of(out):
    check(out.startswith("{"), "no truth", out)
    return json.loads(out)
