#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Damaged recordings through the whole command line: every command ends with a documented status, its data can be read,
and no sanitizer has a word to say.

The damage follows from a seed. It lies in the file (flipped bits, cuts), or in the records, which are compressed again
so that the damage reaches all that reads records. MUTATIONS=N: so many files, from seed MUTATION_SEED on. A file that is
handled badly stays in the build directory. With the binary of `make SAN=1` the sanitizers look on: .ci/run.
"""
import ctypes
import ctypes.util
import glob
import json
import os
import pickle
import random
import re
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from cases import BIN, PATIENCE, TOP, check, done  # noqa: E402

sys.path.insert(0, os.path.join(TOP, "tests/recordings"))
import recfile  # noqa: E402
import wire  # noqa: E402

SANITIZED = subprocess.run(["grep", "-q", "__asan_init", BIN], check=False).returncode == 0
COUNT = int(os.environ.get("MUTATIONS", "300" if SANITIZED else "100"))
SEED = int(os.environ.get("MUTATION_SEED", "1"))
DATA = sorted(glob.glob(os.path.join(TOP, "tests/data/*.gmt")) + glob.glob(os.path.join(TOP, "tests/data/kept/*.gmt")))
KEPT = os.path.join(os.path.dirname(BIN), "mutations")
MEMORY_MIB = 2000                       # that a file of 160 KB may take at most, with the sanitizers' shadow
CONTROL = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]")
NUMBERS = (0, 1, 2, 3, 7, 8, 63, 64, 65, 127, 255, 256, 4095, 65535, 65536, 1 << 20, 0x7fffffff, 0x80000000, 0xffffffff,
           1 << 32, (1 << 48) - 1, 1 << 62, (1 << 63) - 1, 1 << 63, (1 << 64) - 8, (1 << 64) - 1)
W = wire.Wire()
KINDS = {number: struct_name for number, struct_name in W.kinds.values()}


def fields_of(record):
    """(offset, code of struct) of each number of a record, without its size."""
    at, found = 0, []
    for name, count, code in W.structs.get(KINDS.get(struct.unpack_from("<HH", record)[1], ""), []):
        size = struct.calcsize(code)
        if name != "hdr.size":
            found += [(at + i * size, code) for i in range(min(count, 8)) if at + (i + 1) * size <= len(record)]
        at += size * count
    return found


# ---- damage to records: each changes a list of bytearrays ----

def flip_bits(rng, records):
    for _ in range(rng.choice((1, 1, 4, 30))):
        record = rng.choice(records)
        record[rng.randrange(2, len(record))] ^= 1 << rng.randrange(8)


def set_field(rng, records, wanted=None):
    some = [r for r in records if wanted is None or struct.unpack_from("<HH", r)[1] in wanted] or records
    for _ in range(rng.choice((1, 1, 3, 10))):
        record = rng.choice(some)
        places = fields_of(record)
        if not places:
            continue
        at, code = rng.choice(places)
        size = struct.calcsize(code)
        value = rng.choice(NUMBERS) if rng.random() < 0.7 else rng.getrandbits(64)
        record[at:at + size] = (value & (1 << 8 * size) - 1).to_bytes(size, "little")


def set_window(rng, records):
    """A number of a dump's window or of its request."""
    first, last = W.kinds["HISTORY"][0], W.kinds["HISTORY_MARK"][0]
    set_field(rng, records, {*range(first, last + 1), W.kinds["OOM"][0]})


def copy_field(rng, records):
    """A number of one record in another: handles and addresses that are used again."""
    a, b = rng.choice(records), rng.choice(records)
    size = min(len(a), len(b))
    if size > 24:
        at = rng.randrange(24, size, 8)
        b[at:at + 8] = a[at:at + 8]


