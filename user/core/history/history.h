/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The newest events of device memory: an observer of deltas that shows how memory came to be as it is, where the ledger
 * keeps sums only.
 *
 * Events are kept up to a number and an age, over all processes. The ledger and the frameworks know the live memory
 * (window.h); a moment of the past is the present with events undone. Dumps have events and window, too
 * (history_dump.h).
 */
#ifndef GPUMEMTRACE_CORE_HISTORY_HISTORY_H
#define GPUMEMTRACE_CORE_HISTORY_HISTORY_H

#include <stdint.h>

#include "core/history/history_events.h"
#include "core/ledger/delta.h"

struct frameworks;
struct ledger;

struct history *history_new(const struct ledger *ledger, const struct frameworks *frameworks,
			    uint64_t most_events);   /* at least 1 */
void history_free(struct history *h);                /* NULL is fine */

/* The kinds that history_see() is for. */
#define HISTORY_DELTAS                                                                                           \
	(DELTA_BIT(DELTA_BLOCK_ALLOC) | DELTA_BIT(DELTA_BLOCK_FREE) | DELTA_BIT(DELTA_BLOCK_LOST) |              \
	 DELTA_BIT(DELTA_BLOCK_BACK) | DELTA_BIT(DELTA_SEGMENT_ALLOC) | DELTA_BIT(DELTA_SEGMENT_FREE) |          \
	 DELTA_BIT(DELTA_SEGMENT_BACK) | DELTA_BIT(DELTA_RANGE) | DELTA_BIT(DELTA_REQUEST_FAILED) |              \
	 DELTA_BIT(DELTA_REQUEST_MET) | DELTA_BIT(DELTA_EXEC) | DELTA_BIT(DELTA_EXIT) | DELTA_BIT(DELTA_DUMP))
void history_see(void *history, const struct delta *delta);

#endif
