/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory that comes for good, but not in each iteration: losses that are kept for a log, outputs of each evaluation. A
 * level is the least that any later iteration has left allocated. The level rises where an iteration leaves memory that
 * never goes again; what comes and goes does not raise the level. Values are bytes, times are CLOCK_MONOTONIC in ns. A
 * struct owns nothing: all zeros is one without a value.
 *
 * Levels rise by chance, too, and where other memory of the same size takes the place of what goes. So growth is a leak
 * only if as much memory is kept over iterations (findings.c, oom_causes.c).
 */
#ifndef GPUMEMTRACE_CORE_FRAMEWORK_RISES_H
#define GPUMEMTRACE_CORE_FRAMEWORK_RISES_H

#include <stdint.h>

#include "core/framework/view_torch.h"

#define RISES_KEPT 32        /* levels; more are merged */
#define RISES_MIN 5          /* fewer may be caches that fill up */
#define RISES_ITERATIONS 20  /* in fewer, a few different inputs look like growth */
#define RISES_TIME_PART 8    /* of all iterations, the least part */
#define RISES_SMALL_PART 1024 /* a rise is more than this part of the most: numbers that are logged do not count */
/* Percent of all growth: that comes in each half of the iterations at least, and in the last quarter. */
#define RISES_HALF_SHARE 25
#define RISES_LATE_SHARE 10
/* Percent of the difference between the least and the most that iterations have left: less is chance. */
#define RISES_MOST_SHARE 50

struct rise_level {
	uint64_t bytes;          /* that all iterations from this one on have left */
	uint64_t most;           /* that an iteration has left until the next level */
	uint32_t iteration;
	uint32_t rises;          /* that led here from the level before; more may have been merged into one */
	uint64_t ts_ns;          /* when the iteration ended */
};

struct rises {
	unsigned int count;
	uint32_t newest;         /* iteration */
	uint64_t newest_ns;
	struct rise_level levels[RISES_KEPT]; /* by iteration, and so by bytes */
};

/* The iteration, which is newer than all before, has left these bytes allocated. */
void rises_add(struct rises *r, uint32_t iteration, uint64_t bytes, uint64_t ts_ns);
/* The growth in as many of the newest iterations as possible, if there is any; else all zero. `count` is the least
 * number of iterations that have left something. */
struct view_growth rises_growth(const struct rises *r);

#endif
