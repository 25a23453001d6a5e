#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What mouse and keyboard do to the HTML report, in Chromium. The page of each recording in tests/data opens without an
error. Skipped where there is no Chromium."""
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import urllib.parse

from cases import BIN, PATIENCE, TOP, check, done, skip

import browserlib  # cases.py has set the path

DATA = os.path.join(TOP, "tests/data")
LEAK = os.path.join(DATA, "found/h200-logits.gmt")
TWO_GPUS = os.path.join(DATA, "kept/old-driver.gmt")
OVERLAY = "#chart canvas:last-of-type"
SHIFT = 8                       # a modifier of the DevTools protocol
LEFT = 70                       # pixels: where the picture's bands begin


def page_of(folder, path):
    to = os.path.join(folder, os.path.basename(path) + ".html")
    subprocess.run([BIN, "report", "-q", "-o", to, path], stdout=subprocess.DEVNULL, timeout=PATIENCE, check=True)
    return to


def all_open(browser, folder):
    wrong, pictures = [], 0
    recordings = sorted(glob.glob(f"{DATA}/**/*.gmt", recursive=True))
    for path in recordings:
        del browser.errors[:]
        browser.open(page_of(folder, path))
        browser.frame()
        hovers(browser, 0.9)
        text = browser.run("document.body.innerText")
        shown = browser.run("document.querySelectorAll('tbody tr').length > 0 && !document.getElementById('chart').hidden")
        pictures += shown
        if browser.errors or "Report" not in text or shown == ("There is no memory over time" in text):
            wrong.append(f"{path}: {browser.errors} {text[:200]}")
    print(f"# {len(recordings)} recordings, {pictures} pictures")
    check("the page of each recording opens without an error and without a network",
          not wrong and pictures > len(recordings) / 2, "\n".join(wrong))
    del browser.errors[:]


def kept(browser):
    """What the page's address keeps."""
    parts = urllib.parse.parse_qs(browser.run("location.hash")[1:], keep_blank_values=True)
    return {name: values[0] for name, values in parts.items()}


def settled(browser, is_so):
    """The page's address, once it is so."""
    browser.until(f"(kept => ({is_so}))(Object.fromEntries(new URLSearchParams(location.hash.slice(1))))")
    return kept(browser)


def hovers(browser, part, height=0.8):
    x, y, width, tall = browser.box(OVERLAY)
    browser.mouse("mouseMoved", x + width * part, y + tall * height)
    browser.frame()
    return browser.run("document.getElementById('tip').textContent")


def fresh(browser, page, address=""):
    browser.open(page + "?" + address)              # the part behind ? makes it another page
    if address:
        browser.run(f"location.hash = {json.dumps(address)}")
        browser.loaded = False
        browser.call("Page.reload")
        browser.until("document.readyState === 'complete' && document.querySelector('tbody tr') !== null")
    browser.frame()


ITERATION = 0.82             # a part of the picture where an iteration is


def pointer(browser, page):
    fresh(browser, page)
    tip = hovers(browser, ITERATION)
    check("the pointer shows the time, the iteration, the sum and the band",
          re.fullmatch(r"\d\d:\d\d:\d\d\.\d{3} UTC \(\+1\d\.\d{3} s\)   iteration \d+(?:, [a-z %\d,]+)?   sum \d.* [MG]iB.*\n\d.* [KM]iB  \S.*",
                       tip.split("\nend of")[0], re.S), tip)
    x, y, width, tall = browser.box(OVERLAY)
    browser.click(x + width * ITERATION, y + tall * 0.8)
    chosen = settled(browser, "kept.chosen")["chosen"]
    check("a click chooses the band below the pointer", tip.split("\n")[1].endswith("  " + chosen), (tip, chosen))
    x, y, width, tall = browser.box(OVERLAY)
    browser.click(x + width * ITERATION, y + tall * 0.8)
    settled(browser, "!kept.chosen")
    check("another click lets go of it", browser.run("document.querySelector('tr.chosen') === null"))
    browser.mouse("mouseMoved", 5, 5)
    check("beside the picture the pointer shows nothing", browser.run("document.getElementById('tip').hidden"))


def span(browser):
    now = kept(browser)
    return float(now["from"]), float(now["to"])


