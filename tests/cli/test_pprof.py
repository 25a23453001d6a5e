#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Profiles for pprof: of each recording in tests/data the sums are those of the JSON report, by a reader of our own and by
pprof itself; names, labels and mappings are those of the stack traces."""
import glob
import json
import os
import subprocess
import sys
import tempfile

from cases import BIN, PATIENCE, TOP, check, done, skip

sys.path[:0] = [os.path.join(TOP, "tests"), os.path.join(TOP, "tests", "recordings")]
import pproflib  # noqa: E402
import recfile  # noqa: E402
import wire  # noqa: E402
from foreign import HOSTILE, first_bad  # noqa: E402

DATA = sorted(glob.glob(os.path.join(TOP, "tests/data/**/*.gmt"), recursive=True))
# The sample types, and the members of JSON that they are.
TYPES = {"alloc_objects": "allocs", "alloc_space": "alloc_bytes", "inuse_objects": "live_count", "inuse_space": "live_bytes",
         "peak_space": "at_peak_bytes", "growth_space": "grown_bytes", "old_objects": "old_count", "old_space": "old_bytes"}
FOLDED = {"live": "inuse_space", "peak": "peak_space", "allocated": "alloc_space", "old": "old_space"}
COUNTS = {"alloc_objects", "inuse_objects", "old_objects"}
LABELS = {"kind", "gpu", "device", "pid", "comm", "owner", "allocator", "category", "module"}


def run(*words):
    said = subprocess.run([BIN, *words], capture_output=True, text=True, timeout=PATIENCE, check=False,
                          env={**os.environ, "HOME": "/nonexistent", "LC_ALL": "C"})
    return said.returncode, said.stdout, said.stderr


def profile_of(folder, path, *options):
    to = os.path.join(folder, os.path.basename(path) + ".pb.gz")
    code, _, err = run("report", "-qq", *options, "-o", to, path)
    assert not code, err
    return to


# ---- the sums that JSON has ----

def rows_of(lists):
    """Each row once: a row is in the list of each order in which it is not 0."""
    rows = {}
    for rows_of_order in lists.values():
        for row in rows_of_order:
            rows[row.get("stack")] = row
    return list(rows.values())


def sums_of(rows):
    return {name: sum(row[member] for row in rows) for name, member in TYPES.items()}


def sums_of_gpu(gpu):
    sums = sums_of(rows_of(gpu["stacks"]["top"]))
    sums["inuse_space"] += max(gpu["stacks"]["unexplained_bytes"] or 0, 0)
    return sums


def has_blocks(gpu):
    return gpu["torch"] and any(owner["owner"] != "(without a stack)" for owner in gpu["torch"]["stacks"]["owners"])


def folded_sum(path, order):
    text = run("report", "-q", "--folded", "-", "--folded-by", order, path)[1]
    return sum(int(line.rpartition(" ")[2]) for line in text.splitlines())


def wanted_sums(path):
    """(sums, view). Where blocks take the place of segments, JSON does not tell which stack traces are the segments':
    then the sums of bytes are those of folded stack traces, and the others are not known."""
    view = json.loads(run("report", "-q", "--json", "--top", "100000", path)[1].splitlines()[-1])
    if any(has_blocks(gpu) for process in view["processes"] for gpu in process["gpus"]):
        return {name: folded_sum(path, order) for order, name in FOLDED.items()}, view
    total = dict.fromkeys(TYPES, 0)
    for process in view["processes"]:
        parts = [sums_of_gpu(gpu) for gpu in process["gpus"]] + [sums_of(rows_of(process["host_stacks"]["top"]))]
        for part in parts:
            total = {name: total[name] + part[name] for name in total}
    return total, view


def are_same(got, wanted):
    return set(got) == set(TYPES) and all(got[name] == wanted[name] for name in wanted)


def held(view):
    """What the processes hold by the report's own sums."""
    gpus = [gpu for process in view["processes"] for gpu in process["gpus"]]
    return (sum((gpu["physical"] or gpu["attributed"])["live_bytes"] for gpu in gpus) +
            sum(process["host_stacks"]["live_bytes"] for process in view["processes"]))


# ---- the cases ----

