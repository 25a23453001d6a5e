// SPDX-License-Identifier: BSD-2-Clause
/* Memory over time: small stories, and many random changes beside a model that keeps everything. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "core/timeline/series.h"
#include "core/timeline/series_merge.h"
#include "core/timeline/series_of_key.h"
#include "core/timeline/series_parts.h"
#include "core/timeline/series_peak.h"

#define SECOND 1000000000ULL

static void frames_tell_the_bytes(void **state)
{
	struct series s;
	uint64_t live[4];

	(void)state;
	series_init(&s, 0);
	series_add(&s, 1, 0, 100, 1 * SECOND);
	series_add(&s, 2, 0, 50, 2 * SECOND);
	series_remove(&s, 1, 0, 100, 3 * SECOND);
	series_close(&s);
	assert_true(s.frame_count == 3 && s.key_count == 2);
	assert_true(series_at(&s, SECOND - 1, live) == 0 && live[0] == 0);
	assert_true(series_at(&s, 1 * SECOND, live) == 100 && live[0] == 100 && live[1] == 0);
	assert_true(series_at(&s, 2 * SECOND, live) == 150 && live[0] == 100 && live[1] == 50);
	assert_true(series_at(&s, 9 * SECOND, live) == 50 && live[0] == 0 && live[1] == 50);
	assert_true(s.sums.peak == 150 && s.sums.peak_ts_ns == 2 * SECOND);
	assert_true(series_at_peak(&s, 0) == 100 && series_at_peak(&s, 1) == 50);
	series_fini(&s);
}

/* What comes and goes between two frames shows in their bounds. */
static void a_slot_has_bounds(void **state)
{
	struct series s;

	(void)state;
	series_init(&s, 0);
	series_add(&s, 1, 0, 100, SECOND);
	series_add(&s, 1, 0, 400, SECOND + 1);
	series_remove(&s, 1, 0, 400, SECOND + 2);
	series_add(&s, 2, 0, 7, SECOND + 3);
	series_moment(&s, SERIES_MARK, 0, SECOND + 4);
	series_remove(&s, 1, 0, 100, SECOND + 5);
	series_close(&s);
	assert_true(s.frame_count == 2 && s.frames[0].why == SERIES_MARK && s.frames[0].ts_ns == SECOND + 4);
	assert_true(s.frames[0].live == 107 && s.frames[0].least == 0 && s.frames[0].most == 500);
	assert_true(s.points[0].key == 0 && s.points[0].live == 100 && s.points[0].least == 0 && s.points[0].most == 500);
	assert_true(s.points[1].key == 1 && s.points[1].live == 7);
	assert_true(s.frames[1].count == 1 && s.frames[1].least == 7 && s.frames[1].most == 107);
	series_fini(&s);
}

/* Memory that came and went within a slot has a frame; a peak that has one keeps it; a mark keeps the peak before. */
static void the_peak_has_a_frame(void **state)
{
	struct series s;
	uint64_t live[2];

	(void)state;
	series_init(&s, 0);
	series_add(&s, 1, 0, 100, SECOND);
	series_add(&s, 2, 0, 30, 2 * SECOND);
	series_add(&s, 1, 0, 400, 2 * SECOND + 1);
	series_remove(&s, 2, 0, 30, 2 * SECOND + 2);
	series_remove(&s, 1, 0, 400, 2 * SECOND + 3);
	series_restart(&s, 3 * SECOND);
	assert_true(series_at(&s, 2 * SECOND + 1, live) == 530 && live[0] == 500 && live[1] == 30);
	assert_true(s.by_why[SERIES_PEAK] == 1 && series_at(&s, 2 * SECOND + 3, live) == 100 && live[1] == 0);
	series_add(&s, 2, 0, 11, 4 * SECOND);
	series_remove(&s, 2, 0, 11, 4 * SECOND);
	series_close(&s);
	series_put_peak(&s);
	assert_true(s.by_why[SERIES_PEAK] == 2 && series_at(&s, 4 * SECOND - 1, live) == 111 && live[1] == 11);
	series_add(&s, 2, 0, 40, 5 * SECOND);
	series_close(&s);
	series_put_peak(&s);
	assert_true(s.by_why[SERIES_PEAK] == 2 && s.frames[s.frame_count - 1].live == 140);
	series_fini(&s);
}

