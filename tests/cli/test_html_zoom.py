#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Zooming in a segment of the HTML report, in Chromium (skipped where there is none): a part of a segment's addresses fills
the row, by keys, a drag and the wheel; the page says which part, and the address keeps it."""
import os
import re
import sys
import tempfile

import test_html
from cases import TOP, check, done, skip
import browserlib
from test_html_input import settled
from test_html_segments import CANVAS, PIECE

OOM = os.path.join(TOP, "tests/data/kept/train-oom.gmt")      # 50 blocks in the first 6 MiB of a segment of 64 MiB
GUTTER, RIGHT, ROW = 150, 4, 20
CONTROL = 2                     # a modifier of the DevTools protocol
SAID = "(bar => bar.hidden ? '' : bar.innerText)(document.querySelector('#placed ~ .bar'))"
UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20}


def open_at(browser, page, address=""):
    browser.open(f"{page}?{address}#fit=1{address}")     # no row for what was asked: the segment is the first row
    browser.frame()
    browser.run("document.querySelector('#placed').scrollIntoView()")
    browser.frame()


def place(browser, part):
    """The pixel of the window at a part of the first segment's row."""
    x, y, width, _ = browser.box(CANVAS)
    return x + GUTTER + (width - GUTTER - RIGHT) * part, y + ROW / 2


def tip(browser, part):
    browser.mouse("mouseMoved", *place(browser, part))
    browser.frame()
    return browser.run("document.querySelector('.tip').innerText")


def said(browser):
    """(bytes, first byte, blocks, gaps) as the page says them; None: no part is zoomed to."""
    found = re.match(r"Zoomed in: ([\d.]+) (\w+) of the segment of 64 MiB at 0x[0-9a-f]+, from ([\d.]+) (\w+) on, with "
                     r"(\d+) blocks? and (\d+) gaps?\.", browser.run(SAID) or "")
    if not found:
        return None
    size, unit, first, first_unit, blocks, gaps = found.groups()
    return float(size) * UNITS[unit], float(first) * UNITS[first_unit], int(blocks), int(gaps)


def coloured(browser):
    """The pixels of the first row with a colour: gaps have none."""
    return browser.run(f"""(canvas => {{
        const copy = document.createElement("canvas");
        [copy.width, copy.height] = [canvas.width, 1];
        const g = copy.getContext("2d", {{ willReadFrequently: true }});
        g.drawImage(canvas, 0, -9);
        const all = g.getImageData({GUTTER}, 0, copy.width - {GUTTER}, 1).data;
        let count = 0;
        for (let at = 0; at < all.length; at += 4)
            count += Math.max(...all.slice(at, at + 3)) - Math.min(...all.slice(at, at + 3)) > 40;
        return count;
    }})(document.querySelector("{CANVAS}"))""")


def focus(browser):
    browser.run(f"document.querySelector('{CANVAS}').focus()")


def keys(browser, page):
    open_at(browser, page, "&a=1700000000")
    check("without a zoom nothing is said of one", said(browser) is None and browser.run(SAID) == "", browser.run(SAID))
    focus(browser)
    browser.key("ArrowRight")
    browser.key("+")
    half = said(browser)
    check("+ shows a half, and the page says so", half and half[:2] == (32 << 20, 0) and half[3] > 0, half)
    for _ in range(6):
        browser.key("+")
    small = said(browser)
    check("and then less: with fewer blocks", small and small[0] == 512 << 10 and 0 < small[2] < half[2], (half, small))
    seen = []
    for _ in range(30):
        browser.key("ArrowRight")
        seen.append((browser.run(PIECE), said(browser)))
    check("the part follows the keys from piece to piece", len({piece for piece, _ in seen}) > 3 and
          len({part[1] for _, part in seen}) > 3 and {part[0] for _, part in seen} == {small[0]}, seen[-3:])
    begin = said(browser)[1]
    browser.call("Input.dispatchKeyEvent", type="keyDown", key="ArrowLeft", modifiers=8)
    browser.call("Input.dispatchKeyEvent", type="keyUp", key="ArrowLeft", modifiers=8)
    browser.frame()
    check("with Shift they pan", said(browser)[1] < begin, (begin, said(browser)))
    before = settled(browser, "kept.zoom && kept.zoomBytes === '524288'")
    address = browser.run("location.hash")
    browser.open(page + "?again" + address)
    browser.frame()
    check("the address keeps the part", said(browser)[0] == small[0] and before["a"] == "1700000000", said(browser))
    focus(browser)
    browser.key("-")
    check("- shows more", said(browser)[0] == 1 << 20, said(browser))
    browser.key("Escape")
    now = settled(browser, "!kept.zoom")
    check("Escape shows the whole segment, and changes nothing else", said(browser) is None and now["a"] == "1700000000", now)


def pointer(browser, page):
    open_at(browser, page)
    plain = coloured(browser)
    browser.drag(*place(browser, 0), *place(browser, 0.05))
    part = said(browser)
    check("a drag shows the part that was dragged over", part and abs(part[0] - 0.05 * (64 << 20)) < 0.1 * (1 << 20) and
          part[1] < 4096 and browser.run("document.querySelector('tr.chosen') === null"), part)
    wide = coloured(browser)
    check("blocks that were a smear fill the row", wide > 5 * plain > 0, (plain, wide))
    under = tip(browser, 0.5)
    browser.click(*place(browser, 0.5))
    check("the pointer tells and chooses what is drawn there", "iB" in under and browser.run(PIECE) == under,
          (under, browser.run(PIECE)))
    browser.mouse("mouseWheel", *place(browser, 0.5), deltaX=0, deltaY=-120, modifiers=CONTROL)
    browser.frame()
    closer = said(browser)
    check("Control and the wheel zoom in around the pointer", closer and closer[0] < 0.85 * part[0] and tip(browser, 0.5) == under,
          (part, closer, under, tip(browser, 0.5)))
    browser.mouse("mouseWheel", *place(browser, 0.5), deltaX=300, deltaY=0)
    browser.frame()
    check("the wheel to the side pans", said(browser)[1] > closer[1] and said(browser)[0] == closer[0], (closer, said(browser)))
    browser.run("[...document.querySelectorAll('button')].find(one => one.textContent === 'whole segment').click()")
    browser.frame()
    check("a button shows the whole segment", said(browser) is None and tip(browser, 0.5) != under, browser.run(SAID))


def any_address(browser, page):
    open_at(browser, page, "&x")
    at = browser.run("""document.querySelector('#segments').parentNode.open = true,
                        new Promise(done => setTimeout(() => done(document.querySelector('#segments tbody').rows[0].cells[5].innerText)))""")
    for part in "zoomFrom=1e99&zoomBytes=1e9", "zoomFrom=-5&zoomBytes=-1", "zoomFrom=NaN", "zoomFrom=0.5&zoomBytes=1e-9":
        open_at(browser, page, f"&zoom={int(at, 16)}&{part}")
        focus(browser)
        for key in ("ArrowRight", "+", "-", "ArrowRight"):
            browser.key(key)
        check(f"the page bears {part}", browser.run(PIECE) and coloured(browser) > 0 and not browser.errors, browser.errors)


def main():
    with tempfile.TemporaryDirectory(prefix="gmt-zoom-") as folder:
        page = test_html.page_of(folder, OOM)
        try:
            with browserlib.Browser() as browser:
                keys(browser, page)
                pointer(browser, page)
                any_address(browser, page)
                check("no error in the console", not browser.errors, browser.errors)
        except browserlib.Unavailable as why:
            skip("zooming in a segment", why)
    return done()


if __name__ == "__main__":
    sys.exit(main())
