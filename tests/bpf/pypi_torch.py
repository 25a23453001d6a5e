# SPDX-License-Identifier: BSD-2-Clause
"""Prepares PyPI's PyTorch below build/, so that PyTorch runs on the CPU alone.

Its wheel for Linux (530 MB, once) is one for CUDA, which wants 3 GB of NVIDIA's libraries to be loaded. Trainings on
the CPU use nothing of them: there are stand-ins for them, and for the part of PyTorch that is linked to most of them.
"""
import os
import re
import subprocess
import sys
import tempfile
import zipfile

import lib
import missing_libraries
from lib import Skip

sys.path.insert(0, os.path.join(lib.TOP, "tests"))
import pypilib  # noqa: E402

PACKAGES = "torch==" + pypilib.TORCH, "typing_extensions==4.15.0", "sympy==1.14.0", "mpmath==1.3.0"
USED = re.compile(r"torch/bin/torch_shm_manager$|.*\.(py|json|so|so\.1)$")
LEFT_OUT = re.compile(r"torch/lib/(libtorch_(cuda|nvshmem)|libcaffe2_nvrtc)|torch/(include|share)/")
NVIDIAS = "libcu", "libnv"      # what their names begin with
SECONDS = 600                   # a slow network


def version_of(python):
    if not os.path.exists(python):
        raise Skip(f"there is no {python}")
    return lib.run([python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]).stdout.strip()


def unpack(wheels, folder):
    for path in wheels:
        with zipfile.ZipFile(path) as wheel:
            names = [name for name in wheel.namelist() if USED.match(name) and not LEFT_OUT.match(name)]
            wheel.extractall(folder, names)


def build(folder, version):
    """Makes the folder, whole or not at all."""
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    with tempfile.TemporaryDirectory(dir=os.path.dirname(folder), prefix="pypi-torch-") as scratch:
        try:
            wheels = pypilib.download(scratch, PACKAGES, "--platform", "manylinux_2_28_x86_64",
                                      "--python-version", version, seconds=SECONDS)
        except pypilib.Unavailable as why:
            raise Skip(str(why)) from None
        new = os.path.join(scratch, "new")
        unpack(wheels, new)
        missing_libraries.make(os.path.join(new, "torch/lib/libtorch_python.so"), NVIDIAS, "libtorch_cuda.so")
        os.rename(new, folder)


def check(python, env):
    """Whether it can be imported, with what an optimizer imports at its first use. Leaves bytecode for trainings."""
    program = "import torch, torch._dynamo; assert not torch.cuda.is_available()"
    works = subprocess.run([python, "-c", program], env={**os.environ, **env}, capture_output=True, text=True,
                           timeout=lib.PATIENCE, check=False)
    if works.returncode:
        why = (works.stderr.strip().splitlines() or [f"exit status {works.returncode}"])[-1]
        raise Skip("PyPI's PyTorch cannot be imported: " + why)


def environment(python):
    """The environment for a Python to find PyPI's PyTorch."""
    if os.uname().machine != "x86_64":
        raise Skip("PyPI's PyTorch is made to run without CUDA on x86-64 only")
    version = version_of(python)
    folder = os.path.join(lib.TOP, f"build/pypi-torch-{pypilib.TORCH}-{version}")
    if not os.path.isdir(folder):
        build(folder, version)
    env = {"PYTHONPATH": folder, **lib.BYTECODE}
    check(python, env)
    return env
