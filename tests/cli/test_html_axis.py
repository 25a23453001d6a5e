#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The axis by iteration in the HTML report, in Chromium (skipped where there is none): each iteration is as wide as the
others; ribbon, ticks, pointer, wheel and keys follow; of several processes the axis names the one whose iterations it has. By
time, flags leave their word readable, and the verdict's link leaves out the time before the first memory."""
import json
import os
import re
import sys
import tempfile

import test_html
from cases import TOP, check, done, skip
import browserlib
import pagelib
from test_html import LEAK, MANY, frames_of, own_functions, page_of
from test_html_input import LEFT, OVERLAY, fresh, settled

REQUESTS = os.path.join(TOP, "tests/data/kept/oom-torch.gmt")
TRAINED = os.path.join(TOP, "tests/data/kept/train-oom.gmt")
REQUEST, WORD = 3, "OUT OF MEMORY"   # enum series_why
TWICE = os.path.join(TOP, "tests/data/found/torch-twice.gmt")
RIGHT = 12                      # pixels beside the picture
RIBBON = 25                     # the line of pixels in the ribbon of iterations that is below its texts
SCALE = """
const out = [];
for (state.view = 0; state.view < views.length; state.view++) {
    load();
    if (!model.byIteration)
        continue;
    const { place, time, length } = model.byIteration, ends = model.iterations;
    for (let n = 0; n <= 1000; n++)
        if (Math.abs(place(time(n / 1000 * length)) - n / 1000 * length) > 1e-6)
            out.push(["no way back", state.view, n]);
    for (let i = 1; i < ends.length; i++)
        if (Math.abs(place(ends[i].time) - place(ends[i - 1].time) - (ends[i].number - ends[i - 1].number)) > 1e-6)
            out.push(["not as wide as its iterations", state.view, i]);
    if (place(0) !== 0 || place(LENGTH) !== length || Math.abs(place(ends[0].time) - 1) > 1e-6)
        out.push(["ends", state.view, place(0), place(ends[0].time), place(LENGTH), length]);
    out.seen = (out.seen || 0) + ends.length;
}
return [out, out.seen || 0];
"""
# Collects the texts of the picture.
LISTEN = """(() => {
    const plain = CanvasRenderingContext2D.prototype.fillText;
    window.drawn = [];
    CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
        if (this.canvas.parentNode.id === "chart")
            window.drawn.push([String(text), x, this.canvas.clientHeight - y]);
        return plain.call(this, text, x, y);
    };
})()"""


def scale(browser, folder):
    seen, wrong = 0, []
    for path in test_html.recordings():
        browser.open(page_of(folder, path))
        out, count = own_functions(browser, SCALE)
        seen += count
        wrong += [(path, one) for one in out]
    check("each iteration is as wide as the others, and each place has its time", not wrong and seen > 100, (seen, wrong[:5]))


def ticks(browser):
    """The texts below the picture, in order."""
    drawn = browser.run("""window.drawn = [], document.querySelector('[title=i] input').onchange(),
                           new Promise(done => requestAnimationFrame(() => done(window.drawn)))""")   # behind the page's own
    return [text for text, _, y in drawn if 0 < y < 15]


