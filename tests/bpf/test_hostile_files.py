#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# alone: -a traces the programs of other tests, too, and the memory of the tracer is measured
"""Libraries that are made to use up or crash their reader: totals stay right, other files are named, memory is bounded,
and the session ends in time. The readers have no privileges and leave nobody behind."""
import json
import mmap
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import time
import zlib

import lib
import test_quota
from lib import LOOK, MIB, Target, Tool, check, equal, until

sys.path[1:1] = [os.path.join(lib.TOP, "tests"), os.path.join(lib.TOP, "tests/recordings")]
import recfile  # noqa: E402
import stacklib  # noqa: E402

LIBRARY = os.path.join(lib.BUILT, "usr/lib-stacks/libstacks.so")
ENDS_WITHIN = 30            # seconds: it takes less than one on an idle machine
TRACER_MIB = 200
END = 0x8007
NO_MEMORY = "could not be read: gpumemtrace or the machine had no memory left"
NO_READERS = "programs and libraries cannot be read any more"

HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
SECTION = struct.Struct("<IIQQQQIIQQ")
SYMBOL = struct.Struct("<IBBHQQ")
PROGBITS, SYMTAB, STRTAB, COMPRESSED = 1, 2, 3, 0x800
DW_TAG_compile_unit, DW_AT_ranges, DW_FORM_sec_offset = 0x11, 0x55, 0x17


# ---- hostile files: libstacks.so, whose segments stay, with other sections ----

def section(kind=0, name=0, flags=0, offset=0, size=0, link=0, entry=0):
    return SECTION.pack(name, kind, flags, 0, offset, size, link, 0, 8, entry)


def make_hostile(sections, contents, size=0, count=None, names=0):
    """contents: {offset behind the library's own bytes: bytes}; sections(base): the table. Sparse up to `size`."""
    path = os.path.join(lib.folder(), "libhostile.so")
    with open(LIBRARY, "rb") as file:
        own = bytearray(file.read())
    base = (len(own) + 4095) & -4096
    table = b"".join(sections(base + 4096))
    head = list(HEADER.unpack_from(own))
    head[6], head[12], head[13] = base, len(table) // SECTION.size if count is None else count, names
    own[:HEADER.size] = HEADER.pack(*head)
    check(len(table) <= 65536)
    with open(path, "wb") as file:
        file.write(own)
        file.seek(base)
        file.write(table)
        for offset, data in contents.items():
            file.seek(base + 4096 + offset)
            file.write(data)
        file.truncate(max(size, file.tell()))
    return path


def symbols(count, step):
    """Functions whose names begin every `step` bytes."""
    return b"".join(SYMBOL.pack(1 + i * step, 0x12, 0, 1, 0x1000 + i % 64, 16) for i in range(count))


def long_names():
    """60,000 symbols with names of megabytes"""
    data, names = symbols(60000, 1), b"\0" + b"a" * (8 * MIB) + b"\0"
    return make_hostile(lambda at: [section(), section(SYMTAB, offset=at, size=len(data), link=2, entry=24),
                                    section(STRTAB, offset=at + len(data), size=len(names))],
                        {0: data, len(data): names}, names=2)


def slow_names():
    """60,000 functions that begin with a name that is looked for in PyTorch's libc10 and go on for megabytes"""
    data, names = symbols(60000, 0), b"\0_ZN3c1027reportOutOfMemoryToProfilerE" + b"l" * (8 * MIB) + b"\0"
    return make_hostile(lambda at: [section(), section(SYMTAB, offset=at, size=len(data), link=2, entry=24),
                                    section(STRTAB, offset=at + len(data), size=len(names)),
                                    section(STRTAB, offset=at + len(data), size=1)],
                        {0: data, len(data): names}, names=3)


