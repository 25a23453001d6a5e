// SPDX-License-Identifier: BSD-2-Clause
/* Makes an instant's window (instants.h) small enough: the largest segments stay, each with all of its blocks. */
#include "core/history/instants.h"

#include <stdlib.h>

#include "base/xalloc.h"

/* Segments that a block may lie across: one, or pieces side by side. */
struct segment_run {
	uint64_t base, end;
	uint64_t ranges, held, segments;
};

static void count_blocks(const struct window *w, struct segment_run *run)
{
	uint64_t at = run->base;
	const struct range *b;

	while (at < run->end && (b = rangemap_from(&w->blocks, at)) && b->base < run->end) {
		run->ranges++;
		run->held += b->length;
		at = b->base + b->length;
	}
}

static struct segment_run *find_runs(const struct window *w, size_t *count)
{
	struct rangemap_pos pos = { 0 };
	const struct range *r, *last = NULL;
	struct segment_run *runs = NULL;

	*count = 0;
	while ((r = rangemap_next(&w->segments, &pos))) {
		if (!last || !window_is_joined(last, r)) {
			runs = xgrow(runs, *count, sizeof(*runs));
			runs[(*count)++] = (struct segment_run){ .base = r->base };
		}
		runs[*count - 1].end = r->base + r->length;
		runs[*count - 1].segments++;
		last = r;
	}
	for (size_t i = 0; i < *count; i++) {
		runs[i].ranges = runs[i].segments;
		count_blocks(w, &runs[i]);
	}
	return runs;
}

static int compare_runs(const void *left, const void *right)
{
	const struct segment_run *a = left, *b = right;
	uint64_t a_bytes = a->end - a->base, b_bytes = b->end - b->base;

	if (a_bytes != b_bytes)
		return a_bytes < b_bytes ? 1 : -1;
	return (a->base > b->base) - (a->base < b->base);
}

static void remove_ranges(struct rangemap *map, const struct segment_run *run)
{
	const struct range *r;

	while ((r = rangemap_from(map, run->base)) && r->base < run->end)
		rangemap_remove(map, r->base, NULL);
}

/* Where records were lost, events that are undone may put back a block without its segment. No picture has it. */
static void drop_outside(struct window *w)
{
	const struct range *b;
	uint64_t at = 0;

	while ((b = rangemap_from(&w->blocks, at))) {
		uint64_t base = b->base;

		at = b->base + b->length;
		if (!rangemap_find(&w->segments, base))
			rangemap_remove(&w->blocks, base, NULL);
		if (at <= base)
			return;
	}
}

void instant_cut(struct window *w, uint32_t room, struct instant_left_out *left_out)
{
	struct segment_run *runs;
	size_t count;

	*left_out = (struct instant_left_out){ 0 };
	if (w->segments.count + w->blocks.count <= room)
		return;
	drop_outside(w);
	runs = find_runs(w, &count);
	if (count)
		qsort(runs, count, sizeof(*runs), compare_runs);
	for (size_t i = 0; i < count; i++) {
		if (runs[i].ranges <= room) {
			room -= (uint32_t)runs[i].ranges;
			continue;
		}
		room = 0;
		left_out->segments++;
		left_out->bytes += runs[i].end - runs[i].base;
		left_out->held += runs[i].held;
		left_out->blocks += runs[i].ranges - runs[i].segments;
		remove_ranges(&w->blocks, &runs[i]);
		remove_ranges(&w->segments, &runs[i]);
	}
	free(runs);
}
