#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Questions that the HTML report alone answers: the clicks in Chromium (skipped where there is none), and what is in the
window after the last one. A question, its clicks and its answer are a row of QUESTIONS."""
import json
import os
import re
import subprocess
import sys
import tempfile

from cases import BIN, PATIENCE, TOP, check, done, skip

import browserlib  # cases.py has set the path

DATA = os.path.join(TOP, "tests/data")
# What is clicked: the element, and the text that it begins with. Of a list, the entry's text.
FINDING, ROW, GROUP = ".finding button", "tbody tr td:last-child", "select[aria-label='group by']"

QUESTIONS = [
    ("which line keeps gradients where nothing sets them to zero, and since which iteration", "found/torch-gradients.gmt",
     [(GROUP, "by use"), (ROW, "gradients")],
     [r"gradients\s+Kept since iteration 1: never less than 1\.0 MiB afterwards", r"(?m)^keep_gradients \(torch_leaks\.py:114\)$"]),
    ("what the line of the gradients holds", "found/torch-gradients.gmt",
     [(ROW, "torch_leaks.py:114")],
     [r"torch_leaks\.py:114 keep_gradients\s+gradients\. Kept since iteration 1: "]),
    ("which line keeps activations where a loss is summed with its graph", "found/torch-summed.gmt",
     [(FINDING, "torch_leaks.py:60")],
     [r"LEAK about \+320 KiB in each of the last 38 iterations", r"keep \.item\(\) of losses",
      r"torch_leaks\.py:60 Net\.forward\s+kept over iterations\. Kept since iteration 1: ", r"grows from iteration 2 on"]),
    ("which line has a second optimizer, and since which iteration", "found/torch-twice.gmt",
     [(FINDING, "torch_leaks.py:103")],
     [r"STATE optimizers keep 16\.0 MiB for 4\.0 MiB of parameters", r"A second optimizer, or a loaded copy\?",
      r"torch_leaks\.py:103 optimize_twice\s+optimizer state.* in iteration 4, 16\.0 MiB since iteration 5\."]),
    ("which line keeps the outputs of an evaluation", "found/torch-outputs.gmt",
     [(FINDING, "torch_leaks.py:60")],
     [r"GROWTH torch_leaks\.py:60 Net\.forward \+", r"a cache, a list or a dictionary that is never emptied\?"]),
    ("which line keeps a cache that grows with each token", "found/torch-cache.gmt",
     [(FINDING, "torch_leaks.py:177")],
     [r"GROWTH torch_leaks\.py:177 generate \+", r"(?m)^4\.8 MiB\s+31 MiB\s+26\.2 MiB\s+31 MiB\s+torch_leaks\.py:177 generate"]),
    ("which line keeps outputs of a training, and since which iteration", "found/h200-logits.gmt",
     [(FINDING, "train.py:120")],
     [r"LEAK \+116 MiB in the last 58 iterations", r"train\.py:120 logits\s+kept over iterations\. Kept since iteration 2: ",
      r"it grows from iteration 3 on"]),
    ("which line keeps a cache for each text", "found/h200-caches.gmt",
     [(FINDING, "train.py:130")],
     [r"GROWTH train\.py:130 caches \+768 MiB", r"(?m)^268 MiB\s+1\.0 GiB\s+772 MiB\s+1\.0 GiB\s+train\.py:130 caches"]),
    ("which line held the memory when a request failed", "kept/oom-torch.gmt",
     [(FINDING, "oom_cases.c:39")],
     [r"OOM 2 requests failed, .*\(oom_cases\.c:39 holds 7 GiB\)",
      r"(?m)^0 B\s+7 GiB\s+7 GiB\s+7\.3 GiB\s+oom_cases\.c:39 fill",
      r"(?m)^fill$"]),
    ("whether gradients are kept from one iteration to the next", "kept/train.gmt",
     [(GROUP, "by use"), (ROW, "gradients")],
     [r"gradients\s+Not kept: it falls to 0 B within iteration 3\."]),
]
# The texts of what lies in the window, at least in part.
IN_WINDOW = """[...document.querySelectorAll('.finding, #story, tr, section pre')].filter(one => {
    const box = one.getBoundingClientRect();
    return box.bottom > 0 && box.top < innerHeight;
}).map(one => one.innerText).join("\\n")"""


def place_of(browser, selector, text):
    """The middle of the first element that begins with the text, scrolled to as a reader does."""
    place = browser.run(f"""(one => {{
        if (!one)
            return null;
        one.scrollIntoView({{ block: "nearest" }});
        const box = one.getBoundingClientRect();
        return [box.x + box.width / 2, box.y + box.height / 2];
    }})([...document.querySelectorAll({json.dumps(selector)})].find(one => one.innerText.trim().startsWith({json.dumps(text)})))""")
    assert place, f"no {selector} begins with {text}"
    return place


def click(browser, selector, text):
    """In a list, the keyboard chooses: the list of a browser without a window is not drawn."""
    if not selector.startswith("select"):
        browser.click(*place_of(browser, selector, text))
        return
    browser.run(f"document.querySelector({json.dumps(selector)}).focus()")
    for key in text:
        browser.key(key)
    chosen = browser.run(f"(s => s.options[s.selectedIndex].text)(document.querySelector({json.dumps(selector)}))")
    assert chosen == text, f"the list has {chosen}"


def answers(browser, folder, question, recording, clicks, wanted):
    page = os.path.join(folder, "report.html")
    subprocess.run([BIN, "report", "-q", "-o", page, os.path.join(DATA, recording)], stdout=subprocess.DEVNULL, timeout=PATIENCE,
                   check=True)
    browser.open(page)
    browser.frame()
    for selector, text in clicks:
        click(browser, selector, text)
        browser.frame()
    seen = browser.run(IN_WINDOW).replace("\u00a0", " ")
    missing = [text for text in wanted if not re.search(text, seen)]
    check(f"{question}: clicks {len(clicks)}", not missing and not browser.errors, f"no {missing} in:\n{seen}\n{browser.errors}")


def main():
    try:
        with browserlib.Browser() as browser, tempfile.TemporaryDirectory(prefix="gmt-answers-") as folder:
            for question in QUESTIONS:
                answers(browser, folder, *question)
    except browserlib.Unavailable as why:
        skip("questions to the page", why)
    return done()


if __name__ == "__main__":
    sys.exit(main())
