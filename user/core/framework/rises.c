/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/framework/rises.h"

#include <stdbool.h>
#include <string.h>

#include "base/amounts.h"

/* A level goes into its neighbours where levels are nearest to each other. The first and the newest stay. */
static void merge_levels(struct rises *r)
{
	unsigned int least = 1;

	for (unsigned int i = 2; i + 1 < r->count; i++)
		if (r->levels[i + 1].iteration - r->levels[i - 1].iteration <
		    r->levels[least + 1].iteration - r->levels[least - 1].iteration)
			least = i;
	r->levels[least - 1].most = greater_of(r->levels[least - 1].most, r->levels[least].most);
	r->levels[least + 1].rises += r->levels[least].rises;
	r->count--;
	memmove(&r->levels[least], &r->levels[least + 1], (r->count - least) * sizeof(r->levels[0]));
}

void rises_add(struct rises *r, uint32_t iteration, uint64_t bytes, uint64_t ts_ns)
{
	struct rise_level level = { .bytes = bytes, .most = bytes, .iteration = iteration, .rises = 1, .ts_ns = ts_ns };
	struct rise_level *last;

	/* What was more has gone again: the rise to these bytes was there before. */
	while (r->count && r->levels[r->count - 1].bytes > bytes) {
		last = &r->levels[--r->count];
		level.most = greater_of(level.most, last->most);
		level.iteration = last->iteration;
		level.ts_ns = last->ts_ns;
	}
	r->newest = iteration;
	r->newest_ns = ts_ns;
	last = r->count ? &r->levels[r->count - 1] : NULL;
	if (last && bytes - last->bytes <= level.most / RISES_SMALL_PART) {
		last->most = greater_of(last->most, level.most);
		return;
	}
	if (r->count == RISES_KEPT)
		merge_levels(r);
	r->levels[r->count++] = level;
}

/* The bytes of the level when the iteration had ended; not before the level `from`. */
static uint64_t level_at(const struct rises *r, unsigned int from, uint32_t iteration)
{
	unsigned int i = r->count - 1;

	while (i > from && r->levels[i].iteration > iteration)
		i--;
	return r->levels[i].bytes;
}

/* Growth since the level `from`. */
static struct view_growth growth_since(const struct rises *r, unsigned int from)
{
	const struct rise_level *first = &r->levels[from];
	uint32_t count = 0, iterations = r->newest - first->iteration;
	uint64_t all = r->levels[r->count - 1].bytes - first->bytes, most = first->most, half, late;

	for (unsigned int i = from + 1; i < r->count; i++) {
		count += r->levels[i].rises;
		most = greater_of(most, r->levels[i].most);
	}
	if (count < RISES_MIN || iterations < RISES_ITERATIONS || all < share_of(most - first->bytes, RISES_MOST_SHARE))
		return (struct view_growth){ 0 };
	half = level_at(r, from, first->iteration + iterations / 2) - first->bytes;
	late = level_at(r, from, r->newest - iterations / 4) - first->bytes;
	if (half < share_of(all, RISES_HALF_SHARE) || all - half < share_of(all, RISES_HALF_SHARE) ||
	    all - late < share_of(all, RISES_LATE_SHARE))
		return (struct view_growth){ 0 };
	return (struct view_growth){
		.bytes = all / count, .count = count, .iterations = iterations,
		.time_ns = r->newest_ns > first->ts_ns ? r->newest_ns - first->ts_ns : 0, .end_ns = r->newest_ns,
	};
}

/* Growth in a small part of the iterations may be chance. */
static bool is_long_ago(const struct rises *r, const struct rise_level *level)
{
	return r->newest - level->iteration >= r->newest / RISES_TIME_PART;
}

struct view_growth rises_growth(const struct rises *r)
{
	struct view_growth growth = { 0 };
	unsigned int from = 0;

	/* A leak may have begun later, and a first iteration may have left much that has gone. */
	while (from + 1 < r->count && is_long_ago(r, &r->levels[from]) && !growth.count)
		growth = growth_since(r, from++);
	return growth;
}
