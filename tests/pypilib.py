# SPDX-License-Identifier: BSD-2-Clause
"""Fetches wheels from PyPI with pip, which knows the machine's index, proxies and certificates."""
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile

from patience import PATIENCE

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TORCH = "2.11.0"        # the newest that tests take something of


class Unavailable(Exception):
    pass


def download(folder, packages, *options, seconds=PATIENCE):
    """The packages' wheels, without what they need, in a folder. It is pip's scratch folder, too: they may be large."""
    first = packages[0]
    argv = [sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-cache-dir", "--no-deps",
            "--retries", "1", "--timeout", "20", "--only-binary=:all:", *options, "-d", folder, *packages]
    try:
        got = subprocess.run(argv, capture_output=True, text=True, timeout=seconds, check=False,
                             env={**os.environ, "TMPDIR": folder})
    except subprocess.TimeoutExpired:
        raise Unavailable(f"{first} takes too long to fetch from PyPI") from None
    wheels = [os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".whl")]
    if got.returncode or not wheels:
        why = (got.stderr.strip().splitlines() or ["no wheel"])[-1]
        raise Unavailable(f"{first} cannot be fetched from PyPI: {why}")
    return wheels


def unpacked(name, packages):
    """Puts the packages, from PyPI once, below build/, where Python finds them from now on."""
    folder = os.path.join(TOP, "build", f"pypi-{name}")
    if not os.path.isdir(os.path.join(folder, name)):
        new = f"{folder}.{os.getpid()}"
        os.makedirs(new, exist_ok=True)
        for wheel in download(new, packages):
            with zipfile.ZipFile(wheel) as packed:
                packed.extractall(new)
            os.remove(wheel)
        try:
            os.rename(new, folder)
        except OSError:                 # another test was faster
            shutil.rmtree(new)
    sys.path.insert(1, folder)


def greenlet(build, version, *options):
    """A folder below build/ with greenlet for a version of Python ("3.11"), from PyPI once. options: for pip, of another
    machine."""
    folder = os.path.join(build, "pypi-greenlet-" + version)
    if not os.path.exists(folder):
        with tempfile.TemporaryDirectory(dir=build, prefix="pypi-greenlet-") as scratch:
            new = os.path.join(scratch, "new")
            for wheel in download(scratch, ["greenlet"], "--python-version", version, *options):
                with zipfile.ZipFile(wheel) as packed:
                    packed.extractall(new)
            os.rename(new, folder)
    return folder
