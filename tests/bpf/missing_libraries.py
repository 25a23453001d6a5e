# SPDX-License-Identifier: BSD-2-Clause
"""Makes empty stand-ins for missing libraries, so that a library which is linked to them can be loaded.

What of them is called all the same, while it is loaded or by a program that uses no GPU, gets an answer that does no
harm: an error from C functions, and from those of C++ an address to read from and write to.
"""
import os
import re
import subprocess

NO_DEVICE = 100         # cudaErrorNoDevice; for others of NVIDIA's libraries it is an error, too
SCRATCH = f"""
    .section .note.GNU-stack, "", @progbits
    .bss
scratch: .skip 4096
"""
DATA = """
    .data
    .globl {symbol}
    .type {symbol}, @object
    .size {symbol}, {size}
    .balign 8
{symbol}: {words}
"""
FUNCTION = """
    .text
    .globl {symbol}
    .type {symbol}, @function
{symbol}: {body}
    ret
"""


def assembly(symbol):
    # Types have names by which programs find them, and no base classes; virtual functions are not called.
    if symbol.startswith("_ZTI"):
        words = f'.quad _ZTVN10__cxxabiv117__class_type_infoE + 16, 1f\n1:  .asciz "{symbol[len("_ZTI"):]}"'
        return DATA.format(symbol=symbol, size=16, words=words)
    if symbol.startswith("_ZTV"):
        return DATA.format(symbol=symbol, size=1024, words=".skip 1024")
    body = "lea scratch(%rip), %rax" if symbol.startswith("_Z") else f"mov ${NO_DEVICE}, %eax"
    return FUNCTION.format(symbol=symbol, body=body)


def linked(path, *options):
    """What the loader says of a library."""
    got = subprocess.run(["ldd", *options, path], capture_output=True, text=True, check=False)
    return got.stdout + got.stderr


def link(path, text, *options):
    subprocess.run(["cc", "-shared", "-nostdlib", "-Wl,-soname," + os.path.basename(path), *options, "-o", path,
                    "-xassembler", "-"], input=text, text=True, check=True)


def stand_in(folder, name):
    """An empty library that has the version which others ask it for, as NVIDIA's versions are called."""
    script = os.path.join(folder, "version")
    with open(script, "w", encoding="ascii") as file:
        file.write(name + " {};\n")
    link(os.path.join(folder, name), "", "-Wl,--version-script=" + script)
    os.remove(script)


def make(library, left_out, holder):
    """What a library misses, beside it. left_out: beginnings of names of libraries that are not to be used even where
    the machine has them. The loader asks each library for its version, but any for a symbol: the holder, which nobody
    asks for a version, has them all."""
    folder = os.path.dirname(library)
    for line in linked(library).splitlines():
        name = line.split()[0]
        if "not found" in line or name.startswith(left_out):
            stand_in(folder, name)
    # Those of Python are the interpreter's.
    symbols = set(re.findall(r"undefined symbol: (?!_?Py)(\w+)", linked(library, "-r")))
    link(os.path.join(folder, holder), SCRATCH + "".join(map(assembly, sorted(symbols))))
