/* SPDX-License-Identifier: BSD-2-Clause */
/* The live table: whole frames at several widths, and properties that hold for any window. */
#include "golden.h"

#include "views.h"

#include "base/human.h"
#include "base/out.h"
#include "sink/sink.h"
#include "sinks.h"

static struct fixture now, before;

static char *frame_of(const struct fixture *f, const struct fixture *previous, unsigned width,
		      unsigned height)
{
	struct sink_opts opts = { .width = width, .height = height };
	struct out out;

	out_init_mem(&out);
	sink_find("term")->live(&out, &f->view, previous ? &previous->view : NULL, &opts);
	return out_take(&out);
}

/* The visible frame: without "home" before, "erase" after, and "erase to the end" in each line. */
static char *seen(char *frame)
{
	char *to = frame;

	for (const char *from = frame; *from;) {
		/* A line ends at the left margin of a terminal in raw mode, too. */
		assert_true(*from != '\n' || (from > frame && from[-1] == '\r'));
		if (*from == '\033')
			from += strcspn(from, "HJK") + 1;
		else if (*from == '\r')
			from++;
		else
			*to++ = *from++;
	}
	*to = '\0';
	return frame;
}

static void fill(void)
{
	typical(&before);
	typical(&now);
	before.view.now_ns -= 2 * S;
	before.rows[0].by_class[GMT_CLASS_DEVICE].alloc_bytes -= 3 * GIB;
	before.rows[0].by_class[GMT_CLASS_DEVICE].allocs -= 20;
}

static void test_widths(void **state)
{
	static const unsigned widths[] = { 40, 80, 120, 200 };
	char name[32];

	(void)state;
	fill();
	for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++) {
		snprintf(name, sizeof(name), "term-%u.txt", widths[i]);
		golden_check(seen(frame_of(&now, &before, widths[i], 24)), name);
	}
}

static void test_troubled(void **state)
{
	(void)state;
	golden_check(seen(frame_of(troubled(&now), NULL, 120, 30)), "term-troubled.txt");
}

/* Owners stand below the table if there is room, and take no room from the table. */
static void test_owners(void **state)
{
	(void)state;
	golden_check(seen(frame_of(stacked(&now), NULL, 80, 14)), "term-owners.txt");
	golden_check(seen(frame_of(&now, NULL, 80, 24)), "term-stacks.txt");
	golden_check(seen(frame_of(&now, NULL, 80, 12)), "term-owners-cut.txt");
	golden_check(seen(frame_of(&now, NULL, 80, 10)), "term-owners-none.txt");
}

static void test_nothing_yet(void **state)
{
	(void)state;
	typical(&now);
	now.view.proc_count = 0;
	golden_check(seen(frame_of(&now, NULL, 80, 24)), "term-nothing.txt");
}

/* Many processes: the largest come first, ended processes last. */
static void many(unsigned count)
{
	typical(&now);
	now.view.proc_count = count;
	for (unsigned i = 0; i < count; i++) {
		struct view_proc *proc = &now.procs[i];

		set_proc(proc, 1000 + i, "worker", "/usr/bin/python3 worker.py");
		proc->rows = &now.rows[i];
		proc->row_count = 1;
		now.rows[i] = (struct view_row){ .gpu = (int)i % 2 };
		now.rows[i].by_class[GMT_CLASS_DEVICE] =
			class_of((i * 7 + 3) % count * GIB, 20 * GIB, 5, 10, 3);
		now.rows[i].attributed = level_of(0, 20 * GIB, 5);
		close_row(&now.view, &now.rows[i]);
	}
	now.procs[3].exited = true;
}

static void test_sorted_and_cut(void **state)
{
	(void)state;
	many(12);
	golden_check(seen(frame_of(&now, NULL, 80, 12)), "term-many.txt");
}

