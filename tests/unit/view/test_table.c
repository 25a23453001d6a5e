// SPDX-License-Identifier: BSD-2-Clause
/* Tables of a view: what is in them, in which order, and which rows are the same row later. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "views.h"

#include "core/view/table.h"

static struct fixture f;

static struct table build(enum table_kind kind, enum view_order order)
{
	struct table_ask ask = { kind, order, TABLE_ALL_GPUS, TABLE_ALL_PROCS };
	struct table table;

	table_build(&f.view, &ask, &table);
	return table;
}

static void processes_add_up_their_gpus(void **state)
{
	struct table table;

	(void)state;
	typical(&f);
	table = build(TABLE_PROCESSES, VIEW_BY_LIVE);
	assert_int_equal(table.count, 1);
	assert_int_equal(table.rows[0].held.live, f.rows[0].nvml + f.rows[1].nvml);
	assert_int_equal(table.rows[0].tensors, 1100 * MIB);
	assert_int_equal(table.rows[0].cached, 600 * MIB);
	assert_true(table.rows[0].has_torch);
	table_free(&table);
}

/* By the path; what is in no module is a row, too. */
static void modules_are_rows(void **state)
{
	struct table table;

	(void)state;
	stacked(&f);
	table = build(TABLE_MODULES, VIEW_BY_LIVE);
	assert_int_equal(table.count, 2);
	assert_int_equal(table.rows[0].index, 0);
	assert_int_equal(table.rows[0].held.live, 1500 * MIB);
	assert_int_equal(table.rows[1].index, VIEW_NO_MODULE);
	assert_true(table_has(&f.view, TABLE_MODULES));
	table_free(&table);
	for (int order = 0; order < VIEW_ORDER_COUNT; order++)
		f.rows[0].stacks.modules[order].count = 0;
	assert_false(table_has(&f.view, TABLE_MODULES));
}

/* NVML's number counts while the process runs; afterwards it is from before the end. */
static void what_a_process_holds(void **state)
{
	(void)state;
	typical(&f);
	f.rows[0].nvml += GIB;
	assert_int_equal(view_holds(&f.procs[0], &f.rows[0]), f.rows[0].nvml);
	f.procs[0].exited = true;
	assert_int_equal(view_holds(&f.procs[0], &f.rows[0]), f.rows[0].physical.live);
}

static void a_gpu_is_split(void **state)
{
	struct table_gpu use;

	(void)state;
	typical(&f);
	f.gpus[1].processes_bytes = f.rows[1].nvml + GIB;
	f.gpus[1].used_bytes = f.gpus[1].processes_bytes + 7 * MIB;
	table_gpu_use(&f.view, 1, &use);
	assert_int_equal(use.processes, 1);
	assert_int_equal(use.traced, f.rows[1].nvml);
	assert_true(use.has_others);
	assert_int_equal(use.others, GIB);
	assert_int_equal(use.rest, 7 * MIB);
	f.gpus[1].has_memory = false;
	table_gpu_use(&f.view, 1, &use);
	assert_false(use.has_others);
	assert_int_equal(use.others, 0);
}

static void the_greatest_comes_first(void **state)
{
	static const enum table_kind kinds[] = { TABLE_LINES, TABLE_STACKS, TABLE_OWNERS };
	static const enum view_order orders[] = { VIEW_BY_LIVE, VIEW_BY_PEAK, VIEW_BY_GROWN };

	(void)state;
	stacked(&f);
	for (size_t k = 0; k < 3; k++) {
		for (size_t o = 0; o < 3; o++) {
			struct table table = build(kinds[k], orders[o]);

			for (size_t i = 1; i < table.count; i++)
				assert_true(view_value(&table.rows[i - 1].held, orders[o]) >=
					    view_value(&table.rows[i].held, orders[o]));
			for (size_t i = 0; i < table.count; i++)
				assert_int_not_equal(table.rows[i].key, 0);
			table_free(&table);
		}
	}
}

