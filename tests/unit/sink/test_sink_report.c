/* SPDX-License-Identifier: BSD-2-Clause */
/* The report, doctor and list: whole texts, and the promise that every printed column
 * adds up. */
#include "golden.h"

#include <ctype.h>
#include <signal.h>

#include "views.h"

#include "base/out.h"
#include "core/view/finding.h"
#include "sink/report/report.h"
#include "sink/sink.h"
#include "report_of.h"
#include "sink/text/stack_text.h"
#include "sink/text/text.h"

static struct fixture now, before;

/* The answer, up to the name of the tool, is as wide as a narrow terminal at most. */
static void test_answer_is_narrow(void **state)
{
	struct fixture *(*const fixtures[])(struct fixture *f) = { typical, stacked, troubled };

	(void)state;
	for (size_t i = 0; i < sizeof(fixtures) / sizeof(fixtures[0]); i++) {
		char *text = report_of(fixtures[i](&now), &(struct sink_opts){ 0 });
		char *end = strstr(text, "gpumemtrace 0.1.0");

		assert_non_null(end);
		*end = '\0';
		assert_true(end - text > 100);
		for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
			if (strlen(line) > 80)
				fail_msg("%zu columns: %s", strlen(line), line);
		free(text);
	}
}

static void test_typical(void **state)
{
	(void)state;
	golden_check(report_of(typical(&now), &(struct sink_opts){ .full = true }), "report-typical.txt");
}

/* The command to run next shows what this report shows. */
static void test_next_keeps_the_choice(void **state)
{
	static const pid_t pids[] = { 4242, 4300 };
	char *text = report_of(typical(&now), &(struct sink_opts){
		.recording = "run.gmt", .pids = pids, .pid_count = 2, .gpu = "1",
	});

	(void)state;
	assert_non_null(strstr(text, "NEXT    gpumemtrace report --full -p 4242,4300 --gpu 1 run.gmt\n"));
	free(text);
}

static void test_stacks(void **state)
{
	char *text, *full;

	(void)state;
	golden_check(report_of(stacked(&now), &(struct sink_opts){ .full = true }), "report-stacks.txt");
	text = report_of(&now, &(struct sink_opts){ .full = true });
	full = report_of(&now, &(struct sink_opts){ .full = true, .full_stacks = true });
	assert_null(strstr(text, "_PyEval_EvalFrame"));
	assert_non_null(strstr(full, "_PyEval_EvalFrame"));
	assert_null(strstr(full, " more\n"));
	free(text);
	free(full);
}

/* A training with two whole iterations and one that still runs. */
static void add_training(struct view_training *t)
{
	static struct phase_iteration iterations[3];
	static struct view_range ranges[2] = {
		{ "ProfilerStep#", { 3, 306 * MIB, 306 * MIB, 2500 * MIB, 9000 * MIB } },
		{ "a name of the user's that is far too long for the column", { 1234, 0, 5 * GIB, 5 * GIB, 6 * GIB } },
	};

	for (uint32_t i = 0; i < 3; i++) {
		iterations[i] = (struct phase_iteration){ .number = i + 7, .is_over = i < 2 };
		iterations[i].cells[GMT_TRAINING_FORWARD] =
			(struct phase_cell){ 1, 204 * MIB, 2 * GIB, 2100 * MIB, 3 * GIB };
		iterations[i].cells[GMT_TRAINING_BACKWARD] =
			(struct phase_cell){ 1, 2 * GIB, 306 * MIB, 2500 * MIB, 3 * GIB };
		if (i < 2)
			iterations[i].cells[GMT_TRAINING_OPTIMIZER] =
				(struct phase_cell){ 1, 306 * MIB, 306 * MIB, 310 * MIB, 4 * MIB };
		if (i)
			iterations[i].cells[GMT_TRAINING_ZERO_GRAD] =
				(struct phase_cell){ 1, 306 * MIB, 204 * MIB, 306 * MIB, 0 };
	}
	*t = (struct view_training){
		.is_training = true, .before = 3 * MIB, .iteration = 9, .growth = { .bytes = 12 * MIB, .count = 5, .iterations = 5 },
		.iteration_count = 3, .iterations = iterations, .range_count = 2, .ranges = ranges,
	};
	t->categories[GMT_CATEGORY_PARAMETER] = (struct view_category){ .live = 102 * MIB, .count = 161, .at_peak = 102 * MIB };
	t->categories[GMT_CATEGORY_KEPT] = (struct view_category){ .live = 60 * MIB, .count = 30, .grown = 40 * MIB, .each = 50 * MIB };
	t->categories[GMT_CATEGORY_ACTIVATION] = (struct view_category){ .live = 0, .count = 0, .at_peak = 2 * GIB };
	t->categories[GMT_CATEGORY_UNKNOWN] = (struct view_category){ .live = 1 * MIB, .count = 12345, .at_peak = 0 };
	t->categories[GMT_CATEGORY_KEPT].late = 60 * MIB;
}

