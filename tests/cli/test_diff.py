#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""gpumemtrace diff: recordings, dumps and moments beside each other. Their sums are the report's, a recording has no
difference from itself, and lines that have moved are matched."""
import glob
import json
import os
import struct
import subprocess
import sys
import tempfile

from cases import BIN, PATIENCE, TOP, check, done

sys.path.insert(1, os.path.join(TOP, "tests", "recordings"))
import recfile  # noqa: E402
import wire  # noqa: E402

DATA = os.path.join(TOP, "tests", "data")
RECORDINGS = sorted(glob.glob(os.path.join(DATA, "**", "*.gmt"), recursive=True))
TRAIN = os.path.join(DATA, "kept", "train.gmt")
TRAIN_OOM = os.path.join(DATA, "kept", "train-oom.gmt")
DUMP = os.path.join(DATA, "kept", "train-dump.gmt")
CALLS = os.path.join(DATA, "kept", "calls.gmt")
WORDS, LOGITS = (os.path.join(DATA, "found", f"h200-{name}.gmt") for name in ("words", "logits"))
SIDES = ("a", "b")
MANY = "100000"


def run(*words, data=b""):
    said = subprocess.run([BIN, *words], input=data, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=dict(os.environ, LC_ALL="C"), timeout=PATIENCE, check=False)
    return said.returncode, said.stdout.decode(), said.stderr.decode()


def diff(*words):
    code, out, err = run("diff", "--json", *words)
    if code:
        raise AssertionError(f"diff {words}: {code} {err}")
    return json.loads(out)


def report(path):
    return json.loads(run("report", "--json", "--top", MANY, path)[1])


def tables(value):
    """Of all processes together, and of each."""
    yield "all", value["tables"]
    for pair in value["processes"]:
        for memory in pair["memory"]:
            yield memory["place"], memory["tables"]


def wrong_sums(value):
    """Tables whose rows do not add up, and parts that do not add up to the whole."""
    for place, of in tables(value):
        for name, table in of.items():
            for side in SIDES:
                for what in ("bytes", "count"):
                    if sum(row[f"{side}_{what}"] for row in table["rows"]) != table[f"{side}_{what}"]:
                        yield f"{place} {name} {side}_{what}"
            if any(row["difference_bytes"] != row["b_bytes"] - row["a_bytes"] for row in table["rows"] + [table]):
                yield f"{place} {name}: a difference is wrong"
    parts = [of for place, of in list(tables(value))[1:]]
    for name, table in value["tables"].items():
        for side in SIDES:
            if sum(of[name][f"{side}_bytes"] for of in parts) != table[f"{side}_bytes"]:
                yield f"{name}: the parts do not add up"


def changed(value):
    return [(name, row["name"]) for _, of in tables(value) for name, table in of.items() for row in table["rows"]
            if row["difference_bytes"] or row["a_count"] != row["b_count"] or row["state"] != "both"]


def same():
    bad, wrong = {}, {}
    for path in RECORDINGS:
        for moment in ("", "@peak", "@end") if not path.endswith("-dump.gmt") else ("",):
            value = diff(path + moment, path + moment)
            bad.update({path + moment: found for found in [changed(value)] if found})
            wrong.update({path + moment: found for found in [list(wrong_sums(value))] if found})
            if "B holds the same" not in value["answer"]:
                bad[path + moment] = value["answer"]
    check("a recording has no difference from itself", not bad and len(RECORDINGS) > 25, bad)
    check("... and its tables add up", not wrong, wrong)


def best(gpu):
    """The sums that lines are made of: of tensors, if these have stacks."""
    tensors = gpu["torch"]["stacks"] if gpu["torch"] else None
    if tensors and any(owner["owner"] != "(without a stack)" for owner in tensors["owners"]):
        return tensors
    return gpu["stacks"]


def rows_of(table, side):
    return {row["name"]: row[f"{side}_bytes"] for row in table["rows"] if row[f"{side}_bytes"]}


def owners_of(stacks, what):
    held = {}
    for owner in stacks["owners"]:
        name = f"{owner['owner']} ({owner['allocator']})" if owner["allocator"] else owner["owner"]
        held[name] = held.get(name, 0) + owner[what]
    return {name: value for name, value in held.items() if value}


def ledger():
    """Of a process on a GPU alone, the peak of all is its peak: as the ledger has counted it, by line and owner."""
    bad, seen = [], 0
    for path in RECORDINGS:
        rows = [gpu for process in report(path)["processes"] for gpu in process["gpus"]]
        if len(rows) != 1 or path.endswith("-dump.gmt"):
            continue
        of, value = best(rows[0]), diff(path + "@peak", path + "@end")
        found, seen = value["tables"], seen + 1
        bad += [(path, name) for name in wrong_sums(value)]
        if (found["lines"]["a_bytes"], found["lines"]["b_bytes"]) != (of["peak_bytes"], of["live_bytes"]):
            bad.append((path, found["lines"]["a_bytes"], of["peak_bytes"], found["lines"]["b_bytes"], of["live_bytes"]))
        for side, what in zip(SIDES, ("at_peak_bytes", "live_bytes")):
            if rows_of(found["owners"], side) != owners_of(of, what):
                bad.append((path, what, rows_of(found["owners"], side), owners_of(of, what)))
            lines = sorted(line[what] for line in of["lines"]["peak" if side == "a" else "live"])
            if sorted(rows_of(found["lines"], side).values()) != lines and len(set(rows_of(found["lines"], side))) == len(lines):
                bad.append((path, what, rows_of(found["lines"], side), lines))
    check("at the peak and at the end the sums are the report's", not bad and seen > 10, (seen, bad[:3]))


def peaks():
    """At no other time is more held than at the peak, also where processes come and go."""
    more, seen = [], 0
    for path in (CALLS, TRAIN, WORDS):
        whole = diff(path + "@peak", path + "@end")
        for part in range(1, 20):
            at = whole["b"]["at"]["offset_ns"] * part // 20
            value = diff(path + "@peak", f"{path}@{at}ns")
            seen += value["tables"]["lines"]["b_bytes"] > 0
            if value["tables"]["lines"]["b_bytes"] > value["tables"]["lines"]["a_bytes"] and value["processes"][0]["memory"][0][
                    "lines_of"] == whole["processes"][0]["memory"][0]["lines_of"]:
                more.append((path, at, value["answer"]))
    check("at no time is more held than at the peak", not more and seen > 10, (seen, more[:3]))


def moments():
    seen = report(TRAIN)["processes"][0]["gpus"][0]["torch"]["iterations"]
    for iteration in seen[:4]:
        value = diff(f"{TRAIN}@iteration={iteration['iteration']}", "@end")
        check(f"the end of iteration {iteration['iteration']} has the bytes that the report says",
              value["tables"]["categories"]["a_bytes"] == iteration["phases"]["optimizer"]["end_bytes"],
              (iteration["phases"], value["tables"]["categories"]["a_bytes"]))
    check("four iterations were seen", len(seen) >= 4, seen)
    early = diff(TRAIN + "@1ms", "@end")
    check("at the start nothing was held", early["held"]["a_bytes"] == 0 < early["held"]["b_bytes"], early["held"])
    late = diff(TRAIN + "@1h", "@end")
    check("behind the last record nothing changes, but the process has ended", late["held"]["a_bytes"] == 0, late["held"])
    begun = diff(TRAIN + "@mark=Optimizer.step#Adam.step", TRAIN + "@iteration=1")
    check("a range is a moment, before the end of its iteration",
          begun["a"]["at"]["offset_ns"] < begun["b"]["at"]["offset_ns"], (begun["a"], begun["b"]))
    failed = diff(TRAIN_OOM + "@oom=1", "@oom=2")
    check("two requests that failed are two moments", failed["a"]["at"]["offset_ns"] < failed["b"]["at"]["offset_ns"], failed)
    dump = diff(DUMP, DUMP.replace("train", "train-oom"))
    check("dumps are compared", dump["a"]["dump"] and dump["tables"]["lines"]["b_bytes"] and
          [limit["what"] for limit in dump["limits"]] == ["dump"], dump["limits"])


def processes():
    value = diff(WORDS, LOGITS)
    pair = value["processes"][0]
    check("processes of two recordings are paired by their program", len(value["processes"]) == 1 and
          pair["paired_by"] == "comm" and pair["a"]["pid"] != pair["b"]["pid"], value["processes"])
    lines = value["tables"]["lines"]["rows"]
    check("the line that only B has comes first", lines[0]["name"] == "train.py:120 logits" and lines[0]["state"] == "new" and
          lines[0]["b_line"]["line"] == 120 and lines[0]["a_line"] is None, lines[0])
    check("the answer names the line", value["answer"] == "B holds 118 MiB more in tensors than A: 118 MiB of them train.py:120"
          " logits", value["answer"])
    back = diff(LOGITS, WORDS)
    check("the other way round the same, with the other sign", back["answer"] == value["answer"].replace("more", "less") and
          {(r["name"], -r["difference_bytes"]) for r in lines} ==
          {(r["name"], r["difference_bytes"]) for r in back["tables"]["lines"]["rows"]}, back["answer"])


def edited(path, folder, name, edit):
    """A copy of a recording whose symbols are others: edit(line, texts) gives the line and the texts."""
    wires, records = wire.Wire(), []
    for record in recfile.read(path):
        kind, fields = wires.parse(record)
        if kind == "SYMBOL":
            sizes = [fields[f"{part}_len"] for part in ("function", "module", "file")]
            texts, at = [], 0
            for size in sizes:
                texts.append(fields["tail"][at:at + size])
                at += size + 1
            line, texts = edit(fields["line"], texts)
            tail = b"".join(text + b"\0" for text in texts)
            tail += b"\0" * (-(len(record) - len(fields["tail"]) + len(tail)) % 8)
            record = patched(record, fields, line, texts, tail)
        records.append(record)
    to = os.path.join(folder, name)
    recfile.write(to, records)
    return to


def patched(record, fields, line, texts, tail):
    head = bytearray(record[:len(record) - len(fields["tail"])])
    struct.pack_into("<H", head, 0, len(head) + len(tail))
    struct.pack_into("<I", head, 28, line)
    struct.pack_into("<HHH", head, len(head) - 6, *map(len, texts))
    return bytes(head) + tail


def moved(folder):
    def shift(line, texts):
        return (line + 7 if texts[2].endswith(b"/train.py") else line), texts

    def elsewhere(line, texts):
        return line, [texts[0], texts[1], texts[2].replace(b"train.py", b"other/train.py")]

    for name, edit, match, how in (("shifted.gmt", shift, "function", "function, as"),
                                   ("elsewhere.gmt", elsewhere, "file_name", "the name of the file, which")):
        value = diff(WORDS, edited(WORDS, folder, name, edit))
        lines = value["tables"]["lines"]["rows"]
        of_program = [row for row in lines if row["a_line"] and row["a_line"]["file"].endswith("train.py")]
        check(f"lines that have moved are matched by {match}, without a difference", len(of_program) > 3 and
              all(row["matched_by"] == match for row in of_program) and not any(r["difference_bytes"] for r in lines) and
              value["moved_lines"] == len(of_program), [(r["name"], r["matched_by"], r["state"]) for r in lines])
        text = run("diff", "--full", WORDS, os.path.join(folder, name))[1]
        said = " ".join(text.split())
        check("... and the text says this, and nothing else", f"{len(of_program)} lines are matched by {how}" in said and
              said.count("matched by") == 1, text)
    check("a line that both recordings know has not moved", not any(row["matched_by"] != "name" for row in
          diff(WORDS + "@iteration=3", WORDS + "@peak")["tables"]["lines"]["rows"]))


def text():
    code, out, err = run("diff", "--full", "--top", MANY, WORDS, LOGITS)
    wide = [line for line in out.splitlines() if len(line) > 80]
    check("the text has 80 columns", not code and not err and not wide and len(out) > 2000, wide)
    check("the answer comes first", out.startswith("B holds 118 MiB more in tensors than A: 118 MiB of them train.py:120 logits\n"),
          out[:200])
    short = run("diff", WORDS, LOGITS)[1]
    check("what is the same is only counted", "9 more rows" in short and "train.py:36" not in short, short)
    check("--top limits the rows", "more rows" in run("diff", "--top", "1", WORDS + "@iteration=3", "@peak")[1])
    losses = os.path.join(DATA, "kept", "losses.gmt")
    check("losses are said", "A lost records" in run("diff", losses, TRAIN)[1])
    check("--strict makes losses an error", run("diff", "--strict", losses, TRAIN)[0] == 5 and
          run("diff", "--strict", TRAIN, TRAIN)[0] == 0)


def says(name, words, code, sentence):
    found, out, err = run("diff", *words)
    check(name, found == code and sentence in err and err.startswith("gpumemtrace: ") and err.count("\n") == 1 and not out,
          f"{found} {err}")


def errors(folder):
    says("one recording is not enough", [TRAIN], 2, "two recordings or moments")
    says("three are too many", [TRAIN, TRAIN, TRAIN], 2, "takes two recordings")
    says("a word that is no moment", [TRAIN + "@noon", TRAIN], 2, "'noon' is no moment")
    says("a moment without a recording", ["@peak", TRAIN], 2, "names no recording")
    says("an iteration that never came", [TRAIN + "@iteration=9", TRAIN], 3, "there is no iteration 9: there are 4")
    says("a range that never came", [TRAIN + "@mark=none", TRAIN], 3, "no range has the name 'none'")
    says("a mark that never came", [TRAIN + "@mark=3", TRAIN], 3, "there is no mark 3: there are 0")
    says("a request that never failed", [TRAIN + "@oom=1", TRAIN], 3, "there is no request that failed 1: there are 0")
    says("a dump has one moment", [DUMP + "@peak", TRAIN], 2, "is a dump of one moment")
    says("no such file", [os.path.join(folder, "none.gmt"), TRAIN], 1, "No such file")
    says("another kind of file", [BIN, TRAIN], 1, "not a gpumemtrace recording")
    says("a pipe has only its end", ["/dev/stdin", TRAIN], 2, "can be read only once")
    with open(TRAIN, "rb") as file:
        code, out, err = run("diff", "-", TRAIN + "@end", data=file.read())
    check("... as standard input has", code == 0 and not err and "B holds the same" in out, (code, err))
    odd = os.path.join(folder, "me@home.gmt")
    os.link(TRAIN, odd) if os.stat(TRAIN).st_dev == os.stat(folder).st_dev else recfile.write(odd, list(recfile.read(TRAIN)))
    check("a file whose name has an @", "B holds the same" in run("diff", odd, odd + "@peak")[1])


def main():
    same()
    ledger()
    peaks()
    moments()
    processes()
    text()
    with tempfile.TemporaryDirectory() as folder:
        moved(folder)
        errors(folder)
    return done()


if __name__ == "__main__":
    sys.exit(main())