def time_moves(browser, page):
    fresh(browser, page)
    browser.key("ArrowDown")
    settled(browser, "kept.chosen")
    begin, end = span(browser)
    x, y, width, _ = browser.box(OVERLAY)
    browser.mouse("mouseWheel", x + LEFT + (width - LEFT) / 2, y + 50, deltaX=0, deltaY=-120)
    settled(browser, f"kept.to - kept.from < {0.9 * (end - begin)}")
    zoomed = span(browser)
    check("the wheel zooms in, around the pointer", begin < zoomed[0] < zoomed[1] < end, (begin, end, zoomed))
    browser.mouse("mouseWheel", x + width / 2, y + 50, deltaX=100, deltaY=0)
    settled(browser, f"kept.from > {zoomed[0]}")
    moved = span(browser)
    check("the wheel to the side pans", abs((moved[1] - moved[0]) - (zoomed[1] - zoomed[0])) < 2 and moved[1] > zoomed[1],
          (zoomed, moved))
    browser.drag(x + width * 0.3, y + 50, x + width * 0.6, y + 50, modifiers=SHIFT)
    settled(browser, f"kept.to - kept.from < {0.5 * (moved[1] - moved[0])}")
    check("Shift and drag zoom to the part, and set no instants", "a" not in kept(browser) and "b" not in kept(browser), kept(browser))
    browser.run("[...document.querySelectorAll('button')].find(one => one.textContent === 'whole time').click()")
    settled(browser, "kept.from == 0 && kept.to > 0")
    length = browser.run("JSON.parse(document.getElementById('data').textContent).length_ns")
    check("the picture begins a little before the first memory; a button shows the whole time",
          0.1 * length < begin and span(browser) == (0, end) and end == length, (begin, end, length, span(browser)))
    part = "[...document.querySelectorAll('.bar .dim')][0].textContent"
    browser.frame()
    all_of_it = browser.run(part)
    browser.mouse("mouseWheel", x + LEFT + (width - LEFT) / 2, y + 50, deltaX=0, deltaY=-120)
    settled(browser, "kept.from > 0")
    browser.frame()
    check("the page says which part of the time is drawn", all_of_it == "" and
          re.fullmatch(r"\d+\.\d+ s to \d+\.\d+ s of \d+\.\d+ s", browser.run(part)), (all_of_it, browser.run(part)))


def keys(browser, page):
    fresh(browser, page)
    first = hovers(browser, 0.5)
    browser.key("ArrowRight")
    right = browser.run("document.getElementById('hover').textContent")
    check("an arrow moves the pointer", right and right.split("   ")[0] != first.split("   ")[0], (first, right))
    browser.key("a")
    browser.key("p")
    browser.key("b")
    now = settled(browser, "kept.a && kept.b")
    head = browser.run("document.querySelector('thead').innerText")
    check("a and b set the instants, and p goes to the peak", float(now["a"]) < float(now["b"]) and
          re.match(r"at A\s+at B\s+change", head), (now, head))
    begin, end = span(browser)
    browser.key("+")
    settled(browser, f"kept.to - kept.from < {0.6 * (end - begin)}")
    browser.key("-")
    settled(browser, f"kept.to - kept.from > {0.9 * (end - begin)}")
    browser.key("/")
    check("/ goes to the search", browser.run("document.activeElement.type") == "search")
    for letter in "logits":
        browser.key(letter)
    settled(browser, "kept.search === 'logits'")
    shown = browser.run("[...document.querySelectorAll('tbody tr')].map(row => row.dataset.band)")
    check("what is typed there is searched for, and no key of the page's", shown and "by=line" in browser.run("location.hash") and
          "train.py:120 logits" in shown, shown)
    browser.key("Escape")
    settled(browser, "!kept.search && !kept.a && !kept.b")
    check("Escape shows all", browser.run("document.activeElement === document.body"), browser.run("document.activeElement.tagName"))
    browser.run("document.querySelector('tbody tr').focus()")
    browser.key("Enter")
    check("Enter chooses the row that has the focus", settled(browser, "kept.chosen")["chosen"] ==
          browser.run("document.querySelector('tr.chosen').dataset.band"))
    check("and the row keeps the focus", browser.run("document.activeElement === document.querySelector('tr.chosen')"))


def row_with_focus(browser, selector):
    """(its number, how many there are); -1: none has the focus."""
    return browser.run(f"(rows => [rows.indexOf(document.activeElement), rows.length])([...document.querySelectorAll('{selector}')])")


