#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The database of a recording: its schema is the documented one, its numbers are the report's at each moment that the
report knows and at random instants, and a file that cannot be written is told and leaves nothing behind."""
import glob
import json
import os
import random
import re
import resource
import signal
import sqlite3
import struct
import subprocess
import sys
import tempfile

import cases
from cases import BIN, PATIENCE, TOP, check, skip

sys.path[:0] = [os.path.join(TOP, "tests"), os.path.join(TOP, "tests", "recordings")]
import pypilib  # noqa: E402
import recfile  # noqa: E402
import terminallib  # noqa: E402

DATA = os.path.join(TOP, "tests/data")
SCHEMA = os.path.join(TOP, "user/doc/sqlite-schema.sql")
PANDAS = ("pandas==2.2.3", "numpy==2.2.6", "python-dateutil==2.9.0.post0", "pytz==2025.2", "tzdata==2025.2", "six==1.17.0")
LARGE = os.path.join(DATA, "found/h200-logits.gmt")
INSTANTS = 10
LIVE = ("SELECT coalesce(sum(bytes), 0) FROM allocation WHERE place = 'gpu' AND process = ? AND gpu = ? AND birth <= ?"
        " AND (death IS NULL OR death > ?)")
FOREVER = 1 << 62


def report(*words, **options):
    return subprocess.run([BIN, "report", "-q", *words], capture_output=True, timeout=PATIENCE, check=False, **options)


def database(folder, path, suffix=".sqlite"):
    to = os.path.join(folder, os.path.basename(path) + suffix)
    done = report("-o", to, path)
    assert done.returncode == 0, (path, done.stderr)
    return sqlite3.connect(to)


def recordings():
    return [path for part in ("", "kept/", "found/") for path in sorted(glob.glob(f"{DATA}/{part}*.gmt"))]


def view_of(path):
    return json.loads(report("--json", path).stdout.splitlines()[-1])


# ---- numbers ----

def wrong_moments(db):
    """Moments whose bytes are not those of what lived."""
    count = 0
    for moment, kind, process, gpu, change, wanted in db.execute(
            "SELECT id, kind, process, gpu, change, bytes FROM moment"):
        got = db.execute(LIVE, (process, gpu, change, change)).fetchone()[0]
        count += 1
        if got != wanted:
            yield f"{kind} {moment}: {got}, not {wanted}"
    view = dict(db.execute("SELECT moment, sum(bytes) FROM live_at WHERE place = 'gpu' GROUP BY moment"))
    for moment, wanted in db.execute("SELECT id, bytes FROM moment"):
        if (view.get(moment) or 0) != wanted:
            yield f"live_at {moment}: {view.get(moment)}, not {wanted}"


def rows_of(view):
    """{(place of the process, UUID of the GPU): (live, peak)} of a report; None: the GPU is not known."""
    return {(place, gpu.get("uuid")): (gpu["attributed"]["live_bytes"], gpu["attributed"]["peak_bytes"])
            for place, process in enumerate(view["processes"]) for gpu in process["gpus"]}


def numbers_of(db, pids):
    """The same of a database."""
    found = {}
    for kind, process, uuid, wanted in db.execute(
            "SELECT m.kind, m.process, g.uuid, m.bytes FROM moment m JOIN gpu g ON g.id = m.gpu"
            " WHERE m.kind IN ('end', 'peak')"):
        live, peak = found.get((pids.index(process), uuid), (0, 0)) if process in pids else (0, 0)
        if process in pids:
            found[pids.index(process), uuid] = (wanted, peak) if kind == "end" else (live, wanted)
    return found


def shown_processes(db, view):
    """The numbers of the report's processes: it leaves out those that used no GPU."""
    left = list(db.execute("SELECT id, pid FROM process ORDER BY id"))
    numbers = []
    for process in view["processes"]:
        while left[0][1] != process["pid"]:
            left.pop(0)
        numbers.append(left.pop(0)[0])
    return numbers


def without_zeros(rows):
    return {key: value for key, value in rows.items() if value != (0, 0)}


def same_numbers(folder):
    wrong, moments, kinds = [], 0, set()
    for path in recordings():
        name = os.path.basename(path)
        db = database(folder, path)
        ok = [row[0] for row in db.execute("PRAGMA integrity_check")], list(db.execute("PRAGMA foreign_key_check"))
        if ok != (["ok"], []):
            wrong.append(f"{name}: {ok}")
        wrong += [f"{name}: {text}" for text in wrong_moments(db)]
        moments += db.execute("SELECT count(*) FROM moment").fetchone()[0]
        kinds |= {row[0] for row in db.execute("SELECT DISTINCT kind FROM moment")}
        if "dump" not in name:
            view = view_of(path)
            got, wanted = numbers_of(db, shown_processes(db, view)), rows_of(view)
            if without_zeros(got) != without_zeros(wanted):
                wrong.append(f"{name}: {got}, not {wanted}")
    print(f"# {moments} moments: {', '.join(sorted(kinds))}")
    check("at the peak, the end, marks, failed requests and iterations the sums are the report's, in each recording",
          not wrong and kinds >= {"peak", "end", "mark", "request", "iteration"}, "\n".join(wrong[:9]))


