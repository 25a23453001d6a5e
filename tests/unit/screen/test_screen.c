// SPDX-License-Identifier: BSD-2-Clause
/* The live view on a terminal: whole pictures at several sizes, what keys do, and what holds for any size and any key. */
#define NCURSES_NOMACROS 1
#define NCURSES_WIDECHAR 1

#include "golden.h"

#include <ncurses.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "views.h"

#include "base/human.h"
#include "base/out.h"
#include "core/view/finding.h"
#include "core/view/oom_verdict.h"
#include "screen/curses.h"
#include "screen/screen.h"

static struct fixture now;
static struct curses *curses;
static struct screen *screen;
static int keys[2];           /* what is written into the second one is typed */
static struct screen_message messages[8];
static uint64_t now_ns;
static size_t message_count;

static struct screen_scene scene_now(void)
{
	return (struct screen_scene){
		.view = &now.view, .now_ns = now_ns, .messages = messages, .message_count = message_count,
	};
}

/* The picture, as ncurses has it; and no byte of it is a control character of a name. */
static char *drawn(unsigned int width, unsigned int height)
{
	struct screen_scene scene = scene_now();
	struct out bytes, out;

	if (width != curses_width(curses) || height != curses_height(curses))
		curses_resize(curses, width, height);
	out_init_mem(&bytes);
	screen_draw(screen, &scene, &bytes);
	out_close(&bytes);
	out_init_mem(&out);
	for (unsigned int y = 0; y < height; y++) {
		char line[4 * 1000 + 1];
		size_t size;

		mvwinnstr(stdscr, (int)y, 0, line, sizeof(line) - 1);
		for (size = strlen(line); size && line[size - 1] == ' ';)
			line[--size] = '\0';
		out_printf(&out, "%s\n", line);
	}
	return out_take(&out);
}

static void type(const char *text)
{
	assert_int_equal(write(keys[1], text, strlen(text)), strlen(text));
}

static enum screen_action act(const char *text)
{
	enum screen_action action, last = SCREEN_NONE;

	type(text);
	while ((action = screen_take_key(screen)) != SCREEN_NONE)
		last = action;
	return last;
}

/* Each case begins with a new screen. */
static int begin(void **state)
{
	(void)state;
	screen_free(screen);
	screen = screen_new(curses, true);
	message_count = 0;
	now_ns = T0 + 150 * S;
	stacked(&now);
	return 0;
}

static void say_now(const char *text)
{
	messages[message_count++] = (struct screen_message){ text, now_ns };
}

static void see_some(void)
{
	for (unsigned int i = 0; i < 20; i++) {
		now.view.gpus[0].used_bytes += 100 * MIB;
		now.view.gpus[0].processes_bytes += 100 * MIB;
		screen_see(screen, &now.view);
	}
}

static void pictures(void **state)
{
	(void)state;
	see_some();
	say_now("process 4242 ran out of memory; it asked for 2 GiB");
	say_now("gpumemtrace oom gpumemtrace-oom-20260203-101612-4194304-12-0f4d23a9.gmt says why");
	golden_check(drawn(80, 24), "screen-80.txt");
	golden_check(drawn(200, 50), "screen-200.txt");
	golden_check(drawn(40, 12), "screen-40.txt");
}

static void troubles(void **state)
{
	(void)state;
	troubled(&now);
	golden_check(drawn(120, 30), "screen-troubled.txt");
}

/* A table each, with its first row opened. */
static void tables(void **state)
{
	static const char *const names[] = { "processes", "GPUs", "lines", "stacks", "owners", "what for", "modules" };
	struct out out;

	(void)state;
	out_init_mem(&out);
	for (int i = 0; i < 7; i++) {
		char key[2] = { (char)('1' + i) }, *picture;

		assert_int_equal(act(key), SCREEN_REDRAW);
		free(drawn(120, 24));
		assert_int_equal(act("\r"), SCREEN_REDRAW);
		picture = drawn(120, 24);
		out_printf(&out, "---- %s\n%s", names[i], picture);
		free(picture);
	}
	golden_check(out_take(&out), "screen-tables.txt");
}

/* A path that is too long loses its beginning, and the filter still finds that. */
static void modules_keep_their_end(void **state)
{
	char *picture;

	(void)state;
	act("7");
	picture = drawn(64, 24);
	assert_non_null(strstr(picture, "  ... > TransformerEncoderLayer > Linear"));
	free(picture);
	picture = drawn(44, 24);
	assert_non_null(strstr(picture, "  ... > Linear"));
	free(picture);
	act("/block\r");
	picture = drawn(44, 24);
	assert_non_null(strstr(picture, "  ... > Linear"));
	assert_null(strstr(picture, "outside"));
	free(picture);
}

