#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The HTML report: its numbers are the JSON report's, names do nothing to the page, and in Chromium (skipped where there
is none) the page works by mouse and keyboard without an error and without a network."""
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

from cases import BIN, PATIENCE, TOP, check, done
import browserlib
import pagelib
from pagelib import data_of, numbers, zigzag

DATA = os.path.join(TOP, "tests/data")
WHY_ITERATION, WHY_MARK = 1, 2
with open(os.path.join(TOP, "include/gpumemtrace/terms.h"), encoding="utf-8") as terms:
    CATEGORIES = re.findall(r'X\(\w+, \d+, "(\w+)"', terms.read().split("define GMT_CATEGORIES(X)")[1].split("#define")[0])
TWO_GPUS = os.path.join(DATA, "kept/old-driver.gmt")
LEAK = os.path.join(DATA, "found/h200-logits.gmt")
MANY = os.path.join(DATA, "kept/calls.gmt")
FOLDERS = os.path.join(DATA, "kept/train-oom.gmt")


def page_of(folder, path):
    to = os.path.join(folder, os.path.basename(path) + ".html")
    subprocess.run([BIN, "report", "-q", "-o", to, path], stdout=subprocess.DEVNULL, timeout=PATIENCE, check=True)
    return to


def report_of(path):
    said = subprocess.run([BIN, "report", "-q", "--json", "--full-stacks", path],
                          capture_output=True, text=True, timeout=PATIENCE, check=True)
    return json.loads(said.stdout.splitlines()[-1])


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


def uses_of(series):
    """What each category had at each frame."""
    it, now, found = numbers(series["parts"]), {}, []
    for _ in range(series["frame_count"]):
        part = 0
        for _ in range(next(it)):
            part += next(it)
            now[part] = now.get(part, 0) + zigzag(next(it))
            next(it)
        found.append(dict(now))
    return found


def wrong_uses(gpu, series):
    """Categories that are more than all, and those at the end that are not the report's."""
    uses, frames = uses_of(series), frames_of(series)
    for use, frame in zip(uses, frames):
        if min(use.values(), default=0) < 0 or sum(use.values()) > frame[3]:
            yield f"at {frame[0]} {use} is not within {frame[3]}"
    wanted = {kind["category"]: kind["live_bytes"] for kind in gpu["torch"]["categories"]
              if kind["live_bytes"] and kind["category"] != "unknown"}
    found = {CATEGORIES[part]: used for part, used in uses[-1].items() if used and CATEGORIES[part] != "unknown"} if uses else {}
    if frames and frames[-1][3] and found != wanted:
        yield f"at the end {found}, not {wanted}"


def wrong_iterations(gpu, series):
    """Ends of iterations at which the page has not what the report says of the end of the optimizer's phase."""
    ends = {n["iteration"]: n["phases"]["optimizer"]["end_bytes"] for n in gpu["torch"]["iterations"] or []
            if "optimizer" in n["phases"] and n["complete"]}
    for _, why, number, live, *_ in frames_of(series):
        if why == WHY_ITERATION and ends.get(number, live) != live:
            yield f"iteration {number} ends with {live}, not {ends[number]}"


def at(frames, time):
    """Bytes of the newest frame at or before a time, by key."""
    found = [frame for frame in frames if frame[0] <= time]
    return found[-1][6] if found else []


def begin_of(frames):
    """The time from which the peak counts: the newest mark."""
    return max((frame[0] for frame in frames if frame[1] == WHY_MARK), default=0)


def drawn(row):
    """The highest sum of what the page draws: calls, in segments at least their blocks."""
    calls, blocks = frames_of(row["calls"]), frames_of(row["blocks"]) if row["blocks"] else []
    is_segment = [bool(row["blocks"] and key[3]) for key in row["calls"]["keys"]]
    most = 0
    for time in sorted({frame[0] for frame in calls + blocks if frame[0] >= begin_of(calls)}):
        keys = at(calls, time)
        segments = sum(n for n, one in zip(keys, is_segment) if one)
        most = max(most, sum(keys) - segments + max(segments, sum(at(blocks, time))))
    return most


def held_of(gpu, row):
    """What the bands of a row add up to, where NVML tells no peak."""
    if not row["is_bare"]:
        return gpu["attributed"]
    if gpu["physical"] and gpu["physical"]["peak_bytes"]:
        return gpu["physical"]
    return {"peak_bytes": row["calls"]["peak"], "live_bytes": gpu["nvml"]["used_bytes"]}


