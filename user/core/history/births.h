/* SPDX-License-Identifier: BSD-2-Clause */
/* For each event, the number of the event that allocated its memory: found in one pass over the events. */
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
	struct hash alive;       /* uint64_t: of the memory that lives after the last event */
};

/* Of the events before number `until`. */
void births_init(struct births *b, const struct history *h, uint64_t until);
void births_fini(struct births *b);

/* GMT_HISTORY_UNSEEN: the allocation was not seen; below h->first: its event is not kept. An allocation has its own
 * number. */
uint64_t births_of_event(const struct births *b, uint64_t number);
/* The same of a block or a segment of the process that lives after the last event. */
uint64_t births_of_range(const struct births *b, uint32_t process, bool is_block, const struct range *r);

#endif