static void a_drop_ends_all(void **state)
{
	struct series s;
	uint64_t live[2];

	(void)state;
	series_init(&s, 0);
	series_add(&s, 1, 3, 100, 1 * SECOND);
	series_add(&s, 1, 4, 10, 2 * SECOND);
	series_drop(&s, 3 * SECOND);
	series_remove(&s, 1, 3, 100, 4 * SECOND);
	series_remove(&s, 9, 9, 1, 4 * SECOND);
	series_close(&s);
	assert_true(series_at(&s, 2 * SECOND, live) == 110 && live[1] == 10);
	assert_true(series_at(&s, 4 * SECOND, live) == 0 && live[0] == 0 && live[1] == 0);
	assert_true(s.unknown == 2);
	series_fini(&s);
}

/* The frames of iterations are thinned evenly, those of requests and marks from the oldest on; all are counted. */
static void moments_are_thinned(void **state)
{
	const uint32_t iterations = 3 * SERIES_ITERATIONS_MAX, requests = 2 * SERIES_REQUESTS_MAX + 3;
	uint64_t ts = SECOND;
	struct series s;

	(void)state;
	series_init(&s, 1 << 18);
	for (uint32_t i = 1; i <= iterations; i++, ts += SECOND) {
		series_add(&s, i % 5, 0, 1, ts);
		series_moment(&s, SERIES_ITERATION, i, ts + 1);
	}
	for (uint32_t i = 0; i < requests; i++, ts += SECOND)
		series_moment(&s, SERIES_REQUEST, 0, ts);
	assert_true(s.by_why[SERIES_ITERATION] <= SERIES_ITERATIONS_MAX && s.by_why[SERIES_ITERATION] >= SERIES_ITERATIONS_MAX / 2);
	assert_true(s.by_why[SERIES_ITERATION] + s.left_out[SERIES_ITERATION] == iterations);
	assert_true(s.by_why[SERIES_REQUEST] <= SERIES_REQUESTS_MAX && s.by_why[SERIES_REQUEST] >= SERIES_REQUESTS_MAX / 2);
	assert_true(s.by_why[SERIES_REQUEST] + s.left_out[SERIES_REQUEST] == requests);
	for (uint32_t i = 0; i < s.frame_count; i++)
		assert_true(s.frames[i].why != SERIES_ITERATION || s.frames[i].number % s.stride == 0);
	assert_int_equal(s.frames[s.frame_count - 1].why, SERIES_REQUEST);
	series_fini(&s);
}

#define KEYS_MOST 1000
#define POINTS_MOST ((uint64_t)KEYS_MOST * SERIES_POINTS_EACH_KEY)

static void keys_have_a_bound(void **state)
{
	struct series s;

	(void)state;
	series_init(&s, POINTS_MOST);
	for (uint32_t i = 1; i <= KEYS_MOST + 10; i++)
		series_add(&s, i, 0, 1, i * SECOND);
	assert_true(s.key_count == KEYS_MOST + 1 && s.keys_merged == 10);
	assert_true(s.keys[KEYS_MOST].stack_id == 0 && s.sums.list[KEYS_MOST].live == 10);
	for (uint32_t i = 1; i <= KEYS_MOST + 10; i++)
		series_remove(&s, i, 0, 1, (uint64_t)2 * KEYS_MOST * SECOND);
	assert_true(s.sums.live == 0 && s.unknown == 0);
	series_fini(&s);
}

/* All moments, and more keys in each than the bound has room for: few frames are left, and they are right. */
static void the_bound_holds(void **state)
{
	struct series s;
	uint64_t *live = xcalloc(KEYS_MOST + 1, sizeof(*live));

	(void)state;
	series_init(&s, POINTS_MOST);
	for (uint32_t round = 1; round <= 50; round++) {
		for (uint32_t i = 1; i <= KEYS_MOST; i++)
			series_add(&s, i, 0, i, round * SECOND * 3600);
		series_moment(&s, round % 2 ? SERIES_MARK : SERIES_ITERATION, round, round * SECOND * 3600);
		assert_true(s.point_count <= s.points_most && s.frame_count >= 1);
	}
	series_limit(&s, 0);
	assert_true(s.keys_most == KEYS_MOST);
	series_close(&s);
	series_at(&s, UINT64_MAX, live);
	for (uint32_t i = 1; i <= KEYS_MOST; i++)
		assert_true(live[i - 1] == 50 * i);
	free(live);
	series_fini(&s);
}

