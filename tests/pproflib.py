# SPDX-License-Identifier: BSD-2-Clause
"""Reads profiles for pprof, and runs pprof: that of $PPROF, an installed one, or the one in Debian's Go (60 MB, once;
build/ keeps the 10 MB of pprof). A reader of its own serves where there is none."""
import gzip
import os
import re
import shutil
import subprocess
import tempfile

from patience import PATIENCE

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
KEPT = os.path.join(TOP, "build", "pprof")
STRING_TABLE = 6         # a field of profile.proto
SAMPLE = re.compile(r"^ +(-?\d+(?: +-?\d+)*): [\d ]+$", re.M)


class Unavailable(Exception):
    pass


def ask(*argv, **more):
    return subprocess.run(argv, capture_output=True, text=True, timeout=PATIENCE, check=False, **more)


def debians():
    """Unpacks the program out of Debian's Go."""
    depends = ask("apt-cache", "depends", "golang-go") if shutil.which("apt-cache") else None
    package = depends and re.search(r"golang-[\d.]+-go", depends.stdout)
    if not package:
        raise Unavailable("apt knows no package of Go")
    os.makedirs(os.path.dirname(KEPT), exist_ok=True)
    with tempfile.TemporaryDirectory(dir=os.path.dirname(KEPT)) as folder:
        got = ask(os.path.join(TOP, "tests/bpf/get_packages.sh"), folder, "main", "pprof", package.group())
        if got.returncode:
            raise Unavailable(got.stderr.strip() or "Debian's Go cannot be had")
        os.replace(got.stdout.strip(), KEPT)
    return KEPT


def program():
    """The path of pprof; Unavailable where there is none."""
    found = os.environ.get("PPROF") or shutil.which("pprof") or (KEPT if os.path.exists(KEPT) else None)
    if not found and shutil.which("go"):
        said = ask("go", "tool", "-n", "pprof")
        found = said.stdout.strip() if not said.returncode and os.path.exists(said.stdout.strip()) else None
    return found or debians()


def run(path, *options):
    """What pprof prints about a profile."""
    said = ask(program(), *options, path, env={**os.environ, "PPROF_BINARY_PATH": "/nonexistent", "HOME": "/nonexistent",
                                               "PPROF_TMPDIR": os.path.dirname(path), "TZ": "UTC"})
    if said.returncode:
        raise AssertionError(f"pprof {' '.join(options)}: {said.returncode}: {said.stderr}")
    return said.stdout


def raw_totals(path):
    """The sum of each sample type, by pprof."""
    said = run(path, "-raw")
    types = re.search(r"^Samples:\n(.*)$", said, re.M).group(1).replace("[dflt]", "").split()
    sums = [0] * len(types)
    for line in SAMPLE.findall(said):
        sums = [a + int(b) for a, b in zip(sums, line.split())]
    return dict(zip((t.split("/")[0] for t in types), sums))


# ---- a reader of its own ----

def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 0x7f) << shift
        shift += 7
        at += 1
        if data[at - 1] < 0x80:
            return value, at


def fields(data):
    """(number, value) of each field of a message: an int or bytes."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        value, at = varint(data, at)
        if tag & 7 == 2:
            value, at = data[at:at + value], at + value
            assert at <= len(data), "a field ends behind its message"
        else:
            assert tag & 7 == 0, f"wire type {tag & 7}"
        yield tag >> 3, value


def packed(data):
    values, at = [], 0
    while at < len(data):
        value, at = varint(data, at)
        values.append(value - (1 << 64) if value >> 63 else value)
    return values


def decode(path):
    """{"types": names, "samples": [{"values": {type: n}, "frames": [(function, file, line)], "labels": {}}],
    "files": names of mappings, "comments": ...}"""
    with open(path, "rb") as file:
        profile = list(fields(gzip.decompress(file.read())))
    texts = [value.decode() for number, value in profile if number == STRING_TABLE]
    assert texts[0] == "" and len(set(texts)) == len(texts), "texts that stand twice"

    def all_of(wanted):
        return [dict(fields(value)) for number, value in profile if number == wanted]
    functions = {f[1]: (texts[f.get(2, 0)], texts[f.get(4, 0)]) for f in all_of(5)}
    mappings = {m[1]: texts[m[5]] for m in all_of(3)}
    assert set(mappings) == set(range(1, len(mappings) + 1))
    frames = {}
    for location in all_of(4):
        assert location.get(2, 1) in mappings or 2 not in location
        line = dict(fields(location[4]))
        frames[location[1]] = (*functions[line[1]], line.get(2, 0), mappings.get(location.get(2), ""))
    types = [texts[t[1]] for t in all_of(1)]
    samples = []
    for value in (value for number, value in profile if number == 2):
        sample = list(fields(value))
        labels = [dict(fields(v)) for n, v in sample if n == 3]
        samples.append({"values": dict(zip(types, packed(dict(sample)[2]))),
                        "frames": [frames[i] for i in packed(dict(sample)[1])],
                        "labels": {texts[label[1]]: texts[label[2]] for label in labels}})
    return {"types": types, "samples": samples, "files": list(mappings.values()),
            "comments": [texts[v] for n, v in profile if n == 13]}


def totals(profile):
    return {t: sum(s["values"][t] for s in profile["samples"]) for t in profile["types"]}
