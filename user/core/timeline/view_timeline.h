/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The part of a view (view.h) about memory over time, of one process on one GPU. Sizes are bytes, times CLOCK_MONOTONIC
 * nanoseconds.
 *
 * At a frame all numbers are exact. Between two frames a key lies within the bounds of its point in the later frame; a
 * key without a point does not change there.
 */
#ifndef GPUMEMTRACE_CORE_TIMELINE_VIEW_TIMELINE_H
#define GPUMEMTRACE_CORE_TIMELINE_VIEW_TIMELINE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/timeline/view_series.h"

/* series_key.what in view_timeline.calls beside enum gmt_class. Where no call was seen: memory by the kernel driver, or
 * else NVML's number. Before a dump: device memory, of which a dump's window has no class. */
#define TIMELINE_DRIVER GMT_CLASS_COUNT
#define TIMELINE_TOLD (GMT_CLASS_COUNT + 1)
#define TIMELINE_SEGMENT (GMT_CLASS_COUNT + 2)

/* series_key.what in timeline_line.levels. */
enum timeline_level {
	TIMELINE_PHYSICAL,       /* what the kernel driver gave */
	TIMELINE_NVML,           /* NVML's newest number */
	TIMELINE_RESERVED,       /* what the framework has from the driver */
	TIMELINE_LEVEL_COUNT
};

struct view_series_key {
	uint32_t stack;          /* index in view.stacks */
	uint32_t asked;          /* likewise: the stack that waited for it (waiting.h); else the same */
	uint32_t what;           /* as in the series (timeline.h) */
	bool is_segment;         /* its memory is a framework's reserve, in which the framework's blocks lie */
	uint8_t purpose;         /* of blocks: what most of its memory is for, now or, if the process has ended, at the
				  * peak: 1 + enum gmt_category; 0: not told */
	uint64_t at_peak;        /* when the sum of all was highest */
};

struct view_series {
	uint32_t key_count, frame_count;
	struct view_series_key *keys;
	struct series_frame *frames;
	struct series_point *points;
	struct series_parts *parts; /* of each frame: by enum gmt_category; NULL: not known */
	uint64_t peak, peak_ts_ns;
	uint64_t slot_ns;        /* frames of time are at least so far apart, about */
	uint64_t left_out[SERIES_WHY_COUNT]; /* moments that have no frame any longer */
	uint64_t keys_merged;    /* allocations without a key of their own */
};

/* A time in one phase of a training; or, where there were too many, the times of several that followed each other. */
struct phase_span {
	uint64_t from_ns, until_ns;
	uint64_t in_ns[GMT_TRAINING_COUNT]; /* what is left is in none */
};

struct view_phases {
	uint32_t count;
	struct phase_span *list;   /* in order of time */
	uint64_t merged;           /* spans that have become part of another */
};

struct view_timeline {
	struct view_series calls;  /* device memory that calls asked for; what: enum gmt_class */
	bool is_bare;              /* no call was seen. calls.what: TIMELINE_DRIVER, TIMELINE_TOLD */
	uint64_t beside;           /* of a dump's picture: bytes of calls that the dump's window does not have */
	struct view_series levels; /* what: enum timeline_level; stack: without a meaning */
	bool has_blocks;
	struct view_series blocks; /* a framework's blocks on this GPU; what: 0 */
	struct view_phases phases; /* of its training there */
};

void view_timeline_free(struct view_timeline *timeline);   /* NULL is fine */

#endif
