#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""`gpumemtrace oom` gives the right verdicts, in the right words, for recordings of real programs."""
import itertools
import json
import os
import shutil
import subprocess
import tempfile
import zlib

from cases import BIN, PATIENCE, TOP, check, done

GIB = 1 << 30


def run(*words):
    said = subprocess.run([BIN, "oom", *words], capture_output=True, timeout=PATIENCE, text=True)
    return said.returncode, said.stdout, said.stderr


def data(name):
    return os.path.join(TOP, "tests", "data", name + ".gmt")


def requests(name):
    code, out, err = run("--json", data(name))
    check(name + ": exit status 0, no message", code == 0 and not err, err)
    return [json.loads(line) for line in out.splitlines()]


def one(name, call, tries):
    views = requests(name)
    check(name + ": exactly one", len(views) == 1, views)
    oom = views[0]["oom"]
    check(name + ": raised and caught", oom["outcome"] == "raised" and oom["by"] == "went_on", oom)
    check(name + ": what was asked for", (oom["call"], oom["asked_bytes"], oom["failures"]) == (call, 500 * GIB, tries), oom)
    row = oom["rows"][0]
    held = views[0]["processes"][row["process"]]["gpus"][row["row"]]["attributed"]["live_bytes"]
    check(name + ": who held what", held == row["held_bytes"] > 300 << 20, row)


def several():
    code, out, err = run(data("h100-native"), data("h200x2-ioctls-native"), data("h100-malloc-async"))
    check("several files", code == 0 and not err and out.count("OUT OF MEMORY") == 2, out + err)
    check("each with its name", "FILE   " + data("h100-native") in out and
          data("h200x2-ioctls-native") + ": no request failed" in out, out)
    views = [json.loads(line) for line in run("--json", data("h100-native"), data("h100-malloc-async"))[1].splitlines()]
    check("in JSON, too", [v["oom"]["file"] for v in views] == [data("h100-native"), data("h100-malloc-async")], views)
    code, out, err = run("-o", "x.pickle", data("h100-native"), data("h100-malloc-async"))
    check("no snapshot of several", code == 2 and "such a file is made of one recording" in err, err)


def folder():
    """A directory that others write to: names, links and what is no file do nothing."""
    with tempfile.TemporaryDirectory() as place:
        odd = "\033[2J.gmt"
        for number, (name, source) in enumerate((("old.gmt", "h100-native"), (odd, "h100-malloc-async"))):
            shutil.copy(data(source), os.path.join(place, name))
            os.utime(os.path.join(place, name), (number, number))
        code, out, err = run(place)
        lines = out.splitlines()
        check("a directory: two lines each, the newest first", code == 0 and not err and len(lines) == 5 and
              lines[0].startswith("TIME (UTC)") and lines[1].endswith(" one large request") and
              lines[3].endswith(" 500 GiB  one large request") and lines[2::2] == ["  ?[2J.gmt", "  old.gmt"], out + err)
        named = os.path.join(place, "gpumemtrace-oom-19991231-235959-42-1-0f4d23a9.gmt")
        os.rename(os.path.join(place, "old.gmt"), named)
        check("a dump's name says when it was written", run(place)[1].splitlines()[2::2] ==
              ["  " + os.path.basename(named), "  ?[2J.gmt"], run(place))
        os.rename(named, os.path.join(place, "old.gmt"))
        os.symlink("/etc/passwd", os.path.join(place, "link.gmt"))
        os.mkfifo(os.path.join(place, "pipe.gmt"))
        os.mkdir(os.path.join(place, "folder.gmt"))
        check("what is no file is no dump", run(place)[1] == out, run(place))
        check("in JSON the whole of each", [json.loads(line)["oom"]["file"] for line in run("--json", place)[1].splitlines()]
              == [odd, "old.gmt"])
        with open(os.path.join(place, "bad.gmt"), "w", encoding="ascii") as file:
            file.write("no recording")
        code, again, err = run(place)
        check("a file that is no recording", code == 1 and again == out and "bad.gmt: not a gpumemtrace recording" in err,
              err)
        for number in range(110):
            os.link(os.path.join(place, "old.gmt"), os.path.join(place, f"{number}.gmt"))
        code, out, err = run(place)
        check("not more than 100", len(out.splitlines()) <= 201 and "13 more files were not read" in err, err)
    with tempfile.TemporaryDirectory() as place:
        for number in range(99_998):        # and "." and ".."
            os.mknod(os.path.join(place, str(number)))
        code, _, err = run(place)
        check("a directory of 100,000 files", code == 0 and "too many" not in err, err)
        os.mknod(os.path.join(place, "more"))
        check("one with more: told", "too many files to look at all of them" in run(place)[2])
    with tempfile.TemporaryDirectory() as place:
        code, out, err = run(place)
        check("an empty directory", code == 0 and not out and "has a request that failed" in err, out + err)


