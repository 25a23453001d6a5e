# SPDX-License-Identifier: BSD-2-Clause
"""Text that does something to a terminal, and what a terminal may get: for tests of names that others choose."""
import re

# Escapes, line ends, C1 controls, DEL, and bytes that are not UTF-8; no slash, so that a file can have the name.
HOSTILE = b"\x1b]0;x\x07\n\r\x1b[31m\xff\xc3\x9b\xc2\x9b\x7f\t\xe2\x28\xf0\x9f\b\v\x1b[2J\xc2\x85"
BAD = "[\0-\x09\x0b-\x1f\x7f-\x9f\udc80-\udcff]"
# What the live table sends: styles, the places of cursor and lines, the screens (user/sink/formats/term.c, text.c).
OWN = rb"\x1b\[(0|1|2|1;31|33|32)?m|\x1b\[[HJK]|\x1b\[\?(1049|25|7)[hl]|\r+\n"


def first_bad(data):
    """What a terminal does not only print: control characters but newlines, and bytes that are not UTF-8."""
    found = re.search(BAD, data.decode(errors="surrogateescape"))
    return found and (found.group(), found.string[max(0, found.start() - 60):found.end() + 20])


def first_bad_of_table(data):
    return first_bad(re.sub(OWN, b"", data))