static bool shows(const char *text)
{
	char *picture = drawn(120, 30);
	bool found = strstr(picture, text);

	free(picture);
	return found;
}

/* The sentence that memory ran out, and the command, stay on a narrow screen whatever the folder of the file is. */
static void a_long_folder(void **state)
{
	static char text[1024];
	size_t used;

	(void)state;
	used = (size_t)snprintf(text, sizeof(text), "gpumemtrace oom %s says why; the file is in ",
				"gpumemtrace-oom-20260203-101612-4194304-12-0f4d23a9.gmt");
	for (int i = 0; i < 9; i++) {
		char *picture;

		message_count = 0;
		say_now("process 4194304 ran out of memory; it asked for 2 GiB");
		say_now(text);
		picture = drawn(80, 24);
		assert_non_null(strstr(picture, "\nprocess 4194304 ran out of memory; it asked for 2 GiB\ngpumemtrace oom "
				       "gpumemtrace-oom-20260203-101612-4194304-12-0f4d23a9.gmt says"));
		assert_true(i < 8 || strstr(picture, "…\ns:sort(now)"));
		free(picture);
		used += (size_t)snprintf(text + used, sizeof(text) - used, "/a_folder_of_many/%d", i);
	}
}

static void keys_ask_for_actions(void **state)
{
	(void)state;
	assert_int_equal(act("m"), SCREEN_MARK);
	assert_int_equal(act("d"), SCREEN_DUMP);
	assert_int_equal(act("o"), SCREEN_VERDICT);
	assert_false(screen_is_paused(screen));
	assert_int_equal(act(" "), SCREEN_REDRAW);
	assert_true(screen_is_paused(screen));
	assert_true(shows("PAUSED"));
	assert_int_equal(act(" "), SCREEN_REDRAW);
	assert_false(shows("PAUSED"));
	assert_int_equal(act("q"), SCREEN_QUIT);
	assert_int_equal(screen_take_key(screen), SCREEN_NONE);
}

static void a_filter_leaves_rows_out(void **state)
{
	(void)state;
	act("4");
	assert_true(shows("train.py:212"));
	act("/TRAIN.py");
	assert_true(shows("/TRAIN.py_"));
	act("\r");
	assert_true(shows("train.py:212"));
	act("/zzz\r");
	assert_false(shows("train.py:212 forward"));
	assert_true(shows("no row has the text"));
	/* q in a filter is a letter; Esc ends the filter. */
	assert_int_equal(act("/q\033"), SCREEN_REDRAW);
	assert_true(shows("train.py:212"));
}

static void choices_are_remembered(void **state)
{
	(void)state;
	act("1g");
	assert_true(shows("GPU 0 "));
	free(drawn(120, 30));
	act("g");
	assert_false(shows("GPU 0   "));
	act("g");
	assert_true(shows("all GPUs, "));
	act("p");
	assert_true(shows("pid 4242 "));
	now.procs[0].tgid = 4343;     /* another process: the chosen one is gone */
	assert_true(shows("all GPUs, "));
}

/* The chosen row stays the chosen one when the order changes. */
static void the_place_stays_at_its_row(void **state)
{
	char *picture, *at;

	(void)state;
	act("5");
	free(drawn(120, 30));
	act("j");
	free(drawn(120, 30));
	/* what was second becomes first */
	now.owned[1].held.live += 100 * GIB;
	free(drawn(120, 30));
	act("\r");
	picture = drawn(120, 30);
	at = strstr(picture, "OWNER\n");
	assert_non_null(at);
	at = strchr(at, '\n') + 1;
	/* it is the first row, and it is open */
	assert_memory_equal(strchr(at, '\n') + 1, "      200 MiB  application", 26);
	free(picture);
}

static void a_text_is_read(void **state)
{
	(void)state;
	screen_read(screen, "a title", strdup("line 1\nline 2\n"));
	assert_true(shows("a title"));
	assert_true(shows("line 2"));
	assert_false(shows("GPU 0"));
	assert_int_equal(act("q"), SCREEN_REDRAW);
	assert_true(shows("GPU 0"));
	act("?");
	assert_true(shows("PgUp"));
	act("\033");
	assert_false(shows("PgUp"));
}

