/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What has happened to device memory lately, event by event: a second consumer of the records, for those
 * who want to see how memory came to be as it is. The ledger keeps sums only.
 *
 * The newest events are kept, up to a number and a time, over all processes; and all that lives at their end. A
 * moment in between is told by going back from the end (snapshot.h). Dumps have it too (history_dump.h).
 *
 * The one invariant: every block that lives lies in one segment that lives, or in pieces. A segment that was
 * there before tracing began is made up for the blocks that are met in it (GMT_HISTORY_GUESSED).
 */
#ifndef GPUMEMTRACE_CORE_HISTORY_HISTORY_H
#define GPUMEMTRACE_CORE_HISTORY_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gpumemtrace/wire.h>

#include "base/hash.h"
#include "core/history/history_marks.h"
#include "base/rangemap.h"

struct ledger;
struct process;
/* What PyTorch may take as a part of a larger segment; others are segments by themselves. */
#define HISTORY_PIECE (GMT_HISTORY_MAPPED | GMT_HISTORY_GUESSED)

/* No GPU has addresses from here on. */
#define HISTORY_ADDRESS_END (1ULL << 50)

struct history_event {
	uint64_t ts_ns;
	uint64_t address;        /* OOM: bytes that were free on the GPU, 0 unknown */
	uint64_t size : 48, kind : 4, flags : 4, device : 8; /* GMT_HISTORY_*; CUDA ordinal in the process */
	uint64_t born;           /* number of the event that allocated it; of an allocation: own; OOM: gmt_oom.number */
	uint32_t stack_id;       /* of the allocation, also at its end; 0 none */
	uint32_t process : 28;   /* index in history.processes */
	uint32_t category : 4;   /* BLOCK_FREE: enum gmt_category + 1; 0: not known */
};

/* A request for memory that failed of late, and its event. */
#define HISTORY_REQUESTS 16
struct history_request {
	uint32_t number;         /* in oom_requests.h; 0: none */
	uint64_t event;
};

/* What PyTorch has held on a device since before tracing began, and has not been met. */
struct history_unseen {
	uint64_t allocated, reserved; /* bytes */
};

/* In ranges: offset is the event that allocated it, value its stack id, gpu its device (-1 unknown), aux its flags. Of
 * blocks value and aux also have what the program was doing then (history_birth.h). */
struct history_process {
	const struct process *of;
	uint64_t since;          /* number of the first event of the program that it runs now */
	struct rangemap blocks, segments;
	struct rangemap asleep;  /* blocks whose memory was taken away below them (vLLM's sleep mode) */
	uint64_t last;           /* number of its newest event */
	uint32_t tid;            /* of PyTorch's newest event: the same one may come twice */
	uint64_t ptr, total;
	int64_t delta;
	bool is_read;            /* from a dump, with what PyTorch held unseen, by device */
	struct history_unseen *unseen;
	unsigned int unseen_count;
	struct hash asked;       /* likewise uint64_t: bytes that PyTorch was asked for, by the block's address */
};

struct history {
	struct history_event *events;
	uint64_t most;           /* that are kept */
	bool keeps_ended;        /* also what processes held that have ended, and have no event any longer */
	uint64_t span_ns;        /* and no longer than that before the newest record; 0: as long as there are no more */
	uint64_t capacity;
	uint64_t first, next;    /* numbers of the oldest event that is kept, and of the next */
	uint64_t origin;         /* number of the first event that there was: 0, or what a dump says */
	struct history_process *processes;
	uint32_t process_count;
	struct hash by_process;  /* uint32_t: index; by the address of a struct process */
	struct history_request requests[HISTORY_REQUESTS]; /* by number */
	uint32_t met;            /* the newest request that was, in the end */
	struct history_marks marks;
};

struct history *history_new(uint64_t most_events);   /* at least 1 */
void history_free(struct history *h);                /* NULL is fine */

/* Takes in a record that the ledger has just applied, and found well-formed. OOM is told if the ledger keeps an eye
 * on requests (ooms_want). */
void history_see(struct history *h, const struct ledger *ledger, const struct gmt_hdr *record);

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

/* Devices of which PyTorch may hold something unseen, and what of one. */
unsigned int history_unseen_count(const struct history_process *hp);
struct history_unseen history_unseen(const struct history_process *hp, unsigned int device);

/* What PyTorch was asked for when it gave out a live block; 0 not known. */
uint64_t history_asked(const struct history_process *hp, const struct range *block);

/* For history_read(): the process, a new one if need be. */
struct history_process *history_process_of(struct history *h, const struct process *p);

#endif
