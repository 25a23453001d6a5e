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

static void set_neighbour(struct view_neighbour *n, uint32_t pid, uint64_t bytes, const char *comm)
{
	*n = (struct view_neighbour){ .tgid = pid, .bytes = bytes };
	memcpy(n->comm, comm, strlen(comm));
}

/* The largest by their names, the others in one number. */
static void who_is_not_traced(void **state)
{
	struct sink_opts opts = { .full = false };
	char *text;

	(void)state;
	typical(&now);
	now.gpus[1].processes_bytes = now.rows[1].nvml + 30 * GIB;
	text = report_of(&now, &opts);
	assert_non_null(strstr(text, "\nOTHERS  30 GiB of GPU 1 are used by processes that are not traced\n"));
	free(text);
	now.gpus[1].neighbour_count = 3;
	set_neighbour(&now.gpus[1].neighbours[0], 4300, 20 * GIB, "python\033[2J");
	set_neighbour(&now.gpus[1].neighbours[1], 4301, 8 * GIB, "");
	set_neighbour(&now.gpus[1].neighbours[2], 4302, GIB, "ollama");
	now.gpus[1].more_neighbours = 2;
	now.gpus[1].more_bytes = GIB;
	text = report_of(&now, &opts);
	assert_non_null(strstr(text, "\nOTHERS  30 GiB of GPU 1 are used by processes that are not traced: pid 4300\n"
				     "          (python?[2J): 20 GiB; pid 4301 (name unknown): 8 GiB; 3 others: 2 GiB\n"
				     "          together\n"));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(modules_that_say_more), cmocka_unit_test(who_is_not_traced),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