/* The line of a picture of 80 columns and 24 lines that begins so, counted from 1; 0: none does. */
static unsigned int line_with(const char *beginning)
{
	char *picture = drawn(80, 24), *rest = picture, *line;
	unsigned int number = 0, found = 0;

	while (!found && (line = strsep(&rest, "\n")) && rest) {
		number++;
		if (!strncmp(line, beginning, strlen(beginning)))
			found = number;
	}
	free(picture);
	return found;
}

/* Messages take three lines of 24, and leave the screen after a while or by a key. */
static void messages_leave_the_screen(void **state)
{
	(void)state;
	say_now("message one");
	say_now("message two");
	assert_int_equal(line_with("message one"), 22);
	assert_int_equal(line_with("message two"), 23);
	say_now("message three");
	assert_int_equal(line_with("message one"), 21);
	say_now("message three, again");
	assert_int_equal(line_with("(1 earlier) message two"), 21);
	assert_int_equal(line_with("message three, again"), 23);
	now_ns += 15 * S;
	say_now("message four");
	now_ns += 10 * S;
	assert_int_equal(line_with("message four"), 23);
	assert_int_equal(line_with("message three"), 0);
	assert_int_equal(line_with("(3 earlier)"), 0);
	now_ns += 15 * S;
	assert_int_equal(line_with("message four"), 0);
	now_ns += S;
	say_now("message five");
	assert_int_equal(line_with("message five"), 23);
	act("\033");
	assert_int_equal(line_with("message five"), 0);
	now_ns += S;
	say_now("message six");
	/* a filter goes first */
	act("/zzz\r");
	act("\033");
	assert_int_equal(line_with("message six"), 23);
	act("\033");
	assert_int_equal(line_with("message six"), 0);
	/* a long path begins on the line of the word before it */
	now_ns += S;
	say_now("wrote /a/path/that/has/so/many/folders/that/no/line/of/eighty/columns/has/the/room/for/all/of/it.gmt");
	assert_int_equal(line_with("wrote /a/path"), 22);
}

static void the_help_fits(void **state)
{
	char *picture;
	size_t lines = 0;

	(void)state;
	say_now("message one");
	say_now("message two");
	act("?");
	picture = drawn(200, 24);
	for (const char *line = picture; *line; line += strcspn(line, "\n") + 1, lines++)
		assert_true(strcspn(line, "\n") <= 80);
	assert_int_equal(lines, 24);
	assert_non_null(strstr(picture, "PageDown:scroll any other key:back\n"));
	free(picture);
	assert_int_equal(line_with("Bar     traced processes"), 21);
	act("q");
}

/* Findings name their process where there are several; failed requests are one line, so that the leak stays. */
static void findings_of_several_processes(void **state)
{
	static struct finding findings[12];
	static const struct oom_why why = {
		.is_known = true, .is_guess = true, .cause = OOM_CAUSE_LEAK, .asked = 512 * MIB, .at_bytes = 53 * MIB,
		.asked_at = { "/home/me/train.py", "step", 31 }, .at = { "/home/me/train.py", "forward", 21 },
	};
	char *picture;

	(void)state;
	for (size_t i = 0; i < 12; i++) {
		bool is_failure = i < 6;

		findings[i] = (struct finding){
			.kind = is_failure ? FINDING_OF_OUT_OF_MEMORY : FINDING_OF_LEAK, .proc = i % 6,
			.row = is_failure ? FINDING_NONE : 0, .gpu = is_failure ? VIEW_GPU_UNKNOWN : 0, .count = 3, .bytes = MIB,
			.iterations = 3, .part = GIB, .left = FINDING_LEFT_UNKNOWN, .left_ns = FINDING_LEFT_UNKNOWN, .other = FINDING_NONE,
		};
		now.procs[i % 6] = now.procs[0];
		now.procs[i % 6].tgid = 100 + (unsigned int)i % 6;
	}
	now.view.proc_count = 6;
	now.view.findings = findings;
	now.view.finding_count = 12;
	assert_int_equal(line_with("OOM     pid 100, 101, 102, 103 ...: 18 requests for memory failed; o says why"),
			 line_with("LEAK    pid 100, GPU 0: (guess) about +1 MiB in each of") - 1);
	assert_true(line_with("LEAK    pid 101, GPU 0: (guess) about +1 MiB in each of"));
	picture = drawn(80, 24);
	assert_non_null(strstr(picture, "1:processes"));
	free(picture);
	findings[6].kind = FINDING_OF_BEFORE_ATTACH;
	assert_true(line_with("BEFORE  pid 100"));
	now.procs[0].exited = true;
	assert_false(line_with("BEFORE  pid 100"));
	now.view.proc_count = 1;
	now.view.finding_count = 1;
	assert_true(line_with("OOM     3 requests for memory failed; o says why"));
	findings[0].count = 1;
	findings[0].why = &why;
	assert_true(line_with("OOM     512 MiB at train.py:31 failed: perhaps a leak (train.py:21 keeps 53 MiB)"));
	assert_false(line_with("o says more"));     /* it has no room in the line */
	now.view.proc_count = 2;
	assert_int_equal(line_with("          keeps 53 MiB); o says more"),
			 line_with("OOM     pid 100: 512 MiB at train.py:31 failed: perhaps a leak") + 1);
	now.view.findings = NULL;
	now.view.finding_count = 0;
}