static void check_fits(const char *frame, unsigned width, unsigned height)
{
	const char *line = frame;
	unsigned lines = 0;

	while (*line) {
		size_t n = strcspn(line, "\n");

		if (n > width)
			fail_msg("%zu columns where %u fit: %.*s", n, width, (int)n, line);
		lines++;
		line += n + (line[n] == '\n');
	}
	/* A newline in the last line would scroll. */
	if (lines >= height)
		fail_msg("%u lines in a window of %u", lines, height);
}

static void test_any_window(void **state)
{
	(void)state;
	for (unsigned width = 24; width < 240; width += 7) {
		for (unsigned height = 14; height < 60; height += 5) {
			char *frame;

			troubled(&now);
			frame = seen(frame_of(&now, NULL, width, height));
			check_fits(frame, width, height);
			free(frame);
			frame = seen(frame_of(stacked(&now), NULL, width, height));
			check_fits(frame, width, height);
			free(frame);
			many(12);
			frame = seen(frame_of(&now, NULL, width, height));
			check_fits(frame, width, height);
			free(frame);
		}
	}
}

/* Rows never scroll losses away. */
static void test_losses_are_always_seen(void **state)
{
	char *frame;

	(void)state;
	many(12);
	now.view.loss[GMT_LOSS_RING_FULL] = 5;
	frame = frame_of(&now, NULL, 80, 8);
	assert_non_null(strstr(frame, "LOST    5 records: ring buffer full"));
	free(frame);
}

struct writes {
	int count;
	size_t bytes;
};

static int count_write(void *arg, const void *data, size_t size)
{
	struct writes *writes = arg;

	(void)data;
	writes->count++;
	writes->bytes += size;
	return 0;
}

static void test_one_write_a_frame(void **state)
{
	struct sink_opts opts = { .width = 200, .height = 50, .color = true };
	struct writes writes = { 0 };
	struct out out;

	(void)state;
	out_init(&out, count_write, &writes);
	many(12);
	for (int i = 0; i < 10; i++) {
		sink_find("term")->live(&out, &now.view, NULL, &opts);
		assert_int_equal(out_flush(&out), 0);
	}
	assert_int_equal(writes.count, 10);
	out_close(&out);
}

static void test_stop_undoes_start(void **state)
{
	struct sink_opts opts = { 0 };
	struct out out;
	char *text;

	(void)state;
	out_init_mem(&out);
	sink_find("term")->start(&out, &opts);
	sink_find("term")->stop(&out, &opts);
	text = out_take(&out);
	assert_string_equal(text, "\033[?1049h\033[?25l\033[?7l" "\033[?7h\033[?25h\033[?1049l");
	free(text);
}

/* A sink is a format or a file, and has an option or is a default. */
static void test_registry(void **state)
{
	bool has_any_terminal = false;

	(void)state;
	for (size_t i = 0; sinks[i]; i++) {
		const struct sink *sink = sinks[i];
		bool is_text = !sink->help && !sink_is_file(sink);

		assert_ptr_equal(sink_find(sink->name), sink);
		assert_int_equal(!sink->help, !sink->manual);
		assert_int_equal(sink_is_file(sink), !sink->report);
		assert_true(is_text || sink->help);
		assert_true(!sink->report == !sink->live);
		assert_true(!is_text || (sink->oom && sink->no_oom && sink->doctor && sink->list));
		assert_true(!sink->ask || sink->write);
		has_any_terminal |= is_text && !sink->needs_terminal;
	}
	assert_true(has_any_terminal);
	assert_null(sink_find("no such output"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_widths),
		cmocka_unit_test(test_troubled),
		cmocka_unit_test(test_owners),
		cmocka_unit_test(test_nothing_yet),
		cmocka_unit_test(test_sorted_and_cut),
		cmocka_unit_test(test_any_window),
		cmocka_unit_test(test_losses_are_always_seen),
		cmocka_unit_test(test_one_write_a_frame),
		cmocka_unit_test(test_stop_undoes_start),
		cmocka_unit_test(test_registry),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