static void test_training(void **state)
{
	(void)state;
	typical(&now);
	now.rows[0].torch.seen = true;
	add_training(&now.rows[0].torch.training);
	now.rows[0].torch.stacks.iterations = 50;
	now.procs[0].ooms[GMT_OOM_RETRY] = 3;
	now.procs[0].ooms[GMT_OOM_FATAL] = 1;
	golden_check(report_of(&now, &(struct sink_opts){ .full = true }), "report-training.txt");
	golden_check(report_of(&now, &(struct sink_opts){ 0 }), "report-answer.txt");
	golden_check(report_of(&now, &(struct sink_opts){
		.recording = "run \033[2J.gmt", .dump = "./gpumemtrace-oom-1.gmt",
	}), "report-next.txt");
	typical(&now);
}

/* Without a single stack trace, the report says nothing about owners and stack traces. */
static void test_no_stacks(void **state)
{
	(void)state;
	stacked(&now);
	now.rows[0].stacks.owner_count = 1;
	now.owned[0].owner = VIEW_OWNER_NO_STACK;
	now.procs[0].unwinding.stacks = 0;
	golden_check(report_of(&now, &(struct sink_opts){ .full = true }), "report-typical.txt");
}

static void test_troubled(void **state)
{
	const char *notes[] = { "the recording is incomplete from 10:16:40 on: No space left on device" };

	(void)state;
	golden_check(report_of(troubled(&now), &(struct sink_opts){ .full = true, .notes = notes, .note_count = 1 }),
		     "report-troubled.txt");
}

static void test_mig(void **state)
{
	(void)state;
	golden_check(report_of(sliced(&now), &(struct sink_opts){ .full = true }), "report-mig.txt");
}

static void test_empty(void **state)
{
	static struct fixture empty = { .view = { .end_reason = UINT32_MAX } };

	(void)state;
	golden_check(report_of(&empty, &(struct sink_opts){ .full = true }), "report-empty.txt");
}

static void test_color(void **state)
{
	char *text = report_of(troubled(&now), &(struct sink_opts){ .full = true, .color = true });

	(void)state;
	assert_non_null(strstr(text, "\033[1;31mLOST"));
	assert_null(strstr(text, "\033[2J"));      /* from the name that the process gave itself */
	free(text);
}

/* Without NVML, the column begins with the memory of the kernel driver; without that, with "unknown", not with 0. */
static void test_without_nvml(void **state)
{
	char *text;

	(void)state;
	typical(&now);
	now.rows[0].has_nvml = now.rows[1].has_nvml = false;
	text = report_of(&now, &(struct sink_opts){ .full = true });
	assert_non_null(strstr(text, "nvidia-smi (NVML)             unknown\n"));
	assert_non_null(strstr(text, "kernel driver, since attach     2,345 MiB\n"));
	free(text);
	now.rows[0].has_physical = now.rows[1].has_physical = false;
	text = report_of(&now, &(struct sink_opts){ .full = true });
	assert_non_null(strstr(text, "nvidia-smi (NVML)             unknown\n"));
	assert_null(strstr(text, "kernel driver, since attach"));
	free(text);
}

