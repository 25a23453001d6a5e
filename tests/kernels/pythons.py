# SPDX-License-Identifier: BSD-2-Clause
"""CPythons that a guest has beside its machine's own: of Debian's suites, unpacked in the tree, and those that
build_python.sh built. The guest's C library is the newest suite's, for an older one does not do for all of them."""
import dataclasses
import glob
import os
import shutil
import subprocess

import pypilib

BUILT = os.environ.get("BUILT_PYTHONS", "")     # the DIR of build_python.sh
PLACE = "build/pythons"
VERSIONS = [f"3.{minor}" for minor in range(8, 15)]
# Of what a suite has: version: suite, and what _ctypes is linked with. No suite of Debian has the others.
SUITES = {"3.9": ("bullseye", "libffi7"), "3.11": ("bookworm", "libffi8"), "3.13": ("trixie", "libffi8"),
          "3.14": ("forky", "libffi8")}
NEWEST = "forky", "libc6", "libexpat1", "zlib1g", "libffi8"     # libraries that take the place of the machine's


@dataclasses.dataclass
class Found:
    programs: list = dataclasses.field(default_factory=list)    # in the tree
    versions: list = dataclasses.field(default_factory=list)
    places: list = dataclasses.field(default_factory=list)      # in the tree: all of their files
    libraries: dict = dataclasses.field(default_factory=dict)   # {name in the guest: file}
    lacking: dict = dataclasses.field(default_factory=dict)     # {version: why}


def unpacked(top, arch, name, file, suite, *packages):
    """The folder with the files of the packages."""
    folder = os.path.join(top, PLACE, name)
    got = subprocess.run([os.path.join(top, "tests/bpf/get_packages.sh"), folder, "main", file, *packages],
                         capture_output=True, text=True, check=False,
                         env={**os.environ, "PACKAGES_ARCH": arch, "PACKAGES_SUITE": suite})
    if got.returncode:
        raise pypilib.Unavailable(got.stderr.strip() or f"{suite}: {' '.join(packages)} cannot be had")
    return os.path.join(folder, "root")


def libraries_of(root):
    paths = glob.glob(os.path.join(root, "usr/lib/*-linux-gnu/*.so*"))
    return {os.path.relpath(path, root): path for path in paths}


def of_suite(top, arch, version):
    suite, ffi = SUITES[version]
    name = "python" + version
    return unpacked(top, arch, version, name, suite, name + "-minimal", f"lib{name}-minimal", f"lib{name}-stdlib", ffi)


def of_source(top, version):
    """A copy of what was built: a guest has files of its tree alone."""
    built, root = os.path.join(BUILT, "python" + version), os.path.join(top, PLACE, "built-" + version)
    if not BUILT or not os.path.isdir(built):
        raise pypilib.Unavailable("no suite of Debian has it, and BUILT_PYTHONS names none that was built")
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(built, root, symlinks=True)
    return root


def python(top, arch, version, found):
    name = "python" + version
    root = of_suite(top, arch, version) if version in SUITES else of_source(top, version)
    place = os.path.relpath(os.path.join(root, "usr"), top)
    found.programs.append(f"{place}/bin/{name}")
    found.places += [f"{place}/bin/{name}", f"{place}/lib/{name}"]
    found.versions.append(version)
    found.libraries = {**libraries_of(root), **found.libraries}


def fetch(top, arch, own):
    """Every version but the machine's own."""
    found = Found()
    try:
        found.libraries = libraries_of(unpacked(top, arch, "newest", "libc.so.6", *NEWEST))
    except (pypilib.Unavailable, OSError) as why:
        found.lacking = {version: str(why) for version in VERSIONS if version != own}
        return found
    for version in VERSIONS:
        try:
            if version != own:
                python(top, arch, version, found)
        except (pypilib.Unavailable, OSError) as why:
            found.lacking[version] = str(why)
    return found
