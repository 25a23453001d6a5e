#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Compares unwinding tables of arm64's libraries with libdw, row by row (test_tables_libdw): Debian's libc, libpython and
libcuda of two suites, and PyTorch's libraries of PyPI's aarch64 wheel. None of them runs here.

Packages are fetched once (15 MB) and kept below build/. The wheel has 420 MB and is fetched only where $ARM64_WHEEL is set,
once: of its libraries build/ keeps the headers and the call frame information (15 MB), with holes in the place of everything else.
"""
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(1, os.path.join(TOP, "tests"))
import pypilib  # noqa: E402

COMPARE = os.path.join(TOP, os.environ.get("BUILD", "build"), "tests", "symbol", "test_tables_libdw")
KEPT = os.path.join(TOP, "build", "arm64-libraries")
PACKAGES = (            # suite, component, package, file
    ("bookworm", "main", "libc6", "libc.so.6"),
    ("trixie", "main", "libc6", "libc.so.6"),               # return addresses are signed from trixie on
    ("bookworm", "main", "libpython3.11", "libpython3.11.so.1.0"),
    ("trixie", "main", "libpython3.13", "libpython3.13.so.1.0"),
    ("trixie", "main", "libffi8", "libffi.so.8.*"),        # a record in its caller's memory
    ("bookworm", "non-free", "libcuda1", "libcuda.so.535.*"),
    ("trixie", "non-free", "libcuda1", "libcuda.so.550.*"),
)
TORCH = "libc10.so", "libtorch_cpu.so"
WHEEL = "--platform", "manylinux_2_28_aarch64", "--python-version", "3.12"
SECTIONS = b".eh_frame", b".eh_frame_hdr", b".note.gnu.build-id", b".shstrtab"
PHDRS = 4096            # the headers at the start of a file lie in its first page


def from_debian(suite, component, package, file):
    script = os.path.join(TOP, "tests/bpf/get_packages.sh")
    got = subprocess.run([script, os.path.join(KEPT, f"{suite}-{package}"), component, file, package], check=False,
                         capture_output=True, text=True, env={**os.environ, "PACKAGES_ARCH": "arm64", "PACKAGES_SUITE": suite})
    if got.returncode:
        raise pypilib.Unavailable(got.stderr.strip() or "it cannot be had")
    return got.stdout.strip()


def parts_to_keep(data):
    """(offset, bytes) of what the comparison reads of an ELF file."""
    shoff, = struct.unpack_from("<Q", data, 40)
    size, count, names = struct.unpack_from("<3H", data, 58)
    headers = [struct.unpack_from("<IIQQQQ", data, shoff + i * size) for i in range(count)]
    texts = headers[names][4]
    wanted = [(h[4], h[5]) for h in headers
              if data[texts + h[0]:data.index(b"\0", texts + h[0])] in SECTIONS]
    return [(0, PHDRS), (shoff, size * count), *wanted]


def keep_headers(data, path):
    with open(path + ".new", "wb") as file:
        for offset, size in parts_to_keep(data):
            file.seek(offset)
            file.write(data[offset:offset + size])
        file.truncate(len(data))
    os.rename(path + ".new", path)


def from_pypi():
    folder = os.path.join(KEPT, "torch-" + pypilib.TORCH)
    if not os.path.isdir(folder) and not os.environ.get("ARM64_WHEEL"):
        raise pypilib.Unavailable("ARM64_WHEEL=1 fetches 420 MB for it")
    if not os.path.isdir(folder):
        with tempfile.TemporaryDirectory() as scratch:
            wheels = pypilib.download(scratch, ["torch==" + pypilib.TORCH], *WHEEL)
            shutil.rmtree(folder + ".new", ignore_errors=True)
            os.makedirs(folder + ".new")
            with zipfile.ZipFile(wheels[0]) as wheel:
                for name in TORCH:
                    keep_headers(wheel.read("torch/lib/" + name), os.path.join(folder + ".new", name))
        os.rename(folder + ".new", folder)
    return [os.path.join(folder, name) for name in TORCH]


def main():
    files, skipped = [], []
    for package in PACKAGES:
        try:
            files.append(from_debian(*package))
        except (pypilib.Unavailable, OSError) as why:
            skipped.append(f"{package[2]} of {package[0]} # SKIP {why}")
    try:
        files += from_pypi()
    except (pypilib.Unavailable, OSError) as why:
        skipped.append(f"PyTorch {pypilib.TORCH} for aarch64 # SKIP {why}")
    number = status = 0
    if files:
        got = subprocess.run([COMPARE, *files], stdout=subprocess.PIPE, text=True, check=False)
        lines = [line for line in got.stdout.splitlines() if not line.startswith("1..")]
        number, status = sum(line.startswith(("ok", "not ok")) for line in lines), got.returncode
        print("\n".join(lines))
    for number, line in enumerate(skipped, number + 1):
        print(f"ok {number} - {line}")
    print(f"1..{number}")
    return status


if __name__ == "__main__":
    sys.exit(main())
