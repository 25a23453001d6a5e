/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What has happened to device memory lately, event by event: a second consumer of the records, for those
 * who want to see how memory came to be as it is. The ledger keeps sums only.
 *
 * The newest events are kept, up to a number, over all processes; and all that lives at their end. A
 * moment in between is told by going back from the end (snapshot.h).
 *
 * The one invariant: every block that lives lies in one segment that lives, or in pieces. A segment that was
 * there before tracing began is made up for the blocks that are met in it (HISTORY_GUESSED).
 */
#ifndef GPUMEMTRACE_CORE_HISTORY_H
#define GPUMEMTRACE_CORE_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "core/rangemap.h"

struct ledger;
struct process;
struct gmt_hdr;

enum history_kind {
	HISTORY_NOTHING,         /* an event that turned out to be none */
	HISTORY_BLOCK_ALLOC,     /* PyTorch's */
	HISTORY_BLOCK_FREE,
	HISTORY_SEGMENT_ALLOC,   /* the driver's */
	HISTORY_SEGMENT_FREE,
	HISTORY_OOM,             /* there was not as much */
};

enum history_flag {
	HISTORY_TORCH = 1,       /* a segment that PyTorch's blocks lie in; without it, it is a block itself */
	HISTORY_MAPPED = 2,      /* by cuMemMap */
	HISTORY_GUESSED = 4,     /* from before tracing began: where it begins and ends is a guess */
};

/* What PyTorch may take as a part of a larger segment; others are segments by themselves. */
#define HISTORY_PIECE (HISTORY_MAPPED | HISTORY_GUESSED)

/* No GPU has addresses from here on. */
#define HISTORY_ADDRESS_END (1ULL << 50)
#define HISTORY_UNSEEN UINT64_MAX      /* number of an event that was not seen */
#define HISTORY_DEVICE_UNKNOWN 255

struct history_event {
	uint64_t ts_ns;
	uint64_t address;        /* OOM: bytes that were free on the GPU, 0 unknown */
	uint64_t size : 48, kind : 4, flags : 4, device : 8; /* CUDA ordinal in the process */
	uint64_t born;           /* number of the event that allocated it; of an allocation its own; OOM: oom.h's */
	uint32_t stack_id;       /* of the allocation, also at its end; 0 none */
	uint32_t process;        /* index in history.processes */
};

/* A request for memory that failed of late, and its event. */
#define HISTORY_REQUESTS 16
struct history_request {
	uint32_t number;         /* in oom.h; 0: none */
	uint64_t event;
};

/* In ranges: offset is the event that allocated it, value its stack id, gpu its device (-1 unknown), aux
 * its flags. */
struct history_process {
	const struct process *of;
	uint64_t since;          /* number of the first event of the program that it runs now */
	struct rangemap blocks, segments;
	struct rangemap asleep;  /* blocks whose memory was taken away below them (vLLM's sleep mode) */
	uint32_t tid;            /* of PyTorch's newest event: the same one may come twice */
	uint64_t ptr, total;
	int64_t delta;
};

struct history {
	struct history_event *events;
	uint64_t most;           /* that are kept */
	uint64_t capacity;
	uint64_t next;           /* number of the next event: they begin at 0 */
	struct history_process *processes;
	uint32_t process_count;
	struct hash by_process;  /* uint32_t: index; by the address of a struct process */
	struct history_request requests[HISTORY_REQUESTS]; /* by number */
	uint32_t met;            /* the newest request that was, in the end */
};

struct history *history_new(uint64_t most_events);   /* at least 1 */
void history_free(struct history *h);                /* NULL is fine */

/* Takes in a record that the ledger has just applied, and found well-formed. OOM is told if the ledger keeps an eye
 * on requests (ooms_want). */
void history_see(struct history *h, const struct ledger *ledger, const struct gmt_hdr *record);

/* Events have numbers from history_first() up to h->next. */
static inline uint64_t history_first(const struct history *h)
{
	return h->next > h->most ? h->next - h->most : 0;
}

static inline const struct history_event *history_event(const struct history *h, uint64_t number)
{
	return &h->events[number % h->most];
}

#endif