def large_table():
    """a symbol table of 300 MiB"""
    return make_hostile(lambda at: [section(), section(SYMTAB, offset=at, size=300 * MIB // 24 * 24, link=2, entry=24),
                                    section(STRTAB, offset=at, size=1)], {}, size=400 * MIB, names=2)


def many_symbols():
    """8.4 million symbols"""
    data = symbols(60000, 2) * 140
    return make_hostile(lambda at: [section(), section(SYMTAB, offset=at, size=len(data), link=2, entry=24),
                                    section(STRTAB, offset=at + len(data), size=250 * MIB)],
                        {0: data, len(data): b"\0" + b"b\0" * 60000}, size=800 * MIB, names=2)


def many_tables():
    """40 overlapping symbol tables of 255 MiB"""
    table = 255 * MIB // 24 * 24
    return make_hostile(lambda at: [section()] + [section(SYMTAB, offset=at, size=table, link=41, entry=24)] * 40 +
                        [section(STRTAB, offset=at, size=16)], {}, size=400 * MIB, names=41)


def many_sections():
    """100 million sections"""
    return make_hostile(lambda at: [section(size=100_000_000)], {}, size=6500 * MIB, count=0)


def bombs():
    """15 debug sections that unpack to 1 GiB each"""
    bomb = packed(bytes(16 * MIB), 64)
    return with_debug({name: bomb for name in b"info abbrev line str aranges ranges rnglists loc loclists line_str addr "
                       b"str_offsets types frame macro".split()})


def packed(piece, count):
    """A compressed section, of the piece so many times."""
    packer = zlib.compressobj(9)
    return b"".join([struct.pack("<IIQQ", 1, 0, len(piece) * count, 1)] + [packer.compress(piece) for _ in range(count)] +
                    [packer.flush()])


def with_debug(contents):
    """contents: {the name behind .debug_: the compressed section}"""
    text, rows, data, places = b"\0", [], b"", {}
    for name, content in contents.items():
        if content not in places:
            places[content] = len(data)
            data += content
        rows.append((len(text), places[content], len(content)))
        text += b".debug_" + name + b"\0"
    return make_hostile(lambda at: [section()] +
                        [section(PROGBITS, place, COMPRESSED, at + start, size) for place, start, size in rows] +
                        [section(STRTAB, offset=at + len(data), size=len(text))],
                        {0: data, len(data): text}, names=len(rows) + 1)


def many_units():
    """44 million compilation units (DWARF 4, 7.5.1), each of which takes memory"""
    unit = struct.pack("<IHIBB", 8, 4, 0, 8, 0)
    return with_debug({b"info": packed(unit * (MIB // 12), 500), b"abbrev": packed(bytes(8), 1)})


def long_lists():
    """10,000 compilation units, each with a million ranges (DWARF 4, 2.17.3)"""
    unit = struct.pack("<IHIBBI", 12, 4, 0, 8, 1, 0)
    abbreviation = bytes([1, DW_TAG_compile_unit, 0, DW_AT_ranges, DW_FORM_sec_offset, 0, 0, 0])
    empty = struct.pack("<QQ", 1, 1)
    return with_debug({b"info": packed(unit, 10000), b"abbrev": packed(abbreviation, 1),
                       b"ranges": packed(empty * 1000, 1000)})


def long_frames():
    """an .eh_frame that does not lie in the file"""
    path = shutil.copy(LIBRARY, os.path.join(lib.folder(), "libhostile.so"))
    with open(path, "r+b") as file:
        own = bytearray(file.read())
        table, size, count, names = (HEADER.unpack_from(own)[n] for n in (6, 11, 12, 13))
        rows = [SECTION.unpack_from(own, table + n * size) for n in range(count)]
        text = own[rows[names][4]:rows[names][4] + rows[names][5]]
        number = [text[row[0]:].split(b"\0")[0] for row in rows].index(b".eh_frame")
        file.seek(table + number * size)
        file.write(SECTION.pack(*rows[number][:5], 64 * MIB, *rows[number][6:]))
    return path


# ---- sessions ----

def peak_mib(pid):
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
        return int(re.search(r"VmHWM:\s+(\d+)", file.read()).group(1)) / 1024


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def end_in_time(tracer):
    """SIGTERM ends the session, whatever its readers do. Returns (the report, the tracer's peak of memory)."""
    peak, start = peak_mib(tracer.pid), time.monotonic()
    report = tracer.stop(signal.SIGTERM)
    check(time.monotonic() - start < ENDS_WITHIN, f"it took {time.monotonic() - start:.1f} s to end")
    return report, peak


def start(library, *tool):
    """A program whose stacks pass through the library, and a tracer that has seen them."""
    path = lib.folder() + "/run.gmt"
    tracer = Tool("-a", "-o", path, *tool, env={"GPUMEMTRACE_CACHE": lib.folder()}).ready()
    target = Target("stacks", hold="expected", env={"STACKS_STAYS": "1", "STACKS_LIBRARY": library})
    target.wait("expected")
    return tracer, target, path


def go_on(target):
    os.kill(int([line for line in target.err if line.startswith("pid=")][-1][4:]), signal.SIGUSR1)
    target.wait("end")


def finish(target):
    target.line()
    equal(target.finish()[0], 0, "exit status " + target.stderr())


def allocated(report, pid):
    return sum(row["classes"]["device"]["allocs"] for row in lib.process_of(report, pid)["gpus"])


def traced(library, *tool, until=None):
    """`until`: what has to stand in a message before the session is ended."""
    tracer, target, path = start(library, *tool)
    pid = int([line for line in target.err if line.startswith("pid=")][-1][4:])
    go_on(target)
    tracer.idle()
    if until:
        tracer.wait_line(lambda: any(until in line for line in tracer.err), until)
        tracer.idle()
    report, peak = end_in_time(tracer)
    finish(target)
    records = list(recfile.read(path))
    equal(struct.unpack_from("<H", records[-1], 2)[0], END, "the last record")
    check(peak < TRACER_MIB, f"the tracer took {peak:.0f} MiB")
    return report, allocated(report, pid), stacklib.Stacks(path), tracer.stderr()


def functions(recording):
    return {frame.function for stack in recording.stacks.values() for frame in stack.frames or ()}


def hostile_libraries():
    """names of megabytes, 40 tables, 100 million sections, bombs: totals, other names, memory, time to end"""
    _, wanted, _, _ = traced(LIBRARY)
    for make in (long_names, many_tables, many_sections, bombs, many_symbols, many_units, long_lists):
        _, allocs, recording, _ = traced(make())
        equal(allocs, wanted, f"{make.__doc__}: allocations")
        check({"cuMemAlloc_v2", "stacks_allocate", "_start"} <= functions(recording), f"{make.__doc__}: names are missing")


def refused_files_are_told():
    """files that need too much memory or time: one sentence, one count, and their frames without names"""
    ended = "takes too long to read: gpumemtrace ended its reader after 5 s of processor time"
    for make, why, loss in ((many_units, "needs more memory to be read than 1 GiB", "file_refused"),
                            (long_lists, ended, "reader_ended")):
        library = make()
        # with room for the tracer beside the reader: the reader's own bound is reached first
        report, _, recording, said = traced(library, "--memory", "4G", until=library)
        lines = [line for line in said.splitlines() if library in line]
        check(len(lines) == 1 and f"because it {why}" in lines[0], said)
        equal({name: n for name, n in report["losses"].items() if name in ("file_refused", "reader_ended")},
              {"file_refused": 0, "reader_ended": 0, loss: 1}, "files that could not be read")
        frames = [f for s in recording.stacks.values() for f in s.frames or () if f.module == library]
        check(frames and not any(frame.function for frame in frames), "frames of the file:", *frames)


def in_its_name(content, name="libcuda.so.1"):
    """A file with a library's name: the bytes, or the file at this path."""
    path = os.path.join(lib.folder(), name)
    os.chmod(os.path.dirname(path), 0o755)
    if isinstance(content, bytes):
        with open(path, "wb") as file:
            file.write(content)
    else:
        os.rename(content, path)
    return path


def no_libraries():
    """Files with libcuda's name, and why each of them cannot be read as a library."""
    with open(lib.LIB, "rb") as file:
        cut = file.read()[:8192]
    return {in_its_name(b"no library\n" * 1000): "not an ELF file, or its headers are damaged",
            in_its_name(cut): "cut off: the code extends beyond the end of the file",
            in_its_name(many_sections()): "no section headers",
            in_its_name(large_table()): "the symbol table is damaged, too large or has no names"}


def told_of(tracer, path):
    return [line for line in tracer.err if path in line]


def wait_told(tracer, path):
    tracer.wait_line(lambda: told_of(tracer, path), path)


def files_that_are_no_libraries():
    """files with a library's name that cannot be read: each is told once with its process, and a user's are counted"""
    files, recording = no_libraries(), lib.folder() + "/run.gmt"
    tracer = Tool("-a", "--strict", "-o", recording).ready()
    data = in_its_name(b"data")
    with open(data, "rb") as file, mmap.mmap(file.fileno(), 0, mmap.MAP_PRIVATE, mmap.PROT_READ):
        first = test_quota.mapper(0, *files, user=True)
        for path, why in files.items():
            wait_told(tracer, path)
            [said] = told_of(tracer, path)
            check(f"process {first.pid} of user {test_quota.USER} has mapped {path}," in said and why in said and
                  "Replace the file" in said, said)
        more = [in_its_name(b"more") for _ in range(3)]
        [sound] = test_quota.copies(1)
        again = test_quota.mapper(0, *files, *more, sound, user=True)
        tracer.probes(sound)            # the look that finds this file finds the files that were mapped before
        slow = in_its_name(slow_names(), "libc10.so")
        of_root = test_quota.mapper(0, slow)
        wait_told(tracer, slow)
    tracer.send(signal.SIGINT)
    report = tracer.report()
    equal(report["exit_status"], 5, "exit status with --strict")
    check("the file takes too long to read" in told_of(tracer, slow)[0], *told_of(tracer, slow))
    equal([len(told_of(tracer, path)) for path in (*files, *more, slow, data)], [1] * len(files) + [0] * 3 + [1, 0],
          "sentences: " + tracer.stderr())
    equal(tracer.stderr().count("are counted, not named"), 1, "sentences: " + tracer.stderr())
    equal(report["losses"]["reader_ended"], 1, "files whose reader was ended")
    wanted = {f"calls through files of user {test_quota.USER} are not traced": f"{len(files) + 3} files cannot be read",
              "calls through files of user 0 are not traced": "1 file cannot be read"}
    check_limits(report, wanted)
    check_limits(json.loads(lib.run([lib.TOOL, "replay", "--json", recording]).stdout), wanted)
    for process in first, again, of_root:
        process.line()


def many_that_are_no_libraries():
    """a user maps more such files than are read in a minute: the others wait, that is said, and the session goes on"""
    place = lib.folder()
    os.chmod(place, 0o755)
    files = [os.path.join(place, str(i), "libcuda.so.1") for i in range(1500)]
    for path in files:
        os.mkdir(os.path.dirname(path))
        with open(path, "wb") as file:
            file.write(b"data")
    test_quota.mapper(0, *files, user=True)
    done = lib.run([lib.TOOL, "-a", "-d", "0.2", "--driver-root", lib.ROOT, "--oom-dir", "off", "--no-live", "--json"])
    report = json.loads(done.stdout.splitlines()[-1])
    check_limits(report, {f"calls through files of user {test_quota.USER} are not traced": "256 files cannot be read"})
    check(any("has to wait" in note or "to probe libraries failed" in note for note in report["notes"]), report["notes"])


def check_limits(report, wanted):
    found = {limit["what"]: limit for limit in report["limits"] if "calls through files" in limit["what"]}
    equal(set(found), set(wanted), "limits")
    for what, why in wanted.items():
        check(found[what]["why"].startswith(why) and " of process " in found[what]["why"] and
              "Replace the file" in found[what]["remedy"], found[what])


def damage_is_no_error_of_storage():
    """a file that lacks the bytes of its .eh_frame: no table and its functions' names, and nothing is said of its storage"""
    library = long_frames()
    report, _, recording, said = traced(library)
    check(library not in said, said)
    equal(report["losses"]["file_refused"], 0, "files that could not be read")
    check("stacks_allocate" in functions(recording), "names are missing:", *functions(recording))


# ---- the readers themselves ----

def readers_of(tracer):
    """(the keeper, its workers)"""
    keepers = [pid for pid in lib.descendants(tracer.pid) if status(pid, "PPid") == str(tracer.pid)
               and status(pid, "Name") == "gmt-parser"]
    equal(len(keepers), 1, "keepers of " + str(tracer.pid))
    return keepers[0], [pid for pid in lib.descendants(keepers[0]) if status(pid, "Name") == "gmt-parse"]


def status(pid, field):
    try:
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
            return re.search(rf"^{field}:\s*(\S+)", file.read(), re.M).group(1)
    except (FileNotFoundError, ProcessLookupError, AttributeError):
        return None


def readers_have_nothing():
    """no user, no capabilities, no new privileges, a filter, and no open files but a socket and the files that are read"""
    tracer, target, _ = start(LIBRARY)
    tracer.idle()
    _, workers = readers_of(tracer)
    check(workers, "no worker")
    for pid in filter(is_alive, workers):       # one that reads a library for its probes is gone soon
        wanted = {"CapEff": "0" * 16, "CapPrm": "0" * 16, "CapInh": "0" * 16, "NoNewPrivs": "1", "Seccomp": "2",
                  "Uid": "65534", "Gid": "65534"}
        equal({field: status(pid, field) for field in wanted}, wanted, "a worker's status")
        opened = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
        strange = [o for o in opened if re.match(r"pipe:|anon_inode:|/proc/|/dev/(?!null)|.*\.gmt", o)]
        strange += [o for o in opened if o.startswith("socket:")][1:]
        check(not strange, "a worker has open:", *strange)
        with open(f"/proc/{pid}/environ", "rb") as file:
            check(not file.read().strip(b"\0"), "a worker has an environment")
    go_on(target)
    end_in_time(tracer)
    finish(target)


def readers_are_replaced():
    """workers that die of SIGSEGV: the names that are asked for afterwards come all the same"""
    tracer, target, path = start(LIBRARY)
    tracer.idle()
    _, workers = readers_of(tracer)
    for pid in workers:
        os.kill(pid, signal.SIGSEGV)
        check(until(lambda pid=pid: not is_alive(pid)), "a worker does not end")
    go_on(target)
    tracer.idle()
    report, _ = end_in_time(tracer)
    finish(target)
    equal(report["losses"]["file_refused"], 0, "files that could not be read")
    nameless = [str(f) for s in stacklib.Stacks(path).stacks.values() for f in s.frames or ()
                if os.path.basename(f.module) in ("libcuda.so.1", "stacks") and not f.function]
    check(not nameless, *nameless)


def no_readers_any_more():
    """kill -9 of the process that starts readers: said once, no file is blamed, and the totals stay right"""
    _, wanted, _, _ = traced(LIBRARY)
    tracer, target, _ = start(LIBRARY)
    tracer.idle()
    keeper, workers = readers_of(tracer)
    os.kill(keeper, signal.SIGKILL)
    tracer.wait_line(lambda: any(NO_READERS in line for line in tracer.err), NO_READERS)
    for pid in workers:
        check(until(lambda pid=pid: not is_alive(pid)), "a reader does not end")
    pid = int([line for line in target.err if line.startswith("pid=")][-1][4:])
    go_on(target)
    tracer.idle()
    report, _ = end_in_time(tracer)
    finish(target)
    equal(allocated(report, pid), wanted, "allocations")
    said = [line for line in tracer.err if NO_READERS in line]
    check(len(said) == 1 and f"(pid {keeper})" in said[0], *said)
    check(not [line for line in tracer.err if "crashed" in line], *tracer.err)
    equal([limit["what"] for limit in report["limits"]], [NO_READERS], "limits")


def limit_processes(keeper, most):
    """As the keeper's own user, who may do that without a capability."""
    subprocess.run(["prlimit", f"--pid={keeper}", f"--nproc={most}:"], user=65534, group=65534, extra_groups=[], check=True)


def a_lack_of_processes_passes():
    """no process for a reader: said once, and the library is probed once there can be readers again"""
    copy = shutil.copy(lib.LIB, lib.folder())
    tracer = Tool("-a").ready()
    keeper, _ = readers_of(tracer)
    limit_processes(keeper, 0)
    target = Target("basic", hold="start", lib=copy)
    tracer.wait_line(lambda: any(NO_MEMORY in line for line in tracer.err), NO_MEMORY)
    target.wait("start")
    limit_processes(keeper, 10000)
    tracer.probes(copy)
    target.go()
    books = target.books()
    report = tracer.stop()
    lib.compare(report, target.pid, books, clean=False)
    equal(len([line for line in tracer.err if f"{copy}: the file {NO_MEMORY}" in line]), 1, "sentences: " + tracer.stderr())
    check([note for note in report["notes"] if "to probe libraries failed" in note and copy in note], report["notes"])


def nobody_is_left():
    """kill -9 of the tracer: no reader stays"""
    tracer, target, _ = start(LIBRARY)
    tracer.idle()
    keeper, workers = readers_of(tracer)
    tracer.send(signal.SIGKILL)
    tracer.finish()
    for pid in [keeper, *workers]:
        check(until(lambda pid=pid: not is_alive(pid)), "a reader does not end")
    go_on(target)
    finish(target)


def only_the_name_of_a_library():
    """a process whose libcuda.so.1 is none: one sentence says which file and why, and the status is 3"""
    path, other = (os.path.join(lib.folder(), "libcuda.so.1") for _ in range(2))
    with open(path, "wb") as file:
        file.write(b"no library " * 1000)
    shutil.copy(LIBRARY, other)
    script = ("import ctypes, mmap, os, sys\nfd = os.open(sys.argv[1], os.O_RDONLY)\n"
              "m = mmap.mmap(fd, 4096, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_EXEC)\n"
              "if sys.argv[2:]: ctypes.CDLL(sys.argv[2])\nprint('mapped', flush=True)\nsys.stdin.read()")
    for mapped, why in (path, "not an ELF file"), (other, "does not export the CUDA driver API"):
        for real, status in ([], 3), ([lib.LIB], 0):
            child = lib.Process([sys.executable, "-c", script, mapped, *real])
            child.wait_line(lambda: child.out, "the mapping")
            done = lib.run([lib.TOOL, "--driver-root", lib.ROOT, "-p", str(child.pid), "-d", "0.2", "--no-live"])
            out, err = done.stdout, done.stderr
            equal(done.returncode, status, f"exit status with {mapped} {real}: {err}")
            said = [line for line in err.splitlines() if "ps' lists" not in line]
            told = mapped == path or not real     # a sound library may load the real one
            equal(len(said), int(told), f"sentences with {mapped} {real}: {err}")
            check(not told or all(word in said[0] for word in (f"process {child.pid}", mapped, why)), err)
            equal("cannot be read" in out, mapped == path, f"the report with {mapped} {real}: {out}")


lib.main(hostile_libraries, refused_files_are_told, files_that_are_no_libraries, many_that_are_no_libraries,
         only_the_name_of_a_library, damage_is_no_error_of_storage, readers_have_nothing, readers_are_replaced,
         no_readers_any_more, a_lack_of_processes_passes, nobody_is_left)
