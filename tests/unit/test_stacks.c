// SPDX-License-Identifier: BSD-2-Clause
/* Memory by stack: small stories, and many random changes beside a model that keeps everything. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "core/stacks.h"

static void live_and_peak(void **state)
{
	struct stacks_row rows[4];
	struct stacks s;
	uint32_t a, b;

	(void)state;
	stacks_init(&s);
	a = stacks_add(&s, 1, 100, 10);
	b = stacks_add(&s, 2, 50, 20); /* the peak: 150 */
	stacks_remove(&s, a);
	stacks_add(&s, 3, 60, 30);     /* 110 */
	assert_true(s.live == 110 && s.peak == 150 && s.peak_ts_ns == 20 && s.count == 2);
	assert_int_equal(stacks_top(&s, STACKS_BY_LIVE, 0, rows, 4), 2);
	assert_true(rows[0].stack_id == 3 && rows[0].live == 60 && rows[0].at_peak == 0);
	assert_true(rows[1].stack_id == 2 && rows[1].live == 50 && rows[1].at_peak == 50);
	assert_int_equal(stacks_top(&s, STACKS_BY_PEAK, 0, rows, 4), 2);
	assert_true(rows[0].stack_id == 1 && rows[0].live == 0 && rows[0].at_peak == 100);
	assert_true(rows[0].allocs == 1 && rows[0].frees == 1 && rows[0].alloc_bytes == 100);
	assert_true(rows[0].oldest_ts_ns == 0);
	stacks_remove(&s, b);
	stacks_add(&s, 2, 500, 40);    /* a new peak: 560, in which the 50 are not */
	assert_true(stacks_get(&s, 2, 0, &rows[0]) && rows[0].at_peak == 500 && rows[0].count == 1);
	assert_true(stacks_get(&s, 1, 0, &rows[0]) && rows[0].at_peak == 0);
	assert_false(stacks_get(&s, 4, 0, &rows[0]));
	stacks_fini(&s);
}

static void growth_since_a_mark(void **state)
{
	struct stacks_row rows[4];
	struct stacks s;
	uint32_t a;

	(void)state;
	stacks_init(&s);
	a = stacks_add(&s, 1, 100, 10);
	stacks_add(&s, 2, 100, 10);
	stacks_add(&s, 3, 100, 10);
	assert_int_equal(stacks_top(&s, STACKS_BY_GROWN, 0, rows, 4), 3); /* no mark: since the start */
	stacks_mark(&s, 15);
	stacks_remove(&s, a);
	stacks_add(&s, 2, 7, 20);
	assert_int_equal(stacks_top(&s, STACKS_BY_GROWN, 0, rows, 4), 1); /* who shrank, or stayed, is not named */
	assert_true(rows[0].stack_id == 2 && rows[0].grown == 7);
	assert_true(stacks_get(&s, 1, 0, &rows[0]) && rows[0].grown == -100);
	assert_true(stacks_get(&s, 3, 0, &rows[0]) && rows[0].grown == 0);
	stacks_fini(&s);
}

static void age_of_what_is_live(void **state)
{
	struct stacks_row row;
	struct stacks s;
	uint32_t a, b;

	(void)state;
	stacks_init(&s);
	a = stacks_add(&s, 1, 1, 10);
	b = stacks_add(&s, 1, 2, 30);
	stacks_add(&s, 1, 4, 20); /* from another CPU, a little late */
	stacks_get(&s, 1, 25, &row);
	assert_true(row.oldest_ts_ns == 10 && row.old_bytes == 5 && row.old_count == 2);
	stacks_get(&s, 1, 20, &row);
	assert_true(row.old_bytes == 1); /* older than, not as old as */
	stacks_remove(&s, a);
	stacks_get(&s, 1, 31, &row);
	assert_true(row.oldest_ts_ns == 20 && row.old_bytes == 6);
	stacks_remove(&s, b);
	stacks_get(&s, 1, 31, &row);
	assert_true(row.oldest_ts_ns == 20 && row.old_bytes == 4 && row.count == 1);
	stacks_fini(&s);
}

static uint32_t odd_or_even(void *arg, uint64_t stack_id)
{
	(void)arg;
	return stack_id == 99 ? 1000 : (uint32_t)(stack_id % 2);
}

static void sums_by_owner(void **state)
{
	struct stacks_row rows[3];
	struct stacks s;

	(void)state;
	stacks_init(&s);
	stacks_add(&s, 1, 1, 30);
	stacks_add(&s, 3, 2, 20);
	stacks_remove(&s, stacks_add(&s, 2, 4, 10));
	stacks_add(&s, 99, 8, 1); /* of an owner that there is no row for */
	stacks_by_owner(&s, odd_or_even, NULL, 25, rows, 3);
	assert_true(rows[1].stack_id == 1 && rows[1].live == 3 && rows[1].count == 2 && rows[1].oldest_ts_ns == 20);
	assert_true(rows[1].old_bytes == 2);
	assert_true(rows[0].live == 0 && rows[0].alloc_bytes == 4 && rows[0].oldest_ts_ns == 0);
	assert_true(rows[2].live == 0);
	stacks_fini(&s);
}