def set_sizes(rng, records):
    for _ in range(rng.choice((1, 3))):
        record = rng.choice(records)
        struct.pack_into("<H", record, 0, rng.choice((0, 8, 16, 24, 32, len(record) - 8, len(record) + 8, 65528, 65535,
                                                      rng.randrange(65536))) & 0xffff)


def cut_record(rng, records):
    """A record that is shorter or longer than its kind, and says so."""
    i = rng.randrange(len(records))
    size = rng.randrange(24, len(records[i]) + 128, 8)
    records[i] = bytearray(records[i][:size].ljust(size, bytes([rng.randrange(256)])))
    struct.pack_into("<H", records[i], 0, size)


def change_kind(rng, records):
    struct.pack_into("<H", rng.choice(records), 2, rng.choice((*KINDS, 0, 200, 65535)))


def reorder(rng, records):
    for _ in range(rng.choice((1, 10, 100))):
        a, b = rng.randrange(len(records)), rng.randrange(len(records))
        how = rng.randrange(3)
        if how == 0:
            records[a], records[b] = records[b], records[a]
        elif how == 1:
            records.insert(a, bytearray(records[b]))
        elif len(records) > 1:
            del records[a]


RECORD_DAMAGE = (flip_bits, set_field, set_field, set_window, set_window, copy_field, set_sizes, cut_record, change_kind,
                 reorder)


# ---- damage to files ----

def flip_file(rng, data):
    for _ in range(rng.choice((1, 5, 50))):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return data


def cut_file(rng, data):
    return data[:rng.randrange(len(data))]


def splice_file(rng, data):
    a, b, size = rng.randrange(len(data)), rng.randrange(len(data)), rng.randrange(1, 4096)
    data[a:a + rng.choice((0, size))] = data[b:b + size]
    return data


def set_numbers(rng, data):
    """Numbers of the header and the blocks' heads: each has a check, which is not mended."""
    at = rng.randrange(0, min(len(data), 64) - 4, 4)
    struct.pack_into("<I", data, at, rng.choice(NUMBERS) & 0xffffffff)
    return data


FILE_DAMAGE = (flip_file, cut_file, splice_file, set_numbers)


class Packer:
    """Writes records as a recording, compressed by libzstd: recfile.write() is slow."""

    def __init__(self):
        self.lib = ctypes.CDLL(ctypes.util.find_library("zstd") or "libzstd.so.1")
        self.lib.ZSTD_compress.restype = ctypes.c_size_t
        self.lib.ZSTD_compress.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int]

    def block(self, kind, sequence, raw, records):
        room = ctypes.create_string_buffer(len(raw) + (len(raw) >> 6) + 1024)
        size = self.lib.ZSTD_compress(room, len(room), bytes(raw), len(raw), 1)
        head = recfile.BLOCK.pack(recfile.BLOCK_MAGIC, kind, 0, sequence, size, len(raw), records, 0, 0)
        return head + struct.pack("<I", recfile.fnv1a(head)) + room.raw[:size]

    def file(self, records):
        out = recfile.HEADER.pack(recfile.MAGIC, recfile.BYTE_ORDER, 1, 0, recfile.HEADER.size, 0)
        sequence, part, size = 0, [], 0
        for record in [*records, None]:
            if record is None or size + len(record) > recfile.RAW_MAX:
                out += self.block(recfile.RECORDS, sequence, b"".join(part), len(part))
                sequence, part, size = sequence + 1, [], 0
            if record is not None:
                part.append(record)
                size += len(record)
        trailer = recfile.TRAILER.pack(sequence, len(records), sum(map(len, records)), 0, 0, 0, 0)
        return out + self.block(2, sequence, trailer, 0)


def make(seed, sources, packer):
    """(what was done, bytes)"""
    rng = random.Random(seed)
    name = rng.choice(list(sources))
    data, records = sources[name]
    if rng.random() < 0.2:
        damage = rng.choice(FILE_DAMAGE)
        return f"{damage.__name__} of {name}", bytes(damage(rng, bytearray(data)))
    records = [bytearray(r) for r in records]
    done_to = rng.sample(RECORD_DAMAGE, rng.choice((1, 1, 2, 4)))
    for damage in done_to:
        damage(rng, records)
    return f"{', '.join(d.__name__ for d in done_to)} of {name}", packer.file(records)