/* ---- random changes beside a model ---- */

#define KEYS 40
#define CHANGES 300000

struct change {
	uint64_t ts_ns, sum;
	uint32_t key;
	uint64_t live;
};

struct story {
	struct series s;
	struct change *list;
	uint32_t count;
	uint64_t live[KEYS], sum, ts, at_peak[KEYS], peak;
};

static uint64_t rnd(uint64_t *seed)
{
	*seed = hash_mix(*seed + 0x9e3779b97f4a7c15ULL);
	return *seed;
}

static void change_one(struct story *st, uint64_t *seed)
{
	uint32_t key = (uint32_t)(rnd(seed) % KEYS);
	uint64_t bytes = rnd(seed) % 1000 + 1;

	st->ts += 1 + rnd(seed) % (rnd(seed) % 50 ? 20000 : 40000000);
	if (st->live[key] && rnd(seed) % 2) {
		bytes = bytes > st->live[key] ? st->live[key] : bytes;
		series_remove(&st->s, key, key / 8, bytes, st->ts);
		st->live[key] -= bytes;
		st->sum -= bytes;
	} else {
		series_add(&st->s, key, key / 8, bytes, st->ts);
		st->live[key] += bytes;
		st->sum += bytes;
	}
	if (st->sum > st->peak) {
		st->peak = st->sum;
		memcpy(st->at_peak, st->live, sizeof(st->live));
	}
	st->list[st->count++] = (struct change){ st->ts, st->sum, key, st->live[key] };
}

static uint32_t index_of(const struct series *s, uint32_t key)
{
	for (uint32_t i = 0; i < s->key_count; i++)
		if (s->keys[i].stack_id == key)
			return i;
	fail();
	return 0;
}

struct bounds {
	uint64_t live[KEYS + 1], least[KEYS + 1], most[KEYS + 1];   /* the last: the sum */
};

static void bound_value(struct bounds *b, uint32_t key, uint64_t live)
{
	b->live[key] = live;
	b->least[key] = live < b->least[key] ? live : b->least[key];
	b->most[key] = live > b->most[key] ? live : b->most[key];
}

static void check_frame(const struct story *st, const struct series_frame *frame, const struct bounds *b)
{
	uint32_t points = 0;

	assert_true(frame->live == b->live[KEYS] && frame->least == b->least[KEYS] && frame->most == b->most[KEYS]);
	for (uint32_t p = 0; p < frame->count; p++) {
		const struct series_point *point = &st->s.points[frame->first + p];
		uint32_t key = st->s.keys[point->key].stack_id;

		assert_true(!p || point->key > point[-1].key);
		assert_true(point->live == b->live[key] && point->least == b->least[key] && point->most == b->most[key]);
	}
	for (uint32_t key = 0; key < KEYS; key++)
		points += b->least[key] != b->most[key];
	assert_true(frame->count >= points);
}

/* Every frame is exact, and its bounds are the true least and most since the frame before. */
static void check_story(const struct story *st)
{
	struct bounds b = { 0 };
	uint32_t at = 0;

	for (uint32_t i = 0; i < st->s.frame_count; i++) {
		memcpy(b.least, b.live, sizeof(b.live));
		memcpy(b.most, b.live, sizeof(b.live));
		for (; at < st->count && st->list[at].ts_ns <= st->s.frames[i].ts_ns; at++) {
			bound_value(&b, st->list[at].key, st->list[at].live);
			bound_value(&b, KEYS, st->list[at].sum);
		}
		check_frame(st, &st->s.frames[i], &b);
	}
	assert_int_equal(at, st->count);
}