def edges(browser):
    """Pixels of the picture at which the ribbon of iterations changes its shade."""
    pixels = browser.run(f"""(canvas => {{
        const copy = document.createElement("canvas");
        [copy.width, copy.height] = [canvas.width, 1];
        const g = copy.getContext("2d", {{ willReadFrequently: true }});
        g.drawImage(canvas, 0, -{RIBBON});
        return [...g.getImageData(0, 0, copy.width, 1).data];
    }})(document.querySelector("#chart canvas"))""")
    shades = [pixels[4 * x + 3] for x in range(len(pixels) // 4)]
    return [x for x in range(LEFT, len(shades)) if shades[x] != shades[x - 1]]


def iteration_at(browser, part):
    x, y, width, height = browser.box(OVERLAY)
    browser.mouse("mouseMoved", x + LEFT + (width - LEFT - RIGHT) * part, y + height * 0.7)
    browser.frame()
    found = re.search(r"iteration (\d+)", browser.run("document.getElementById('tip').textContent").split("end of")[0])
    return int(found.group(1)) if found else None


def switches(browser, page):
    fresh(browser, page)
    browser.run(LISTEN)
    browser.run("[...document.querySelectorAll('button')].find(one => one.textContent === 'whole time').click()")
    by_time = ticks(browser)
    browser.key("i")
    settled(browser, "kept.iterations === '1'")
    by_iteration = ticks(browser)
    check("i switches the axis, and its texts are iterations", all(text.endswith(" s") for text in by_time) and len(by_time) > 5 and
          by_iteration[0] == "iteration" and by_iteration[1:4] == ["5", "10", "15"], (by_time, by_iteration))
    found = [iteration_at(browser, (number + 0.5) / 61) for number in range(1, 60)]
    check("the pointer is in an iteration as wide as each other", found == list(range(2, 61)), found)
    browser.run("document.querySelector('[title=i] input').click()")
    settled(browser, "kept.iterations === '0'")
    check("the switch goes back to time", ticks(browser) == by_time, ticks(browser))


def drawn_evenly(browser, page):
    browser.open(page + "?even#iterations=1")
    browser.frame()
    found = edges(browser)
    width = (browser.box(OVERLAY)[2] - LEFT - RIGHT) / 11      # 10 ends, so 9 whole iterations and a part on each side
    wanted = [LEFT + width * n for n in range(1, 11)]
    check("the address keeps the switch, and the ribbon has iterations of one width",
          all(min((abs(x - one) for x in found), default=9) <= 1.5 for one in wanted), (wanted, found))
    x, y, across, _ = browser.box(OVERLAY)
    before = iteration_at(browser, 0.5)
    for _ in range(3):
        browser.mouse("mouseWheel", x + LEFT + (across - LEFT - RIGHT) / 2, y + 50, deltaX=0, deltaY=-120)
    settled(browser, "kept.from > 0")
    browser.frame()
    wide = [b - a for a, b in zip(edges(browser), edges(browser)[1:]) if b - a > 50]
    check("the wheel zooms by iterations, around the pointer's", iteration_at(browser, 0.5) == before and
          any(abs(one - width / 0.8 ** 3) < 2 for one in wide), (before, width, wide))
    first = iteration_at(browser, 0.3)
    browser.mouse("mouseMoved", 5, 5)
    moved = settled(browser, "kept.from > 0")
    for _ in range(4):
        browser.run("document.activeElement.blur()")
        browser.call("Input.dispatchKeyEvent", type="keyDown", key="ArrowRight", modifiers=8)
        browser.call("Input.dispatchKeyEvent", type="keyUp", key="ArrowRight", modifiers=8)
    settled(browser, f"kept.from > {moved['from']}")
    browser.frame()
    check("keys pan by iterations", iteration_at(browser, 0.3) == first + 2, (first, iteration_at(browser, 0.3)))


def two_processes(page, folder, second):
    """The page with its process once more, with so much memory at its peak."""
    with open(page, encoding="utf-8") as file:
        text = file.read()
    data = pagelib.data_of(page)
    other = json.loads(json.dumps(data["processes"][0]))
    other.update(pid=4242, comm="second")
    other["rows"][0]["calls"]["peak"] = second
    data["processes"].append(other)
    to = os.path.join(folder, f"two-{second}.html")
    with open(to, "w", encoding="utf-8") as file:
        file.write(re.sub(r'(<script type="application/json" id="data">).*?(</script>)', lambda found: found.group(1) +
                          json.dumps(data).replace("<", "\\u003c") + found.group(2), text, flags=re.S))
    return to


def whose(browser, page, folder):
    said = []
    for second in 1, 1 << 50:
        browser.open(two_processes(page, folder, second) + "#view=2&iterations=1")
        browser.frame()
        browser.run(LISTEN)
        said.append((ticks(browser)[1], browser.run("document.querySelector('[title=i]').innerText")))
    check("of several processes the axis names the one with the most memory", all(
        tick.strip().startswith("of " + name) and "by iteration of " + name in label
        for name, (tick, label) in zip(("python3 (pid 22913)", "second (pid 4242)"), said)), said)


def not_offered(browser, page):
    browser.open(page + "#iterations=1")
    browser.run(LISTEN)
    before = ticks(browser)
    browser.key("i")
    check("without iterations there is no such switch, and the axis is time", browser.run(
        "document.querySelector('[title=i]').hidden") and before and ticks(browser) == before and
        all(text.endswith(" s") for text in before), before)


def flags(browser, page):
    """Requests that failed, so close together that the word has room behind the last one only."""
    frames = frames_of(pagelib.data_of(page)["processes"][0]["rows"][0]["calls"])
    times = [frame[0] for frame in frames if frame[1] == REQUEST]
    begin, span = times[0] - 9 * (times[-1] - times[0]), 20 * (times[-1] - times[0])
    fresh(browser, page, f"from={begin}&to={begin + span}")
    browser.run(LISTEN)
    browser.run("document.querySelector('[title=i] input').onchange()")
    browser.until(f"window.drawn.some(([text]) => text === '{WORD}')")
    x = [LEFT + (browser.box(OVERLAY)[2] - LEFT - RIGHT) * (time - begin) / span for time in times]
    words = [at for text, at, _ in browser.run("window.drawn") if text == WORD]
    check("of flags close together, the last one has the word", len(times) > 2 and words and all(
        at > x[-1] for at in words), (x, words))


def verdict_begins(browser, page):
    """The program loads for most of the time: what the verdict's link shows begins with the memory."""
    fresh(browser, page)
    first = min(frame[0] for frame in frames_of(pagelib.data_of(page)["processes"][0]["rows"][0]["calls"]) if frame[3])
    browser.run("document.querySelector('.finding button').click()")
    now = settled(browser, "kept.a && kept.b")
    check("the verdict's link shows the time from a little before the first memory", 0.8 * first < float(now["from"]) <=
          float(now["a"]) < first, (now, first))


def main():
    with tempfile.TemporaryDirectory(prefix="gmt-axis-") as folder:
        try:
            with browserlib.Browser() as browser:
                scale(browser, folder)
                switches(browser, page_of(folder, LEAK))
                twice = page_of(folder, TWICE)
                drawn_evenly(browser, twice)
                whose(browser, twice, folder)
                not_offered(browser, page_of(folder, MANY))
                flags(browser, page_of(folder, REQUESTS))
                verdict_begins(browser, page_of(folder, TRAINED))
                check("no error in the console", not browser.errors, browser.errors)
        except browserlib.Unavailable as why:
            skip("the axis in Chromium", why)
    return done()


if __name__ == "__main__":
    sys.exit(main())