def at_instants(folder):
    """A report of the first records of a recording is compared with what lived then."""
    rng, wrong, compared = random.Random(1), [], 0
    for path in [p for p in recordings() if "dump" not in p]:
        records = list(recfile.read(path))
        times = [struct.unpack_from("<Q", record, 16)[0] for record in records]
        db = database(folder, path)
        calls = [i for i in range(1, len(records)) if max(times[:i]) < min(times[i:], default=FOREVER)] \
            if len(records) < 3000 else [i for i in range(1, len(records)) if times[i - 1] < times[i]]
        for cut in rng.sample(calls, min(INSTANTS, len(calls))):
            part = os.path.join(folder, "part.gmt")
            recfile.write(part, records[:cut])
            view = view_of(part)
            at = max(times[:cut])
            db.execute("INSERT INTO moment(kind, ts_ns) VALUES ('mine', ?)", (at,))
            alive = {row[0] for row in db.execute("SELECT id FROM process WHERE exit_ns IS NULL OR exit_ns > ?", (at,))}
            numbers = shown_processes(db, view)
            got = {(numbers.index(p), u): b for p, u, b in db.execute(
                "SELECT l.process, g.uuid, sum(l.bytes) FROM live_at l JOIN gpu g ON g.id = l.gpu WHERE l.place = 'gpu'"
                " AND l.moment = (SELECT max(id) FROM moment) GROUP BY l.process, l.gpu") if p in numbers and b}
            wanted = {key: live for key, (live, _) in rows_of(view).items() if live and numbers[key[0]] in alive}
            compared += len(wanted)
            if got != wanted:
                wrong.append(f"{os.path.basename(path)} after {cut} records: {got}, not {wanted}")
        db.close()
    print(f"# {compared} sums at random instants")
    check("at random instants the sums are those of a report of the records until then", not wrong and compared > 100,
          "\n".join(wrong[:5]))


# ---- the schema ----

def without_comments(sql):
    return re.sub(r"^--.*\n", "", sql, flags=re.M)


def schema(folder):
    db = database(folder, LARGE, ".db")
    with open(SCHEMA, encoding="utf-8") as file:
        documented = {" ".join(text.split()) for text in
                      re.findall(r"^(CREATE .*?;)\n(?=\n|\Z)", without_comments(file.read()) + "\n", re.S | re.M)}
    found = {" ".join((row[0] + ";").split()) for row in
             db.execute("SELECT sql FROM sqlite_master WHERE sql NOT NULL")}
    check("the schema is the documented one", found == documented and len(found) > 15, found ^ documented)
    empty = [name for name, in db.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")
             if not db.execute(f"SELECT count(*) FROM {name}").fetchone()[0]]
    check("tables and views have rows", set(empty) <= {"loss", "failed_request"}, empty)
    zeros = {f"{table}.{column}": db.execute(f"SELECT count(*) FROM {table} WHERE {column} = 0").fetchone()[0]
             for table, column in (("allocation", "bytes"), ("block", "bytes"), ("block", "asked"), ("allocation", "address"))}
    check("what is not known is NULL", not any(zeros.values()), zeros)
    lines = [row[0] for row in db.execute(
        "SELECT line, sum(bytes) FROM held JOIN stack_text USING (stack) WHERE kind = 'block' AND moment ="
        " (SELECT max(id) FROM moment WHERE kind = 'iteration') GROUP BY line ORDER BY 2 DESC LIMIT 3")]
    check("the line that keeps memory comes first", "train.py:120 logits" in lines, lines)


def pandas():
    pypilib.unpacked("pandas", PANDAS)
    import pandas as module             # pylint: disable=import-outside-toplevel
    return module


def in_pandas(folder):
    try:
        pd = pandas()
    except (pypilib.Unavailable, ImportError) as why:
        skip("pandas reads the database", why)
        return
    db = database(folder, LARGE)
    allocations = pd.read_sql("SELECT * FROM allocation WHERE place = 'gpu'", db)
    changes = pd.concat([allocations.set_index("birth")["bytes"], -allocations.dropna(subset="death").set_index("death")["bytes"]])
    running = changes.sort_index().cumsum()
    peak = pd.read_sql("SELECT * FROM peak", db)
    check("pandas finds the peak", len(peak) == 1 and int(running.max()) == int(peak["bytes"][0]), f"{running.max()}\n{peak}")


# ---- the file ----

