#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Sizes of files and functions, licence lines, functions that nobody calls, and paths of somebody's own machine."""
import re

from tap import Tap, files, text

CODE = files("user", "bpf", "include", ends=(".c", ".h", ".S"))
PAGE_CODE = files("user", ends=(".js", ".css"))
TEST_CODE = files("tests", "demos", ends=(".c", ".h"))
FILE_LINES, TEST_LINES, FUNCTION_LINES, LINE_COLUMNS, TEST_COLUMNS, README_LINES = 500, 700, 60, 120, 140, 150
TABLE = "include/gpumemtrace/api.h"  # a row is a line, however long
# Each has a bounded twin: snprintf, strtoul with its end pointer, strtok_r, memcpy with a length.
BANNED = re.compile(r"\b(sprintf|vsprintf|strcpy|stpcpy|strcat|strncpy|strncat|strtok|gets|atoi|atol|atoll|atof|alloca"
                    r"|tmpnam|mktemp|system|popen|rand|localtime|gmtime|ctime|asctime)\s*\(")
# say() makes foreign text printable. These files print to the terminal themselves: constants.
STDERR = re.compile(r"\b(stderr|perror)\b")
STDERR_FILES = ["user/say.c", "user/base/js.c", "user/base/xalloc.c"]
# A place that exists on one machine only.
OWN_PATH = re.compile(r"(?<![\w.%}*\"])/(?:home|work|farm|root|mnt)/\w|\.\./shared\b")
NO_SPDX = re.compile(r"\.(md|json|txt|gmt|png|rec|expect|tsv|case|zst|bin)$|(^|/)\.git(ignore|attributes)$|^LICENSES?(/|$)"
                     r"|^tests/data/|(^|/)corpus/|^\.editorconfig$|(^|/)expected")


def code_of(name):
    """The text without comments and strings; lines keep their numbers."""
    def blank(match):
        return re.sub(r"[^\n]", " ", match.group(0))
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', blank, text(name), flags=re.S)


def banned():
    for name in CODE:
        for number, line in enumerate(code_of(name).splitlines(), 1):
            for word in BANNED.findall(line):
                yield f"{name}:{number}: {word}"


def own_messages():
    for name in CODE:
        for number, line in enumerate(code_of(name).splitlines(), 1):
            if STDERR.search(line) and name not in STDERR_FILES:
                yield f"{name}:{number}: use say()"


def long_files():
    for name in CODE + PAGE_CODE + TEST_CODE:
        lines, most = text(name).count("\n"), TEST_LINES if name in TEST_CODE else FILE_LINES
        if lines >= most:
            yield f"{name}: {lines} lines, {most} is too many"


def long_functions():
    """Kernel style: a function's braces are in the first column."""
    for name in CODE + TEST_CODE:
        start = 0
        for number, line in enumerate(code_of(name).splitlines(), 1):
            if line.rstrip() == "{":
                start = number
            elif line.startswith("}") and start:
                if number - start > FUNCTION_LINES:
                    yield f"{name}:{start}: a function of {number - start} lines, {FUNCTION_LINES} is too many"
                start = 0


def long_lines():
    for name in CODE + PAGE_CODE + TEST_CODE + ["Makefile"]:
        for number, line in enumerate(text(name).splitlines(), 1):
            columns = len(line.expandtabs(8))
            if columns > (LINE_COLUMNS if name in CODE else TEST_COLUMNS) and name != TABLE:
                yield f"{name}:{number}: {columns} columns"
            if line != line.rstrip():
                yield f"{name}:{number}: ends with blanks"


def without_licence():
    for name in files():
        if NO_SPDX.search(name):
            continue
        head = text(name)[:1000]
        want = r"GPL-2\.0-only OR BSD-2-Clause" if re.match(r"bpf/|include/|.*\.bpf\.", name) else \
            r"GPL-2\.0-only" if re.match(r"vmlinux/\w+/", name) else r"BSD-2-Clause"
        if not re.search(r"SPDX-License-Identifier: \(?" + want, head):
            yield f"{name}: no SPDX line with {want}".replace("\\", "")


def own_paths():
    for name in files():
        if name.startswith("tests/lint/") or re.search(r"\.(gmt|png|rec|bin|zst)$", name) or "/corpus/" in name:
            continue
        for number, line in enumerate(text(name).splitlines(), 1):
            if OWN_PATH.search(line):
                yield f"{name}:{number}: {line.strip()[:100]}"


def readme():
    lines = text("README.md").count("\n")
    if lines >= README_LINES:
        yield f"README.md has {lines} lines, {README_LINES} is too many"


tap = Tap()
tap.check("no unbounded or unsafe function is called", banned())
tap.check("messages go through say()", own_messages())
tap.check(f"files have less than {FILE_LINES} lines", long_files())
tap.check(f"functions have at most {FUNCTION_LINES} lines", long_functions())
tap.check(f"lines have at most {LINE_COLUMNS} columns and no blanks at the end", long_lines())
tap.check("every file says its licence", without_licence())
tap.check("no path of somebody's own machine", own_paths())
tap.check(f"the README has less than {README_LINES} lines", readme())
tap.done()