/* f opens one finding after the other, and gives the table back. */
static void findings_are_opened(void **state)
{
	struct finding findings[] = {
		{ .kind = FINDING_OF_OUT_OF_MEMORY, .count = 3, .row = FINDING_NONE, .gpu = VIEW_GPU_UNKNOWN },
		{ .kind = FINDING_OF_LEAK, .count = 30, .iterations = 30, .bytes = MIB, .part = 30 * MIB, .left = 8 },
	};
	const struct view_lines *lines = &now.rows[0].stacks.lines[VIEW_BY_LIVE];
	struct out out;

	(void)state;
	for (size_t i = 0; i < 2; i++)
		findings[i].left_ns = findings[i].left = FINDING_LEFT_UNKNOWN;
	for (size_t i = 0; i < lines->count; i++)
		if (lines->rows[i].state == VIEW_LINE_OWN)
			findings[1].line = &lines->rows[i];
	act("f");
	assert_true(shows("Nothing stands out"));
	act("f");
	assert_true(shows("1:processes"));
	now.view.findings = findings;
	now.view.finding_count = 2;
	out_init_mem(&out);
	for (int i = 0; i < 3; i++) {
		char *picture;

		act("f");
		picture = drawn(80, 24);
		out_printf(&out, "---- f, %d\n%s", i + 1, picture);
		free(picture);
	}
	golden_check(out_take(&out), "screen-findings.txt");
	act("f");
	assert_true(shows("1 of 2"));
	act("\033");
	assert_true(shows("1:processes"));
	/* f ends any other text, as most keys do. */
	act("?");
	assert_true(shows("PgUp"));
	act("f");
	assert_true(shows("1:processes"));
	now.view.findings = NULL;
	now.view.finding_count = 0;
}

/* What is too long for a line goes on in the next one; what has no room ends with a mark. */
static void long_lines(void **state)
{
	struct finding findings[] = {
		{ .kind = FINDING_OF_LEAK, .count = 1000, .iterations = 1000, .bytes = 1023 * MIB, .part = 1023 * MIB,
		  .category = GMT_CATEGORY_KEPT,
		  .left = 8, .left_ns = FINDING_LEFT_UNKNOWN, .other = FINDING_NONE },
		{ .kind = FINDING_OF_GROWTH, .bytes = 45 * MIB, .since_ns = T0 + 60 * S, .left = FINDING_LEFT_UNKNOWN,
		  .left_ns = FINDING_LEFT_UNKNOWN, .other = FINDING_NONE },
	};
	char *picture;

	(void)state;
	now.view.proc_count = 1;
	now.symbols[6].function = "forward_of_the_model_with_a_long_name_that_goes_on";
	findings[1].line = findings[0].line = &now.rows[0].stacks.lines[VIEW_BY_LIVE].rows[0];
	now.rows[0].before_attach = 576 * MIB;
	now.rows[0].torch.training.is_training = true;
	now.rows[0].torch.training.iteration = 71;
	for (int c = 0; c < GMT_CATEGORY_COUNT; c++)
		now.rows[0].torch.training.categories[c].live = (uint64_t)(c + 1) * MIB;
	now.view.findings = findings;
	now.view.finding_count = 2;
	picture = drawn(80, 24);
	golden_check(picture, "screen-long-80.txt");
	golden_check(drawn(50, 12), "screen-long-50.txt");
	golden_check(drawn(200, 50), "screen-long-200.txt");
	now.view.findings = NULL;
	now.view.finding_count = 0;
}

