/* SPDX-License-Identifier: BSD-2-Clause */
/* What a history keeps: the newest events, and whom they are of. */
#ifndef GPUMEMTRACE_CORE_HISTORY_HISTORY_EVENTS_H
#define GPUMEMTRACE_CORE_HISTORY_HISTORY_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gpumemtrace/wire.h>

#include "base/hash.h"
#include "base/rangemap.h"
#include "core/history/history_marks.h"

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

/* A request for memory that failed of late, and its event. */
#define HISTORY_REQUESTS 16
struct history_request {
	uint32_t number;         /* gmt_oom.number; 0: none */
	uint64_t event;
};

struct history_process {
	const struct process *of;
	uint64_t since;          /* number of the first event of the program that it runs now */
	uint64_t last;           /* number of its newest event */
	struct window *kept;     /* what lived at its end, or in a dump; NULL: what lives now is to be asked for */
	bool is_read;            /* kept is from a dump */
};

struct history {
	const struct ledger *ledger;
	const struct frameworks *frameworks;
	struct history_event *events;
	uint64_t most;           /* that are kept */
	bool keeps_ended;        /* also what processes held that have ended, and have no event any longer */
	uint64_t span_ns;        /* and no longer than that before the newest event; 0: as long as there are no more */
	uint64_t capacity;
	uint64_t first, next;    /* numbers of the oldest event that is kept, and of the next */
	uint64_t origin;         /* number of the first event that there was: 0, or what a dump says */
	struct history_process *processes;
	uint32_t process_count;
	struct hash by_process;  /* uint32_t: index; by the address of a struct process */
	struct history_request requests[HISTORY_REQUESTS]; /* by number */
	struct history_marks marks;
};

/* Where an event is kept, or will be: the array grows with the events, so places are counted from the origin. */
static inline struct history_event *history_slot(const struct history *h, uint64_t number)
{
	return &h->events[(number - h->origin) % h->most];
}

/* Events have numbers from h->first up to h->next. */
static inline const struct history_event *history_event(const struct history *h, uint64_t number)
{
	return history_slot(h, number);
}

/* The process, a new one if need be; and a new event of it, good until the next. */
struct history_process *history_process_of(struct history *h, const struct process *p);
struct history_event *history_add(struct history *h, struct history_process *hp, enum gmt_history_kind kind,
				  uint64_t ts_ns);

/* The segment or block that an event is about, as in a window. */
struct range history_range_of(const struct history_event *e);

/* The memory that lived when the process ended, or in its dump, or that lives now: window_free() releases it. */
void history_window(const struct history *h, uint32_t process, struct window *out);

#endif