/* The same line in two processes is one row; of one process, a part of the row. */
static void equal_lines_are_one_row(void **state)
{
	struct table_ask ask = { TABLE_LINES, VIEW_BY_LIVE, TABLE_ALL_GPUS, 1 };
	struct table once, twice, part;

	(void)state;
	stacked(&f);
	once = build(TABLE_LINES, VIEW_BY_LIVE);
	set_proc(&f.procs[1], 4300, "python", "python train.py");
	f.rows[2] = f.rows[0];
	f.procs[1].rows = &f.rows[2];
	f.procs[1].row_count = 1;
	f.view.proc_count = 2;
	twice = build(TABLE_LINES, VIEW_BY_LIVE);
	table_build(&f.view, &ask, &part);
	assert_int_equal(twice.count, once.count);
	assert_int_equal(part.count, once.count);
	for (size_t i = 0; i < once.count; i++) {
		assert_int_equal(twice.rows[i].key, once.rows[i].key);
		assert_int_equal(twice.rows[i].held.live, 2 * once.rows[i].held.live);
		assert_int_equal(part.rows[i].held.live, once.rows[i].held.live);
	}
	table_free(&once);
	table_free(&twice);
	table_free(&part);
}

static void ended_processes_are_last(void **state)
{
	struct table table;

	(void)state;
	stacked(&f);
	set_proc(&f.procs[1], 4300, "small", "small");
	f.rows[2] = (struct view_row){ .gpu = 0, .attributed = level_of(MIB, MIB, 1) };
	f.procs[1].rows = &f.rows[2];
	f.procs[1].row_count = 1;
	f.view.proc_count = 2;
	f.procs[0].exited = true;
	table = build(TABLE_PROCESSES, VIEW_BY_LIVE);
	assert_int_equal(table.count, 2);
	assert_int_equal(table.rows[0].index, 1);
	assert_true(table.rows[1].has_exited);
	table_free(&table);
	/* Its lines are not what is held now. */
	table = build(TABLE_LINES, VIEW_BY_LIVE);
	assert_int_equal(table.count, 0);
	table_free(&table);
	assert_false(table_has(&f.view, TABLE_LINES));
	assert_true(table_has(&f.view, TABLE_PROCESSES));
}

static void categories_have_what_was_before(void **state)
{
	struct table table;

	(void)state;
	typical(&f);
	f.rows[0].torch.training.categories[GMT_CATEGORY_KEPT] = (struct view_category){
		.live = 5 * MIB, .count = 3, .at_peak = 6 * MIB, .grown = 2 * MIB, .each = 4 * MIB };
	f.rows[0].torch.stacks.iterations = 8;
	f.rows[0].torch.training.before = 9 * MIB;
	table = build(TABLE_CATEGORIES, VIEW_BY_LIVE);
	assert_int_equal(table.count, 2);
	assert_int_equal(table.rows[0].index, TABLE_BEFORE_ATTACH);
	assert_int_equal(table.rows[0].held.live, 9 * MIB);
	assert_true(table.rows[0].is_before);
	assert_false(table.rows[0].has_each);
	assert_int_equal(table.rows[1].index, GMT_CATEGORY_KEPT);
	assert_int_equal(table.rows[1].held.at_peak, 6 * MIB);
	assert_int_equal(table.rows[1].held.grown, 2 * MIB);
	assert_true(table.rows[1].has_each);
	assert_int_equal(table.rows[1].each, MIB / 2);
	table_free(&table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(processes_add_up_their_gpus),
		cmocka_unit_test(modules_are_rows), cmocka_unit_test(what_a_process_holds),
		cmocka_unit_test(a_gpu_is_split),
		cmocka_unit_test(the_greatest_comes_first),
		cmocka_unit_test(equal_lines_are_one_row),
		cmocka_unit_test(ended_processes_are_last),
		cmocka_unit_test(categories_have_what_was_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