static void random_changes(void **state)
{
	struct story st = { .ts = 1 };
	uint64_t seed = 7;

	(void)state;
	st.list = xreallocarray(NULL, CHANGES, sizeof(*st.list));
	series_init(&st.s, 1 << 20);
	for (uint32_t i = 0, iteration = 0; i < CHANGES; i++) {
		change_one(&st, &seed);
		if (i % 997 == 0)
			series_moment(&st.s, SERIES_ITERATION, ++iteration, st.ts);
		if (i % 40009 == 0)
			series_moment(&st.s, SERIES_REQUEST, 0, st.ts);
	}
	series_close(&st.s);
	assert_true(st.s.left_out[SERIES_ITERATION] == 0 && st.s.by_why[SERIES_ITERATION] == (CHANGES + 996) / 997);
	assert_true(st.s.by_why[SERIES_REQUEST] == (CHANGES + 40008) / 40009 && st.s.shift > 20);
	assert_true(st.s.sums.peak == st.peak && st.s.frame_count > 1000 && st.s.frame_count <= SERIES_FRAMES_MAX);
	check_story(&st);
	for (uint32_t key = 0; key < KEYS; key++)
		assert_true(series_at_peak(&st.s, index_of(&st.s, key)) == st.at_peak[key]);
	series_fini(&st.s);
	free(st.list);
}

/* ---- what blocks were for, known when they go ---- */

#define BLOCKS_MOST 20000

struct life {
	uint64_t from_ns, until_ns, bytes;
	unsigned int part;
};

static uint64_t part_at(const struct life *lives, uint32_t count, unsigned int part, uint64_t ts_ns)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < count; i++)
		if (lives[i].part == part && lives[i].from_ns <= ts_ns && ts_ns < lives[i].until_ns)
			sum += lives[i].bytes;
	return sum;
}

/* At the birth of some blocks, what their part has lies within the bounds of the frame behind. */
static void check_part_bounds(const struct series *s, const struct life *lives)
{
	int64_t live[SERIES_PARTS] = { 0 };
	uint32_t inside = 0;

	for (uint32_t i = 0, at = 0; i < BLOCKS_MOST; i += 37) {
		unsigned int part = lives[i].part;
		int64_t now = (int64_t)part_at(lives, BLOCKS_MOST, part, lives[i].from_ns), gone;

		for (; at < s->frame_count && s->frames[at].ts_ns < lives[i].from_ns; at++)
			for (unsigned int k = 0; k < SERIES_PARTS; k++)
				live[k] += s->parts[at].change[k];
		assert_true(at < s->frame_count);
		gone = (int64_t)s->parts[at].gone[part];
		assert_in_range(now + gone, live[part], live[part] + 2 * gone + s->parts[at].change[part]);
		inside += s->frames[at].ts_ns != lives[i].from_ns;
	}
	assert_true(inside > 100);
}

/* Lives of all lengths, in a series whose frames are merged many times: each part is exact at each frame, and at the
 * peak. */
static void parts_are_exact(void **state)
{
	struct life *lives = xcalloc(BLOCKS_MOST, sizeof(*lives));
	uint64_t seed = 3, ts = SECOND, live[SERIES_PARTS] = { 0 };
	uint32_t first = 0;
	struct series s;

	(void)state;
	series_init(&s, 0);
	for (uint32_t i = 0; i < BLOCKS_MOST; i++) {
		ts += 1 + rnd(&seed) % 3000000;
		lives[i] = (struct life){ ts, UINT64_MAX, 1 + rnd(&seed) % 99, rnd(&seed) % SERIES_PARTS };
		series_add(&s, lives[i].part, 0, lives[i].bytes, ts);
		while (first < i && rnd(&seed) % 2) {
			struct life *gone = &lives[first++];

			gone->until_ns = ts += 1 + rnd(&seed) % (first % 100 ? 100 : 20000000);
			series_remove(&s, gone->part, 0, gone->bytes, ts);
			series_part(&s, gone->part, gone->bytes, gone->from_ns, SERIES_NOW);
		}
	}
	series_close(&s);
	for (uint32_t i = first; i < BLOCKS_MOST; i++)
		series_part(&s, lives[i].part, lives[i].bytes, lives[i].from_ns, SERIES_NOW);
	assert_true(s.shift > 20 && s.frame_count > 10);
	check_part_bounds(&s, lives);
	series_put_peak(&s);
	assert_int_equal(s.by_why[SERIES_PEAK], 1);
	check_part_bounds(&s, lives);
	for (uint32_t i = 0; i < s.frame_count; i++)
		for (unsigned int part = 0; part < SERIES_PARTS; part++) {
			live[part] += (uint64_t)s.parts[i].change[part];
			assert_int_equal(live[part], part_at(lives, BLOCKS_MOST, part, s.frames[i].ts_ns));
		}
	series_fini(&s);
	free(lives);
}

