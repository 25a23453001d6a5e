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

void series_parts_shrink(struct series *s)
{
	if (!s->parts)
		return;
	s->parts_room = s->frame_count + 1;
	s->parts = xreallocarray(s->parts, s->parts_room, sizeof(*s->parts));
}

/* The list has room for the newest frame and the next. */
static void need_room(struct series *s)
{
	if (s->frame_count < s->parts_room)
		return;
	s->parts_room = 2 * s->frame_count + 1;
	s->parts = xreallocarray(s->parts, s->parts_room, sizeof(*s->parts));
}

void series_part(struct series *s, unsigned int part, uint64_t bytes, uint64_t from_ns, uint64_t until_ns)
{
	uint32_t from = frame_from(s, from_ns);
	uint32_t until = until_ns == SERIES_NOW ? s->frame_count : frame_from(s, until_ns);

	if (from > until || part >= SERIES_PARTS)
		return;
	need_rows(s);
	s->parts[from].change[part] += (int64_t)bytes;
	s->parts[until].change[part] -= (int64_t)bytes;
	s->parts[until].gone[part] += bytes;
	if (from_ns <= s->sums.peak_ts_ns && until_ns > s->sums.peak_ts_ns)
		s->at_peak[part] += bytes;
}

void series_parts_add(struct series *s)
{
	if (!s->parts)
		return;
	need_room(s);
	memset(&s->parts[s->frame_count], 0, sizeof(*s->parts));
}

void series_parts_join(struct series *s, uint32_t to, uint32_t from)
{
	for (unsigned int i = 0; s->parts && i < SERIES_PARTS; i++) {
		s->parts[to].change[i] += s->parts[from].change[i];
		s->parts[to].gone[i] += s->parts[from].gone[i];
	}
}

void series_parts_move(struct series *s, uint32_t to, uint32_t from)
{
	if (s->parts && to != from)
		s->parts[to] = s->parts[from];
}

static int64_t more_than_0(int64_t bytes)
{
	return bytes > 0 ? bytes : 0;
}

/* Splits a span in two at the peak. What is known of the whole span holds for both: no part was less than `gone` below,
 * or more than `gone` + `change` above, what it was before. */
static void split_span(struct series_parts *first, struct series_parts *second, unsigned int part, int64_t to_peak)
{
	int64_t rest = second->change[part] - to_peak;

	first->change[part] = to_peak;
	first->gone[part] = second->gone[part] + (uint64_t)more_than_0(rest);
	second->change[part] = rest;
	second->gone[part] += (uint64_t)more_than_0(to_peak);
}

void series_parts_insert(struct series *s, uint32_t place)
{
	int64_t before[SERIES_PARTS] = { 0 };

	if (!s->parts)
		return;
	need_room(s);
	memmove(&s->parts[place + 1], &s->parts[place], (s->frame_count - place) * sizeof(*s->parts));
	for (uint32_t i = 0; i < place; i++)
		for (unsigned int part = 0; part < SERIES_PARTS; part++)
			before[part] += s->parts[i].change[part];
	for (unsigned int part = 0; part < SERIES_PARTS; part++)
		split_span(&s->parts[place], &s->parts[place + 1], part, (int64_t)s->at_peak[part] - before[part]);
}
