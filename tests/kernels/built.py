# SPDX-License-Identifier: BSD-2-Clause
"""Builds the kernel with pages of 64 KiB, of which Debian has no package: from Debian's source, with the few parts that
the checks need (arm64-64k.config). It is built once, in 15 minutes of CPU time, with 3 GB of storage meanwhile."""
import glob
import os
import shutil
import subprocess
import zlib

import packages
from packages import Unavailable

SOURCE = "linux-source-6.12"
ARCH = "arm64"
CONFIG = os.path.join(os.path.dirname(os.path.abspath(__file__)), "arm64-64k.config")
NEEDS = {"flex": "flex", "bison": "bison", "bc": "bc", "pahole": "dwarves", "xz": "xz-utils"}   # program: package


def run(*argv, **options):
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, **options)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["it says nothing"])[-1]
        raise Unavailable(f"{os.path.basename(argv[0])} {argv[1]}: {last[-300:]}")
    return done.stdout


def unpack_source(archive, place):
    """Of the newest source in the archive's suites: its folder, and the package's version."""
    got = archive.apt_get("download", SOURCE, cwd=place)
    files = glob.glob(os.path.join(place, SOURCE + "_*.deb"))
    if got.returncode or not files:
        raise Unavailable(f"{SOURCE} cannot be fetched: {(got.stderr.splitlines() or [''])[-1]}")
    run("dpkg-deb", "-x", files[0], place)
    run("tar", "-xf", f"{place}/usr/src/{SOURCE}.tar.xz", "-C", place)
    return os.path.join(place, SOURCE), os.path.basename(files[0]).split("_")[1]


def wanted():
    with open(CONFIG, encoding="ascii") as file:
        return {line for line in file.read().splitlines() if line.startswith("CONFIG_")}


def build(archive, place, cross):
    """(the kernel, its release, the package's version)"""
    source, version = unpack_source(archive, place)
    make = [os.environ.get("MAKE", "make"), "-C", source, "O=" + os.path.join(place, "o"), "ARCH=" + ARCH,
            f"CROSS_COMPILE={cross}-"]
    run(*make, "KCONFIG_ALLCONFIG=" + CONFIG, "allnoconfig")
    with open(os.path.join(place, "o/.config"), encoding="ascii") as file:
        lacking = wanted() - set(file.read().splitlines())
    if lacking:
        raise Unavailable(f"{SOURCE} has no {', '.join(sorted(lacking))}")
    run(*make, f"-j{os.cpu_count()}", "Image.gz")
    release = run(*make, "-s", "kernelrelease").split()[-1]
    return os.path.join(place, "o/arch", ARCH, "boot/Image.gz"), release, version


def kernel(archive, word, cross):
    """A Kernel, or Unavailable."""
    with open(CONFIG, "rb") as file:
        name = f"linux-{word}-{zlib.crc32(file.read()):08x}"
    found = packages.Kernel(word, name, "", packages.unpacked(archive.folder, name), ARCH)
    place = found.folder + ".new"
    lacking = [package for program, package in NEEDS.items() if not shutil.which(program)]
    if found.image():
        return found
    try:
        if lacking:
            raise Unavailable("apt-get install " + " ".join(lacking))
        shutil.rmtree(place, ignore_errors=True)
        os.makedirs(os.path.join(found.folder, "boot"), exist_ok=True)
        os.makedirs(place)
        image, release, found.version = build(archive, place, cross)
        shutil.move(image, os.path.join(found.folder, "boot/vmlinuz-" + release))
    except (Unavailable, OSError) as why:
        return Unavailable(str(why))
    finally:
        shutil.rmtree(place, ignore_errors=True)
    return found
