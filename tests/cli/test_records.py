#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""`gpumemtrace records` prints each record of a file as a line, as text and as JSON, filtered, and stands hostile
files."""
import glob
import json
import os
import re
import struct
import subprocess
import sys
import tempfile

from cases import BIN, TOP, check, done

sys.path.insert(0, os.path.join(TOP, "tests", "recordings"))
import recfile  # noqa: E402
import synthetic  # noqa: E402
import wire  # noqa: E402

DATA = os.path.join(TOP, "tests", "data")
LINE = re.compile(r"[+-]\d+\.\d{9} (\w+|kind \d+)( pid \d+)?( tid \d+)?(, \d+ bytes)?( [\w.]+=.*)?$")
W = wire.Wire()
OTHER_NAMES = {"function_len", "module_len", "file_len"}     # of texts, which are there


def run(*words):
    said = subprocess.run([BIN, "records", *words], capture_output=True, timeout=60)
    return said.returncode, said.stdout.decode(), said.stderr.decode()


def objects(*words):
    code, out, err = run("--json", *words)
    check(" ".join(map(os.path.basename, words)) + ": exit status 0, no message", code == 0 and not err, err)
    return [json.loads(line) for line in out.splitlines()]


def number(value):
    """A field as a number, where it is one."""
    return int(value, 16) if isinstance(value, str) and value.startswith("0x") else value


def texts(fields):
    """Of a SYMBOL, by name."""
    parts = fields["tail"].split(b"\0")
    return {name: part.decode("utf-8", "replace") for name, part in zip(("function", "module", "file"), parts)}


def differences(record, line):
    """Between the bytes, as Python reads them by wire.h, and what the tool says."""
    try:
        kind, fields = W.parse(record)
    except struct.error:        # shorter than its kind
        return
    if kind is None:
        return
    if kind == "SYMBOL" and not texts(fields).items() <= line["fields"].items():
        yield f"{kind}: {line}"
    if line["kind"] != kind.lower() or line["pid"] != fields["hdr.tgid"] or line["size"] != len(record):
        yield f"{kind}: {line}"
    for name, wanted in fields.items():
        if name.startswith("hdr.") or "reserved" in name or name == "tail" or name in OTHER_NAMES:
            continue
        got = line["fields"].get(name)
        if isinstance(got, int) or isinstance(got, str) and got.startswith("0x") and isinstance(wanted, int):
            if number(got) != wanted:
                yield f"{kind}.{name}: {got}, not {wanted}"
        elif isinstance(wanted, tuple):
            if sum(got.values()) != sum(wanted):
                yield f"{kind}.{name}: {got}, not {wanted}"
        elif isinstance(wanted, bytes) and name == "uuid":
            if got != wanted.hex():
                yield f"{kind}.{name}: {got}"
        elif isinstance(wanted, bytes) and got != wanted.split(b"\0")[0].decode("utf-8", "replace"):
            yield f"{kind}.{name}: {got}, not {wanted}"
        elif got is None:
            yield f"{kind}.{name} is not there"


def whole_file(path):
    records, lines = list(recfile.read(path)), objects(path)
    wrong = [d for r, line in zip(records, lines) for d in differences(r, line)]
    check(os.path.basename(path) + ": each field is what the bytes say", len(records) == len(lines) and not wrong, wrong[:9])


def text_lines():
    code, out, err = run(os.path.join(DATA, "kept", "synthetic.gmt"))
    wrong = [line for line in out.splitlines() if not LINE.match(line)]
    check("text: every line has time, kind and fields", code == 0 and not err and not wrong, wrong[:9])
    kinds = {line.split()[1] for line in out.splitlines()}
    check("text: a kind that is not known is a number", "kind 32767 pid" in out and "kind 65535 pid" in out and "call" in kinds)
    check("text: a call has function, operation and values",
          "api=cuMemAlloc_v2 phase=done rc=0 seq=5 stack_id=0 unread=0 op=MEM_ALLOC values={ptr:0x7f0000000000,size:3145728}"
          in out, out[:3000])
    check("text: a record that is too short has the fields that it holds", " rm_alloc pid 1030 tid 1030 cause.api=0 " in out)
    code, out, _ = run("--kind", "symbol,stack_frames", os.path.join(DATA, "kept", "synthetic-dump.gmt"))
    check("text: names of frames", "function=forward module=/srv/me/train.py" in out and "symbols=[1,2]" in out, out[:900])


def filters():
    path = os.path.join(DATA, "kept", "calls.gmt")
    everything = objects(path)
    calls = objects("--kind", "call,MARK", path)
    check("--kind", {o["kind"] for o in calls} == {"call", "mark"} and
          calls == [o for o in everything if o["kind"] in ("call", "mark")])
    tid = next(o["tid"] for o in calls if o["tid"] != o["pid"])
    check("--thread", objects("--thread", str(tid), path) == [o for o in everything if o["tid"] == tid])
    pid = calls[0]["pid"]
    check("--pid", objects("-p", str(pid), path) == [o for o in everything if o["pid"] == pid])
    middle = everything[len(everything) // 2]["offset_ns"]
    seconds = f"{middle // 10**9}.{middle % 10**9:09d}"
    before, after = objects("--to", seconds, path), objects("--from", seconds, path)
    check("--from, --to", all(o["offset_ns"] <= middle + 1 for o in before) and all(o["offset_ns"] >= middle - 1 for o in after)
          and len(everything) <= len(before) + len(after) <= len(everything) + 50, (len(everything), len(before), len(after)))


def hostile():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "hostile.gmt")
        s = synthetic.Story("\033[31m\n\xff")
        s.pid = 5
        s.put("PROC_EXEC", comm=b"a\nb\x1b[2J\x07\xff")
        s.put("STACK", id=1, count=65535, reason=200)
        s.put("STACK_FRAMES", stack_id=1, count=0xffffffff)
        s.put("SYMBOL", id=1, function_len=65535, module_len=1, file_len=65535, tail=b"abc\x1b[0m\0\0\0\0\0"[:8])
        s.call("cuMemAlloc_v2", *range(40))
        for kind in W.kinds:
            s.raw(W.kinds[kind][0])
            s.raw(W.kinds[kind][0], b"\xff" * 8)
            s.raw(W.kinds[kind][0], b"\xff" * 1000)
        recfile.write(path, s.records)
        code, out, err = run(path)
        check("hostile: no control character", code == 0 and not err and not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", out), err)
        check("hostile: a line for each record", len(out.splitlines()) == len(s.records), len(out.splitlines()))
        check("hostile: JSON", len(objects(path)) == len(s.records))
    code, out, err = run(os.path.join(DATA, "kept", "cut.gmt"))
    check("a recording that was cut: its records, and a sentence", code == 0 and len(out.splitlines()) > 500 and "cut.gmt" in err,
          err)
    check("... with --strict an error", run("--strict", os.path.join(DATA, "kept", "cut.gmt"))[0] == 5)
    code, out, err = run("-q", os.path.join(DATA, "kept", "cut.gmt"))
    check("... with -q no sentence", code == 0 and out and not err, err)
    code, out, err = run("-q", BIN)
    check("no recording: an error, which -q does not hide", code == 1 and "not a gpumemtrace recording" in err, err)
    check("no recording", run(BIN)[0] == 1 and run("/nonexistent")[0] == 1 and run()[0] == 2)


def main():
    for path in sorted(glob.glob(os.path.join(DATA, "kept", "*.gmt")) + glob.glob(os.path.join(DATA, "*.gmt"))):
        if not path.endswith("/cut.gmt"):
            whole_file(path)
    text_lines()
    filters()
    hostile()
    return done()


raise SystemExit(main())