/* A number of the column as printed, in tenths of a MiB. */
static int64_t number_at(const char *text)
{
	bool negative = *text == '-', decimal = false;
	int64_t n = 0;

	for (text += negative; isdigit((unsigned char)*text) || *text == ',' || *text == '.'; text++) {
		decimal |= *text == '.';
		if (isdigit((unsigned char)*text))
			n = n * 10 + *text - '0';
	}
	n = decimal ? n : n * 10;
	return negative ? -n : n;
}

/* Adds up each column of the report as a reader would. Returns the number of columns. */
static int check_columns(char *text)
{
	int64_t total = 0, sum = 0;
	int columns = 0;

	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		bool top = !strncmp(line, "    nvidia-smi (NVML)", 21);
		size_t at = 32;

		if (!top && (strncmp(line, "      ", 6) || line[6] == ' ' || strlen(line) < 40))
			continue;
		at += strspn(line + at, " ");
		if (top) {
			total = number_at(line + at);
			sum = 0;
			continue;
		}
		sum += number_at(line + at);
		if (strncmp(line, "      residual", 14))
			continue;
		if (sum != total)
			fail_msg("a column adds up to %lld, not %lld tenths of a MiB", (long long)sum,
				 (long long)total);
		columns++;
	}
	return columns;
}

static void test_columns_add_up(void **state)
{
	uint64_t rng = 88172645463325252ull;

	(void)state;
	for (int round = 0; round < 3000; round++) {
		struct view_row *row = now.rows;
		int64_t *members[] = {&row->context,  &row->modules, &row->pool_reserve,
				      &row->rounding, &row->other,   &row->residual};
		char *text;

		typical(&now);
		for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
			rng ^= rng << 13, rng ^= rng >> 7, rng ^= rng << 17;
			*members[i] = (int64_t)(rng % (rng >> 60 & 1 ? 1 << 20 : 1 << 30));
			if (members[i] == &row->residual && rng >> 59 & 1)
				*members[i] = -*members[i];
		}
		row->by_class[GMT_CLASS_DEVICE].bytes.live = rng >> 20 & 0xffffffff;
		row->before_attach = rng & 0xfffff;
		row->attributed.live = 0;
		close_row(&now.view, row);
		text = report_of(&now, &(struct sink_opts){ .full = true });
		assert_int_equal(check_columns(text), 2);
		free(text);
	}
}

/* ---- pieces ---- */

static void test_cgroups(void **state)
{
	static const char id[] = "3f2a9c1b77d0aa11bb22cc33dd44ee55ff660011223344556677889900aabbcc";
	static const struct { const char *format, *text; } cases[] = {
		{ "/docker/%s", "docker 3f2a9c1b77d0" },
		{ "/system.slice/docker-%s.scope", "docker 3f2a9c1b77d0" },
		{ "/kubepods/besteffort/pod0b1c/%s", "kubernetes 3f2a9c1b77d0" },
		{ "/kubepods.slice/crio-%s.scope", "kubernetes 3f2a9c1b77d0" },
		{ "/machine.slice/libpod-%s.scope/container", "podman 3f2a9c1b77d0" },
		{ "/weird/%s", "container 3f2a9c1b77d0" },
		{ "/user.slice/user-1000.slice/session-3.scope", "session-3.scope" },
		{ "/", "" }, { "", "" }, { "0::/", "" },
	};
	char cgroup[256], text[64];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *mark = strstr(cases[i].format, "%s");

		snprintf(cgroup, sizeof(cgroup), "%.*s%s%s", mark ? (int)(mark - cases[i].format) : 255,
			 cases[i].format, mark ? id : "", mark ? mark + 2 : "");
		text_cgroup(cgroup, text, sizeof(text));
		assert_string_equal(text, cases[i].text);
	}
}

