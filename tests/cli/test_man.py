#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The man page and the completions of the shells say of the options what their table says. `--write` writes it there."""
import json
import os
import re
import subprocess
import sys

from cases import BIN, TOP, check, done
import completions

BEGIN = "---- begin: `make man` writes this from user/cli/cli_rows.h ----\n"
END = " ---- end ----\n"
COLUMNS = 80


def roff(text):
    """`bold` and *italic* words."""
    text = re.sub(r"`(.*?)`", r"\\fB\1\\fR", text.replace("-", r"\-"))
    return re.sub(r"\*(.*?)\*", r"\\fI\1\\fR", text)


def lines(text):
    """A sentence begins a line, and a line is not long: changes are easy to see."""
    line = ""
    for word in roff(text).split():
        if line and len(line) + 1 + len(word) > COLUMNS:
            yield line
            line = ""
        line = f"{line} {word}".lstrip()
        if word.endswith("."):
            yield line
            line = ""
    yield from [line] if line else []


def paragraphs(text):
    """A paragraph "- `word` what it means" is an item of a list."""
    in_list = False
    for number, paragraph in enumerate(text.split("\n\n")):
        item = re.match(r"- (`.*?`)(.*)", paragraph)
        if bool(item) != in_list:
            yield ".RS" if item else ".RE"
        in_list = bool(item)
        if item:
            yield from (".TP", roff(item[1]), *lines(item[2]))
        else:
            yield from ([".IP"] if number else []) + list(lines(paragraph))
    yield from [".RE"] if in_list else []


def manual(table):
    section = None
    for option in table["options"]:
        if option["section"] != section:
            section = option["section"]
            yield ".SS " + section
        letter = roff(f"`-{option['letter']}`, ") if option["letter"] else ""
        argument = re.sub("([A-Z]+)", r"\\fI\1\\fR", option["argument"])
        argument = f"[={argument}]" if option["is_optional"] else f" {argument}".rstrip()
        yield from (".TP", f"{letter}{roff('`--' + option['name'] + '`')}{argument}")
        yield from paragraphs(option["manual"].replace("@", option["initial"] or "@"))


def main():
    program = os.path.join(os.path.dirname(BIN), "tests", "cli", "options")
    table = json.loads(subprocess.run([program], stdout=subprocess.PIPE, check=True).stdout)
    for name, make in (("gpumemtrace.1", manual), ("gpumemtrace.bash-completion", completions.bash),
                       ("gpumemtrace.zsh-completion", completions.zsh), ("gpumemtrace.fish-completion", completions.fish)):
        path = os.path.join(TOP, "user", "doc", name)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        before, region = text.split(BEGIN)
        after = region[region.rindex("\n", 0, region.index(END)) + 1:]
        wanted = before + BEGIN + "".join(line + "\n" for line in make(table)) + after
        if "--write" in sys.argv:
            with open(path, "w", encoding="utf-8") as file:
                file.write(wanted)
        else:
            check(f"user/doc/{name} is what user/cli/cli_rows.h says", text == wanted, "`make man` writes it anew")
    return 0 if "--write" in sys.argv else done()


if __name__ == "__main__":
    sys.exit(main())
