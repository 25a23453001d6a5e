#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""MAP.md says what each file is for, by the first sentence of the comment at its head. `--print` prints it."""
import os
import re
import sys

from tap import Tap, files, text

ENDS = (".h", ".c", ".py", ".sh", ".conf", ".js")
MOST = 160          # characters: one line of the map
HEAD = """# Map

What each file is for, by the first sentence at its head; `x.h` stands for `x.c`, too. `make map` writes this file.
"""


def sources():
    found = files("include/gpumemtrace", "bpf", "user", "demos", "tests", ends=("",))
    return [name for name in found if not re.search(r"/(data|golden|corpus\w*)/", name)
            and (name.endswith(ENDS) or "." not in os.path.basename(name) and text(name).startswith("#!"))]


def comment(name):
    """The first comment behind the licence; nothing where code comes first."""
    source = re.sub(r"^(//|/\*|#) SPDX.*\n", "", re.sub(r"^#!.*\n", "", text(name))).lstrip("\n")
    source = re.sub(r"^(# (shellcheck|timeout:|alone:) .*\n)+", "", source)
    if source.startswith('"""'):
        return source[3:].split('"""', 1)[0]
    if source.startswith("/*"):
        return re.sub(r"^[ \t]*\*+ ?", "", source[2:].split("*/", 1)[0], flags=re.M).strip()
    found = re.match(r"(?:#(?: .*|)\n)+", source)
    return re.sub(r"^# ?", "", found.group(0), flags=re.M).strip() if found else ""


def sentence(name):
    """Of a long one what stands before its colon or semicolon."""
    paragraph = re.split(r"\n\s*\n|\n  +", comment(name))[0]
    words = re.sub(r"^See \w+\.h[.:] ?", "", re.sub(r"\s+", " ", paragraph).strip())
    says = re.split(r"(?<=[.?!]) (?=[A-Z`\"(])", words)[0]
    return re.sub(r":$", ".", says) if len(says) <= MOST else re.split(r"[:;] ", says)[0].rstrip(".") + "."


def modules():
    """(folder, file, sentence) of each file but x.c beside x.h."""
    found = sources()
    for name in found:
        if not (name.endswith(".c") and name[:-2] + ".h" in found):
            yield os.path.dirname(name), name, sentence(name) or (name.endswith(".h") and sentence(name[:-2] + ".c")) or ""


def rendered():
    lines, before = [HEAD], None
    for folder, name, says in sorted(modules()):
        if folder != before:
            lines.append(f"\n## {folder}/\n\n")
            before = folder
        lines.append(f"- `{os.path.basename(name)}`: {says}\n".replace("<", "\\<"))
    return "".join(lines)


def unsaid():
    for _, name, says in modules():
        if not says:
            yield f"{name} does not say at its head what it is for"
        elif len(says) > MOST:
            yield f"{name}: the first sentence has {len(says)} characters, {MOST} is a line: {says}"


def stale():
    have, want = text("MAP.md").splitlines(), rendered().splitlines()
    yield from (f"{line}: not in MAP.md; `make map` writes it" for line in want if line not in have)
    yield from (f"{line}: MAP.md has it, no file does; `make map` writes it" for line in have if line not in want)


if __name__ == "__main__":
    if "--print" in sys.argv[1:]:
        sys.stdout.write(rendered())
        sys.exit(0)
    tap = Tap()
    tap.check("each file says at its head what it is for", unsaid())
    tap.check("MAP.md is what the files say", stale())
    tap.done()
