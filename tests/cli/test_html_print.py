#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The HTML report on paper: printed to a PDF by Chromium, and the PDF read by poppler's pdftoppm and pdftotext (skipped
where one of them is missing). A dark page, in which something is chosen, is light on paper, and whole."""
import base64
import os
import re
import shutil
import subprocess
import sys
import tempfile

from cases import PATIENCE, TOP, check, done, skip
import browserlib
from test_html import LEAK, page_of

OOM = os.path.join(TOP, "tests/data/kept/train-oom.gmt")
DPI = 50
BANDS = {"blue": (0x00, 0x72, 0xb2), "orange": (0xe6, 0x9f, 0x00), "green": (0x00, 0x9e, 0x73), "red": (0x99, 0x22, 0x22)}
CONTROLS = ("dark or light", "whole time", "search frames", "Click ", "Drag:", "its stack traces", "Events around", "by iteration")


def printed(browser, page, folder, name):
    """([the text of each page], [(width, height, pixels) of each page]) of the PDF."""
    browser.open(page)
    browser.frame()
    pdf = os.path.join(folder, name + ".pdf")
    with open(pdf, "wb") as file:
        file.write(base64.b64decode(browser.call("Page.printToPDF", printBackground=True)["data"]))
    said = subprocess.run(["pdftotext", "-layout", pdf, "-"], capture_output=True, text=True, timeout=PATIENCE, check=True)
    subprocess.run(["pdftoppm", "-r", str(DPI), pdf, os.path.join(folder, name)], timeout=PATIENCE, check=True)
    pictures = []
    for path in sorted(one for one in os.listdir(folder) if re.fullmatch(name + r"-\d+\.ppm", one)):
        with open(os.path.join(folder, path), "rb") as file:
            _, size, _, pixels = file.read().split(b"\n", 3)
        pictures.append((*map(int, size.split()), pixels))
    return said.stdout.rstrip("\f").split("\f"), pictures


def count(picture, wanted):
    """How many pixels have about a colour."""
    _, _, pixels = picture
    return sum(all(abs(pixels[i + n] - wanted[n]) < 12 for n in range(3)) for i in range(0, len(pixels), 3))


def dark_part(picture):
    width, height, pixels = picture
    return sum(sum(pixels[i:i + 3]) < 240 for i in range(0, len(pixels), 3)) / (width * height)


def leak(browser, folder):
    texts, pictures = printed(browser, page_of(folder, LEAK), folder, "leak")
    print(f"# {len(texts)} pages")
    first, text = texts[0], "\n".join(texts)
    check("the first page begins with what stands out, and memory over time follows",
          len(texts) == len(pictures) > 2 and 0 < first.find("+116 MiB in the last 58 iterations") < first.find("Memory over time"),
          first[:500])
    found = {name: count(pictures[0], colour) for name, colour in BANDS.items()}
    check("the bands of memory over time have their colours", min(found.values()) > 25 and sum(found.values()) > 1000, found)
    check("texts of the picture are on paper, too", all(word in first for word in ("iterations", "512 MiB", "14 s")), first)
    dark = [dark_part(picture) for picture in pictures]
    check("a dark page has light paper", max(dark) < 0.2, dark)
    check("the table is whole, with its sum once and at the end",
          [line.split()[-1] for line in text.splitlines() if re.search(r" (in no block\]|all)$", line) and "iB" in line] ==
          ["block]", "all"], text[:4000])
    check("segments are there as a table, which nobody has opened",
          len(re.findall(r"0x[0-9a-f]{6,}", text)) > 40 and "more segments are not in the picture" in text, text[-2000:])
    check("single events and the report are there", "Report" in text and len(re.findall(r"\d s +[+-]\d.*iB", text)) > 50, text[-2000:])
    check("nothing is there to click or to press", not [word for word in CONTROLS if word in text],
          [word for word in CONTROLS if word in text])
    check("what was chosen in lists is there as text", all(word in text for word in
          ("python3 (pid 507), GPU 0", "by line", "more at B than at A", "most was held", "by free bytes")), first)
    check("afterwards the page is as it was", browser.run(
        "getComputedStyle(document.body).backgroundColor === 'rgb(21, 23, 26)' && !document.querySelector('details').open && "
        "document.documentElement.className === '' && document.querySelector('canvas').clientWidth > 900"))


def chosen(browser, folder):
    at = "#iterations=1&theme=dark&a=1800000000&b=1500000000&chosen=torch_training.py%3A200%20Training.step"
    texts, _ = printed(browser, page_of(folder, OOM) + at, folder, "oom")
    check("paper has the chosen band's story, both instants, and the axis by iteration",
          all(re.search(part, texts[0], re.M) for part in (r"Kept since iteration 1", r"\bat A +at B", r"^ *iteration +.*2 +.*after 3$")) and
          len(texts) < 25, (len(texts), texts[0]))


def main():
    if not (shutil.which("pdftoppm") and shutil.which("pdftotext")):
        skip("the page on paper", "there is no pdftoppm")
        return done()
    with tempfile.TemporaryDirectory(prefix="gmt-print-") as folder:
        try:
            with browserlib.Browser(dark=True) as browser:
                leak(browser, folder)
                chosen(browser, folder)
                check("no error in the console", not browser.errors, browser.errors)
        except browserlib.Unavailable as why:
            skip("the page on paper", why)
    return done()


if __name__ == "__main__":
    sys.exit(main())
