/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/framework/category.h"

#include "base/rangemap.h"

#define PHASE_BITS 3
#define SPAN_SHIFT (CATEGORY_OTHER_BITS + PHASE_BITS)
_Static_assert(GMT_TRAINING_COUNT <= 1 << PHASE_BITS, "a phase fits");

void category_set_birth(struct range *block, struct training_moment birth)
{
	block->value |= (uint64_t)birth.iteration << 32;
	block->aux |= birth.phase << CATEGORY_OTHER_BITS | birth.span << SPAN_SHIFT;
}

bool category_is_late(const struct range *block, uint32_t iteration)
{
	uint32_t birth = block->value >> 32;

	return birth > CATEGORY_START_UP && iteration - birth > CATEGORY_USUAL;
}

bool category_is_known(const struct range *block)
{
	return block->value >> 32;
}

/* For a block that forward made: a backward needs the block, or the block stays for longer. Before the first backward
 * nothing tells the two apart. */
static enum gmt_category made_forward(struct training_moment birth, struct training_moment now, bool is_alive,
				      bool is_first)
{
	uint32_t age = now.iteration - birth.iteration;
	bool is_model = birth.iteration == 1 && is_first;

	if (!now.is_training)
		return GMT_CATEGORY_UNKNOWN;
	if (!age && now.phase == GMT_TRAINING_BACKWARD)
		return is_alive && is_model ? GMT_CATEGORY_UNKNOWN : GMT_CATEGORY_ACTIVATION;
	if (!age && now.phase == GMT_TRAINING_FORWARD) {
		if (!is_alive)
			return now.span == birth.span ? GMT_CATEGORY_TEMPORARY : GMT_CATEGORY_INPUT;
		return is_model ? GMT_CATEGORY_UNKNOWN : GMT_CATEGORY_ACTIVATION;
	}
	if (is_model && (is_alive || age > 1))
		return age ? GMT_CATEGORY_PARAMETER : GMT_CATEGORY_UNKNOWN;
	return age > 1 ? GMT_CATEGORY_KEPT : GMT_CATEGORY_INPUT;
}

enum gmt_category category_guess(const struct range *block, struct training_moment now, bool is_alive, bool is_first)
{
	struct training_moment birth = {
		.phase = block->aux >> CATEGORY_OTHER_BITS & ((1 << PHASE_BITS) - 1),
		.span = block->aux >> SPAN_SHIFT,
		.iteration = block->value >> 32,
	};
	bool in_same;

	now.span = now.span << SPAN_SHIFT >> SPAN_SHIFT;   /* keeps as many bits as the birth has */
	in_same = now.span == birth.span;
	switch ((enum gmt_training)birth.phase) {
	case GMT_TRAINING_BACKWARD:
		if (in_same)
			return is_alive ? GMT_CATEGORY_AUTOGRAD_DETAIL : GMT_CATEGORY_TEMPORARY;
		return GMT_CATEGORY_GRADIENT;
	case GMT_TRAINING_OPTIMIZER:
		return in_same && !is_alive ? GMT_CATEGORY_TEMPORARY : GMT_CATEGORY_OPTIMIZER_STATE;
	case GMT_TRAINING_ZERO_GRAD:
		return GMT_CATEGORY_TEMPORARY;
	default:
		return made_forward(birth, now, is_alive, is_first);
	}
}

/* Where the guess does not say the purpose, the code that asked for the memory may say it. What the constructor of a
 * module makes is meant to stay, even if it came in the middle of a training. */
enum gmt_category category_with_hint(enum gmt_category guess, uint8_t hint)
{
	if (hint == GMT_CATEGORY_WORKSPACE || (hint == GMT_CATEGORY_PARAMETER && guess == GMT_CATEGORY_KEPT))
		return hint;
	return guess == GMT_CATEGORY_UNKNOWN && hint < GMT_CATEGORY_COUNT ? hint : guess;
}
