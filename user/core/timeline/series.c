// SPDX-License-Identifier: BSD-2-Clause
#include "core/timeline/series.h"

#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "core/timeline/series_merge.h"
#include "core/timeline/series_parts.h"
#include "core/timeline/series_peak.h"

#define KEY_NONE UINT32_MAX
#define FIRST_SHIFT 20               /* a slot of about a millisecond */
#define SLOTS_LEAST 1024             /* in the span of a series whose span is known */

void series_init(struct series *s, uint64_t points_most)
{
	*s = (struct series){ .shift = FIRST_SHIFT, .stride = 1 };
	stacks_init(&s->sums);
	hash_init(&s->by_key, sizeof(uint32_t));
	series_limit(s, points_most);
}

void series_expect(struct series *s, uint64_t span_ns)
{
	while (s->shift && span_ns >> s->shift < SLOTS_LEAST)
		s->shift--;
}

void series_fini(struct series *s)
{
	stacks_fini(&s->sums);
	hash_fini(&s->by_key);
	free(s->keys);
	free(s->changed);
	free(s->frames);
	free(s->points);
	free(s->parts);
	*s = (struct series){ 0 };
}

/* Gives back the room of frames and points that were merged. */
static void give_back_room(struct series *s)
{
	s->frames = xfit(s->frames, s->frame_count, sizeof(*s->frames));
	s->points = xfit(s->points, s->point_count, sizeof(*s->points));
	series_parts_shrink(s);
}

void series_limit(struct series *s, uint64_t points_most)
{
	uint64_t points = s->point_count, frames = s->frame_count;
	uint64_t keys = points_most / SERIES_POINTS_EACH_KEY;

	keys = keys < SERIES_KEYS_MIN ? SERIES_KEYS_MIN : keys;
	if (s->keys_merged && keys > s->keys_most)
		keys = s->keys_most;
	keys = keys < KEY_NONE ? keys : KEY_NONE - 1;
	s->keys_most = keys < s->key_count ? s->key_count : (uint32_t)keys;
	s->points_most = SERIES_POINTS_EACH_KEY * (keys + 1);
	/* The merged list of all keys has room. */
	if (s->points_most < 2ull * (s->keys_most + 1))
		s->points_most = 2ull * (s->keys_most + 1);
	s->frames_most = s->points_most / SERIES_POINTS_EACH_FRAME;
	if (s->frames_most > SERIES_FRAMES_MAX)
		s->frames_most = SERIES_FRAMES_MAX;
	series_fit(s, SERIES_TIME);
	if (s->point_count < points || s->frame_count < frames)
		give_back_room(s);
}

static uint32_t find_series_key(const struct series *s, uint32_t stack_id, uint32_t what)
{
	const uint32_t *index = hash_get(&s->by_key, (uint64_t)what << 32 | stack_id);

	return index ? *index : KEY_NONE;
}

static uint32_t add_series_key(struct series *s, uint32_t stack_id, uint32_t what)
{
	s->keys = xgrow(s->keys, s->key_count, sizeof(*s->keys));
	s->keys[s->key_count] = (struct series_key){ .stack_id = stack_id, .what = what };
	*(uint32_t *)hash_put(&s->by_key, (uint64_t)what << 32 | stack_id, NULL) = s->key_count;
	return s->key_count++;
}

/* A key that had no room once has none later, so what was booked elsewhere is found there. */
static uint32_t put_series_key(struct series *s, uint32_t stack_id, uint32_t what)
{
	uint32_t key = find_series_key(s, stack_id, what);

	if (key != KEY_NONE)
		return key;
	if (s->key_count >= s->keys_most) {
		s->keys_merged++;
		stack_id = what = 0;
		key = find_series_key(s, 0, 0);
	}
	return key != KEY_NONE ? key : add_series_key(s, stack_id, what);
}

static uint64_t live_of(const struct series *s, uint32_t key)
{
	return s->sums.list[key].live;
}

static int compare_indices(const void *left, const void *right)
{
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

	return a < b ? -1 : a > b;
}

static void add_points(struct series *s)
{
	if (s->changed_count)
		qsort(s->changed, s->changed_count, sizeof(*s->changed), compare_indices);
	for (uint32_t i = 0; i < s->changed_count; i++) {
		struct series_key *key = &s->keys[s->changed[i]];

		s->points = xgrow(s->points, s->point_count, sizeof(*s->points));
		s->points[s->point_count++] = (struct series_point){
			.key = s->changed[i], .live = live_of(s, s->changed[i]), .least = key->least, .most = key->most,
		};
		key->has_changed = false;
	}
}