def alone(path, *words):
    """The text and the views of a file that is read alone."""
    text, views = run(*words, path)[1], run("--json", *words, path)[1]
    return text, [json.loads(line) for line in views.splitlines()]


def comparable(view):
    """A view without its file and without the time of the answer."""
    oom = {name: value for name, value in view["oom"].items() if name != "file"}
    return {**view, "oom": oom, "made_at": None}


def as_alone():
    """What is known of a file's lines, owners and causes says nothing about the next file."""
    names = ["kept/oom-torch", "kept/train-oom-dump", "h100-native", "kept/oom-vmm-dump", "h100-malloc-async",
             "kept/train-oom", "kept/oom-launch", "kept/synthetic-dump", "kept/oom-context-dump"]
    paths = [data(name) for name in names]
    each = [alone(path, "--full") for path in paths]
    text = run("--full", *paths)[1]
    for path in paths:
        text = text.replace(f"FILE   {path}\n", "")
    pairs = itertools.zip_longest(text.splitlines(), "\n".join(text for text, _ in each).splitlines())
    other = [pair for pair in pairs if pair[0] != pair[1]]
    check("several files: the text of each", text.strip() and not other, other[:3])
    views = [json.loads(line) for line in run("--json", "--full", *paths)[1].splitlines()]
    wanted = [view for _, of_file in each for view in of_file]
    check("several files: the JSON of each", len(views) == len(wanted) > len(paths), len(views))
    for view, other in zip(views, wanted):
        name = os.path.basename(view["oom"]["file"])
        check("the same as alone: " + name, comparable(view) == comparable(other), view["oom"]["verdict"])


def retry():
    """A request that a retry satisfied alarms nobody."""
    out = run(data("kept/oom-retry"))[1]
    check("a retry that succeeded: the head", out.startswith("MEMORY WAS SHORT (a retry succeeded)  2026-") and
          "OUT OF MEMORY" not in out, out)
    check("a retry that succeeded: what to do", "\nDO     nothing must be done: a retry succeeded (256 MiB), after 256 MiB was"
          in out and "  1 " not in out and "THEN" not in out, out)
    check("the number of the request", "\nMEMORY WAS SHORT #2 (a retry succeeded)  " in run(data("kept/synthetic"))[1])


def on_request():
    """A dump that was asked for says so, whose the memory is, and what nobody knows."""
    out = run(data("kept/train-dump"))[1]
    check("a dump on request: the head", out.startswith("MEMORY IN USE (dump on request, no failure)  2026-11-22"), out)
    check("a dump on request: the lines", "\nWHERE  torch_training.py:200 Training.step  2.0 MiB, optimizer state\n" in out, out)
    check("a dump on request: the rows", "\n                 CUDA context 518 MiB\n                 PyTorch 64 MiB: " in out and
          "\n  7.4 GiB  93 %  not known: free, or held by other processes and the driver\n" in out, out)
    out = run(data("kept/torch-late-dump"))[1]
    check("a dump on request: whose lines", "\nWHERE  torch.c:162 step  486 KiB" in out and "in pid 12853 on GPU 1\n" in out, out)
    said = subprocess.run([BIN, "report", data("kept/train-dump")], capture_output=True, timeout=PATIENCE, text=True).stdout
    check("a report on a dump names the command", "gpumemtrace oom says who held" in " ".join(said.split()), said)


