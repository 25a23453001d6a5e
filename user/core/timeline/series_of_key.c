// SPDX-License-Identifier: BSD-2-Clause
#include "core/timeline/series_of_key.h"

#include "base/xalloc.h"
#include "core/timeline/series.h"

static const struct series_point *point_of_key(const struct series *from, const struct series_frame *frame,
					       uint32_t key)
{
	const struct series_point *point = &from->points[frame->first];

	for (uint32_t i = 0; i < frame->count; i++)
		if (point[i].key == key)
			return &point[i];
	return NULL;
}

static void copy_frame(struct series *to, const struct series_frame *frame, const struct series_point *point)
{
	uint64_t before = to->frame_count ? to->frames[to->frame_count - 1].live : 0;
	struct series_frame copy = *frame;

	copy.live = point ? point->live : before;
	copy.least = point ? point->least : before;
	copy.most = point ? point->most : before;
	copy.first = to->point_count;
	copy.count = point ? 1 : 0;
	to->frames = xgrow(to->frames, to->frame_count, sizeof(*to->frames));
	to->frames[to->frame_count++] = copy;
	to->by_why[copy.why]++;
	if (!point)
		return;
	to->points = xgrow(to->points, to->point_count, sizeof(*to->points));
	to->points[to->point_count] = *point;
	to->points[to->point_count++].key = 0;
}

static uint32_t find_key(const struct series *from, uint32_t what)
{
	uint32_t key = 0;

	while (key < from->key_count && (from->keys[key].what != what || from->keys[key].stack_id))
		key++;
	return key;
}

static void put_highest(struct series *s, uint64_t peak, uint64_t peak_ts_ns)
{
	for (uint32_t i = 0; i < s->frame_count; i++)
		if (s->frames[i].live > peak) {
			peak = s->frames[i].live;
			peak_ts_ns = s->frames[i].ts_ns;
		}
	stacks_add(&s->sums, 0, peak, peak_ts_ns);
}

struct series series_of_key(const struct series *from, uint32_t what, uint64_t peak, uint64_t peak_ts_ns)
{
	uint32_t key = find_key(from, what);
	struct series to;

	series_init(&to, from->points_most);
	to.shift = from->shift;
	if (key == from->key_count)
		return to;
	to.keys = xgrow(to.keys, 0, sizeof(*to.keys));
	to.keys[0] = (struct series_key){ .what = what };
	to.key_count = 1;
	for (int why = 0; why < SERIES_WHY_COUNT; why++)
		to.left_out[why] = from->left_out[why];
	for (uint32_t i = 0; i < from->frame_count; i++) {
		const struct series_point *point = point_of_key(from, &from->frames[i], key);

		if (point || from->frames[i].why != SERIES_TIME)
			copy_frame(&to, &from->frames[i], point);
	}
	put_highest(&to, peak, peak_ts_ns);
	return to;
}
