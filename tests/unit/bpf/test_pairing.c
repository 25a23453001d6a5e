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

/* ---- shares of users ---- */

#define SHARE 3

/* Process 50 belongs to the user 1001, who has a share of its own. */
static void begin_shares(struct choices *choices)
{
	begin_order(choices);
	gmt.config.user_processes = gmt.config.user_stacks = SHARE;
	host.uid = 1001;
	host.current = &machine.threads[0].task;
}

static void fork_process(int tgid)
{
	struct task_struct child = { .pid = tgid, .tgid = tgid };

	proc_fork(&machine.threads[0].task, &child);
}

static void processes_have_shares(void **state)
{
	struct choices choices = { .seed = 1 };

	(void)state;
	begin_shares(&choices);
	for (int tgid = 60; tgid < 65; tgid++)
		fork_process(tgid);
	assert_true(host_target(60) && host_target(62) && !host_target(63) && !host_target(64));
	assert_int_equal(host_user(1001)->processes, SHARE);
	assert_int_equal(host_user(1001)->processes_refused, 2);
	assert_int_equal(host.losses[GMT_LOSS_TARGET_MAP_FULL], 2);
	host.uid = 1002;
	fork_process(65);
	assert_non_null(host_target(65));
	/* The end of a process is its payer's gain, whoever runs then. */
	target_gone(60);
	assert_int_equal(host_user(1001)->processes, SHARE - 1);
	host.uid = 1001;
	fork_process(66);
	assert_non_null(host_target(66));
}

static void no_process_is_counted_twice(void **state)
{
	struct choices choices = { .seed = 1 };

	(void)state;
	begin_shares(&choices);
	fork_process(60);
	fork_process(60);
	assert_int_equal(host_user(1001)->processes, 1);
	host.faults.targets_are_full = true;
	fork_process(61);
	assert_int_equal(host_user(1001)->processes, 1);
	assert_int_equal(host.losses[GMT_LOSS_TARGET_MAP_FULL], 1);
}

/* The current thread becomes the first thread of a new target of the current user. */
static void be_target(int tgid)
{
	static struct task_struct tasks[8];
	static unsigned next;
	struct task_struct *task = &tasks[next++ % (sizeof(tasks) / sizeof(tasks[0]))];

	*task = (struct task_struct){ .pid = tgid, .tgid = tgid };
	fork_process(tgid);
	host.current = task;
}

static void stacks_have_shares(void **state)
{
	struct choices choices = { .seed = 1 };

	(void)state;
	begin_shares(&choices);
	be_target(60);
	for (int i = 0; i < SHARE; i++)
		assert_true(user_take_stack());
	assert_false(user_take_stack());
	assert_int_equal(host_user(1001)->stacks_refused, 1);
	user_return_stack();
	assert_true(user_take_stack());
	host.uid = 1002;
	be_target(61);
	assert_true(user_take_stack());
	/* A process that ends gives its part back, and no other. */
	host.uid = 1001;
	be_target(62);
	assert_false(user_take_stack());
	target_gone(60);
	assert_int_equal(host_user(1001)->stacks, 0);
	assert_int_equal(host_user(1002)->stacks, 1);
	assert_true(user_take_stack());
}

/* Users beyond the map's room share one entry. */
static void other_users_share(void **state)
{
	struct choices choices = { .seed = 1 };

	(void)state;
	begin_shares(&choices);
	for (host.uid = 1; host.uid < 4; host.uid++) {
		be_target(60 + (int)host.uid);
		assert_true(user_take_stack());
		target_gone(60 + host.uid);
	}
	host.uid = 4;
	be_target(64);
	assert_true(user_take_stack());
	host.uid = 5;
	be_target(65);
	for (int i = 1; i < SHARE; i++)
		assert_true(user_take_stack());
	assert_false(user_take_stack());
	assert_int_equal(host_user(GMT_USER_OTHERS)->stacks, SHARE);
	host.uid = 1;
	be_target(66);
	assert_true(user_take_stack());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_order),
		cmocka_unit_test(a_range_without_a_name),
		cmocka_unit_test(a_range_of_a_hidden_thread),
		cmocka_unit_test(processes_have_shares),
		cmocka_unit_test(no_process_is_counted_twice),
		cmocka_unit_test(stacks_have_shares),
		cmocka_unit_test(other_users_share),
	};

	return cmocka_run_group_tests_name("pairing", tests, NULL, NULL);
}
