#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Words in documents, goldens and the program's strings: no filler words, and 1 takes a singular."""
import re

from tap import Tap, files, text

# MAP.md has the first sentences of comments.
DOCUMENTS = [name for name in files(ends=(".md", ".1", ".conf")) if name != "MAP.md"] + files("user/doc", ends=(".json",))
GOLDENS = files("tests/golden", ends=(".txt",))
CODE = files("user", "include", ends=(".c", ".h"))
COMMENT_OR_STRING = re.compile(r'/\*.*?\*/|//[^\n]*|\'(?:\\.|[^\'\\\n])*\'|("(?:\\.|[^"\\\n])*")', re.S)
# "is told", "tells what", "cannot be told apart": is known, shows, cannot be distinguished.
FILLER = re.compile(r"\b(told|tells?|telling)\b", re.I)
ONE = re.compile(r"(?<![\w.,:/#+=-])1 +(?:(?:other|more|malformed|unknown|different|native) )?([a-z]+s)\b")
# Behind a name or an option 1 is no count: "GPU 1 was full", "-d 1 shows". Behind a column's gap it is: "LOST    1 call".
NAME = re.compile(r"(?:\b[A-Z]\w*|-\w) $")
SINGULAR = re.compile(r"ss$|^(?:[mu]s|is|was|has|as|its)$")


def strings():
    """Each string of the program with its file and line; a path or a name of JSON has no blank."""
    for name in CODE:
        source = text(name)
        for found in COMMENT_OR_STRING.finditer(source):
            if found.group(1) and " " in found.group(1):
                yield f"{name}:{source.count(chr(10), 0, found.start()) + 1}", found.group(1)


def lines():
    for name in DOCUMENTS + GOLDENS:
        for number, line in enumerate(text(name).splitlines(), 1):
            yield f"{name}:{number}", line


def filler(places):
    for place, words in places:
        for found in FILLER.finditer(words):
            yield f"{place}: \"{found.group()}\" in: {words.strip()[:100]}"


def plural_of_one(places):
    for place, words in places:
        for found in ONE.finditer(words):
            if not SINGULAR.search(found.group(1)) and not NAME.search(words[:found.start()]):
                yield f"{place}: \"{found.group()}\""


tap = Tap()
tap.check("\"told\" and \"tell\" fill no sentence of a document", filler(lines()))
tap.check("... and none of the program's", filler(strings()))
tap.check("a count of 1 has a singular noun", plural_of_one(list(lines()) + list(strings())))
tap.done()