def contents():
    """Of many requests a list comes first, without the file's name; of few there is none."""
    lines = run(data("kept/synthetic-dump"))[1].splitlines()
    check("a list of many requests", lines[0].startswith("TIME (UTC)") and lines[12] == "" and
          all(line.startswith("2026-02-03 10:15:00 ") for line in lines[1:12]) and lines[13].startswith("MEMORY IN USE "), lines[:14])
    check("no list of two", "TIME (UTC)" not in run(data("kept/train-oom"))[1])


def in_pieces():
    """What a request had got before it failed is not memory from before it."""
    out = " ".join(run(data("kept/oom-vmm-dump"))[1].split())
    check("a request of pieces", "WHERE this request itself: 7.9 GiB in 405 pieces, given before one was refused;"
          " memory from before it: 80 MiB cuMemCreate" in out, out)


def words():
    """A directory's list is for people: causes in words, in rows that fit 80 columns with the name that dumps have."""
    with tempfile.TemporaryDirectory() as place:
        for name in ("oom-context-dump", "oom-torch", "oom-retry", "train-oom", "synthetic-dump"):
            long = f"gpumemtrace-oom-20260203-101612-4194304-12-{zlib.crc32(name.encode()):08x}.gmt"
            shutil.copy(data("kept/" + name), os.path.join(place, long))
        out = run(place)[1]
        for word in ("another process", "too little left", "a retry succeeded", "PyTorch's limit", "other processes",
                     "none failed", "host memory"):
            check("in a list: " + word, f"  {word}\n" in out, out)
        for name in ("request", "framework_limit", "untraced", "neighbour", "host_memory", "full"):
            check("no name of JSON in a list: " + name, f"  {name}\n" not in out, out)
        check("fits 80 columns", max(len(line) for line in out.splitlines()) <= 80, out)


def folder_as_alone():
    """A directory's list has the cause that each file has alone."""
    with tempfile.TemporaryDirectory() as place:
        for number, name in enumerate(("oom-torch", "train-oom-dump", "oom-vmm-dump", "oom-launch", "oom-context-dump")):
            path = os.path.join(place, name + ".gmt")
            shutil.copy(data("kept/" + name), path)
            os.utime(path, (number, number))
        views = [json.loads(line) for line in run("--json", place)[1].splitlines()]
        lines = run(place)[1].splitlines()[1:]
        rows = [row + "\n" + name for row, name in zip(lines[::2], lines[1::2])]
        check("a directory: a row for each request", len(rows) == len(views) == 6, rows)
        for row, view in zip(rows, views):
            name = row.split()[-1]
            path = os.path.join(place, name)
            wanted = [comparable(v) for v in alone(path)[1] if v["oom"]["number"] == view["oom"]["number"]]
            check("the same as alone, in a directory: " + name, [comparable(view)] == wanted, view["oom"]["verdict"])
            with tempfile.TemporaryDirectory() as other:
                shutil.copy(path, other)
                check("the row, too", row in run(other)[1], row)


def main():
    # torch's native allocator empties its cache of 100 MiB before the second try
    one("h100-native", "cuMemAlloc_v2", 2)
    one("h100-malloc-async", "cuMemAllocAsync", 1)
    check("the cache that was emptied in between", requests("h100-native")[0]["oom"]["freed_bytes"] == 100 << 20)
    check("none", requests("h200x2-ioctls-native") == [])
    code, out, err = run(data("h200x2-ioctls-native"))
    check("none, in words", code == 0 and out == "no request failed for lack of memory\n" and not err, out)
    code, out, err = run(data("h100-native"))
    check("the verdict comes first", "\nASKED  500 GiB by cuMemAlloc_v2" in out and
          "\nWHY    one request of 500 GiB, more than the " in out, out)
    check("in short", len(out.splitlines()) < 12 and all(len(line) <= 80 for line in out.splitlines()), out)
    check("in full", "BY CALLS" not in out and "BY CALLS" in run("--full", data("h100-native"))[1], out)
    several()
    folder()
    as_alone()
    folder_as_alone()
    words()
    in_pieces()
    contents()
    on_request()
    retry()
    check("no file", run()[0] == 2 and run("/nonexistent")[0] == 1)
    check("no recording", run(BIN)[0] == 1)
    return done()


raise SystemExit(main())
