// SPDX-License-Identifier: BSD-2-Clause
/* How people write the moments of a recording. tests/cli/test_diff.py finds moments in recordings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/count.h"
#include "core/compare/moment.h"

static void moments_are_read(void **state)
{
	static const struct {
		const char *text;
		enum moment_kind kind;
		uint32_t number;
		const char *name;
		uint64_t ns;
	} cases[] = {
		{ "peak", MOMENT_PEAK, 0, NULL, 0 }, { "end", MOMENT_END, 0, NULL, 0 },
		{ "iteration=3", MOMENT_ITERATION, 3, NULL, 0 }, { "oom=1", MOMENT_OOM, 1, NULL, 0 },
		{ "mark=2", MOMENT_MARK, 2, NULL, 0 }, { "mark=epoch 2", MOMENT_MARK, 0, "epoch 2", 0 },
		{ "mark=2nd", MOMENT_MARK, 0, "2nd", 0 }, { "12.5s", MOMENT_TIME, 0, NULL, 12500000000 },
		{ "+8.7 s", MOMENT_TIME, 0, NULL, 8700000000 }, { "850ms", MOMENT_TIME, 0, NULL, 850000000 },
		{ "2m 05s", MOMENT_TIME, 0, NULL, 125000000000 }, { "3h07m", MOMENT_TIME, 0, NULL, 11220000000000 },
		{ "0s", MOMENT_TIME, 0, NULL, 0 },
	};
	struct moment moment;

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		assert_true(moment_read(cases[i].text, &moment));
		assert_int_equal(moment.kind, cases[i].kind);
		assert_int_equal(moment.number, cases[i].number);
		assert_int_equal(moment.ns, cases[i].ns);
		if (cases[i].name)
			assert_string_equal(moment.name, cases[i].name);
		else
			assert_null(moment.name);
	}
}

static void other_texts_are_no_moments(void **state)
{
	static const char *const texts[] = {
		"", "pea", "peaks", "peak=1", "end=", "iteration", "iteration=", "iteration=0", "iteration=-1", "iteration=x",
		"iteration=4294967296", "oom=+1", "mark", "mark=", "12", "12.5", "s", "1x", "-1s", "1s2", "0x1s", "nans", "infs",
		"1e400s", "1e30h", "1sec", "+", "+ 1s",
	};
	struct moment moment;

	(void)state;
	for (size_t i = 0; i < COUNT(texts); i++)
		if (moment_read(texts[i], &moment))
			fail_msg("'%s' is a moment", texts[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(moments_are_read),
		cmocka_unit_test(other_texts_are_no_moments),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
