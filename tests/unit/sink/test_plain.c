/* SPDX-License-Identifier: BSD-2-Clause */
/* The live lines without a screen: in a file, and on a terminal. */
#include "golden.h"

#include "views.h"

#include "base/out.h"
#include "sink/sink.h"
#include "sinks.h"

static struct fixture now, before;

static char *live_of(const struct fixture *f, const struct fixture *previous)
{
	struct out out;

	out_init_mem(&out);
	sink_find("plain")->live(&out, &f->view, previous ? &previous->view : NULL, &(struct sink_opts){ .full = true });
	return out_take(&out);
}

static void test_plain(void **state)
{
	(void)state;
	typical(&before);
	typical(&now);
	before.view.now_ns -= 2 * S;
	before.rows[0].by_class[GMT_CLASS_DEVICE].alloc_bytes -= 3 * GIB;
	before.rows[0].by_class[GMT_CLASS_DEVICE].allocs -= 20;
	golden_check(live_of(&now, &before), "plain-typical.txt");
	golden_check(live_of(troubled(&now), NULL), "plain-troubled.txt");
}

/* A terminal gets lines that it need not break. */
static void test_plain_on_a_terminal(void **state)
{
	struct out out;
	char *text;

	(void)state;
	out_init_mem(&out);
	sink_find("plain")->live(&out, &troubled(&now)->view, NULL, &(struct sink_opts){ .columns = 80 });
	text = out_take(&out);
	assert_non_null(strstr(text, "\n10:17:23 pid=4242 gpu=? live=20MiB"));
	assert_non_null(strstr(text, "\n           "));
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		if (strlen(line) > 80)
			fail_msg("%zu columns: %s", strlen(line), line);
	free(text);
}

static void test_plain_without_gpu(void **state)
{
	char *text;

	(void)state;
	typical(&now);
	now.view.proc_count = 1;
	now.procs[0].row_count = 0;
	memset(now.procs[0].by_class, 0, sizeof(now.procs[0].by_class));
	text = live_of(&now, &now);
	assert_string_equal(text, "");
	free(text);
}

/* Warnings and ends are printed once, not in every interval. */
static void test_plain_says_changes_once(void **state)
{
	char *text;

	(void)state;
	troubled(&before);
	troubled(&now);
	text = live_of(&now, &before);
	assert_null(strstr(text, "LOST"));
	assert_null(strstr(text, "SIGKILL"));
	free(text);
	now.view.loss[GMT_LOSS_RING_FULL]++;
	before.procs[1].exited = false;
	text = live_of(&now, &before);
	assert_non_null(strstr(text, "LOST    1,235 records: ring buffer full"));
	assert_non_null(strstr(text, "pid=4300 killed by SIGKILL"));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain),
		cmocka_unit_test(test_plain_on_a_terminal),
		cmocka_unit_test(test_plain_without_gpu),
		cmocka_unit_test(test_plain_says_changes_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
