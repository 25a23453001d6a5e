#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The phases of a training in the HTML report: the page's numbers are those of the recording, and in Chromium (skipped
where there is none) the ribbon, the pointer, the keyboard and the legend say them."""
import os
import re
import subprocess
import sys
import tempfile

from cases import BIN, PATIENCE, TOP, check, done, skip
import browserlib
import pagelib
import phaselib

TRAIN = os.path.join(TOP, "tests/data/kept/train-oom.gmt")
NO_TRAINING = os.path.join(TOP, "tests/data/kept/calls.gmt")
LEFT, RIGHT = 70, 12            # pixels beside the picture
RIBBON = 29, 40                 # the ribbon's pixels from the top


def page_of(folder, path):
    to = os.path.join(folder, os.path.basename(path) + ".html")
    subprocess.run([BIN, "report", "-q", "-o", to, path], stdout=subprocess.DEVNULL, timeout=PATIENCE, check=True)
    return to


def spans_of(data, phases):
    """[(begin, end, {phase: time})]"""
    it, time, found = pagelib.numbers(phases["spans"]), 0, []
    for _ in range(phases["count"]):
        time += pagelib.zigzag(next(it))
        end = time + next(it)
        found.append((time, end, {name: t for name in data["phases"] if (t := next(it))}))
    assert next(it, None) is None, "more numbers than phases"
    return found


def alone(data):
    """The spans of the only process and GPU that has any."""
    rows = [row["phases"] for process in data["processes"] for row in process["rows"] if row["phases"]]
    assert len(rows) == 1 and not rows[0]["merged"], rows
    return spans_of(data, rows[0])


def in_the_page(page):
    data = pagelib.data_of(page)
    spans = alone(data)
    ranges, backwards = (next(iter(each.values())) for each in phaselib.ranges_of(TRAIN))
    said = {(phase, begin, end) for begin, end, times in spans for phase in times}
    wanted = {one for one in ranges if one[0] and one[2] > spans[0][0]}
    check("the optimizer's phases are those of its ranges", wanted and wanted == {s for s in said if s[0] in phaselib.PHASES.values()},
          (wanted ^ said))
    begun = {begin for phase, begin, _ in said if phase == "backward"}
    check("backwards begin with their calls", begun and begun <= backwards, begun - backwards)
    check("phases have their whole time, and follow each other",
          all(times == {phase: end - begin} for begin, end, times in spans for phase in times) and
          all(a[1] <= b[0] for a, b in zip(spans, spans[1:])), spans[:5])
    return data, spans


def shares(spans, begin, end):
    """{phase: its share of a time}"""
    found = {}
    for a, b, times in spans:
        common = max(0, min(b, end) - max(a, begin))
        for phase in times:
            found[phase] = found.get(phase, 0) + common / (end - begin)
    return found


def open_at(browser, page, begin, end):
    browser.open(f"{page}?{begin}#from={begin}&to={end}")
    browser.frame()


def ribbon(browser):
    """The ribbon's colours in each column of the picture, each with its count of pixels."""
    top, bottom = RIBBON
    pixels = browser.run(f"""(canvas => {{
        const copy = document.createElement("canvas");
        [copy.width, copy.height] = [canvas.width, canvas.height];
        const g = copy.getContext("2d", {{ willReadFrequently: true }});
        g.drawImage(canvas, 0, 0);
        return [...g.getImageData(0, {top}, canvas.width, {bottom - top}).data];
    }})(document.querySelector("#chart canvas"))""")
    width, found = len(pixels) // 4 // (bottom - top), []
    for x in range(width):
        colours = {}
        for y in range(bottom - top):
            *colour, alpha = pixels[4 * (y * width + x):4 * (y * width + x) + 4]
            name = "rgb({}, {}, {})".format(*colour) if alpha == 255 else None
            colours[name] = colours.get(name, 0) + 1
        found.append(colours)
    return found


