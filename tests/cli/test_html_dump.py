#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The HTML page of a dump: its window is the end of the recording of the same session, its last moment is the picture
that `gpumemtrace oom` explains, names do nothing to the page, and in Chromium (skipped where there is none) the verdict
leads to bands and segments."""
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

from cases import BIN, PATIENCE, TOP, check, done
import pagelib
import browserlib
from pagelib import data_of
from test_html import at, frames_of, page_of, uses_of
from test_html_segments import segments_of

KEPT = os.path.join(TOP, "tests/data/kept")
DUMPS = {name: os.path.join(KEPT, name + "-dump.gmt")
         for name in ("train-oom", "oom-torch", "train", "oom-vmm", "oom-context", "oom-killed", "torch-late", "synthetic")}
# Of these sessions there is a recording of the same process.
RECORDED = "train-oom", "oom-torch", "train"
REQUEST = 3   # enum series_why
OOM_ROW, ROW_DEVICE = 0x800b, 31   # struct gmt_oom_row
HISTORY_EVENT = 0x8013


def picture_of(path):
    said = subprocess.run([BIN, "oom", "--json", path], capture_output=True, text=True, timeout=PATIENCE, check=True)
    return json.loads(said.stdout.splitlines()[-1])


def stack_names(data, index):
    """The frames of a stack as text."""
    return tuple(data["symbols"][frame][0] for frame in data["stacks"][index][0])


def by_stack(data, series, held):
    found = {}
    for key, bytes_ in zip(series["keys"], held):
        if bytes_:
            names = stack_names(data, key[0])
            found[names] = found.get(names, 0) + bytes_
    return found


def row_pairs(dump, recording):
    for process in dump["processes"]:
        for of in recording["processes"]:
            if of["pid"] == process["pid"]:
                yield from zip(process["rows"], of["rows"])


def window_is_the_recordings(folder):
    """At each moment of the dump that the recording has a frame of, too, both have the same bytes by stack trace."""
    wrong, common = [], 0
    for name in RECORDED:
        dump = data_of(page_of(folder, DUMPS[name]))
        recording = data_of(page_of(folder, os.path.join(KEPT, name + ".gmt")))
        shift = dump["start_ns"] - recording["start_ns"]
        for shown, whole in row_pairs(dump, recording):
            for kind in ("calls", "blocks"):
                if not shown[kind]:
                    continue
                frames = frames_of(whole[kind])
                times = {frame[0] for frame in frames}
                for frame in frames_of(shown[kind]):
                    if frame[0] + shift not in times:
                        continue
                    common += 1
                    mine = by_stack(dump, shown[kind], frame[6])
                    others = by_stack(recording, whole[kind], at(frames, frame[0] + shift))
                    wrong += [(name, kind, frame[0], mine, others)] if mine != others else []
    check("a dump's window has the bytes of the recording of the same session", not wrong and common > 50,
          f"{common} common moments, wrong: {wrong[:2]}")


def sums_of(row):
    """What the bands of a row hold at the end: memory of calls, and a framework's blocks; and what was reserved."""
    calls, blocks = (frames_of(row[kind])[-1][3] if row[kind] else 0 for kind in ("calls", "blocks"))
    reserved = next((n for key, n in zip(row["levels"]["keys"], frames_of(row["levels"])[-1][6])), 0)
    return calls, blocks, reserved


def last_moment_is_the_picture(folder):
    wrong, rows = [], 0
    for name, path in DUMPS.items():
        if name == "synthetic":   # its picture and its window do not belong together
            continue
        data, picture = data_of(page_of(folder, path)), picture_of(path)
        gpus = {(p["pid"], g["gpu"]): g for p in picture["processes"] for g in p["gpus"]}
        for process in data["processes"]:
            for row in (row for row in process["rows"] if row["calls"]):
                gpu = gpus[process["pid"], int(row["gpu"])]
                torch = gpu["torch"]
                wanted = (gpu["attributed"]["live_bytes"], torch["allocated"]["live_bytes"] if torch else 0,
                          torch["reserved"]["live_bytes"] if torch else 0)
                rows += 1
                found = sums_of(row)
                found = (found[0] + row["beside"], *found[1:])
                wrong += [(name, found, wanted)] if found != wanted else []
                wrong += wrong_uses(name, row, torch)
    check("a dump's last moment has the picture's bytes", not wrong and rows >= 6, (rows, wrong))


