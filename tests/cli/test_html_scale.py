#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A recording of 10 million events as an HTML page: its cost, its size, and in Chromium the script's time for each picture
while somebody zooms, pans and marks two instants, by time and by iteration. Times are a thread's own, so that they hold on a busy machine."""
import os
import resource
import subprocess
import sys
import tempfile

from cases import BIN, PATIENCE, TOP, check, done, skip

sys.path.insert(1, os.path.join(TOP, "tests"))
import browserlib  # noqa: E402

BENCH = os.path.join(os.path.dirname(BIN), "tests/bench/page_bench")
EVENTS = 10_000_000
SECONDS, MIB, FILE_MB = 10, 300, 25
PAINT_MS, MEDIAN_MS, MOST_MS = 2000, 8, 16
STEPS = 200


def children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def written(folder):
    recording, page = os.path.join(folder, "large.gmt"), os.path.join(folder, "large.html")
    said = subprocess.run([BENCH, recording, str(EVENTS)], capture_output=True, text=True, timeout=PATIENCE, check=True)
    before = children()
    child = subprocess.Popen([BIN, "report", "-q", "-o", page, recording], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = status
    seconds, mib, size = children() - before, used.ru_maxrss / 1024, os.path.getsize(page) / 1e6
    print(f"# {said.stdout.strip()}: {seconds:.1f} s, {mib:.0f} MiB, {size:.1f} MB")
    check(f"the page takes less than {SECONDS} s, {MIB} MiB, and {FILE_MB} MB",
          not status and seconds < SECONDS and mib < MIB and size < FILE_MB, (status, seconds, mib, size))
    return page


def use(browser):
    """Zooms in, pans, and marks two instants: a mark of the page's own clock before each step."""
    x, y, width, height = browser.box("#chart canvas:last-of-type")

    def step(kind, part, **more):
        browser.run("performance.mark('step')")
        browser.mouse(kind, x + width * part, y + height / 2, **more)
        browser.frame()

    for n in range(STEPS):
        zooms = n % 10 == 0
        step("mouseWheel", 0.5, deltaX=0 if zooms else 40, deltaY=(-120 if n < STEPS / 2 else 120) if zooms else 0)
    step("mousePressed", 0.2, button="left", clickCount=1)
    for n in range(STEPS):
        step("mouseMoved", 0.2 + 0.6 * n / STEPS, button="left", buttons=1)


def script_ms(events):
    """The page's own script time of each step."""
    marks = sorted(e["ts"] for e in events if e.get("name") == "step")
    calls = sorted((e["ts"], e.get("tdur", e["dur"])) for e in events if e.get("name") == "FunctionCall" and "dur" in e
                   and e["args"]["data"].get("url", "").startswith("file:"))
    times = [0] * len(marks)
    for ts, duration in calls:
        at = sum(mark <= ts for mark in marks) - 1
        if at >= 0:
            times[at] += duration / 1000
    return sorted(times)


def quick_enough(browser, axis):
    times = script_ms(browser.traced(lambda: use(browser)))
    median, most = times[len(times) // 2], times[len(times) * 99 // 100]
    print(f"# by {axis}: {len(times)} steps: median {median:.2f} ms, 99 % within {most:.2f} ms")
    check(f"by {axis}, a picture takes less than {MEDIAN_MS} ms of script, 99 % less than {MOST_MS} ms",
          len(times) > STEPS and 0 < median < MEDIAN_MS and most < MOST_MS, times)


def looked_at(page):
    with browserlib.Browser(1400, 900) as browser:
        browser.open(page)
        browser.frame()
        painted = browser.run("performance.getEntriesByType('paint')[0].startTime")
        print(f"# first paint after {painted:.0f} ms")
        check(f"the first paint comes within {PAINT_MS} ms", painted < PAINT_MS, painted)
        quick_enough(browser, "time")
        browser.mouse("mouseReleased", 0, 0, button="left", clickCount=1)
        for key in "Escape", "i":
            browser.key(key)
        browser.until("location.hash.includes('iterations=1')")
        quick_enough(browser, "iteration")
        check("no error in the console", not browser.errors, browser.errors)


def main():
    with tempfile.TemporaryDirectory(prefix="gmt-html-") as folder:
        page = written(folder)
        try:
            looked_at(page)
        except browserlib.Unavailable as why:
            skip("the page in a browser", why)
    return done()


if __name__ == "__main__":
    sys.exit(main())
