#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Each place in the rows of api.h is the argument, or the member of a structure, that the CUDA headers of this machine
name so."""
import os
import re
import subprocess
import tempfile

from cuda_functions import folders
from tap import Tap, text

TABLE = "include/gpumemtrace/api.h"
HEADERS = ("cuda.h", "cudaGL.h", "cudaVDPAU.h")
# In the place of what cudaGL.h and cudaVDPAU.h need: their prototypes have these types.
STUBS = {"GL/gl.h": "typedef unsigned int GLuint, GLenum;\n",
         "vdpau/vdpau.h": "typedef unsigned int VdpDevice, VdpVideoSurface, VdpOutputSurface;\ntypedef void VdpGetProcAddress;\n"}
BYTES = r"size_t|unsigned int|cuuint64_t"
ADDRESS = (r"CUdeviceptr(_v1)?|void ?\*", r"p?dptr|p|pp|ptr|ptr_out|memptr|devPtr")
# The values of GMT_OPS: the argument's type (without the pointer that an OUT follows) and its name.
VALUES = {
    "ptr": ADDRESS, "base": ("CUdeviceptr", "pbase"), "addr": (r"void ?\*", "addr"),
    "size": (BYTES, "bytesize|p?size"), "pitch": (BYTES, "pPitch"), "width": (BYTES, "WidthInBytes"),
    "height": (BYTES, "Height"), "free": (BYTES, "free"), "total": (BYTES, "total"), "keep": (BYTES, "minBytesToKeep"),
    "offset": (BYTES, "(mcO|o)ffset"), "flags": ("unsigned int", "[Ff]lags"), "count": ("unsigned int", "count"),
    "levels": ("unsigned int", "numMipmapLevels"), "stream": ("CUstream", "p?hStream"), "pool": ("CUmemoryPool", r"pool(_out)?"),
    "dev": ("CUdevice", "dev|device"), "attr": (r"CUmemPool_attribute|CUgraphMem_attribute", "attr"), "value": ("void", "value"),
    "alloc": ("CUmemAllocationType", "type"), "type": (r"CUmem(Allocation|Range)HandleType", r"(sh)?[hH]andleType"),
    "handle": ("CUmemGenericAllocationHandle", "handle|memHandle"), "multicast": ("CUmemGenericAllocationHandle", "mcHandle"),
    "endpoint": ("CUlogicalEndpointId", r"\w+"), "array": (r"CUarray|CUmipmappedArray", r"\w+"),
    "ext": ("CUexternalMemory", r"extMem(_out)?"), "graph": (r"CUgraph|CUgraphExec", r"p?hGraph(Exec)?"),
    "exec": ("CUgraphExec", "phGraphExec"), "ctx": (r"CUcontext|CUgreenCtx", r"\w+"), "green": ("CUgreenCtx", r"\w+"),
    "process": ("int", "pid"), "ordinal": ("int", "ordinal"), "key": ("CUipcMemHandle", r"p?[hH]andle"),
}
# Where a name of GMT_OPS stands for something else: MULTICAST_CREATE's handle is the new multicast object.
NAMED_OTHERWISE = {("cuMulticastCreate", "handle"): "multicast"}
ARRAY = {"width": "Width", "height": "Height", "format": "Format", "channels": "NumChannels", "depth": "Depth", "flags": "Flags"}
# The members of structures.
MEMBERS = {
    "CUmemPoolProps": {"loc": "location.type", "locid": "location.id", "alloc": "allocType"},
    "CUmemLocation": {"loc": "type", "locid": "id"},
    "CUmemAllocationProp": {"loc": "location.type", "locid": "location.id", "alloc": "type", "location": "location"},
    "CUmulticastObjectProp": {"size": "size"},
    "CUarrayMapInfo": {"operation": "memOperationType", "array": "resource", "handle": "memHandle"},
    "CUDA_ARRAY_DESCRIPTOR": ARRAY, "CUDA_ARRAY_DESCRIPTOR_v1": ARRAY,
    "CUDA_ARRAY3D_DESCRIPTOR": ARRAY, "CUDA_ARRAY3D_DESCRIPTOR_v1": ARRAY,
    "CUDA_ARRAY_MEMORY_REQUIREMENTS": {"size": "size"},
    "CUDA_EXTERNAL_MEMORY_HANDLE_DESC": {"size": "size", "type": "type"},
    "CUDA_EXTERNAL_MEMORY_BUFFER_DESC": {"size": "size"},
    "CUDA_MEM_ALLOC_NODE_PARAMS": {"ptr": "dptr", "size": "bytesize", "dev": "poolProps.location.id"},
    "CUgraphNodeParams": {"type": "type", "allocptr": "alloc.dptr", "allocsize": "alloc.bytesize",
                          "allocdev": "alloc.poolProps.location.id", "freeptr": "free.dptr", "ownership": "graph.ownership"},
    "CUuuid": {"uuid_lo": "bytes[0]", "uuid_hi": "bytes[8]"},
}
IN_MEMORY = ("IN", "IN32", "OUT", "OUT32", "OUTAT", "OUTHASH")
BITS = {"ARG": 64, "ARG32": 32, "IN": 64, "IN32": 32, "OUT": 64, "OUT32": 32, "OUTAT": 64, "OUTHASH": 512, "BYVAL64_HASH": 512,
        "AFTER_BYVAL64": 32}


def read_rows(table):
    """The rows that have values: symbol -> [(value, kind, argument, offset)]."""
    ops = dict(re.findall(r'X\((\w+), \w+, (?:true|false), "([^"]*)"\)', table))
    rows, problems = {}, []
    for symbol, op, rest in re.findall(r"X\(\d+, (cu\w+), (\w+), (.*)\)\s*\\?$", table, flags=re.M):
        places = re.findall(r"([A-Z]\w+)\((\d+)(?:, (\d+))?\)", rest)
        names = ops[op].split(",") if ops[op] else []
        if len(places) > len(names) or len(places) != rest.count("("):
            problems.append(f"{symbol}: cannot read the row")
        rows[symbol] = [(names[i], kind, int(argument), int(offset or 0)) for i, (kind, argument, offset) in enumerate(places)]
    if len(rows) != len(re.findall(r"X\(\d+, cu\w+,", table)):
        problems.append(f"{len(rows)} rows were read, and there are others")
    return rows, problems


class Header:
    """The prototypes of a folder's headers, every version of each function, and what the compiler says of their types."""
    def __init__(self, folder):
        self.folder, self.answers = folder, {}
        names = [*STUBS, *(name for name in HEADERS if os.path.isfile(os.path.join(folder, name)))]
        self.lines = [f"#include <{name}>" for name in names]
        # This macro of cuda.h declares all versions under their own names.
        plain = re.sub(r"\s+", " ", self.compile("\n".join(self.lines), "-E", "-P", "-D__CUDA_API_VERSION_INTERNAL"))
        self.prototypes = {}
        for name, arguments in re.findall(r"CUresult (cu\w+) ?\(([^()]*(?:\([^()]*\)[^()]*)*)\) ?;", plain):
            self.prototypes[name] = [self.split(a) for a in arguments.split(",")]
        self.words = set(re.findall(r"\w+", plain))

    def member(self, kind, value):
        """The member of the structure that a pointer leads to; None: none has the value; "": this release has none yet."""
        member = MEMBERS.get(kind[:-1], {}).get(value) if kind.endswith("*") else None
        return "" if member and not self.words.issuperset(re.findall(r"[A-Za-z]\w*", member)) else member

    @staticmethod
    def split(argument):
        """The type and the name."""
        kind, name = re.fullmatch(r"(?:const )?(.*?[ *])(\w*)", argument.strip() + ("" if " " in argument.strip() else " ")).groups()
        return re.sub(r" ?\* ?", "*", kind.strip()), name

    def compile(self, source, *flags, run=False):
        with tempfile.TemporaryDirectory() as place:
            for name, content in STUBS.items():
                os.makedirs(os.path.dirname(os.path.join(place, name)), exist_ok=True)
                with open(os.path.join(place, name), "w", encoding="utf-8") as file:
                    file.write(content)
            command = ["cc", "-w", f"-I{place}", f"-I{self.folder}", "-x", "c", "-", *flags]
            if run:
                command += ["-o", os.path.join(place, "ask")]
            done = subprocess.run(command, input=source, capture_output=True, text=True, check=True)
            if run:
                done = subprocess.run([os.path.join(place, "ask")], capture_output=True, text=True, check=True)
            return done.stdout

    def ask(self, questions):
        """Questions are expressions of C; their values stay in `answers`."""
        questions = sorted(set(questions))
        prints = "".join(f'printf("%zu\\n", (size_t)({question}));' for question in questions)
        source = "\n".join(["#define __CUDA_API_VERSION_INTERNAL", "#include <stddef.h>", "#include <stdio.h>", *self.lines,
                            f"int main(void) {{ {prints} }}"])
        self.answers = dict(zip(questions, map(int, self.compile(source, run=True).split())))

    def bits(self, question):
        return 8 * self.answers.get(question, 0)


