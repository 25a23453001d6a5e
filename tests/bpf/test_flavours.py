#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Driver releases 535 to 595 are all traced: entries with endbr64, and structures and queries that differ."""
import json
import subprocess
import sys

import lib
from lib import LIB, LIB_ENDBR, check, equal, trace

WORKLOADS = (("basic",), ("vmm",), ("pools",), ("contexts",), ("ipc",), ("host",), ("modules",))


def probe_count():
    listed = subprocess.run([lib.TOOL, "list", "--json"], capture_output=True, text=True, check=True).stdout
    return len(json.loads(listed)["probes"])


def one_driver(driver, libcuda, argv):
    root = lib.make_root(driver)
    _, report, _ = trace(*argv, lib=libcuda, root=root, env={"GPUMEMTRACE_STANDIN_ROOT": root})
    check(report["session"]["driver"].startswith(driver), "driver", report["session"]["driver"])
    equal(report["session"]["layers"], ["api", "kernel", "nvml", "framework"], "layers")


def driver_case(driver, libcuda):
    def test():
        for argv in WORKLOADS:
            try:
                one_driver(driver, libcuda, argv)
            except lib.Failure as why:
                raise lib.Failure(f"{' '.join(argv)}: {why}") from None
            lib.Process.end_all()
    test.__doc__ = f"driver {driver}" + (", entries with endbr64" if libcuda == LIB_ENDBR else "")
    return test


def behind_endbr64():
    """every probe is placed behind endbr64 where an entry begins with it, and nothing else is moved"""
    lib.needs_endbr64()
    _, report, _ = trace("basic", lib=LIB_ENDBR, env={"STANDIN_DRIVER": "580"})
    library = [l for l in report["libraries"] if l["path"] == LIB_ENDBR][0]
    check(library["probes"] > 100, "probes", library["probes"])
    equal(library["behind_endbr64"], library["probes"], "behind endbr64")
    equal(library["probes"] + library["absent"], probe_count(), "rows of the table")
    check(library["absent"] >= 9, "what 535 lacks is absent:", library["absent"])
    _, report, _ = trace("basic", lib=LIB)
    library = [l for l in report["libraries"] if l["path"] == LIB][0]
    equal((library["probes"], library["absent"], library["behind_endbr64"]), (probe_count(), 0, 0), "580")


def build_id():
    """the build id of a library has all of its digits"""
    notes = subprocess.run(["readelf", "-n", LIB], capture_output=True, text=True, check=True).stdout
    wanted = notes.partition("Build ID:")[2].split()[0]
    equal(len(wanted), 40, "digits of a SHA-1")
    _, report, _ = trace("basic", lib=LIB)
    equal([l["build_id"] for l in report["libraries"] if l["path"] == LIB], [wanted], "build id")


def entries_of_the_table():
    """every row of api.h is an entry of the stand-in that does what its operation says"""
    listed = subprocess.run([lib.TOOL, "list", "--json"], capture_output=True, text=True, check=True).stdout
    code = f"import ctypes, sys; cuda = ctypes.CDLL('{LIB}'); cuda.standin_unplayed.restype = ctypes.c_char_p; " \
           "print(*[w for w in sys.argv[1:] if not hasattr(cuda, w)], " \
           "*[w.decode() for w in map(cuda.standin_unplayed, range(256)) if w])"
    names = [probe["symbol"] for probe in json.loads(listed)["probes"]]
    missing = subprocess.run([sys.executable, "-c", code, *names], capture_output=True, text=True, check=True).stdout
    check(not missing.strip(), "missing in tests/standin/libcuda:", missing.strip())


def unknown_driver():
    """a release newer than any known: the newest layout is taken, and it works"""
    one_driver("599.10", LIB, ("basic",))


if __name__ == "__main__":
    lib.main(entries_of_the_table, behind_endbr64, build_id, driver_case("535", LIB_ENDBR), driver_case("550", LIB),
             driver_case("570", LIB), driver_case("580", LIB), driver_case("590", LIB), unknown_driver)
