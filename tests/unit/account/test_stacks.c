// SPDX-License-Identifier: BSD-2-Clause
/* Memory by stack: small stories, and many random changes beside a model that keeps everything. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "core/account/stacks.h"

/* The row of a stack id; all zero without one. */
static struct stacks_row row_of(const struct stacks *s, uint32_t id, unsigned int since)
{
	struct stacks_row row;

	for (uint32_t i = 0; i < s->count; i++) {
		stacks_row(s, i, since, &row);
		if (row.stack_id == id)
			return row;
	}
	return (struct stacks_row){ .stack_id = id };
}

static struct stacks_row now_of(const struct stacks *s, uint32_t id)
{
	return row_of(s, id, STACKS_AT_START);
}

static void live_and_peak(void **state)
{
	struct stacks s;

	(void)state;
	stacks_init(&s);
	stacks_add(&s, 1, 100, 10);
	stacks_add(&s, 2, 50, 20);     /* the peak: 150 */
	stacks_remove(&s, 1, 100);
	stacks_add(&s, 3, 60, 30);     /* 110 */
	assert_true(s.live == 110 && s.peak == 150 && s.peak_ts_ns == 20);
	assert_true(now_of(&s, 3).live == 60 && now_of(&s, 3).at_peak == 0);
	assert_true(now_of(&s, 2).live == 50 && now_of(&s, 2).at_peak == 50);
	assert_true(now_of(&s, 1).live == 0 && now_of(&s, 1).at_peak == 100 && now_of(&s, 1).count == 0);
	assert_true(now_of(&s, 1).allocs == 1 && now_of(&s, 1).frees == 1 && now_of(&s, 1).alloc_bytes == 100);
	stacks_remove(&s, 2, 50);
	stacks_add(&s, 2, 500, 40);    /* a new peak: 560, in which the 50 are not */
	assert_true(now_of(&s, 2).at_peak == 500 && now_of(&s, 2).count == 1);
	assert_true(now_of(&s, 1).at_peak == 0);
	stacks_fini(&s);
}

static void a_release_that_failed(void **state)
{
	struct stacks s;

	(void)state;
	stacks_init(&s);
	stacks_add(&s, 1, 100, 10);
	stacks_remove(&s, 1, 100);
	stacks_add(&s, 2, 50, 20);
	stacks_restore(&s, 1, 100, 30); /* now there is more than ever */
	assert_true(s.live == 150 && s.peak == 150 && s.peak_ts_ns == 30);
	assert_true(now_of(&s, 1).allocs == 1 && now_of(&s, 1).frees == 0 && now_of(&s, 1).count == 1);
	stacks_fini(&s);
}

static void moved_with_its_history(void **state)
{
	struct stacks from, to;

	(void)state;
	stacks_init(&from);
	stacks_init(&to);
	stacks_add(&from, 1, 100, 10);
	stacks_add(&from, 2, 30, 11);
	stacks_move(&from, &to, 1, 100, 12);
	assert_true(from.live == 30 && from.peak == 130 && to.live == 100 && to.peak_ts_ns == 12);
	assert_true(now_of(&from, 1).allocs == 0 && now_of(&from, 1).alloc_bytes == 0);
	assert_true(now_of(&to, 1).allocs == 1 && now_of(&to, 1).alloc_bytes == 100);
	stacks_move(&from, &to, 2, 30, 13);
	assert_true(from.peak == 0 && from.count == 0); /* nothing was there, so it had no peak */
	stacks_move(&to, &to, 2, 30, 14);
	assert_true(to.live == 130 && to.allocs == 2);
	stacks_fini(&from);
	stacks_fini(&to);
}

static void another_size(void **state)
{
	struct stacks s;

	(void)state;
	stacks_init(&s);
	stacks_add(&s, 1, 100, 10);
	stacks_resize(&s, 1, 100, 170, 11);
	assert_true(s.live == 170 && s.peak == 170 && now_of(&s, 1).alloc_bytes == 170 && now_of(&s, 1).count == 1);
	stacks_resize(&s, 1, 170, 20, 12);
	assert_true(s.live == 20 && s.peak == 170 && now_of(&s, 1).at_peak == 170 && now_of(&s, 1).allocs == 1);
	stacks_fini(&s);
}

static void all_dropped(void **state)
{
	struct stacks s;

	(void)state;
	stacks_init(&s);
	stacks_add(&s, 1, 100, 10);
	stacks_add(&s, 2, 11, 10);
	stacks_drop(&s);
	assert_true(s.live == 0 && s.peak == 111 && now_of(&s, 1).at_peak == 100 && now_of(&s, 1).frees == 0);
	assert_true(now_of(&s, 2).live == 0 && now_of(&s, 2).count == 0 && now_of(&s, 2).allocs == 1);
	stacks_fini(&s);
}

