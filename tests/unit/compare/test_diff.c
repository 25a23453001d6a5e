// SPDX-License-Identifier: BSD-2-Clause
/* Differences of two views that are made by hand: which rows and processes belong together, and what they add up to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/compare/diff.h"

#include "compare_scene.h"

static struct scene a, b;

static struct diff compare(bool is_one_recording)
{
	const struct diff_side sides[DIFF_SIDES] = {
		{ .name = "a", .path = "a", .view = &a.view, .frames = &a.frames },
		{ .name = "b", .path = "b", .view = &b.view, .frames = &b.frames },
	};
	struct diff diff;

	diff_build(sides, is_one_recording, &diff);
	return diff;
}

static int begin_both(void **state)
{
	(void)state;
	begin(&a);
	begin(&b);
	return 0;
}

static void assert_row(const struct diff_row *row, int64_t of_a, int64_t of_b, enum diff_match match)
{
	assert_int_equal(row->amount.bytes[DIFF_A], of_a);
	assert_int_equal(row->amount.bytes[DIFF_B], of_b);
	assert_int_equal(row->match, match);
	assert_int_equal(row->is_there[DIFF_A], of_a != 0);
	assert_int_equal(row->is_there[DIFF_B], of_b != 0);
}

static void rows_are_matched_by_name(void **state)
{
	struct diff d;

	(void)state;
	add_proc(&a, 10, 0, "train.py");
	hold(&a, "/x/train.py", "append", 31, 32 * MIB, 4);
	hold(&a, "/x/train.py", "loss", 63, 64 * MIB, 1);
	add_proc(&b, 20, 0, "train.py");
	hold(&b, "/x/train.py", "step", 12, 8 * MIB, 2);
	hold(&b, "/x/train.py", "append", 31, 832 * MIB, 104);
	know_line(&b, "/x/train.py", "loss", 63);
	know_line(&a, "/x/train.py", "step", 12);
	d = compare(false);
	assert_int_equal(d.pair_count, 1);
	assert_int_equal(d.tables[HELD_LINES].count, 3);
	assert_row(&d.tables[HELD_LINES].rows[0], 32 * MIB, 832 * MIB, DIFF_BY_NAME);
	assert_int_equal(d.tables[HELD_LINES].rows[0].amount.count[DIFF_B], 104);
	assert_row(&d.tables[HELD_LINES].rows[1], 64 * MIB, 0, DIFF_BY_NAME);
	assert_row(&d.tables[HELD_LINES].rows[2], 0, 8 * MIB, DIFF_BY_NAME);
	assert_int_equal(d.tables[HELD_LINES].all.bytes[DIFF_A], 96 * MIB);
	assert_int_equal(diff_bytes(&d.tables[HELD_LINES].all), 744 * MIB);
	assert_int_equal(diff_bytes(&d.tables[HELD_OWNERS].all), 744 * MIB);
	assert_int_equal(diff_bytes(&d.tables[HELD_CALLS].all), 744 * MIB);
	assert_int_equal(diff_bytes(&d.held), 744 * MIB);
	diff_free(&d);
}

/* Two lines above were added: all lines of the function moved down. Its order tells which is which. */
static void moved_lines_are_matched_by_order(void **state)
{
	struct diff d;

	(void)state;
	add_proc(&a, 10, 0, "train.py");
	hold(&a, "/x/train.py", "f", 30, 1 * MIB, 1);
	hold(&a, "/x/train.py", "f", 33, 5 * MIB, 1);
	add_proc(&b, 20, 0, "train.py");
	hold(&b, "/x/train.py", "f", 35, 50 * MIB, 1);
	hold(&b, "/x/train.py", "f", 32, 2 * MIB, 1);
	d = compare(false);
	assert_int_equal(d.tables[HELD_LINES].count, 2);
	assert_row(&d.tables[HELD_LINES].rows[0], 5 * MIB, 50 * MIB, DIFF_BY_FUNCTION);
	assert_row(&d.tables[HELD_LINES].rows[1], 1 * MIB, 2 * MIB, DIFF_BY_FUNCTION);
	assert_int_equal(d.matched[DIFF_BY_FUNCTION], 2);
	assert_int_equal(d.matched[DIFF_BY_FILE_NAME], 0);
	diff_free(&d);
}

