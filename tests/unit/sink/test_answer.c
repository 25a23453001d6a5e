// SPDX-License-Identifier: BSD-2-Clause
/* The answer at the head of a report, by views made by hand. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "views.h"

#include "base/out.h"
#include "core/view/finding.h"
#include "sink/report/report.h"
#include "sink/sink.h"
#include "report_of.h"

static struct fixture now;

/* Where the line of most memory is in the module's own forward(), the module says nothing new. */
static void modules_that_say_more(void **state)
{
	struct sink_opts opts = { .full = false };
	char *text;

	(void)state;
	stacked(&now);
	text = report_of(&now, &opts);
	assert_non_null(strstr(text, "\nMODULES Net > Block > TransformerEncoderLayer > Linear  1.5 GiB (83 %)\n"));
	free(text);
	now.symbols[6].function = "Linear.forward";
	now.line_rows[VIEW_BY_LIVE][0] = now.line_rows[VIEW_BY_LIVE][2];
	text = report_of(&now, &opts);
	assert_null(strstr(text, "MODULES"));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(modules_that_say_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