# ---- what is run ----

def commands(path, folder):
    file = os.path.join(folder, "file")
    yield ["replay", path], None
    yield ["replay", "--json", "--folded", file + ".folded", "--html", file + ".html", "--pprof", file + ".pb.gz",
           "--perfetto", file + ".pftrace", "--sqlite", file + ".sqlite", "--snapshot", file + ".pickle", path], file + ".pickle"
    yield ["oom", "--verbose", path], None
    yield ["oom", "--json", "--snapshot", file + ".oom.pickle", path], file + ".oom.pickle"
    yield ["diff", path, DATA[0]], None
    yield ["diff", "--json", path, path], None
    yield ["report", "--full", path, DATA[0]], None
    yield ["report", "--json", path, path], None
    yield ["records", path], None
    yield ["records", "--json", path], None


def limit_memory():
    if not SANITIZED:                   # their shadow takes terabytes of addresses
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_MIB << 20,) * 2)


def what_is_wrong(arguments, pickled):
    env = dict(os.environ, UBSAN_OPTIONS="print_stacktrace=1", HOME="/nonexistent",
               ASAN_OPTIONS=f"abort_on_error=0:exitcode=99:hard_rss_limit_mb={MEMORY_MIB}")
    try:
        ran = subprocess.run([BIN, *arguments], env=env, stdin=subprocess.DEVNULL, capture_output=True, check=False,
                             timeout=PATIENCE, preexec_fn=limit_memory)
    except subprocess.TimeoutExpired:
        return f"does not end within {PATIENCE} s"
    said = ran.stderr.decode(errors="replace")
    if ran.returncode not in (0, 1) or "Sanitizer" in said or "runtime error" in said or "out of memory" in said:
        return f"status {ran.returncode}: {said[:3000]}"
    if ran.returncode and "gpumemtrace: " not in said:
        return f"status {ran.returncode} without a sentence"
    if ran.returncode:
        return None
    if CONTROL.search(ran.stdout):
        return "control characters"
    try:
        if "--json" in arguments:
            for line in ran.stdout.splitlines():
                json.loads(line)
        if pickled and os.path.exists(pickled):
            with open(pickled, "rb") as file:
                pickle.load(file)
    except Exception as error:          # whatever the readers say
        return f"the output cannot be read: {error!r}"
    return None


def one(seed, sources, packer):
    """What is wrong with a file's handling."""
    wrong = []
    with tempfile.TemporaryDirectory(prefix="gmt-mutation-") as folder:
        what, data = make(seed, sources, packer)
        path = os.path.join(folder, "damaged.gmt")
        with open(path, "wb") as file:
            file.write(data)
        for arguments, pickled in commands(path, folder):
            bad = what_is_wrong(arguments, pickled)
            if bad:
                os.makedirs(KEPT, exist_ok=True)
                kept = shutil.copy(path, os.path.join(KEPT, f"{seed}.gmt"))
                wrong.append(f"seed {seed}, {what}: gpumemtrace {' '.join(arguments).replace(path, kept)}: {bad}")
    return wrong


def main():
    packer, sources = Packer(), {}
    for path in DATA:
        with open(path, "rb") as file:
            sources[os.path.basename(path)] = (file.read(), list(recfile.read(path)))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        wrong = [w for found in pool.map(lambda seed: one(seed, sources, packer), range(SEED, SEED + COUNT)) for w in found]
    check(f"{COUNT} damaged recordings, each through 6 commands" + (", with sanitizers" if SANITIZED else ""), not wrong,
          "\n".join(wrong[:20]))
    return done()


if __name__ == "__main__":
    sys.exit(main())
