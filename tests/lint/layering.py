#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Rows and rooms: who may include and call whom, that there are no circles, and that a row's objects lack what the row
must not use."""
import collections
import glob
import os
import re
import subprocess

from tap import BUILD, TOP, Tap, files, text

# The rooms of user/ from bottom to top, each with the rooms whose headers it may include. These rooms stand above it in the
# table, so that arrows between rooms point one way. The first part of a room's name is its row, as in the README; live is
# the only user of libbpf. "x/*" stands for all rooms of a row.
ROOMS = {
    "base": "",
    "parse": "base",
    "core/terms": "base",
    "core/rm": "base core/terms",
    "core/account": "base core/terms core/rm",
    "core/ledger": "base core/terms core/account core/rm",
    "core/framework": "base core/terms core/account core/rm core/ledger",
    "core/history": "base core/terms core/account core/rm core/ledger core/framework",
    "core/timeline": "base core/terms core/account core/rm core/ledger core/framework",
    "core/lives": "base core/terms core/account core/rm core/ledger core/framework",
    "core/snapshot": "base core/terms core/account core/rm core/ledger core/framework core/history",
    "core/oom": "base core/terms core/account core/rm core/ledger core/framework core/history",
    "core/pipeline": "base core/terms core/ledger core/framework core/history core/timeline core/lives core/oom",
    "core/view": "base core/*",
    "core/compare": "base core/*",
    "source": "base core/terms",
    "symbol/elf": "base parse core/terms",
    "symbol/python": "base parse core/terms symbol/elf",
    "symbol/unwind": "base parse core/terms symbol/elf",
    "symbol": "base parse core/terms symbol/*",
    "sink": "base core/terms core/view",
    "sink/text": "base core/terms core/view sink",
    "sink/records": "base core/terms",
    "sink/json": "base core/terms core/view sink sink/text",
    "sink/report": "base core/terms core/view sink sink/text",
    "sink/oom": "base core/terms core/view sink sink/text sink/json sink/report",
    "sink/compare": "base core/terms core/view core/compare sink sink/text sink/json",
    "sink/formats": "base core/terms core/view sink sink/text sink/compare sink/records sink/json sink/report sink/oom",
    "sink/export": "base core/terms core/view core/snapshot sink sink/text",
    "sink/html": "base core/terms core/view sink sink/text sink/report sink/oom sink/compare",
    "sink/perfetto": "base core/terms core/view sink sink/text sink/export",
    "sink/sqlite": "base core/terms core/view sink",
    "screen": "base core/terms core/view sink sink/text sink/report",
    "live": "base core/terms core/pipeline source",
    "live/bpf": "base core/terms live",
    "live/framework": "base core/terms live live/bpf",
    "live/process": "base core/terms live live/bpf live/framework",
    "live/nvidia": "base core/terms live live/bpf live/process",
    "live/select": "base core/terms live live/framework live/process live/nvidia",
    "live/probe": "base parse core/terms symbol/elf live live/bpf live/framework live/process live/nvidia",
    "live/stacks": "base parse core/terms symbol symbol/* live live/bpf live/framework live/process",
    "live/features": "base parse core/terms live live/bpf live/framework live/process live/nvidia live/probe",
    "cli": "base core/terms core/account core/history sink",
    "top": "base parse core/* source symbol symbol/* sink sink/* screen live live/* cli",
    "commands": "base core/* source symbol symbol/* sink sink/* live live/* cli top",
}
# A header of few rooms.
PRIVATE = {"core/ledger/ledger_state.h": {"core/ledger", "core/oom", "core/history", "core/lives", "core/view", "core/compare"}}
FOLDER_SOURCES = 25  # .c files in a folder
REPLACING = {"nvml_none.o", "glibc_old.o"}  # what the linker takes instead of nvml.o, and of the C library
TABLES = {"user/sink/registry.o"}  # its rows are what other rooms of the same row define
PROGRAMS = {"tests/standin/workloads"}  # where each is a program by itself

LINES = "user/symbol/elf/lines"  # the one user of libdw, which is made of libelf
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)
# The core computes: it gets time and data from records alone.
CORE_NEVER = re.compile(r"^(v?f?printf|puts|putchar|f?open(64)?|openat|read|write|fread|fwrite|fgets|getline|ioctl|mmap(64)?"
                        r"|clock_gettime|gettimeofday|time|getenv|getpid|dlopen|socket|pthread_\w+|sleep|nanosleep|stderr|stdout"
                        r"|readlink|stat(64)?|opendir|system|popen|fork|exit|rand|random)$")


def room(name):
    """Of a file below user/, given with or without that; a header of bpf/ compiles as ordinary C and needs nothing."""
    if name.startswith("bpf/"):
        return "base"
    return os.path.dirname(name.removeprefix("user/")) or "top"


def may_see(name):
    named = set(ROOMS.get(name, "").split())
    return {name} | {r for r in ROOMS if r in named or r.split("/")[0] + "/*" in named and "/" in r}


def includes():
    """(file of user/, how, what is included, the file of user/ or bpf/ that is meant or None)"""
    for name in files("user", ends=(".c", ".h")):
        for kind, included in INCLUDE.findall(text(name)):
            beside = os.path.normpath(os.path.join(os.path.dirname(name), included))
            found = [path for path in (beside, "user/" + included) if kind == '"' and os.path.isfile(os.path.join(TOP, path))]
            yield name, kind, included, found[0].removeprefix("user/") if found else None


def wrong_table():
    for position, (name, named) in enumerate(ROOMS.items()):
        above = list(ROOMS)[:position]
        for other in named.split():
            if not any(other == r or other == r.split("/")[0] + "/*" for r in above):
                yield f"{name} may include {other}, which is not a room above it"
    used = {room(name) for name in files("user", ends=(".c", ".h"))}
    yield from (f"{name} is not a room of the table" for name in sorted(used - set(ROOMS)))
    yield from (f"the table's {name} has no files" for name in sorted(set(ROOMS) - used))


def wrong_includes():
    for name, kind, included, leads in INCLUDES:
        if kind == '"' and not leads:
            yield f"{name}: {included} is not a file of user/"
        if re.match(r"(bpf|libbpf)/|(gelf|libelf)\.h", included) and row(name) != "live" \
                and not (name == LINES + ".c" and "bpf" not in included):
            yield f"{name}: includes <{included}>; only user/live may"
        if leads in PRIVATE and room(name) not in PRIVATE[leads]:
            yield f"{name}: includes {leads}, which is for {' '.join(sorted(PRIVATE[leads]))}"


def row(name):
    return room(name).split("/")[0]


def back_arrows():
    return sorted({f"{name} > {leads}" for name, _, _, leads in INCLUDES if leads and room(leads) not in may_see(room(name))})


def in_circles(arrows):
    """Modules from which includes, or calls, lead back to them."""
    graph = collections.defaultdict(set)
    for name, leads in arrows:
        name, leads = (os.path.splitext(path.removeprefix("user/"))[0] for path in (name, leads))
        graph[name] |= {leads} - {name}
    for start in list(graph):
        seen, todo = set(), list(graph[start])
        while todo:
            module = todo.pop()
            if module not in seen:
                seen.add(module)
                todo += graph.get(module, ())
        if start in seen:
            yield start


def shown_to_sinks():
    """Headers of the core that come with a sink's includes, without terms and views: a room below core/view calls its
    part of a view view_*.h."""
    graph = collections.defaultdict(set)
    for name, _, _, leads in INCLUDES:
        graph[name.removeprefix("user/")].add(leads)
    todo, seen = [name for name in graph if row(name) == "sink"], set()
    while todo:
        name = todo.pop()
        if name and name not in seen:
            seen.add(name)
            todo += graph.get(name, set())
    rooms = ("core/terms", "core/view", "core/compare", "core/snapshot")
    return {name for name in seen if row(name) == "core" and room(name) not in rooms
            and not os.path.basename(name).startswith("view_")}


def full_folders():
    counts = collections.Counter(os.path.dirname(name) for name in files("user", "bpf", "tests", "demos", ends=(".c",)))
    for folder, count in counts.items():
        if count > FOLDER_SOURCES and folder not in PROGRAMS:
            yield f"{folder}: {count} .c files, {FOLDER_SOURCES} are enough"


def same_names():
    """A name is that of one file; and x.c stands beside its x.h."""
    places = collections.defaultdict(list)
    for name in files("user", "bpf", "include", ends=(".c", ".h", ".S")):
        places[os.path.basename(name)].append(name)
    yield from (" and ".join(names) for names in places.values() if len(names) > 1)
    for name, (path,) in ((n, p) for n, p in places.items() if n.endswith(".c") and len(p) == 1):
        header = places.get(name[:-2] + ".h")
        if header and os.path.dirname(header[0]) != os.path.dirname(path):
            yield f"{path} and {header[0]}"


def wrong_contracts():
    for name in files("include", ends=(".h",)):
        for _, included in INCLUDE.findall(text(name)):
            if not included.startswith("gpumemtrace/") and included != "linux/types.h":
                yield f"{name}: includes {included}"
    for name in files("bpf"):
        for _, included in INCLUDE.findall(text(name)):
            if not re.match(r"gpumemtrace/|bpf/bpf_\w+\.h$|vmlinux\.h$|\w+\.bpf\.h$", included):
                yield f"{name}: includes {included}"


def nvidias_numbers():
    """The driver's constants that are defined elsewhere than in nv.h."""
    for name in files("user", ends=(".c", ".h")) + files("bpf"):
        for constant in re.findall(r"^\s*#\s*define\s+((?:NV|NVOS|UVM)\d*_\w+)", text(name), re.M):
            yield f"{name}: {constant} belongs into include/gpumemtrace/nv.h"


