#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Prints compile_commands.json, which tells editors how each C source is compiled, from the output of `make -n V=1`."""
import json
import os
import shlex
import sys

OPERATORS = {"&&", "||", ";", "|", ">"}


def commands(text):
    """The words of each command, up to what the shell does next."""
    for line in text.replace("\\\n", " ").splitlines():
        try:
            words = shlex.split(line)
        except ValueError:      # a line of a shell script
            continue
        end = next((i for i, word in enumerate(words) if word in OPERATORS), len(words))
        yield words[:end]


def entries(text):
    for words in commands(text):
        sources = [word for word in words[1:] if word.endswith(".c")]
        if not sources or "-o" not in words:
            continue
        for source in sources:  # a program of several sources is one command
            others = set(sources) - {source}
            yield {"directory": os.getcwd(), "file": source, "output": words[words.index("-o") + 1],
                   "arguments": [word for word in words if word not in others]}


if __name__ == "__main__":
    found = {}
    for entry in entries(sys.stdin.read()):
        found.setdefault(entry["file"], entry)
    json.dump(list(found.values()), sys.stdout, indent=1)
    print()
