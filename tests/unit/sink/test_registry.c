// SPDX-License-Identifier: BSD-2-Clause
/* The list of outputs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sinks.h"

/* A sink is a format or a file, and has an option or is a default. */
static void test_registry(void **state)
{
	bool has_text = false;

	(void)state;
	for (size_t i = 0; sinks[i]; i++) {
		const struct sink *sink = sinks[i];
		bool is_text = !sink->help && !sink_is_file(sink);

		assert_ptr_equal(sink_find(sink->name), sink);
		assert_int_equal(!sink->help, !sink->manual);
		assert_int_equal(sink_is_file(sink), !sink->report);
		assert_true(is_text || sink->help);
		assert_true(!sink->report == !sink->live);
		assert_true(!is_text || (sink->oom && sink->no_oom && sink->doctor && sink->list));
		assert_true(!sink->ask || sink->write);
		has_text |= is_text;
	}
	assert_true(has_text);
	assert_null(sink_find("no such output"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_registry),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
