/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The part of wire.h, which includes it, about a dump's window: the events of device memory until the dump's moment,
 * and the memory that was live then. Each process has a gmt_history, then its live memory, segments before the blocks
 * in them. The events of all processes follow in their order, with the ranges that programs have named.
 */
#ifndef GPUMEMTRACE_HISTORY_RECORDS_H
#define GPUMEMTRACE_HISTORY_RECORDS_H

/* Append-only, as the lists of terms.h. */
enum gmt_history_kind {
	GMT_HISTORY_NOTHING = 0,       /* an event that turned out to be none */
	GMT_HISTORY_BLOCK_ALLOC = 1,   /* PyTorch's */
	GMT_HISTORY_BLOCK_FREE = 2,
	GMT_HISTORY_SEGMENT_ALLOC = 3, /* the driver's */
	GMT_HISTORY_SEGMENT_FREE = 4,
	GMT_HISTORY_OOM = 5,           /* there was not as much */
	GMT_HISTORY_KIND_COUNT
};

enum gmt_history_flag {
	GMT_HISTORY_TORCH = 1,       /* a segment with PyTorch's blocks; a segment without the flag is a block itself */
	GMT_HISTORY_MAPPED = 2,      /* by cuMemMap */
	GMT_HISTORY_GUESSED = 4,     /* from before tracing began: base and length are a guess */
};

#define GMT_HISTORY_UNSEEN (~0ULL)   /* number of an event that was not seen */
#define GMT_HISTORY_DEVICE_UNKNOWN 255

/* A process in the window. Events are numbered over all processes of a session, from 0 on. */
struct gmt_history {
	struct gmt_hdr hdr;     /* tgid: the process's */
	__u64 since;            /* number of the first event of the program that it ran */
	__u64 first;            /* number of the first event that follows, of any process */
	__u64 left_out;         /* live segments and blocks that do not follow, because there were too many */
};
#define GMT_FIELDS_gmt_history(X, T)                                              \
	X(T, UNSIGNED, since) X(T, UNSIGNED, first) X(T, UNSIGNED, left_out)

/* Memory that PyTorch has held on a device since before tracing began, and that no event has shown. */
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
	__u64 born;             /* number of the event that allocated it, GMT_HISTORY_UNSEEN */
	__u64 asked;            /* of a block: bytes that PyTorch was asked for; 0: not known */
	__u32 stack_id;         /* of its allocation; 0: none */
	__u8 is_block;
	__u8 flags;             /* enum gmt_history_flag */
	__u8 device;            /* GMT_HISTORY_DEVICE_UNKNOWN */
	__u8 category;          /* of a block, a guess of that moment: enum gmt_category + 1; 0: not known */
};
#define GMT_FIELDS_gmt_history_range(X, T)                                        \
	X(T, HEX, base) X(T, UNSIGNED, length) X(T, HEX, born) X(T, UNSIGNED, asked) \
	X(T, UNSIGNED, stack_id) X(T, UNSIGNED, is_block) X(T, HEX, flags) X(T, UNSIGNED, device) \
	X(T, STORED_CATEGORY, category)

struct gmt_history_event {
	struct gmt_hdr hdr;     /* ts_ns: when */
	__u64 address;          /* OOM: bytes that were free on the GPU, 0: unknown */
	__u64 size;
	__u64 born;             /* number of the event that allocated it; OOM: gmt_oom.number */
	__u32 stack_id;         /* of the allocation, also at its end; 0: none */
	__u8 kind;              /* enum gmt_history_kind */
	__u8 flags;             /* enum gmt_history_flag */
	__u8 device;
	__u8 category;          /* BLOCK_FREE: likewise */
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
