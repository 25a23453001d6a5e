#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The screen of the live view on a terminal: the answer, each key, other sizes, messages, and the terminal as it was."""
import fcntl
import glob
import os
import re
import signal
import sys
import termios
import time

import lib
import torchlib
from lib import Target, check, equal
from test_ending import Stopped

sys.path.insert(1, os.path.join(lib.TOP, "tests"))
sys.path.insert(1, os.path.join(lib.TOP, "tests/faults"))
import faultlib  # noqa: E402
import pypilib  # noqa: E402
import terminallib  # noqa: E402
from patience import LOOK, until  # noqa: E402
from terminallib import Terminal  # noqa: E402

LEAKS = os.path.join(lib.TOP, "tests/bpf/torch_leaks.py")
UTF8 = {"TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}
STATIC = os.path.join(lib.BUILD, "gpumemtrace-static")
COLORS = re.compile(rb"\x1b\[[0-9;]*3[0-7][;m]")
terminals = []


def screen(*arguments, size=(80, 24), env=None, dumps="off", binary=None, prefix=(), **options):
    """gpumemtrace on a terminal of its own."""
    argv = [*prefix, binary or lib.TOOL, "--driver-root", lib.ROOT, "--oom-dir", dumps, "-i", "0.2", *arguments]
    env = {key: value for key, value in
           lib.environment(GPUMEMTRACE_STANDIN_ROOT=lib.ROOT, **{**UTF8, **(env or {})}).items() if value is not None}
    terminal = Terminal(argv, *size, env=env, **options)
    terminals.append(terminal)
    return terminal


def case(test):
    """Closes the terminals of a case; an AssertionError shows the screen."""
    def run():
        try:
            test()
        except AssertionError as error:
            raise lib.Failure(str(error)) from None
        finally:
            while terminals:
                terminals.pop().close()
    run.__doc__ = test.__doc__
    return run


def said(target, word):
    target.wait_line(lambda: word in [line.strip() for line in target.err], word)


def held():
    """A workload that holds memory until the end."""
    target = Target("longrun", "forever")
    target.wait("ready")
    return target


def line_of(mark):
    with open(LEAKS, encoding="ascii") as file:
        return next(n for n, line in enumerate(file, 1) if line.rstrip().endswith("# " + mark))


def leaking(kind):
    torch = torchlib.debian()
    env = {"LD_PRELOAD": torchlib.BLOCKS, "PYTHONWARNINGS": "ignore", **torch.env}
    target = Target(torch.python, LEAKS, kind, env=env)
    said(target, "ready")
    return target


def is_restored(terminal):
    check(not terminal.is_alternate(), "the alternate screen is still there")
    check(not terminal.is_hidden, "the cursor is hidden")
    equal(terminal.modes(), terminal.before, "the terminal's modes")
    equal(terminal.text()[0], "$ command", "the lines from before")
    equal(terminal.unread(), b"", "keys that the shell would read")


def quits(terminal):
    terminal.keys("q and more\r")        # the shell must not get the rest
    equal(terminal.finish(), 0, "exit status")


def answers(size):
    target = leaking("losses")
    terminal = screen("-p", str(target.pid), "--block-stacks", size=size)
    terminal.wait_text("1:processes")
    terminal.wait_text(str(target.pid))
    target.line()
    said(target, "done")
    terminal.wait_text("LEAK")
    line = f"torch_leaks.py:{line_of('the line')} Net.forward"
    terminal.wait(lambda: len([text for text in terminal.text()[:24] if line in text]) >= 2, "the line, twice")
    table = next(n for n, text in enumerate(terminal.text()) if "WHAT FOR" in text)
    check(line in terminal.text()[table + 1], "the line is not the first row", *terminal.text())
    check(any(text.startswith("PyTorch cuda:0 = GPU 1  reserved") for text in terminal.text()), *terminal.text())
    check(any("kept over iterations" in text for text in terminal.text()[table + 1:]), "what for", *terminal.text())
    check(len(terminal.text()) == size[1])
    quits(terminal)
    is_restored(terminal)


@case
def small():
    """80x24: the leak and its line are among the first 24 lines; PyTorch's memory, too"""
    answers((80, 24))


@case
def large():
    """200x50: the same, and more"""
    answers((200, 50))


@case
def late():
    """attached late: PyTorch's reserved and allocated memory, and the memory from before, are shown"""
    target = leaking("outputs")
    target.line()
    terminal = screen("-p", str(target.pid), size=(100, 24))
    line = r"PyTorch (cuda:0 = GPU 1 )?reserved .* tensors [1-9].* before the attach [1-9]"
    terminal.wait(lambda: re.search(line, " ".join(" ".join(terminal.text()).split())), "PyTorch's line")
    terminal.keys("1")
    terminal.wait_text("TENSORS")
    row = next(text for text in terminal.text() if text.strip().startswith(str(target.pid)))
    check(row.count("MiB") >= 4, row)
    quits(terminal)


@case
def clock():
    """the clock goes on without records and without NVML"""
    target = held()
    terminal = screen("-p", str(target.pid), "--nvml", "off", size=(120, 24))
    terminal.wait(lambda: "UTC" in terminal.text()[0], "the clock")
    shown = set()

    def goes_on():
        shown.update(re.findall(r"\d\d:\d\d:\d\d", terminal.text()[0]))
        return len(shown) >= 3
    terminal.wait(goes_on, "three different seconds")
    quits(terminal)


@case
def keys():
    """each key does what the help says"""
    target = held()
    other = held()
    dumps = lib.folder()
    terminal = screen("-p", f"{target.pid},{other.pid}", size=(120, 40), dumps=dumps)
    terminal.wait_text("1:processes")
    for key, title in zip("1234567", ("COMMAND", "PROCS", "LINE", "STACK", "OWNER", "WHAT FOR (a guess)", "MODULE")):
        terminal.keys(key)
        terminal.wait_text(title)
    terminal.keys("\t")
    terminal.wait_text("COMMAND")
    for order in "growth", "peak", "allocated", "now":
        terminal.keys("s")
        terminal.wait_text(f"s:sort({order})")
    terminal.keys("/zzz\r")
    terminal.wait_text("no row has the text")
    terminal.keys("\x1b")
    terminal.wait_gone("no row has the text")
    terminal.wait_text("longrun forever")
    terminal.keys("\r")
    terminal.wait_text("    GPU ")
    terminal.keys("\r")
    terminal.wait_gone("    GPU ")
    terminal.keys("\x1b[B")             # the second process is opened
    terminal.keys("\x1bOA\x1bOBjk\x1b[B\r")
    terminal.wait_text("    GPU ")
    terminal.keys("p")
    terminal.wait_text(f"pid {target.pid} ")
    terminal.keys("p")
    terminal.wait_text(f"pid {other.pid} ")
    terminal.keys("p")
    terminal.wait_text("all GPUs, ")
    terminal.keys("g")
    terminal.wait_text("GPU 0 ")
    terminal.keys("gg")
    terminal.wait_text("all GPUs, ")
    terminal.keys(" ")
    terminal.wait_text("PAUSED")
    terminal.keys(" ")
    terminal.wait_gone("PAUSED")
    terminal.keys("m")
    terminal.wait_text("mark 1: peaks and growth restart here")
    terminal.wait(lambda: "  mark " in terminal.text()[0], "the mark in the first line")
    terminal.keys("d")
    terminal.wait_text("gpumemtrace-dump-")
    check(until(lambda: glob.glob(dumps + "/gpumemtrace-dump-*")), "no dump")
    terminal.keys("o")
    terminal.wait_text("no request for memory has failed")
    terminal.keys("q")
    terminal.wait_text("1:processes")
    terminal.keys("f")
    terminal.wait_text("What stands out")
    terminal.keys("q")
    terminal.wait_text("1:processes")
    terminal.keys("?")
    terminal.wait_text("PgUp")
    terminal.keys("\x1b")
    terminal.wait_gone("PgUp")
    quits(terminal)
    is_restored(terminal)
    for each in target, other:
        equal(each.popen.poll(), None, "a target has ended")


@case
def pasted():
    """pasted text: a dump a second at most, and no key is lost"""
    target = held()
    dumps = lib.folder()
    terminal = screen("-p", str(target.pid), size=(120, 40), dumps=dumps)
    terminal.wait_text("1:processes")
    begin = time.monotonic()
    terminal.keys("d" * 400 + "\x1b[Zm/zzz\r")
    terminal.wait_text("the key d writes one dump a second at most")
    terminal.wait_text("no row has the text")
    check(until(lambda: glob.glob(dumps + "/gpumemtrace-dump-*")), "no dump")
    terminal.keys("\x1bq")
    equal(terminal.finish(), 0, "exit status")
    found, seconds = len(glob.glob(dumps + "/gpumemtrace-dump-*")), time.monotonic() - begin
    check(found <= seconds + 1, f"{found} dumps in {seconds:.1f} s")


@case
def sizes():
    """another size: all of it is used; a tiny one does no harm"""
    target = held()
    terminal = screen("-p", str(target.pid))
    terminal.wait_text("s:sort(now)")
    for columns, lines in (132, 50), (40, 10), (1, 1), (200, 60), (80, 24):
        terminal.resize(columns, lines)
        if lines > 1:
            terminal.wait(lambda n=lines: len(terminal.text()) == n and terminal.text()[n - 1].startswith("s:sort(now)") and
                          "1:processes" in "".join(terminal.text()), f"{columns} x {lines}")
    check(any("COMMAND" in text or "LINE" in text for text in terminal.text()), *terminal.text())
    quits(terminal)
    equal(terminal.modes(), terminal.before, "the terminal's modes")


@case
def out_of_memory():
    """out of memory: the message names the dump on the screen and after the screen; o says why"""
    dumps = lib.folder()
    target = Target("oom_cases", "caught", hold="loaded")
    target.wait("loaded")
    other = held()              # the session goes on when the first one has ended
    terminal = screen("-p", f"{target.pid},{other.pid}", size=(200, 40), dumps=dumps)
    terminal.wait_text("1:processes")
    target.go()
    terminal.wait_text("ran out of memory; it asked for")
    terminal.wait_text("gpumemtrace oom gpumemtrace-oom-")
    terminal.wait_text(f"says why; the file is in {dumps}")
    terminal.keys("o")
    terminal.wait_text("The newest request for memory that failed")
    terminal.wait(lambda: any(f"process {target.pid}" in text for text in terminal.text()[1:]), "the verdict")
    terminal.keys("\r")
    terminal.wait_text("OOM ")
    quits(terminal)
    check(not terminal.is_alternate(), "the alternate screen")
    after = terminal.bytes[terminal.bytes.rindex(b"\x1b[?1049l"):].decode()
    check("ran out of memory" in after and "gpumemtrace-oom-" in after, "after the screen:", after)
    equal(after.count("ran out of memory"), 1, "how often the message is printed")


@case
def redirected():
    """standard error in a file gets each message at once"""
    target = held()
    path = os.path.join(lib.folder(), "messages")
    with open(path, "wb") as file:
        terminal = screen("-p", str(target.pid), stderr=file.fileno(), size=(120, 24))
    terminal.wait_text("1:processes")
    terminal.keys("m")
    terminal.wait_text("mark 1: peaks")
    with open(path, encoding="utf-8") as file:
        equal(file.read().count("mark 1: peaks"), 1, "the message in the file")
    quits(terminal)
    check(b"gpumemtrace: mark 1" not in terminal.bytes, "the message is on the terminal, too")


@case
def verbose():
    """verbose: libbpf's messages (-v) are messages of gpumemtrace, which a screen keeps"""
    if not os.path.exists(faultlib.SHIM):
        raise lib.Skip("fail_calls.so has not been built")
    target = held()
    arguments = ("-p", str(target.pid), "--driver-root", lib.ROOT, "-d", "0.1")
    calls = faultlib.Fault("bpf").run(arguments, env=lib.environment()).stacks
    attach = next(call for call in calls.values() if call.is_below("attach_ioctls") and not call.is_below("kernel_supports"))
    path = os.path.join(lib.folder(), "messages")
    with open(path, "wb") as file, faultlib.Table() as table:
        terminal = screen("-p", str(target.pid), "-v", stderr=file.fileno(),
                          env=faultlib.Fault("bpf", attach).environment(table))
        terminal.wait_text("1:processes")
        quits(terminal)
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    check(any(line.startswith("gpumemtrace: libbpf: ") for line in lines), "no message of libbpf:", lines)
    check(all(line.startswith("gpumemtrace: ") for line in lines), "messages past the screen:", lines)


@case
def ends():
    """Ctrl-C, SIGTERM, SIGQUIT and the end of the target leave the terminal as it was; Ctrl-\\ is no signal"""
    for end in (lambda terminal, target: terminal.keys("\x03"),
                lambda terminal, target: os.kill(terminal.pid, signal.SIGTERM),
                lambda terminal, target: os.kill(terminal.pid, signal.SIGQUIT),
                lambda terminal, target: terminal.keys("\x1cq"),
                lambda terminal, target: target.send(signal.SIGKILL)):
        target = held()
        terminal = screen("-p", str(target.pid))
        terminal.wait_text("1:processes")
        terminal.keys("jjj")
        end(terminal, target)
        equal(terminal.finish(), 0, "exit status")
        is_restored(terminal)
        check(any("longrun" in text for text in terminal.text()), "no report", *terminal.text())
        target.send(signal.SIGKILL)


@case
def hangs():
    """a session that hangs gives the terminal back when a second signal ends it"""
    target = held()
    terminal = screen("-p", str(target.pid))
    terminal.wait_text("1:processes")
    Stopped(terminal.pid)
    os.kill(terminal.pid, signal.SIGINT)
    os.kill(terminal.pid, signal.SIGTERM)
    equal(terminal.finish(), 128 + signal.SIGTERM, "exit status")
    is_restored(terminal)


@case
def stops():
    """Ctrl-Z gives the terminal back; fg takes it again"""
    target = held()
    script = 'set -m; "$@"; echo stopped here; read line; fg >/dev/null; echo "ended with $?"'
    terminal = screen("-p", str(target.pid), prefix=("bash", "-c", script, "bash"), size=(100, 30))
    terminal.wait_text("1:processes")
    terminal.keys("\x1a")
    terminal.wait_text("stopped here")
    check(not terminal.is_alternate() and not terminal.is_hidden, "the screen is still there")
    check(terminal.modes()[3] & termios.ECHO and terminal.modes()[3] & termios.ICANON, "modes")
    terminal.keys("\n")
    terminal.wait_text("1:processes")
    check(terminal.is_alternate())
    terminal.keys("2")
    terminal.wait_text("PROCS")
    terminal.keys("q")
    terminal.wait_text("ended with 0")
    terminal.finish()


@case
def background():
    """SIGSTOP: once continued, the screen leaves a terminal that is the shell's; fg takes it again"""
    target = held()
    script = 'set -m; "$@"; echo stopped here; read line; fg >/dev/null; echo "ended with $?"'
    terminal = screen("-p", str(target.pid), prefix=("bash", "-c", script, "bash"), size=(100, 30))
    terminal.wait_text("1:processes")
    with open(f"/proc/{terminal.pid}/task/{terminal.pid}/children", encoding="ascii") as file:
        pid = int(file.read())
    os.kill(pid, signal.SIGSTOP)
    terminal.wait_text("stopped here")
    os.kill(pid, signal.SIGCONT)
    terminal.wait(lambda: not terminal.is_alternate(), "the terminal of before")
    check(not terminal.is_hidden, "the cursor is hidden")
    terminal.keys("\n")
    terminal.wait(terminal.is_alternate, "the screen")
    terminal.keys("2")
    terminal.wait_text("PROCS")
    terminal.keys("q")
    terminal.wait_text("ended with 0")
    terminal.finish()


def fill(terminal):
    """Until the terminal takes no more bytes; nobody reads."""
    unread, turn = [-1] * 20, 0
    while len(set(unread)) > 1 or unread[0] < 1:
        turn += 1
        terminal.resize(200 - turn % 2, 60, False)
        time.sleep(LOOK)
        size = fcntl.ioctl(terminal.master, termios.FIONREAD, b"\0" * 4)
        unread = unread[1:] + [int.from_bytes(size, sys.byteorder)]


@case
def deaf():
    """a terminal that takes no bytes does not hold up tracing"""
    target = held()
    dumps = lib.folder()
    terminal = screen("-p", str(target.pid), "-i", "0.1", size=(200, 60), dumps=dumps)
    terminal.wait_text("1:processes")
    fill(terminal)
    os.kill(terminal.pid, signal.SIGUSR1)
    check(until(lambda: glob.glob(dumps + "/gpumemtrace-dump-*")), "the session hangs")
    terminal.wait_text("gpumemtrace-dump-")
    os.kill(terminal.pid, signal.SIGINT)
    equal(terminal.finish(), 0, "exit status")


@case
def foreign():
    """foreign: a stopped terminal of another user does not hold up tracing; a second signal ends the program"""
    target = held()
    dumps = lib.folder()
    terminal = screen("-p", str(target.pid), "-i", "0.1", size=(200, 60), owner=1000, dumps=dumps)
    terminal.wait_text("1:processes")
    fill(terminal)
    os.kill(terminal.pid, signal.SIGUSR1)
    check(until(lambda: glob.glob(dumps + "/gpumemtrace-dump-*")), "the session hangs")
    os.kill(terminal.pid, signal.SIGINT)
    os.kill(terminal.pid, signal.SIGTERM)
    check(until(terminal.has_ended), "the program does not end")
    equal(terminal.status, 128 + signal.SIGTERM, "exit status")


def no_terminfo(binary=None):
    hide = "for d in /etc /lib /usr/share; do mount -t tmpfs none $d/terminfo 2>/dev/null; done; exec \"$@\""
    target = held()
    for term in "xterm-256color", "tmux-256color", "linux":
        terminal = screen("-p", str(target.pid), env={"TERM": term, "TERMINFO": "/nonexistent", "HOME": "/nonexistent"},
                          prefix=("unshare", "-m", "sh", "-c", hide, "sh"), binary=binary)
        terminal.wait_text("1:processes")
        terminal.keys("\x1b[B2")
        terminal.wait_text("TRACED")
        quits(terminal)
        is_restored(terminal)


@case
def bare():
    """a machine without terminfo: the screen works with the description in the binary"""
    no_terminfo()


@case
def bare_static():
    """... also in the static binary"""
    if not os.path.exists(STATIC):
        raise lib.Skip("make static")
    no_terminfo(STATIC)


@case
def lines():
    """TERM unset, dumb or unknown: lines, and one sentence; -i 0.2 of a pipe: lines, no sentence"""
    target = held()
    for term in None, "dumb", "no-such-terminal":
        terminal = screen("-p", str(target.pid), env={"TERM": term}, size=(200, 50))
        terminal.wait_text(f"pid={target.pid} gpu=")
        check(any("the live view prints lines" in text for text in terminal.text()), *terminal.text())
        check(b"\x1b" not in terminal.bytes.replace(b"\x1b[33m", b"").replace(b"\x1b[0m", b"").replace(b"\x1b[1;31m", b""),
              "codes", terminal.bytes[-500:])
        os.kill(terminal.pid, signal.SIGINT)
        equal(terminal.finish(), 0, "exit status")
    done = lib.run([lib.TOOL, "--driver-root", lib.ROOT, "--oom-dir", "off", "-d", "1", "-p", str(target.pid)],
                   env=lib.environment(GPUMEMTRACE_STANDIN_ROOT=lib.ROOT))
    check(f"pid={target.pid} gpu=" in done.stdout and "live view" not in done.stderr, done.stderr)


@case
def looks():
    """without UTF-8 the bars are ASCII; NO_COLOR and --color=never have no colours; others have"""
    target = held()
    for env, options, is_ascii, has_color in (({}, (), False, True), ({"LC_ALL": "C"}, (), True, True),
                                              ({"NO_COLOR": "1"}, (), False, False), ({}, ("--color=never",), False, False),
                                              ({"TERM": "vt100"}, (), False, False)):
        terminal = screen("-p", str(target.pid), *options, env=env)
        terminal.wait_text("1:processes")
        terminal.wait(lambda: any(text.startswith("GPU ") for text in terminal.text()), "a GPU")
        drawn = [text for text in terminal.text() if text.startswith("GPU ")]
        equal(all(text.isascii() for text in drawn), is_ascii, f"ASCII alone, {env}: {drawn}")
        terminal.wait(lambda: any("#" in text or "█" in text for text in terminal.text()), "a bar")
        quits(terminal)
        screen_bytes = terminal.bytes[:terminal.bytes.rindex(b"%")]
        equal(bool(COLORS.search(screen_bytes)), has_color, f"colours, {env} {options}")


@case
def command():
    """-- CMD: no screen unless --live; then the command gets what is typed, in the modes of before"""
    script = "sleep 1; echo the command; sleep 2; exit 7"
    terminal = screen("--", "/bin/sh", "-c", script)
    equal(terminal.finish(), 7, "exit status")
    check(b"\x1b[?1049h" not in terminal.bytes, "a screen beside the command")
    terminal = screen("--live", "--", "/bin/sh", "-c", "echo the question; read answer; test \"$answer\" = qd && exit 7")
    terminal.wait(terminal.is_alternate, "the screen")
    terminal.wait(lambda: b"the question" in terminal.bytes, "the question")
    equal(terminal.modes(), terminal.before, "modes on the screen")
    terminal.keys("qd\n")
    equal(terminal.finish(), 7, "exit status")
    is_restored(terminal)


@case
def top():
    """gpumemtrace top shows every process; with a target this process"""
    target = held()
    terminal = Terminal([lib.TOOL, "top", "--driver-root", lib.ROOT, "--oom-dir", "off"], 120, 40,
                        env=lib.environment(GPUMEMTRACE_STANDIN_ROOT=lib.ROOT, **UTF8))
    terminals.append(terminal)
    terminal.wait_text("1:processes")
    terminal.keys("1")
    terminal.wait_text(str(target.pid))
    quits(terminal)
    equal(target.popen.poll(), None, "the target has ended")
    held()
    terminal = Terminal([lib.TOOL, "top", "-p", str(target.pid), "--driver-root", lib.ROOT, "--oom-dir", "off"], 120, 40,
                        env=lib.environment(GPUMEMTRACE_STANDIN_ROOT=lib.ROOT, **UTF8))
    terminals.append(terminal)
    terminal.wait(lambda: f"pid {target.pid}" in terminal.text()[0], "the process alone")
    quits(terminal)


def run_cases(*cases):
    """All cases, or those whose sentence begins with a word of the command line."""
    lib.ready()
    try:
        terminallib.emulator()
    except pypilib.Unavailable as why:
        print(f"1..0 # SKIP {why}")
    else:
        lib.main(*[run for run in cases if not sys.argv[1:] or run.__doc__.split()[0].strip(":") in sys.argv[1:]])


if __name__ == "__main__":
    run_cases(small, large, late, clock, keys, pasted, sizes, out_of_memory, redirected, verbose, ends, hangs, stops, background,
              deaf, foreign, bare, bare_static, lines, looks, command, top)
