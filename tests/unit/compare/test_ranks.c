// SPDX-License-Identifier: BSD-2-Clause
/* Ranks of views that are made by hand: spreads, and from which difference on a rank is named. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/compare/ranks.h"

#include "compare_scene.h"

#define RANKS 4

static struct scene scenes[RANKS];

/* Each rank holds so much by its lines f and g. */
static struct ranks build(size_t count, const int64_t f[], const int64_t g[])
{
	static struct ranks_source sources[RANKS];
	struct ranks ranks;

	for (size_t i = 0; i < count; i++) {
		begin(&scenes[i]);
		add_proc(&scenes[i], 10 + (uint32_t)i, 0, "train.py");
		hold(&scenes[i], "/x/train.py", "f", 1, f[i], 1);
		hold(&scenes[i], "/x/train.py", "g", 2, g[i], 1);
		sources[i] = (struct ranks_source){ .name = "rank.gmt@peak", .path = "rank.gmt", .view = &scenes[i].view };
	}
	ranks_build(sources, count, &ranks);
	return ranks;
}

static void spreads(void **state)
{
	struct ranks r = build(4, (int64_t[]){ 40 * MIB, 10 * MIB, 30 * MIB, 20 * MIB },
			       (int64_t[]){ 5 * MIB, 5 * MIB, 5 * MIB, 5 * MIB });
	const struct ranks_row *row = &r.tables[HELD_LINES].rows[0];

	(void)state;
	assert_int_equal(r.count, 4);
	assert_int_equal(r.tables[HELD_LINES].count, 2);
	assert_int_equal(row->spread.sum, 100 * MIB);
	assert_int_equal(row->spread.least, 1);
	assert_int_equal(row->spread.median, 3);
	assert_int_equal(row->spread.most, 0);
	assert_int_equal(r.tables[HELD_LINES].all.spread.sum, 120 * MIB);
	assert_int_equal(r.gpu_memory.bytes[2], 35 * MIB);
	assert_int_equal(r.list[2].lines, 35 * MIB);
	ranks_free(&r);
}

/* 32 MiB, and 5 % of the median. The line is that which differs most in the direction of the rank. */
static void a_rank_differs_from_both_thresholds_on(void **state)
{
	const int64_t rest[] = { 100 * MIB, 100 * MIB, 100 * MIB };
	struct ranks r = build(3, (int64_t[]){ 100 * MIB, 131 * MIB, 100 * MIB }, rest);

	(void)state;
	assert_int_equal(r.odd_count, 0);
	ranks_free(&r);
	r = build(3, (int64_t[]){ 100 * MIB, 132 * MIB, 100 * MIB }, rest);
	assert_int_equal(r.odd_count, 1);
	assert_int_equal(r.odd[0].rank, 1);
	assert_int_equal(r.odd[0].difference, 32 * MIB);
	assert_int_equal(r.odd[0].of_row, 32 * MIB);
	ranks_free(&r);
	r = build(3, (int64_t[]){ 900 * MIB, 949 * MIB, 900 * MIB }, rest);
	assert_int_equal(r.odd_count, 0);
	ranks_free(&r);
	r = build(3, (int64_t[]){ 900 * MIB, 950 * MIB, 900 * MIB }, rest);
	assert_int_equal(r.odd_count, 1);
	ranks_free(&r);
}

static void the_greatest_difference_comes_first(void **state)
{
	struct ranks r = build(4, (int64_t[]){ 100 * MIB, 10 * MIB, 100 * MIB, 400 * MIB },
			       (int64_t[]){ 50 * MIB, 50 * MIB, 50 * MIB, 10 * MIB });

	(void)state;
	assert_int_equal(r.odd_count, 2);
	assert_int_equal(r.odd[0].rank, 3);
	assert_int_equal(r.odd[0].difference, 260 * MIB);
	assert_int_equal(r.odd[0].of_row, 300 * MIB);
	assert_int_equal(r.odd[1].rank, 1);
	assert_int_equal(r.odd[1].difference, -90 * MIB);
	assert_int_equal(r.odd[1].of_row, -90 * MIB);
	ranks_free(&r);
}

/* Of two ranks the one that holds less is the median. */
static void of_two_the_greater_differs(void **state)
{
	struct ranks r = build(2, (int64_t[]){ 500 * MIB, 100 * MIB }, (int64_t[]){ 1 * MIB, 1 * MIB });

	(void)state;
	assert_int_equal(r.odd_count, 1);
	assert_int_equal(r.odd[0].rank, 0);
	ranks_free(&r);
	r = build(0, NULL, NULL);
	assert_int_equal(r.count, 0);
	assert_int_equal(r.odd_count, 0);
	ranks_free(&r);
}

/* The line that goes the other way explains nothing, however much it is. */
static void the_line_goes_the_way_of_the_rank(void **state)
{
	static const int64_t held[3][3] = { { 100, 100, 200 }, { 100, 100, 200 }, { 200, 220, 50 } };
	static const char *const functions[] = { "f", "g", "h" };
	struct ranks_source sources[3];
	struct ranks r;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		begin(&scenes[i]);
		add_proc(&scenes[i], 10, 0, "train.py");
		for (size_t k = 0; k < 3; k++)
			hold(&scenes[i], "/x/train.py", functions[k], 1, held[i][k] * MIB, 1);
		sources[i] = (struct ranks_source){ .name = "rank.gmt@peak", .path = "rank.gmt", .view = &scenes[i].view };
	}
	ranks_build(sources, 3, &r);
	assert_int_equal(r.odd_count, 1);
	assert_int_equal(r.odd[0].difference, 70 * MIB);
	assert_int_equal(r.odd[0].of_row, 120 * MIB);
	ranks_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spreads),
		cmocka_unit_test(a_rank_differs_from_both_thresholds_on),
		cmocka_unit_test(the_greatest_difference_comes_first),
		cmocka_unit_test(the_line_goes_the_way_of_the_rank),
		cmocka_unit_test(of_two_the_greater_differs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
