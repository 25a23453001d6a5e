#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Functions have names that one can grep for: two words or more, and no two functions share a name."""
import collections
import os

from ccode import definitions
from tap import Tap, files, text

# What the linker takes in place of the other file, with the same functions.
STAND_IN = "nvml_none.c"


def one_word(functions):
    for name, line, is_static, function in functions:
        if is_static and "_" not in function.strip("_"):
            yield f"{name}:{line}: {function}"


def repeated(functions):
    places = collections.defaultdict(dict)
    for name, line, _, function in functions:
        if os.path.basename(name) != STAND_IN:
            places[function].setdefault(name, line)
    for function, found in sorted(places.items()):
        if len(found) > 1:
            yield f"{function}: " + ", ".join(f"{name}:{line}" for name, line in found.items())


ALL = [(name, *found) for name in files("user", ends=(".c", ".h")) for found in definitions(text(name))]
tap = Tap()
tap.check("functions are found", [] if ALL else ["none in user/"])
tap.check("static functions have names of two words or more", one_word(ALL))
tap.check("a function's name is defined in one file of user/", repeated(ALL))
tap.done()
