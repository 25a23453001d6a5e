/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The purpose of a PyTorch block: a guess from what the program was doing when it made the block, what it did when it
 * freed the block (or does now), and how long the block lived. From outside nothing says the purpose for certain.
 */
#ifndef GPUMEMTRACE_CORE_FRAMEWORK_CATEGORY_H
#define GPUMEMTRACE_CORE_FRAMEWORK_CATEGORY_H

#include <stdbool.h>
#include <stdint.h>

#include <gpumemtrace/terms.h>

struct range;

/* The number of low bits of a block's range.aux that do not belong to its birth. */
#define CATEGORY_OTHER_BITS 1

/* What a device was doing at a moment. */
struct training_moment {
	uint8_t phase;           /* enum gmt_training */
	bool is_training;        /* a backward had begun before */
	uint32_t span;           /* number of this phase: two consecutive phases of one kind have two numbers */
	uint32_t iteration;      /* from 1 on */
};

/* Writes the birth into a block's range: the iteration into the upper half of value, phase and span into aux, above
 * CATEGORY_OTHER_BITS. These bits must be 0 before. */
void category_set_birth(struct range *block, struct training_moment birth);

/* Guesses the purpose of a block that is freed at `now`, or alive then. `is_first`: the first iteration was seen from
 * its beginning, so the blocks that this iteration made and keeps are the model. */
enum gmt_category category_guess(const struct range *block, struct training_moment now, bool is_alive, bool is_first);
/* The purpose of memory by a guess and by the code that asked for it (core/terms/symbol_hint.h; SYMBOL_HINT_NONE). */
enum gmt_category category_with_hint(enum gmt_category guess, uint8_t hint);
/* What a training makes in so many first iterations and keeps belongs to its start-up: the gradient buckets of
 * DistributedDataParallel, which come with the second forward, and caches. */
#define CATEGORY_START_UP 3
/* What an iteration returns is often held by a variable until the next iteration returns, when the iteration after that
 * has begun. */
#define CATEGORY_USUAL 2
/* Whether the block was made after the start-up, and is held for longer than usual in this iteration. */
bool category_is_late(const struct range *block, uint32_t iteration);
/* False: the block was made before anything was known of its device. */
bool category_is_known(const struct range *block);

#endif