def legend(browser):
    """{phase: colour}, and the words behind."""
    swatches = browser.run("[...document.querySelectorAll('#phases .swatch')].map(one => [one.parentNode.textContent,"
                           " getComputedStyle(one).backgroundColor])")
    return dict(swatches), browser.run("document.querySelector('#phases').lastChild.textContent")


def percents(text):
    return {name: int(number) for name, number in re.findall(r"([a-z]+(?: [a-z]+)?) (\d+) %", text.split(": ")[-1])}


def whole_columns(browser, page, spans):
    """Zoomed in, the pointer and the ribbon say each phase."""
    wrong, seen = [], set()
    colours = {}
    for begin, end, times in spans:
        (phase, time), = times.items()
        if phase in seen or time < 20000:
            continue
        open_at(browser, page, begin - time, end + time)
        x, y, width, height = browser.box("#chart canvas:last-of-type")
        middle = LEFT + (width - LEFT - RIGHT) / 2
        browser.mouse("mouseMoved", x + middle, y + height * 0.6)
        browser.frame()
        tip, (colours, _) = browser.run("document.getElementById('tip').textContent"), legend(browser)
        if f", {phase}   sum" not in tip and f"   {phase}   sum" not in tip:
            wrong.append((phase, tip))
        column = ribbon(browser)[round(middle)]
        if column.get(colours[phase], 0) != RIBBON[1] - RIBBON[0]:
            wrong.append((phase, column, colours))
        seen.add(phase)
    check("the pointer says each phase, and the ribbon has its colour", not wrong and len(seen) == 4, (wrong, seen))
    check("each phase has a colour of its own", len(set(colours.values())) == 4, colours)
    browser.key("ArrowRight")
    browser.frame()
    check("the keyboard says it, too", re.search(r"(forward|backward|optimizer|zero grad).*sum",
                                               browser.run("document.getElementById('hover').textContent")), tip)


def shared_columns(browser, page, data, spans):
    """Zoomed out, a column of several phases has the share of each as height, and the legend has those of the time shown."""
    begin, end = spans[0][0] - 10**7, spans[-1][1] + 10**7
    open_at(browser, page, begin, end)
    width = browser.box("#chart canvas")[2] - LEFT - RIGHT
    colours, words = legend(browser)
    wrong, mixed, columns = [], 0, ribbon(browser)
    for c in range(int(width)):
        at = begin + c / width * (end - begin)
        wanted, got = shares(spans, at, at + (end - begin) / width), columns[LEFT + c]
        mixed += len(wanted) > 1
        for phase, share in wanted.items():
            height = got.get(colours[phase], 0)
            # A phase's name lies on whole columns.
            if abs(height - share * (RIBBON[1] - RIBBON[0])) > 2 and share < 0.9:
                wrong.append((c, phase, share, height, got))
    check("a column that has several phases shows their shares", not wrong and mixed > 3, (wrong[:3], len(wrong), mixed))
    said, wanted = percents(words), shares(spans, begin, end)
    check("the legend says the share of each phase in the time that is shown",
          said and all(abs(said.get(phase, 0) - 100 * share) <= 1 for phase, share in wanted.items()), (words, wanted))
    browser.call("Emulation.setEmulatedMedia", media="print")
    browser.frame()
    check("paper has the legend", browser.run("document.getElementById('phases').getClientRects().length > 0") and
          len(data["phases"]) == 4)
    browser.call("Emulation.setEmulatedMedia", media="screen")


def without(browser, page):
    browser.open(page)
    browser.frame()
    check("without a training there is neither ribbon nor legend", browser.run("document.getElementById('phases').hidden"))


def main():
    with tempfile.TemporaryDirectory(prefix="gmt-phases-") as folder:
        page = page_of(folder, TRAIN)
        data, spans = in_the_page(page)
        try:
            with browserlib.Browser() as browser:
                whole_columns(browser, page, spans)
                shared_columns(browser, page, data, spans)
                without(browser, page_of(folder, NO_TRAINING))
                check("no error", not browser.errors, browser.errors)
        except browserlib.Unavailable as why:
            skip("the ribbon in Chromium", why)
    return done()


if __name__ == "__main__":
    sys.exit(main())
