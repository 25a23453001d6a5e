// SPDX-License-Identifier: BSD-2-Clause
/* Ranges of all iterations and of all layers have one name. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "core/framework/range_name.h"

static const char *const pairs[][2] = {
	{ "ProfilerStep#12", "ProfilerStep#" },
	{ "ProfilerStep#1a", "ProfilerStep#1a" },
	{ "Optimizer.step#AdamW.step", "Optimizer.step#AdamW.step" },
	{ "FSDP::all_gather (layers.12)", "FSDP::all_gather" },
	{ "FSDP::backward_prefetch for layers.12", "FSDP::backward_prefetch" },
	{ "FSDP::root_pre_forward", "FSDP::root_pre_forward" },
	{ "all of mine (12)", "all of mine (12)" },
	{ "#", "#" },
	{ "", "" },
};

static void one_name_for_all(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		uint8_t text[GMT_RANGE_NAME_BYTES] = { 0 };
		char name[GMT_RANGE_NAME_BYTES];

		memcpy(text, pairs[i][0], strlen(pairs[i][0]));
		range_name(name, text);
		assert_string_equal(name, pairs[i][1]);
	}
}

static void a_text_without_an_end(void **state)
{
	uint8_t text[GMT_RANGE_NAME_BYTES];
	char name[GMT_RANGE_NAME_BYTES];

	(void)state;
	memset(text, 'x', sizeof(text));
	range_name(name, text);
	assert_int_equal(strlen(name), GMT_RANGE_NAME_BYTES - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_name_for_all),
		cmocka_unit_test(a_text_without_an_end),
	};

	return cmocka_run_group_tests_name("range_name", tests, NULL, NULL);
}
