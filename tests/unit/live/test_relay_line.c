// SPDX-License-Identifier: BSD-2-Clause
/* The last line of a program's output: progress bars, colours, titles, cut sequences. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/count.h"
#include "live/process/relay_line.h"

static void the_last_line_with_text_counts(void **state)
{
	static const struct { const char *text, *line; } cases[] = {
		{ "one\ntwo", "two" }, { "one\ntwo\n\n  \n", "two" }, { " 10 %\r 20 %\r", " 20 %" },
		{ "\x1b[31mred\x1b[0m line\n", "red line" }, { "\x1b]0;title\a$ ", "$ " }, { "\x1b]0;title\x1b\\$ ", "$ " },
		{ "a\tb\n\x1b[0m\n", "a b" }, { "text\n\x1b[3", "text" }, { "text\n\x1b", "text" },
		{ "text\n\x1b]0;tit", "text" }, { "\x1b(Bletters", "letters" },
	};
	char line[64];

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		assert_true(relay_last_line(cases[i].text, strlen(cases[i].text), line, sizeof(line)));
		assert_string_equal(line, cases[i].line);
	}
}

static void there_may_be_no_line(void **state)
{
	char line[8] = "";

	(void)state;
	assert_false(relay_last_line("", 0, line, sizeof(line)));
	assert_false(relay_last_line("\n \r\n\x1b[0m", 8, line, sizeof(line)));
}

static void a_long_line_is_cut(void **state)
{
	char line[8];

	(void)state;
	assert_true(relay_last_line("0123456789", 10, line, sizeof(line)));
	assert_string_equal(line, "0123456");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_last_line_with_text_counts),
		cmocka_unit_test(there_may_be_no_line),
		cmocka_unit_test(a_long_line_is_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
