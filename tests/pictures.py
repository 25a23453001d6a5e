#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""`make pictures`: what people see of gpumemtrace, as SVG files in demos/pictures. The real binary runs on a terminal
emulator and traces the demo and a training with a leak on the stand-in driver, with real probes: as root, without a GPU.
The page for a browser is that of a recording of a real GPU, in Chromium, as PNG files.

Ids of processes, times, the names of the machine and of its kernel are replaced: they would change with each run. All
other numbers are those of the run.

    tests/pictures.py [FOLDER] [SCENE...]      scenes: leak, demo, oom, page
"""
import ctypes
import datetime
import glob
import os
import re
import select
import shutil
import socket
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(TOP, "tests/bpf"))
import browserlib  # noqa: E402
import lib  # noqa: E402
import svglib  # noqa: E402
import terminallib  # noqa: E402
import torchlib  # noqa: E402

FOLDER = os.path.join(TOP, "demos/pictures")
LEAKS = os.path.join(TOP, "tests/bpf/torch_leaks.py")
TRAIN = os.path.join(TOP, "build/demos/train")
SIZES = (80, 24), (200, 28)
LEAK = os.path.join(TOP, "tests/data/found/h200-logits.gmt")
PAGE = 1180, 800                # pixels
LONGEST = 100                   # lines of a report
INTERVAL, QUIET = 0.5, 0.2      # seconds: between two live views, and behind one
HOST, PID, DAY, CLOCK = "gpu1", "4242", "2026-01-15", datetime.timedelta(hours=10, minutes=15)
NEW_UTS = 0x04000000            # linux/sched.h: CLONE_NEWUTS
UTF8 = {"TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}
DUMP = re.compile(r"gpumemtrace-oom-\d+-\d+-\d+-\d+-[0-9a-f]+")
TITLES = {"live": "The live view of gpumemtrace", "report": "The report of gpumemtrace",
          "oom": "The verdict of gpumemtrace oom"}
PROGRAMS = {"leak": "a PyTorch training that keeps its losses", "demo": "the demo"}


class Names:
    """What is replaced in the pictures of a scene."""

    def __init__(self):
        now = datetime.datetime.now(datetime.timezone.utc)
        self.start = now.hour * 3600 + now.minute * 60 + now.second
        self.pid = None

    def clock(self, match):
        hours, minutes, seconds = map(int, match.group().split(":"))
        since = (hours * 3600 + minutes * 60 + seconds - self.start) % 86400
        return str(CLOCK + datetime.timedelta(seconds=since))

    def pairs(self):
        yield DUMP, f"gpumemtrace-oom-{DAY.replace('-', '')}-101505-{PID}-1-5eed5eed"
        yield re.compile(r"\b20\d\d-\d\d-\d\d\b"), DAY
        yield re.compile(r"\b\d\d:\d\d:\d\d\b"), self.clock
        yield re.compile(r"\bLinux [^\s,]+"), "Linux 6.12.0"
        yield re.compile(rf"\b{self.pid}\b"), PID

    def replace(self, text):
        for pattern, new in self.pairs():
            text = pattern.sub(new, text)
        return text

    def replace_cells(self, cells):
        """In a line of a screen. What is longer or shorter then moves what is behind it, up to the next gap."""
        for pattern, new in self.pairs():
            text = "".join(cell.text[:1] for cell in cells)
            for match in reversed(list(pattern.finditer(text))):
                word = new(match) if callable(new) else new
                first, behind, size = cells[match.start()], cells[match.end():], len(cells)
                cells = cells[:match.start()] + [first._replace(text=c, width=1) for c in word] + behind
                cells = fit(cells, match.start() + len(word), size)
        return cells


def fit(cells, behind, size):
    """The line with its old size: blanks come or go in the next gap, or else at the end."""
    text, more = "".join(cell.text[:1] for cell in cells), size - len(cells)
    gap = behind + re.search(r" {4}|$", text[behind:]).start()
    return (cells[:gap] + [svglib.Cell(" ")] * more + cells[gap + max(0, -more):])[:size]


# ---- files ----

def is_telling(lines, names):
    """Whatever says where the pictures were made."""
    text = "\n".join("".join(cell.text for cell in cells) for cells in lines)
    for word in TOP, os.getcwd(), tempfile.gettempdir() + "/", os.path.expanduser("~/"), os.uname().release, str(names.pid):
        if re.search(rf"(?<![\w]){re.escape(word)}(?!\w)", text):
            yield word


def write(folder, name, lines, columns, names):
    """name: LIVE-PROGRAM-COLUMNS"""
    told = list(is_telling(lines, names))
    if told:
        sys.exit(f"pictures: {name} shows {told}")
    kind, program, _ = name.split("-")
    for theme in svglib.THEMES:
        text = svglib.svg(lines, columns, theme, f"{TITLES[kind]}, of {PROGRAMS[program]}")
        with open(os.path.join(folder, f"{name}-{theme}.svg"), "w", encoding="utf-8") as file:
            file.write(text)


def write_screen(folder, name, terminal, names):
    """The screen of a terminal, as it is now."""
    lines = [names.replace_cells(cells) for cells in svglib.cells_of(terminal.screen)]
    write(folder, f"{name}-{terminal.columns}", lines, terminal.columns, names)


def write_output(folder, name, arguments, names, shown):
    """What a command prints on terminals of both widths, below the command."""
    command = names.replace(f"$ gpumemtrace {shown}").encode()
    for columns, _ in SIZES:
        first = terminallib.Terminal([lib.TOOL, *arguments], columns, LONGEST, env=environment(), shell_text=b"")
        lib.equal(first.finish(), 0, f"exit status of gpumemtrace {shown}")
        data = names.replace(first.bytes.decode()).encode()
        screen, stream = terminallib.make_screen(columns, LONGEST)
        stream.feed(command + b"\r\n" + data)
        lines = svglib.cells_of(screen)
        while not any(cell.text.strip() for cell in lines[-1]):
            lines.pop()
        first.close()
        write(folder, f"{name}-{columns}", lines, columns, names)


# ---- scenes ----

def environment():
    return lib.environment(GPUMEMTRACE_STANDIN_ROOT=lib.ROOT, **UTF8)


def show(*arguments):
    """The live view on a terminal."""
    argv = [lib.TOOL, "--driver-root", lib.ROOT, "-i", str(INTERVAL), *arguments]
    return terminallib.Terminal(argv, *SIZES[0], env=environment())


def write_live(folder, program, terminal, names):
    """The screen at each size."""
    before = 0
    for size in SIZES:
        if before:
            terminal.resize(*size)
        terminal.wait(lambda most=before: any(len(text) > most for text in terminal.text()), "the screen of another size")
        while select.select([terminal.master], [], [], QUIET)[0]:       # to the end of the picture
            terminal.read()
        write_screen(folder, "live-" + program, terminal, names)
        before = size[0]


def leaking(kind, names):
    torch = torchlib.debian()
    target = lib.Target(torch.python, LEAKS, kind, env={"LD_PRELOAD": torchlib.BLOCKS, "PYTHONWARNINGS": "ignore", **torch.env})
    names.pid = target.pid
    said(target, "ready")
    return target


def said(target, word):
    target.wait_line(lambda: word in [line.strip() for line in target.err], word)


def leak(folder):
    """A training keeps its losses: the live view, and the report."""
    names = Names()
    target = leaking("losses", names)
    terminal = show("-p", str(target.pid), "--block-stacks", "-o", "run.gmt")
    terminal.wait_text("1:processes")
    terminal.wait_text(str(target.pid))
    target.line()
    said(target, "done")
    terminal.wait_text("LEAK")
    terminal.wait(lambda: sum("Net.forward" in text for text in terminal.text()) >= 2, "the line, twice")
    terminal.wait_gone("backward in progress")      # the view is that of the end
    write_live(folder, "leak", terminal, names)
    terminal.keys("q")
    lib.equal(terminal.finish(), 0, "exit status")
    terminal.close()
    write_output(folder, "report-leak", ["report", "--no-pager", "run.gmt"], names, "report run.gmt")


def demo(folder):
    """The demo from its start to its end, with the request that fails in the middle."""
    names = Names()
    # What the demo writes would stand in the screen.
    command = "sh", "-c", 'exec "$0" "$1" 2>demo.log', TRAIN, "24"
    terminal = show("--live", "-o", "demo.gmt", "--", *command)
    terminal.wait(lambda: re.search(r"pid (\d+)", terminal.text()[0]), "the demo's process")
    names.pid = int(re.search(r"pid (\d+)", terminal.text()[0]).group(1))
    terminal.wait_text("ran out of memory")
    terminal.wait(lambda: any(text.startswith("GROWTH") for text in terminal.text()), "the growth")
    write_live(folder, "demo", terminal, names)
    lib.equal(terminal.finish(), 0, "exit status")
    terminal.close()
    write_output(folder, "report-demo", ["report", "--no-pager", "demo.gmt"], names, "report demo.gmt")
    dump, = glob.glob("gpumemtrace-oom-*.gmt")
    write_output(folder, "oom-demo", ["oom", "--no-pager", dump], names, "oom " + dump)


def oom(folder):
    """The training with the leak dies of it: the verdict."""
    names = Names()
    target = leaking("losses-oom", names)
    tool = lib.Tool("-p", str(target.pid), "--block-stacks", dumps=".").ready()
    torchlib.until_probed(tool, target.pid)
    tool.idle()                 # the tables of stacks are there
    target.line()
    lib.equal(target.finish()[0], 1, "exit status " + target.stderr())
    tool.report()
    dump, = glob.glob("gpumemtrace-oom-*.gmt")
    write_output(folder, "oom-leak", ["oom", "--no-pager", dump], names, "oom " + dump)


def page(folder):
    """The page of a training that keeps its outputs, after a click on what was found, and below that its segments."""
    subprocess.run([lib.TOOL, "report", "-q", "-o", "report.html", LEAK], stdout=subprocess.DEVNULL, check=True)
    for theme in svglib.THEMES:
        with browserlib.Browser(*PAGE, dark=theme == "dark") as browser:
            browser.open("report.html")
            browser.frame()
            browser.run("document.querySelector('.finding button').click()")
            browser.run("scrollTo(0, 0)")
            browser.frame()
            browser.screenshot(os.path.join(folder, f"page-leak-{theme}.png"))
            browser.key("Escape")
            browser.key("s")
            browser.run("document.activeElement.blur()")
            browser.screenshot(os.path.join(folder, f"page-segments-{theme}.png"))


SCENES = {scene.__name__: scene for scene in (leak, demo, oom, page)}


def main():
    folder = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else FOLDER)
    if os.geteuid():
        sys.exit("pictures: probes need root")
    os.makedirs(folder, exist_ok=True)
    terminallib.emulator()
    # The machine's name is in the pictures: this process and its children have another one.
    if ctypes.CDLL(None, use_errno=True).unshare(NEW_UTS):
        sys.exit("pictures: unshare: " + os.strerror(ctypes.get_errno()))
    socket.sethostname(HOST)
    for name in sys.argv[2:] or SCENES:
        scratch = tempfile.mkdtemp(prefix="gmt-pictures-")
        os.chdir(scratch)       # dumps are written here, and their names are shown without a path
        try:
            SCENES[name](folder)
        finally:
            lib.Process.end_all()
            os.chdir(TOP)
            shutil.rmtree(scratch)


if __name__ == "__main__":
    main()