def stops(browser, page):
    """Tab goes through the whole page in a few steps, with one in each table; keys go from row to row there."""
    fresh(browser, page)
    browser.until("document.querySelectorAll('#events tbody tr').length > 20")
    seen, steps = {".frame": [], "#below tbody tr": [], "#events tbody tr": []}, 0
    while not seen["#events tbody tr"] and steps < 60:
        browser.key("Tab")
        steps += 1
        for selector, list_ in seen.items():
            at, count = row_with_focus(browser, selector)
            list_.extend([(at, count)] if at >= 0 else [])
    check("each table and the flame graph is one stop of Tab", all(len(list_) == 1 and list_[0][1] > 5 for list_ in seen.values()),
          (steps, seen))
    moved = []
    for key in "ArrowDown", "ArrowDown", "ArrowUp", "End", "PageUp", "ArrowDown", "Home":
        browser.key(key)
        moved.append(row_with_focus(browser, "#events tbody tr")[0])
    last = seen["#events tbody tr"][0][1] - 1
    check("arrows, pages, Home and End go from row to row", moved == [1, 2, 1, last, last - 10, last - 9, 0], moved)
    check("and no key of the page's", "chosen" not in kept(browser), kept(browser))
    browser.key("ArrowDown")
    row = browser.run("document.activeElement.dataset.key")
    browser.key("Enter")
    settled(browser, "kept.chosen")
    browser.until("document.querySelectorAll('#events tbody tr').length > 0")
    check("Enter follows, and the next Tab comes back to that row", browser.run(
        f"document.querySelector('#events [tabindex=\"0\"]').dataset.key === {json.dumps(row)}"))


def frames(browser):
    return browser.run("[...document.querySelectorAll('.frame')].map(frame => frame.title.split('\\n')[0])")


def flame(browser, page):
    fresh(browser, page)
    before = frames(browser)
    x, y, width, tall = browser.run("(b => [b.x, b.y, b.width, b.height])([...document.querySelectorAll('.frame')].find(frame => "
                                    "frame.title.startsWith('train (train.py:68)')).getBoundingClientRect())")
    browser.click(x + width / 2, y + tall / 2)
    zoomed = frames(browser)
    check("a click in the flame graph shows the frame and what it called", zoomed[0] == "train (train.py:68)" and
          0 < len(zoomed) < len(before), zoomed)
    x, y, width, tall = browser.box(".frame")
    browser.click(x + width / 2, y + tall / 2)
    check("another click shows all again", frames(browser) == before, frames(browser))
    browser.run("document.querySelector('.line-cached input').click()")
    check("the cache can be left out", "[cached, in no block]" not in
          browser.run("[...document.querySelectorAll('tbody tr')].map(row => row.dataset.band)"))


def views(browser, page):
    fresh(browser, page)
    names = browser.run("[...document.querySelectorAll('select')[0].options].map(option => option.text)")
    for number in [*range(1, len(names)), 0]:
        browser.key("v")
        settled(browser, f"kept.view == {number}")
    check("v goes through all processes and GPUs", len(names) > 2, names)


def any_address(browser, page):
    for address in ("view=99&by=nothing&from=5&to=1&flame=constructor&chosen=nobody", "view=-1&from=NaN&to=x&search=(", "%&%%=%E0%A4",
                    "from=1000000000000000000&to=1000000000000000128", "from=0&to=1e-200", "from=1e25&to=1e26&a=1e25&b=-7"):
        fresh(browser, page, address)
        browser.key("f")                # writes the address again
        browser.key("l")
        now = settled(browser, "kept.view === '0' && kept.by === 'line' && kept.flame === 'freed'")
        end = browser.run("JSON.parse(document.getElementById('data').textContent).length_ns")
        check(f"the page bears the address #{address}", 0 <= float(now["from"]) < float(now["to"]) <= end and
              "chosen" not in now and 0 <= float(now.get("b", 0)) <= end and not browser.errors, (now, end, browser.errors))


def main():
    try:
        with browserlib.Browser() as browser, tempfile.TemporaryDirectory(prefix="gmt-input-") as folder:
            all_open(browser, folder)
            page = os.path.join(folder, os.path.basename(LEAK) + ".html")
            for use in pointer, time_moves, keys, stops, flame:
                use(browser, page)
            views(browser, os.path.join(folder, os.path.basename(TWO_GPUS) + ".html"))
            any_address(browser, page)
            check("no error in the console", not browser.errors, browser.errors)
    except browserlib.Unavailable as why:
        skip("mouse and keyboard", why)
    return done()


if __name__ == "__main__":
    sys.exit(main())
