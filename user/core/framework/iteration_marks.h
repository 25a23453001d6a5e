/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Marks at the ends of a device's iterations, between which the growth of each stack is counted (stacks.h). All memory
 * of an iteration is gone at these moments. The first mark is 32 to 64 iterations old; the first iteration, which makes
 * the memory that stays, is before all marks. A struct owns nothing: all zeros is one without a mark.
 */
#ifndef GPUMEMTRACE_CORE_FRAMEWORK_ITERATION_MARKS_H
#define GPUMEMTRACE_CORE_FRAMEWORK_ITERATION_MARKS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/account/stacks.h"

#define ITERATION_MARKS_SPAN 32      /* iterations until a newer mark becomes the first one */

struct iteration_marks {
	bool has_begun;
	uint8_t first, middle, next; /* places; `next` is marked again at the end of each iteration */
	uint32_t of[STACKS_ITERATION_MARKS]; /* the iteration that ended at the mark */
	uint32_t newest;             /* iteration that has ended */
};

/* The moments (enum stacks_moment) between which so many iterations have ended; 0: growth is not known. */
struct iteration_span {
	unsigned int from, to;
	uint32_t iterations;
};

/* The iteration, and all before, have ended. Returns the mark that has been set; STACKS_MARKS: none. */
unsigned int iteration_marks_end(struct iteration_marks *marks, struct stacks *stacks, uint32_t iteration);
struct iteration_span iteration_marks_span(const struct iteration_marks *marks);

#endif
