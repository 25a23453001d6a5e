/* SPDX-License-Identifier: BSD-2-Clause */
/* Manual page and shell completion say of the options what their table says. UPDATE_GOLDEN=1 writes it there. */
#include "golden.h"

#include "base/out.h"
#include "cli_doc.h"

#define BEGIN "---- begin: `make man` writes this from user/cli_rows.h ----\n"
#define END " ---- end ----\n"

/* The whole file as it ought to be, to be freed. */
static char *with_region(const char *path, void (*print)(struct out *out))
{
	char *text = golden_read(path), *begin = strstr(text, BEGIN), *end, *line;
	struct out out;

	assert_non_null(begin);
	begin += strlen(BEGIN);
	end = strstr(begin, END);
	assert_non_null(end);
	for (line = end; line[-1] != '\n'; line--)
		;
	out_init_mem(&out);
	out_bytes(&out, text, (size_t)(begin - text));
	print(&out);
	out_text(&out, line);
	free(text);
	return out_take(&out);
}

static void check_region(const char *path, void (*print)(struct out *out))
{
	char *wanted = with_region(path, print), *text;

	if (getenv("UPDATE_GOLDEN")) {
		FILE *file = fopen(path, "w");

		assert_non_null(file);
		fputs(wanted, file);
		assert_int_equal(fclose(file), 0);
	}
	text = golden_read(path);
	if (strcmp(text, wanted))
		fail_msg("%s differs from user/cli_rows.h: `make man` writes it anew", path);
	free(text);
	free(wanted);
}

static void test_manual(void **state)
{
	(void)state;
	check_region("user/doc/gpumemtrace.1", cli_doc_manual);
}

static void test_completion(void **state)
{
	(void)state;
	check_region("user/doc/gpumemtrace.bash-completion", cli_doc_completion);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_manual),
		cmocka_unit_test(test_completion),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