def wrong_uses(name, row, torch):
    uses = uses_of(row["blocks"]) if row["blocks"] and row["blocks"]["parts"] else []
    for frame, use in zip(frames_of(row["blocks"]) if uses else [], uses):
        if min(use.values(), default=0) < 0 or sum(use.values()) > frame[3]:
            yield name, frame[0], use
    wanted = sorted(kind["live_bytes"] for kind in torch["categories"] if kind["live_bytes"] and kind["category"] != "unknown") \
        if uses else []
    found = sorted(used for part, used in uses[-1].items() if used) if uses else []
    if any(n not in found for n in wanted):
        yield name, found, wanted


def says(folder):
    for name in ("train-oom", "oom-torch", "oom-context"):
        data = data_of(page_of(folder, DUMPS[name]))
        finding = data["findings"][0]
        check(f"{name}: what ran out comes first", finding["name"] == "out_of_memory" and " failed: " in finding["sentence"], finding)
        requests = [frame for process in data["processes"] for row in process["rows"] if row["calls"]
                    for frame in frames_of(row["calls"]) if frame[1] == REQUEST]
        check(f"{name}: the request is a moment of the picture", name == "oom-context" or requests, requests)
    data = data_of(page_of(folder, DUMPS["train-oom"]))
    check("no note says that the dump has no numbers", not any("has no numbers" in note for note in data["notes"]), data["notes"])
    data = data_of(page_of(folder, DUMPS["oom-vmm"]))
    check("memory that lies nowhere is told", any("handles" in note for note in data["notes"]), data["notes"])
    data = data_of(page_of(folder, DUMPS["train-oom"]))
    check("segments lay at the request", [one["why"] for one in data["instants"]] == ["request"], data["instants"])


def placed_bytes(data):
    """What the segments of the first process's first row hold together."""
    return sum(segment[2] for instant in data["instants"] if (instant["process"], instant["row"]) == (0, 0)
               for segment in segments_of(instant))


def rewritten(folder, name, change):
    """The dump with records changed."""
    path = os.path.join(folder, "changed.gmt")
    pagelib.recfile.write(path, [change(bytearray(record)) for record in pagelib.recfile.read(DUMPS[name])])
    return path


def rows_have_their_gpu(folder):
    """A request failed on cuda:1, and the process has memory on cuda:0, too, of which the picture says nothing."""
    def numbered(device):
        def change(record):
            if struct.unpack_from("<H", record, 2)[0] == OOM_ROW:
                record[ROW_DEVICE] = device + 1
            return bytes(record)
        return change

    found = []
    for device in (None, 0, 1):
        path = DUMPS["oom-vmm"] if device is None else rewritten(folder, "oom-vmm", numbered(device))
        data = data_of(page_of(folder, path))
        frames = frames_of(data["processes"][0]["rows"][0]["calls"])
        found.append((data["start_ns"], frames[-1][3], placed_bytes(data), sum(frame[1] == REQUEST for frame in frames),
                      len(data["instants"])))
    check("memory of another GPU is not in the request's row", found[0] == found[2] and found[0][1:] == (100 << 20, 100 << 20, 1, 1)
          and found[1][0] < found[0][0] and found[1][3] == 0, found)


def short_windows(folder):
    frames = frames_of(data_of(page_of(folder, DUMPS["oom-killed"]))["processes"][0]["rows"][0]["calls"])
    steps = [frame[3] for frame in frames if frame[1] == 0]
    check("each of 29 allocations within a millisecond is a step", [n << 28 for n in range(1, 30)] == steps[:29], steps)


def oom_writes(folder):
    page, other = page_of(folder, DUMPS["oom-torch"]), os.path.join(folder, "oom.html")
    command = [BIN, "oom", "-q", "-o", other]
    subprocess.run([*command, DUMPS["oom-torch"]], stdout=subprocess.DEVNULL, timeout=PATIENCE, check=True)
    check("'gpumemtrace oom' writes the same page", data_of(other) == data_of(page))
    shutil.copy(DUMPS["oom-torch"], os.path.join(folder, "one.gmt"))
    os.unlink(other)
    said = subprocess.run([*command, folder], capture_output=True, text=True, timeout=PATIENCE, check=False)
    check("a directory has no page of its own", said.returncode == 2 and "made of one recording or dump" in said.stderr and
          not os.path.exists(other), said)
    cut = os.path.join(folder, "cut.gmt")
    with open(DUMPS["train-oom"], "rb") as file, open(cut, "wb") as to:
        to.write(file.read()[:-20])
    for name in "report", "oom":
        command = [BIN, name, "-q", "-o", other, cut]
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=PATIENCE, check=False)
        notes = data_of(other)["notes"] if os.path.exists(other) else []
        check(f"the page by '{name}' says that a dump is cut off", any("incomplete" in note for note in notes), notes)