def questions_about(header, symbol, row):
    """What the compiler must say of a function's arguments, for the places of its row and for other places."""
    for kind, _ in header.prototypes[symbol]:
        pointed = kind[:-1] if kind.endswith("*") else kind
        yield f"sizeof({kind})"
        if pointed != "void":
            yield f"sizeof({pointed})"
        for member in filter(None, (header.member(kind, value) for value, *_ in row)):
            yield f"offsetof({pointed}, {member})"
            yield f"sizeof((({pointed} *)0)->{member})"


def check_member(header, pointed, member, place):
    _, kind, _, offset = place
    bits = header.bits(f"sizeof((({pointed} *)0)->{member})")
    if header.answers[f"offsetof({pointed}, {member})"] != offset:
        return f"{pointed} has {member} elsewhere"
    return "" if BITS[kind] == bits or bits == 8 else f"{member} of {pointed} has {bits} bits"


def check_argument(header, symbol, place, kind, name):
    """A place that is an argument, or what an argument points to; a void * may point to a value of any size."""
    value, capture, _, offset = place
    value = NAMED_OTHERWISE.get((symbol, value), value)
    in_memory = capture in IN_MEMORY
    wanted_kind, wanted_name = VALUES[value]
    if in_memory and not kind.endswith("*"):
        return f"{name} is no pointer"
    base = kind[:-1] if in_memory else kind
    if not re.fullmatch(wanted_kind, base) or not re.fullmatch(wanted_name, name) or offset:
        return f"{kind} {name} is no {value}"
    bits = header.bits(f"sizeof({base})")
    return "" if base == "void" or bits == BITS[capture] else f"{base} {name} has {bits} bits"


