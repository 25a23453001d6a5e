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
import pythons  # noqa: E402

MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}
TAGS = "manylinux_2_28", "manylinux2014"        # of wheels, for new and for old versions of Python


def greenlet(top, arch, version):
    platforms = [option for tag in TAGS for option in ("--platform", f"{tag}_{MACHINES[arch]}")]
    return [pypilib.greenlet(os.path.join(top, "build"), version, *platforms)]


def libc10(top, arch):
    """Without PyTorch's large libraries, which the packages have, too."""
    got = subprocess.run([os.path.join(top, "tests/bpf/get_packages.sh"), os.path.join(top, "build", debian_c10.PLACE),
                          debian_c10.COMPONENT, debian_c10.FILE, *debian_c10.PACKAGES],
                         capture_output=True, text=True, check=False,
                         env={**os.environ, "PACKAGES_ARCH": arch, "PACKAGES_SUITE": debian_c10.SUITE})
    if got.returncode:
        raise pypilib.Unavailable(got.stderr.strip() or f"{debian_c10.FILE} cannot be had")
    folder = os.path.dirname(got.stdout.strip())
    return [path for pattern in debian_c10.USED for path in glob.glob(os.path.join(folder, pattern))]


def fetch(top, arch, version, checks, say):
    """(places in the tree `top`, CPythons that the guest has beside its machine's own, which has this version)"""
    found, places = pythons.fetch(top, arch, version) if "pythons" in checks else pythons.Found(), []

    def add(what, one, *more):
        try:
            places.extend(os.path.relpath(path, top) for path in one(top, arch, *more))
        except (pypilib.Unavailable, OSError) as why:
            say(f"{what}: {why}")
    if not checks:
        return places, found
    for each in version, *found.versions:
        add(f"greenlet for {each}", greenlet, each)
    add("libc10", libc10)
    return places + found.places, found
