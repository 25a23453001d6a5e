#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Recordings and dumps of released versions are read right for ever: tests/data/kept/NAME.gmt gives the numbers of
NAME.json in the report, in `gpumemtrace oom` and in the snapshot. Numbers and names are compared, sentences for people
are not.

    test_kept.py                  the test
    test_kept.py write BINARY     makes the NAME.json that are not there, with the binary that made the recordings

A NAME.json that is there is never written again: a difference is an error of the program, not of the file.
"""
import json
import os
import pickle
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
KEPT = os.path.join(TOP, "tests", "data", "kept")
BIN = os.path.join(TOP, os.environ.get("BUILD", "build"), "gpumemtrace")
# Few stacks keep the files small; rules of their own do not change with the standard ones.
OPTIONS = "--top", "2", "--owners", os.path.join(KEPT, "owners.conf")
WINDOW = "--window", "100"
SENTENCES = {"notes", "verdict", "made_at",     # how many there are and what is in them; when the line was made
             "sentence"}                        # of a finding: the oldest files have them
# Objects that count by name: a name more with a number is a difference, elsewhere it is a new member.
COUNTERS = {"classes", "anomalies", "losses", "out_of_memory", "native", "python", "by_purpose_bytes", "sum", "records"}
WORDING = "gpumemtrace:"                # frames of a snapshot that say something to people begin so


def run(binary, *words):
    done = subprocess.run([binary, *words], capture_output=True, text=True, timeout=100, env={"HOME": "/nonexistent"})
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def by_name(owners):
    """Owners with the same name as one: they were not told apart by the framework that took the memory for them."""
    names = {}
    for owner in owners:
        first = names.setdefault(owner["owner"], owner)
        if first is owner:
            continue
        names[owner["owner"]] = {k: first[k] + v if isinstance(v, int) else first[k] for k, v in owner.items()}
    return [{**owner, "allocator": None} for owner in names.values()]


def shortened(value):
    """Without sentences, and without members that are zero, empty or null: these may as well not be there."""
    if isinstance(value, dict) and "offset_ns" in value:
        return value["offset_ns"]       # a moment; the two other clocks follow from it
    if isinstance(value, dict):
        if "owners" in value:
            value = {**value, "owners": by_name(value["owners"])}
        members = {k: shortened(v) for k, v in value.items() if k not in SENTENCES}
        return {k: v for k, v in members.items() if v or v is False and k == "from_start"}
    if isinstance(value, list):
        return [shortened(v) for v in value]
    return value


class Names:
    """Frames and stacks by number, each once."""

    def __init__(self):
        self.frames, self.stacks = {}, {}

    def frame(self, frame):
        name = WORDING if frame["name"].startswith(WORDING) else frame["name"]
        return self.frames.setdefault(f"{name} {frame['filename']}:{frame['line']}", len(self.frames))

    def stack(self, frames):
        return self.stacks.setdefault(tuple(map(self.frame, frames)), len(self.stacks))


def flat(what, names):
    """One line for an event, a block or a segment."""
    words = [f"{k}={v}" for k, v in sorted(what.items()) if k not in ("frames", "blocks") and not isinstance(v, dict)]
    return " ".join(words + [f"frames={names.stack(what.get('frames', ()))}"])


def snapshot_text(path):
    """A snapshot as lists of lines."""
    with open(path, "rb") as file:
        snapshot = pickle.load(file)
    names, segments = Names(), []
    for segment in snapshot["segments"]:
        segments.append(flat(segment, names))
        segments += ["  " + flat(block, names) for block in segment["blocks"]]
    traces = [[flat(event, names) for event in trace] for trace in snapshot["device_traces"]]
    marks = [" ".join(f"{k}={v}" for k, v in sorted(m.items())) for m in snapshot.get("external_annotations", [])]
    stacks = [" ".join(map(str, stack)) for stack in names.stacks]
    return {"segments": segments, "traces": traces, "marks": marks, "stacks": stacks, "frames": list(names.frames)}


def snapshots(binary, path):
    """All that oom writes of the file, by the part of the name that says which process."""
    with tempfile.TemporaryDirectory() as folder:
        words = "oom", "--json", "-q", *OPTIONS, *WINDOW, "-o", os.path.join(folder, "x.pickle"), path
        code, _ = run(binary, *words)
        return code, {name: snapshot_text(os.path.join(folder, name)) for name in sorted(os.listdir(folder))}


def results(binary, path):
    code, reports = run(binary, "replay", "--json", "-q", *OPTIONS, path)
    oom_code, ooms = run(binary, "oom", "--json", "-q", *OPTIONS, path)
    snapshot_code, taken = snapshots(binary, path)
    return {"exit": [code, oom_code, snapshot_code], "replay": shortened(reports), "oom": shortened(ooms),
            "snapshots": taken}


def in_words(output):
    """An output with its stacks in words in place of their numbers: an output may show more stacks than it did."""
    stacks, symbols = output.get("stacks", []), output.get("symbols", [])

    def worded(value, is_row=False):
        if isinstance(value, list):
            return [worded(v, is_row) for v in value]
        if not isinstance(value, dict):
            return value
        words = {k: worded(v, is_row or k == "top") for k, v in value.items()}
        if isinstance(value.get("stack"), int) or is_row and "live" not in value and "peak" not in value:
            stack = stacks[value.get("stack", 0)]
            words["stack"] = {**stack, "frames": [symbols[i] for i in stack.get("frames", [])]}
        return words

    return worded({k: v for k, v in output.items() if k not in ("stacks", "symbols")})


def all_in_words(found):
    return {k: [in_words(output) for output in v] if k in ("replay", "oom") else v for k, v in found.items()}


def differences(wanted, got, where="", is_counter=False):
    if isinstance(wanted, dict) and isinstance(got, dict):
        for key in set(wanted) - SENTENCES:
            yield from differences(wanted[key], got.get(key), f"{where}.{key}", key in COUNTERS)
        for key in sorted(set(got) - set(wanted)) if is_counter else ():
            yield f"{where}.{key}: {got[key]}, which was not there"
    elif isinstance(wanted, list) and isinstance(got, list):
        if len(wanted) != len(got):
            yield f"{where}: {len(got)} elements, not {len(wanted)}"
        for i, pair in enumerate(zip(wanted, got)):
            yield from differences(*pair, f"{where}[{i}]")
    elif wanted != got:
        yield f"{where}: {str(got)[:200]}, not {str(wanted)[:200]}"


def kept():
    return sorted(name[:-4] for name in os.listdir(KEPT) if name.endswith(".gmt"))


def path_of(name, suffix):
    return os.path.join(KEPT, name + suffix)


def text_of(value, depth):
    """JSON, with line breaks down to that depth."""
    if depth and isinstance(value, dict) and value:
        return "{" + ",\n".join(f"{json.dumps(k)}: {text_of(v, depth - 1)}" for k, v in value.items()) + "}"
    if depth and isinstance(value, list) and value:
        return "[" + ",\n".join(text_of(v, depth - 1) for v in value) + "]"
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def write(binary):
    for name in kept():
        if os.path.exists(path_of(name, ".json")):
            continue
        with open(path_of(name, ".json"), "w", encoding="utf-8") as file:
            file.write(text_of(results(binary, path_of(name, ".gmt")), 5) + "\n")


def main():
    names = kept()
    print(f"1..{len(names)}")
    failed = 0
    for number, name in enumerate(names, 1):
        with open(path_of(name, ".json"), encoding="utf-8") as file:
            wanted, got = map(all_in_words, (json.load(file), results(BIN, path_of(name, ".gmt"))))
        wrong = list(differences(wanted, got, name))
        print(f"{'not ' if wrong else ''}ok {number} - {name} reads as it did")
        for line in wrong[:20]:
            print("# " + line)
        failed += bool(wrong)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(write(sys.argv[2]) if sys.argv[1:2] == ["write"] else main())
