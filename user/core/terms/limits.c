// SPDX-License-Identifier: BSD-2-Clause
#include "core/terms/limits.h"

#include <stdlib.h>

#include "base/xalloc.h"

void limits_add(struct limits *limits, const struct gmt_limit *record)
{
	struct gmt_limit *limit;

	if (limits->count == LIMITS_MAX)
		return;
	limits->list = xreallocarray(limits->list, limits->count + 1, sizeof(*limits->list));
	limit = &limits->list[limits->count++];
	*limit = *record;
	limit->what[sizeof(limit->what) - 1] = limit->why[sizeof(limit->why) - 1] = '\0';
	limit->remedy[sizeof(limit->remedy) - 1] = '\0';
}

void limits_copy(struct limits *to, const struct limits *from)
{
	for (size_t i = 0; i < from->count; i++)
		limits_add(to, &from->list[i]);
}

void limits_fini(struct limits *limits)
{
	free(limits->list);
	*limits = (struct limits){ 0 };
}
