// SPDX-License-Identifier: BSD-2-Clause
#include "core/timeline/series_parts.h"

#include <string.h>

#include "base/xalloc.h"

/* The first frame at or after this time; behind the last one: the next frame. */
static uint32_t frame_from(const struct series *s, uint64_t ts_ns)
{
	uint32_t low = 0, high = s->frame_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (s->frames[middle].ts_ns < ts_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* A row for each frame and one for the next. */
static void need_rows(struct series *s)
{
	if (s->parts)
		return;
	s->parts_room = s->frame_count + 1;
	s->parts = xcalloc(s->parts_room, sizeof(*s->parts));
}

void series_part(struct series *s, unsigned int part, uint64_t bytes, uint64_t from_ns, uint64_t until_ns)
{
	uint32_t from = frame_from(s, from_ns);
	uint32_t until = until_ns == SERIES_NOW ? s->frame_count : frame_from(s, until_ns);

	if (from >= until || part >= SERIES_PARTS)
		return;
	need_rows(s);
	s->parts[from].change[part] += (int64_t)bytes;
	s->parts[until].change[part] -= (int64_t)bytes;
}

void series_parts_add(struct series *s)
{
	if (!s->parts)
		return;
	if (s->frame_count >= s->parts_room) {
		s->parts_room = 2 * s->frame_count + 1;
		s->parts = xreallocarray(s->parts, s->parts_room, sizeof(*s->parts));
	}
	memset(&s->parts[s->frame_count], 0, sizeof(*s->parts));
}

void series_parts_join(struct series *s, uint32_t to, uint32_t from)
{
	for (unsigned int i = 0; s->parts && i < SERIES_PARTS; i++)
		s->parts[to].change[i] += s->parts[from].change[i];
}

void series_parts_move(struct series *s, uint32_t to, uint32_t from)
{
	if (s->parts && to != from)
		s->parts[to] = s->parts[from];
}