static void growth_since_a_mark(void **state)
{
	struct stacks s;

	(void)state;
	stacks_init(&s);
	stacks_add(&s, 1, 100, 10);
	stacks_add(&s, 2, 100, 10);
	stacks_mark(&s, 0);
	stacks_remove(&s, 1, 100);
	stacks_add(&s, 2, 7, 20);
	stacks_add(&s, 3, 5, 20);
	stacks_mark(&s, 1);
	stacks_add(&s, 3, 1, 21);
	assert_true(row_of(&s, 1, STACKS_AT_START).grown == 0 && row_of(&s, 2, STACKS_AT_START).grown == 107);
	assert_true(row_of(&s, 1, STACKS_AT_MARK).grown == -100 && row_of(&s, 2, STACKS_AT_MARK).grown == 7);
	assert_true(row_of(&s, 3, STACKS_AT_MARK).grown == 6);
	assert_true(row_of(&s, 3, STACKS_AT_MARK + 1).grown == 1 && row_of(&s, 2, STACKS_AT_MARK + 1).grown == 0);
	assert_true(row_of(&s, 3, STACKS_NOW).grown == 0);
	stacks_fini(&s);
}

static int64_t least_rise_of(const struct stacks *s, unsigned int later, unsigned int until)
{
	return stacks_rise(s, 0, (const unsigned int[]){ STACKS_AT_START, later, until }).least;
}

/* At each mark the stack holds more than at the mark before, but only at the mark. */
static void what_comes_and_goes_does_not_raise_the_least(void **state)
{
	struct stacks s;

	(void)state;
	stacks_init(&s);
	stacks_add(&s, 1, 100, 0);
	for (unsigned int i = 0; i < STACKS_GROWTH_MARKS; i++) {
		stacks_add(&s, 1, 10 * i, i);
		stacks_mark(&s, i);
		stacks_remove(&s, 1, 10 * i);
	}
	stacks_add(&s, 1, 40, 9); /* the peak */
	assert_true(row_of(&s, 1, STACKS_AT_MARK + 1).grown == 30 && row_of(&s, 1, STACKS_AT_MARK + 2).grown == 20);
	assert_true(!least_rise_of(&s, 2, STACKS_NOW) && !least_rise_of(&s, 1, STACKS_NOW));
	assert_true(!least_rise_of(&s, 2, STACKS_AT_PEAK) && !least_rise_of(&s, STACKS_NOW, STACKS_NOW));
	stacks_fini(&s);
}

static void what_stays_raises_the_least(void **state)
{
	struct stacks s;

	(void)state;
	stacks_init(&s);
	for (unsigned int i = 0; i < STACKS_GROWTH_MARKS; i++) {
		stacks_add(&s, 1, 100, i);
		stacks_mark(&s, i);
		stacks_add(&s, 1, 7, i);
		stacks_remove(&s, 1, 7);
	}
	stacks_add(&s, 1, 50, 9); /* the peak */
	assert_true(least_rise_of(&s, 2, STACKS_NOW) == 100 && least_rise_of(&s, 1, STACKS_NOW) == 100);
	assert_true(least_rise_of(&s, 1, STACKS_AT_MARK + 2) == 100);
	stacks_drop(&s); /* the program ends */
	assert_true(least_rise_of(&s, 2, STACKS_NOW) == -200);
	assert_true(least_rise_of(&s, 2, STACKS_AT_PEAK) == 100 && least_rise_of(&s, 1, STACKS_AT_PEAK) == 100);
	stacks_fini(&s);
}

/* ---- the model ---- */

#define MODEL_STACKS 40
#define MODEL_ITEMS 4000

struct model {
	uint64_t live[MODEL_STACKS], at_peak[MODEL_STACKS], at_mark[STACKS_MARKS][MODEL_STACKS], total, peak;
	uint64_t least[STACKS_GROWTH_MARKS][MODEL_STACKS], least_at_peak[STACKS_GROWTH_MARKS][MODEL_STACKS];
	unsigned int marks, marks_at_peak;  /* of growth, set so far */
};

struct model_item {
	uint32_t stack;
	uint64_t size;
};

static uint32_t random_below(uint32_t *seed, uint32_t n)
{
	*seed = *seed * 1664525 + 1013904223;
	return (uint32_t)(((uint64_t)*seed * n) >> 32);
}

static void set_peak(struct model *m)
{
	m->peak = m->total;
	m->marks_at_peak = m->marks;
	memcpy(m->at_peak, m->live, sizeof(m->live));
	memcpy(m->least_at_peak, m->least, sizeof(m->least));
}

