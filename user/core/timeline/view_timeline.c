// SPDX-License-Identifier: BSD-2-Clause
#include "core/timeline/view_timeline.h"

#include <stdlib.h>

static void free_view_series(struct view_series *s)
{
	free(s->keys);
	free(s->frames);
	free(s->points);
	free(s->parts);
}

void view_timeline_free(struct view_timeline *timeline)
{
	if (!timeline)
		return;
	free_view_series(&timeline->calls);
	free_view_series(&timeline->levels);
	free_view_series(&timeline->blocks);
	free(timeline->phases.list);
	free(timeline);
}
