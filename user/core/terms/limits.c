// SPDX-License-Identifier: BSD-2-Clause
#include "core/terms/limits.h"

#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"

/* The limit that the record is about, or room for it; NULL: there are too many. */
static struct gmt_limit *limit_of(struct limits *limits, const struct gmt_limit *record)
{
	for (size_t i = 0; i < limits->count; i++)
		if (!strncmp((const char *)limits->list[i].what, (const char *)record->what, sizeof(record->what) - 1))
			return &limits->list[i];
	if (limits->count == LIMITS_MAX)
		return NULL;
	limits->list = xreallocarray(limits->list, limits->count + 1, sizeof(*limits->list));
	return &limits->list[limits->count++];
}

void limits_add(struct limits *limits, const struct gmt_limit *record)
{
	struct gmt_limit *limit = limit_of(limits, record);

	if (!limit)
		return;
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
