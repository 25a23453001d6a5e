#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The HTML report: its numbers are the JSON report's, names do nothing to the page, and in Chromium (skipped where there
is none) the page works by mouse and keyboard without an error and without a network."""
import base64
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

from cases import BIN, PATIENCE, TOP, check, done

sys.path.insert(1, os.path.join(TOP, "tests", "recordings"))
import browserlib  # noqa: E402
import recfile  # noqa: E402

DATA = os.path.join(TOP, "tests/data")
HDR_BYTES = 32
TEXT = re.compile(rb"[ -~]{4,}\0")
HOSTILE = b"</script><script>window.hacked=1</script><img src=x onerror=window.hacked=1>'\"`${window.hacked=1}&lt;"
LEAK = os.path.join(DATA, "found/h200-logits.gmt")
WHY_TIME, WHY_ITERATION = 0, 1


def page_of(folder, path):
    to = os.path.join(folder, os.path.basename(path) + ".html")
    subprocess.run([BIN, "report", "-q", "-o", to, path], stdout=subprocess.DEVNULL, timeout=PATIENCE, check=True)
    return to


def data_of(path):
    """The numbers in the page."""
    with open(path, encoding="utf-8") as file:
        return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', file.read(), re.S).group(1))


def report_of(path):
    said = subprocess.run([BIN, "report", "-q", "--json", "--full-stacks", path],
                          capture_output=True, text=True, timeout=PATIENCE, check=True)
    return json.loads(said.stdout.splitlines()[-1])


def numbers(text):
    """LEB128 in Base64."""
    value, shift = 0, 0
    for byte in base64.b64decode(text):
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            yield value
            value, shift = 0, 0


def zigzag(value):
    return -(value + 1) // 2 if value & 1 else value // 2


def frames_of(series):
    """[(time, why, number, sum, least, most, {key: bytes})] of each frame, with all keys."""
    found, it = [], numbers(series["frames"])
    time, live, keys = 0, 0, [0] * len(series["keys"])
    for _ in range(series["frame_count"]):
        time += zigzag(next(it))
        why, number = next(it), next(it)
        live += zigzag(next(it))
        least, most, key = live - next(it), live + next(it), 0
        for _ in range(next(it)):
            key += next(it)
            keys[key] += zigzag(next(it))
            next(it)
            next(it)
        found.append((time, why, number, live, least, most, list(keys)))
    assert next(it, None) is None, "more numbers than frames"
    return found


def differences(path, page):
    """What the page's numbers and the report's do not share."""
    report, data = report_of(path), data_of(page)
    for process, shown in zip(report["processes"], data["processes"]):
        if (process["pid"], len(process["gpus"])) != (shown["pid"], len(shown["rows"])):
            yield f"processes: {process['pid']} and {shown['pid']}"
        for gpu, row in zip(process["gpus"], shown["rows"]):
            if not row["calls"]:
                continue
            frames = frames_of(row["calls"])
            for time, _, _, live, least, most, keys in frames:
                if live != sum(keys) or not least <= live <= most or min(keys, default=0) < 0:
                    yield f"pid {process['pid']}: at {time} {live} is not the sum of {keys}, or not within its bounds"
            if len(process["gpus"]) == 1 and row["calls"]["peak"] != gpu["attributed"]["peak_bytes"]:
                yield f"pid {process['pid']}: peak {row['calls']['peak']}, not {gpu['attributed']['peak_bytes']}"
            if sum(key[2] for key in row["calls"]["keys"]) != row["calls"]["peak"]:
                yield f"pid {process['pid']}: the keys at the peak are not the peak"
            if not process["exited"] and frames and frames[-1][3] != gpu["attributed"]["live_bytes"]:
                yield f"pid {process['pid']}: live {frames[-1][3]}, not {gpu['attributed']['live_bytes']}"


def same_numbers(folder):
    recordings = [path for part in ("", "kept/", "found/") for path in sorted(glob.glob(f"{DATA}/{part}*.gmt"))]
    wrong, frames = [], 0
    for path in recordings:
        page = page_of(folder, path)
        wrong += [f"{os.path.basename(path)}: {text}" for text in differences(path, page)]
        frames += sum(s["frame_count"] for p in data_of(page)["processes"] for r in p["rows"]
                      for s in (r["calls"], r["blocks"]) if s)
    print(f"# {len(recordings)} recordings, {frames} frames")
    check("the page's numbers are the report's, in each recording", not wrong and frames > 1000, "\n".join(wrong[:9]))


def spoil(record):
    def replace(found):
        size = len(found.group()) - 1
        return (HOSTILE * (size // len(HOSTILE) + 1))[:size] + b"\0"
    return record[:HDR_BYTES] + TEXT.sub(replace, record[HDR_BYTES:])


def spoiled(folder):
    to, kept, size = os.path.join(folder, "spoiled.gmt"), [], 0
    for record in map(spoil, recfile.read(LEAK)):
        size += len(record)
        if size > recfile.RAW_MAX:
            break
        kept.append(record)
    recfile.write(to, kept)
    return page_of(folder, to)


def hostile_text(folder):
    with open(spoiled(folder), encoding="utf-8") as file:
        text = file.read()
    check("names end no script and make no element", text.count("<script") == 2 and text.count("</script") == 2 and
          "<img" not in text and "window.hacked" in text, text[:300])


def in_browser(folder):
    with browserlib.Browser() as browser:
        browser.open(spoiled(folder))
        browser.frame()
        check("names do nothing in a browser", browser.run("window.hacked === undefined") and not browser.errors, browser.errors)
        browser.open(page_of(folder, LEAK))
        browser.frame()
        works(browser)
        check("no error in the console, and nothing is asked of a network", not browser.errors, browser.errors)


def works(browser):
    x, y, width, height = browser.box("canvas")
    painted = browser.run("(c => new Set(c.getContext('2d').getImageData(0, 0, c.width, c.height).data).size)"
                          "(document.querySelector('canvas'))")
    check("the picture has colours", painted > 10, painted)
    browser.run("document.querySelector('.finding button').click()")
    browser.frame()
    check("a finding leads to its band and its stack", "chosen=train.py%3A120%20logits" in browser.run("location.hash") and
          "train.py:212" in browser.run("document.body.innerText"), browser.run("location.hash"))
    browser.key("Escape")
    browser.drag(x + width * 0.8, y + 40, x + width * 0.9, y + 40)
    row = browser.run("[...document.querySelectorAll('tbody tr')].map(r => r.innerText).find(t => t.includes('train.py:120 logits'))")
    check("two instants show what has grown between them", re.search(r"AT A\s+AT B", browser.run(
        "document.querySelector('thead').innerText")) and re.search(r"\d+ MiB", row or ""), row)
    browser.key("g")
    check("keys group", "by=stack" in browser.run("location.hash"), browser.run("location.hash"))
    shown = browser.run("location.href")
    browser.call("Page.reload")
    browser.until("document.readyState === 'complete' && document.querySelector('tbody tr') !== null")
    check("the address keeps what is shown", browser.run("location.href") == shown, shown)
    browser.key("Escape")
    browser.run("(s => { s.value = 'train.py:120'; s.dispatchEvent(new Event('input')); })(document.querySelector('input[type=search]'))")
    browser.frame()
    rows = browser.run("[...document.querySelectorAll('tbody tr')].length")
    check("a search keeps the bands whose stacks have the frame", 0 < rows < 20, rows)
    browser.mouse("mouseMoved", x + width * 0.85, y + height * 0.9)
    browser.frame()
    check("the pointer tells time and bytes", re.search(r"UTC.* sum \d+", browser.run("document.getElementById('hover').textContent")),
          browser.run("document.getElementById('hover').textContent"))


def main():
    with tempfile.TemporaryDirectory(prefix="gmt-html-") as folder:
        same_numbers(folder)
        hostile_text(folder)
        try:
            in_browser(folder)
        except browserlib.Unavailable as why:
            print(f"# {why}")
    return done()


if __name__ == "__main__":
    sys.exit(main())
