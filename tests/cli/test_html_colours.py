#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The colours of the HTML report: the colour-blind tell all bands apart, texts can be read, and what print and the
browser's dark scheme make of the page in Chromium (skipped where there is none).

A colour-blind eye is simulated by Machado, Oliveira and Fernandes, "A Physiologically-based Model for Simulation of Color
Vision Deficiency", 2009, with the matrices of severity 1.0. Distances are those of CIE L*a*b* (1976); 2.3 can just be
noticed."""
import itertools
import os
import re
import subprocess
import sys
import tempfile

from cases import BIN, PATIENCE, TOP, check, done, skip

import browserlib  # cases.py has set the path

PAGE = os.path.join(TOP, "user/sink/html/page")
LEAK = os.path.join(TOP, "tests/data/found/h200-logits.gmt")
FIRST, APART_FIRST, APART = 8, 17, 14
TEXT, SEEN = 4.5, {"light": 1.2, "dark": 1.9}    # contrasts: 4.5 is WCAG 2's for texts (level AA)
EYES = {
    "normal": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}
TO_XYZ = (0.4124564, 0.3575761, 0.1804375), (0.2126729, 0.7151522, 0.0721750), (0.0193339, 0.1191920, 0.9503041)
WHITE = 0.95047, 1.0, 1.08883


def text_of(name):
    with open(os.path.join(PAGE, name), encoding="utf-8") as file:
        return file.read()


def linear(colour):
    """Red, green and blue as amounts of light."""
    parts = (int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5))
    return [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]


def times(matrix, vector):
    return [sum(a * b for a, b in zip(row, vector)) for row in matrix]


def lab(light):
    x, y, z = (f ** (1 / 3) if f > 216 / 24389 else (24389 / 27 * f + 16) / 116
               for f in (value / white for value, white in zip(times(TO_XYZ, light), WHITE)))
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def seen_by(eye, colour):
    return lab([min(1, max(0, part)) for part in times(EYES[eye], linear(colour))])


def nearest(eye, colours):
    """(distance, colour, colour) of the two that are most alike."""
    return min((sum((p - q) ** 2 for p, q in zip(seen_by(eye, a), seen_by(eye, b))) ** 0.5, a, b)
               for a, b in itertools.combinations(colours, 2))


def contrast(a, b):
    darker, lighter = sorted(times(TO_XYZ, linear(colour))[1] for colour in (a, b))
    return (lighter + 0.05) / (darker + 0.05)


def themes():
    """{theme: {variable: colour}}"""
    css = text_of("report.css")
    blocks = {"light": re.search(r':root, :root\[data-theme="light"\] \{(.*?)\}', css, re.S).group(1),
              "dark": re.search(r'\n:root\[data-theme="dark"\] \{(.*?)\}', css, re.S).group(1)}
    return {theme: dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", block)) for theme, block in blocks.items()}


def bands():
    colours = re.findall(r'"(#[0-9a-f]{6})"', re.search(r"const COLOURS = \[(.*?)\]", text_of("chart.js"), re.S).group(1))
    count = int(re.search(r"const BANDS = (\d+);", text_of("model.js")).group(1))
    check("each band has a colour of its own", len(set(colours)) == len(colours) >= count, (len(colours), count))
    for eye in EYES:
        first, whole = nearest(eye, colours[:FIRST]), nearest(eye, colours)
        print(f"# {eye}: the first {FIRST} are {first[0]:.1f} apart at least, all {len(colours)} {whole[0]:.1f}")
        if eye != "tritanopia":          # one in 10,000 people; the numbers are told, not promised
            check(f"bands can be told apart: {eye}", first[0] >= APART_FIRST and whole[0] >= APART, (first, whole))
    for theme, variables in themes().items():
        least = min((contrast(colour, variables["raised"]), colour) for colour in colours)
        check(f"bands can be seen on the ground of the {theme} page", least[0] >= SEEN[theme], least)


def texts():
    for theme, variables in themes().items():
        least = min((contrast(variables[text], variables[back]), text, back)
                    for text in ("text", "dim", "accent", "bad", "guess") for back in ("back", "raised"))
        print(f"# {theme}: {least}")
        check(f"texts can be read on the {theme} page", least[0] >= TEXT, least)


GROUND = "getComputedStyle(document.body).backgroundColor"
SHOWN = "[...document.querySelectorAll('{}')].filter(one => one.getClientRects().length).length"


def on_paper(browser, page):
    browser.open(page)
    browser.frame()
    check("a dark scheme of the browser makes the page dark", browser.run(GROUND) == "rgb(21, 23, 26)", browser.run(GROUND))
    browser.run("document.querySelector('.finding button').click()")
    browser.call("Emulation.setEmulatedMedia", media="print", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    browser.frame()
    check("paper is white, and has what was found, the picture, the table, the flame graph and the report, and nothing to click",
          browser.run(GROUND) == "rgb(255, 255, 255)" and
          all(browser.run(SHOWN.format(part)) for part in
              (".finding", "canvas", "tbody tr", ".frame", "#story", "pre", ".line-nvml")) and
          not browser.run(SHOWN.format(".line-size")) and
          not browser.run(SHOWN.format("header button, input, #help")) and
          browser.run("getComputedStyle(document.querySelector('select')).appearance") == "none", browser.run("document.body.innerText")[:400])
    grey = browser.run("(c => [...c.getContext('2d').getImageData(5, 5, 1, 1).data])(document.querySelector('canvas'))")
    pdf = browser.call("Page.printToPDF", printBackground=False)["data"]
    check("it prints", len(pdf) > 10000 and grey[3] == 0 and not browser.errors, (len(pdf), grey, browser.errors))


def main():
    bands()
    texts()
    try:
        with browserlib.Browser(dark=True) as browser, tempfile.TemporaryDirectory(prefix="gmt-colours-") as folder:
            page = os.path.join(folder, "report.html")
            subprocess.run([BIN, "report", "-q", "-o", page, LEAK], stdout=subprocess.DEVNULL, timeout=PATIENCE, check=True)
            on_paper(browser, page)
    except browserlib.Unavailable as why:
        skip("the dark page, and the page on paper", why)
    return done()


if __name__ == "__main__":
    sys.exit(main())
