/* SPDX-License-Identifier: BSD-2-Clause */
/* Answers have a bounded number of lines, whatever was traced; what is left out is counted. */
#include "golden.h"

#include "views.h"

#include "base/human.h"
#include "base/out.h"
#include "core/view/finding.h"
#include "sink/report/report.h"
#include "sink/sink.h"
#include "sink/text/page.h"

#define INDENT 8
#define MOST 20              /* lines of a report's answer */
#define COLUMNS 80

/* ---- pages ---- */

static struct page page;
static struct out written;

static void begin(unsigned most, const char *command)
{
	out_init_mem(&written);
	page_init(&page, &written, most, INDENT, command);
}

static void part(unsigned rank, enum page_thing thing, const char *text)
{
	out_text(page_part(&page, rank, thing, 1), text);
}

static void check_page(const char *wanted)
{
	char *text;

	page_end(&page);
	text = out_take(&written);
	assert_string_equal(text, wanted);
	free(text);
}

static void test_all_fits(void **state)
{
	(void)state;
	begin(4, "show");
	page_blank(&page);              /* there is nothing before */
	part(1, PAGE_PROCESSES, "a\nb\n");
	part(2, PAGE_LINES, "");        /* there was nothing to say */
	page_blank(&page);
	part(0, PAGE_FINDINGS, "c\n");
	page_blank(&page);              /* nor behind */
	check_page("a\nb\n\nc\n");
	assert_false(page_has_more(&page));
}

/* The greatest rank goes first, of one rank the last part; blank lines before all, and without being counted. */
static void test_ranks(void **state)
{
	(void)state;
	begin(4, "show --full");
	part(1, PAGE_PROCESSES, "a\n");
	part(2, PAGE_LINES, "line 1\n");
	part(2, PAGE_LINES, "line 2\n");
	part(1, PAGE_FINDINGS, "finding 1\n");
	page_blank(&page);
	part(1, PAGE_FINDINGS, "finding 2\n");
	check_page("a\nfinding 1\nfinding 2\nMORE    2 lines of code: show --full\n");
	begin(3, NULL);
	part(5, PAGE_PROCESSES, "first\n");
	for (int i = 0; i < 3; i++)
		part(1, PAGE_FINDINGS, i ? "other\n" : "one\n");
	check_page("first\none\nMORE    2 findings left out\n");
}

/* What no part is about is counted, too; a long command has a line of its own, in one piece. */
static void test_more(void **state)
{
	char command[200] = "show ";

	(void)state;
	begin(9, "show");
	part(1, PAGE_PROCESSES, "a\n");
	page_leave_out(&page, PAGE_LINES, 1);
	page_leave_out(&page, PAGE_PROCESSES, 1234);
	check_page("a\nMORE    1,234 processes, 1 line of code: show\n");
	memset(command + 5, 'x', 100);
	begin(3, command);
	part(1, PAGE_PROCESSES, "a\n");
	part(1, PAGE_GPUS, "b\n");
	page_leave_out(&page, PAGE_LINES, 1);
	page_fit(&page);
	assert_int_equal(page.left[PAGE_GPUS], 1);
	page_end(&page);
	free(out_take(&written));
}

static void test_no_bound(void **state)
{
	char *text;

	(void)state;
	begin(0, "show");
	for (int i = 0; i < 3 * PAGE_PARTS_MAX; i++)
		part(1, PAGE_FINDINGS, "x\n");
	page_leave_out(&page, PAGE_LINES, 1);
	page_end(&page);
	text = out_take(&written);
	assert_int_equal(strlen(text), 6 * PAGE_PARTS_MAX);
	free(text);
}

/* However many parts there are: the bound holds, the best parts are there, and each part is printed or counted. */
static void test_bound(void **state)
{
	uint64_t rng = 88172645463325252ull;

	(void)state;
	for (unsigned round = 0; round < 300; round++) {
		unsigned most = 3 + round % 30, parts = round * 2 + 1, printed = 0;
		char *text;

		begin(most, "show");
		part(0, PAGE_FINDINGS, "best\n");
		for (unsigned i = 0; i < parts; i++) {
			rng ^= rng << 13, rng ^= rng >> 7, rng ^= rng << 17;
			part(1 + rng % 9, (enum page_thing)(1 + rng % (PAGE_THING_COUNT - 1)),
			     rng >> 40 & 1 ? "part\n" : "part\n  more\n");
		}
		page_end(&page);
		text = out_take(&written);
		assert_true(human_lines(text) <= most);
		assert_int_equal(strncmp(text, "best\n", 5), 0);
		for (const char *at = text; (at = strstr(at, "part\n")); at++)
			printed++;
		for (int i = 0; i < PAGE_THING_COUNT; i++)
			printed += (unsigned)page.left[i];
		assert_int_equal(printed, parts);
		free(text);
	}
}

