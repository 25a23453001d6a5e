#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""user/doc/json-schema.json describes each kind of JSON that gpumemtrace prints, with all members. Live lines are
checked in bpf/test_json.py."""
import datetime
import glob
import json
import os
import subprocess
import sys

from cases import BIN, PATIENCE, TOP, check, done, skip

sys.path.insert(1, os.path.join(TOP, "tests"))
import schemalib  # noqa: E402

RECORDINGS = sorted(glob.glob(os.path.join(TOP, "tests", "data", "**", "*.gmt"), recursive=True))
DIFF_WITH = os.path.join(TOP, "tests", "data", "kept", "train.gmt")
SECONDS = 60   # between the making of a line and the look at it, on a busy machine


def values(*words):
    """The JSON values that a command prints: lines, or one indented object."""
    text = subprocess.run([BIN, *words, "--json"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          timeout=PATIENCE, check=False).stdout
    return [json.loads(text)] if text.startswith("{\n") else [json.loads(line) for line in text.splitlines()]


def wrong_times(made, since):
    """made_at is the time when the line was made, not a time of the recording."""
    for value in made:
        at = datetime.datetime.strptime(value["made_at"], "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=datetime.timezone.utc)
        if not -1 < (at - since).total_seconds() < SECONDS:
            yield f"{value['type']} was made at {value['made_at']}"


def main():
    if not schemalib.is_there():
        skip("the schema describes all JSON", "no python3-jsonschema")
        return done()
    check("the schema is a schema", not list(schemalib.wrong_schema()), "\n".join(schemalib.wrong_schema()))
    commands = {"report": RECORDINGS, "oom": RECORDINGS, "records": RECORDINGS, "doctor": [None], "list": [None],
                "diff": RECORDINGS, "ranks": RECORDINGS}
    for command, files in commands.items():
        since = datetime.datetime.now(datetime.timezone.utc)
        found, wrong = [], []
        for path in files:
            made = values("report" if command == "ranks" else command, *([path] if path else []),
                          *([DIFF_WITH] if command in ("diff", "ranks") else []))
            # Of many records of one kind the first few say as much as all.
            found += made if command != "records" else list({value["kind"]: value for value in made}.values())
        for value in found:
            wrong += schemalib.wrong(value)
        check(f"the schema describes all JSON of {command}", found and not wrong, "\n".join(wrong[:20]))
        if command != "records":
            late = list(wrong_times(found, since))
            check("... whose lines say when they were made", not late, "\n".join(late[:20]))
    broken = {**values("list")[0], "more": 1}
    check("a member that the schema lacks is found", list(schemalib.wrong(broken)))
    return done()


if __name__ == "__main__":
    sys.exit(main())
