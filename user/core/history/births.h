/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds, for each event, the number of the event that allocated its memory, in one pass over the events. */
#ifndef GPUMEMTRACE_CORE_HISTORY_BIRTHS_H
#define GPUMEMTRACE_CORE_HISTORY_BIRTHS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"

struct history;
struct range;

struct births {
	const struct history *h;
	uint64_t *of;            /* by the event's number, from h->first on */
	struct hash alive;       /* uint64_t: number for memory that lives after the last event */
};

/* Takes in the events before number `until`. */
void births_init(struct births *b, const struct history *h, uint64_t until);
void births_fini(struct births *b);

/* The number of the allocation; an allocation has its own number. GMT_HISTORY_UNSEEN: the allocation was not seen.
 * Below h->first: the event of the allocation is not kept. */
uint64_t births_of_event(const struct births *b, uint64_t number);
/* The same for a block or a segment of the process that lives after the last event. */
uint64_t births_of_range(const struct births *b, uint32_t process, bool is_block, const struct range *r);

#endif
