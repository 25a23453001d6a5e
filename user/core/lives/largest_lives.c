// SPDX-License-Identifier: BSD-2-Clause
#include "core/lives/largest_lives.h"

#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"

void largest_lives_fini(struct largest_lives *largest)
{
	free(largest->list);
	*largest = (struct largest_lives){ 0 };
}

static void make_largest_room(struct largest_lives *largest)
{
	if (!largest->list)
		largest->list = xcalloc(LARGEST_LIVES, sizeof(*largest->list));
}

void largest_lives_copy(struct largest_lives *to, const struct largest_lives *from)
{
	*to = (struct largest_lives){ .count = from->count };
	make_largest_room(to);
	if (from->count)
		memcpy(to->list, from->list, from->count * sizeof(*from->list));
}

/* Of equal ones the newest goes first. */
static bool goes_before(const struct life *a, const struct life *b)
{
	return a->bytes != b->bytes ? a->bytes < b->bytes : a->birth.change > b->birth.change;
}

static void swap_lives(struct life *a, struct life *b)
{
	struct life other = *a;

	*a = *b;
	*b = other;
}

static void sift_life_up(struct largest_lives *largest, uint32_t i)
{
	for (; i && goes_before(&largest->list[i], &largest->list[(i - 1) / 2]); i = (i - 1) / 2)
		swap_lives(&largest->list[i], &largest->list[(i - 1) / 2]);
}

static void sift_life_down(struct largest_lives *largest)
{
	for (uint32_t i = 0, child; (child = 2 * i + 1) < largest->count; i = child) {
		if (child + 1 < largest->count && goes_before(&largest->list[child + 1], &largest->list[child]))
			child++;
		if (!goes_before(&largest->list[child], &largest->list[i]))
			return;
		swap_lives(&largest->list[i], &largest->list[child]);
	}
}

void largest_lives_offer(struct largest_lives *largest, const struct life *life)
{
	if (life->is_segment)
		return;
	make_largest_room(largest);
	if (largest->count < LARGEST_LIVES) {
		largest->list[largest->count++] = *life;
		sift_life_up(largest, largest->count - 1);
	} else if (goes_before(&largest->list[0], life)) {
		largest->list[0] = *life;
		sift_life_down(largest);
	}
}

void largest_lives_forget(struct largest_lives *largest, uint32_t process)
{
	uint32_t count = largest->count;
	struct life kept;

	largest->count = 0;
	for (uint32_t i = 0; i < count; i++) {
		kept = largest->list[i];
		if (kept.process != process)
			largest_lives_offer(largest, &kept);
	}
}
