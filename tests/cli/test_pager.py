#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Long output on a terminal goes through a pager, and nothing else does. Root's pager runs no commands."""
import os
import pty
import select
import shutil
import subprocess
import sys
import tempfile
import time

import cases
from cases import PATIENCE, TOP, check, done, skip

COPIES = tempfile.TemporaryDirectory(prefix="gmt-pager-")        # the tree may be in a folder that only root can enter
os.chmod(COPIES.name, 0o755)


def copy(*path):
    place = shutil.copy(os.path.join(*path), COPIES.name)
    os.chmod(place, 0o755)
    return place


BIN = copy(cases.BIN)
DATA = copy(TOP, "tests/data/h200x2-ioctls-native.gmt")
LONG = copy(TOP, "tests/data/kept/calls.gmt")                    # its records do not fit into a pipe
NOBODY = 65534
MARK = {"GPUMEMTRACE_PAGER": "sed s/^/PAGED:/"}


def start(words, env, is_root):
    """Runs gpumemtrace on a terminal of 10 lines. Its pid, and the terminal."""
    pid, fd = pty.fork()
    if not pid:
        subprocess.run(["stty", "rows", "10", "cols", "80"], check=False)
        if not is_root and os.geteuid() == 0:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        kept = {name: value for name, value in os.environ.items() if name not in ("PAGER", "GPUMEMTRACE_PAGER", "LESS")}
        given = {name: value for name, value in {**kept, "TERM": "xterm", **env}.items() if value is not None}
        os.execve(BIN, [BIN, *words], given)
    return pid, fd


def read_some(fd, until=None):
    """What is printed until the end of the terminal, or until a text."""
    printed, end = "", time.monotonic() + PATIENCE
    while time.monotonic() < end and not (until and until in printed):
        if select.select([fd], [], [], 1)[0]:
            try:
                data = os.read(fd, 65536)
            except OSError:
                break
            if not data:
                break
            printed += data.decode(errors="replace")
    return printed


def on_terminal(*words, env=None, is_root=False):
    pid, fd = start(words, env or {}, is_root)
    printed = read_some(fd)
    os.close(fd)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), printed


def lines_of(printed):
    return [line for line in printed.replace("\r", "").split("\n") if line]


def what_is_paged():
    for words in (["report", DATA], ["oom", DATA], ["diff", "--full", DATA, "@end"], ["records", DATA], ["list"]):
        status, printed = on_terminal(*words, env=MARK)
        lines = lines_of(printed)
        check(f"{words[0]} on a terminal goes through the pager", status == 0 and lines and
              all(line.startswith("PAGED:") for line in lines), printed[:2000])
    status, printed = on_terminal("report", DATA, env=MARK)
    check("... with colours", "\x1b[" in printed, printed[:500])
    for words in (["--help"], ["doctor"], ["version"], ["report", "--no-pager", DATA]):
        check(f"{' '.join(words[:2])} does not", "PAGED:" not in on_terminal(*words, env=MARK)[1])
    said = subprocess.run([BIN, "report", DATA], stdout=subprocess.PIPE, env={**os.environ, **MARK}, check=False)
    check("nor does output that is no terminal's", said.returncode == 0 and b"PAGED:" not in said.stdout)


def which_pager():
    def uses(env):
        return "PAGED:" in on_terminal("list", env=env)[1]
    mark = MARK["GPUMEMTRACE_PAGER"]
    check("PAGER names a pager, too", uses({"PAGER": mark}))
    check("GPUMEMTRACE_PAGER comes first", not uses({"PAGER": mark, "GPUMEMTRACE_PAGER": "cat"}))
    check("an empty variable means none", not uses({"PAGER": mark, "GPUMEMTRACE_PAGER": ""}))
    for term in None, "", "dumb":
        check(f"TERM {term!r} means none", not uses({"PAGER": mark, "TERM": term}))
    status, printed = on_terminal("list", env={"PAGER": "head -n 1"})
    check("whoever leaves the pager early made no error", status == 0 and len(lines_of(printed)) == 1, (status, printed))
    status, printed = on_terminal("records", LONG, env={"PAGER": "head -n 1"})
    check("... whatever is left to print", status == 0 and len(lines_of(printed)) == 1, (status, printed))
    status, printed = on_terminal("list", env={"PAGER": "/none/pager"})
    check("a pager that is not there is named", status == 1 and "the pager '/none/pager' does not run" in printed, printed)


def pager_of_root(folder):
    name = "root's pager is less, whatever the environment says, and runs no command"
    if os.geteuid() != 0 or not shutil.which("less"):
        skip(name, "needs root and less")
        return
    made = os.path.join(folder, "made")
    evil = f"touch {made}"
    pid, fd = start(["list"], {"PAGER": evil, "GPUMEMTRACE_PAGER": evil, "LESSOPEN": f"|touch {made}"}, True)
    printed = read_some(fd, "FUNCTION")
    os.write(fd, b"!")
    printed += read_some(fd, "not available")
    os.write(fd, b"\nq")
    printed += read_some(fd)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    check(name, status == 0 and "not available" in printed and not os.path.exists(made), (status, printed[-500:]))


def interrupts():
    """Ctrl-C in the pager leaves gpumemtrace waiting, so that the terminal stays the pager's."""
    pid, fd = start(["list"], {"PAGER": "trap 'echo INTERRUPTED' INT; echo READY; read line; sleep 0.1; echo LEFT"}, False)
    read_some(fd, "READY")
    os.write(fd, b"\x03")
    printed = read_some(fd)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    check("an interrupt is the pager's", status == 0 and "LEFT" in printed, (status, printed))


def main():
    what_is_paged()
    which_pager()
    interrupts()
    with tempfile.TemporaryDirectory() as folder:
        pager_of_root(folder)
    return done()


if __name__ == "__main__":
    sys.exit(main())