static void test_exit_texts(void **state)
{
	(void)state;
	assert_string_equal(text_exit(0).s, "exited with 0");
	assert_string_equal(text_exit(3 << 8).s, "exited with 3");
	assert_string_equal(text_exit(SIGSEGV | 0x80).s, "killed by SIGSEGV");
	assert_string_equal(text_exit(40).s, "killed by signal 40");
	for (int number = 1; number < 0x7f; number++) {
		const char *name = sigabbrev_np(number);
		char text[64];

		if (name)
			snprintf(text, sizeof(text), "killed by SIG%s", name);
		else
			snprintf(text, sizeof(text), "killed by signal %d", number);
		assert_string_equal(text_exit(number).s, text);
	}
}

static void check_says(const char *wanted, const char *unwanted)
{
	char *text = report_of(&now, &(struct sink_opts){ 0 });

	for (char *at = text; (at = strstr(at, "\n        ")); at++) { /* one line */
		size_t blanks = strspn(at + 1, " ");

		memmove(at + 1, at + 1 + blanks, strlen(at + 1 + blanks) + 1);
		*at = ' ';
	}
	if (wanted && !strstr(text, wanted))
		fail_msg("'%s' is not in: %s", wanted, text);
	if (unwanted && strstr(text, unwanted))
		fail_msg("'%s' is in: %s", unwanted, text);
	free(text);
}

/* So many processes with a row each, of the same command; each holds less than the one before. */
static void many_ranks(unsigned count, uint64_t step)
{
	typical(&now);
	for (unsigned i = 0; i < count; i++) {
		set_proc(&now.procs[i], 500 + i, "python", "/usr/bin/python3 /srv/train.py --rank");
		now.rows[i] = (struct view_row){ .gpu = i % 2, .ordinal = VIEW_ORDINAL_UNKNOWN, .has_physical = true,
						 .physical = level_of(40 * GIB - i * step, 41 * GIB, 9) };
		now.procs[i].rows = &now.rows[i];
		now.procs[i].row_count = 1;
	}
	now.view.proc_count = count;
}

static unsigned answer_lines_of(const char *text)
{
	unsigned lines = 0;

	for (const char *end = strstr(text, "gpumemtrace 0.1.0"); text < end; text++)
		lines += *text == '\n';
	return lines;
}

/* A leak of a light process must not go unsaid. */
static void test_other_findings(void **state)
{
	char *text;

	(void)state;
	many_ranks(8, 5 * GIB);
	now.rows[7].torch.seen = now.rows[7].torch.training.is_training = true;
	now.rows[7].torch.training.growth = (struct view_growth){ .bytes = 12 * MIB, .count = 5, .iterations = 5 };
	now.rows[7].torch.training.categories[GMT_CATEGORY_KEPT].late = 60 * MIB;
	check_says("LEAK    pid 507 train.py: (guess) about +12 MiB in each of the last 5 iterations\n", "more of other");
	for (int i = 3; i < 8; i++) {
		now.procs[i].ooms[GMT_OOM_RAISED] = 1;
		now.rows[i].context = GIB * 2;
	}
	check_says("OOM     pid 503 train.py: 1 request for memory failed\n", "OOM     pid 507");
	check_says("LEAK    pid 507 train.py: (guess) about +12 MiB in each of the last 5 iterations\n", "CONTEXT pid 507");
	check_says("\nMORE    5 processes, 3 findings: --full prints them\n", NULL);
	text = report_of(&now, &(struct sink_opts){ .full = true });
	assert_true(strstr(text, "OOM     pid 507 train.py: ") && strstr(text, "CONTEXT pid 507 train.py: "));
	assert_null(strstr(text, "\nMORE "));
	free(text);
}