def shared(folder):
    page = os.path.join(folder, "shared.html")
    subprocess.run([BIN, "report", "-q", "--redact", "-o", page, DUMPS["train-oom"]], stdout=subprocess.DEVNULL, timeout=PATIENCE,
                   check=True)
    with open(page, encoding="utf-8") as file:
        text = file.read()
    found = [word for word in ("/opt/", "node17", "torch_training.py oom", "train-oom-dump") if word in text]
    check("--redact takes command lines, folders and the host out of a dump's page", not found, found)


def without_events(folder):
    path = os.path.join(folder, "flat.gmt")
    pagelib.recfile.write(path, [record for record in pagelib.recfile.read(DUMPS["oom-torch"])
                                 if struct.unpack_from("<H", record, 2)[0] != HISTORY_EVENT])
    return path


def in_browser(folder):
    hostile = pagelib.spoiled(folder, DUMPS["train-oom"])
    with browserlib.Browser() as browser:
        browser.open(page_of(folder, DUMPS["train-oom"]))
        said = browser.run("document.body.innerText")
        check("the page shows the request, memory over time, segments and the verdict", all(
            word in said for word in ("1 GiB at libblocks.c:112 failed", "optimizer state", "a request for 1 GiB failed", "WHY")), said)
        check("a page without single events has no place for them", "Single events" not in said and "its events" not in said, said)
        browser.run("[...document.querySelectorAll('.finding button')].find(one => one.innerText === 'its segments and gaps').click()")
        browser.until("document.activeElement.closest('[aria-label=segments]') !== null")
        browser.run("[...document.querySelectorAll('.finding button')].find(one => one.innerText === 'why, and what to do').click()")
        browser.until("(box => box.top >= 0 && box.bottom <= innerHeight)(document.querySelector('#report').getBoundingClientRect())")
        check("the page says that the time is a dump's window", "the last 0.361 s before a dump, 1 process" in said, said)
        browser.open(page_of(folder, DUMPS["oom-torch"]))
        shown = "[...document.querySelectorAll('.lines label')].filter(one => !one.hidden).map(one => one.innerText)"
        check("a switch without a line or a band is not there", browser.run(shown) == ["the GPU's size"], browser.run(shown))
        said = browser.run("document.body.innerText")
        check("where no allocator is, no gap is spoken of", "each row is an allocation" in said and "All gaps" not in said, said)
        browser.run("document.querySelector('.finding button').click()")
        browser.until("location.hash.includes('chosen=oom_cases.c%3A39%20fill')")
        a, b, to = (int(re.search(f"[#&]{key}=(\\d+)", browser.run("location.hash")).group(1)) for key in ("a", "b", "to"))
        check("the verdict leads to the line's band, from the window's beginning to the request", a == 0 < b <= to, (a, b, to))
        browser.open(page_of(folder, without_events(folder)))
        flame = browser.run("document.querySelector('#flame').parentNode.innerText")
        check("where nothing grew, the flame graph has what is held", "\n7 GiB\n" in flame and "fill" in flame, flame)
        browser.open(page_of(folder, hostile))
        browser.frame()
        check("names in a dump do nothing to its page", browser.run("window.hacked") is None)
        check("the console is silent", not browser.errors, browser.errors)


def main():
    with tempfile.TemporaryDirectory(prefix="gmt-html-") as folder:
        window_is_the_recordings(folder)
        last_moment_is_the_picture(folder)
        says(folder)
        rows_have_their_gpu(folder)
        short_windows(folder)
        oom_writes(folder)
        shared(folder)
        pagelib.in_chromium("the page in a browser", in_browser, folder)
    return done()


if __name__ == "__main__":
    sys.exit(main())
