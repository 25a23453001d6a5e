#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The pictures of the README: their files exist and are whole, and what writes them (svglib.py) takes any text."""
import glob
import os
import re
import sys
from xml.etree import ElementTree

from cases import TOP, check, done

sys.path.insert(1, os.path.join(TOP, "tests"))
import svglib  # noqa: E402
from svglib import Cell  # noqa: E402

NAME = "{http://www.w3.org/2000/svg}"
ELEMENTS = {NAME + name for name in ("svg", "title", "style", "rect", "text")}
PAGES = "README.md", "demos/README.md"
PHOTO_BYTES = 150_000
HOSTILE = "</text><script>alert(1)</script>", "\" onload=\"x", "a & b &amp; ]]>", "\x00\x1b[31m\x07\ufffe\ud800", "<!--"
SHOWN = re.compile(r'<(?:img|source)\b[^>]*?\b(?:src|srcset)="([^"]*)"')


def page(name):
    with open(os.path.join(TOP, name), encoding="utf-8") as file:
        return file.read()


def faults(text):
    """What a picture may not have."""
    try:
        root = ElementTree.fromstring(text.encode())
    except (ElementTree.ParseError, UnicodeEncodeError) as error:
        return [f"no XML: {error}"]
    found = [f"element {element.tag}" for element in root.iter() if element.tag not in ELEMENTS]
    found += [f"attribute {name}" for element in root.iter() for name in element.attrib if name.startswith("on") or "href" in name]
    style = "".join(element.text for element in root.iter(NAME + "style"))
    return found + [f"style: {word}" for word in ("url(", "@import", "http") if word in style]


def photo_faults(path):
    """What a picture of a browser may not be: the sizes are those of a file that people load with the README."""
    with open(os.path.join(TOP, path), "rb") as file:
        data = file.read()
    whole = data.startswith(b"\x89PNG\r\n\x1a\n") and data.endswith(b"IEND\xaeB`\x82")
    return [f"{len(data)} bytes, whole: {whole}"] if not whole or len(data) > PHOTO_BYTES else []


def drawn(lines):
    """(text of the picture's elements, its faults) for each theme"""
    columns = max(sum(cell.width for cell in cells) for cells in lines)
    for theme in svglib.THEMES:
        text = svglib.svg(lines, columns, theme, HOSTILE[0])
        fault = faults(text)
        root = None if fault else ElementTree.fromstring(text.encode())
        yield [] if fault else [element.text for element in root.iter(NAME + "text")], fault


def hostile():
    lines = [[Cell(char) for char in text] for text in HOSTILE]
    wanted = [svglib.FORBIDDEN.sub("\ufffd", text) for text in HOSTILE]
    for texts, fault in drawn(lines):
        check("hostile text stays text", not fault and texts == wanted, f"{fault} {texts}")


def grid():
    cells = [Cell("a"), Cell("b"), Cell(" "), Cell(" "), Cell("c"), Cell("語", 2), Cell("e\u0301"), Cell("█", color="green"),
             Cell("x", bold=True), Cell("y", bold=True), Cell("y", reverse=True)]
    root = ElementTree.fromstring(svglib.svg([cells], 12, "dark", "a grid").encode())
    found = [((int(element.get("x")) - svglib.MARGIN) // svglib.WIDTH, element.text, element.get("textLength"), element.get("class"))
             for element in root.iter(NAME + "text")]
    wanted = [(0, "ab", "12", None), (4, "c", "6", None), (5, "語", "12", None), (7, "e\u0301", "6", None), (9, "xy", "12", "B"),
              (11, "y", "6", "v")]
    check("each run of equal style is at its column", found == wanted, found)
    blocks = [element.get("x") for element in root.iter(NAME + "rect")][1:]
    check("blocks and reverse text are drawn at their columns", blocks == [str(svglib.MARGIN + 6 * n) for n in (8, 11)], blocks)


def files():
    shown = {name: [os.path.normpath(os.path.join(os.path.dirname(name), path)) for path in SHOWN.findall(page(name))]
             for name in PAGES}
    missing = [path for paths in shown.values() for path in paths if not os.path.isfile(os.path.join(TOP, path))]
    check("the README shows pictures that exist", shown["README.md"] and not missing, missing)
    paths = sorted(os.path.relpath(path, TOP) for path in glob.glob(os.path.join(TOP, "demos/pictures/*")))
    unused = sorted(set(paths) - set(sum(shown.values(), [])))
    check("each picture is shown", not unused, unused)
    bad = [f"{path}: {fault}" for path in paths
           for fault in (photo_faults(path) if path.endswith(".png") else faults(page(path)))]
    check("pictures have no script and refer to nothing", not bad, bad)


hostile()
grid()
files()
sys.exit(done())
