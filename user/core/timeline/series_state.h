/* SPDX-License-Identifier: BSD-2-Clause */
/* What a series (series.h) holds: keys, and the frames and points of view_series.h. */
#ifndef GPUMEMTRACE_CORE_TIMELINE_SERIES_STATE_H
#define GPUMEMTRACE_CORE_TIMELINE_SERIES_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "core/account/stacks.h"
#include "core/timeline/view_series.h"

#define SERIES_KEYS_MIN 64

struct series_key {
	uint32_t stack_id;       /* 0: none */
	uint32_t what;           /* the caller's number of a class or a category */
	/* since the newest frame: */
	bool has_changed;
	uint64_t least, most;
};

struct series {
	struct stacks sums;      /* its ids and its indices are those of keys */
	struct series_key *keys; /* in order of appearance */
	uint32_t key_count;
	uint32_t keys_most;      /* what has no room is booked as memory without a stack (stack_id 0, what 0) */
	struct hash by_key;      /* uint32_t: index in keys */
	uint32_t *changed;       /* keys, in order of their first change after the newest frame */
	uint32_t changed_count;
	struct series_frame *frames;
	uint32_t frame_count;
	struct series_point *points;
	uint64_t point_count, points_most, frames_most;
	struct series_parts *parts; /* of each frame, and of the next; NULL: no part is known */
	uint32_t parts_room;
	uint64_t at_peak[SERIES_PARTS]; /* of each part, as far as is known */
	uint64_t least, most;    /* of the sum, since the newest frame */
	uint64_t now_ns;         /* of the newest change; time does not go back */
	uint32_t stride;         /* ends of iterations whose numbers are multiples have frames */
	uint32_t by_why[SERIES_WHY_COUNT]; /* frames */
	uint64_t left_out[SERIES_WHY_COUNT]; /* moments that have no frame any longer */
	uint64_t keys_merged;    /* allocations whose key had no room */
	uint64_t unknown;        /* removals of more than there was, which change nothing */
	bool has_no_sum;         /* the sum of the keys has no meaning, so its peak has no frame */
	uint8_t shift;           /* a slot takes 1 << shift nanoseconds; SERIES_SHIFT_MAX: all time is one slot */
};
#define SERIES_SHIFT_MAX 64

static inline uint64_t series_slot(const struct series *s, uint64_t ts_ns)
{
	return s->shift < SERIES_SHIFT_MAX ? ts_ns >> s->shift : 0;
}

/* What a key held when the sum was highest (sums.peak, sums.peak_ts_ns). */
static inline uint64_t series_at_peak(const struct series *s, uint32_t key)
{
	return stacks_held(&s->sums, key, STACKS_AT_PEAK);
}

#endif
