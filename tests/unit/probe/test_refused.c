// SPDX-License-Identifier: BSD-2-Clause
/* Files with a library's name that cannot be read: what is told of them has a bound, for each user. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <gpumemtrace/wire.h>

#include "live/probe/refused_files.h"

static struct refused_files *files;

static int begin(void **state)
{
	(void)state;
	files = calloc(1, sizeof(*files));
	return !files;
}

static int end(void **state)
{
	(void)state;
	refused_free(files);
	free(files);
	return 0;
}

static void tell(uint32_t uid, int count)
{
	const struct probing_file file = { .shown = "/a/\033[31m/libcuda.so.1", .pid = 77, .uid = uid };

	for (int i = 0; i < count; i++)
		refused_tell(files, &file, "not an \033ELF file");
}

static size_t count_notes(const char *word)
{
	size_t found = 0;
	char *note;

	while ((note = refused_note(files))) {
		assert_null(strchr(note, '\033'));
		assert_non_null(strstr(note, "process 77 of user "));
		found += strstr(note, word) != NULL;
		free(note);
	}
	return found;
}

static void few_are_named(void **state)
{
	(void)state;
	tell(1000, 1000);
	tell(1001, 1);
	assert_int_equal(count_notes("/a/?[31m/libcuda.so.1"), REFUSED_NAMED + 1);
	tell(1000, 1);
	assert_int_equal(count_notes(""), 0);
	tell(1002, REFUSED_NAMED);
	assert_int_equal(count_notes("counted, not named"), 1);
	assert_int_equal(files->told, 1000 + 1 + 1 + REFUSED_NAMED);
}

static void sentences_that_wait(void **state)
{
	(void)state;
	for (uint32_t uid = 0; uid < REFUSED_USERS; uid++)
		tell(uid, REFUSED_NAMED);
	assert_int_equal(count_notes(""), REFUSED_NOTES);
}

static void a_limit_for_each_user(void **state)
{
	struct gmt_limit limit;

	(void)state;
	assert_false(refused_next_limit(files, true, &limit));
	tell(1000, 1);
	assert_true(refused_next_limit(files, false, &limit));
	assert_string_equal((char *)limit.what, "calls through files of user 1000 are not traced");
	assert_string_equal((char *)limit.why, "1 file cannot be read as a library: /a/?[31m/libcuda.so.1 of process 77"
					       " (not an ?ELF file)");
	tell(1000, 1233);
	assert_false(refused_next_limit(files, false, &limit)); /* once, and at the end if there are more */
	assert_true(refused_next_limit(files, true, &limit));
	assert_non_null(strstr((char *)limit.why, "1,234 files cannot be read as libraries, first /a/"));
	assert_false(refused_next_limit(files, true, &limit));
}

static void users_have_a_bound(void **state)
{
	const uint32_t more = 5;
	struct gmt_limit limit;

	(void)state;
	for (uint32_t uid = 0; uid < REFUSED_USERS + more; uid++)
		tell(uid, 1);
	for (size_t i = 0; i < REFUSED_USERS; i++)
		assert_true(refused_next_limit(files, false, &limit));
	assert_string_equal((char *)limit.what, "calls through files of other users are not traced");
	assert_non_null(strstr((char *)limit.why, "6 files"));
	assert_false(refused_next_limit(files, true, &limit));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(few_are_named, begin, end),
		cmocka_unit_test_setup_teardown(sentences_that_wait, begin, end),
		cmocka_unit_test_setup_teardown(a_limit_for_each_user, begin, end),
		cmocka_unit_test_setup_teardown(users_have_a_bound, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
