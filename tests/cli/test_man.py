#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The man page and the shell completion say of the options what their table says. `--write` writes it there."""
import json
import os
import re
import subprocess
import sys

from cases import BIN, TOP, check, done

BEGIN = "---- begin: `make man` writes this from user/cli_rows.h ----\n"
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
        yield from (".TP", f"{letter}{roff('`--' + option['name'] + '`')} {argument}".rstrip())
        yield from paragraphs(option["manual"].replace("@", option["initial"] or "@"))


def value(option, outputs):
    """The shell's commands that complete the value of an option; "": the option takes none."""
    argument = option["argument"]
    if option["words"]:
        words = f"compgen -W '{' '.join(option['words']).lower()}'"
        # Of a list the last one.
        last = '-P "${cur%"${cur##*,}"}" -- "${cur##*,}"' if "LIST" in argument else '-- "$cur"'
        found = f"COMPREPLY=($({words} {last}))"
    elif "PID" in argument:
        found = "_pids"
    elif "DIR" in argument:
        found = "_filedir -d"
    elif "FILE" in argument or "PATH" in argument:
        # -o, which names a recording, takes the suffixes of other files too.
        suffixes = [option["suffix"]] + ([] if option["is_output"] else outputs)
        found = "_filedir" + (f" '@({'|'.join(suffixes)})'".replace(".", "") if option["suffix"] else "")
    else:
        found = ":" if argument else ""
    return found + ("\n\t\tCOMPREPLY+=($(compgen -W 'off' -- \"$cur\"))" if "|off" in argument else "")


def completion(table):
    commands = {word: arguments for word, arguments in table["commands"].items() if word}
    outputs = [option["suffix"] for option in table["options"] if option["is_output"] and option["suffix"]]
    cases = {}
    for option in table["options"]:
        letter = f"-{option['letter']} | " if option["letter"] else ""
        cases.setdefault(value(option, outputs), []).append(f"{letter}--{option['name']}")
    cases.pop("", None)
    yield f"_gpumemtrace_commands='{' '.join(commands)}'"
    yield f"_gpumemtrace_readers='{' '.join(word for word in commands if commands[word])}'\n"
    yield "# The value of the option $prev; false: the option takes none.\n_gpumemtrace_value()\n{\n\tcase $prev in"
    for body, options in cases.items():
        yield "\t" + " | \\\n\t\t".join(options) + f")\n\t\t{body}\n\t\t;;"
    yield "\t*)\n\t\treturn 1\n\t\t;;\n\tesac\n\treturn 0\n}"


def main():
    program = os.path.join(os.path.dirname(BIN), "tests", "cli", "options")
    table = json.loads(subprocess.run([program], stdout=subprocess.PIPE, check=True).stdout)
    for name, make in (("gpumemtrace.1", manual), ("gpumemtrace.bash-completion", completion)):
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
            check(f"user/doc/{name} is what user/cli_rows.h says", text == wanted, "`make man` writes it anew")
    return 0 if "--write" in sys.argv else done()


if __name__ == "__main__":
    sys.exit(main())
