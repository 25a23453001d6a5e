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

/* A range begins or ends on the first thread. `name`: where the std::string lies. */
static void run_range(int (*program)(struct pt_regs *), __u64 name)
{
	struct pt_regs regs = { .args = { 0, name } };

	host.current = &machine.threads[0].task;
	program(&regs);
}

static void a_range_without_a_name(void **state)
{
	struct choices choices = { .seed = 1 };
	__u64 readable = stack_base(&machine.threads[0]), outer;

	(void)state;
	begin_order(&choices);
	run_range(torch_range_begin, readable);
	outer = collector.range;
	run_range(torch_range_begin, 0x10); /* cannot be read */
	assert_int_equal(host.losses[GMT_LOSS_UNREADABLE], 1);
	run_range(fw_range_end, 0);
	assert_int_equal(collector.range_what, GMT_RANGE_END);
	assert_int_not_equal(collector.range, outer);
	run_range(fw_range_end, 0);
	assert_int_equal(collector.range, outer);
}

static void a_range_of_a_hidden_thread(void **state)
{
	struct choices choices = { .seed = 1 };
	__u64 readable = stack_base(&machine.threads[0]);

	(void)state;
	begin_order(&choices);
	host.faults.storage_is_hidden = true;
	run_range(torch_range_begin, readable);
	assert_int_equal(host.losses[GMT_LOSS_THREAD_STATE], 1);
	host.faults.storage_is_hidden = false;
	run_range(torch_range_begin, readable);
	host.faults.storage_is_hidden = true;
	run_range(fw_range_end, 0);
	assert_int_equal(host.losses[GMT_LOSS_THREAD_STATE], 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_order),
		cmocka_unit_test(a_range_without_a_name),
		cmocka_unit_test(a_range_of_a_hidden_thread),
	};

	return cmocka_run_group_tests_name("pairing", tests, NULL, NULL);
}
