# SPDX-License-Identifier: BSD-2-Clause
"""Reads the stacks of a recording: what was taken (words, reasons) and which names it was given."""
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "recordings"))
import recfile  # noqa: E402

CALL, RM_ALLOC, STACK, SYMBOL, STACK_FRAMES = 1, 2, 14, 0x8008, 0x8009
EVAL, PYTHON = 1 << 62, 1 << 60
REASONS = ("not ended", "root", "zero", "depth", "no mapping", "no table", "no row", "unsupported", "fp lost",
           "fault", "outside", "misaligned", "no progress", "trampoline", "bad table", "not walked", "switched",
           "remapped")
COMPLETE = {"root", "zero"}


class Symbol:
    def __init__(self, record):
        (self.id, self.line, self.offset, self.kind, self.flags, function, module,
         file) = struct.unpack_from("<IIQBBHHH", record, 24)
        text = record[48:]
        parts = text[:function], text[function + 1:function + 1 + module], text[function + module + 2:][:file]
        # under -a another test's programs may have names that are no text
        self.function, self.module, self.file = (part.decode(errors="backslashreplace") for part in parts)
        self.is_python = self.kind == 1

    def __str__(self):
        where = f" ({os.path.basename(self.file)}:{self.line})" if self.file else ""
        if self.is_python:
            return f"{self.function or 'python ' + hex(self.offset)}{where}"
        return (self.function or hex(self.offset)) + f" [{os.path.basename(self.module)}]{where}"


class Stack:
    def __init__(self, record):
        self.tgid, self.tid = struct.unpack_from("<II", record, 4)
        self.id, count, reason, self.py_reason = struct.unpack_from("<IHBB", record, 24)
        self.words = struct.unpack_from(f"<{count}Q", record, 32)
        self.reason = REASONS[reason]
        self.is_complete = self.reason in COMPLETE
        self.runs_python = any(word & (EVAL | PYTHON) for word in self.words)
        self.frames = None          # of Symbol, innermost first; None: not named


class Stacks:
    """stacks: by id. calls: (api, stack id, vals) of each call; callers: its pid. allocs: (size, stack id) of the
    kernel's."""
    def __init__(self, path):
        self.stacks, self.symbols, self.calls, self.callers, self.allocs = {}, {}, [], [], []
        for record in recfile.read(path):
            kind = struct.unpack_from("<H", record, 2)[0]
            if kind == STACK:
                stack = Stack(record)
                self.stacks[stack.id] = stack
            elif kind == SYMBOL:
                symbol = Symbol(record)
                self.symbols[symbol.id] = symbol
            elif kind == STACK_FRAMES:
                stack_id, count = struct.unpack_from("<II", record, 24)
                self.stacks[stack_id].frames = [self.symbols[i] for i in
                                                struct.unpack_from(f"<{count}I", record, 32)]
            elif kind == CALL:
                api, phase, _, _, _, stack_id = struct.unpack_from("<HBBiII", record, 24)
                vals = struct.unpack_from(f"<{(len(record) - 40) // 8}Q", record, 40)
                self.calls.append((api, stack_id, vals))
                self.callers.append(struct.unpack_from("<I", record, 4)[0])
            elif kind == RM_ALLOC:
                stack_id = struct.unpack_from("<I", record, 32)[0]
                class_id, status = struct.unpack_from("<II", record, 52)
                size = struct.unpack_from("<Q", record, 72)[0]
                if class_id == 0x40 and not status:
                    self.allocs.append((size, stack_id))


if __name__ == "__main__":
    found = Stacks(sys.argv[1])
    for stack in found.stacks.values():
        calls = sum(1 for call in found.calls if call[1] == stack.id)
        allocs = sum(1 for call in found.allocs if call[1] == stack.id)
        print(f"stack {stack.id} of {stack.tgid}/{stack.tid}: {stack.reason}, python {stack.py_reason}, "
              f"{len(stack.words)} words, {calls} calls, {allocs} kernel allocations")
        for frame in stack.frames or ():
            print("   ", frame)
