#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Live lines of --json: they fit the schema, say when they were made, and do not get into a command's output unasked."""
import json
import os

import lib
from lib import LIB, ROOT, TOOL, Tool, check, equal

import schemalib

BASE = [TOOL, "--driver-root", ROOT, "--oom-dir", "off", "-i", "0.1"]
SLEEP = ("--", "/bin/sh", "-c", "echo said; sleep 0.5")


def live_lines_fit():
    """each live line of a traced process is what the schema says, and made_at goes on while nothing happens"""
    if not schemalib.is_there():
        raise lib.Skip("no python3-jsonschema")
    target = lib.Target("basic", hold="end")
    tool = Tool("-p", str(target.pid)).ready()
    tool.more_views(4)
    tool.stop()
    views = [json.loads(line) for line in tool.out if line.startswith("{")]
    wrong = [error for view in views for error in schemalib.wrong(view)]
    check(not wrong, wrong[:5])
    made = [view["made_at"] for view in views]
    check(len(set(made)) == len(made) and made == sorted(made), made)


def run(*words):
    done = lib.run([*BASE, *words], env=lib.environment(LIB, GPUMEMTRACE_STANDIN_ROOT=ROOT))
    return done.returncode, done.stdout, done.stderr


def lines_to_a_file():
    """--json=FILE beside a command: live lines and the report are in the file, and nothing of it on standard output"""
    path = os.path.join(lib.folder(), "lines")
    status, out, err = run(f"--json={path}", *SLEEP)
    equal((status, out), (0, "said\n"), err)
    with open(path, encoding="utf-8") as file:
        types = [json.loads(line)["type"] for line in file]
    check(types.count("live") >= 2 and types[-1] == "report", types)
    check("same file" not in err, err)


def lines_beside_a_command():
    """--json beside a command that has the same output: the report only, and a sentence says how to get more"""
    status, out, err = run("--json", *SLEEP)
    lines = out.split("\n")
    equal((status, lines[0], json.loads(lines[1])["type"], lines[2:]), (0, "said", "report", [""]), err)
    check("--json=FILE writes live lines" in err, err)
    status, out, err = run("--json", "--live", *SLEEP)
    check('"type":"live"' in out and "--json=FILE" not in err, err)


def a_file_that_is_the_commands():
    """--json=FILE that is the command's own output counts as shared"""
    path = os.path.join(lib.folder(), "lines")
    done = lib.run(["/bin/sh", "-c", f'exec "$@" >>{path}', "sh", *BASE, f"--json={path}", "--", "/bin/sleep", "0.5"],
                   env=lib.environment(LIB, GPUMEMTRACE_STANDIN_ROOT=ROOT))
    equal(done.returncode, 0, done.stderr)
    check("--json=FILE writes live lines" in done.stderr, done.stderr)


def a_file_that_cannot_be_made():
    """a file that cannot be written: a sentence before anything runs"""
    status, out, err = run("--json=/nonexistent/x", "--", "/bin/echo", "said")
    equal((status, out), (125, ""), err)
    check("/nonexistent/x: No such file or directory" in err, err)


if __name__ == "__main__":
    lib.main(live_lines_fit, lines_to_a_file, lines_beside_a_command, a_file_that_is_the_commands, a_file_that_cannot_be_made)
