/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/framework/rises.h"

#include <string.h>

/* A level goes into the next one where levels are nearest to each other. The first stays: growth counts from there. */
static void merge_levels(struct rises *r)
{
	unsigned int least = 1;

	for (unsigned int i = 2; i + 1 < r->count; i++)
		if (r->levels[i + 1].iteration - r->levels[i - 1].iteration <
		    r->levels[least + 1].iteration - r->levels[least - 1].iteration)
			least = i;
	r->levels[least + 1].rises += r->levels[least].rises;
	r->count--;
	memmove(&r->levels[least], &r->levels[least + 1], (r->count - least) * sizeof(r->levels[0]));
}

void rises_add(struct rises *r, uint32_t iteration, uint64_t bytes, uint64_t ts_ns)
{
	struct rise_level level = { .bytes = bytes, .iteration = iteration, .rises = 1, .ts_ns = ts_ns };

	/* What was more has gone again: the rise to these bytes was there before. */
	while (r->count && r->levels[r->count - 1].bytes > bytes) {
		level.iteration = r->levels[--r->count].iteration;
		level.ts_ns = r->levels[r->count].ts_ns;
	}
	r->newest = iteration;
	if (bytes > r->most)
		r->most = bytes;
	r->newest_ns = ts_ns;
	if (r->count && r->levels[r->count - 1].bytes == bytes)
		return;
	if (r->count == RISES_KEPT)
		merge_levels(r);
	r->levels[r->count++] = level;
}

/* The level when the iteration had ended. */
static uint64_t level_at(const struct rises *r, uint32_t iteration)
{
	unsigned int i = r->count - 1;

	while (i && r->levels[i].iteration > iteration)
		i--;
	return r->levels[i].bytes;
}

struct view_growth rises_growth(const struct rises *r)
{
	const struct rise_level *first = r->levels, *last = &r->levels[r->count ? r->count - 1 : 0];
	uint32_t count = 0, iterations = r->newest - first->iteration;
	uint64_t all = last->bytes - first->bytes, half, least = all / 100 * RISES_HALF_SHARE;

	for (unsigned int i = 1; i < r->count; i++)
		count += r->levels[i].rises;
	if (count < RISES_MIN || iterations < RISES_ITERATIONS)
		return (struct view_growth){ 0 };
	/* Where inputs differ, the newest of some small values may rise by chance. */
	if (all < (r->most - first->bytes) / 100 * RISES_MOST_SHARE)
		return (struct view_growth){ 0 };
	half = level_at(r, first->iteration + iterations / 2) - first->bytes;
	if (half < least || all - half < least)
		return (struct view_growth){ 0 };
	return (struct view_growth){
		.bytes = all / count, .count = count, .iterations = iterations,
		.time_ns = r->newest_ns > first->ts_ns ? r->newest_ns - first->ts_ns : 0, .end_ns = r->newest_ns,
	};
}
