/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory over time of each process on each GPU, by who holds it: an observer of deltas (delta.h).
 *
 * A line is a process on one GPU (a row of its account), with two series: what calls allocated, by stack and class, and
 * the sums beside that (enum timeline_level). A framework's device has a series of its own, of the framework's blocks,
 * whose parts (series_parts.h) are what the blocks are for (enum gmt_category).
 * Room is shared: each new series makes the bounds of all others smaller. So memory is bounded by the room:
 * TIMELINE_POINT_BYTES.
 */
#ifndef GPUMEMTRACE_CORE_TIMELINE_TIMELINE_H
#define GPUMEMTRACE_CORE_TIMELINE_TIMELINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "core/ledger/delta.h"
#include "core/timeline/series.h"
#include "core/timeline/view_timeline.h"

struct frames;
struct frameworks;
struct process;

struct timeline_line {
	struct series calls;     /* what: enum gmt_class */
	struct series levels;    /* stack_id: 0 */
};

struct timeline_device {
	struct series blocks;    /* what: 0 */
	uint32_t iteration;      /* that goes on; 0: none yet */
	bool has_returned;       /* blocks have come back: what blocks are for is not known any longer */
};

struct timeline_process {
	const struct process *of;
	struct timeline_line **lines;     /* by row; NULL: none */
	unsigned int line_count;
	struct timeline_device **devices; /* by CUDA ordinal; NULL: none */
	unsigned int device_count;
	uint64_t end;            /* it has series, and has ended as the so many-th process; 0: it has not */
	bool is_unseen;          /* is counted in timeline.unseen */
	uint32_t next_vacant;    /* of a place without a process: 1 + the next such place; 0: none */
};

/* Of all processes together, by the room. For more, the series of the processes that ended longest ago are dropped. */
#define TIMELINE_SERIES_MIN 48
#define TIMELINE_SERIES_MAX 768
/* What all series take, but for the keys and the growth of lists: so many bytes for each point of room. */
#define TIMELINE_POINT_BYTES 128

struct timeline {
	const struct frameworks *frameworks;
	const struct frames *frames;
	struct timeline_process *processes;
	uint32_t process_count;
	struct hash by_process;  /* uint32_t: index; by the address of a struct process */
	uint64_t points;         /* the room of all series */
	uint32_t series_count, series_most;
	bool is_coarse;          /* memory was short: the room is smaller than at the beginning */
	uint32_t vacant;         /* 1 + the newest place that a forgotten process has left; 0: none */
	uint64_t ends;           /* of processes that had series */
	uint64_t dropped;        /* processes that have ended, whose series made room for others' */
	uint64_t unseen;         /* processes that lack series for want of room */
};

/* Room for so many points (series.h) of all series together. */
struct timeline *timeline_new(const struct frameworks *frameworks, const struct frames *frames, uint64_t points);
void timeline_free(struct timeline *t);     /* NULL is fine */

#define TIMELINE_DELTAS                                                                                          \
	(DELTA_BIT(DELTA_ALLOC) | DELTA_BIT(DELTA_FREE) | DELTA_BIT(DELTA_RESTORE) | DELTA_BIT(DELTA_MOVE) |     \
	 DELTA_BIT(DELTA_RESIZE) | DELTA_BIT(DELTA_BLOCK_ALLOC) | DELTA_BIT(DELTA_BLOCK_FREE) |                  \
	 DELTA_BIT(DELTA_BLOCK_LOST) | DELTA_BIT(DELTA_BLOCK_BACK) | DELTA_BIT(DELTA_CALL) |                     \
	 DELTA_BIT(DELTA_NVML) |                                                                                 \
	 DELTA_BIT(DELTA_MARK) | DELTA_BIT(DELTA_WINDOW) | DELTA_BIT(DELTA_REQUEST_FAILED) |                     \
	 DELTA_BIT(DELTA_EXEC) | DELTA_BIT(DELTA_EXIT) | DELTA_BIT(DELTA_FORGET) | DELTA_BIT(DELTA_SHED))
void timeline_see(void *timeline, const struct delta *delta);
/* What live blocks are for, before their framework forgets them. */
#define TIMELINE_END_DELTAS (DELTA_BIT(DELTA_EXEC) | DELTA_BIT(DELTA_EXIT))
void timeline_see_end(void *timeline, const struct delta *delta);

/* NULL: the timeline has nothing of the process. Good until the next new process. */
const struct timeline_process *timeline_find(const struct timeline *t, const struct process *p);

#endif