/* In another folder the lines have the same numbers; where the counts differ, only these are matched. */
static void lines_of_another_folder_are_matched_by_number(void **state)
{
	struct diff d;

	(void)state;
	add_proc(&a, 10, 0, "train.py");
	hold(&a, "/x/train.py", "f", 30, 1 * MIB, 1);
	hold(&a, "/x/train.py", "f", 33, 5 * MIB, 1);
	add_proc(&b, 20, 0, "train.py");
	hold(&b, "/y/train.py", "f", 33, 7 * MIB, 1);
	d = compare(false);
	assert_int_equal(d.tables[HELD_LINES].count, 2);
	assert_row(&d.tables[HELD_LINES].rows[0], 5 * MIB, 7 * MIB, DIFF_BY_FILE_NAME);
	assert_row(&d.tables[HELD_LINES].rows[1], 1 * MIB, 0, DIFF_BY_NAME);
	assert_int_equal(d.matched[DIFF_BY_FUNCTION], 0);
	assert_int_equal(d.matched[DIFF_BY_FILE_NAME], 1);
	diff_free(&d);
}

/* The other recording has the line, which holds nothing there now: nothing has moved. */
static void known_lines_have_not_moved(void **state)
{
	struct diff d;

	(void)state;
	add_proc(&a, 10, 0, "train.py");
	hold(&a, "/x/train.py", "f", 30, 1 * MIB, 1);
	add_proc(&b, 20, 0, "train.py");
	hold(&b, "/x/train.py", "f", 32, 2 * MIB, 1);
	know_line(&b, "/x/train.py", "f", 30);
	d = compare(false);
	assert_int_equal(d.tables[HELD_LINES].count, 2);
	assert_int_equal(diff_moved(&d), 0);
	diff_free(&d);
}

/* Other functions, and two moments of one recording, never match. */
static void other_functions_do_not_match(void **state)
{
	struct diff d;

	(void)state;
	add_proc(&a, 10, 0, "train.py");
	hold(&a, "/x/train.py", "f", 30, 1 * MIB, 1);
	add_proc(&b, 10, 0, "train.py");
	hold(&b, "/x/train.py", "g", 30, 2 * MIB, 1);
	d = compare(false);
	assert_int_equal(d.tables[HELD_LINES].count, 2);
	diff_free(&d);
	a.known[0].function = a.symbols[0].function = "g";
	a.known[0].line = a.symbols[0].line = 29;
	d = compare(true);
	assert_int_equal(d.tables[HELD_LINES].count, 2);
	diff_free(&d);
}

/* Ranks have one command line: those on one GPU belong together, whatever their order and their pids. */
static void ranks_are_paired_by_gpu(void **state)
{
	struct diff d;

	(void)state;
	add_proc(&a, 10, 0, "train.py");
	hold(&a, "/x/train.py", "f", 1, 1 * MIB, 1);
	add_proc(&a, 11, 1, "train.py");
	hold(&a, "/x/train.py", "f", 1, 2 * MIB, 1);
	add_proc(&b, 21, 1, "train.py");
	hold(&b, "/x/train.py", "f", 1, 3 * MIB, 1);
	add_proc(&b, 20, 0, "train.py");
	hold(&b, "/x/train.py", "f", 1, 5 * MIB, 1);
	d = compare(false);
	assert_int_equal(d.pair_count, 2);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(d.pairs[i].proc[DIFF_B], 1 - d.pairs[i].proc[DIFF_A]);
		assert_int_equal(d.pairs[i].how, DIFF_PAIR_COMMAND);
	}
	assert_int_equal(d.tables[HELD_LINES].count, 1);
	assert_row(&d.tables[HELD_LINES].rows[0], 3 * MIB, 8 * MIB, DIFF_BY_NAME);
	diff_free(&d);
}