def recordings(folder):
    wrong, theirs, exact, seen = [], [], 0, set()
    try:
        pproflib.program()
        why = None
    except pproflib.Unavailable as error:
        why = str(error)
    for path in DATA:
        wanted, view = wanted_sums(path)
        to = profile_of(folder, path)
        profile = pproflib.decode(to)
        if not are_same(pproflib.totals(profile), wanted):
            wrong.append(f"{path}: {pproflib.totals(profile)}, not {wanted}")
        exact += wanted["inuse_space"] == held(view) > 0
        for sample in profile["samples"]:
            seen |= set(sample["labels"])
            if not set(sample["labels"]) <= LABELS or not {"pid", "kind"} <= set(sample["labels"]) or not sample["frames"]:
                wrong.append(f"{path}: {sample}")
        if why is None and profile["samples"] and not are_same(pproflib.raw_totals(to), pproflib.totals(profile)):
            theirs.append(f"{path}: {pproflib.raw_totals(to)}")
    check(f"{len(DATA)} recordings: each sum is the report's", not wrong and len(DATA) > 30, "\n".join(wrong[:5]))
    check("the live memory of most is the sum of what processes hold", exact > len(DATA) // 2, exact)
    check("each label is used", seen == LABELS, seen)
    if why:
        skip("pprof reads the same sums", why)
    else:
        check("pprof reads the same sums", not theirs, "\n".join(theirs[:5]))
    return why


def printed(folder):
    """What pprof prints of a training."""
    path = os.path.join(TOP, "tests/data/found/h200-logits.gmt")
    to = profile_of(folder, path)
    wanted = wanted_sums(path)[0]
    top = pproflib.run(to, "-top", "-unit=B", "-nodecount=10000", "-nodefraction=0")
    check("-top: live memory unless something else is asked for, its program and its sum",
          "Type: inuse_space" in top and "File: python3\n" in top and f" {wanted['inuse_space']}B total" in top, top[:400])
    wanted = pproflib.totals(pproflib.decode(to))
    for kind in wanted:                     # where some have shrunk, the total is that of the absolute values
        said = pproflib.run(to, "-top", "-unit=" + ("count" if kind in COUNTS else "B"), "-sample_index=" + kind,
                            "-nodecount=10000", "-nodefraction=0")
        count = f"{wanted[kind]}{'' if kind in COUNTS else 'B'}"
        check(f"-top of {kind}", not wanted[kind] or f"nodes accounting for {count}, " in said, said[:400])
    lines = pproflib.run(to, "-top", "-lines", "-sample_index=alloc_space")
    check("lines of Python, and native functions", "logits /srv/train/train.py:120\n" in lines and
          "torch::autograd::Engine::thread_main\n" in lines, lines[:400])
    tags = pproflib.run(to, "-tags")
    check("-tags: who and what for", all(f" {tag}: " in tags for tag in LABELS), tags)
    one = pproflib.run(to, "-top", "-tagfocus=category=workspace", "-unit=B")
    check("-tagfocus", "allocates" not in one and "accounting for" in one and "68157440B" in one, one[:400])
    check("-comments: who wrote it", "gpumemtrace 0" in pproflib.run(to, "-comments"))
    check("-traces and -peek find frames", "Block.forward" in pproflib.run(to, "-peek=Block.forward"))
    same = pproflib.run(to, "-top", "-unit=B", "-diff_base=" + to)
    check("two profiles can be compared", f"accounting for 0, 0% of {wanted['inuse_space']}B total" in same, same[:400])


# ---- names that others choose ----

def story(folder):
    w, apis, records = wire.Wire(), wire.apis(), []
    bad = HOSTILE[:100]

    def put(kind, at, /, tgid=7, **values):
        records.append(w.record(kind, tgid=tgid, tid=tgid, ts_ns=10**12 + at, **values))
    put("SESSION", 0, tgid=0, wall_ns=1770113700 * 10**9, layers=1, version="0.1.0", host="h")
    put("PROC", 0, uid=0, ns_pid=7, comm=bad[:15], cmdline="x")
    put("ATTACH", 0, flags=1)
    for number, texts in ((1, (bad, b"/opt/" + bad, b"")), (2, (b"", b"/opt/libx.so", b"")), (3, (b"f" * 9000, b"", b"/a.py"))):
        tail = b"".join(text + b"\0" for text in texts)
        put("SYMBOL", 0, tgid=0, id=number, line=3, kind=int(number == 3), offset=0x1f if number == 2 else 0,
            function_len=len(texts[0]), module_len=len(texts[1]), file_len=len(texts[2]), tail=tail + b"\0" * (-len(tail) % 8))
    put("STACK", 0, id=9, reason=1)
    put("STACK_FRAMES", 0, stack_id=9, count=3, tail=b"".join(n.to_bytes(4, "little") for n in (1, 2, 3, 0)))
    put("CALL", 1, api=apis["cuMemHostAlloc"].id, seq=1, phase=0, stack_id=9,
        tail=b"".join(v.to_bytes(8, "little") for v in (0x7c0000000000, 12345, 0)))
    path = os.path.join(folder, "hostile.gmt")
    recfile.write(path, records)
    return path


def hostile(folder, has_pprof):
    to = profile_of(folder, story(folder))
    profile = pproflib.decode(to)
    check("hostile names: one sample with three frames", len(profile["samples"]) == 1 and
          len(profile["samples"][0]["frames"]) == 3 and pproflib.totals(profile)["inuse_space"] == 12345, profile)
    (bad, _, _, module), nameless, (long, file, line, _) = profile["samples"][0]["frames"]
    check("they survive without what a terminal obeys", "]0;x?" in bad and module.startswith("/opt/?]0;x") and
          not first_bad((bad + module).encode()), (bad, module))
    check("a function without a name is its place", nameless[0] == "libx.so+0x1f" and nameless[3] == "/opt/libx.so", nameless)
    check("a long name is cut", len(long) == 4096 and long.endswith("f...") and (file, line) == ("/a.py", 3), len(long))
    check("unknown labels are not there", set(profile["samples"][0]["labels"]) == {"kind", "pid", "comm", "owner"},
          profile["samples"])
    if has_pprof:
        said = pproflib.run(to, "-top", "-unit=B") + pproflib.run(to, "-raw") + pproflib.run(to, "-tags")
        check("pprof prints them", "12345B total" in said and "libx.so+0x1f" in said and not first_bad(said.encode()), said)


def files(folder):
    path = os.path.join(TOP, "tests/data/kept/train.gmt")
    to = profile_of(folder, path)
    with open(to, "rb") as file:
        first = file.read()
    said = subprocess.run([BIN, "report", "--pprof", "-", path], capture_output=True, timeout=PATIENCE, check=False)
    check("--pprof - is standard output, the same each time", said.returncode == 0 and said.stdout == first, said.stderr)
    code, _, err = run("report", "--pprof", "/nowhere/x", path)
    check("a file that cannot be written is an error", code == 1 and "/nowhere/x: No such file" in err, err)
    code, _, err = run("report", "-qq", "--pprof", "/dev/full", path)
    check("so is a full disk", code == 1 and "/dev/full: No space left" in err, err)
    both, one = os.path.join(TOP, "tests/data/h200x2-ioctls-native.gmt"), os.path.join(folder, "x.pprof")
    code, _, err = run("report", "-qq", "-o", one, both, "--gpu", "1")
    gpus = {s["labels"]["gpu"] for s in pproflib.decode(profile_of(folder, both))["samples"]}
    check("the profile of one GPU", code == 0 and gpus == {"0", "1"} and
          {s["labels"]["gpu"] for s in pproflib.decode(one)["samples"]} == {"1"}, err)
    empty = os.path.join(folder, "empty.gmt")
    w = wire.Wire()
    recfile.write(empty, [w.record("SESSION", ts_ns=10**9, layers=1, version="0.1.0", host="h")])
    code, _, err = run("report", "--pprof", os.path.join(folder, "e.pb.gz"), empty)
    check("an empty profile says why", "is empty: no process was traced" in err, err)
    check("... and can be read", pproflib.decode(os.path.join(folder, "e.pb.gz"))["samples"] == [])


def main():
    with tempfile.TemporaryDirectory() as folder:
        why = recordings(folder)
        if why:
            skip("pprof prints profiles", why)
        else:
            printed(folder)
        hostile(folder, not why)
        files(folder)
    return done()


sys.exit(main())