/* A mark every ten seconds, and a change in between, for weeks: the past keeps its moments. */
static void marks_leave_the_past(void **state)
{
	uint32_t past = 0;
	struct series s;

	(void)state;
	series_init(&s, 0);
	for (uint64_t i = 1; i <= 200000; i++) {
		(i % 2 ? series_add : series_remove)(&s, 1, 0, 100, 10 * i * SECOND);
		series_moment(&s, SERIES_MARK, 0, 10 * i * SECOND + 1);
	}
	for (uint32_t i = 0; i < s.frame_count; i++)
		past += s.frames[i].ts_ns < 1000000 * SECOND;
	assert_in_range(past, s.frame_count / 8, s.frame_count);
	series_fini(&s);
}

/* What a key without room holds is found where it was booked, also when there is room again. */
static void room_comes_too_late(void **state)
{
	struct series s;

	(void)state;
	series_init(&s, 0);
	series_limit(&s, 1);
	for (uint32_t stack = 1; stack < 1000; stack++)
		series_add(&s, stack, 0, 1000, stack * SECOND);
	assert_true(s.keys_merged);
	series_limit(&s, 1 << 20);
	series_add(&s, 999, 0, 10, 2000 * SECOND);
	series_remove(&s, 999, 0, 1000, 2001 * SECOND);
	series_remove(&s, 999, 0, 10, 2002 * SECOND);
	assert_int_equal(s.unknown, 0);
	assert_int_equal(s.sums.live, 998 * 1000);
	series_fini(&s);
}

/* Levels have no sum: a series of one level has its frames, its bounds, and its peak, which had no frame. */
static void one_key_alone(void **state)
{
	struct series s, one, none;

	(void)state;
	series_init(&s, 0);
	s.has_no_sum = true;
	series_set(&s, 0, 1, 40, 1 * SECOND);
	series_set(&s, 0, 2, 500, 1 * SECOND);
	series_set(&s, 0, 2, 600, 2 * SECOND);
	series_moment(&s, SERIES_REQUEST, 0, 2 * SECOND + 1);
	series_set(&s, 0, 1, 70, 3 * SECOND);
	series_set(&s, 0, 1, 30, 3 * SECOND + 1);
	series_close(&s);
	one = series_of_key(&s, 1, 70, 3 * SECOND);
	assert_true(one.key_count == 1 && one.keys[0].what == 1 && one.frame_count == 3);
	assert_true(one.frames[0].live == 40 && one.frames[0].ts_ns == SECOND);
	assert_true(one.frames[1].why == SERIES_REQUEST && one.frames[1].live == 40 && !one.frames[1].count);
	assert_true(one.frames[2].live == 30 && one.frames[2].least == 30 && one.frames[2].most == 70);
	assert_true(one.points[1].key == 0 && one.points[1].live == 30);
	series_put_peak(&one);
	assert_true(one.frame_count == 4 && one.frames[2].live == 70 && one.frames[2].ts_ns == 3 * SECOND);
	assert_int_equal(series_at_peak(&one, 0), 70);
	series_fini(&one);
	one = series_of_key(&s, 2, 0, 0);
	assert_true(one.sums.peak == 600 && one.sums.peak_ts_ns == 2 * SECOND + 1);
	none = series_of_key(&s, 3, 0, 0);
	assert_true(!none.key_count && !none.frame_count && !none.sums.peak);
	series_fini(&one);
	series_fini(&none);
	series_fini(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_tell_the_bytes),
		cmocka_unit_test(a_slot_has_bounds),
		cmocka_unit_test(the_peak_has_a_frame),
		cmocka_unit_test(a_drop_ends_all),
		cmocka_unit_test(moments_are_thinned),
		cmocka_unit_test(keys_have_a_bound),
		cmocka_unit_test(the_bound_holds),
		cmocka_unit_test(random_changes),
		cmocka_unit_test(parts_are_exact),
		cmocka_unit_test(marks_leave_the_past),
		cmocka_unit_test(room_comes_too_late),
		cmocka_unit_test(one_key_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