def differences(path, page):
    """What the page's numbers and the report's do not share."""
    report, data = report_of(path), data_of(page)
    for process, shown in zip(report["processes"], data["processes"]):
        if (process["pid"], len(process["gpus"])) != (shown["pid"], len(shown["rows"])):
            yield f"processes: {process['pid']} and {shown['pid']}"
        for gpu, row in zip(process["gpus"], shown["rows"]):
            if not row["calls"]:
                continue
            frames, held = frames_of(row["calls"]), held_of(gpu, row)
            for time, _, _, live, least, most, keys in frames:
                if live != sum(keys) or not least <= live <= most or min(keys, default=0) < 0:
                    yield f"pid {process['pid']}: at {time} {live} is not the sum of {keys}, or not within its bounds"
            if len(process["gpus"]) == 1 and row["calls"]["peak"] != held["peak_bytes"]:
                yield f"pid {process['pid']}: peak {row['calls']['peak']}, not {held['peak_bytes']}"
            if max((frame[3] for frame in frames if frame[0] >= begin_of(frames)), default=0) != row["calls"]["peak"]:
                yield f"pid {process['pid']}: the highest frame is not the peak {row['calls']['peak']}"
            has_reserve = not row["blocks"] or any(key[3] for key in row["calls"]["keys"])  # else blocks are in no call's memory
            if has_reserve and drawn(row) != row["calls"]["peak"]:
                yield f"pid {process['pid']}: drawn {drawn(row)}, not the peak {row['calls']['peak']}"
            if sum(key[2] for key in row["calls"]["keys"]) != row["calls"]["peak"]:
                yield f"pid {process['pid']}: the keys at the peak are not the peak"
            if row["blocks"]:
                yield from (f"pid {process['pid']}: {text}" for text in wrong_iterations(gpu, row["blocks"]))
            if row["blocks"] and row["blocks"]["parts"]:
                yield from (f"pid {process['pid']}: {text}" for text in wrong_uses(gpu, row["blocks"]))
            if not process["exited"] and frames and frames[-1][3] != held["live_bytes"]:
                yield f"pid {process['pid']}: live {frames[-1][3]}, not {held['live_bytes']}"


def recordings():
    """The page of a dump is its picture: test_html_dump.py."""
    return [path for part in ("", "kept/", "found/") for path in sorted(glob.glob(f"{DATA}/{part}*.gmt"))
            if not path.endswith("-dump.gmt")]


def same_numbers(folder):
    wrong, frames = [], 0
    for path in recordings():
        page = page_of(folder, path)
        wrong += [f"{os.path.basename(path)}: {text}" for text in differences(path, page)]
        frames += sum(s["frame_count"] for p in data_of(page)["processes"] for r in p["rows"]
                      for s in (r["calls"], r["blocks"]) if s)
    print(f"# {len(recordings())} recordings, {frames} frames")
    check("the page's numbers are the report's, in each recording", not wrong and frames > 1000, "\n".join(wrong[:9]))


def spoiled(folder):
    return page_of(folder, pagelib.spoiled(folder, LEAK))


def hostile_text(folder):
    with open(spoiled(folder), encoding="utf-8") as file:
        text = file.read()
    check("names end no script and make no element", text.count("<script") == 2 and text.count("</script") == 2 and
          "<img" not in text and "window.hacked" in text, text[:300])


def shared(folder):
    """What is left of command lines, folders and hosts with --redact."""
    secret, found = os.path.join(folder, "secret.html"), []
    subprocess.run([BIN, "report", "-q", "--full", "--redact", "-o", secret, FOLDERS], stdout=subprocess.DEVNULL,
                   timeout=PATIENCE, check=True)
    plain = page_of(folder, FOLDERS)
    for path in secret, plain:
        with open(path, encoding="utf-8") as file:
            text = re.sub(r"<script>.*?</script>", "", file.read(), flags=re.S)
            found.append([text.count(word) for word in ("/opt/gpumemtrace", "/usr/", "torch_training.py oom 4", DATA)])
    check("--redact leaves no folder and no command line", not any(found[0]) and found[1][0] and found[1][2], found)
    check("and the same numbers", [process["rows"] for process in data_of(secret)["processes"]] ==
          [process["rows"] for process in data_of(plain)["processes"]])


