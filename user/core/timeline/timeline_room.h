/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a timeline (timeline.h) holds: which processes have series, and the room that all series share.
 *
 * A line is a process on one GPU (a row of its account), with two series: what calls allocated, by stack and class, and
 * the sums beside that (enum timeline_level). A framework's device has a series of its own, of the framework's blocks,
 * whose parts (series_parts.h) are what the blocks are for (enum gmt_category), and the phases of a training.
 * Room is shared: each new series makes the bounds of all others smaller. So memory is bounded by the room:
 * TIMELINE_POINT_BYTES.
 */
#ifndef GPUMEMTRACE_CORE_TIMELINE_TIMELINE_ROOM_H
#define GPUMEMTRACE_CORE_TIMELINE_TIMELINE_ROOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "core/timeline/phase_spans.h"
#include "core/timeline/series.h"
#include "core/timeline/view_timeline.h"

struct frames;
struct frameworks;
struct process;

struct timeline_line {
	struct series calls;     /* what: enum gmt_class, TIMELINE_DRIVER */
	struct series levels;    /* stack_id: 0 */
};

struct timeline_device {
	struct series blocks;    /* what: 0 */
	struct phase_spans phases;
	uint32_t iteration;      /* that goes on; 0: none yet */
	bool has_returned;       /* blocks have come back: what blocks are for is not known any longer */
};

struct timeline_process {
	const struct process *of;
	struct timeline_line **lines;     /* by row; NULL: none */
	size_t line_count;
	struct timeline_device **devices; /* by CUDA ordinal; NULL: none */
	size_t device_count;
	bool has_ended;          /* and it has series. Places, 1 + index in timeline.processes; 0: none: */
	uint32_t older, newer;   /* that ended before, and after */
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
	uint64_t points, each;   /* the room of all series, and of each */
	uint32_t series_count, series_most;
	bool is_coarse;          /* memory was short: the room is smaller than at the beginning */
	uint32_t vacant;         /* 1 + the newest place that a forgotten process has left; 0: none */
	uint32_t oldest, newest; /* 1 + the places of processes that have series and ended first and last; 0: none */
	uint64_t dropped;        /* processes that have ended, whose series made room for others' */
	uint64_t unseen;         /* processes that lack series for want of room */
};

/* Room for so many points (series.h) of all series together. */
struct timeline *timeline_new(const struct frameworks *frameworks, const struct frames *frames, uint64_t points);
void timeline_free(struct timeline *t);     /* NULL is fine */

void timeline_each_series(struct timeline_process *tp, void (*act)(struct series *s, const void *arg),
			  const void *arg);
/* NULL: the timeline has nothing of the process. Good until the next new process. */
const struct timeline_process *timeline_find(const struct timeline *t, const struct process *p);

/* The line of a row of the process's account, and the device of its framework. NULL: its series have no room. */
struct timeline_line *timeline_put_line(struct timeline *t, const struct process *p, unsigned int row);
struct timeline_device *timeline_put_device(struct timeline *t, const struct process *p, unsigned int ordinal);

/* The process has ended: its series make room for others' before the series of processes that end later. */
void timeline_end_process(struct timeline *t, struct timeline_process *tp);
/* The process is forgotten, with its series. */
void timeline_forget_process(struct timeline *t, struct timeline_process *tp);
/* Memory is short: a part of the room stays. */
void timeline_shed_room(struct timeline *t);

#endif
