#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Lines of source text in the HTML report: only with --source, only of regular source files, few of them, and their text
does nothing to the page; in Chromium (skipped where there is none) they stand beside their finding."""
import os
import shutil
import subprocess
import sys
import tempfile

from cases import BIN, PATIENCE, TOP, check, done, skip
from pagelib import HOSTILE, data_of

sys.path[1:1] = [os.path.join(TOP, "tests"), os.path.join(TOP, "tests", "recordings")]
import browserlib  # noqa: E402
import recfile  # noqa: E402

LEAK = os.path.join(TOP, "tests/data/found/h200-logits.gmt")
OLD, LINE = b"/srv/train/train.py", 120
LONG = "x" * 500


def report(*words):
    return subprocess.run([BIN, "report", "-q", *words], capture_output=True, text=True, timeout=PATIENCE, check=False)


def recorded_at(folder, path):
    """A recording whose program is the file at path."""
    assert len(path) == len(OLD), path
    to = os.path.join(folder, "run.gmt")
    recfile.write(to, [record.replace(OLD, path.encode()) for record in recfile.read(LEAK)])
    return to


def source_of(folder, path, *words):
    """What the page shows beside the finding about the line, and the whole page."""
    page = os.path.join(folder, "run.html")
    said = report("-o", page, *words, recorded_at(folder, path))
    assert said.returncode == 0, said.stderr
    with open(page, encoding="utf-8") as file:
        text = file.read()
    return [f["source"] for f in data_of(page)["findings"] if f["line"].endswith(f":{LINE} logits")][0], text


def shows(folder, path):
    plain, text = source_of(folder, path)
    check("without --source no text of a file is in the page", plain is None and "the line itself" not in text)
    shown, text = source_of(folder, path, "--source")
    check("with --source the line is there, with two lines before and after",
          shown and (shown["first"], shown["line"], len(shown["lines"])) == (LINE - 2, LINE, 5) and
          shown["lines"][2].startswith("the line itself") and shown["lines"][0] == "line 118", shown)
    check("a long line is cut", shown["lines"][3] == LONG[:200], shown["lines"][3])
    check("a file that is newer than the recording is told", shown["changed"] is True, shown)
    check("source text ends no script and makes no element", text.count("<script") == 2 and text.count("</script") == 2 and
          "<img" not in text and "window.hacked" in text)


def refuses(folder, path):
    said = report("--redact", "--source", "-o", os.path.join(folder, "no.html"), LEAK)
    check("--redact and --source are refused together", said.returncode == 2 and said.stderr.count("\n") == 1 and
          "--source" in said.stderr, said.stderr)
    os.rename(path, path + "~")
    os.mkfifo(path)
    check("a FIFO is not waited for", source_of(folder, path, "--source")[0] is None)
    os.unlink(path)
    os.symlink(path + "~", path)
    check("a link to a file that is no source file is not followed", source_of(folder, path, "--source")[0] is None)
    os.unlink(path)
    check("a missing file has no lines", source_of(folder, path, "--source")[0] is None)
    os.rename(path + "~", path)
    secret = path[:-4] + ".pem"
    shutil.copy(path, secret)
    check("a file that is no source file is not read", source_of(folder, secret, "--source")[0] is None)


def in_browser(folder, path):
    source_of(folder, path, "--source")
    with browserlib.Browser() as browser:
        browser.open(os.path.join(folder, "run.html"))
        browser.frame()
        text = browser.run("document.querySelector('.finding pre.source').innerText")
        check("the line stands beside its finding", f"{LINE} > the line itself" in text, text)
        check("and does nothing", browser.run("window.hacked === undefined") and not browser.errors, browser.errors)


def main():
    with tempfile.TemporaryDirectory(prefix="gmt-html-") as folder:
        inner = tempfile.mkdtemp(prefix="", dir="/tmp")    # a path as long as the recording's
        path = inner + "/" + "train.py"[len(inner) + 9 - len(OLD):]
        try:
            with open(path, "w", encoding="utf-8") as file:
                for number in range(1, 200):
                    file.write({LINE: "the line itself " + HOSTILE.decode(), LINE + 1: LONG}.get(number, f"line {number}") + "\n")
            shows(folder, path)
            refuses(folder, path)
            in_browser(folder, path)
        except browserlib.Unavailable as why:
            skip("source lines in a browser", why)
        finally:
            shutil.rmtree(inner)
    return done()


if __name__ == "__main__":
    sys.exit(main())
