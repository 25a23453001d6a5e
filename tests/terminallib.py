# SPDX-License-Identifier: BSD-2-Clause
"""A program on a terminal: a pseudo terminal with a session of its own, and a terminal emulator (PyPI's pyte) that draws
what the program writes."""
import errno
import fcntl
import os
import re
import select
import signal
import struct
import sys
import termios
import time
import zipfile

import pypilib
from patience import LOOK, PATIENCE

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PACKAGES = ("pyte==0.8.2", "wcwidth==0.2.13")
# What may be a part of a character or a code at the end of a piece.
CUT = re.compile(rb"(\x1b(\[[0-9;?]*)?|[\xc0-\xff][\x80-\xbf]*)?\Z")


def emulator():
    """The module; pypilib.Unavailable where PyPI cannot be reached."""
    folder = os.path.join(TOP, "build/pypi-pyte")
    if not os.path.isdir(os.path.join(folder, "pyte")):
        new = f"{folder}.{os.getpid()}"
        os.makedirs(new, exist_ok=True)
        for wheel in pypilib.download(new, PACKAGES):
            with zipfile.ZipFile(wheel) as packed:
                packed.extractall(new)
        try:
            os.rename(new, folder)
        except OSError:         # another test was faster
            pass
    if folder not in sys.path:
        sys.path.insert(1, folder)
    import pyte                 # pylint: disable=import-outside-toplevel
    pyte.graphics.TEXT[2] = "+italics"  # pyte knows no faint text, and gpumemtrace writes none in italics
    return pyte


def make_screen(columns, lines):
    """(screen, its stream), with the codes of xterm that pyte lacks: ECMA-48's SU, SD and REP."""
    pyte = emulator()

    class Screen(pyte.Screen):
        last = " "

        def draw(self, data):
            self.last = data[-1:] or self.last
            super().draw(data)

        def repeat(self, count=1):
            super().draw(self.last * (count or 1))

        def _at_margin(self, act, count, is_top):
            place = self.cursor.y, self.cursor.x
            margins = self.margins or (0, self.lines - 1)
            self.cursor.y = margins[0] if is_top else margins[1]
            for _ in range(count or 1):
                act()
            self.cursor.y, self.cursor.x = place

        def scroll_up(self, count=1):
            self._at_margin(self.index, count, False)

        def scroll_down(self, count=1):
            self._at_margin(self.reverse_index, count, True)

    class Stream(pyte.ByteStream):
        csi = {**pyte.ByteStream.csi, "S": "scroll_up", "T": "scroll_down", "b": "repeat"}
        events = pyte.ByteStream.events | {"scroll_up", "scroll_down", "repeat"}

    screen = Screen(columns, lines)
    return screen, Stream(screen)


class Terminal:
    """A terminal, and the program that has it. What was on the screen before the alternate screen comes back behind it."""

    def __init__(self, argv, columns=80, lines=24, env=None, stderr=None, owner=None, shell_text=b"$ command\r\n"):
        self.columns, self.lines = columns, lines
        self.main, self.stream = self.main_pair = make_screen(columns, lines)
        self.screen = self.main
        self.bytes = b""
        self.rest = b""
        self.is_hidden = False
        self.master, slave = os.openpty()
        self.slave = slave
        self.resize(columns, lines, False)
        if owner is not None:   # as after su or sudo: the terminal is the first user's
            os.fchown(slave, owner, -1)
            os.fchmod(slave, 0o620)
        self.before = termios.tcgetattr(slave)
        self.feed(shell_text)
        self.pid = os.fork()
        if not self.pid:
            self._child(argv, slave, env, stderr)
        self.status = None

    @staticmethod
    def _child(argv, slave, env, stderr):
        try:
            os.setsid()
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
            os.dup2(slave, 0)
            os.dup2(slave, 1)
            os.dup2(slave if stderr is None else stderr, 2)
            os.closerange(3, 100)
            os.execvpe(argv[0], argv, env if env is not None else os.environ)
        finally:
            os._exit(127)

    def resize(self, columns, lines, is_told=True):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        if is_told:             # the kernel tells the program (SIGWINCH)
            self.columns, self.lines = columns, lines
            self.screen.resize(lines, columns)
            if self.screen is not self.main:
                self.main.resize(lines, columns)

    def _switch(self, is_alternate):
        self.screen, self.stream = make_screen(self.columns, self.lines) if is_alternate else self.main_pair

    def feed(self, data):
        """pyte has no alternate screen: two screens stand for it."""
        self.bytes += data
        data = self.rest + data
        whole = len(data) - len(re.search(CUT, data).group())
        self.rest, data = data[whole:], data[:whole]
        while data:
            enter, leave = data.find(b"\x1b[?1049h"), data.find(b"\x1b[?1049l")
            first = min((at for at in (enter, leave) if at >= 0), default=-1)
            if first < 0:
                self._draw(data)
                break
            self._draw(data[:first])
            self._switch(first == enter)
            data = data[first + 8:]

    def _draw(self, data):
        for code, hidden in ((b"\x1b[?25l", True), (b"\x1b[?25h", False)):
            if data.rfind(code) >= 0 and data.rfind(code) > data.rfind(b"\x1b[?25h" if hidden else b"\x1b[?25l"):
                self.is_hidden = hidden
        # pyte takes these for printed text
        for code in (b"\x1b[22;0;0t", b"\x1b[23;0;0t"):
            data = data.replace(code, b"")
        self.stream.feed(data)

    def is_alternate(self):
        return self.screen is not self.main

    def text(self):
        return [line.rstrip() for line in self.screen.display]

    def read(self, seconds=0.05):
        """Takes what the program has written; False: it has closed the terminal."""
        if not select.select([self.master], [], [], seconds)[0]:
            return True
        try:
            data = os.read(self.master, 65536)
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            return False
        self.feed(data)
        return bool(data)

    def wait(self, found, what, seconds=PATIENCE):
        """Until found() is true."""
        end = time.monotonic() + seconds
        while not found():
            self.read(LOOK)
            if time.monotonic() > end or (self.has_ended() and not found()):
                raise AssertionError(f"{what}: not on the screen:\n" + "\n".join(self.text()))

    def wait_text(self, text, seconds=PATIENCE):
        self.wait(lambda: any(text in line for line in self.text()), repr(text), seconds)

    def wait_gone(self, text):
        self.wait(lambda: not any(text in line for line in self.text()), "without " + repr(text))

    def keys(self, text):
        os.write(self.master, text if isinstance(text, bytes) else text.encode())

    def has_ended(self):
        if self.status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = os.waitstatus_to_exitcode(status)
                while select.select([self.master], [], [], 0.05)[0] and self.read():
                    pass
        return self.status is not None

    def finish(self, seconds=PATIENCE):
        """Waits for the end; the exit status."""
        self.wait(self.has_ended, "the end of the program", seconds)
        return self.status

    def unread(self):
        """What the shell behind the program would read."""
        mode = termios.tcgetattr(self.slave)
        mode[3] &= ~(termios.ICANON | termios.ECHO)
        termios.tcsetattr(self.slave, termios.TCSANOW, mode)
        found = b""
        while select.select([self.slave], [], [], 0.1)[0]:
            found += os.read(self.slave, 4096)
        return found

    def modes(self):
        return termios.tcgetattr(self.slave)

    def close(self):
        if not self.has_ended():
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.master)
        os.close(self.slave)
