#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Single events in the HTML report: with --events=all the page's lives are the database's, without it what is left out is
counted; and in Chromium (skipped where there is none) findings, instants, bands and a search lead to their events."""
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter

import test_html
from cases import BIN, PATIENCE, TOP, check, done
from pagelib import data_of, in_chromium
from test_html import CATEGORIES, LEAK, numbers, spoiled, zigzag

sys.path.insert(1, os.path.join(TOP, "tests"))
import browserlib  # noqa: E402

OOM = os.path.join(TOP, "tests/data/kept/train-oom.gmt")
END, BLOCK, SEGMENT, CONTINUES, ASKED = 7, 8, 16, 32, 64
LARGEST = 1000
DB_LIVES = ("SELECT birth_ns, death_ns, bytes, NULL FROM allocation WHERE place = 'gpu'", """
SELECT b.birth_ns, b.death_ns, b.bytes,
  CASE WHEN s.code_category = 'workspace' OR (s.code_category = 'parameter' AND b.category = 'kept')
    OR (s.code_category NOT NULL AND b.category = 'unknown') THEN s.code_category ELSE b.category END   -- as in the view held
FROM block b LEFT JOIN stack s ON s.id = b.stack""")


def report(*words):
    return subprocess.run([BIN, "report", "-q", *words], capture_output=True, text=True, timeout=PATIENCE, check=False)


def page_of(folder, path, *words):
    to = os.path.join(folder, "events" + "".join(words) + os.path.basename(path) + ".html")
    assert report("-o", to, *words, path).returncode == 0
    return to


def lives_of(page):
    """[(birth, death, bytes, category)] in nanoseconds of the recording's clock; of allocations the category is None."""
    data = data_of(page)
    it, found, time = numbers(data["lives"]), [], data["start_ns"]
    for _ in range(data["life_count"]):
        time += zigzag(next(it))
        flags = next(it)
        death = time + zigzag(next(it)) if flags & END else None
        what, size, _ = next(it), next(it), next(it)
        if flags & ASKED:
            next(it)
        next(it)
        if flags & BLOCK:
            next(it)
        found.append((time, death, size, CATEGORIES[what] if flags & BLOCK else None))
    assert next(it, None) is None, "more numbers than lives"
    return found


def lives_in(database):
    db = sqlite3.connect(database)
    return [(*row[:2], row[2] or 0, row[3]) for query in DB_LIVES for row in db.execute(query)]


def same_lives(folder):
    wrong, count = [], 0
    for path in test_html.recordings():
        name = os.path.join(folder, os.path.basename(path))
        report("--events=all", "-o", name + ".html", "-o", name + ".sqlite", path)
        lives, wanted = lives_of(name + ".html"), lives_in(name + ".sqlite")
        nowhere = data_of(name + ".html")["lives_left_out"]    # blocks on a device whose GPU is not known
        missing = Counter(life[:3] for life in wanted) - Counter(life[:3] for life in lives)
        if len(lives) + nowhere != len(wanted) or missing.total() != nowhere or nowhere > 2:
            wrong.append(f"{os.path.basename(path)}: {len(lives)} lives and {nowhere}, not {len(wanted)}")
        known = Counter(life for life in wanted if life[3] not in (None, "unknown"))
        if (known - Counter(lives)).total() > nowhere:
            wrong.append(f"{os.path.basename(path)}: other categories")
        count += len(lives)
    print(f"# {count} lives")
    check("with --events=all the page has each life, as the database has it", not wrong and count > 20000, "\n".join(wrong[:9]))


def counted(folder):
    wrong, left = [], 0
    for path in test_html.recordings():
        page, all_ = page_of(folder, path), page_of(folder, path, "--events=all")
        data, lives, wanted = data_of(page), Counter(lives_of(page)), Counter(lives_of(all_))
        if lives - wanted or data["lives_left_out"] + data["life_count"] != wanted.total() + data_of(all_)["lives_left_out"]:
            wrong.append(f"{os.path.basename(path)}: {data['life_count']} lives, {data['lives_left_out']} left out, "
                         f"{wanted.total()} in all, {(lives - wanted).total()} made up")
        left += data["lives_left_out"]
    check("what the page leaves out is counted", not wrong and left > 1000, "\n".join(wrong[:9]))


def refused():
    said = report("--events=none", LEAK)
    check("another word than some or all is refused", said.returncode == 2 and "some or all" in said.stderr, said.stderr)


# ---- in a browser ----

def settled(browser, text):
    """Until the table of events has followed, and says this."""
    browser.until(f"document.querySelector('#events').parentNode.innerText.includes({test_html.json.dumps(text)})")


def events(browser):
    return browser.run("[...document.querySelectorAll('#events tbody tr')].map(row => row.innerText.split('\\t'))")