def nm(path):
    """(member, symbol) of all undefined symbols."""
    run = subprocess.run(["nm", "-A", "-u", path], capture_output=True, text=True, check=True)
    for line in run.stdout.splitlines():
        where, symbol = line.rsplit(" ", 1)
        yield where.split(":")[-2 if where.count(":") > 1 else 0].strip(), symbol.split("@")[0]


def objects(folder):
    """Those whose source is there: a build folder keeps older ones."""
    found = glob.glob(os.path.join(BUILD, "user", folder, "**", "*.o"), recursive=True)
    return sorted(o for o in found if glob.glob(os.path.join(TOP, os.path.relpath(o, BUILD)[:-1] + "[cS]")))


def defined(path):
    """Symbols that other objects can use."""
    run = subprocess.run(["nm", "--defined-only", "-g", path], capture_output=True, text=True, check=True)
    return [line.split()[-1] for line in run.stdout.splitlines()]


def calls():
    """(object of user/, object) that the first one needs a symbol of."""
    paths = {os.path.relpath(path, BUILD): path for path in objects("") if os.path.basename(path) not in REPLACING}
    home = {symbol: name for name, path in paths.items() for symbol in defined(path)}
    return sorted({(name, home[symbol]) for name, path in paths.items() for _, symbol in nm(path) if symbol in home})