PAGE = os.path.join(TOP, "user/sink/html/page")
BOUNDS = """
let seen = 0, inside = 0, split = 0;
const wrong = [];
for (state.view = 0; state.view < views.length; state.view++)
    for (state.by of GROUPS)
        for (state.cached of [0, 1]) {
            load();
            markMatches();
            for (const band of model.bands) {
                const ofKeys = band.terms().filter(({ keys }) => keys);
                split += ofKeys.length - new Set(ofKeys.map(({ series }) => series)).size;
            }
            model.times.slice(1).forEach((time, i) => {
                const sum = sumBoundsAt(model.times[i]);
                for (const band of [null, ...model.bands]) {
                    const values = band ? band.values : model.total;
                    const { least, most } = band ? bandBoundsAt(band, model.times[i]) : sum;
                    seen++;
                    inside += least < Math.min(values[i], values[i + 1]) || most > Math.max(values[i], values[i + 1]);
                    if (least > Math.min(values[i], values[i + 1]) || most < Math.max(values[i], values[i + 1]))
                        wrong.push([state.view, state.by, state.cached, time, band && band.name, least, values[i], values[i + 1], most]);
                }
            });
        }
return { seen, inside, split, count: wrong.length, wrong: wrong.slice(0, 5) };
"""


# In views of several processes: bands by process, the sum, and the sums of each process alone.
BY_PROCESS = """
const wrong = [];
let seen = 0;
for (const view of views.filter(({ parts }) => parts.length > 1)) {
    const model = makeModel(view, "process", 1), lines = makeModel(view, "line", 1), alone = new Map();
    for (const part of view.parts)
        alone.set(processName(part.process), [...(alone.get(processName(part.process)) || []), makeModel({ parts: [part] }, "line", 0)]);
    model.times.forEach((time, i) => {
        const sum = model.bands.reduce((bytes, band) => bytes + band.values[i], 0);
        if (sum !== lines.total[i])
            wrong.push([view.name, time, sum, lines.total[i]]);
        for (const band of model.bands.filter(({ isCached, isRest }) => !isCached && !isRest)) {
            const held = alone.get(band.name).reduce((bytes, one) => bytes + (one.held[indexAt(one.times, time)] || 0), 0);
            seen++;
            if (held !== band.values[i])
                wrong.push([view.name, time, band.name, band.values[i], held]);
        }
    });
}
return { seen, count: wrong.length, wrong: wrong.slice(0, 5) };
"""


def own_functions(browser, script):
    """What a script says that uses the functions of the open page."""
    scripts = []
    for name in "shared", "data", "model", "phases", "bounds", "state", "scale":
        with open(os.path.join(PAGE, name + ".js"), encoding="utf-8") as file:
            scripts.append(file.read())
    return browser.run("(() => {" + "\n".join(scripts) + script + "})()")


def by_process(folder, browser, recordings):
    seen = 0
    for path in recordings:
        browser.open(page_of(folder, path))
        said = own_functions(browser, BY_PROCESS)
        seen += said["seen"]
        check(f"bands by process add up to the sum, and each is the process's own: {os.path.basename(path)}",
              not said["count"], said)
    check("there are views of several processes", seen > 100, seen)


def bounds(folder, browser, recordings):
    """The page's own functions: what a band and the sum are at the next moment lies within what was said at this one."""
    for path in recordings:
        browser.open(page_of(folder, path))
        said = own_functions(browser, BOUNDS)
        check(f"between moments, each band stays within its bounds: {os.path.basename(path)}",
              said["seen"] > 100 and said["inside"] and not said["count"], said)
        check("and the keys of one series are one term of its sum, however many groups it has", not said["split"], said)


def in_browser(folder):
    with browserlib.Browser() as browser:
        browser.open(spoiled(folder))
        browser.frame()
        check("names do nothing in a browser", browser.run("window.hacked === undefined") and not browser.errors, browser.errors)
        by_process(folder, browser, (TWO_GPUS, MANY))
        bounds(folder, browser, (LEAK, TWO_GPUS, FOLDERS))
        browser.open(page_of(folder, LEAK))
        browser.frame()
        leads(browser)
        compares(browser)
        keeps(browser)
        browser.open(page_of(folder, TWO_GPUS))
        browser.frame()
        several(browser)
        check("no error in the console, and nothing is asked of a network", not browser.errors, browser.errors)


def rows(browser):
    return browser.run("[...document.querySelectorAll('#below tbody tr')].map(row => row.innerText)")


def settle(browser, part):
    """Until the address has caught up."""
    browser.until(f"location.hash.includes({json.dumps(part)})")


