/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The newest events of device memory. The history observes deltas and shows how memory came to be as it is; the ledger
 * keeps only sums.
 *
 * Events are kept up to a number and an age, over all processes. The ledger and the frameworks know the live memory
 * (window.h); a moment of the past is the present with events undone. Dumps have events and window, too
 * (history_dump.h).
 */
#ifndef GPUMEMTRACE_CORE_HISTORY_HISTORY_H
#define GPUMEMTRACE_CORE_HISTORY_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

#include <gpumemtrace/wire.h>

#include "base/hash.h"
#include "base/rangemap.h"
#include "core/history/history_marks.h"
#include "core/ledger/delta.h"

struct frameworks;
struct ledger;
struct process;
struct window;

struct history_event {
	uint64_t ts_ns;
	uint64_t address;        /* OOM: bytes that were free on the GPU, 0 unknown */
	uint64_t size : 48, kind : 4, flags : 4, device : 8; /* GMT_HISTORY_*; CUDA ordinal in the process */
	uint64_t born;           /* FREE: when it was allocated, 0 not seen; OOM: gmt_oom.number */
	uint32_t stack_id;       /* of the allocation, also at its end; 0 none */
	uint32_t process : 28;   /* index in history.processes */
	uint32_t category : 4;   /* BLOCK_FREE: enum gmt_category + 1; 0: not known */
};

/* A request for memory that failed recently, and its event. */
#define HISTORY_REQUESTS 16
struct history_request {
	uint32_t number;         /* gmt_oom.number; 0: none */
	uint64_t event;
};

struct history_process {
	const struct process *of;
	uint64_t since;          /* number of the first event of the program that it runs now */
	uint64_t last;           /* number of its newest event */
	struct window *kept;     /* its memory at its end, or in a dump; NULL: ask for the live memory */
	bool is_read;            /* kept is from a dump */
};

struct history {
	const struct ledger *ledger;
	const struct frameworks *frameworks;
	struct history_event *events;
	uint64_t most;           /* events that are kept */
	bool is_of_dumps;        /* takes in what dumps have, and nothing else */
	bool keeps_ended;        /* keeps windows of processes that have ended and have no event any longer */
	uint64_t span_ns;        /* an event that is so much older than the newest is forgotten; 0: no age is too old */
	uint64_t capacity;
	uint64_t first, next;    /* numbers of the oldest event that is kept, and of the next event */
	uint64_t origin;         /* number of the first event of all: 0, or the dump's */
	struct history_process *processes;
	uint32_t process_count;
	struct hash by_process;  /* uint32_t: index; by the address of a struct process */
	struct history_request requests[HISTORY_REQUESTS]; /* by number */
	struct history_marks marks;
};

/* The place of an event that is kept, or that comes next. The array grows with the events: places count from the
 * origin. */
static inline struct history_event *history_slot(const struct history *h, uint64_t number)
{
	return &h->events[(number - h->origin) % h->most];
}

/* Events have numbers from h->first up to h->next. */
static inline const struct history_event *history_event(const struct history *h, uint64_t number)
{
	return history_slot(h, number);
}

struct history *history_new(const struct ledger *ledger, const struct frameworks *frameworks,
			    uint64_t most_events);   /* at least 1 */
void history_free(struct history *h);                /* NULL is fine */

/* The kinds that history_see() is for. */
#define HISTORY_DELTAS                                                                                           \
	(DELTA_BIT(DELTA_BLOCK_ALLOC) | DELTA_BIT(DELTA_BLOCK_FREE) | DELTA_BIT(DELTA_BLOCK_LOST) |              \
	 DELTA_BIT(DELTA_BLOCK_BACK) | DELTA_BIT(DELTA_SEGMENT_ALLOC) | DELTA_BIT(DELTA_SEGMENT_FREE) |          \
	 DELTA_BIT(DELTA_SEGMENT_BACK) | DELTA_BIT(DELTA_RANGE) | DELTA_BIT(DELTA_REQUEST_FAILED) |              \
	 DELTA_BIT(DELTA_REQUEST_MET) | DELTA_BIT(DELTA_EXEC) | DELTA_BIT(DELTA_EXIT) | DELTA_BIT(DELTA_FORGET) | \
	 DELTA_BIT(DELTA_DUMP) | DELTA_BIT(DELTA_SHED))
void history_see(void *history, const struct delta *delta);

/* ---- for the rest of this room, and for views ---- */

/* The process; NULL: the history has nothing of the process. Good until the next new process. */
struct history_process *history_find(const struct history *h, const struct process *p);
/* The process, which is added if need be; and a new event of the process, good until the next new event. */
struct history_process *history_process_of(struct history *h, const struct process *p);
struct history_event *history_add(struct history *h, struct history_process *hp, enum gmt_history_kind kind,
				  uint64_t ts_ns);

/* What a delta of a block or a segment is as an event, but for the process. */
struct history_event history_event_of(const struct delta *d);
/* Whether a request that failed was for device memory, and how much it asked for. */
bool history_wants_request(const struct delta *d);
uint64_t history_asked_bytes(const struct gmt_oom *rec);

/* Takes in a dump's record of a process. The record is well-formed by itself (history_read.c). */
void history_read(struct history *h, const struct process *p, const struct gmt_hdr *record);

/* The segment or block of an event, in the form that windows have (window.h). */
struct range history_range_of(const struct history_event *e);

/* The memory of the process: at its end, in its dump, or now. window_free() releases the window. */
void history_window(const struct history *h, uint32_t process, struct window *out);

#endif