/* Enter on a line of any state opens the stack traces of this line. */
static void lines_are_opened(void **state)
{
	static const char *const frames[VIEW_LINE_STATE_COUNT] = {
		[VIEW_LINE_NOT_OWN] = "in no known file", [VIEW_LINE_OWN] = "train.py:212 forward\n",
		[VIEW_LINE_CUT] = "in no known file", [VIEW_LINE_GONE] = "in no known file",
		[VIEW_LINE_RESERVE] = "in no known file", [VIEW_LINE_DRIVER] = "cuInit (libcuda.so.1)",
	};
	struct view_stacks *s = &now.rows[0].stacks;
	struct view_line_row *row = &s->lines[VIEW_BY_LIVE].rows[3];
	const struct view_symbol old = now.symbols[8];

	(void)state;
	assert_int_equal(row->state, VIEW_LINE_NOT_OWN);
	for (int line = 0; line < VIEW_LINE_STATE_COUNT; line++) {
		if (!frames[line] || line == VIEW_LINE_OWN)
			continue;
		row->state = (uint8_t)line;
		s->top[VIEW_BY_LIVE].rows[3].is_segment = line == VIEW_LINE_RESERVE;
		if (line == VIEW_LINE_DRIVER)
			now.symbols[8] = (struct view_symbol){
				.function = "cuInit", .module = "/usr/lib/libcuda.so.1", .file = "",
			};
		s->lines[VIEW_BY_LIVE].rows[2].held.live = 1;   /* the row is the first one */
		act("3\033[H");
		free(drawn(120, 30));
		act("\r");
		if (!shows(frames[line]))
			fail_msg("state %d: %s", line, drawn(120, 30));
		assert_false(shows("stack traces are not among the largest"));
		assert_true(shows("and 3 more stack traces"));
		free(drawn(120, 30));
		act("\r");
	}
	now.symbols[8] = old;
	screen_free(screen);
	screen = screen_new(curses, true);
}

/* A process that has ended holds nothing now. */
static void ended_processes(void **state)
{
	char *picture, *row;

	(void)state;
	now.procs[0].exited = true;
	now.procs[0].exit_code = SIGKILL;
	act("1");
	picture = drawn(80, 24);
	row = strstr(picture, "    4242 ");
	assert_non_null(row);
	row[strcspn(row, "\n")] = '\0';
	assert_null(strstr(row, "iB"));
	assert_non_null(strstr(row, "ended  python "));
	free(picture);
	act("\r");
	assert_true(shows("at its end "));
	picture = drawn(200, 24);
	assert_non_null(strstr(picture, "ended  python train.py --epochs 3 --batch-size 64  killed by SIGKILL\n"));
	free(picture);
	now.procs[0].exit_code = GMT_EXIT_CODE_UNKNOWN;
	picture = drawn(200, 24);
	assert_non_null(strstr(picture, "ended  python train.py --epochs 3 --batch-size 64\n"));
	free(picture);
}

/* The program says cuda:1 where nvidia-smi says 0. */
static void cudas_number_is_shown(void **state)
{
	(void)state;
	assert_false(shows("cuda:"));
	now.rows[0].ordinal = 1;
	assert_true(shows("  cuda:1\n"));
	now.procs[0].exited = true;
	assert_false(shows("  cuda:1\n"));
}

/* Any keys at any size: nothing is written outside the picture, and the screen stays usable. */
static void set_neighbour(unsigned int gpu, uint32_t pid, uint64_t bytes, const char *comm)
{
	struct view_gpu *g = &now.gpus[gpu];
	struct view_neighbour *n = &g->neighbours[g->neighbour_count++];

	*n = (struct view_neighbour){ .tgid = pid, .bytes = bytes };
	memcpy(n->comm, comm, strlen(comm));
	g->processes_bytes += bytes;
	g->used_bytes += bytes;
}

