// SPDX-License-Identifier: BSD-2-Clause
#include "core/framework/iteration_end.h"

#include "core/framework/framework.h"

uint32_t iteration_end(const struct framework *f, unsigned int ordinal, uint32_t *known)
{
	const struct phase_line *line = f ? phases_line(&f->phases, ordinal) : NULL;
	uint32_t before = *known;

	if (!line)
		return 0;
	*known = line->now.iteration;
	return before == *known ? 0 : before;
}