/* ---- the model ---- */

#define MODEL_STACKS 40
#define MODEL_ITEMS 4000

struct model {
	uint64_t live[MODEL_STACKS], at_peak[MODEL_STACKS], at_mark[MODEL_STACKS], total, peak;
};

struct model_item {
	uint32_t handle;
	uint64_t stack, size, ts;
};

static uint32_t random_below(uint32_t *seed, uint32_t n)
{
	*seed = *seed * 1664525 + 1013904223;
	return (uint32_t)(((uint64_t)*seed * n) >> 32);
}

static void compare(const struct stacks *s, const struct model *m, const struct model_item *items, size_t count,
		    uint64_t before)
{
	uint64_t sum_live = 0, sum_peak = 0;

	for (uint64_t id = 0; id < MODEL_STACKS; id++) {
		uint64_t old = 0, oldest = 0;
		struct stacks_row row;

		if (!stacks_get(s, id, before, &row)) {
			assert_true(m->live[id] == 0 && m->at_peak[id] == 0);
			continue;
		}
		for (size_t i = 0; i < count; i++) {
			if (items[i].stack != id)
				continue;
			old += items[i].ts < before ? items[i].size : 0;
			oldest = !oldest || items[i].ts < oldest ? items[i].ts : oldest;
		}
		assert_true(row.live == m->live[id]);
		assert_true(row.at_peak == m->at_peak[id]);
		assert_true(row.grown == (int64_t)(m->live[id] - m->at_mark[id]));
		assert_true(row.old_bytes == old && row.oldest_ts_ns == oldest);
		sum_live += row.live;
		sum_peak += row.at_peak;
	}
	assert_true(sum_live == s->live && sum_live == m->total);
	assert_true(sum_peak == s->peak && sum_peak == m->peak);
}

static void random_changes_beside_a_model(void **state)
{
	static struct model_item items[MODEL_ITEMS];
	struct model m = { 0 };
	uint32_t seed = 7;
	size_t count = 0;
	struct stacks s;

	(void)state;
	stacks_init(&s);
	for (uint64_t step = 1; step < 30000; step++) {
		bool grow = random_below(&seed, 100) < (step / 3000 % 2 ? 45 : 55);

		if (count < MODEL_ITEMS && (grow || !count)) {
			struct model_item *item = &items[count++];

			item->stack = random_below(&seed, MODEL_STACKS);
			item->size = random_below(&seed, 10000);
			item->ts = step + random_below(&seed, 5);
			item->handle = stacks_add(&s, item->stack, item->size, item->ts);
			m.live[item->stack] += item->size;
			m.total += item->size;
			if (m.total > m.peak) {
				m.peak = m.total;
				memcpy(m.at_peak, m.live, sizeof(m.live));
			}
		} else {
			size_t i = random_below(&seed, (uint32_t)count);

			stacks_remove(&s, items[i].handle);
			m.live[items[i].stack] -= items[i].size;
			m.total -= items[i].size;
			items[i] = items[--count];
		}
		if (step % 7001 == 0) {
			stacks_mark(&s, step);
			memcpy(m.at_mark, m.live, sizeof(m.live));
		}
		if (step % 97 == 0)
			compare(&s, &m, items, count, step / 2);
	}
	assert_true(stacks_count(&s) == MODEL_STACKS);
	stacks_fini(&s);
}

static void top_is_sorted_and_complete(void **state)
{
	struct stacks_row rows[100], all[100];
	uint32_t seed = 3;
	struct stacks s;

	(void)state;
	stacks_init(&s);
	for (uint64_t id = 0; id < 100; id++)
		stacks_add(&s, id, 1 + random_below(&seed, 20), 1); /* many ties */
	assert_int_equal(stacks_top(&s, STACKS_BY_LIVE, 0, all, 100), 100);
	for (size_t i = 1; i < 100; i++)
		assert_true(all[i - 1].live > all[i].live ||
			    (all[i - 1].live == all[i].live && all[i - 1].stack_id < all[i].stack_id));
	for (size_t most = 0; most < 100; most++) {
		assert_int_equal(stacks_top(&s, STACKS_BY_LIVE, 0, rows, most), most);
		for (size_t i = 0; i < most; i++)
			assert_true(rows[i].stack_id == all[i].stack_id);
	}
	assert_int_equal(stacks_top(&s, STACKS_BY_OLD, 1, rows, 5), 0);
	assert_int_equal(stacks_top(&s, STACKS_BY_OLD, 2, rows, 5), 5);
	stacks_fini(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(live_and_peak),
		cmocka_unit_test(growth_since_a_mark),
		cmocka_unit_test(age_of_what_is_live),
		cmocka_unit_test(sums_by_owner),
		cmocka_unit_test(random_changes_beside_a_model),
		cmocka_unit_test(top_is_sorted_and_complete),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
