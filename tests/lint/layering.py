#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The layers: an include points to the same row or up, and what a row must not use is not in its objects."""
import glob
import os
import re
import subprocess

from tap import BUILD, TOP, Tap, files, text

# The rows of the README. A row may include those in its set; live is the only user of libbpf.
MAY = {
    "base": {"base"},
    "core": {"base", "core"},
    "source": {"base", "core", "source"},
    "symbol": {"base", "core", "symbol"},
    "sink": {"base", "core", "sink"},
    "live": {"base", "core", "source", "symbol", "live"},
    "top": {"base", "core", "source", "symbol", "sink", "live", "top"},
}
LINES = "user/symbol/elf/lines"  # the one user of libdw, which is made of libelf
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)
# The core computes: it gets time and data from records alone.
CORE_NEVER = re.compile(r"^(v?f?printf|puts|putchar|f?open(64)?|openat|read|write|fread|fwrite|fgets|getline|ioctl|mmap(64)?"
                        r"|clock_gettime|gettimeofday|time|getenv|getpid|dlopen|socket|pthread_\w+|sleep|nanosleep|stderr|stdout"
                        r"|readlink|stat(64)?|opendir|system|popen|fork|exit|rand|random)$")


def row(name):
    if re.match(r"bpf/\w+\.bpf\.h$", name):
        return "base"  # those that user space includes compile as ordinary C and need nothing
    parts = name.split("/")
    return parts[1] if len(parts) > 2 and parts[1] in MAY else "top"


def target(name, included):
    """The row an include in quotes leads to, None if to include/gpumemtrace."""
    beside = os.path.normpath(os.path.join(os.path.dirname(name), included))
    for path in (beside, "user/" + included):
        if os.path.isfile(os.path.join(TOP, path)):
            return row(path)
    return None


def wrong_includes():
    for name in files("user", ends=(".c", ".h")):
        for kind, included in INCLUDE.findall(text(name)):
            leads = target(name, included) if kind == '"' else None
            if leads and leads not in MAY[row(name)]:
                yield f"{name}: row {row(name)} includes {included} of row {leads}"
            if kind == '"' and not leads:
                yield f"{name}: {included} is not a file of user/"
            if re.match(r"(bpf|libbpf)/|(gelf|libelf)\.h", included) and row(name) != "live" \
                    and not (name == LINES + ".c" and "bpf" not in included):
                yield f"{name}: includes <{included}>; only user/live may"


def wrong_contracts():
    for name in files("include", ends=(".h",)):
        for _, included in INCLUDE.findall(text(name)):
            if not included.startswith("gpumemtrace/") and included != "linux/types.h":
                yield f"{name}: includes {included}"
    for name in files("bpf"):
        for _, included in INCLUDE.findall(text(name)):
            if not re.match(r"gpumemtrace/|bpf/bpf_\w+\.h$|vmlinux\.h$|\w+\.bpf\.h$", included):
                yield f"{name}: includes {included}"


def nm(path):
    """(member, symbol) of all undefined symbols."""
    run = subprocess.run(["nm", "-A", "-u", path], capture_output=True, text=True, check=True)
    for line in run.stdout.splitlines():
        where, symbol = line.rsplit(" ", 1)
        yield where.split(":")[-2 if where.count(":") > 1 else 0].strip(), symbol.split("@")[0]


def objects(folder):
    return sorted(glob.glob(os.path.join(BUILD, "user", folder, "**", "*.o"), recursive=True))


def globals_of(path):
    """Writable variables. Tables of pointers are in .data.rel.ro; the sanitizers' own begin with __."""
    run = subprocess.run(["objdump", "-t", path], capture_output=True, text=True, check=True)
    for line in run.stdout.splitlines():
        found = re.match(r"\S+ .{7} (\.t?data|\.t?bss|\*COM\*|\.data\.(?!rel\.ro)\S+)\s+(\S+)\s+(?:\.hidden )?(\S+)$", line)
        if found and int(found.group(2), 16) and not re.match(r"__|\.", found.group(3)):
            yield found.group(3)


tap = Tap()
tap.check("includes point to the same row or up", wrong_includes())
tap.check("include/ and bpf/ stand alone", wrong_contracts())
library = os.path.join(BUILD, "libgmt.a")
if os.path.exists(library):
    bad = [f"{m} needs {s}" for m, s in nm(library) if m != os.path.basename(LINES) + ".o"
           and re.match(r"(bpf_|btf__|libbpf_|ring_buffer__|elf_|gelf_)", s)]
    tap.check("rows 0 to 3 need neither libbpf nor libelf", bad)
    bad = [f"{os.path.basename(o)} uses {s}" for o in objects("core") for _, s in nm(o) if CORE_NEVER.match(s)]
    tap.check("the core does no I/O and asks no clock", bad)
    bad = [f"{os.path.relpath(o, BUILD)}: {g}" for f in sorted(set(MAY) - {"top"}) for o in objects(f)
           for g in globals_of(o)]
    tap.check("no writable globals below the top row", bad)
else:
    tap.check("the library is built", ["no " + library])
tap.done()
