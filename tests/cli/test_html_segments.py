#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Segments, blocks and gaps in the HTML report: their sums are the report's at the peak and at the end; and in Chromium
(skipped where there is none) words, pointer, keys and address show and keep them."""
import os
import sys
import tempfile

import test_html
from cases import TOP, check, done
from pagelib import data_of, in_chromium
from test_html import LEAK, numbers, spoiled, zigzag

sys.path.insert(1, os.path.join(TOP, "tests"))
import browserlib  # noqa: E402

OOM = os.path.join(TOP, "tests/data/kept/train-oom.gmt")
OWN, GUESSED, BIRTH, WAITING, ASKED = 1, 4, 8, 16, 32
CANVAS, SAID = "#placed canvas", "document.querySelector('#placed').previousSibling.innerText"
PIECE = "document.querySelector('#piece').innerText"


# ---- the numbers ----

def place_of(it, end):
    """(flags, address, bytes)."""
    flags = next(it)
    address, size, _ = end + zigzag(next(it)), next(it), next(it)
    for flag in WAITING, BIRTH:
        if flags & flag:
            next(it)
    return flags, address, size


def segments_of(instant):
    """[(flags, address, bytes, [(address, bytes)])]."""
    it, end, found = numbers(instant["segments"]), 0, []
    for _ in range(instant["segment_count"]):
        flags, address, size = place_of(it, end)
        at, blocks, end = address, [], address + size
        for _ in range(next(it)):
            with_asked, begin, length = place_of(it, at)
            next(it)
            if with_asked & ASKED:
                next(it)
            at = begin + length
            blocks.append((begin, length))
        found.append((flags, address, size, blocks))
    assert next(it, None) is None, "more numbers than segments"
    return found


def gaps_of(segment):
    _, at, size, blocks = segment
    end, gaps = at + size, []
    for begin, length in blocks + [(end, 0)]:
        assert begin >= at and begin + length <= end, "a block lies outside of its segment"
        gaps.append(begin - at)
        at = begin + length
    return [gap for gap in gaps if gap]


def sums_of(instant):
    own = [segment for segment in segments_of(instant) if segment[0] & OWN]
    blocks = [size for segment in own for _, size in segment[3]]
    is_guess = any(segment[0] & GUESSED for segment in own)
    return {"segments": None if is_guess else sum(segment[2] for segment in own), "blocks": sum(blocks), "count": len(blocks),
            "gap": max((gap for segment in own for gap in gaps_of(segment)), default=0)}


def differences(path, page):
    """Texts, and of each other instant whether there were numbers to compare with. After a mark, the report's peak is newer."""
    data, view = data_of(page), test_html.report_of(path)
    marked = {instant["process"] for instant in data["instants"] if instant["why"] == "mark"}
    for instant in data["instants"]:
        if instant["row"] is None or instant["why"] not in ("end", "peak"):
            continue
        proc = view["processes"][instant["process"]]
        torch, sums = proc["gpus"][instant["row"]]["torch"], sums_of(instant)
        wanted = None
        if torch and instant["why"] == "end" and not instant["unseen"]:
            wanted = {"segments": torch["segments"]["live_bytes"], "blocks": torch["blocks"]["live_bytes"],
                      "count": torch["blocks"]["live_count"], "gap": torch["largest_free_gap_bytes"]}
        elif torch and torch["blocks"]["allocs"] and proc["from_start"] and instant["process"] not in marked:
            wanted = {"blocks": torch["allocated"]["peak_bytes"]}
        for name, number in (wanted or {}).items():
            if number is not None and sums[name] not in (None, number):
                yield f"{os.path.basename(path)} {instant['why']}: {name} {sums[name]}, not {number}"
        yield bool(wanted)


def same_sums(folder):
    wrong, compared = [], 0
    for path in test_html.recordings():
        if "synthetic" in path:  # its totals are made up
            continue
        for one in differences(path, test_html.page_of(folder, path)):
            if isinstance(one, str):
                wrong.append(one)
            else:
                compared += one
    print(f"# {compared} instants compared")
    check("segments, blocks and gaps have the report's sums at the peak and at the end", not wrong and compared > 20,
          "\n".join(wrong[:9]))


