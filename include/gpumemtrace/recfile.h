/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The recording file, .gmt: a header, blocks of wire records (wire.h), a trailer.
 *
 *   struct gmt_rec_header
 *   struct gmt_rec_block  RECORDS  + data_bytes of zstd: wire records, each whole, back to back
 *   ...
 *   struct gmt_rec_block  TRAILER  + data_bytes of zstd: one struct gmt_rec_trailer
 *
 * Each block is complete in itself, so whatever was written before a crash can be read. A file
 * without a trailer is incomplete. Integers are in the byte order of the machine that recorded;
 * the header says which.
 *
 * Versions: a reader refuses another major and reads any minor: it takes as much of the header as
 * it knows, steps over blocks of types and records of kinds that it does not know, and takes a term (terms.h) that it
 * does not know for "unknown". Each row that one of the lists gets raises the minor version by itself.
 */
#ifndef GPUMEMTRACE_RECFILE_H
#define GPUMEMTRACE_RECFILE_H

#include <linux/types.h>

#include <gpumemtrace/python.h>
#include <gpumemtrace/unwind.h>
#include <gpumemtrace/wire.h>

/* Like PNG's magic: a byte beyond ASCII and both kinds of line ends show damage by a transfer as text. */
#define GMT_REC_MAGIC "\211GMT\r\n\032\n"
#define GMT_REC_MAGIC_BYTES 8
#define GMT_REC_BYTE_ORDER 0x01020304u
#define GMT_REC_MAJOR 1
#define GMT_REC_ROWS                                                              \
	((0 GMT_KINDS(GMT_TERM_ONE)) + (int)GMT_FW_COUNT + GMT_TERM_COUNT + (int)GMT_UNWIND_REASON_COUNT + \
	 (int)GMT_PY_REASON_COUNT + (int)GMT_HISTORY_KIND_COUNT)
#define GMT_REC_ROWS_FIRST 150          /* in version 1.0 */
#define GMT_REC_FLAGS_ADDED 0           /* flags and fields added since 1.0, which are in no list */
#define GMT_REC_MINOR (GMT_REC_ROWS - GMT_REC_ROWS_FIRST + GMT_REC_FLAGS_ADDED)

#define GMT_REC_BLOCK_MAGIC 0x4b4c4247u /* "GBLK" on a little-endian machine */
#define GMT_REC_RAW_MAX (1u << 20)      /* most bytes of records in a block; a reader refuses more */
#define GMT_REC_DATA_MAX (2u << 20)     /* most compressed bytes */

struct gmt_rec_header {
	__u8 magic[GMT_REC_MAGIC_BYTES];
	__u32 byte_order;       /* GMT_REC_BYTE_ORDER, as the recording machine stores it */
	__u16 major;
	__u16 minor;
	__u32 header_bytes;     /* of this structure; the blocks follow it */
	__u32 reserved;
};

enum gmt_rec_type {
	GMT_REC_RECORDS = 1,
	GMT_REC_TRAILER = 2,
};

struct gmt_rec_block {
	__u32 magic;            /* GMT_REC_BLOCK_MAGIC */
	__u16 type;             /* enum gmt_rec_type */
	__u16 reserved;
	__u32 sequence;         /* 0, 1, 2 ... over all blocks: a missing one is noticed */
	__u32 data_bytes;       /* that follow: one zstd frame, with its content checksum */
	__u32 raw_bytes;        /* after decompression */
	__u32 records;
	__u64 last_ts_ns;       /* newest hdr.ts_ns in the block */
	__u32 reserved2;
	__u32 check;            /* FNV-1a of the bytes before it */
};

/* Totals over all RECORDS blocks, and what the recorder could not store. */
struct gmt_rec_trailer {
	__u64 blocks;
	__u64 records;
	__u64 raw_bytes;
	__u64 lost_records;     /* not stored after the first failed write */
	__u64 lost_from_ns;     /* hdr.ts_ns of the first of them */
	__u32 error;            /* errno of the failed write; 0: complete */
	__u32 reserved;
};

_Static_assert(sizeof(struct gmt_rec_header) == 24, "recording header layout");
_Static_assert(sizeof(struct gmt_rec_block) == 40, "recording block layout");
_Static_assert(sizeof(struct gmt_rec_trailer) == 48, "recording trailer layout");

/* FNV-1a, 32 bits (draft-eastlake-fnv): guards the lengths in a block header, which come before the
 * zstd checksum can be looked at. */
static inline __u32 gmt_rec_check(const struct gmt_rec_block *block)
{
	const __u8 *p = (const __u8 *)block;
	__u32 hash = 2166136261u;

	for (unsigned int i = 0; i < __builtin_offsetof(struct gmt_rec_block, check); i++)
		hash = (hash ^ p[i]) * 16777619u;
	return hash;
}

#endif
