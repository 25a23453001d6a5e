// SPDX-License-Identifier: BSD-2-Clause
/* Thousands of orders of events against a model (orders.h). `make fuzz` runs millions (fuzz_orders.c). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "orders.h"

#define ORDERS 6000
#define STEPS 600
#define STEPS_LOSSY 1000          /* a missed release shows when its address is given out again */

static uint64_t random_state;
static bool expects_failure, has_failed, is_told;
static jmp_buf failed;
static uint64_t number;
static unsigned int steps_left;

static unsigned int order_pick(unsigned int below)   /* xorshift64 */
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (unsigned int)(random_state >> 16) % below;
}

static bool order_goes_on(void)
{
	return steps_left && steps_left--;
}

static bool order_tells(void)
{
	return is_told;
}

static void order_failed(const char *text)
{
	has_failed = true;
	if (!expects_failure)
		fail_msg("order %llu: %s", (unsigned long long)number, text);
	longjmp(failed, 1);
}

static void run_one(struct order *o, uint64_t seed)
{
	const char *only = getenv("ORDERS_SEED");

	is_told = only && strtoull(only, NULL, 0) == seed;
	if (only && !is_told)
		return;
	number = seed;
	random_state = seed * 0x9e3779b97f4a7c15ULL;
	steps_left = o->is_lossy ? STEPS_LOSSY : STEPS;
	if (!setjmp(failed))
		order_run(o);
}

static void with_nothing_lost_the_ledger_equals_the_model(void **state)
{
	uint64_t compared = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= ORDERS; seed++) {
		static struct order o;

		o = (struct order){ 0 };
		run_one(&o, seed);
		compared += o.compared;
	}
	assert_true(compared > ORDERS * 30);
}

static void with_losses_nothing_seen_is_missing_and_nothing_overlaps(void **state)
{
	uint64_t overlaps = 0, lost = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= ORDERS; seed++) {
		static struct order o;

		o = (struct order){ .is_lossy = true };
		run_one(&o, seed);
		overlaps += o.overlaps_at_end;
		lost += o.lost;
	}
	assert_true(lost > ORDERS && overlaps > ORDERS / 80); /* so there was something to drop */
}

/* The model is right: it finds the bug that was. */
static void ends_that_are_sent_at_their_return_are_found_wrong(void **state)
{
	(void)state;
	expects_failure = true;
	has_failed = false;
	for (uint64_t seed = 1; seed <= 3000 && !has_failed; seed++) {
		static struct order o;

		o = (struct order){ .ends_at_return = true };
		run_one(&o, seed);
		if (has_failed)
			pipeline_free(o.pipeline);
	}
	expects_failure = false;
	assert_true(has_failed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(with_nothing_lost_the_ledger_equals_the_model),
		cmocka_unit_test(with_losses_nothing_seen_is_missing_and_nothing_overlaps),
		cmocka_unit_test(ends_that_are_sent_at_their_return_are_found_wrong),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