/* Ranks of a training share a line; the findings of each are said. */
static void test_alike(void **state)
{
	char *text;

	(void)state;
	many_ranks(8, MIB);
	check_says("ALIKE   the same command:  pid 501 GPU 1 40.0 GiB  pid 502 GPU 0 40.0 GiB pid 503 GPU 1 40.0 GiB"
		   "  pid 504 GPU 0 40.0 GiB  and 3 more", "more processes");
	now.procs[6].ooms[GMT_OOM_RAISED] = 1;
	check_says("OOM     pid 506 train.py: 1 request for memory failed\n", NULL);
	text = report_of(&now, &(struct sink_opts){ 0 });
	assert_in_range(answer_lines_of(text), 1, 24);
	free(text);
	snprintf(now.procs[3].cmdline, sizeof(now.procs[3].cmdline), "python3 serve.py");
	check_says("python3 serve.py  pid 503  running\n", "  pid 503 GPU");
}

/* How much a GPU has, and what is free: now, not of a process that has ended. */
static void test_room(void **state)
{
	(void)state;
	typical(&now);
	now.gpus[0].free_bytes = 12 * GIB;
	check_says("GPU 0   nvidia-smi shows 2.3 GiB of 79.6 GiB, 12 GiB free", NULL);
	now.gpus[0].has_memory = false;
	check_says("GPU 0   nvidia-smi shows 2.3 GiB of 79.6 GiB =", NULL);
	now.gpus[0].total_bytes = 0;
	check_says("GPU 0   nvidia-smi shows 2.3 GiB =", NULL);
	now.procs[0].exited = true;
	now.procs[0].exit_ts_ns = now.view.now_ns;
	check_says("GPU 1   nvidia-smi showed 626 MiB of 79.6 GiB, 500 ms before the end =", NULL);
}

/* A time of the day says too little where the session went on over midnight. */
static void test_dates(void **state)
{
	(void)state;
	typical(&now);
	check_says("at most 2.4 GiB, at 10:16:12", "GiB, at 2026");
	now.view.wall_start_ns += (13 * 3600 + 44 * 60) * S;    /* 23:59 */
	check_says("at most 2.4 GiB, at 2026-02-04 00:00", NULL);
	now.rows[0].physical.peak_ts_ns = T0 + 10 * S;
	check_says("at most 2.4 GiB, at 2026-02-03 23:59", NULL);
}

/* A leak that goes on says how long the GPU lasts; of a leak that has stopped the past is told. */
static void test_leak(void **state)
{
	struct view_training *t = &now.rows[0].torch.training;

	(void)state;
	typical(&now);
	add_training(t);
	t->categories[GMT_CATEGORY_KEPT].live = 200 * MIB;
	t->growth.time_ns = S / 2;
	t->growth.end_ns = now.view.now_ns - S;
	check_says("LEAK    (guess) about +12 MiB in each of the last 5 iterations, 200 MiB kept", "had been kept");
	check_says("the GPU is full in about 11m 00s (6,596 iterations) at this rate", NULL);
	now.procs[0].exited = true;
	t->categories[GMT_CATEGORY_KEPT].at_peak = 200 * MIB;
	now.procs[0].exit_ts_ns = now.view.now_ns;
	check_says("iterations until 10:17:22 200 MiB had been kept by then", "is full in");
	typical(&now);
}

