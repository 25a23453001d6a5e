// SPDX-License-Identifier: BSD-2-Clause
/* The phase that goes on, as the timeline asks for it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "core/framework/phases.h"

#define PROGRAM 100
#define WORKER 101       /* autograd's thread */
#define STEP 7

static void say_range(struct phases *p, enum gmt_range_what what, const char *name)
{
	struct gmt_fw_range rec = { .hdr.tid = PROGRAM, .object = what == GMT_RANGE_BACKWARD ? 0 : STEP, .what = what };

	if (name)
		memcpy(rec.name, name, strlen(name));
	assert_int_equal(phases_range(p, &rec), 0);
}

/* Nothing is called a forward before the first backward, and a step is over when its range ends. */
static void phase_that_goes_on(void **state)
{
	struct phases p = { 0 };

	(void)state;
	assert_int_equal(phases_now(&p, 0), GMT_TRAINING_COUNT);
	phases_block(&p, 0, PROGRAM, 100, 100);
	assert_int_equal(phases_now(&p, 0), GMT_TRAINING_COUNT);
	say_range(&p, GMT_RANGE_BACKWARD, NULL);
	phases_block(&p, 0, WORKER, 10, 110);
	assert_int_equal(phases_now(&p, 0), GMT_TRAINING_BACKWARD);
	say_range(&p, GMT_RANGE_BEGIN, "Optimizer.step#SGD.step");
	assert_int_equal(phases_now(&p, 0), GMT_TRAINING_OPTIMIZER);
	phases_block(&p, 0, PROGRAM, 10, 120);
	say_range(&p, GMT_RANGE_END, NULL);
	assert_int_equal(phases_now(&p, 0), GMT_TRAINING_COUNT);
	say_range(&p, GMT_RANGE_BEGIN, "Optimizer.zero_grad#SGD.zero_grad");
	assert_int_equal(phases_now(&p, 0), GMT_TRAINING_ZERO_GRAD);
	say_range(&p, GMT_RANGE_END, NULL);
	assert_int_equal(phases_now(&p, 0), GMT_TRAINING_COUNT);
	phases_block(&p, 0, PROGRAM, 10, 130);
	assert_int_equal(phases_now(&p, 0), GMT_TRAINING_FORWARD);
	say_range(&p, GMT_RANGE_BACKWARD, NULL);
	phases_block(&p, 0, PROGRAM, -10, 120);     /* the backward seems to be over */
	assert_int_equal(phases_now(&p, 0), GMT_TRAINING_COUNT);
	assert_int_equal(phases_now(&p, 1), GMT_TRAINING_COUNT);
	phases_fini(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(phase_that_goes_on) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