def leads(browser):
    settled(browser, "Nearest to")
    said = browser.run("document.querySelector('#events').previousSibling.innerText")
    check("the page tells what it leaves out", re.search(r"has \d+ allocations, .* [1-9]\d+ others are left out \(gpumemtrace report --events=all", said), said)
    times = [float(row[0].split()[0]) for row in events(browser)]
    highest = float(re.search(r"Nearest to ([\d.]+) s", said).group(1))
    check("without an instant, the events are those around the highest moment",
          len(times) == 100 and times == sorted(times) and times[0] <= highest <= times[-1], (highest, times))
    browser.run("[...document.querySelectorAll('.finding button')].find(one => one.textContent === 'its events').click()")
    settled(browser, "between A and B")
    rows = events(browser)
    check("a finding leads to its own events", rows and {row[-1] for row in rows} == {"train.py:120 logits"} and
          any("kept over iterations" in row for row in rows), rows)
    top = browser.box("#events")[1]
    check("and shows them", 0 <= top < 1000, top)


def follows(browser):
    browser.run("history.replaceState(null, '', '#old')")
    browser.key("Escape")
    settled(browser, "Nearest to")
    browser.until("location.hash !== '#old'")      # the address follows later; the next one is of the drag's end
    browser.run("window.scrollTo(0, 0)")
    x, y, width, _ = browser.box("#chart canvas:last-of-type")
    browser.drag(x + width * 0.8, y + 40, x + width * 0.9, y + 40)
    settled(browser, "The largest between A and B.")
    # The address follows later than the table. On a busy machine it may still be that of the drag's middle.
    browser.until("(rows => rows.length && parseFloat(rows[rows.length - 1].innerText) <= Number((location.hash.match(/[#&]b="
                  "([0-9.]+)/) || [])[1]) / 1e9 + 0.001)([...document.querySelectorAll('#events tbody tr')])")
    a, b = (float(browser.run(f"location.hash.match(/[#&]{name}=([0-9.]+)/)[1]")) / 1e9 for name in "ab")
    times = [float(row[0].split()[0]) for row in events(browser)]
    check("two instants show the events between them", times and a - 0.001 <= times[0] and times[-1] <= b + 0.001, (a, b, times))
    browser.run("(s => { s.value = 'train.py:120'; s.dispatchEvent(new Event('input')); })(document.querySelector('[type=search]'))")
    browser.until("[...document.querySelectorAll('#events tbody tr')].every(row => row.lastChild.title.includes('train.py:120'))")
    check("a search keeps the events whose stack traces have the frame", True)
    browser.key("Escape")
    settled(browser, "Nearest to")
    browser.run("document.querySelector('#events tbody tr').click()")
    settled(browser, "Of the chosen band.")
    rows = events(browser)
    check("an event chooses its line", rows and len({row[-1] for row in rows}) == 1, rows)


def keyboard(browser):
    browser.key("Escape")
    settled(browser, "Nearest to")
    browser.run("window.scrollTo(0, 0)")
    browser.key("e")
    browser.until("document.activeElement.id === 'events' && document.querySelector('#events').getBoundingClientRect().y < innerHeight")
    check("a key leads to the events", True)
    browser.run("[...document.querySelectorAll('.links button')].find(one => one.textContent.startsWith('the peak')).click()")
    settled(browser, "(A)")
    check("a moment leads to the events around it", len(events(browser)) == 100)


def ran_out(browser):
    browser.run("[...document.querySelectorAll('.finding button')].find(one => one.textContent === 'its events').click()")
    settled(browser, "between A and B")
    rows = events(browser)
    check("the request that failed has its events", len(rows) > 10 and "a request that failed" in
          browser.run("document.querySelector('#events').parentNode.innerText"), rows[:9])


def in_browser(folder):
    with browserlib.Browser() as browser:
        for page, act in ((page_of(folder, LEAK), (leads, follows, keyboard)), (page_of(folder, OOM), (ran_out,))):
            browser.open(page)
            browser.frame()
            for one in act:
                one(browser)
        browser.open(spoiled(folder))
        browser.frame()
        browser.until("document.querySelectorAll('#events tbody tr').length > 0")
        browser.run("document.querySelector('#events tbody tr').click()")
        check("names of single events do nothing", browser.run("window.hacked === undefined") and
              any("onerror=" in cell for row in events(browser) for cell in row), events(browser)[:3])
        check("no error in the console, and nothing is asked of a network", not browser.errors, browser.errors)


def main():
    with tempfile.TemporaryDirectory(prefix="gmt-html-") as folder:
        same_lives(folder)
        counted(folder)
        refused()
        in_chromium("single events in a browser", in_browser, folder)
    return done()


if __name__ == "__main__":
    sys.exit(main())
