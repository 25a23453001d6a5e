// SPDX-License-Identifier: BSD-2-Clause
/* Processes of one name: the list shows what differs between their commands. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/out.h"
#include "live/process/find.h"
#include "live/select/candidates.h"

static void prints(const char *command, size_t same, unsigned columns, const char *wanted)
{
	struct out out;
	char *text;

	out_init_mem(&out);
	candidates_print_command(&out, command, same, columns);
	text = out_take(&out);
	assert_string_equal(text, wanted);
	free(text);
}

static void the_same_beginning(void **state)
{
	static const char *const runs[] = { "python3 /a/train.py --lr 0.1", "python3 /a/train.py --lr 0.2" };
	static const char *const alone[] = { "train" }, *const others[] = { "a b", "c b" };

	(void)state;
	assert_int_equal(candidates_same(runs, 2), strlen("python3 /a/train.py --lr "));
	assert_int_equal(candidates_same(alone, 1), 0);
	assert_int_equal(candidates_same(others, 2), 0);
	assert_int_equal(candidates_same(NULL, 0), 0);
}

static void what_differs_is_shown(void **state)
{
	static const char command[] = "python3 /a/very/long/path/train.py --lr 0.1 --steps 100";
	size_t same = strlen("python3 /a/very/long/path/train.py --lr ");

	(void)state;
	prints(command, same, 80, command);
	prints(command, same, 40, "python3 /a...0.1 --steps 100");
	prints(command, same, 26, "python3 /a...0.1 --step...");
	prints(command, 0, 26, "python3 /a/very/long/pa...");
	prints("a\033[2J\nb", 0, 26, "a?[2J?b");
}

static void a_line_each(void **state)
{
	struct find_process groups[] = {
		{ .pid = 999999996, .cmdline = "bash /srv/projects/tools/run the first job of all that there are" },
		{ .pid = 999999997, .cmdline = "bash /srv/projects/tools/run the first job of all that there were" },
		{ .pid = 999999998, .cmdline = "bash /srv/projects/other/start" },
	};
	struct find_process list[] = {
		{ .pid = 999999998, .has_libcuda = true, .cmdline = "python3 /srv/projects/a/train.py --lr 0.1" },
		{ .pid = 999999999, .cmdline = "python3 /srv/projects/a/train.py --lr 0.2" },
	};
	struct out out;
	char *text;

	(void)state;
	out_init_mem(&out);
	candidates_print(&out, list, 2, 80, true);
	text = out_take(&out);
	assert_non_null(strstr(text, "  1  999999998"));
	assert_non_null(strstr(text, "  yes      python3 /s...0.1\n"));
	assert_non_null(strstr(text, "  no       python3 /s...0.2\n"));
	for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
		assert_true(strcspn(line, "\n") <= 80);
	free(text);
	out_init_mem(&out);
	candidates_print_option(&out, list, 2);
	text = out_take(&out);
	assert_string_equal(text, "-p 999999998,999999999");
	free(text);
	out_init_mem(&out);
	candidates_print(&out, groups, 3, 80, false);
	text = out_take(&out);
	assert_non_null(strstr(text, "no       bash /srv/...are\n"));
	assert_non_null(strstr(text, "no       bash /srv/...were\n"));
	assert_non_null(strstr(text, "no       bash /srv/projects/other/start\n"));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_beginning),
		cmocka_unit_test(what_differs_is_shown),
		cmocka_unit_test(a_line_each),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
