/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a block of PyTorch's is for: a guess, from what the program was doing when it was made, what it did
 * when it was freed (or does now), and how long that was. Nothing says it for certain from outside.
 */
#ifndef GPUMEMTRACE_CORE_FRAMEWORK_CATEGORY_H
#define GPUMEMTRACE_CORE_FRAMEWORK_CATEGORY_H

#include <stdbool.h>
#include <stdint.h>

#include <gpumemtrace/terms.h>

/* As files have it: a category plus 1, 0 where none is told. One that is not known here is UNKNOWN. */
static inline uint8_t category_read(uint32_t stored)
{
	return stored <= GMT_CATEGORY_COUNT ? stored : GMT_CATEGORY_UNKNOWN + 1;
}

/* What a device was doing at a moment. */
struct training_moment {
	uint8_t phase;           /* enum gmt_training */
	bool is_training;        /* there was a backward by then */
	uint32_t span;           /* number of this phase: two in a row of one kind are two */
	uint32_t iteration;      /* from 1 on */
};

/* A block made at `birth` and freed at `now`; or alive then. `is_first`: the first iteration was seen from
 * its beginning, so what it made and keeps is the model. */
enum gmt_category category_guess(struct training_moment birth, struct training_moment now, bool is_alive,
				 bool is_first);

#endif