static void end_span(struct series *s, enum series_why why, uint32_t number, uint64_t ts_ns)
{
	s->frames = xgrow(s->frames, s->frame_count, sizeof(*s->frames));
	s->frames[s->frame_count++] = (struct series_frame){
		.ts_ns = ts_ns, .live = s->sums.live, .least = s->least, .most = s->most, .first = s->point_count,
		.count = s->changed_count, .number = number, .why = why,
	};
	series_parts_add(s);
	add_points(s);
	s->by_why[why]++;
	s->changed_count = 0;
	s->least = s->most = s->sums.live;
	series_fit(s, why);
}

void series_close(struct series *s)
{
	if (s->changed_count)
		end_span(s, SERIES_TIME, 0, s->now_ns);
}

/* Ends the slots before this time. */
static void reach_time(struct series *s, uint64_t ts_ns)
{
	if (ts_ns <= s->now_ns)
		return;
	if (s->changed_count && series_slot(s, ts_ns) != series_slot(s, s->now_ns))
		end_span(s, SERIES_TIME, 0, s->now_ns);
	s->now_ns = ts_ns;
}

static void begin_change(struct series *s, uint32_t index, uint64_t live)
{
	struct series_key *key = &s->keys[index];

	if (key->has_changed)
		return;
	key->has_changed = true;
	key->least = key->most = live;
	s->changed = xgrow(s->changed, s->changed_count, sizeof(*s->changed));
	s->changed[s->changed_count++] = index;
}

static void end_change(struct series *s, uint32_t index)
{
	struct series_key *key = &s->keys[index];
	uint64_t live = live_of(s, index), sum = s->sums.live;

	key->least = live < key->least ? live : key->least;
	key->most = live > key->most ? live : key->most;
	s->least = sum < s->least ? sum : s->least;
	s->most = sum > s->most ? sum : s->most;
}

void series_add(struct series *s, uint32_t stack_id, uint32_t what, uint64_t bytes, uint64_t ts_ns)
{
	reach_time(s, ts_ns);
	uint32_t key = put_series_key(s, stack_id, what);
	uint64_t peak = s->sums.peak;

	begin_change(s, key, key < s->sums.count ? live_of(s, key) : 0);
	stacks_add(&s->sums, key, bytes, s->now_ns);
	if (s->sums.peak != peak)
		memset(s->at_peak, 0, sizeof(s->at_peak));
	end_change(s, key);
}

void series_remove(struct series *s, uint32_t stack_id, uint32_t what, uint64_t bytes, uint64_t ts_ns)
{
	uint32_t key = find_series_key(s, stack_id, what);

	reach_time(s, ts_ns);
	if (key == KEY_NONE)
		key = find_series_key(s, 0, 0);
	if (key == KEY_NONE || live_of(s, key) < bytes) {
		s->unknown++;
		return;
	}
	begin_change(s, key, live_of(s, key));
	stacks_remove(&s->sums, key, bytes);
	end_change(s, key);
}

void series_set(struct series *s, uint32_t stack_id, uint32_t what, uint64_t bytes, uint64_t ts_ns)
{
	uint32_t key = find_series_key(s, stack_id, what);
	uint64_t live = key == KEY_NONE ? 0 : live_of(s, key);

	if (bytes > live)
		series_add(s, stack_id, what, bytes - live, ts_ns);
	else if (bytes < live)
		series_remove(s, stack_id, what, live - bytes, ts_ns);
}

void series_drop(struct series *s, uint64_t ts_ns)
{
	reach_time(s, ts_ns);
	for (uint32_t key = 0; key < s->key_count; key++)
		if (live_of(s, key))
			begin_change(s, key, live_of(s, key));
	stacks_drop(&s->sums);
	for (uint32_t i = 0; i < s->changed_count; i++)
		end_change(s, s->changed[i]);
}

void series_moment(struct series *s, enum series_why why, uint32_t number, uint64_t ts_ns)
{
	reach_time(s, ts_ns);
	if (why == SERIES_ITERATION && number % s->stride)
		s->left_out[why]++;
	else
		end_span(s, why, number, s->now_ns);
}

void series_restart(struct series *s, uint64_t ts_ns)
{
	series_moment(s, SERIES_MARK, 0, ts_ns);
	if (!s->has_no_sum)
		series_put_peak(s);
	stacks_restart(&s->sums, ts_ns);
	memset(s->at_peak, 0, sizeof(s->at_peak));
	series_fit(s, SERIES_PEAK);
}

uint64_t series_at(const struct series *s, uint64_t ts_ns, uint64_t *live)
{
	uint64_t sum = 0;

	for (uint32_t key = 0; key < s->key_count; key++)
		live[key] = 0;
	for (uint32_t i = 0; i < s->frame_count && s->frames[i].ts_ns <= ts_ns; i++) {
		const struct series_frame *frame = &s->frames[i];

		for (uint32_t p = 0; p < frame->count; p++)
			live[s->points[frame->first + p].key] = s->points[frame->first + p].live;
		sum = frame->live;
	}
	return sum;
}