def the_file(folder):
    victim, link = os.path.join(folder, "victim"), os.path.join(folder, "link.sqlite")
    with open(victim, "w", encoding="utf-8") as file:
        file.write("precious")
    os.symlink("victim", link)
    done = report("-o", link, f"{DATA}/kept/train.gmt")
    with open(victim, encoding="utf-8") as file:
        text = file.read()
    check("a link is replaced, and only the owner may read", done.returncode == 0 and text == "precious" and
          not os.path.islink(link) and os.stat(link).st_mode & 0o777 == 0o600, done.stderr)
    done = report("--sqlite", "-", f"{DATA}/kept/train.gmt")
    check("standard output is refused", done.returncode == 2 and b"standard output" in done.stderr, done)
    done = report("--sqlite", "/dev/null", f"{DATA}/kept/train.gmt")
    pipe = os.path.join(folder, "pipe.sqlite")
    os.mkfifo(pipe)
    for words in (("--sqlite", pipe), ("-o", pipe)):
        refused = report(*words, f"{DATA}/kept/train.gmt")
        check(f"{words[0]} of a pipe waits for no reader: one sentence, and the pipe stays", refused.returncode == 1 and
              refused.stderr.count(b"\n") == 1 and b"a pipe or a device" in refused.stderr and os.path.exists(pipe), refused)
    check("so is a device, and it stays", done.returncode == 1 and b"/dev/null" in done.stderr and
          not os.path.isfile("/dev/null"), done)


def little_room():
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100 << 10, 100 << 10))


def full_disk(folder):
    place = os.path.join(folder, "full")
    os.mkdir(place)
    done = report("-o", f"{place}/x.sqlite", "-o", f"{place}/x.folded", LARGE, preexec_fn=little_room)
    said = [line for line in done.stderr.decode().splitlines() if "sqlite" in line]
    check("a file without room is one sentence, and the other outputs go on", done.returncode == 1 and len(said) == 1 and
          os.listdir(place) == ["x.folded"] and b"nothing was lost" in done.stdout, f"{done} {os.listdir(place)}")


def may_be_interrupted():
    """A shell in the background starts its programs with SIGINT ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def interrupted(folder):
    place = os.path.join(folder, "interrupted")
    os.mkdir(place)
    os.mkfifo(os.path.join(folder, "pipe"))
    with open(LARGE, "rb") as file:
        part = file.read()[:-1000]
    with subprocess.Popen([BIN, "report", "-o", f"{place}/x.sqlite", "-o", f"{place}/x.html", os.path.join(folder, "pipe")],
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=may_be_interrupted) as child:
        with open(os.path.join(folder, "pipe"), "wb") as pipe:
            pipe.write(part)
            pipe.flush()
            child.send_signal(signal.SIGINT)
            status = child.wait(PATIENCE)
    check("an interrupt ends a report at once, and leaves nothing", status == -signal.SIGINT and not os.listdir(place),
          f"{status} {os.listdir(place)}")


# ---- progress ----

def on_terminal(words, **env):
    """What a program writes to a terminal that is its standard error alone."""
    ours, theirs = os.openpty()
    with subprocess.Popen([BIN, "report", *words], stdout=subprocess.DEVNULL, stderr=theirs,
                          env={**os.environ, **env}) as child:
        os.close(theirs)
        text = b""
        while True:
            try:
                got = os.read(ours, 1 << 16)
            except OSError:             # the other end is closed
                break
            text += got
            if not got:
                break
        child.wait(PATIENCE)
    os.close(ours)
    return text.decode()


def progress(folder):
    path = LARGE
    text = on_terminal([path], GPUMEMTRACE_PROGRESS_MS="0")
    parts = [int(part) for part in re.findall(r"reading \S+: (\d+)%", text)]
    check("a terminal shows how much was read, and then nothing of that", parts and parts == sorted(parts) and parts[-1] <= 100
          and text.endswith("\r\033[K"), repr(text[-200:]))
    text = on_terminal([path], GPUMEMTRACE_PROGRESS_MS="600000")
    check("but only if it takes a while", "reading" not in text, repr(text))
    text = on_terminal(["-q", path], GPUMEMTRACE_PROGRESS_MS="0")
    check("and not with -q", "reading" not in text, repr(text))
    done = subprocess.run([BIN, "report", path], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=True, timeout=PATIENCE,
                          env={**os.environ, "GPUMEMTRACE_PROGRESS_MS": "0"})
    check("nor in a file", b"reading" not in done.stderr, done.stderr)


def main():
    with tempfile.TemporaryDirectory(prefix="gmt-sqlite-") as folder:
        for test in (schema, same_numbers, at_instants, in_pandas, the_file, full_disk, interrupted, progress):
            test(folder)
    return cases.done()


if __name__ == "__main__":
    sys.exit(main())