static void change(struct model *m, uint32_t stack, uint64_t lower, uint64_t raise)
{
	uint64_t *least = &m->least[m->marks % STACKS_GROWTH_MARKS][stack];

	m->live[stack] += raise - lower;
	m->total += raise - lower;
	*least = m->live[stack] < *least ? m->live[stack] : *least;
	if (m->total > m->peak)
		set_peak(m);
}

/* Of the least since the mark before the newest (which = 1), or since the newest (0), until now or the peak. */
static int64_t least_rise(const struct model *m, uint32_t id, unsigned int which, bool is_peak)
{
	uint64_t (*list)[MODEL_STACKS] = is_peak ? (void *)m->least_at_peak : (void *)m->least, least = UINT64_MAX;
	unsigned int newest = is_peak ? m->marks_at_peak : m->marks;

	for (unsigned int mark = m->marks - which; mark <= newest; mark++)
		least = list[mark % STACKS_GROWTH_MARKS][id] < least ? list[mark % STACKS_GROWTH_MARKS][id] : least;
	return (int64_t)(least - m->least[(m->marks - which - 1) % STACKS_GROWTH_MARKS][id]);
}

static void compare_least(const struct stacks *s, const struct model *m, uint32_t index)
{
	for (unsigned int which = 0; which < 2 && m->marks >= STACKS_GROWTH_MARKS; which++) {
		unsigned int at[] = { STACKS_AT_START, (m->marks - which) % STACKS_GROWTH_MARKS, STACKS_NOW };

		assert_true(stacks_rise(s, index, at).least == least_rise(m, s->list[index].id, which, false));
		at[STACKS_RISE_UNTIL] = STACKS_AT_PEAK;
		if (m->marks_at_peak >= m->marks - which)
			assert_true(stacks_rise(s, index, at).least == least_rise(m, s->list[index].id, which, true));
	}
}

static void compare(const struct stacks *s, const struct model *m)
{
	uint64_t sum_live = 0, sum_peak = 0;

	for (uint32_t id = 0; id < MODEL_STACKS; id++) {
		struct stacks_row row = now_of(s, id);

		assert_true(row.live == m->live[id]);
		assert_true(row.at_peak == m->at_peak[id]);
		for (unsigned int mark = 0; mark < STACKS_MARKS; mark++)
			assert_true(row_of(s, id, mark).grown == (int64_t)(m->live[id] - m->at_mark[mark][id]));
		assert_true(row.count == row.allocs - row.frees);
		sum_live += row.live;
		sum_peak += row.at_peak;
	}
	for (uint32_t i = 0; i < s->count; i++)
		compare_least(s, m, i);
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
	for (uint64_t step = 1; step < 40000; step++) {
		bool grow = random_below(&seed, 100) < (step / 3000 % 2 ? 45 : 55);
		struct model_item *item = &items[random_below(&seed, (uint32_t)count)];

		if (count < MODEL_ITEMS && (grow || !count)) {
			item = &items[count++];
			item->stack = random_below(&seed, MODEL_STACKS);
			item->size = random_below(&seed, 10000);
			stacks_add(&s, item->stack, item->size, step);
			change(&m, item->stack, 0, item->size);
		} else if (step % 5 == 0) {
			uint64_t size = random_below(&seed, 20000);

			stacks_resize(&s, item->stack, item->size, size, step);
			change(&m, item->stack, item->size, size);
			item->size = size;
		} else {
			stacks_remove(&s, item->stack, item->size);
			change(&m, item->stack, item->size, 0);
			if (step % 7 == 0) {
				stacks_restore(&s, item->stack, item->size, step);
				change(&m, item->stack, 0, item->size);
			} else {
				*item = items[--count];
			}
		}
		if (step % 3001 == 0) {
			unsigned int mark = step / 3001 % STACKS_MARKS;

			stacks_mark(&s, mark);
			memcpy(m.at_mark[mark], m.live, sizeof(m.live));
			if (mark < STACKS_GROWTH_MARKS)
				memcpy(m.least[++m.marks % STACKS_GROWTH_MARKS], m.live, sizeof(m.live));
		}
		if (step % 7001 == 0) {
			stacks_restart(&s, step);
			set_peak(&m);
		}
		if (step % 97 == 0)
			compare(&s, &m);
	}
	assert_true(s.count == MODEL_STACKS);
	stacks_fini(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(live_and_peak),
		cmocka_unit_test(a_release_that_failed),
		cmocka_unit_test(moved_with_its_history),
		cmocka_unit_test(another_size),
		cmocka_unit_test(all_dropped),
		cmocka_unit_test(growth_since_a_mark),
		cmocka_unit_test(what_comes_and_goes_does_not_raise_the_least),
		cmocka_unit_test(what_stays_raises_the_least),
		cmocka_unit_test(random_changes_beside_a_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
