// SPDX-License-Identifier: BSD-2-Clause
/* The programs of bpf/ that pair entries and returns of calls, compiled as C, in thousands of orders of events. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../../pairing/orders.h"

#define ORDERS 20000

static void any_order(void **state)
{
	const char *first = getenv("PAIRING_SEED"), *count = getenv("PAIRING_ORDERS");
	uint64_t seed = first ? strtoull(first, NULL, 0) : 1;
	uint64_t last = seed + (count ? strtoull(count, NULL, 0) : first ? 1 : ORDERS);

	(void)state;
	for (; seed < last; seed++) {
		struct choices choices = { .seed = seed * 0x9e3779b97f4a7c15ULL };

		machine_seed = seed;
		run_order(&choices, STEPS_MOST);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_order),
	};

	return cmocka_run_group_tests_name("pairing", tests, NULL, NULL);
}
