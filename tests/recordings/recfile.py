# SPDX-License-Identifier: BSD-2-Clause
"""Reads and writes .gmt recordings (include/gpumemtrace/recfile.h) with the standard library alone.

Invariant: what write() makes depends on its records only, so that a conversion can be compared byte
for byte: its zstd frames hold stored blocks. read() needs libzstd.so.1 for what gpumemtrace wrote.
"""
import ctypes
import ctypes.util
import struct

MAGIC = b"\x89GMT\r\n\x1a\n"
HEADER = struct.Struct("<8sIHHII")
BLOCK = struct.Struct("<IHHIIIIQI")        # and the check, 4 bytes
TRAILER = struct.Struct("<QQQQQII")
BLOCK_MAGIC, BYTE_ORDER = 0x4b4c4247, 0x01020304
RECORDS, RAW_MAX = 1, 1 << 20
ZSTD_MAGIC = 0xFD2FB528                    # RFC 8878, section 3.1.1
ZSTD_STORED_MAX = 128 << 10                # RFC 8878: Block_Maximum_Size
MASK = (1 << 64) - 1


def fnv1a(data):
    value = 2166136261
    for byte in data:
        value = (value ^ byte) * 16777619 & 0xffffffff
    return value


def xxh64(data):
    """XXH64 with seed 0 (xxHash specification 0.1.1): zstd's content checksum is its low half."""
    p1, p2, p3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
    p4, p5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5

    def rotate(x, r):
        return (x << r | x >> 64 - r) & MASK

    def mix(acc, lane):
        return rotate((acc + lane * p2) & MASK, 31) * p1 & MASK

    at, size = 0, len(data)
    if size >= 32:
        acc = [(p1 + p2) & MASK, p2, 0, -p1 & MASK]
        for at in range(0, size - 31, 32):
            acc = [mix(a, lane) for a, lane in zip(acc, struct.unpack_from("<4Q", data, at))]
        at += 32
        h = sum(rotate(a, r) for a, r in zip(acc, (1, 7, 12, 18))) & MASK
        for a in acc:
            h = ((h ^ mix(0, a)) * p1 + p4) & MASK
    else:
        h = p5
    h = (h + size) & MASK
    while at + 8 <= size:
        h = (rotate(h ^ mix(0, struct.unpack_from("<Q", data, at)[0]), 27) * p1 + p4) & MASK
        at += 8
    if at + 4 <= size:
        h = (rotate(h ^ struct.unpack_from("<I", data, at)[0] * p1 & MASK, 23) * p2 + p3) & MASK
        at += 4
    for byte in data[at:]:
        h = rotate(h ^ byte * p5 & MASK, 11) * p1 & MASK
    h = (h ^ h >> 33) * p2 & MASK
    h = (h ^ h >> 29) * p3 & MASK
    return h ^ h >> 32


def zstd_stored(data):
    """One zstd frame that stores its contents: single segment, 4-byte content size, checksum."""
    out = struct.pack("<IBI", ZSTD_MAGIC, 2 << 6 | 1 << 5 | 1 << 2, len(data))
    for at in range(0, len(data), ZSTD_STORED_MAX):
        part = data[at:at + ZSTD_STORED_MAX]
        last = at + ZSTD_STORED_MAX >= len(data)
        out += struct.pack("<I", len(part) << 3 | last)[:3] + part
    return out + struct.pack("<I", xxh64(data) & 0xffffffff)


def block(kind, sequence, raw, records, last_ts_ns):
    data = zstd_stored(raw)
    head = BLOCK.pack(BLOCK_MAGIC, kind, 0, sequence, len(data), len(raw), records, last_ts_ns, 0)
    return head + struct.pack("<I", fnv1a(head)) + data


def write(path, records):
    """records: wire records, each bytes."""
    blocks, used = [[]], 0
    for record in records:
        if used + len(record) > RAW_MAX:
            blocks.append([])
            used = 0
        blocks[-1].append(record)
        used += len(record)
    with open(path, "wb") as f:
        f.write(HEADER.pack(MAGIC, BYTE_ORDER, 1, 0, HEADER.size, 0))
        for number, part in enumerate(blocks):
            last = max(struct.unpack_from("<Q", r, 16)[0] for r in part)
            f.write(block(RECORDS, number, b"".join(part), len(part), last))
        size = sum(map(len, records))
        f.write(block(2, len(blocks), TRAILER.pack(len(blocks), len(records), size, 0, 0, 0, 0), 0, 0))


def read(path):
    """Yields the wire records of a recording, each bytes."""
    lib = ctypes.CDLL(ctypes.util.find_library("zstd") or "libzstd.so.1")
    lib.ZSTD_decompress.restype = ctypes.c_size_t
    lib.ZSTD_decompress.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
    with open(path, "rb") as f:
        head = HEADER.unpack(f.read(HEADER.size))
        if head[0] != MAGIC or head[1] != BYTE_ORDER or head[2] != 1:
            raise ValueError(f"{path} is not a recording that this reads")
        f.seek(head[4])
        while len(raw := f.read(BLOCK.size + 4)) == BLOCK.size + 4:
            _, kind, _, _, data_bytes, raw_bytes, _, _, _ = BLOCK.unpack_from(raw)
            data, out = f.read(data_bytes), ctypes.create_string_buffer(raw_bytes or 1)
            if lib.ZSTD_decompress(out, raw_bytes, data, len(data)) != raw_bytes:
                raise ValueError(f"{path} is damaged")
            at = 0
            while kind == RECORDS and at < raw_bytes:
                size = struct.unpack_from("<H", out.raw, at)[0]
                yield out.raw[at:at + size]
                at += size