def check_place(header, symbol, place):
    value, capture, argument, _ = place
    prototype = header.prototypes[symbol]
    if argument >= len(prototype):
        return f"{symbol} has no argument {argument}"
    kind, name = prototype[argument]
    member = header.member(kind, value)
    if member == "":
        wrong = ""
    elif capture in IN_MEMORY and member:
        wrong = check_member(header, kind[:-1], member, place)
    elif value in VALUES:
        wrong = check_argument(header, symbol, place, kind, name)
    else:
        wrong = f"{kind} {name} has no {value}"
    return f"{symbol}: {value} is {capture}({argument}, ...), but {wrong}" if wrong else ""


def planted(header, rows):
    """Each place of each row at another argument and at another offset: those that look right all the same."""
    for symbol, row in rows.items():
        for value, capture, argument, offset in row:
            if header.member(header.prototypes[symbol][argument][0], value) == "":
                continue
            others = [(value, capture, other, offset) for other in range(len(header.prototypes[symbol]) + 1)
                      if other != argument]
            for other in others + [(value, capture, argument, offset + 4)]:
                if not check_place(header, symbol, other):
                    yield f"{symbol}: {value} would pass as {other}"


def main():
    tap = Tap()
    rows, problems = read_rows(text(TABLE))
    tap.check("the rows are read", problems)
    found = folders()
    for folder in found:
        header = Header(folder)
        known = {symbol: row for symbol, row in rows.items() if symbol in header.prototypes}
        header.ask(question for symbol, row in known.items() for question in questions_about(header, symbol, row))
        places = [check_place(header, symbol, place) for symbol, row in known.items() for place in row]
        tap.check(f"{folder} has {len(places)} places of {len(known)} of {len(rows)} functions where api.h has them",
                  filter(None, places))
        tap.check("no other place would pass", planted(header, known))
    if not found:
        tap.check("the places of a CUDA header's functions", (), skip="no cuda.h on this machine")
    tap.done()


if __name__ == "__main__":
    main()