def leads(browser):
    text = browser.run("document.body.innerText")
    places = [text.find(part) for part in ("LEAK", "Memory over time", "Report", "Single events")]
    check("what stands out comes first, single events last", places == sorted(places) and min(places) >= 0, (places, text[:200]))
    browser.run("document.querySelector('.finding button').click()")
    settle(browser, "chosen=train.py%3A120%20logits")
    check("a finding leads to its band, its stack trace and its moments", "train.py:212" in browser.run("document.body.innerText") and
          re.search("a=[0-9].*b=[0-9]", browser.run("location.hash")), browser.run("location.hash"))
    told = browser.run("document.getElementById('story').textContent")
    check("it says what the memory is for, and since which iteration it is kept and grows", re.fullmatch(
        r"train.py:120 logits  kept over iterations\. Kept since iteration 2: 2 MiB at the least in iteration 3, 116 MiB in "
        r"iteration 60: it grows from iteration 3 on\.", told), told)
    own = browser.run("[...document.querySelectorAll('.frame')].map(frame => frame.title.split('\\n')[0])")
    check("libraries are hidden", own == ["all", "<module> (train.py:212)", "logits (train.py:120)"], own)
    browser.key("l")
    frames = browser.run("[...document.querySelectorAll('.frame')].map(frame => frame.title)")
    check("the flame graph shows what grew",
          any(re.match(r"logits \(train.py:120\)\n11\d MiB", frame) for frame in frames), frames)
    browser.key("l")


def compares(browser):
    x, y, width, height = browser.box("#chart canvas:last-of-type")
    painted = browser.run("(c => new Set(c.getContext('2d').getImageData(0, 0, c.width, c.height).data).size)"
                          "(document.querySelector('canvas'))")
    check("the picture has colours", painted > 10, painted)
    browser.key("Escape")
    browser.drag(x + width * 0.8, y + 40, x + width * 0.9, y + 40)
    row = next((row for row in rows(browser) if "train.py:120 logits" in row), "")
    check("two instants show what has grown between them", re.search(r"at A\s+at B", browser.run(
        "document.querySelector('thead').innerText")) and re.search(r"\d+ MiB", row), row)
    browser.mouse("mouseMoved", x + width * 0.85, y + height * 0.85)
    browser.frame()
    tip = browser.run("document.getElementById('tip').textContent")
    check("the pointer shows time, bytes and the band", re.search(r"UTC.* sum \d+.*\n\d.* (B|KiB|MiB)  \S", tip), tip)
    browser.run("(s => { s.value = 'train.py:120'; s.dispatchEvent(new Event('input')); })(document.querySelector('[type=search]'))")
    browser.frame()
    check("a search keeps the bands whose stack traces have the frame", 0 < len(rows(browser)) < 20, rows(browser))
    browser.run("(s => { s.value = '('; s.dispatchEvent(new Event('input')); })(document.querySelector('[type=search]'))")
    check("a search that is no expression is marked", browser.run("document.querySelector('.wrong') !== null"))


def keeps(browser):
    browser.key("Escape")
    browser.key("g")
    browser.key("f")
    browser.key("ArrowDown")
    settle(browser, "chosen=")
    check("keys group, choose, and change the flame graph", re.search("by=use.*chosen=.*flame=freed", browser.run("location.hash")),
          browser.run("location.hash"))
    shown, before = browser.run("location.href"), rows(browser)
    browser.call("Page.reload")
    browser.until("document.readyState === 'complete' && document.querySelector('tbody tr') !== null")
    check("the address keeps what is shown", browser.run("location.href") == shown and rows(browser) == before, shown)
    browser.key("t")
    settle(browser, "theme=dark")
    check("a key makes the page dark", browser.run("getComputedStyle(document.body).backgroundColor") == "rgb(21, 23, 26)")


def several(browser):
    names = browser.run("[...document.querySelectorAll('select')[0].options].map(option => option.text)")
    browser.run("(s => { s.value = s.options.length - 1; s.onchange(); })(document.querySelectorAll('select')[0])")
    browser.run("(s => { s.value = 'GPU'; s.onchange(); })(document.querySelectorAll('select')[1])")
    browser.frame()
    check("two GPUs are shown together", "all 2 GPUs" in names and len([row for row in rows(browser) if "GPU" in row]) == 2, rows(browser))


def main():
    with tempfile.TemporaryDirectory(prefix="gmt-html-") as folder:
        same_numbers(folder)
        hostile_text(folder)
        shared(folder)
        pagelib.in_chromium("the page in a browser", in_browser, folder)
    return done()


if __name__ == "__main__":
    sys.exit(main())
