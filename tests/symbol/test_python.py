#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Compares Python frames with the process's own traceback: every function, file and line. The frames are taken from
outside of the process (pystack), and as root also in the kernel (pystack_bpf).

Each CPython 3.8 to 3.14 that is found is a target: pyenv's, the system's, and those named in $PYTHONS.
"""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(1, os.path.join(TOP, "tests"))
from patience import PATIENCE, until  # noqa: E402

BUILT = os.path.join(TOP, os.environ.get("BUILD", "build"), "tests", "symbol")
PYSTACK = os.path.join(BUILT, "pystack")
TARGET = os.path.join(HERE, "python_target.py")
IN_GDB = {"callbacks", "generators", "coroutines", "dying"}   # cases whose native frames are counted too
SAY = "import sys; sys.stdout.write('x\\n'); sys.stdout.flush(); sys.stdin.read()"   # and wait for the end of stdin
NAMES = ("nested", "made_code", "recursion")   # cases that have to be there


def version_of(python):
    run = subprocess.run([python, "-c", "import sys; print('%d %d' % sys.version_info[:2])"], capture_output=True, text=True)
    return tuple(map(int, run.stdout.split())) if run.returncode == 0 and run.stdout else None


def pythons():
    """{real path: version}"""
    home = os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv"))
    patterns = [home + "/versions/*/bin/python3", "/usr/bin/python3", "/usr/bin/python3.[0-9]*", "/usr/local/bin/python3",
                "/opt/*/bin/python3"]
    paths = [path for pattern in patterns for path in sorted(glob.glob(pattern))]
    paths += os.environ.get("PYTHONS", "").split()
    found = {}
    for path in paths:
        real = os.path.realpath(path)
        if "config" not in path and real not in found:
            found[real] = version_of(path)
    return {path: version for path, version in found.items() if version}


def pystack(pid, tid):
    run = subprocess.run([PYSTACK, str(pid), str(tid)], capture_output=True, text=True, timeout=PATIENCE)
    return run, parse(run.stdout.split("\n"))


def wait_for_read(pid, tid):
    """Until the thread waits in read() of its stdin (proc_pid_syscall(5)): it has just printed."""
    def reads():
        try:
            with open(f"/proc/{pid}/task/{tid}/syscall", encoding="ascii") as file:
                words = file.read().split()
        except OSError:   # not allowed here
            time.sleep(0.05)
            return True
        return words[0] in ("0", "63") and words[1] == "0x0"    # x86-64, arm64
    until(reads)


def parse(lines):
    frames = [line.split("\t") for line in lines if line]
    return [[f[0], f[1], int(f[2]) if f[2].isdigit() else f[2]] for f in frames]


class InKernel:
    """The stacks that BPF takes when a thread of the process calls read()."""
    def __init__(self, pid):
        self.frames = self.nanoseconds = 0
        self.process = subprocess.Popen([PYSTACK + "_bpf", os.path.join(BUILT, "python_test.bpf.o"), str(pid)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.works = self.process.stdout.readline() == "ready\n"

    def stack(self, tid):
        self.process.stdin.write(f"{tid}\n")
        self.process.stdin.flush()
        lines = []
        for line in self.process.stdout:
            if line.startswith("end "):
                break
            lines.append(line.rstrip("\n"))
        words = line.split(" ", 4)
        self.frames += int(words[1])
        self.nanoseconds += int(words[3])
        return parse(lines)

    def end(self):
        self.process.communicate()
        return self.process.returncode


def wrong_calls(pid, said):
    """The frames have to be divided among as many calls of the eval function as gdb sees."""
    run = subprocess.run(["gdb", "-p", str(pid), "-batch", "-nx", "-ex", "set print inline off", "-ex", "bt"],
                         capture_output=True, text=True, timeout=PATIENCE)
    native = len(re.findall(r"^#.* _PyEval_EvalFrameDefault", run.stdout, re.M))
    calls = int(re.search(r"frames in (\d+) calls", said).group(1))
    return native and native != calls and f"{calls} calls of the eval function, gdb has {native}"


def difference(want, got):
    for i in range(max(len(want), len(got))):
        a, b = want[i] if i < len(want) else None, got[i] if i < len(got) else None
        if a != b:
            return f"frame {i} of {len(want)}: traceback has {a}, pystack {b}"
    return None


class Target:
    def __init__(self, python, args=(), **env):
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen([python, "-X", "utf8", TARGET, *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=self.log, env={**os.environ, **env, "PYTHONIOENCODING": "utf8"})

    def stops(self):
        for line in self.process.stdout:
            if line == b"done\n":
                return
            yield json.loads(line)

    def go_on(self):
        self.process.stdin.write(b"x")
        self.process.stdin.flush()

    def end(self):
        self.process.stdin.close()
        self.process.kill()
        code = self.process.wait()
        self.log.seek(0)
        return code, self.log.read().decode(errors="replace")


def compare(python, env):
    """What is wrong, and in words what was compared."""
    target, stops, wrong, names, kernel, in_kernel = Target(python, **env), 0, [], set(), None, 0
    frames = 0
    try:
        for stop in target.stops():
            wait_for_read(stop["pid"], stop["tid"])
            run, got = pystack(stop["pid"], stop["tid"])
            found = f"{run.stderr.strip()}" if run.returncode else difference(stop["frames"], got)
            if found:
                wrong.append(f"{stop['name']}: {found}")
            if kernel and kernel.works and stop["pid"] == target.process.pid:
                found = difference(stop["frames"], kernel.stack(stop["tid"]))
                in_kernel += 1
                if found:
                    wrong.append(f"{stop['name']}, in the kernel: {found}")
            elif not kernel and os.geteuid() == 0:
                kernel = InKernel(stop["pid"])   # from the next stop on
                if not kernel.works:
                    wrong.append("in the kernel: " + kernel.process.stderr.read())
            if stop["name"] in IN_GDB - (names - {"dying"}) and shutil.which("gdb"):
                found = wrong_calls(stop["pid"], run.stderr)
                if found:
                    wrong.append(f"{stop['name']}: {found}")
            stops, frames = stops + 1, frames + len(stop["frames"])
            names.add(stop["name"])
            target.go_on()
    finally:
        _, log = target.end()
        if kernel:
            kernel.end()
    if not set(NAMES) <= names or "forks with the GIL" not in names:
        wrong.append("the target did not run to its end: " + log[-400:])
    also = f", {in_kernel} of them also in the kernel: {kernel.nanoseconds // max(kernel.frames, 1)} ns a frame" if in_kernel else ""
    return wrong, f"{frames} frames in {stops} stops{also}"


def check_version(python, version):
    wrong, what = compare(python, {})
    return f"{version[0]}.{version[1]} {python}: {what}", wrong


def check_copy(python, version, folder):
    """A program with another name, as embedders have: the version comes from inside."""
    copy = shutil.copy(python, os.path.join(folder, "trainer"))
    home = subprocess.run([python, "-c", "import sys; print(sys.base_prefix)"], capture_output=True, text=True).stdout.strip()
    wrong, what = compare(copy, {"PYTHONHOME": home})
    return f"{version[0]}.{version[1]} under another name: {what}", wrong


def is_static(python):
    """Whether it does without libpython."""
    maps = subprocess.run([python, "-c", "print(open('/proc/self/maps').read())"], capture_output=True, text=True).stdout
    return "libpython" not in maps


def check_variant(python, version, name, env):
    wrong, what = compare(python, env)
    return f"{version[0]}.{version[1]} {name}: {what}", wrong


INTERPRETERS = """
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
kept = [interpreters.create() for i in range(40)]
"""


def check_interpreters(python, version, say):
    """The newest interpreters come first in the list, and idle ones have no thread."""
    process = subprocess.Popen([python, "-c", INTERPRETERS + say], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    process.stdout.readline()
    wait_for_read(process.pid, process.pid)
    run, frames = pystack(process.pid, process.pid)
    process.stdin.close()
    process.wait()
    # Without the GIL, up to 3.11, nothing tells which interpreter the thread runs.
    good = run.returncode == 0 and frames if version >= (3, 12) else "several interpreters" in run.stderr
    return f"{version[0]}.{version[1]} with 41 interpreters", [] if good else [f"exit {run.returncode}, {run.stderr.strip()}"]


def check_refused(argv, pattern):
    process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    process.stdout.readline()
    run, frames = pystack(process.pid, process.pid)
    process.stdin.close()
    process.wait()
    good = run.returncode == 3 and not frames and re.search(pattern, run.stderr)
    return [] if good else [f"exit {run.returncode}, {run.stderr.strip()}"]


def main():
    if not os.path.exists(PYSTACK):
        print("1..0 # SKIP no", PYSTACK)
        return 0
    all_found = pythons()
    good = {p: v for p, v in all_found.items() if (3, 8) <= v <= (3, 14)}
    results = []
    for python, version in sorted(good.items(), key=lambda item: item[1]):
        results.append(check_version(python, version))
        results.append(check_interpreters(python, version, SAY))
        if version == max(good.values()):
            results.append(check_variant(python, version, "without columns", {"PYTHONNODEBUGRANGES": "1"}))
            results.append(check_variant(python, version, "traced", {"TRACED": "1"}))
    with tempfile.TemporaryDirectory() as folder:
        for python in list(filter(is_static, good))[:1]:
            results.append(check_copy(python, good[python], folder))
    for python, version in all_found.items():
        if version < (3, 8) or version > (3, 14):
            results.append((f"{version[0]}.{version[1]} is refused",
                            check_refused([python, "-c", SAY], r"not supported|no CPython")))
    results.append(("a process without Python", check_refused(["sh", "-c", "echo x; read x"], "no CPython")))
    print(f"1..{len(results)}")
    for number, (name, wrong) in enumerate(results, 1):
        print(f"{'not ok' if wrong else 'ok'} {number} - {name}")
        for line in wrong[:10]:
            print("#", line)
    return 1 if any(wrong for _, wrong in results) else 0


if __name__ == "__main__":
    sys.exit(main())
