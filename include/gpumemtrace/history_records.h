/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The part of wire.h about a dump's window: the events of device memory until the dump, and the live memory then. Each
 * process has a gmt_history, then its live memory: each segment comes before the blocks in it. Then the events of all
 * processes follow in order, with the ranges that programs have named.
 */
#ifndef GPUMEMTRACE_HISTORY_RECORDS_H
#define GPUMEMTRACE_HISTORY_RECORDS_H

/* Append-only, as the lists of terms.h. */
enum gmt_history_kind {
	GMT_HISTORY_NOTHING = 0,       /* an event that turned out not to have happened */
	GMT_HISTORY_BLOCK_ALLOC = 1,   /* blocks are PyTorch's */
	GMT_HISTORY_BLOCK_FREE = 2,
	GMT_HISTORY_SEGMENT_ALLOC = 3, /* segments are the driver's */
	GMT_HISTORY_SEGMENT_FREE = 4,
	GMT_HISTORY_OOM = 5,           /* a request was larger than the free memory */
	GMT_HISTORY_KIND_COUNT
};

enum gmt_history_flag {
	GMT_HISTORY_TORCH = 1,       /* a segment with PyTorch's blocks; a segment without the flag is a block itself */
	GMT_HISTORY_MAPPED = 2,      /* mapped by cuMemMap */
	GMT_HISTORY_GUESSED = 4,     /* older than the tracing: base and length are a guess */
};

#define GMT_HISTORY_UNSEEN (~0ULL)   /* stands for the number of an event that was not seen */
#define GMT_HISTORY_DEVICE_UNKNOWN 255

/* A process in the window. Events are numbered over all processes of a session, from 0 on. */
struct gmt_history {
	struct gmt_hdr hdr;     /* tgid: the process's */
	__u64 since;            /* number of the first event of the program that the process ran */
	__u64 first;            /* number of the first event of any process that follows */
	__u64 left_out;         /* live segments and blocks that were left out, because there were too many */
};
#define GMT_FIELDS_gmt_history(X, T)                                              \
	X(T, UNSIGNED, since) X(T, UNSIGNED, first) X(T, UNSIGNED, left_out)

/* Memory on a device that PyTorch has held since before tracing began. No event has shown this memory. */
struct gmt_history_unseen {
	struct gmt_hdr hdr;
	__u64 allocated, reserved; /* bytes */
	__u32 device;           /* CUDA ordinal in the process, as in the next two */
	__u32 reserved2;
};
#define GMT_FIELDS_gmt_history_unseen(X, T)                                       \
	X(T, UNSIGNED, allocated) X(T, UNSIGNED, reserved) X(T, UNSIGNED, device)

/* A segment or a block that was live at the end. */
struct gmt_history_range {
	struct gmt_hdr hdr;
	__u64 base, length;
	__u64 born;             /* number of the event that allocated the memory, or GMT_HISTORY_UNSEEN */
	__u64 asked;            /* blocks: bytes that PyTorch was asked for; 0: unknown */
	__u32 stack_id;         /* the stack of the allocation; 0: none */
	__u8 is_block;
	__u8 flags;             /* enum gmt_history_flag */
	__u8 device;            /* CUDA ordinal in the process, or GMT_HISTORY_DEVICE_UNKNOWN */
	__u8 category;          /* blocks: enum gmt_category + 1, as it was guessed then; 0: unknown */
};
#define GMT_FIELDS_gmt_history_range(X, T)                                        \
	X(T, HEX, base) X(T, UNSIGNED, length) X(T, HEX, born) X(T, UNSIGNED, asked) \
	X(T, UNSIGNED, stack_id) X(T, UNSIGNED, is_block) X(T, HEX, flags) X(T, UNSIGNED, device) \
	X(T, STORED_CATEGORY, category)

struct gmt_history_event {
	struct gmt_hdr hdr;     /* ts_ns: when */
	__u64 address;          /* OOM: bytes that were free on the GPU; 0: unknown */
	__u64 size;
	__u64 born;             /* number of the event that allocated the memory; OOM: gmt_oom.number */
	__u32 stack_id;         /* the stack of the allocation, in the event of the free, too; 0: none */
	__u8 kind;              /* enum gmt_history_kind */
	__u8 flags;             /* enum gmt_history_flag */
	__u8 device;
	__u8 category;          /* BLOCK_FREE: as in gmt_history_range */
};
#define GMT_FIELDS_gmt_history_event(X, T)                                        \
	X(T, HEX, address) X(T, UNSIGNED, size) X(T, HEX, born) X(T, UNSIGNED, stack_id) \
	X(T, HISTORY_KIND, kind) X(T, HEX, flags) X(T, UNSIGNED, device) X(T, STORED_CATEGORY, category)

/* A range that the program has named begins or ends. */
struct gmt_history_mark {
	struct gmt_hdr hdr;     /* ts_ns: when */
	__u64 event;            /* number of the next event */
	__u8 is_end;
	__u8 reserved[7];
	__u8 name[GMT_RANGE_NAME_BYTES]; /* NUL-terminated, cut */
};
#define GMT_FIELDS_gmt_history_mark(X, T)                                         \
	X(T, UNSIGNED, event) X(T, UNSIGNED, is_end) X(T, TEXT, name)

#endif
