#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The HTML report where no call was seen: sessions of the kernel's layer or of NVML alone, and processes that only have a
context. In Chromium (skipped where there is none) such views come last, with one band."""
import os
import sys
import tempfile

import test_html
from cases import TOP, check, done
from pagelib import data_of, in_chromium

sys.path.insert(1, os.path.join(TOP, "tests"))
import browserlib  # noqa: E402

KERNEL = os.path.join(TOP, "tests/data/h200x2-ioctls-native.gmt")
NVML = os.path.join(TOP, "tests/data/kept/synthetic-neighbours.gmt")
CONTEXT = os.path.join(TOP, "tests/data/kept/calls.gmt")
BY_KERNEL, BY_NVML = "by the kernel driver, no call seen", "by nvidia-smi, no call seen"


def bare_rows(page):
    data = data_of(page)
    return [(data["classes"][row["calls"]["keys"][0][1]], row["calls"]["peak"]) for process in data["processes"]
            for row in process["rows"] if row["is_bare"]]


def numbers(folder):
    view = test_html.report_of(KERNEL)
    wanted = [(BY_KERNEL, gpu["physical"]["peak_bytes"]) for gpu in view["processes"][0]["gpus"]]
    found = bare_rows(test_html.page_of(folder, KERNEL))
    check("without calls, a page has what the kernel gave", found == wanted and len(wanted) == 2, (found, wanted))
    found = bare_rows(test_html.page_of(folder, NVML))
    check("without calls and the kernel, it has NVML's numbers", found == [(BY_NVML, 8 << 30)], found)
    found = bare_rows(test_html.page_of(folder, CONTEXT))
    check("it has processes with nothing but a context", [name for name, _ in found] == [BY_KERNEL] * 2, found)


def verdicts(browser, folder):
    browser.open(test_html.page_of(folder, KERNEL))
    said = browser.run("document.body.innerText")
    check("where nothing could be looked at, the page says so", "because nothing could be looked at" in said, said)


def options(browser):
    return browser.run("[...document.querySelector('[aria-label=\"process and GPU\"]').options].map(one => one.text)")


def rows(browser):
    return browser.run("[...document.querySelectorAll('#below tbody tr')].map(row => row.innerText)")


def in_browser(folder):
    with browserlib.Browser() as browser:
        verdicts(browser, folder)
        browser.open(test_html.page_of(folder, KERNEL))
        browser.frame()
        check("each GPU is a view", options(browser) == ["python3 (pid 685), GPU 0", "python3 (pid 685), GPU 1", "all 2 GPUs"],
              options(browser))
        check("its memory is one band", len(rows(browser)) == 1 and BY_KERNEL in rows(browser)[0] and "946 MiB" in rows(browser)[0],
              rows(browser))
        painted = browser.run("(c => new Set(c.getContext('2d').getImageData(0, 0, c.width, c.height).data).size)"
                              "(document.querySelector('canvas'))")
        check("the picture has colours", painted > 10, painted)
        browser.key("v")
        check("so it is on the other GPU", "996 MiB" in rows(browser)[0], rows(browser))
        browser.open(test_html.page_of(folder, CONTEXT))
        browser.frame()
        names = [name for name in options(browser) if not name.startswith("GPU ") and not name.startswith("all ")]
        bare = [name for name in names if "12684" in name or "exe (pid 12705), GPU 1" in name]
        check("what has no calls comes after what has", len(bare) == 2 and names[-2:] == bare, names)
        check("no error in the console", not browser.errors, browser.errors)


def main():
    with tempfile.TemporaryDirectory(prefix="gmt-html-") as folder:
        numbers(folder)
        in_chromium("memory without calls in a browser", in_browser, folder)
    return done()


if __name__ == "__main__":
    sys.exit(main())