/* Lines that are too long for a narrow terminal are broken at blanks, and hang; the style goes on. */
static void test_long_lines(void **state)
{
	static const char *const notes[] = { "the recording is incomplete from 10:16:40 on: No space left on device, so"
					     " that the end is missing" };
	struct sink_opts opts = { .notes = notes, .note_count = 1, .color = true };
	char *text, *line;

	(void)state;
	stacked(&now);
	add_training(&now.rows[0].torch.training);
	memset(now.view.session.host, 'n', 60);
	now.procs[0].torch_silence = 1;
	now.symbols[6].function = "a_step_of_the_training_with_a_name_that_is_long";
	for (int order = 0; order < VIEW_ORDER_COUNT; order++)
		for (size_t i = 0; i < now.rows[0].stacks.lines[order].count; i++)
			now.line_rows[order][i].purpose = GMT_CATEGORY_KEPT + 1;
	check_says(":212 a_step_of_the_training_with_a_name_that_is_long kept over iterations", NULL);
	check_says("PyTorch reports no blocks (", NULL);
	text = report_of(&now, &opts);
	assert_non_null(strstr(text, "device,\033[0m\n\033[1;31m          so that the end is missing\033[0m\n"));
	free(text);
	opts.color = false;
	text = report_of(&now, &opts);
	for (line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		if (strlen(line) > 80)
			fail_msg("%zu columns: %s", strlen(line), line);
	free(text);
}

/* What was looked at depends on what was recorded. */
static void test_nothing_found(void **state)
{
	struct view_stacks *s = &now.rows[0].stacks;
	struct view_training *t = &now.rows[0].torch.training;

	(void)state;
	stacked(&now);
	now.rows[1].stacks = *s;
	check_says("growth (the program was traced for too short a time)", NULL);
	s->rise.later_ns = s->rise.since_ns + 60 * S;
	now.rows[1].stacks = *s;
	check_says("no line grows by 5 % all along", "growth (");
	check_says("leaks (no training was seen), the lines that hold tensors (--block-stacks", "no leak of 1 % of the peak");
	t->is_training = true;
	t->iteration = 3;
	check_says("leaks (the program was traced for too short a time)", "no leak of 1 % of the peak");
	t->iteration = 30;
	check_says("no leak of 1 % of the peak", "leaks (");
	now.rows[0].torch.gap_known = false;
	check_says("fragmentation (some of PyTorch's memory is older than the attach)", "fragmentation did");
	now.rows[0].torch.recent_known = false;
	check_says("no large unused cache", "the cache (");
	now.rows[0].torch.reserved.live = 4 * GIB;
	check_says("the cache (PyTorch was seen for less than 10 s)", "no large unused cache");
	now.rows[0].torch.recent_known = true;
	check_says("CACHE   PyTorch reserves 4 GiB; no tensor has needed 2.9 GiB of it in the last 10 s torch.cuda.empty_cache()", "FOUND");
	now.rows[0].torch.reserved.live = 1700 * MIB;
	now.gpus[1].has_memory = false;
	check_says("other processes (NVML gave no numbers of the whole GPU)", "in the way");
	now.view.session.layers = GMT_LAYER_NVML;
	check_says("failed requests (calls were not traced)", "no request failed");
	now.procs[0].ooms[GMT_OOM_FATAL] = 1;
	check_says("OOM  ", "FOUND");
}

static void check_line(uint8_t state, bool has_ended, uint32_t stacks, const char *wanted)
{
	struct view_line_row row = { .state = state, .has_ended = has_ended, .symbol = 6, .stack = 2, .stacks = stacks };
	struct out out;
	char *text;

	out_init_mem(&out);
	stack_text_line(&out, &now.view, &row);
	text = out_take(&out);
	assert_string_equal(text, wanted);
	free(text);
}

/* What no line holds has a name of its own. */
static void test_lines(void **state)
{
	(void)state;
	stacked(&now);
	check_line(VIEW_LINE_OWN, true, 1, "train.py:212 forward");
	check_line(VIEW_LINE_NOT_OWN, true, 1, "(only code of libraries)");
	check_line(VIEW_LINE_CUT, true, 1, "(stack traces that ended before the program's code)");
	check_line(VIEW_LINE_GONE, true, 1, "(the process ended before its names were read)");
	check_line(VIEW_LINE_GONE, false, 1, "(code that was gone before its names were read)");
	check_line(VIEW_LINE_NOT_NAMED, false, 1, "(frame names not known yet)");
	check_line(VIEW_LINE_NOT_NAMED, true, 1, "(the process ended before its names were read)");
	check_line(VIEW_LINE_RESERVE, false, 1, "PyTorch's reserve, obtained at train.py:212 forward");
	check_line(VIEW_LINE_RESERVE, false, 2, "PyTorch's reserve, most of it obtained at train.py:212 forward");
	check_line(VIEW_LINE_DRIVER, false, 1, "train.py (PyTorch)");        /* the owner of the stack */
}

/* A reused pid is another process, and its rates start from nothing. */
static void test_rate_of_a_reused_pid(void **state)
{
	struct text_rate rate;

	(void)state;
	typical(&before);
	typical(&now);
	before.view.now_ns -= 10 * S;
	before.procs[0].attach_ts_ns -= S;
	rate = text_rate(&now.view, &now.procs[0], &now.rows[0], &before.view);
	assert_true(rate.valid);
	assert_true(rate.calls == (84 + 42 + 300) / 10.0);
	assert_false(text_rate(&now.view, &now.procs[0], &now.rows[0], NULL).valid);
	assert_false(text_rate(&now.view, &now.procs[0], &now.rows[0], &now.view).valid);
}

/* ---- doctor, list ---- */

static const struct feature features[] = {
	{ "kernel", FEATURE_OK, "6.18.44", "" },
	{ "tracefs", FEATURE_WARN, "not mounted: the kernel layer cannot work",
	 "mount -t tracefs tracefs /sys/kernel/tracing" },
	{ "capabilities", FEATURE_MISSING, "CAP_BPF and CAP_PERFMON are missing",
	 "run it as root: sudo gpumemtrace ..." },
};

static void test_doctor(void **state)
{
	struct out out;

	(void)state;
	out_init_mem(&out);
	for (size_t count = 3; count; count--) {
		doctor_print(&out, features, count, &(struct sink_opts){ .full = true });
		out_char(&out, '\n');
	}
	golden_check(out_take(&out), "doctor.txt");
	out_init_mem(&out);
	doctor_print_json(&out, features, 3, &(struct sink_opts){ .full = true });
	golden_check(out_take(&out), "doctor.json");
}

static void test_list(void **state)
{
	char *text, *json;
	struct out out;

	(void)state;
	out_init_mem(&out);
	list_print(&out, &(struct sink_opts){ .full = true });
	text = out_take(&out);
	out_init_mem(&out);
	list_print_json(&out, &(struct sink_opts){ .full = true });
	json = out_take(&out);
#define X(id, symbol, op, flags, ...)                                             \
	assert_non_null(strstr(text, #symbol " "));                               \
	assert_non_null(strstr(json, "\"symbol\": \"" #symbol "\""));
	GMT_APIS(X)
#undef X
	free(text);
	free(json);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_typical),
		cmocka_unit_test(test_answer_is_narrow),
		cmocka_unit_test(test_next_keeps_the_choice),
		cmocka_unit_test(test_stacks),
		cmocka_unit_test(test_training),
		cmocka_unit_test(test_no_stacks),
		cmocka_unit_test(test_troubled),
		cmocka_unit_test(test_mig),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_color),
		cmocka_unit_test(test_without_nvml),
		cmocka_unit_test(test_columns_add_up),
		cmocka_unit_test(test_cgroups),
		cmocka_unit_test(test_exit_texts),
		cmocka_unit_test(test_leak),
		cmocka_unit_test(test_long_lines),
		cmocka_unit_test(test_nothing_found),
		cmocka_unit_test(test_other_findings),
		cmocka_unit_test(test_alike),
		cmocka_unit_test(test_room),
		cmocka_unit_test(test_dates),
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_rate_of_a_reused_pid),
		cmocka_unit_test(test_doctor),
		cmocka_unit_test(test_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
