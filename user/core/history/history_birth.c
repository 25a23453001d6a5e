/* SPDX-License-Identifier: BSD-2-Clause */
/* See history_birth.h. */
#include "core/history/history_birth.h"

#include "core/framework/birth.h"
#include "core/ledger/process.h"

_Static_assert(GMT_CATEGORY_COUNT < 15, "a category fits into an event");

/* NULL: nothing is known of it. */
static const struct phase_line *line_of_device(const struct history_process *hp, int device)
{
	const struct torch *t = hp->of->torch;

	return t && device >= 0 && (unsigned int)device < t->count ? phases_line(t->phases, device) : NULL;
}

void history_set_birth(const struct history_process *hp, struct range *block)
{
	const struct phase_line *line = line_of_device(hp, block->gpu);

	if (!line || hp->is_read)
		return;
	birth_put(block, HISTORY_FLAG_BITS, line->now);
}

unsigned int history_category(const struct history_process *hp, const struct range *block, bool is_alive)
{
	const struct phase_line *line = line_of_device(hp, block->gpu);

	if (hp->is_read)
		return history_told_category(block);
	if (!line || !birth_iteration(block) || block->offset == GMT_HISTORY_UNSEEN)
		return 0;
	return birth_category(block, HISTORY_FLAG_BITS, line->now, is_alive,
			      hp->of->torch->devices[block->gpu].is_first) + 1;
}
