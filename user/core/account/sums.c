// SPDX-License-Identifier: BSD-2-Clause
#include "core/account/sums.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/xalloc.h"

void sums_init(struct sums *sums, uint32_t numbers)
{
	*sums = (struct sums){ .place = xcalloc(numbers, sizeof(*sums->place)) };
}

void sums_fini(struct sums *sums)
{
	free(sums->place);
	free(sums->list);
}

void sums_count(struct sums *sums, uint32_t number, const struct view_held *held)
{
	struct view_held *sum;

	if (!sums->place[number]) {
		sums->list = xgrow(sums->list, sums->count, sizeof(*sums->list));
		sums->list[sums->count] = (struct sums_row){ .number = number };
		sums->place[number] = ++sums->count;
	}
	sum = &sums->list[sums->place[number] - 1].held;
	sum->live += held->live;
	sum->at_peak += held->at_peak;
	sum->grown += held->grown;
	sum->rise += held->rise;
	sum->rise_later += held->rise_later;
	sum->least_rise += held->least_rise;
	sum->then += held->then;
	sum->each += held->each;
	sum->live_count += held->live_count;
	sum->allocs += held->allocs;
	sum->frees += held->frees;
	sum->alloc_bytes += held->alloc_bytes;
	sum->old_bytes += held->old_bytes;
	sum->old_count += held->old_count;
	if (held->oldest_ts_ns && (!sum->oldest_ts_ns || held->oldest_ts_ns < sum->oldest_ts_ns))
		sum->oldest_ts_ns = held->oldest_ts_ns;
}

void sums_forget(struct sums *sums)
{
	while (sums->count)
		sums->place[sums->list[--sums->count].number] = 0;
}

/* Whether a comes before b. */
static bool is_before(const struct sums_ties *ties, const struct sums_pick *a, const struct sums_pick *b)
{
	int order;

	if (a->value != b->value)
		return a->value > b->value;
	order = ties->compare(ties->arg, a->number, b->number);
	return order ? order < 0 : a->number < b->number;
}

static int compare_picks(const void *left, const void *right, void *ties)
{
	return is_before(ties, left, right) ? -1 : 1;   /* no two picks are equal */
}

/* Moves picks[at] down in a heap of `count` picks. The first pick is the least, which a greater pick replaces. */
static void sift_down(const struct sums_ties *ties, struct sums_pick *picks, size_t count, size_t at)
{
	for (;;) {
		size_t last = at, child = 2 * at + 1;
		struct sums_pick moved;

		for (size_t i = child; i < child + 2 && i < count; i++)
			if (is_before(ties, &picks[last], &picks[i]))
				last = i;
		if (last == at)
			return;
		moved = picks[at];
		picks[at] = picks[last];
		picks[last] = moved;
		at = last;
	}
}

struct sums_pick *sums_greatest(const struct sums *sums, enum view_order order, const struct sums_ties *ties,
				size_t most, size_t *count)
{
	struct sums_pick *picks;

	most = most < sums->count ? most : sums->count;
	picks = xcalloc(most, sizeof(*picks));
	*count = 0;
	for (uint32_t i = 0; i < sums->count && most; i++) {
		struct sums_pick pick = { view_value(&sums->list[i].held, order), sums->list[i].number, i };

		if (pick.value <= 0)
			continue;
		if (*count < most) {
			picks[(*count)++] = pick;
			for (size_t at = *count / 2; *count == most && at-- > 0;)
				sift_down(ties, picks, *count, at);
		} else if (is_before(ties, &pick, &picks[0])) {
			picks[0] = pick;
			sift_down(ties, picks, *count, 0);
		}
	}
	if (*count)
		qsort_r(picks, *count, sizeof(*picks), compare_picks, (void *)ties);
	return picks;
}
