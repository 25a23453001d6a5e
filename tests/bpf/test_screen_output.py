#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The output of a command under the screen: nothing is drawn across the picture, and nothing is lost."""
import os
import re
import signal
import sys
import time

import lib
from lib import check, equal
from test_screen import case, fill, is_restored, run_cases, screen, until

NO_CUDA = "no traced process has used CUDA"


def under_screen(code, *options, arguments=(), prefix=(), **more):
    """A Python command beside the screen, which has come."""
    terminal = screen(*options, "--live", "--", sys.executable, "-u", "-c", code, *arguments, prefix=prefix, **more)
    terminal.wait(terminal.is_alternate, "the screen")
    terminal.wait(lambda: "GPU 0" in "".join(terminal.text()), "a picture")
    return terminal


# The terminal is the shell's, whose end would hang up the command's terminal.
SHELL = "bash", "-c", 'trap "" INT; (trap - INT; exec "$@"); echo "ended with $?"; read line', "bash"


def behind_screen(terminal):
    """What was written after the screen's end."""
    return terminal.bytes[terminal.bytes.rindex(b"\x1b[?1049l"):].decode().replace("\r\n", "\n")


def is_undisturbed(terminal, *words):
    for text in terminal.text():
        check(text.startswith("output: ") or not any(word in text for word in words), "across the picture:", text)


DIES = """
import sys, time
time.sleep(2)
for n in range(40):
    print("step", n, "of 40")
    time.sleep(0.02)
print("to stderr", file=sys.stderr)
input()
def train():
    raise RuntimeError("CUDA out of memory. Tried to allocate 20.00 MiB")
train()
"""


@case
def dies():
    """dies: a command's lines and traceback are not drawn across the screen, and stand whole on the terminal behind it"""
    terminal = under_screen(DIES, size=(100, 100))
    terminal.wait_text("output: to stderr")
    is_undisturbed(terminal, "step", "to stderr")
    check(b"step 20 of" not in terminal.bytes or "output: step" in terminal.bytes.decode(), "lines across the screen")
    terminal.keys("\n")
    equal(terminal.finish(), 1, "exit status")
    is_restored(terminal)
    after = behind_screen(terminal)
    lines = [f"step {n} of 40" for n in range(40)] + ["to stderr", "Traceback (most recent call last):"]
    check("\n".join(lines) in after, "the command's lines:", after)
    last = "RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB\n"
    check(last in after and after.index(last) < after.index(NO_CUDA), "the traceback before the report:", after)
    check("left out" not in after, after)
    check(any(text == last.strip() for text in terminal.text()), *terminal.text())


TERMINAL = """
import os, sys, time
def size():
    return tuple(os.get_terminal_size(1)), tuple(os.get_terminal_size(2))
def tell(what):
    print(what, [os.isatty(fd) for fd in range(3)], *size(), os.tcgetpgrp(0) == os.getpgrp())
time.sleep(2)
tell("first")
input()
tell("second")
input()
"""


@case
def sees():
    """sees: the command's output is a terminal of the same size, also after a change; its input is the real terminal"""
    terminal = under_screen(TERMINAL, size=(120, 30))
    terminal.wait_text("output: first [True, True, True] (120, 30) (120, 30) True")
    terminal.resize(100, 40)
    terminal.wait(lambda: len(terminal.text()) == 40 and "output:" in terminal.text()[-1], "the new size")
    terminal.keys("\n")
    terminal.wait_text("output: second [True, True, True] (100, 40) (100, 40) True")
    terminal.keys("\n")
    equal(terminal.finish(), 0, "exit status")


FLOODS = """
import sys, time
time.sleep(2)
begin = time.monotonic()
for n in range(100000):
    print("%099d" % n)
print("seconds", time.monotonic() - begin, file=sys.stderr)
"""
FLOOD = 100000 * 100


@case
def floods():
    """floods: 10 MB are not held up; the last lines are kept, and the bytes left out are counted"""
    terminal = under_screen(FLOODS.replace("import sys", "import sys, os; sys.stdout = os.fdopen(1, 'w', 65536)\nimport sys"))
    equal(terminal.finish(), 0, "exit status")
    after = behind_screen(terminal)
    seconds = float(re.search(r"seconds ([\d.]+)", after).group(1))
    print(f"# 10 MB in {seconds:.2f} s")
    check(seconds < 5, f"{seconds} s for 10 MB")
    left = int(re.search(r"\(([\d,]+) bytes before this are left out\)\n", after).group(1).replace(",", ""))
    rows = re.findall(r"^\d{99}$", after, re.M)
    equal([int(row) for row in rows], list(range(100000 - len(rows), 100000)), "the rows")
    equal(left + 100 * len(rows), FLOOD, "bytes in all")
    check(len(rows) > 500, len(rows))


# Its turns go on until the folder, the last argument, holds a file "end"; its output ends with their number.
# print() writes a line by several calls, and the shell's line can come between them.
TURNS = """
import os, signal, sys, time
signal.signal(2, signal.SIG_IGN)
n = 0
while not os.path.exists(os.path.join(sys.argv[1], 'end')):
    time.sleep(0.1)
    os.write(1, b'turn %d\\n' % n)
    n += 1
os.write(1, b'done %d\\n' % n)
"""


def end_turns(folder):
    with open(os.path.join(folder, "end"), "w", encoding="ascii"):
        pass


