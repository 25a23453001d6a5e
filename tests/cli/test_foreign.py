#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Foreign text does nothing to a terminal: names in recordings and on the command line that hold escapes, newlines and
broken UTF-8 come out as printable text, in every format."""
import glob
import gzip
import os
import sqlite3
import subprocess
import sys
import tempfile

from cases import BIN, PATIENCE, TOP, check, done, skip

sys.path.insert(1, os.path.join(TOP, "tests", "recordings"))
import perfettolib  # noqa: E402
import pproflib  # noqa: E402
import recfile  # noqa: E402
from foreign import HDR_BYTES, HOSTILE, first_bad, spoil, spoiled  # noqa: E402

KEPT = sorted(glob.glob(os.path.join(TOP, "tests/data/kept/*.gmt")))


def copy_of(folder, path):
    """The recording with hostile names; and whether it has any."""
    records = list(spoiled(recfile.read(path), recfile.RAW_MAX))
    to = os.path.join(folder, os.path.basename(path))
    recfile.write(to, records)
    return to, b"\x1b]0;x" in b"".join(records)


def run(*words, **more):
    said = subprocess.run([BIN, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=dict(os.environ, LC_ALL="C"), timeout=PATIENCE, check=False, **more)
    return said.returncode, said.stdout, said.stderr


COMMANDS = (("replay",), ("replay", "--full-stacks", "--top", "50"), ("replay", "--json"), ("oom",), ("oom", "--json"),
            ("records",), ("records", "--json"), ("replay", "-q", "--folded", "-"), ("replay", "-q", "--html", "-"),
            ("diff", "--full"), ("diff", "--json"), ("report", "--full"), ("report", "--json"))


def recordings(folder):
    bad = {words: [] for words in COMMANDS}
    hostile = 0
    for path in KEPT:
        copy, is_hostile = copy_of(folder, path)
        hostile += is_hostile
        for words in COMMANDS:
            code, out, err = run(*words, *[copy] * (1 + (words[0] in ("diff", "report"))))
            out = out.replace(b"\t", b" ") if "--html" in words else out     # its scripts have tabs
            if code not in (0, 1) or first_bad(out) or first_bad(err):
                bad[words].append((path, code, first_bad(out), first_bad(err)))
    check("the recordings' names are hostile now", hostile == len(KEPT) and len(KEPT) > 10, hostile)
    for words, list_ in bad.items():
        check(f"hostile names in a recording: {' '.join(words)}", not list_, list_[:1])


FILES = ("html", "folded", "pb.gz", "perfetto-trace", "sqlite")


def texts_of(path):
    """The texts in a file that a report has written."""
    if path.endswith(".sqlite"):
        with sqlite3.connect(path) as db:
            tables = [name for name, in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            yield from (value.encode() for table in tables for row in db.execute(f"SELECT * FROM {table}") for value in row
                        if isinstance(value, str))
    elif path.endswith(".pb.gz"):
        with gzip.open(path) as file:
            yield from (value for number, value in pproflib.fields(file.read()) if number == pproflib.STRING_TABLE)
    elif path.endswith(".perfetto-trace"):
        yield from (frame.name.encode() + frame.module.encode() + frame.file.encode()
                    for _, samples in perfettolib.Trace(path).heaps.values() for sample in samples for frame in sample.frames)
    else:
        with open(path, "rb") as file:
            yield file.read().replace(b"\t", b" ")      # the scripts of the page have tabs


def files(folder):
    """The same in the files of one report."""
    copy, _ = copy_of(folder, os.path.join(TOP, "tests/data/found/h200-logits.gmt"))
    paths = [os.path.join(folder, f"out.{suffix}") for suffix in FILES]
    code, _, err = run("report", "-q", *(word for path in paths for word in ("-o", path)), copy)
    check("a report of hostile names writes its files", not code and not err, err)
    for path in paths:
        try:
            text = b"\n".join(texts_of(path))
        except perfettolib.Unavailable as why:
            skip(f"hostile names in {os.path.basename(path)}", why)
            continue
        check(f"hostile names in {os.path.basename(path)}", b"[31m" in text and not first_bad(text), first_bad(text))


def command_lines(folder):
    name = HOSTILE.replace(b"/", b"")
    path = os.path.join(os.fsencode(folder), name)
    with open(path, "wb") as file:
        file.write(b"rule \x1b[31m\xff\x07\n")
    lines = (("replay", path), ("oom", path), ("records", path), ("replay", "--owners", path, KEPT[0]), (name,),
             ("--" + "\x1b[1m",), ("replay", "--folded", path + b"/none", KEPT[0]), ("-p", name), ("--layers", name),
             ("replay", "--" + "full=\x1b[1m", path), ("replay", "-o", path, path))
    for words in lines:
        code, out, err = run(*words)
        check(f"hostile words: {words[:2]!r}"[:60], code and err.count(b"\n") == 1 and not first_bad(out + err), err)


def self_test():
    """The eye of this test."""
    check("printable text is told from other text", not first_bad("Größe 1\n".encode()) and
          all(map(first_bad, (b"\x1b", b"\r", b"\t", b"\xff", b"\x7f", "\x9b".encode()))))
    check("a record is spoiled", spoil(b"\0" * HDR_BYTES + b"name\0\1") == b"\0" * HDR_BYTES + HOSTILE[:4] + b"\0\1")


def main():
    with tempfile.TemporaryDirectory() as folder:
        self_test()
        recordings(folder)
        files(folder)
        command_lines(folder)
    return done()


if __name__ == "__main__":
    sys.exit(main())
