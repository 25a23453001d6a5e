/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a program did when a block was made, kept in the block's range: the iteration in the upper half of value,
 * whose lower half is the owner's; phase and span in aux, above as many bits as the owner has there.
 */
#ifndef GPUMEMTRACE_CORE_FRAMEWORK_BIRTH_H
#define GPUMEMTRACE_CORE_FRAMEWORK_BIRTH_H

#include <stdbool.h>
#include <stdint.h>

#include "core/framework/category.h"
#include "base/rangemap.h"

#define BIRTH_PHASE_BITS 3
_Static_assert(GMT_TRAINING_COUNT <= 1 << BIRTH_PHASE_BITS, "a phase fits");

/* Of a new block, whose bits for it are 0. */
static inline void birth_put(struct range *block, unsigned int own_bits, struct training_moment birth)
{
	block->value |= (uint64_t)birth.iteration << 32;
	block->aux |= birth.phase << own_bits | birth.span << (own_bits + BIRTH_PHASE_BITS);
}

static inline uint32_t birth_iteration(const struct range *block)
{
	return block->value >> 32;
}

/* What the block is for, that goes at `now`, or is alive then: category_guess(). */
static inline enum gmt_category birth_category(const struct range *block, unsigned int own_bits,
					       struct training_moment now, bool is_alive, bool is_first)
{
	unsigned int below = own_bits + BIRTH_PHASE_BITS;
	struct training_moment birth = {
		.phase = block->aux >> own_bits & ((1 << BIRTH_PHASE_BITS) - 1),
		.span = block->aux >> below,
		.iteration = birth_iteration(block),
	};

	/* In the number of bits that the birth's has. */
	now.span = now.span << below >> below;
	return category_guess(birth, now, is_alive, is_first);
}

#endif
