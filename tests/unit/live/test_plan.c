// SPDX-License-Identifier: BSD-2-Clause
/* What is left out when a kernel's verifier refuses a program: the smallest piece that will do, and a sentence. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "live/bpf/plan.h"

static struct plan everything(void)
{
	return (struct plan){ .stack_mode = GMT_STACKS_FULL, .block_stacks = true, .ioctl_stacks = true };
}

/* Lowers it by one refusal; every step but those in `silent` has a sentence. */
static void lower(struct plan *plan, const char *program, const char *words)
{
	struct gmt_limit limit;

	assert_true(plan_lower(plan, program, &limit));
	if (!strstr((char *)limit.what, words))
		fail_msg("%s: \"%s\" has no \"%s\"", program, limit.what, words);
	assert_int_equal(limit.what[0] != 0, limit.remedy[0] != 0);
}

static void blocks_lose_their_stacks_first(void **state)
{
	struct plan plan = everything();

	(void)state;
	lower(&plan, "fw_block", "blocks have no stack traces");
	assert_int_equal(plan.stack_mode, GMT_STACKS_FULL);
	assert_false(plan.block_stacks);
	assert_false(plan_leaves_out(&plan, "fw_block"));
	lower(&plan, "fw_block", "blocks are not seen");
	assert_true(plan_leaves_out(&plan, "fw_block"));
	assert_int_equal(plan.stack_mode, GMT_STACKS_FULL);
}

static void calls_lose_their_stacks_last(void **state)
{
	static const enum gmt_stack_mode modes[] = { GMT_STACKS_FULL, GMT_STACKS_NATIVE, GMT_STACKS_PYTHON };
	struct gmt_limit limit;

	(void)state;
	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		struct plan plan = everything();

		plan.stack_mode = modes[i];
		lower(&plan, "call_enter", "frame pointers");
		assert_int_equal(plan.stack_mode, GMT_STACKS_POINTERS);
		lower(&plan, "call_enter", "no stack traces");
		assert_int_equal(plan.stack_mode, GMT_STACKS_OFF);
		assert_false(plan_lower(&plan, "call_enter", &limit));
	}
}

static void ioctls_go_alone(void **state)
{
	struct plan plan = everything();

	(void)state;
	lower(&plan, "ioctl_tracepoint", "by itself has no stack traces");
	lower(&plan, "ioctl_tracepoint", ""); /* the other program does the same */
	lower(&plan, "ioctl_sys_exit", "");
	assert_true(plan_leaves_out(&plan, "ioctl_tracepoint") && plan_leaves_out(&plan, "ioctl_sys_exit"));
	assert_int_equal(plan.stack_mode, GMT_STACKS_FULL);
	assert_true(plan.block_stacks);
}

/* Whatever is refused in whatever order, it ends, and what is needed is never left out. */
static void it_ends(void **state)
{
	static const char *const programs[] = {
		"call_enter", "call_return",
#define X(program, text) #program,
		PLAN_OPTIONAL(X)
#undef X
	};
	struct plan plan = everything();
	struct gmt_limit limit;
	size_t steps = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++)
		while (plan_lower(&plan, programs[i], &limit))
			assert_true(++steps < 64);
	assert_int_equal(steps, 2 + PLAN_OPTIONAL_COUNT); /* stacks are off before the others are refused */
	assert_false(plan_leaves_out(&plan, "call_enter") || plan_leaves_out(&plan, "call_return"));
	assert_false(plan_lower(&plan, "unknown", &limit));
}

static void a_kernel_without_the_helpers(void **state)
{
	struct plan plan = everything();
	struct gmt_limit limit;

	(void)state;
	plan_without_walk(&plan, &limit);
	assert_int_equal(plan.stack_mode, GMT_STACKS_POINTERS);
	assert_true(limit.what[0] && limit.why[0] && limit.remedy[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks_lose_their_stacks_first),
		cmocka_unit_test(calls_lose_their_stacks_last),
		cmocka_unit_test(ioctls_go_alone),
		cmocka_unit_test(it_ends),
		cmocka_unit_test(a_kernel_without_the_helpers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
