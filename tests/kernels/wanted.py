# SPDX-License-Identifier: BSD-2-Clause
"""Fetches what tests of the suite fetch themselves where there is a network: for guests, which have none. It lies in the
tree where those tests look for it; what cannot be fetched they skip in the guest."""
import glob
import os
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[1:1] = [os.path.join(TOP, "tests"), os.path.join(TOP, "tests/bpf")]
import debian_c10  # noqa: E402
import pypilib  # noqa: E402

PLATFORMS = {"amd64": "manylinux_2_28_x86_64", "arm64": "manylinux_2_28_aarch64"}


def greenlet(top, arch, version):
    return [pypilib.greenlet(os.path.join(top, "build"), version, "--platform", PLATFORMS[arch])]


def libc10(top, arch, _):
    """Without PyTorch's large libraries, which the packages have, too."""
    got = subprocess.run([os.path.join(top, "tests/bpf/get_packages.sh"), os.path.join(top, "build", debian_c10.PLACE),
                          debian_c10.COMPONENT, debian_c10.FILE, *debian_c10.PACKAGES],
                         capture_output=True, text=True, check=False,
                         env={**os.environ, "PACKAGES_ARCH": arch, "PACKAGES_SUITE": debian_c10.SUITE})
    if got.returncode:
        raise pypilib.Unavailable(got.stderr.strip() or f"{debian_c10.FILE} cannot be had")
    folder = os.path.dirname(got.stdout.strip())
    return [path for pattern in debian_c10.USED for path in glob.glob(os.path.join(folder, pattern))]


def fetch(top, arch, version, say):
    """Places in the tree `top`, for an architecture and a version of Python."""
    places = []
    for one in greenlet, libc10:
        try:
            places += [os.path.relpath(path, top) for path in one(top, arch, version)]
        except (pypilib.Unavailable, OSError) as why:
            say(f"{one.__name__}: {why}")
    return places