@case
def outlives():
    """outlives: what the command writes after the end of tracing appears on the terminal"""
    folder = lib.folder()
    terminal = under_screen(TURNS + "raise SystemExit(3)", "-d", "4.5", arguments=(folder,), size=(80, 100))
    terminal.wait_text("output: turn")
    terminal.wait_text(NO_CUDA)
    end_turns(folder)
    equal(terminal.finish(), 3, "exit status")
    goes_on(terminal, NO_CUDA)
    after = behind_screen(terminal)
    check(after.index("turn 0\n") < after.index(NO_CUDA), "what was held comes before the report:", after)
    terminal = under_screen(TURNS, arguments=(folder := lib.folder(),), prefix=SHELL, size=(80, 100))
    terminal.wait_text("output: turn")
    terminal.keys("\x03")
    time.sleep(1)
    terminal.keys("\x03")
    ends_in_shell(terminal, folder, "ended with 130")


def ends_in_shell(terminal, folder, end):
    """The command goes on behind the end of gpumemtrace, which the shell tells."""
    terminal.wait(lambda: end.encode() in terminal.bytes, "the end of gpumemtrace")
    end_turns(folder)
    terminal.wait(lambda: re.search(rb"done \d+\r\n", terminal.bytes), "the command's end")
    terminal.keys("\n")
    terminal.finish()
    goes_on(terminal, end)


def goes_on(terminal, end):
    """All turns came to the terminal, and turns behind the end of tracing, too."""
    after = behind_screen(terminal)
    turns = [int(turn) for turn in re.findall(r"turn (\d+)\n", after)]
    equal(turns, list(range(int(re.search(r"done (\d+)\n", after).group(1)))), "turns")
    check(-1 < after.find(end) < after.find("done "), after)
    check("left out" not in after, after)
    is_restored(terminal)


@case
def killed():
    """killed: SIGKILL for gpumemtrace does not hurt the command, gives the terminal back, and loses no output"""
    terminal = under_screen(TURNS, arguments=(folder := lib.folder(),), prefix=SHELL, size=(80, 100))
    terminal.wait_text("output: turn")
    with open(f"/proc/{terminal.pid}/task/{terminal.pid}/children", encoding="ascii") as file:
        os.kill(int(file.read()), signal.SIGKILL)
    ends_in_shell(terminal, folder, "ended with 137")


@case
def pauses():
    """pauses: Ctrl-Z shows what the command has written; fg takes the terminal again"""
    script = 'set -m; "$@"; echo stopped here; read line; fg >/dev/null; echo "ended with $?"'
    terminal = under_screen("import time\ntime.sleep(2); print('before'); time.sleep(1); input(); print('after')", size=(100, 60),
                            prefix=("bash", "-c", script, "bash"))
    terminal.wait_text("output: before")
    terminal.keys("\x1a")
    terminal.wait_text("stopped here")
    check(not terminal.is_alternate(), "the screen is still there")
    shown = terminal.text()
    check(shown.index("before") < shown.index("stopped here"), *shown)
    terminal.keys("\n")
    terminal.wait(terminal.is_alternate, "the screen")
    terminal.keys("\n")
    terminal.wait_text("ended with 0")
    terminal.finish()
    check("after\n" in behind_screen(terminal) and "before" not in behind_screen(terminal), behind_screen(terminal))


@case
def split():
    """split: standard output in a file stays there; standard error is held"""
    path = os.path.join(lib.folder(), "out")
    terminal = under_screen("import sys, time\ntime.sleep(2); print('to the file'); print('to the terminal', file=sys.stderr); time.sleep(1)",
                            prefix=("sh", "-c", f'exec "$@" >{path}', "sh"))
    equal(terminal.finish(), 0, "exit status")
    with open(path, encoding="utf-8") as file:
        equal(file.read(), "to the file\n", "the file")
    check("to the terminal\n" in behind_screen(terminal) and b"to the file" not in terminal.bytes, terminal.bytes)


@case
def late_reader():
    """deaf-command: a terminal that takes no bytes does not hold up the command, and gets its text behind the screen"""
    path = os.path.join(lib.folder(), "result")
    terminal = under_screen("import time\nfor n in range(4000): time.sleep(0.001); print('turn', n)\n"
                            f"open({path!r}, 'w').close(); print('done')", "-i", "0.1", size=(200, 60))
    fill(terminal)
    check(until(lambda: os.path.exists(path), 60), "the command waits for the terminal")
    time.sleep(2)
    equal(terminal.finish(), 0, "exit status")
    after = behind_screen(terminal)
    check("turn 3999\ndone\n" in after and after.index("done\n") < after.index(NO_CUDA), after)
    check(not terminal.is_alternate() and not terminal.is_hidden, "the screen is still there")


@case
def carrier():
    """carrier: the process that carries the output has no privileges, and ends after the command"""
    terminal = under_screen("input()")
    with open(f"/proc/{terminal.pid}/task/{terminal.pid}/children", encoding="ascii") as file:
        children = {facts(pid)["Name"]: pid for pid in file.read().split()}
    status = facts(children["gmt-output"])
    for key, value in (("CapEff", "0000000000000000"), ("CapPrm", "0000000000000000"), ("NoNewPrivs", "1"), ("Seccomp", "2"),
                       ("Uid", "65534 65534 65534 65534")):
        equal(status[key], value, key)
    terminal.keys("\n")
    equal(terminal.finish(), 0, "exit status")
    check(until(lambda: not os.path.exists(f"/proc/{children['gmt-output']}") or
                facts(children["gmt-output"])["State"].startswith("Z"), 60), "gmt-output is still there")


def facts(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        return {line.split(":")[0]: " ".join(line.split(":")[1].split()) for line in file}


if __name__ == "__main__":
    run_cases(dies, sees, floods, outlives, killed, pauses, split, late_reader, carrier)
