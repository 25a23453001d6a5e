/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What changes in a history, by one record: events are added, segments and blocks begin and end. These
 * functions keep the history's invariant.
 */
#ifndef GPUMEMTRACE_CORE_HISTORY_HISTORY_CHANGE_H
#define GPUMEMTRACE_CORE_HISTORY_HISTORY_CHANGE_H

#include "core/history/history.h"

/* A record that is being taken in. */
struct history_step {
	struct history *h;
	struct history_process *hp;
	uint64_t ts_ns;
};

/* Whether memory may lie there: records may say anything. */
static inline bool history_is_place(uint64_t base, uint64_t length)
{
	return length && length < HISTORY_ADDRESS_END / 8 && base < HISTORY_ADDRESS_END - length;
}

/* A new event, of the process and the time; good until the next. The other about a block or a segment. */
struct history_event *history_add(const struct history_step *s, enum gmt_history_kind kind);
void history_add_range(const struct history_step *s, enum gmt_history_kind kind, const struct range *r);

/* A segment begins, its number is filled in; what was there has ended unseen. */
void history_begin_segment(const struct history_step *s, struct range *segment);
/* One ends that is out of the map already; all that lie in [base, base + length) do. */
void history_end_segment(const struct history_step *s, const struct range *segment);
void history_end_segments(const struct history_step *s, uint64_t base, uint64_t length);

/* Blocks that lost their memory have it back, for the segment is there again. */
void history_wake_blocks(const struct history_step *s, const struct range *segment);

/* There is a segment below the block, or one is made up. False: it is not at an address. */
bool history_cover(const struct history_step *s, const struct range *block);
/* Whether such segments are there already. */
bool history_is_covered(const struct rangemap *segments, const struct range *block);
/* False: there was no block. */
bool history_end_block(const struct history_step *s, uint64_t base);

#endif