def words(folder):
    instants = data_of(test_html.page_of(folder, OOM))["instants"]
    check("there is an instant for each request that failed", [one["why"] for one in instants] ==
          ["peak", "request", "request", "end"] and instants[1]["asked"] == instants[2]["asked"] > 0, instants)


# ---- in a browser ----

def kept(browser, name):
    browser.until(f"new URLSearchParams(location.hash.slice(1)).has('{name}')")
    return browser.run(f"new URLSearchParams(location.hash.slice(1)).get('{name}')")


def tells(browser):
    said = browser.run(SAID)
    check("the page says what is cached, and in which pieces", "cached in" in said and "the largest of" in said, said)
    check("and what the gaps mean for the request that failed", "the request" in said, said)
    browser.run("[...document.querySelectorAll('.finding button')].find(one => one.textContent === 'its segments and gaps').click()")
    check("the verdict leads to the instant", browser.run("document.querySelector('[aria-label=instant]').selectedOptions[0].innerText")
          .startswith("a request for"), kept(browser, "instant"))
    check("and the keyboard is there", browser.run("document.activeElement.matches('#placed canvas')"))


def walks(browser):
    seen = []
    for key in ("ArrowRight", "ArrowRight", "ArrowDown", "ArrowRight", "End", "Home"):
        browser.key(key)
        seen.append(browser.run(PIECE))
    check("arrows go from block to gap", len(set(seen)) > 2 and "a gap: cached in a segment of" in " ".join(seen) and
          "before" in " ".join(seen), seen)
    place = kept(browser, "place")
    check("the page's own keys rest meanwhile", browser.run("document.querySelector('tr.chosen') === null"))
    browser.key("Enter")
    chosen = kept(browser, "chosen")
    check("Enter chooses the block's band", browser.run("document.querySelector('tr.chosen').innerText").find(chosen) >= 0, chosen)
    return place


def points(browser):
    browser.run("document.querySelector('#placed').scrollIntoView()")
    x, y, width, _ = browser.box(CANVAS)
    row = y + 32                 # below the bytes that were asked for
    browser.mouse("mouseMoved", x + width * 0.9, row)
    browser.frame()
    tip = browser.run("document.querySelector('.tip').innerText")
    check("the pointer shows what lies there", "segment of" in tip and "iB" in tip, tip)
    browser.click(x + width * 0.9, row)
    check("a click chooses it", browser.run(PIECE) == tip, (tip, browser.run(PIECE)))


def same_table(browser):
    browser.run("document.querySelector('#segments').parentNode.open = true")
    browser.until("document.querySelectorAll('#segments tbody tr').length > 0")
    rows = browser.run("[...document.querySelectorAll('#segments tbody tr')].map(row => row.innerText.split('\\t'))")
    check("the table has the segments", all(len(row) == 7 and row[5].startswith("0x") for row in rows), rows[:3])
    check("one stop of Tab holds all segments", browser.run("document.querySelectorAll('#placed [tabindex], #segments [tabindex]')"
                                                             ".length") == 1)


def comes_back(browser, page, place):
    at = browser.run("location.hash")
    browser.open(test_html.page_of(os.path.dirname(page), LEAK))
    browser.open(page + "#instant=0&fit=1&order=address&place=" + place)
    browser.frame()
    check("the address keeps the instant, the order and the piece", kept(browser, "instant") == "0" and
          kept(browser, "order") == "address" and browser.run(PIECE) != "", at)


def in_browser(folder):
    page = test_html.page_of(folder, OOM)
    with browserlib.Browser() as browser:
        browser.open(page)
        browser.frame()
        tells(browser)
        place = walks(browser)
        points(browser)
        same_table(browser)
        comes_back(browser, page, place)
        browser.open(spoiled(folder))
        browser.frame()
        browser.run("document.querySelector('#placed canvas').focus()")
        browser.key("ArrowRight")
        check("names in a piece do nothing", browser.run("window.hacked === undefined") and "<script>" in browser.run(PIECE),
              browser.run(PIECE))
        check("no error in the console, and nothing is asked of a network", not browser.errors, browser.errors)


def main():
    with tempfile.TemporaryDirectory(prefix="gmt-html-") as folder:
        same_sums(folder)
        words(folder)
        in_chromium("segments in a browser", in_browser, folder)
    return done()


if __name__ == "__main__":
    sys.exit(main())
