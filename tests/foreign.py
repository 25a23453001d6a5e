# SPDX-License-Identifier: BSD-2-Clause
"""Text that does something to a terminal, and what a terminal may get: for tests of names that others choose."""
import re

# Turned text, escapes, line ends, C1 controls, DEL, and bytes that are not UTF-8; no slash, so that a file can have the name.
HOSTILE = b"\x1b]0;x\x07\n\r\x1b[31m\xff\xc3\x9b\xc2\x9b\x7f\t\xe2\x28\xf0\x9f\b\v\x1b[2J\xc2\x85\xe2\x80\xae\xe2\x81\xa7\xd8\x9c"
BAD = "[\0-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\udc80-\udcff]"
# What ncurses sends for the live view with xterm's description: styles, places, modes of DEC and ECMA-48, character sets, the
# window's title to a stack and back, the colours as they were.
OWN = (rb"\x1b\[[0-9;]*[mABCDGHJKLMPSTXdr@b]|\x1b\[\?[0-9;]+[hl]|\x1b\[[0-9]+[hl]|\x1b\[2[23];0;0t|\x1b\(B|\x1b[=>M78]"
       rb"|\x1b\]104\x07|[\r\n\x08]")
TEXT = re.compile(rb"[ -~]{4,}\0")
HDR_BYTES = 32


def spoil(record):
    """A record whose texts are hostile."""
    def replace(found):
        size = len(found.group()) - 1
        return (HOSTILE * (size // len(HOSTILE) + 1))[:size] + b"\0"
    return record[:HDR_BYTES] + TEXT.sub(replace, record[HDR_BYTES:])


def spoiled(records, most):
    """The first records, up to so many bytes, with hostile texts."""
    size = 0
    for record in map(spoil, records):
        size += len(record)
        if size > most:
            return
        yield record


def first_bad(data):
    """What a terminal does not only print: control characters but newlines, what turns text, and bytes that are not UTF-8."""
    found = re.search(BAD, data.decode(errors="surrogateescape"))
    return found and (found.group(), found.string[max(0, found.start() - 60):found.end() + 20])


def first_bad_of_table(data):
    return first_bad(re.sub(OWN, b"", data))