def globals_of(path):
    """Writable variables. Tables of pointers are in .data.rel.ro; the sanitizers' own begin with __."""
    run = subprocess.run(["objdump", "-t", path], capture_output=True, text=True, check=True)
    for line in run.stdout.splitlines():
        found = re.match(r"\S+ .{7} (\.t?data|\.t?bss|\*COM\*|\.data\.(?!rel\.ro)\S+)\s+(\S+)\s+(?:\.hidden )?(\S+)$", line)
        if found and int(found.group(2), 16) and not re.match(r"__|\.", found.group(3)):
            yield found.group(3)


INCLUDES = list(includes())
tap = Tap()
tap.check("the table of rooms has every room, and arrows that point one way", wrong_table())
tap.check("each include leads to a file, and to one that is for all", wrong_includes())
tap.check("rooms include those that the table permits", back_arrows())
tap.check("sinks see views and terms", sorted(shown_to_sinks()))
tap.check(f"a folder has at most {FOLDER_SOURCES} .c files", full_folders())
tap.check("one name, one file", same_names())
tap.check("include/ and bpf/ stand alone", wrong_contracts())
tap.check("NVIDIA's numbers stand once", nvidias_numbers())
library = os.path.join(BUILD, "libgmt.a")
if os.path.exists(library):
    CALLS = calls()
    tap.check("rooms call those that the table permits",
              [f"{a} > {b}" for a, b in CALLS if room(b) not in may_see(room(a)) and not (a in TABLES and row(a) == row(b))])
    circles = {*in_circles((name, leads) for name, _, _, leads in INCLUDES if leads), *in_circles(CALLS)}
    tap.check("no circle of files", sorted(circles))
    bad = [f"{m} needs {s}" for m, s in nm(library) if m != os.path.basename(LINES) + ".o"
           and re.match(r"(bpf_|btf__|libbpf_|ring_buffer__|elf_|gelf_)", s)]
    tap.check("rows 0 to 3 need neither libbpf nor libelf", bad)
    bad = [f"{os.path.basename(o)} uses {s}" for o in objects("core") for _, s in nm(o) if CORE_NEVER.match(s)]
    tap.check("the core does no I/O and asks no clock", bad)
    bad = [f"{os.path.relpath(o, BUILD)}: {g}" for f in sorted({name.split("/")[0] for name in ROOMS} - {"top"}) for o in objects(f)
           for g in globals_of(o)]
    tap.check("no writable globals below the top row", bad)
else:
    tap.check("the library is built", ["no " + library])
tap.done()