static void processes_without_a_pair_are_shown(void **state)
{
	struct diff d;

	(void)state;
	add_proc(&a, 10, 0, "train.py");
	hold(&a, "/x/train.py", "f", 1, 1 * MIB, 1);
	add_proc(&b, 20, 0, "train.py");
	hold(&b, "/x/train.py", "f", 1, 1 * MIB, 1);
	add_proc(&b, 21, 0, "other.py");
	hold(&b, "/x/other.py", "f", 1, 4 * MIB, 1);
	d = compare(false);
	assert_int_equal(d.pair_count, 2);
	assert_int_equal(d.pairs[1].proc[DIFF_A], DIFF_NONE);
	assert_int_equal(d.pairs[1].how, DIFF_PAIR_NONE);
	assert_int_equal(diff_bytes(&d.held), 4 * MIB);
	diff_free(&d);
	strcpy(b.procs[0].comm, "java");
	b.view.proc_count = 1;
	d = compare(false);
	assert_int_equal(d.pair_count, 1);
	assert_int_equal(d.pairs[0].how, DIFF_PAIR_ONLY);
	diff_free(&d);
}

/* A process of A has memory on a GPU that its pair has not: its memory counts once, in each table. */
static void a_gpu_of_one_side_counts_once(void **state)
{
	struct diff d;

	(void)state;
	add_proc(&a, 10, 0, "train.py");
	hold(&a, "/x/train.py", "f", 1, 1 * MIB, 1);
	add_proc(&b, 20, 0, "train.py");
	hold(&b, "/x/train.py", "f", 1, 2 * MIB, 1);
	add_proc(&b, 20, 1, "train.py");
	hold(&b, "/x/train.py", "g", 9, 4 * MIB, 1);
	b.rows[1].ordinal = 1;
	b.procs[0].row_count = 2;
	b.procs[0].by_class[0].bytes.live = 6 * MIB;
	b.view.proc_count = 1;
	a.procs[0].by_class[0].bytes.live = 1 * MIB;
	d = compare(false);
	assert_int_equal(d.part_count, 3);
	for (int table = HELD_LINES; table <= HELD_CALLS; table++) {
		if (table == HELD_USES || table == HELD_MODULES)
			continue;
		assert_int_equal(d.tables[table].all.bytes[DIFF_A], 1 * MIB);
		assert_int_equal(d.tables[table].all.bytes[DIFF_B], 6 * MIB);
	}
	diff_free(&d);
}

/* In one recording a process is only itself; one that has ended holds nothing, unless its end is compared. */
static void processes_of_one_recording(void **state)
{
	struct diff d;

	(void)state;
	add_proc(&a, 10, 0, "train.py");
	hold(&a, "/x/train.py", "f", 1, 1 * MIB, 1);
	add_proc(&b, 10, 0, "train.py");
	hold(&b, "/x/train.py", "f", 1, 1 * MIB, 1);
	b.procs[0].exited = true;
	d = compare(true);
	assert_int_equal(diff_bytes(&d.held), -1 * MIB);
	diff_free(&d);
	b.procs[0].exited = false;
	b.procs[0].tgid = 11;
	d = compare(true);
	assert_int_equal(d.pair_count, 2);
	diff_free(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(rows_are_matched_by_name, begin_both),
		cmocka_unit_test_setup(moved_lines_are_matched_by_order, begin_both),
		cmocka_unit_test_setup(lines_of_another_folder_are_matched_by_number, begin_both),
		cmocka_unit_test_setup(known_lines_have_not_moved, begin_both),
		cmocka_unit_test_setup(other_functions_do_not_match, begin_both),
		cmocka_unit_test_setup(ranks_are_paired_by_gpu, begin_both),
		cmocka_unit_test_setup(processes_without_a_pair_are_shown, begin_both),
		cmocka_unit_test_setup(a_gpu_of_one_side_counts_once, begin_both),
		cmocka_unit_test_setup(processes_of_one_recording, begin_both),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
