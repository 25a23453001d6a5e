// SPDX-License-Identifier: BSD-2-Clause
#include "core/terms/limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"

/* The limit that the record is about, or room for it; NULL: there are too many. */
static struct gmt_limit *limit_of(struct limits *limits, const struct gmt_limit *record)
{
	for (size_t i = 0; i < limits->count; i++)
		if (!strncmp((const char *)limits->list[i].what, (const char *)record->what, sizeof(record->what) - 1))
			return &limits->list[i];
	if (limits->count >= LIMITS_MAX)
		return NULL;
	limits->list = xreallocarray(limits->list, limits->count + 1, sizeof(*limits->list));
	return &limits->list[limits->count++];
}

/* One limit more stands for all that find no room, so that each output tells of them. */
static void count_left_out(struct limits *limits)
{
	struct gmt_limit *last;

	if (!limits->left_out++)
		limits->list = xreallocarray(limits->list, ++limits->count, sizeof(*limits->list));
	last = &limits->list[limits->count - 1];
	*last = (struct gmt_limit){ .what = "further limits" };
	snprintf((char *)last->why, sizeof(last->why), "%zu of them %s left out", limits->left_out,
		 limits->left_out == 1 ? "is" : "are");
}

void limits_add(struct limits *limits, const struct gmt_limit *record)
{
	struct gmt_limit *limit = limit_of(limits, record);

	if (!limit) {
		count_left_out(limits);
		return;
	}
	*limit = *record;
	limit->what[sizeof(limit->what) - 1] = limit->why[sizeof(limit->why) - 1] = '\0';
	limit->remedy[sizeof(limit->remedy) - 1] = '\0';
}

void limits_copy(struct limits *to, const struct limits *from)
{
	*to = (struct limits){ .count = from->count, .left_out = from->left_out };
	to->list = xcalloc(from->count + 1, sizeof(*to->list));
	for (size_t i = 0; i < from->count; i++)
		to->list[i] = from->list[i];
}

void limits_fini(struct limits *limits)
{
	free(limits->list);
	*limits = (struct limits){ 0 };
}