/* ---- reports ---- */

static char *answer_of(struct view *view, const struct sink_opts *opts)
{
	struct out out;

	view->findings = findings_make(view, &view->finding_count);
	out_init_mem(&out);
	report_answer(&out, view, opts);
	free(view->findings);
	return out_take(&out);
}

static struct fixture now;

static void add_leak(struct view_row *row)
{
	row->torch.training.is_training = true;
	row->torch.training.growth = (struct view_growth){ .bytes = 12 * MIB, .count = 5, .iterations = 5 };
	row->torch.training.categories[GMT_CATEGORY_KEPT].late = 60 * MIB;
}

/* Each holds less than the one before, has a leak in each GPU if asked, and another command. */
static void crowd(struct view_proc *procs, struct view_row *rows, unsigned count, size_t gpus, bool do_leak)
{
	for (unsigned i = 0; i < count; i++) {
		char cmdline[64];

		snprintf(cmdline, sizeof(cmdline), "/usr/bin/python3 /srv/part_%u/train_%u.py", i, i);
		set_proc(&procs[i], 500 + i, "python", cmdline);
		procs[i].rows = &rows[i * gpus];
		procs[i].row_count = gpus;
		for (size_t g = 0; g < gpus; g++) {
			struct view_row *row = &rows[i * gpus + g];

			*row = now.rows[0];
			row->gpu = (int)(g % 2);
			row->physical.live -= i * MIB;
			row->nvml -= i * MIB;
			if (do_leak)
				add_leak(row);
		}
	}
}

/* How many of each; with all of them, the answer still names the heaviest process and its leak. */
static void test_any_number(void **state)
{
	static const struct { unsigned procs, gpus; bool do_leak; } cases[] = {
		{ 1, 1, true }, { 1, 16, true }, { 1, 16, false }, { 3, 2, true }, { 3, 2, false }, { 8, 8, true },
		{ 64, 1, false }, { 64, 1, true }, { 500, 16, true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct view_proc *procs = calloc(cases[i].procs, sizeof(*procs));
		struct view_row *rows = calloc(cases[i].procs * cases[i].gpus, sizeof(*rows));
		char *text;

		stacked(&now);
		assert_true(procs && rows);
		crowd(procs, rows, cases[i].procs, cases[i].gpus, cases[i].do_leak);
		now.view.procs = procs;
		now.view.proc_count = cases[i].procs;
		text = answer_of(&now.view, &(struct sink_opts){ .recording = "run.gmt" });
		if (human_lines(text) > MOST)
			fail_msg("%zu lines: %s", human_lines(text), text);
		assert_int_equal(strncmp(text, "python3 train_0.py  pid 500  running", 36), 0);
		assert_non_null(strstr(text, cases[i].do_leak ? "\nLEAK    (guess) " : "\nFOUND   nothing: "));
		for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
			if (strlen(line) > COLUMNS)
				fail_msg("%zu columns: %s", strlen(line), line);
		free(text);
		free(procs);
		free(rows);
	}
}

/* Three processes on two GPUs each: the numbers of the heaviest one, and a leak of the lightest one. */
static void test_three(void **state)
{
	struct view_proc procs[3] = { 0 };
	struct view_row rows[6];

	(void)state;
	stacked(&now);
	crowd(procs, rows, 3, 2, false);
	add_leak(&rows[5]);
	now.view.procs = procs;
	now.view.proc_count = 3;
	golden_check(answer_of(&now.view, &(struct sink_opts){ .recording = "run.gmt" }), "report-three.txt");
}

/* In full, nothing is left out, nor counted. */
static void test_full(void **state)
{
	struct view_proc procs[12] = { 0 };
	struct view_row rows[24];
	char *text;

	(void)state;
	stacked(&now);
	crowd(procs, rows, 12, 2, true);
	now.view.procs = procs;
	now.view.proc_count = 12;
	text = answer_of(&now.view, &(struct sink_opts){ .full = true });
	assert_null(strstr(text, "MORE "));
	for (int i = 3; i < 12; i++) {
		char wanted[64];

		snprintf(wanted, sizeof(wanted), "LEAK    pid %d train_%d.py, GPU 1: ", 500 + i, i);
		if (!strstr(text, wanted))
			fail_msg("no %s in %s", wanted, text);
	}
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_fits),
		cmocka_unit_test(test_ranks),
		cmocka_unit_test(test_more),
		cmocka_unit_test(test_no_bound),
		cmocka_unit_test(test_bound),
		cmocka_unit_test(test_any_number),
		cmocka_unit_test(test_three),
		cmocka_unit_test(test_full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
