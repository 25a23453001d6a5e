#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Each chain of calls in the BPF programs has at most 512 bytes of stack as Linux 6.1 counts: a function's size, 1 at
least, rounded up to 32 (check_max_stack_depth(), kernel/bpf/verifier.c). Newer kernels count less, so that a program that
they load may be refused by older ones."""
import functools
import os
import re
import shutil
import subprocess

from tap import BUILD, Tap

OBJECTS = {"x86-64": os.path.join(BUILD, "private/gmt.bpf.o"), "arm64": "build/arm64/gmt.bpf.o"}
MOST, UNIT = 512, 32

SECTION = re.compile(r"Disassembly of section (\S+):")
FUNCTION = re.compile(r"([0-9a-f]+) <(?!LBB\d)(\w+)>:")
# A slot of the stack: (r10 - 8), or r1 = r10 and r1 += -8.
SLOT = re.compile(r"\(r10 - (\d+)\)")
FRAME = re.compile(r"(r\d) = r10$")
BELOW = re.compile(r"(r\d) \+= -(\d+)$")
# The target of a call and a callback lie in .text, at the number of an instruction (of a call: less one) and at a byte.
CALL = re.compile(r"call (-?\d+)$")
ADDRESS = re.compile(r"r\d = (\d+) ll$")
TO_TEXT = re.compile(r"R_BPF_64_(64|32)\s+(\.text|\w+)$")


class Code:
    """The functions of an object file: what each uses of the stack, and what it calls."""

    def __init__(self, listing):
        self.used, self.calls, self.at = {}, {}, {}
        section = name = frame = target = None
        for line in map(str.strip, listing.splitlines()):
            if found := SECTION.match(line):
                section = found.group(1)
            elif found := FUNCTION.match(line):
                name = found.group(2)
                self.used[name], self.calls[name] = 0, set()
                if section == ".text":
                    self.at[int(found.group(1), 16)] = name
            elif name:
                if found := SLOT.search(line):
                    self.used[name] = max(self.used[name], int(found.group(1)))
                if (found := BELOW.search(line)) and frame == found.group(1):
                    self.used[name] = max(self.used[name], int(found.group(2)))
                frame = found.group(1) if (found := FRAME.search(line)) else None
                if found := CALL.search(line):
                    target = 8 * (int(found.group(1)) + 1)
                elif found := ADDRESS.search(line):
                    target = int(found.group(1))
                elif found := TO_TEXT.search(line):
                    self.calls[name].add(target if found.group(2) == ".text" else found.group(2))

    @functools.lru_cache(maxsize=None)
    def deepest(self, name):
        """(bytes, the chain of calls); BPF has no recursion."""
        called = {self.at.get(to, to) for to in self.calls[name]} & self.used.keys()
        below, chain = max((self.deepest(to) for to in called), default=(0, ()))
        own = (max(self.used[name], 1) + UNIT - 1) // UNIT * UNIT
        return own + below, (f"{name} ({own})",) + chain


NAME = f"a chain of calls has at most {MOST} bytes of stack"
tap = Tap()
tool = shutil.which("llvm-objdump") or shutil.which("llvm-objdump-14")
for machine, path in OBJECTS.items():
    if not tool or not os.path.exists(path):
        tap.check(f"{machine}: {NAME}", [], skip="llvm-objdump or the programs are missing")
        continue
    code = Code(subprocess.run([tool, "-dr", "--no-show-raw-insn", "--no-print-imm-hex", path], capture_output=True, text=True,
                               check=True).stdout)
    chains = [code.deepest(name) for name in code.used]
    tap.check(f"{machine}: functions and their calls are found",
              [] if max(len(chain) for _, chain in chains) > 3 else ["no chain of 4"])
    tap.check("... and what they use of the stack", [] if any(code.used.values()) else ["nothing"])
    tap.check(f"{machine}: {NAME}", [f"{size}: {', '.join(chain)}" for size, chain in chains if size > MOST])
tap.done()
