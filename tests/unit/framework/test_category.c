// SPDX-License-Identifier: BSD-2-Clause
/* What memory is for, by a guess and by the code that asked for the memory. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/framework/category.h"
#include "core/terms/symbol_hint.h"

static const struct {
	enum gmt_category guess, found;
	uint8_t hint;
} cases[] = {
	{ GMT_CATEGORY_GRADIENT, GMT_CATEGORY_WORKSPACE, GMT_CATEGORY_WORKSPACE },
	{ GMT_CATEGORY_PARAMETER, GMT_CATEGORY_WORKSPACE, GMT_CATEGORY_WORKSPACE },
	{ GMT_CATEGORY_UNKNOWN, GMT_CATEGORY_WORKSPACE, GMT_CATEGORY_WORKSPACE },
	{ GMT_CATEGORY_UNKNOWN, GMT_CATEGORY_PARAMETER, GMT_CATEGORY_PARAMETER },
	{ GMT_CATEGORY_KEPT, GMT_CATEGORY_PARAMETER, GMT_CATEGORY_PARAMETER },
	{ GMT_CATEGORY_ACTIVATION, GMT_CATEGORY_ACTIVATION, GMT_CATEGORY_PARAMETER },
	{ GMT_CATEGORY_GRADIENT, GMT_CATEGORY_GRADIENT, SYMBOL_HINT_NONE },
	{ GMT_CATEGORY_UNKNOWN, GMT_CATEGORY_UNKNOWN, SYMBOL_HINT_NONE },
};

static void the_code_knows_some_purposes(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(category_with_hint(cases[i].guess, cases[i].hint), cases[i].found);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_code_knows_some_purposes),
	};

	return cmocka_run_group_tests_name("category", tests, NULL, NULL);
}
