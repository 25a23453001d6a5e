# SPDX-License-Identifier: BSD-2-Clause
"""Wire records for Python: layouts, kinds and API ids parsed from include/gpumemtrace/*.h.

Invariant: nothing about a record's layout is written down here, so a changed header changes the
bytes and the tests that compare them. (UNWIND_WORDS is of a record that no recording has.)
"""
import os
import re
import struct

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
INCLUDE = os.path.join(ROOT, "include", "gpumemtrace")
CODES = {"__u8": "B", "__s8": "b", "__u16": "H", "__s16": "h", "__u32": "I", "__s32": "i", "__u64": "Q", "__s64": "q"}


def _read(name):
    with open(os.path.join(INCLUDE, name), encoding="utf-8") as f:
        return re.sub(r"/\*.*?\*/", "", f.read(), flags=re.S).replace("\\\n", "\n")


def _list(text, macro):
    """The argument lists of the X() rows of one X-macro list."""
    body = text[text.index("#define " + macro + "(X)"):]
    rows, row = [], ""
    for line in body.splitlines()[1:]:
        line = line.strip()
        if line and not row and not line.startswith("X("):
            break
        row += line
        if row and row.count("(") == row.count(")"):
            rows.append([a.strip().strip('"') for a in split_args(row[2:row.rindex(")")])])
            row = ""
    return rows


def split_args(text):
    """Splits at commas outside parentheses."""
    out, depth = [""], 0
    for c in text:
        depth += (c == "(") - (c == ")")
        if c == "," and not depth:
            out.append("")
        else:
            out[-1] += c
    return out


UNWIND = "unwind.h"     # in STACK_COPY, which is in no recording; empty on x86-64
UNWIND_WORDS = {"gmt_unwind_more": 2, "gmt_unwind_taken": 34} if os.uname().machine == "aarch64" else {}


class Wire:
    def __init__(self):
        text = _read("wire.h")
        for part in re.findall(r"#include <gpumemtrace/(\w+\.h)>", text):
            text += _read(part) if part != UNWIND else ""
        self.consts = {m[0]: int(m[1], 0) for m in re.findall(r"#define (GMT_\w+)\s+(0x[0-9a-fA-F]+|\d+)\b", text)}
        self.losses = [row[0] for row in _list(text, "GMT_LOSSES")]
        self.consts["GMT_LOSS_COUNT"] = len(self.losses)
        for name, value in re.findall(r"\b(GMT_\w+) = (0x[0-9a-fA-F]+|\d+)", text):
            self.consts[name] = int(value, 0)
        self.consts.update({"GMT_LAYER_" + row[0]: int(row[1], 0) for row in _list(text, "GMT_LAYERS")})
        self.kinds = {row[0]: (int(row[1], 0), row[2]) for row in _list(text, "GMT_KINDS")}
        self.structs = {name: [("words", UNWIND_WORDS[name], "Q")] if UNWIND_WORDS else []
                        for name in ("gmt_unwind_more", "gmt_unwind_taken")}
        for name, body in re.findall(r"struct (gmt_\w+) \{(.*?)\n\};", text, flags=re.S):
            self.structs[name] = self._fields(body)

    @staticmethod
    def _single(body):
        """One name a declaration: "__u64 a, b" is "__u64 a; __u64 b"."""
        return re.sub(r"((?:struct )?\w+) ([^;]*,[^;]*)", lambda m: "; ".join(
            m[1] + " " + name.strip() for name in m[2].split(",")), body)

    def _fields(self, body):
        fields = []
        for decl in filter(None, (d.strip() for d in self._single(body).split(";"))):
            m = re.fullmatch(r"(?:struct )?(\w+) (\w+)(?:\[(\w*)\])?", decl)
            if not m:
                raise ValueError("a header of the wire: cannot parse: " + decl)
            kind, name, dim = m.groups()
            if dim == "":                       # flexible array: appended by the caller
                continue
            count = 1 if dim is None else int(dim) if dim.isdigit() else self.consts[dim]
            if kind in self.structs:
                fields += [(name + "." + n, c, k) for n, c, k in self.structs[kind]]
            else:
                fields.append((name, count, CODES[kind]))
        return fields

    def record(self, kind, /, *, tgid=0, tid=0, ts_ns=0, tail=b"", **values):
        """One record. Fields not named are 0; dots in names are written as two underscores."""
        number, struct_name = self.kinds[kind]
        values = {k.replace("__", "."): v for k, v in values.items()}
        values.update({"hdr.kind": number, "hdr.tgid": tgid, "hdr.tid": tid, "hdr.ts_ns": ts_ns})
        size = sum(struct.calcsize(c) * n for _, n, c in self.structs[struct_name]) + len(tail)
        values["hdr.size"] = size
        out = b""
        for name, count, code in self.structs[struct_name]:
            if len(out) % struct.calcsize(code):
                raise ValueError(f"{struct_name}.{name} is not aligned")
            value = values.pop(name, None)
            if isinstance(value, (bytes, str)):
                raw = value.encode() if isinstance(value, str) else value
                if code != "B" or len(raw) > count:
                    raise ValueError(f"{struct_name}.{name}: does not hold {value!r}")
                out += raw.ljust(count, b"\0")
            elif count == 1:
                out += struct.pack("<" + code, value or 0)
            else:
                out += struct.pack(f"<{count}{code}", *(value or [0] * count))
        if values:
            raise ValueError(f"{struct_name} has no {', '.join(values)}")
        assert size % 8 == 0
        return out + tail

    def parse(self, record):
        """(kind, fields) of one record; what follows the structure is in fields["tail"]."""
        number = struct.unpack_from("<HH", record)[1]
        kind = next((k for k, (n, _) in self.kinds.items() if n == number), None)
        fields, at = {}, 0
        for name, count, code in self.structs[self.kinds[kind][1]] if kind else []:
            values = struct.unpack_from(f"<{count}{code}", record, at)
            at += struct.calcsize(code) * count
            fields[name] = values[0] if count == 1 else bytes(values) if code == "B" else values
        fields["tail"] = record[at:]
        return kind, fields


class Api:
    """One row of the table of probe points."""

    def __init__(self, row):
        self.id, self.symbol, self.op = int(row[0]), row[1], row[2]
        flags = row[3]
        self.release = "REL" in flags.split(" | ") or "GMT_API_RELEASE" in flags
        self.scope = "GMT_API_SCOPE" in flags
        self.change = "GMT_API_CHANGE" in flags
        self.quiet_error = "QE" in flags.split(" | ") or "GMT_API_QUIET_ERROR" in flags
        self.caps = []
        for cap in row[4:]:
            name, args = re.fullmatch(r"(\w+)\((.*)\)", cap).groups()
            self.caps.append((name, *(int(a) for a in args.split(","))))


def apis():
    text = _read("api.h")
    return {a.symbol: a for a in map(Api, _list(text, "GMT_APIS"))}
