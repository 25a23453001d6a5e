# SPDX-License-Identifier: BSD-2-Clause
"""What the lint tests share: the files of the tree, and findings printed as TAP."""
import os
import shutil
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.abspath(os.environ.get("BUILD", os.path.join(TOP, "build")))
SKIP_FOLDERS = {".git", "build", "__pycache__"}


def files(*folders, ends=("",)):
    """Paths relative to the top, of files that git has or would take (all files, without git)."""
    listed = b""
    if shutil.which("git"):
        listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=TOP,
                                capture_output=True, check=False).stdout
    names = [os.fsdecode(n) for n in listed.split(b"\0") if n]
    if not names:
        for root, dirs, found in os.walk(TOP):
            dirs[:] = [d for d in dirs if d not in SKIP_FOLDERS]
            names += [os.path.relpath(os.path.join(root, f), TOP) for f in found]
    folders = tuple(f + "/" for f in folders)
    return sorted(n for n in set(names) if n.endswith(tuple(ends)) and (not folders or n.startswith(folders))
                  and os.path.isfile(os.path.join(TOP, n)) and not os.path.islink(os.path.join(TOP, n)))


def text(name):
    with open(os.path.join(TOP, name), encoding="utf-8", errors="replace") as file:
        return file.read()


class Tap:
    def __init__(self):
        self.count = self.bad = 0

    def check(self, name, findings, skip=None):
        """One case: it passes when the list of findings is empty."""
        findings = list(findings)
        self.count += 1
        self.bad += bool(findings)
        print(f"{'not ' if findings else ''}ok {self.count} - {name}" + (f" # SKIP {skip}" if skip else ""))
        for finding in findings:
            print("# " + finding)

    def done(self):
        print(f"1..{self.count}")
        sys.exit(1 if self.bad else 0)
