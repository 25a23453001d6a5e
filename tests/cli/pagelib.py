# SPDX-License-Identifier: BSD-2-Clause
"""What tests of HTML pages share: the data in a page, recordings whose names do something to a page, and Chromium."""
import base64
import json
import os
import re
import sys

from cases import TOP, skip
import browserlib

sys.path.insert(1, os.path.join(TOP, "tests", "recordings"))
import recfile  # noqa: E402

HOSTILE = b"</script><script>window.hacked=1</script><img src=x onerror=window.hacked=1>'\"`${window.hacked=1}&lt;"
HDR_BYTES = 32
TEXT = re.compile(rb"[ -~]{4,}\0")


def data_of(path):
    """The numbers in the page."""
    with open(path, encoding="utf-8") as file:
        return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', file.read(), re.S).group(1))


def numbers(text):
    """LEB128 in Base64."""
    value, shift = 0, 0
    for byte in base64.urlsafe_b64decode(text):
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            yield value
            value, shift = 0, 0


def zigzag(value):
    return -(value + 1) // 2 if value & 1 else value // 2


def spoil(record):
    def replace(found):
        size = len(found.group()) - 1
        return (HOSTILE * (size // len(HOSTILE) + 1))[:size] + b"\0"
    return record[:HDR_BYTES] + TEXT.sub(replace, record[HDR_BYTES:])


def spoiled(folder, path):
    """A recording as at path, with hostile text in each name."""
    to, kept, size = os.path.join(folder, "spoiled.gmt"), [], 0
    for record in map(spoil, recfile.read(path)):
        size += len(record)
        if size > recfile.RAW_MAX:
            break
        kept.append(record)
    recfile.write(to, kept)
    return to


def in_chromium(what, look, *pages):
    """Looks at pages in Chromium; where there is none, `what` is skipped."""
    try:
        look(*pages)
    except browserlib.Unavailable as why:
        skip(what, why)
