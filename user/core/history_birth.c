/* SPDX-License-Identifier: BSD-2-Clause */
/* See history_birth.h. */
#include "core/history_birth.h"

#include "core/process.h"

#define PHASE_BITS 3
_Static_assert(GMT_TRAINING_COUNT <= 1 << PHASE_BITS, "a phase fits");
_Static_assert(GMT_CATEGORY_COUNT < 15, "a category fits into an event");

/* NULL: nothing is known of it. */
static const struct phase_line *line_of(const struct history_process *hp, int device)
{
	const struct torch *t = hp->of->torch;

	return t && device >= 0 && (unsigned int)device < t->count ? phases_line(t->phases, device) : NULL;
}

/* In the number of bits that there are for it. */
static uint32_t short_span(uint32_t span)
{
	return span << (HISTORY_FLAG_BITS + PHASE_BITS) >> (HISTORY_FLAG_BITS + PHASE_BITS);
}

void history_set_birth(const struct history_process *hp, struct range *block)
{
	const struct phase_line *line = line_of(hp, block->gpu);

	if (!line || hp->is_read)
		return;
	block->value = (uint64_t)line->now.iteration << 32 | history_stack(block);
	block->aux |= line->now.phase << HISTORY_FLAG_BITS |
		      line->now.span << (HISTORY_FLAG_BITS + PHASE_BITS);
}

unsigned int history_category(const struct history_process *hp, const struct range *block, bool is_alive)
{
	const struct phase_line *line = line_of(hp, block->gpu);
	struct training_moment birth, now;

	if (hp->is_read)
		return history_told_category(block);
	if (!line || !(block->value >> 32) || block->offset == GMT_HISTORY_UNSEEN)
		return 0;
	birth = (struct training_moment){
		.phase = block->aux >> HISTORY_FLAG_BITS & ((1 << PHASE_BITS) - 1),
		.span = block->aux >> (HISTORY_FLAG_BITS + PHASE_BITS),
		.iteration = block->value >> 32,
	};
	now = line->now;
	now.span = short_span(now.span);
	return category_guess(birth, now, is_alive, hp->of->torch->devices[block->gpu].is_first) + 1;
}
