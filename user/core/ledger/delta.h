/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a record has changed. The ledger decodes a record once and gives out deltas; observers (frameworks, the watch
 * for requests that failed, the history) see deltas, not records.
 *
 * The ledger changes first, then gives out the delta, with two exceptions: at DELTA_EXEC and DELTA_EXIT the process
 * still holds all its memory, and at DELTA_GONE none. An observer may give out deltas of its own: other observers see
 * these before the delta that caused them.
 */
#ifndef GPUMEMTRACE_CORE_LEDGER_DELTA_H
#define GPUMEMTRACE_CORE_LEDGER_DELTA_H

#include <stdbool.h>
#include <stdint.h>

#include <gpumemtrace/api.h>
#include <gpumemtrace/wire.h>

#include "core/account/account.h"

struct process;
struct range;

enum delta_kind {
	/* memory: a call asked for memory, and got the memory or not */
	DELTA_ALLOC,
	DELTA_FREE,
	DELTA_RESTORE,          /* the free failed: the memory is there again */
	DELTA_MOVE,             /* the memory turns out to lie on another GPU */
	DELTA_RESIZE,           /* the memory turns out to have another size */
	DELTA_FAIL,
	/* place: memory of a handle is at an address */
	DELTA_MAP,
	DELTA_UNMAP,
	DELTA_REMAP,            /* the unmapping failed */
	DELTA_RELEASE,          /* a call has released all memory there; comes after the deltas of known memory */
	DELTA_RELEASE_FAILED,
	DELTA_CALL,             /* call: has ended, or a release has begun; comes after all that the call changed */
	DELTA_DRIVER_ALLOC,     /* driver: the kernel driver was asked for memory */
	/* memory: the kernel driver gave memory that no call explains, or took it back; the class is CLASS_NONE */
	DELTA_DRIVER_ADD,
	DELTA_DRIVER_REMOVE,
	DELTA_PHYSICAL,         /* what the kernel driver gave the process has changed; comes after those two */
	DELTA_NVML,             /* row: NVML has told what the process has there */
	DELTA_FRAMEWORK,        /* framework: a framework's record */
	DELTA_DUMP,             /* dump: a dump's record, well-formed */
	/* the process */
	DELTA_MARK,             /* mark: growth counts from here */
	DELTA_WINDOW,           /* peaks and growth count from here */
	DELTA_EXEC,
	DELTA_EXIT,             /* exit */
	DELTA_GONE,             /* gone */
	DELTA_FORGET,           /* forget: the process ended long ago, and shall be freed */
	DELTA_TIME,             /* of no process: struct deltas.due_ns has come */
	DELTA_SHED,             /* of no process. shed: memory is short, and observers give up what that step says */
	/* by frameworks: block and segment */
	DELTA_BLOCK_ALLOC,
	DELTA_BLOCK_FREE,
	DELTA_BLOCK_LOST,       /* the segment below the block is gone */
	DELTA_BLOCK_BACK,
	DELTA_SEGMENT_ALLOC,    /* device memory at an address, a framework's or not */
	DELTA_SEGMENT_FREE,
	DELTA_SEGMENT_BACK,     /* the free failed */
	DELTA_RANGE,            /* framework: a range begins or ends */
	DELTA_REPORT,           /* framework: is about to raise an error */
	/* by the watch for requests that failed: request */
	DELTA_REQUEST_FAILED,
	DELTA_REQUEST_MET,
	DELTA_REQUEST_DECIDED,  /* an outcome, which may change; comes after DELTA_REQUEST_MET */
	DELTA_COUNT
};
_Static_assert(DELTA_COUNT <= 64, "a bit for each");
#define DELTA_BIT(kind) (1ULL << (kind))

struct delta_memory {
	struct booking booking;
	uint64_t address;        /* 0: none */
	uint64_t born_ns;        /* when the memory was allocated; 0: by the record */
	unsigned int to;         /* MOVE: row */
	uint64_t bytes;          /* RESIZE: the new size */
	uint8_t ordinal;         /* ORDINAL_NONE */
};

struct delta_place {
	uint64_t address, length;
	uint64_t born_ns;        /* when the memory was mapped; 0: by the record */
	struct booking booking;  /* of the mapped memory; class CLASS_NONE: the memory is not known */
	uint8_t ordinal;         /* ORDINAL_NONE */
};

/* The memory that a call asked for, successful or not. */
struct delta_ask {
	bool made;
	uint8_t row;             /* ROW_NONE */
	uint8_t class;           /* enum gmt_class, CLASS_NONE; GMT_OOM_CLASS_NONE: arguments do not say the class */
	uint8_t ordinal;         /* ORDINAL_NONE */
	uint64_t bytes;
};

struct delta_call {
	const struct gmt_call *rec;
	enum gmt_op op;
	struct delta_ask ask;
};

struct delta_driver {
	const struct gmt_rm_alloc *rec;
	bool is_refused;         /* there was not enough video memory */
	bool is_video;
	uint8_t row;             /* of the GPU that refused */
};

struct delta_framework {
	const struct gmt_hdr *rec;
	enum gmt_fw id;
	uint8_t row;             /* of its device; 0 not known */
	int *error;              /* the observer sets -EINVAL: malformed, or -ENOENT: of a newer version */
};

struct delta_dump {
	const struct gmt_hdr *rec;
	int *error;              /* the observer sets -EINVAL: the record does not fit those before */
};

struct delta_exit {
	bool is_seen;            /* false: the exit shows only in another process with the same pid */
	int code;
};

struct delta_gone {
	bool is_exec;            /* the process lives on, with another program */
};

struct delta_forget {
	bool *is_needed;         /* a question: an observer that needs the process sets this */
	struct view_ended *sum;  /* not NULL: no question; the observer adds what it has counted, and lets go */
};

/* In a block's or segment's range, offset is the time of the allocation (0: not seen), value the stack id, gpu the
 * device (-1 unknown), and aux the enum gmt_history_flag. */
struct delta_block {
	const struct range *range;
	unsigned int category;   /* FREE, LOST: enum gmt_category + 1; 0: not known */
};

struct delta_segment {
	const struct range *range;
};

struct delta_request {
	const struct gmt_oom *rec;
	unsigned int ordinal;    /* ORDINAL_NONE */
	bool is_reported;        /* by a framework */
};

struct delta {
	enum delta_kind kind;
	uint32_t tid;            /* 0: none */
	const struct process *p; /* NULL: of none */
	uint64_t ts_ns;
	union {
		struct delta_memory memory;
		struct delta_place place;
		struct delta_call call;
		struct delta_driver driver;
		struct delta_framework framework;
		struct delta_dump dump;
		unsigned int mark;   /* its place (stacks.h) */
		unsigned int row;    /* of the process's account */
		struct delta_exit exit;
		struct delta_gone gone;
		struct delta_forget forget;
		struct delta_block block;
		struct delta_segment segment;
		struct delta_request request;
		enum gmt_shed shed;
	};
};

/* Who sees the deltas. */
struct deltas {
	uint64_t wanted;         /* DELTA_BIT, or-ed */
	uint64_t due_ns;         /* DELTA_TIME comes before the first record from this time on; UINT64_MAX: never */
	void (*see)(void *arg, const struct delta *delta);
	void *arg;
};

static inline void deltas_give(const struct deltas *to, const struct delta *delta)
{
	if (to->wanted & DELTA_BIT(delta->kind))
		to->see(to->arg, delta);
}

#endif
