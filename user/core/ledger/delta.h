/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a record has changed. The ledger decodes a record once and gives out deltas; whoever wants to know what
 * happens (frameworks, requests that failed, the history) sees deltas, and no records.
 *
 * A delta is given out when the ledger has changed already, but for the two that announce an end: at DELTA_EXEC and
 * DELTA_EXIT all that the process holds is still there, at DELTA_GONE nothing is. Observers may give out deltas of
 * their own, which arrive before the one that caused them goes on to the next observer.
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
	/* memory: what a call asked for and got, or did not get */
	DELTA_ALLOC,
	DELTA_FREE,
	DELTA_RESTORE,          /* the free failed: the memory is there again */
	DELTA_MOVE,             /* it turns out to lie on another GPU */
	DELTA_RESIZE,           /* it turns out to have another size */
	DELTA_FAIL,
	/* place: memory of a handle is at an address */
	DELTA_MAP,
	DELTA_UNMAP,
	DELTA_REMAP,            /* the unmapping failed */
	DELTA_RELEASE,          /* a call has released all that lies there; after the deltas of what is known of it */
	DELTA_RELEASE_FAILED,
	DELTA_CALL,             /* call: it is over, or for a release it has begun; after all that it changed */
	DELTA_DRIVER_ALLOC,     /* driver: the kernel driver was asked for memory */
	DELTA_FRAMEWORK,        /* framework: a framework's record, as it came */
	DELTA_DUMP,             /* dump: a dump's record, well-formed */
	/* the process */
	DELTA_MARK,             /* mark: growth counts from here */
	DELTA_WINDOW,           /* peaks and growth count from here */
	DELTA_EXEC,
	DELTA_EXIT,             /* exit */
	DELTA_GONE,             /* gone */
	DELTA_TIME,             /* of no process: struct deltas.due_ns has come */
	/* by frameworks: block and segment */
	DELTA_BLOCK_ALLOC,
	DELTA_BLOCK_FREE,
	DELTA_BLOCK_LOST,       /* its segment was taken away below it */
	DELTA_BLOCK_BACK,
	DELTA_SEGMENT_ALLOC,    /* device memory at an address, a framework's or not */
	DELTA_SEGMENT_FREE,
	DELTA_SEGMENT_BACK,     /* the free failed */
	DELTA_RANGE,            /* framework: a range begins or ends */
	DELTA_REPORT,           /* framework: it is about to raise its error */
	/* by the watch for requests that failed: request */
	DELTA_REQUEST_FAILED,
	DELTA_REQUEST_MET,
	DELTA_COUNT
};
_Static_assert(DELTA_COUNT <= 32, "a bit for each");
#define DELTA_BIT(kind) (1u << (kind))

struct delta_memory {
	struct booking booking;
	uint64_t address;        /* 0: none */
	uint64_t born_ns;        /* when it was allocated; 0: by the record */
	unsigned int to;         /* MOVE: row */
	uint64_t bytes;          /* RESIZE: the new size */
	uint8_t ordinal;         /* ORDINAL_NONE */
};

struct delta_place {
	uint64_t address, length;
	uint64_t born_ns;        /* when it was mapped; 0: by the record */
	struct booking booking;  /* of the memory below; class CLASS_NONE: not known */
	uint8_t ordinal;         /* ORDINAL_NONE */
};

/* What a call asked for, whether it got it or not. */
struct delta_ask {
	bool made;
	uint8_t row;             /* ROW_NONE */
	uint8_t class;           /* enum gmt_class, CLASS_NONE; GMT_OOM_CLASS_NONE where arguments do not say */
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
	bool is_refused;         /* video memory, for want of it */
	bool is_video;
	uint8_t row;             /* of the GPU that refused */
};

struct delta_framework {
	const struct gmt_hdr *rec;
	uint8_t row;             /* of its device; 0 not known */
	int *error;              /* to be set to -EINVAL where it is malformed, -ENOENT where newer */
};

struct delta_dump {
	const struct gmt_hdr *rec;
	int *error;              /* likewise, beside what came before it */
};

struct delta_exit {
	bool is_seen;            /* else only that another process has its pid now */
	int code;
};

struct delta_gone {
	bool is_exec;            /* another program runs in it */
};

/* In ranges: offset is when it was allocated (0: not seen), value its stack id, gpu its device (-1 unknown), aux its
 * enum gmt_history_flag. */
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
		struct delta_exit exit;
		struct delta_gone gone;
		struct delta_block block;
		struct delta_segment segment;
		struct delta_request request;
	};
};

/* Who sees them. */
struct deltas {
	uint32_t wanted;         /* DELTA_BIT, or-ed */
	uint64_t due_ns;         /* from this time on DELTA_TIME is wanted before the next record; UINT64_MAX: never */
	void (*see)(void *arg, const struct delta *delta);
	void *arg;
};

static inline void deltas_give(const struct deltas *to, const struct delta *delta)
{
	if (to->wanted & DELTA_BIT(delta->kind))
		to->see(to->arg, delta);
}

#endif
