// SPDX-License-Identifier: BSD-2-Clause
/* What the BPF programs send of calls makes the ledger say what the driver did, in thousands of orders of events. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../../pairing/joint.h"

#define ORDERS 12000

static void run_orders(bool is_exact)
{
	const char *first = getenv("PAIRING_SEED"), *count = getenv("PAIRING_ORDERS");
	uint64_t seed = first ? strtoull(first, NULL, 0) : 1, compared = 0, looks = 0, ends = 0;
	uint64_t last = seed + (count ? strtoull(count, NULL, 0) : first ? 1 : ORDERS);

	for (; seed < last; seed++) {
		struct choices choices = { .seed = seed * 0x9e3779b97f4a7c15ULL };

		machine_seed = seed;
		joint_run(&choices, STEPS_MOST, is_exact);
		compared += joint.compared;
		looks += joint.looks;
		ends += joint.ends;
	}
	assert_true(first || ends > ORDERS / 8);
	assert_true(first || compared > ORDERS * DRIVER_MEMORIES / 2);
	assert_true(first || !is_exact || looks > 10 * ORDERS);
}

static void with_nothing_lost_the_ledger_equals_the_driver(void **state)
{
	(void)state;
	run_orders(true);
}

static void with_losses_all_that_differs_is_counted(void **state)
{
	(void)state;
	run_orders(false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(with_nothing_lost_the_ledger_equals_the_driver),
		cmocka_unit_test(with_losses_all_that_differs_is_counted),
	};

	return cmocka_run_group_tests_name("joint", tests, NULL, NULL);
}
