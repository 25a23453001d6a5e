/* SPDX-License-Identifier: BSD-2-Clause */
/* Growth that comes in some iterations alone: the levels that later iterations never go below. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "core/framework/rises.h"

#define MIB (1ull << 20)
#define STEP_NS 1000ull

struct series {
	struct rises rises;
	uint32_t iteration;
	uint64_t random;
};

static void leave(struct series *s, uint64_t bytes)
{
	s->iteration++;
	rises_add(&s->rises, s->iteration, bytes, s->iteration * STEP_NS);
}

/* xorshift: the same numbers on each machine */
static uint64_t below(struct series *s, uint64_t most)
{
	s->random ^= s->random << 13;
	s->random ^= s->random >> 7;
	s->random ^= s->random << 17;
	return s->random % most;
}

static uint32_t count_of(const struct series *s)
{
	return rises_growth(&s->rises).count;
}

/* As demos/train.py: 8 MiB stay in each 20th iteration. */
static void one_in_twenty(void **state)
{
	struct series s = { 0 };
	struct view_growth growth;

	(void)state;
	for (uint32_t i = 1; i <= 119; i++) {
		assert_int_equal(count_of(&s), i <= 100 ? 0 : 5);
		leave(&s, (500 + i / 20 * 8) * MIB);
	}
	growth = rises_growth(&s.rises);
	assert_int_equal(growth.bytes, 8 * MIB);
	assert_int_equal(growth.count, 5);
	assert_int_equal(growth.iterations, 118);
	assert_int_equal(s.rises.levels[0].iteration, 1);
	assert_int_equal(growth.time_ns, 118 * STEP_NS);
	assert_int_equal(growth.end_ns, 119 * STEP_NS);
}

/* More levels than are kept are merged: all rises count, and all bytes. */
static void many_rises(void **state)
{
	struct series s = { 0 };
	struct view_growth growth;

	(void)state;
	for (uint32_t i = 1; i <= 10000; i++)
		leave(&s, (500 + i / 20 * 8) * MIB);
	growth = rises_growth(&s.rises);
	assert_int_equal(growth.count, 500);
	assert_int_equal(growth.bytes, 8 * MIB);
	assert_int_equal(growth.iterations, 9999);
	assert_true(s.rises.count <= RISES_KEPT);
}

/* What goes again has not risen, and what comes in one half of the time alone is a start-up, or one large object. */
static void what_does_not_count(void **state)
{
	struct series s = { 0 };

	(void)state;
	assert_int_equal(count_of(&s), 0);
	for (uint32_t i = 1; i <= 1000; i++) {
		leave(&s, 500 * MIB + i % 20 * 8 * MIB);   /* a cache that is emptied at times */
		assert_int_equal(count_of(&s), 0);
	}
	s = (struct series){ 0 };
	for (uint32_t i = 1; i <= 1000; i++) {
		leave(&s, 500 * MIB + (i < 10 ? i : 10) * 8 * MIB);    /* fills up */
		assert_int_equal(count_of(&s), 0);
	}
}

/* What an earlier iteration left, and what has gone, do not hide a leak; a leak that has stopped is no leak soon. */
static void leaks_among_others(void **state)
{
	struct series s = { 0 };

	(void)state;
	for (uint32_t i = 1; i <= 2000; i++)
		leave(&s, ((i < 6 ? 500 : i == 50 ? 8000 : 2500) + (i > 1000 ? (i - 1000) / 20 * 8 : 0)) * MIB);
	assert_int_equal(rises_growth(&s.rises).count, 49);
	assert_int_equal(rises_growth(&s.rises).bytes, 8 * MIB);
	while (count_of(&s) && s.iteration < 3000)
		leave(&s, (2500 + 400) * MIB);
	assert_true(s.iteration > 2100 && s.iteration < 2500);
}

/* A number that is logged each time, and a start-up and a copy that are meant to stay. */
static void small_rises_are_none(void **state)
{
	struct series s = { 0 };
	struct view_growth growth;

	(void)state;
	for (uint32_t i = 1; i <= 3000; i++) {
		leave(&s, (4096 + (i >= 6 ? 2048 : 0) + (i >= 1000 ? 1024 : 0)) * MIB + i / 10 * 512);
		assert_int_equal(count_of(&s), 0);
	}
	s = (struct series){ 0 };
	for (uint32_t i = 1; i <= 3000; i++)
		leave(&s, (4096 + i / 20 * 8) * MIB + i * 512);
	growth = rises_growth(&s.rises);
	assert_int_equal(growth.count, 150);
	assert_int_equal(growth.bytes / MIB, 8);
}

/* Inputs of different sizes leave something different each time. Chance seldom looks like growth, which a leak as large
 * as the chance always does. */
static void noise_is_no_growth(void **state)
{
	unsigned int false_alarms = 0, found = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 200; seed++) {
		struct series s = { .random = seed * 0x9e3779b97f4a7c15ull }, leak = s;

		for (uint32_t i = 1; i <= 1000; i++) {
			leave(&s, 500 * MIB + below(&s, 64 * MIB));
			false_alarms += count_of(&s) != 0;
		}
		for (uint32_t i = 1; i <= 1000; i++)
			leave(&leak, (500 + i / 20 * 8) * MIB + below(&leak, 64 * MIB));
		found += count_of(&leak) != 0;
	}
	print_message("# false alarms in %u of 200000 iterations\n", false_alarms);
	assert_true(false_alarms < 400);
	assert_int_equal(found, 200);
}

/* An iteration that frees by chance more than usual moves the growth, and does not end it. */
static void levels_can_fall(void **state)
{
	struct series s = { 0 };

	(void)state;
	for (uint32_t i = 1; i <= 200; i++)
		leave(&s, (500 + i / 20 * 8) * MIB);
	assert_int_equal(count_of(&s), 10);
	leave(&s, (500 + 45) * MIB);
	assert_int_equal(s.rises.count, 1 + 6);
	assert_int_equal(s.rises.levels[s.rises.count - 1].bytes, 545 * MIB);
	assert_int_equal(s.rises.levels[s.rises.count - 1].iteration, 120);
	leave(&s, 400 * MIB);
	assert_int_equal(count_of(&s), 0);
	assert_int_equal(s.rises.count, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_in_twenty), cmocka_unit_test(many_rises), cmocka_unit_test(what_does_not_count),
		cmocka_unit_test(leaks_among_others), cmocka_unit_test(small_rises_are_none),
		cmocka_unit_test(noise_is_no_growth), cmocka_unit_test(levels_can_fall),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
