#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""gpumemtrace report of several recordings: the ranks of one job, how their memory is spread, and the rank that differs."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

from cases import BIN, PATIENCE, TOP, check, done

DATA = os.path.join(TOP, "tests", "data")
WORDS, LOGITS = (os.path.join(DATA, "found", f"h200-{name}.gmt") for name in ("words", "logits"))
TRAIN, DUMP, CALLS = (os.path.join(DATA, "kept", name) for name in ("train.gmt", "train-dump.gmt", "calls.gmt"))


def run(*words):
    said = subprocess.run([BIN, "report", *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=dict(os.environ, LC_ALL="C"), timeout=PATIENCE, check=False)
    return said.returncode, said.stdout.decode(), said.stderr.decode()


def ranks(*words):
    code, out, err = run("--json", *words)
    if code:
        raise AssertionError(f"{words}: {code} {err}")
    return json.loads(out)


def wrong_spreads(value):
    """Rows whose spread is not that of their ranks, and tables whose rows do not add up."""
    for name, table in value["tables"].items():
        for row in table["rows"] + [table]:
            held = row["rank_bytes"]
            order = sorted(held)
            if (row["sum_bytes"], row["least_bytes"], row["median_bytes"], row["most_bytes"]) != \
               (sum(held), order[0], order[(len(order) - 1) // 2], order[-1]) or \
               held[row["least_rank"]] != order[0] or held[row["most_rank"]] != order[-1] or len(held) != len(value["ranks"]):
                yield name, row
        if any(sum(row["rank_bytes"][i] for row in table["rows"]) != held for i, held in enumerate(table["rank_bytes"])):
            yield name, "does not add up"


def job(folder):
    files = []
    for name, path in (("rank0", WORDS), ("rank2", WORDS), ("rank10", LOGITS), ("rank11", WORDS)):
        files.append(os.path.join(folder, name + ".gmt"))
        shutil.copyfile(path, files[-1])
    value = ranks(*sorted(files))
    check("ranks come by the numbers in their names", [rank["name"] for rank in value["ranks"]] ==
          ["rank0.gmt", "rank2.gmt", "rank10.gmt", "rank11.gmt"], value["ranks"])
    check("sums and spreads are those of the ranks", not list(wrong_spreads(value)), list(wrong_spreads(value))[:2])
    check("the rank that differs is named, with its line", value["answer"] == "rank10.gmt holds 118 MiB more in tensors than"
          " the median of 4 ranks (862 MiB): 118 MiB of them train.py:120 logits" and
          [odd["rank"] for odd in value["different"]] == [2] and value["different"][0]["row"]["line"]["line"] == 120,
          (value["answer"], value["different"]))
    one = json.loads(subprocess.run([BIN, "diff", "--json", WORDS, LOGITS], stdout=subprocess.PIPE, check=True).stdout)
    check("each rank holds what a difference says of its peak",
          value["tables"]["lines"]["rank_bytes"] == [one["tables"]["lines"][f"{side}_bytes"] for side in "aaba"] and
          value["gpu_memory"]["rank_bytes"] == [one["held"][f"{side}_bytes"] for side in "aaba"], value["gpu_memory"])
    code, out, err = run("--full", *files)
    wide = [line for line in out.splitlines() if len(line) > 80]
    check("the text has 80 columns, and the answer first", not code and not err and not wide and
          out.replace("\n", " ").startswith(value["answer"]), (wide, out[:200]))
    same = ranks(files[0], files[1], files[3])
    check("equal ranks do not differ", same["answer"] == "no rank differs: 3 ranks hold 862 MiB each in tensors" and
          not same["different"], same["answer"])
    two = ranks(files[0], files[2])
    check("of two ranks the one that holds more is named", two["answer"].startswith("rank10.gmt holds 118 MiB more in tensors"
          " than rank0.gmt: 118 MiB of them train.py:120"), two["answer"])
    less = ranks(files[2], files[2], files[0])
    check("a rank that holds less is named, too", less["answer"].startswith("rank0.gmt holds 118 MiB less in tensors than the"
          " median of 3 ranks (980 MiB): 118 MiB of them train.py:120 logits"), less["answer"])
    late = ranks(files[0] + "@iteration=3", files[1] + "@iteration=3", files[2] + "@peak")
    check("each recording may have a moment of its own", [rank["source"].split("@")[1] for rank in late["ranks"]] ==
          ["iteration=3", "iteration=3", "peak"] and late["different"][0]["rank"] == 2, late["answer"])


def others():
    mixed = ranks(WORDS, TRAIN)
    check("less than 32 MiB is no difference: not of two programs of a few MiB",
          not ranks(TRAIN, TRAIN + "@end")["different"] and mixed["different"], mixed["answer"])
    several = ranks(CALLS + "@end", CALLS + "@end")
    check("a recording with several processes has several ranks, with their pids", len(several["ranks"]) > 1 and
          all(", pid " in rank["name"] for rank in several["ranks"]) and not list(wrong_spreads(several)), several["ranks"])
    check("a dump is a rank", ranks(DUMP, TRAIN)["ranks"][0]["source"] == DUMP)
    check("one recording has its report as before", json.loads(run("--json", TRAIN)[1])["type"] == "report")
    losses = os.path.join(DATA, "kept", "losses.gmt")
    check("losses are said", "lost records" in run(losses, TRAIN)[1])
    check("--strict makes losses an error", run("--strict", losses, TRAIN)[0] == 5 and run("--strict", TRAIN, TRAIN)[0] == 0)
    code, out, err = run("-o", "x.pickle", TRAIN, TRAIN)
    check("a file is made of one recording", code == 2 and not out and "made of one recording" in err, err)
    code, out, err = run(TRAIN, "/nonexistent.gmt")
    check("a file that is missing is named", code == 1 and not out and "/nonexistent.gmt: No such file" in err, err)


def main():
    with tempfile.TemporaryDirectory() as folder:
        job(folder)
    others()
    return done()


if __name__ == "__main__":
    sys.exit(main())
