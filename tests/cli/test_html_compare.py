#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The HTML pages of diff and of the ranks of a job: the numbers are those of --json, in the file and in Chromium (skipped
where there is none), names do nothing to the page, and mouse and keyboard work without an error and without a network."""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from cases import BIN, PATIENCE, TOP, check, done
import browserlib
import pagelib

DATA = os.path.join(TOP, "tests/data")
WORDS, LOGITS, CACHES = (os.path.join(DATA, f"found/h200-{name}.gmt") for name in ("words", "logits", "caches"))
FOLDERS = os.path.join(DATA, "kept/train-oom.gmt")
DUMP = os.path.join(DATA, "kept/oom-torch-dump.gmt")
MANY = "100000"


def run(*words):
    said = subprocess.run([BIN, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE, check=False)
    return said.returncode, said.stdout, said.stderr


def both(folder, command, *words):
    """The page of a command, and its JSON."""
    page = os.path.join(folder, command + ".html")
    code, out, err = run(command, "--json", "-o", page, *words)
    if code:
        raise AssertionError(f"{command} {words}: {code} {err}")
    return page, json.loads(out)


def without_time(value):
    return {key: item for key, item in value.items() if key != "made_at"}


def same_numbers(folder):
    wrong, rows = [], 0
    recordings = sorted(glob.glob(f"{DATA}/kept/*.gmt") + glob.glob(f"{DATA}/found/*.gmt"))
    for command, member, pairs in (("diff", "diff", zip(recordings, recordings[1:])), ("report", "ranks", [recordings[-3:]])):
        for paths in pairs:
            page, value = both(folder, command, *paths)
            wrong += [paths] if without_time(pagelib.data_of(page)[member]) != without_time(value) else []
            rows += sum(len(table["rows"]) for table in value["tables"].values())
    check("the page's numbers are those of --json", not wrong and rows > 300, (rows, wrong))


def refusals(folder):
    to = os.path.join(folder, "x.sqlite")
    for command, sentence in (("diff", "'diff' writes no recording: give -o a FILE.html, not '"),
                              ("report", "such a file is made of one recording: remove '")):
        code, out, err = run(command, "-o", to, WORDS, LOGITS)
        check(f"{command} writes no other file of two recordings", code == 2 and not out and sentence in err and
              err.count("\n") == 1 and not os.path.exists(to), err)
    code, out, err = run("diff", "--html", "-", WORDS, LOGITS)
    check("'-' is standard output, and the table goes to standard error",
          code == 0 and out.startswith("<!doctype html>") and out.endswith("</html>\n") and err.startswith("B holds"), out[:99] + err[:99])
    code, out, err = run("diff", "-o", os.path.join(folder, "none", "x.html"), WORDS, LOGITS)
    check("a page that cannot be written is told, the table is printed", code == 1 and "none/x.html" in err and "B holds" in out, err)


def shared(folder):
    """What is left of command lines, folders and hosts with --redact."""
    plain, secret, found = os.path.join(folder, "plain.html"), os.path.join(folder, "secret.html"), {}
    for command, member, paths in (("diff", "diff", (FOLDERS, LOGITS)), ("report", "ranks", (FOLDERS, LOGITS, WORDS))):
        for to, options in (plain, []), (secret, ["--redact"]):
            run(command, *options, "--full", "-o", to, *paths)
            with open(to, encoding="utf-8") as file:
                text = re.sub(r"<script>.*?</script>", "", file.read(), flags=re.S)
            words = ("/opt/gpumemtrace", "/srv/train", "torch_training.py oom", "train.py logits 0", '"vm"', DATA)
            found[command, to] = [text.count(word) for word in words]
        check(f"--redact leaves no folder, no command line and no host in the page of {command}",
              not any(found[command, secret]) and all(found[command, plain]), found)
        sums = [{name: {key: of[key] for key in of if key != "rows"} for name, of in pagelib.data_of(to)[member]["tables"].items()}
                for to in (plain, secret)]
        check("and the same numbers", sums[0] == sums[1], sums)


    run("diff", "--redact", "-o", secret, os.path.relpath(FOLDERS), os.path.relpath(LOGITS) + "@iteration=3")
    value = pagelib.data_of(secret)["diff"]
    check("nor folders of paths that do not begin with a slash", [value[side]["name"] for side in "ab"] ==
          ["train-oom.gmt@peak", "h200-logits.gmt@iteration=3"], [value[side]["name"] for side in "ab"])
    inside = os.path.join(folder, "secret@peak", "my job@mark=x")
    os.makedirs(inside)
    dump = shutil.copy(DUMP, inside)
    run("diff", "--redact", "-o", secret, dump, LOGITS)
    value = pagelib.data_of(secret)["diff"]
    check("nor folders whose names have blanks, or look like a moment", value["a"]["name"] == os.path.basename(DUMP),
          value["a"]["name"])


def hostile(folder):
    spoiled = pagelib.spoiled(folder, LOGITS)
    pages = [both(folder, "diff", WORDS, spoiled)[0], both(folder, "report", spoiled, CACHES)[0]]
    for page in pages:
        with open(page, encoding="utf-8") as file:
            text = file.read()
        check("names end no script and make no element", text.count("<script") == 2 and text.count("</script") == 2 and
              "<img" not in text and "window.hacked" in text, text[:300])
    return pages


# ---- in a browser ----

NUMBER = r"-?[\d,]+"


def rows(browser):
    """[(numbers, name)] of the table that is shown."""
    found = browser.run("[...document.querySelectorAll('#rows tbody tr')].map(row => [[...row.children].map(cell => cell.title), "
                        "row.lastChild.firstChild.data])")
    return [([int(re.match(NUMBER, title).group().replace(",", "")) for title in titles if title], name) for titles, name in found]


def choose(browser, which, value):
    browser.run(f"(s => {{ s.value = {json.dumps(value)}; s.onchange(); }})(document.querySelectorAll('select')[{which}])")


def wrong_tables(browser, tables, columns, everything):
    """Tables whose rows are not those of the JSON, exactly."""
    for name, table in tables.items():
        if not table["rows"]:
            continue
        choose(browser, 0, name)
        choose(browser, 2, everything)
        wanted = sorted(([column(row) for column in columns], row["name"]) for row in table["rows"])
        if sorted(rows(browser)) != wanted:
            yield name, rows(browser)[:3], wanted[:3]


def of(*keys):
    return [lambda row, key=key: row[key] for key in keys]


def numbers(browser, folder):
    page, value = both(folder, "diff", "--top", MANY, WORDS, LOGITS)
    browser.open(page)
    columns = [*of("a_bytes", "b_bytes", "difference_bytes"), lambda row: row["b_count"] - row["a_count"]]
    wrong = list(wrong_tables(browser, value["tables"], columns, "also what is the same"))
    parts = [memory for pair in value["processes"] for memory in pair["memory"] if memory["held"]]
    for i, part in enumerate(parts):
        choose(browser, 1, i + 1)
        wrong += wrong_tables(browser, part["tables"], columns, "also what is the same")
    check("each row of each table shows the numbers of diff --json", not wrong and parts, wrong)
    browser.key("Escape")
    text = browser.run("document.body.innerText")
    check("the answer and both moments come first", text.find(value["answer"]) < text.find("h200-words.gmt@peak") <
          text.find("h200-logits.gmt@peak") < text.find("process and GPU"), text[:300])
    page, value = both(folder, "report", WORDS, LOGITS, CACHES)
    browser.open(page)
    columns = [*of("sum_bytes", "least_bytes", "median_bytes", "most_bytes"), lambda row: row["most_bytes"] - row["least_bytes"]]
    wrong = list(wrong_tables(browser, value["tables"], columns, "all rows"))
    check("each row of each table shows the numbers of report --json", not wrong, wrong)
    bars = browser.run("document.querySelectorAll('#rows tbody tr:first-child .ranks div').length")
    odd = browser.run("[...document.querySelectorAll('tr.odd')].map(row => row.lastChild.textContent)")
    check("each rank has a bar, and the ranks that differ are marked", bars == 3 and
          odd == [value["ranks"][one["rank"]]["name"] + ", on vm" for one in value["different"]], (bars, odd))


def filters(browser, folder):
    page, value = both(folder, "diff", WORDS, LOGITS)
    lines = value["tables"]["lines"]["rows"]
    wanted = {"all changes": [r for r in lines if r["difference_bytes"] or r["a_count"] != r["b_count"]],
              "grown": [r for r in lines if r["difference_bytes"] > 0], "shrunk": [r for r in lines if r["difference_bytes"] < 0],
              "new": [r for r in lines if r["state"] == "new"], "gone": [r for r in lines if r["state"] == "gone"],
              "also what is the same": lines}
    browser.open(page)
    shown = {}
    for name in wanted:
        choose(browser, 2, name)
        shown[name] = sorted(name for _, name in rows(browser))
    check("rows that have grown, shrunk, come and gone are shown alone",
          shown == {name: sorted(r["name"] for r in found) for name, found in wanted.items()} and
          len(shown["gone"]) == 1 and len(shown["new"]) == 2 and len(shown["also what is the same"]) > 5, shown)
    browser.key("Escape")
    changes = [abs(found[2]) for found, _ in rows(browser)]
    check("the greatest change comes first", changes == sorted(changes, reverse=True) and changes[0] > changes[-1], changes)
    browser.run("(s => { s.value = 'logits'; s.dispatchEvent(new Event('input')); })(document.querySelector('[type=search]'))")
    check("a search keeps the rows whose names match", [name for _, name in rows(browser)] ==
          ["train.py:120 logits", "train.py:117 logits"], rows(browser))
    browser.run("(s => { s.value = '('; s.dispatchEvent(new Event('input')); })(document.querySelector('[type=search]'))")
    check("a search that is no expression is marked", browser.run("document.querySelector('.wrong') !== null"))


def keys(browser):
    browser.key("Escape")
    browser.key("ArrowDown")
    detail = browser.run("document.getElementById('detail').innerText")
    check("a key chooses a row, whose line, numbers and processes are shown", "train.py:120 logits" in detail and
          "/srv/train/train.py:120" in detail and "0 allocations in A, 59 in B" in detail and "pid 576 and 507, GPU 0" in detail, detail)
    browser.key("s")
    browser.key("r")
    counts = [abs(found[3]) for found, _ in rows(browser)]
    check("keys sort by another column, and turn the order", counts == sorted(counts) and counts[0] < counts[-1], counts)
    for key in "gvf":
        browser.key(key)
    browser.until("/table=categories.*scope=1.*filter=grown.*sort=count.*up=1/.test(location.hash)")
    shown, before = browser.run("location.href"), rows(browser)
    browser.call("Page.reload")
    browser.until("document.readyState === 'complete' && document.querySelector('tbody tr') !== null")
    check("the address keeps what is shown", browser.run("location.href") == shown and rows(browser) == before and before, shown)
    browser.key("t")
    check("a key makes the page dark", browser.run("getComputedStyle(document.body).backgroundColor") == "rgb(21, 23, 26)")
    browser.key("/")
    check("a key searches", browser.run("document.activeElement.type") == "search")


def in_browser(folder, spoiled):
    with browserlib.Browser() as browser:
        for page in spoiled:
            browser.open(page)
            browser.key("ArrowDown")
            check("names do nothing in a browser", browser.run("window.hacked === undefined") and not browser.errors and
                  "</script>" in browser.run("document.body.innerText"), browser.errors)
        numbers(browser, folder)
        filters(browser, folder)
        keys(browser)
        check("one stop of Tab holds all rows", browser.run("document.querySelectorAll('#rows tr[tabindex=\"0\"]').length === 1 && "
                                                             "document.querySelectorAll('#rows tr.stop').length > 1"))
        check("no error in the console, and nothing is asked of a network", not browser.errors, browser.errors)


def main():
    with tempfile.TemporaryDirectory(prefix="gmt-html-") as folder:
        same_numbers(folder)
        refusals(folder)
        shared(folder)
        spoiled = hostile(folder)
        pagelib.in_chromium("the page in a browser", in_browser, folder, spoiled)
    return done()


if __name__ == "__main__":
    sys.exit(main())