/* In one line, with as many names as fit; where many GPUs are used, the lines would take the table's room. */
static void who_is_not_traced(void **state)
{
	char *picture;

	(void)state;
	set_neighbour(0, 4300, 20 * GIB, "python\033[2J");
	set_neighbour(0, 4301, 8 * GIB, "");
	set_neighbour(0, 4302, GIB, "ollama");
	now.gpus[0].more_neighbours = 2;
	now.gpus[0].more_bytes = GIB;
	picture = drawn(80, 24);
	assert_non_null(strstr(picture, "\n        not traced: pid 4300 (python?[2J): 20 GiB; 4 others: 10 GiB together\n"));
	free(picture);
	picture = drawn(200, 50);
	assert_non_null(strstr(picture, "\n        not traced: pid 4300 (python?[2J): 20 GiB; pid 4301 (name unknown):"
					" 8 GiB; pid 4302 (ollama): 1 GiB; 2 others: 1 GiB together\n"));
	free(picture);
	now.view.gpu_count = 4;
	for (unsigned int i = 2; i < 4; i++) {
		now.gpus[i] = now.gpus[1];
		memset(now.gpus[i].uuid, (int)i + 1, sizeof(now.gpus[i].uuid));
		now.rows[i] = now.rows[1];
		now.rows[i].gpu = (int)i;
	}
	now.procs[0].row_count = 4;
	picture = drawn(80, 24);
	assert_null(strstr(picture, "        not traced: pid"));
	free(picture);
}

static void any_keys_at_any_size(void **state)
{
	static const char typed[] = "jk\t1234567s/\rgpf mdo?x\033 \177";
	unsigned int seed = 1;

	(void)state;
	for (int i = 0; i < 3000; i++) {
		char key[2] = { typed[(seed = seed * 1103515245 + 12345) / 65536 % (sizeof(typed) - 1)] };

		if (i % 100 == 0)
			(i / 100 % 2 ? troubled : stacked)(&now);
		act(key);
		free(drawn(1 + seed / 7919 % 130, 1 + seed / 104729 % 40));
	}
	screen_read(screen, NULL, NULL);
}

/* Nothing but the description's codes goes to a terminal, whatever names hold. */
static void names_cannot_command(void **state)
{
	static const char allowed[] = "0123456789;?[mHJKhlABCD";
	struct screen_scene scene;
	struct out bytes;
	char *text;

	(void)state;
	snprintf(now.procs[0].cmdline, sizeof(now.procs[0].cmdline), "a\033]0;x\007\r\n\xff\xc2\x9b b");
	say_now("said \033[2J\007 of a process");
	act("1");
	scene = scene_now();
	scene.output = "put \033[2J\007 by the command";
	curses_resize(curses, 120, 30);
	out_init_mem(&bytes);
	screen_draw(screen, &scene, &bytes);
	text = out_take(&bytes);
	for (const char *c = text; *c; c++) {
		if (*c == '\033') {
			assert_int_equal(c[1], '[');
			c += 1 + strspn(c + 1, allowed + 0) - 1;
			continue;
		}
		assert_true((unsigned char)*c >= ' ' || *c == '\r' || *c == '\n' || *c == '\b');
		assert_int_not_equal(*c, 0x7f);
	}
	assert_non_null(strstr(text, "said"));
	assert_non_null(strstr(text, "output: put "));
	assert_null(strstr(text, "\xff"));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(pictures, begin),
		cmocka_unit_test_setup(a_long_folder, begin),
		cmocka_unit_test_setup(troubles, begin),
		cmocka_unit_test_setup(tables, begin), cmocka_unit_test_setup(modules_keep_their_end, begin),
		cmocka_unit_test_setup(keys_ask_for_actions, begin),
		cmocka_unit_test_setup(a_filter_leaves_rows_out, begin),
		cmocka_unit_test_setup(choices_are_remembered, begin),
		cmocka_unit_test_setup(the_place_stays_at_its_row, begin),
		cmocka_unit_test_setup(a_text_is_read, begin),
		cmocka_unit_test_setup(messages_leave_the_screen, begin),
		cmocka_unit_test_setup(the_help_fits, begin),
		cmocka_unit_test_setup(findings_of_several_processes, begin),
		cmocka_unit_test_setup(findings_are_opened, begin),
		cmocka_unit_test_setup(long_lines, begin),
		cmocka_unit_test_setup(lines_are_opened, begin),
		cmocka_unit_test_setup(ended_processes, begin),
		cmocka_unit_test_setup(cudas_number_is_shown, begin),
		cmocka_unit_test_setup(who_is_not_traced, begin),
		cmocka_unit_test_setup(any_keys_at_any_size, begin),
		cmocka_unit_test_setup(names_cannot_command, begin),
	};
	struct curses_options options = { .term = "xterm", .is_lent = true };
	char why[256];
	int failed;

	setenv("LC_ALL", "C.UTF-8", 1);
	if (pipe(keys))
		return 1;
	options.keys_fd = keys[0];
	curses = curses_open(&options, why, sizeof(why));
	if (!curses)
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	screen_free(screen);
	curses_close(curses);
	return failed;
}
