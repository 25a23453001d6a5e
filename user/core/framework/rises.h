/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory that comes for good, but not in each iteration: losses that are kept for a log, outputs of each evaluation. A
 * level is the least that any later iteration has left allocated. The level rises where an iteration leaves memory that
 * never goes again; what comes and goes does not raise the level. Values are bytes, times are CLOCK_MONOTONIC in ns. A
 * struct owns nothing: all zeros is one without a value.
 */
#ifndef GPUMEMTRACE_CORE_FRAMEWORK_RISES_H
#define GPUMEMTRACE_CORE_FRAMEWORK_RISES_H

#include <stdint.h>

#include "core/framework/view_torch.h"

#define RISES_KEPT 32      /* levels; more are merged */
#define RISES_MIN 5        /* fewer may be caches that fill up */
#define RISES_ITERATIONS 20 /* in fewer, different inputs look like growth by chance: see test_rises.c */
#define RISES_MOST_SHARE 50 /* percent of the greatest difference between what iterations have left */
#define RISES_HALF_SHARE 25 /* percent of all growth that each half of the iterations has at least */

struct rise_level {
	uint64_t bytes;          /* that all iterations from this one on have left */
	uint32_t iteration;
	uint32_t rises;          /* that led here from the level before */
	uint64_t ts_ns;          /* when the iteration ended */
};

struct rises {
	unsigned int count;
	uint32_t newest;         /* iteration */
	uint64_t newest_ns;
	uint64_t most;           /* that any iteration has left */
	struct rise_level levels[RISES_KEPT]; /* by iteration, and so by bytes */
};

/* The iteration, which is newer than all before, has left these bytes allocated. */
void rises_add(struct rises *r, uint32_t iteration, uint64_t bytes, uint64_t ts_ns);
/* The growth, if it has come in enough rises and in both halves of the iterations; else all zero. */
struct view_growth rises_growth(const struct rises *r);

#endif
