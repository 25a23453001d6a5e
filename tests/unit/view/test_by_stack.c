// SPDX-License-Identifier: BSD-2-Clause
/* Memory by stack and by owner, from records to the view: small stories. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "by_letter.h"

#define A 0x7f0000000000ull

static int scene(void **state)
{
	struct records *r = calloc(1, sizeof(*r));

	records_scene(r, ALL_LAYERS);
	*state = r;
	return 0;
}

static int no_scene(void **state)
{
	records_fini(*state);
	free(*state);
	return 0;
}

static struct view_held owned_by(const struct view *view, const struct view_stacks *s, const char *owner)
{
	for (size_t i = 0; i < s->owner_count; i++)
		if (!strcmp(view->owners[s->owners[i].owner].text, owner))
			return s->owners[i].held;
	return (struct view_held){ 0 };
}

/* Memory of the process's ordinal 0, which is the GPU with index 1. */
static void create(struct records *r, uint64_t handle, uint64_t bytes, uint32_t stack_id)
{
	r->stack_id = stack_id;
	CALL(r, cuMemCreate, handle, bytes, 1, 0, 0);
	r->stack_id = 0;
}

/* Symbols 1 to 9 and stacks 11 and 12, which read alike, 13, and 14, which is skipped to its end. */
static void name_stacks(struct records *r)
{
	records_symbol(r, 1, "-cuMemCreate", "/usr/lib/libcuda.so.1", "", 0);
	records_symbol(r, 2, "anna_alloc", "/opt/libanna.so", "anna.c", 12);
	records_symbol(r, 3, "bert", "", "/src/bert.py", 7);
	FRAMES(r, 11, 2, 3);
	FRAMES(r, 12, 2, 3);
	FRAMES(r, 13, 1, 3);
	FRAMES(r, 14, 1);
}

/* ---- stories ---- */

static void stacks_that_read_alike_are_one(void **state)
{
	struct records *r = *state;
	struct view view;

	name_stacks(r);
	create(r, 1, 100, 11);
	create(r, 2, 10, 12);
	create(r, 3, 7, 13);
	create(r, 4, 3, 14);
	create(r, 5, 1, 0);
	view = look(r);
	const struct view_stacks *s = stacks_of(&view, 1);

	assert_true(s->live == 121 && s->peak == 121 && s->stack_count == 4);
	assert_true(s->top[VIEW_BY_LIVE].count == 4);
	struct view_held held = held_by(&view, s, VIEW_BY_LIVE, "anna_alloc");

	assert_true(held.live == 110 && held.live_count == 2 && held.allocs == 2 && held.alloc_bytes == 110);
	const struct view_stack *first = &view.stacks[s->top[VIEW_BY_LIVE].rows[0].stack];
	const struct view_symbol *symbol = &view.symbols[first->frames[0]];

	assert_true(first->frame_count == 2 && first->decisive == 0);
	assert_string_equal(symbol->module, "/opt/libanna.so");
	assert_true(symbol->line == 12 && !symbol->is_python && view.symbols[first->frames[1]].is_python);
	assert_true(owned_by(&view, s, "Anna").live == 110 && owned_by(&view, s, "Bert").live == 7);
	assert_true(owned_by(&view, s, "nobody").live == 3 && owned_by(&view, s, "(without a stack)").live == 1);
	assert_string_equal(view.owners[s->owners[0].owner].text, "Anna");
	view_free(&view);
}

/* The line's sums in this order; NULL: the line is not there. */
static const struct view_line_row *line_at(const struct view *view, const struct view_stacks *s, enum view_order order,
					   const char *function)
{
	for (size_t i = 0; i < s->lines[order].count; i++) {
		const struct view_line_row *row = &s->lines[order].rows[i];

		if (row->state == VIEW_LINE_OWN ? function && !strcmp(view->symbols[row->symbol].function, function)
						: !function)
			return row;
	}
	return NULL;
}

/* Two functions of one source line are one line, and two lines of one function are two. */
static void stacks_add_up_by_line(void **state)
{
	struct records *r = *state;
	const struct view_line_row *row;
	struct view view;

	name_stacks(r);
	records_symbol(r, 4, "-lambda", "", "/src/bert.py", 7);
	records_symbol(r, 5, "bert", "", "/src/bert.py", 8);
	records_symbol(r, 6, "anna_main", "/opt/libanna.so", "", 0);
	records_symbol(r, 7, "anna_main", "/opt/libanna.so", "", 0);
	FRAMES(r, 15, 1, 2, 4);
	FRAMES(r, 16, 2, 5);
	FRAMES(r, 17, 2, 6);
	FRAMES(r, 18, 3, 7);
	create(r, 1, 100, 11);
	create(r, 2, 10, 13);
	create(r, 3, 200, 15);
	create(r, 4, 50, 16);
	create(r, 5, 4, 17);
	create(r, 6, 5, 18);
	create(r, 7, 1, 14);
	view = look(r);
	const struct view_stacks *s = stacks_of(&view, 1);

	row = line_at(&view, s, VIEW_BY_LIVE, "bert");
	assert_non_null(row);
	assert_ptr_equal(row, &s->lines[VIEW_BY_LIVE].rows[0]);
	assert_true(row->held.live == 310 && row->held.live_count == 3 && row->stacks == 3);
	assert_int_equal(view.stacks[row->stack].frame_count, 3);   /* the greatest is the one with 200 */
	assert_int_equal(view.symbols[row->symbol].line, 7);
	assert_int_equal(s->lines[VIEW_BY_LIVE].rows[1].held.live, 50);
	row = line_at(&view, s, VIEW_BY_LIVE, "anna_main");
	assert_true(row->held.live == 9 && row->stacks == 2);
	row = line_at(&view, s, VIEW_BY_LIVE, NULL);
	assert_true(row->state == VIEW_LINE_NOT_OWN && row->held.live == 1);
	view_free(&view);
}

static uint64_t live_in_state(const struct view *view, enum view_line_state state)
{
	const struct view_lines *lines = &stacks_of(view, 1)->lines[VIEW_BY_LIVE];

	for (size_t i = 0; i < lines->count; i++)
		if (lines->rows[i].state == state)
			return lines->rows[i].held.live;
	return 0;
}

/* Memory that no line holds is apart, by what is known of it; all of it adds up. */
static void what_no_line_holds_is_apart(void **state)
{
	struct records *r = *state;
	const struct view_lines *lines;
	uint64_t sum = 0;
	struct view view;

	name_stacks(r);
	records_symbol(r, 4, "adriver", "/usr/lib/libcuda.so.1", "", 0);
	records_symbol(r, 5, "bdriver", "/usr/lib/libcuda.so.1", "", 0);
	records_symbol(r, 6, "", "", "", 0);
	FRAMES(r, 15, 4, 3);
	FRAMES(r, 16, 5, 3);
	FRAMES(r, 17, 1, 6);
	FRAMES(r, 18, 1);
	FRAMES(r, 19, 2, 3);                      /* reads like stack 11 */
	records_stack(r, 18, GMT_UNWIND_END_NO_MAPPING);
	records_stack(r, 11, GMT_UNWIND_END_NO_MAPPING); /* has a line of the program's own all the same */
	r->stack_id = 20;
	records_symbol(r, 7, "-reserve", "/lib/libc10_cuda.so", "", 0);
	FRAMES(r, 20, 7, 3);
	CALL(r, cuDevicePrimaryCtxRetain, 0xc0, 0);
	CALL(r, cuCtxSetCurrent, 0xc0);
	CALL(r, cuMemAlloc_v2, A, 1000);
	r->stack_id = 0;
	records_block(r, A, 512, 512, 1000);
	create(r, 1, 100, 11);
	create(r, 2, 20, 15);
	create(r, 3, 3, 16);
	create(r, 4, 40, 17);
	create(r, 5, 500, 18);
	create(r, 6, 7, 19);
	view = look(r);
	lines = &stacks_of(&view, 1)->lines[VIEW_BY_LIVE];
	assert_int_equal(lines->rows[0].held.live, 1000);
	assert_int_equal(lines->rows[0].state, VIEW_LINE_RESERVE);
	assert_int_equal(live_in_state(&view, VIEW_LINE_CUT), 500);
	assert_int_equal(live_in_state(&view, VIEW_LINE_OWN), 107);
	assert_int_equal(live_in_state(&view, VIEW_LINE_GONE), 40);
	assert_int_equal(live_in_state(&view, VIEW_LINE_DRIVER), 20);  /* Anna's; Bert's is the next */
	assert_string_equal(view.owners[view.stacks[lines->rows[lines->count - 1].stack].owner].text, "Bert");
	for (size_t i = 0; i < lines->count; i++)
		sum += lines->rows[i].held.live;
	assert_int_equal(sum, stacks_of(&view, 1)->live);
	assert_false(lines->rows[0].has_ended);
	view_free(&view);
	records_exit(r, 0);
	view = look(r);
	assert_true(stacks_of(&view, 1)->lines[VIEW_BY_LIVE].rows[0].has_ended);
	view_free(&view);
}

static uint64_t live_in_module(const struct view *view, const struct view_stacks *s, const char *path)
{
	const struct view_modules *modules = &s->modules[VIEW_BY_LIVE];

	for (size_t i = 0; i < modules->count; i++) {
		uint32_t module = modules->rows[i].module;

		if (module == VIEW_NO_MODULE ? !*path : !strcmp(view->modules[module], path))
			return modules->rows[i].held.live;
	}
	return 0;
}

/* A forward() that PyTorch has not called is a function like others, and native frames may lie in between. Two stacks
 * of one path are one row. */
static void stacks_add_up_by_module(void **state)
{
	static const char module_py[] = "/site/torch/nn/modules/module.py";
	struct records *r = *state;
	struct view view;

	records_symbol(r, 1, "bert", "", "/src/bert.py", 7);
	records_symbol(r, 2, "-Module._call_impl", "", module_py, 1501);
	records_symbol(r, 3, "bNet.forward", "", "/src/bert.py", 20);
	records_symbol(r, 4, "bNet.forward", "", "/src/bert.py", 21);
	records_symbol(r, 5, "bLinear.forward", "", "/site/torch/nn/modules/linear.py", 114);
	records_symbol(r, 6, "forward", "", "/src/old.py", 3); /* as Python before 3.11 says names */
	records_symbol(r, 7, "-PyEval", "/usr/bin/python3", "", 0);
	records_symbol(r, 8, "anna", "/opt/libanna.so", "", 0);
	FRAMES(r, 11, 8, 5, 2, 3, 7, 2, 1);
	FRAMES(r, 12, 8, 5, 7, 2, 4, 2, 1);
	FRAMES(r, 13, 8, 6, 2, 4, 2, 1);
	FRAMES(r, 14, 8, 5, 3, 2, 1);
	FRAMES(r, 15, 8, 5, 1);
	create(r, 1, 100, 11);
	create(r, 2, 10, 12);
	create(r, 3, 1000, 13);
	create(r, 4, 5, 14);
	create(r, 5, 7, 15);
	create(r, 6, 9, 0);
	view = look(r);
	const struct view_stacks *s = stacks_of(&view, 1);

	assert_int_equal(s->modules[VIEW_BY_LIVE].count, 4);
	assert_int_equal(live_in_module(&view, s, "bNet > bLinear"), 110);
	assert_int_equal(live_in_module(&view, s, "bNet > old.py"), 1000);
	assert_int_equal(live_in_module(&view, s, "bNet"), 5);
	assert_int_equal(live_in_module(&view, s, ""), 16);
	view_free(&view);
}

static void without_modules_there_is_no_list_of_them(void **state)
{
	struct records *r = *state;
	struct view view;

	name_stacks(r);
	create(r, 1, 100, 11);
	view = look(r);
	assert_int_equal(stacks_of(&view, 1)->modules[VIEW_BY_LIVE].count, 0);
	view_free(&view);
}

static void names_may_come_late_or_never(void **state)
{
	struct records *r = *state;
	struct view view;

	create(r, 1, 100, 11);
	create(r, 2, 10, 13);
	view = look(r);
	assert_true(owned_by(&view, stacks_of(&view, 1), "(not named)").live == 110);
	assert_true(held_by(&view, stacks_of(&view, 1), VIEW_BY_LIVE, NULL).live_count == 2);
	view_free(&view);
	records_exit(r, 0);
	name_stacks(r); /* the collector is slower than the program */
	view = look(r);
	assert_int_equal(view.records_malformed, 0);
	assert_true(owned_by(&view, stacks_of(&view, 1), "Anna").live == 100);
	assert_true(owned_by(&view, stacks_of(&view, 1), "(not named)").live == 0);
	view_free(&view);
}

static void malformed_names_are_refused(void **state)
{
	struct records *r = *state;
	struct {
		struct gmt_symbol symbol;
		char text[8];
	} symbol = { .symbol = { .id = 5, .function_len = 1, .module_len = 1, .file_len = 1 }, .text = "f\0m\0s" };
	struct {
		struct gmt_stack stack;
		uint64_t words[1];
	} stack = { .stack = { .id = 1, .count = 1 } };

#define EXPECT(rec, KIND, wanted)                                                 \
	do {                                                                      \
		records_apply(r, &(rec), GMT_KIND_##KIND, sizeof(rec));           \
		assert_int_equal(r->result, wanted);                              \
	} while (0)
	EXPECT(symbol, SYMBOL, 0);
	EXPECT(symbol, SYMBOL, -EINVAL);      /* an id is given out once */
	symbol.symbol.id = 0;
	EXPECT(symbol, SYMBOL, -EINVAL);
	symbol.symbol.id = 6;
	symbol.symbol.file_len = 2;           /* ends where no NUL is */
	symbol.text[6] = 'x';
	EXPECT(symbol, SYMBOL, -EINVAL);
	symbol.symbol.file_len = 4;           /* ends behind the record */
	EXPECT(symbol, SYMBOL, -EINVAL);
	symbol.symbol.file_len = UINT16_MAX;
	EXPECT(symbol, SYMBOL, -EINVAL);
	FRAMES(r, 1, 5, 5);
	assert_int_equal(r->result, 0);
	FRAMES(r, 0, 5);
	assert_int_equal(r->result, -EINVAL);
	FRAMES(r, 2, 5, 6);                   /* a symbol that is not there */
	assert_int_equal(r->result, -EINVAL);
	struct gmt_stack_frames frames = { .stack_id = 3, .count = 1 };

	EXPECT(frames, STACK_FRAMES, -EINVAL); /* more than it holds */
	EXPECT(stack, STACK, 0);
	stack.stack.count = 2;
	EXPECT(stack, STACK, -EINVAL);
	stack.stack.count = 1;
	stack.stack.reason = UINT8_MAX;        /* of a newer version: not known */
	stack.stack.py_reason = GMT_PY_REASON_COUNT;
	EXPECT(stack, STACK, 0);
	stack.stack.reason = stack.stack.py_reason = 0;
	stack.stack.id = 0;
	EXPECT(stack, STACK, -EINVAL);
#undef EXPECT
	struct view view = look(r);

	assert_int_equal(view.records_malformed, 10);
	view_free(&view);
}

static void how_complete_stacks_are(void **state)
{
	struct records *r = *state;

	records_stack(r, 1, GMT_UNWIND_END_ROOT);
	records_stack(r, 2, GMT_UNWIND_END_ZERO);
	records_stack(r, 3, GMT_UNWIND_END_NO_ROW);
	records_stack(r, 4, GMT_UNWIND_END_NO_ROW);
	struct view view = look(r);
	const struct view_unwinding *u = &view.procs[0].unwinding;

	assert_true(u->stacks == 4 && view_complete(u) == 2 && u->reasons[GMT_UNWIND_END_NO_ROW] == 2);
	assert_true(u->py_reasons[GMT_PY_END_NONE] == 4);
	view_free(&view);
	records_stack(r, 3, GMT_UNWIND_END_ROOT); /* walked again, with the table that was missing */
	view = look(r);
	u = &view.procs[0].unwinding;
	assert_true(u->stacks == 4 && view_complete(u) == 3 && u->reasons[GMT_UNWIND_END_NO_ROW] == 1);
	view_free(&view);
}

static void growth_is_counted_from_the_middle(void **state)
{
	struct records *r = *state;
	uint64_t start = r->ts_ns;
	struct view_held held;

	r->ts_ns = start + S / 2;
	create(r, 1, 1000, 1);
	r->ts_ns = start + 3 * S;
	create(r, 2, 200, 1);
	r->ts_ns = start + 5 * S;
	create(r, 3, 30, 1);
	r->ts_ns = start + 6 * S;
	create(r, 4, 4, 2);
	struct view view = look(r);

	/* The newest mark is at 4 s, the one before at 2 s. */
	assert_true(owned_by(&view, stacks_of(&view, 1), "(not named)").grown == 234);
	assert_true(stacks_of(&view, 1)->since_ns == view.procs[0].attach_ts_ns + 2 * S);
	assert_true(stacks_of(&view, 1)->rise.later_ns == view.procs[0].attach_ts_ns + 4 * S);
	held = owned_by(&view, stacks_of(&view, 1), "(not named)");
	assert_int_equal(held.rise_later, 34);
	assert_true(view_is_steady(&held));
	view_free(&view);
	r->ts_ns = start + 9 * S;
	records_gpu(r, 0, 0); /* time passes, nothing else: the mark at 8 s was not met by a record of the process */
	view = look(r);       /* little time has passed since that mark: the marks before count */
	held = owned_by(&view, stacks_of(&view, 1), "(not named)");
	assert_int_equal(held.grown, 234);
	assert_int_equal(held.rise_later, 34);
	assert_true(view_is_steady(&held));
	view_free(&view);
	r->ts_ns = start + 10 * S;
	records_gpu(r, 0, 0);
	view = look(r);
	held = owned_by(&view, stacks_of(&view, 1), "(not named)");
	assert_int_equal(held.grown, 34);
	assert_int_equal(held.rise_later, 0);
	assert_false(view_is_steady(&held));
	view_free(&view);
	r->ts_ns = start + 100 * S;
	records_gpu(r, 0, 0);
	view = look(r);
	assert_true(owned_by(&view, stacks_of(&view, 1), "(not named)").grown == 0);
	assert_true(stacks_of(&view, 1)->since_ns == view.procs[0].attach_ts_ns + 32 * S);
	view_free(&view);
	create(r, 5, 5, 2);
	RELEASE(r, cuMemRelease, 1);
	view = look(r);
	assert_true(owned_by(&view, stacks_of(&view, 1), "(not named)").grown == 5 - 1000);
	assert_int_equal(stacks_of(&view, 1)->top[VIEW_BY_GROWN].count, 0); /* who shrank is not named */
	view_free(&view);
}

/* A program makes memory in each of `seconds`, the first time at first_ns, and frees all. */
static void grow_and_free(struct records *r, int seconds, uint64_t first_ns)
{
	for (int i = 1; i <= seconds; i++) {
		r->ts_ns = first_ns + (uint64_t)(i - 1) * S;
		create(r, i, 1 << i, 1);
	}
	for (int i = 1; i <= seconds; i++)
		RELEASE(r, cuMemRelease, i);
}

/* A program that has grown for 11 s frees all and ends. */
static void growth_of_the_ended_counts_until_the_peak(void **state)
{
	struct records *r = *state;
	uint64_t start = r->ts_ns;
	struct view_held held;
	struct view view;

	grow_and_free(r, 11, start + S / 2);
	records_exit(r, 0);
	view = look(r);
	held = owned_by(&view, stacks_of(&view, 1), "(not named)");
	assert_int_equal(held.live, 0);
	assert_int_equal(held.then, 2 + 4 + 8 + 16);
	assert_int_equal(held.rise, 32 + 64 + 128 + 256 + 512 + 1024 + 2048);
	assert_int_equal(held.rise_later, 512 + 1024 + 2048);
	assert_true(view_is_steady(&held));
	assert_true(stacks_of(&view, 1)->rise.until_ns == stacks_of(&view, 1)->peak_ts_ns);
	view_free(&view);
}

/* The peak was early: then growth counts until the newest mark, here at 16 s. */
static void growth_of_the_ended_below_an_early_peak(void **state)
{
	struct records *r = *state;
	uint64_t start = r->ts_ns;
	struct view_held held;
	struct view view;

	create(r, 100, 1 << 30, 2);
	RELEASE(r, cuMemRelease, 100);
	grow_and_free(r, 20, start + S / 2);
	records_exit(r, 0);
	view = look(r);
	held = owned_by(&view, stacks_of(&view, 1), "(not named)");
	assert_true(stacks_of(&view, 1)->rise.until_ns == view.procs[0].attach_ts_ns + 16 * S);
	assert_int_equal(held.rise, (1 << 17) - (1 << 5));
	assert_int_equal(held.rise_later, (1 << 17) - (1 << 9));
	assert_true(view_is_steady(&held));
	view_free(&view);
}

/* All is freed, and then comes a mark, before the end: the peak counts, not the mark. */
static void growth_of_the_ended_before_a_late_mark(void **state)
{
	struct records *r = *state;
	uint64_t start = r->ts_ns;
	struct view_held held;
	struct view view;

	grow_and_free(r, 15, start + 3 * S / 2);
	r->ts_ns = start + 17 * S;
	records_exit(r, 0);
	view = look(r);
	held = owned_by(&view, stacks_of(&view, 1), "(not named)");
	assert_true(stacks_of(&view, 1)->rise.until_ns == stacks_of(&view, 1)->peak_ts_ns);
	assert_true(view_is_steady(&held));
	view_free(&view);
}

/* A new mark takes the place of none that still counts. */
static void marks_count_on_after_a_new_mark(void **state)
{
	struct records *r = *state;
	uint64_t start = r->ts_ns;
	struct view_held held;
	struct view view;

	for (int i = 1; i <= 9; i++) {
		r->ts_ns = start + i * S - S / 2;
		create(r, i, 1 << i, 1);
	}
	view = look(r);
	held = owned_by(&view, stacks_of(&view, 1), "(not named)");
	assert_true(stacks_of(&view, 1)->since_ns == view.procs[0].attach_ts_ns + 2 * S);
	assert_int_equal(held.grown, 8 + 16 + 32 + 64 + 128 + 256 + 512);
	assert_int_equal(held.rise_later, 32 + 64 + 128 + 256 + 512);
	view_free(&view);
	for (int i = 10; i <= 11; i++) {
		r->ts_ns = start + i * S - S / 2;
		create(r, i, 1 << i, 1);
	}
	view = look(r);        /* the second part has half the length of the first */
	held = owned_by(&view, stacks_of(&view, 1), "(not named)");
	assert_true(stacks_of(&view, 1)->since_ns == view.procs[0].attach_ts_ns + 4 * S);
	assert_int_equal(held.grown, 32 + 64 + 128 + 256 + 512 + 1024 + 2048);
	assert_int_equal(held.rise_later, 512 + 1024 + 2048);
	view_free(&view);
}

static void what_is_never_freed(void **state)
{
	struct records *r = *state;
	uint64_t start = r->ts_ns;

	name_stacks(r);
	create(r, 1, 100, 11);
	r->ts_ns = start + 30 * S;
	create(r, 2, 10, 12);
	CALL(r, cuMemHostAlloc, A, 77, 0);
	r->ts_ns = start + 80 * S;
	create(r, 3, 1, 13);
	for (int ended = 0; ended < 2; ended++) {
		struct view view = look(r);
		struct view_held held = held_by(&view, stacks_of(&view, 1), VIEW_BY_OLD, "anna_alloc");

		assert_true(view.has_ages && view.older_than_ns == 60 * S);
		assert_true(held.old_bytes == 100 && held.old_count == 1 && held.live == 110);
		assert_true(held.oldest_ts_ns > start && held.oldest_ts_ns < start + S);
		assert_int_equal(stacks_of(&view, 1)->top[VIEW_BY_OLD].count, 1);
		assert_true(owned_by(&view, stacks_of(&view, ANY_GPU), "(without a stack)").live == 77);
		assert_true(owned_by(&view, stacks_of(&view, ANY_GPU), "(without a stack)").old_bytes == 0);
		view_free(&view);
		if (!ended)
			records_exit(r, 0);
		r->ts_ns = start + 1000 * S; /* of one that has ended it is what was old then */
		records_gpu(r, 0, 0);
	}
}

static void what_no_call_explains(void **state)
{
	struct records *r = *state;

	name_stacks(r);
	records_rm_scene(r);
	r->cause = GMT_API_cuCtxCreate_v2;
	r->stack_id = 11;
	records_rm_memory(r, 1, 500 * MiB);
	r->cause = GMT_API_cuModuleLoad;
	uint32_t module = records_rm_memory(r, 1, 2 * MiB);

	r->cause = GMT_API_cuMemCreate;
	r->stack_id = 13;
	records_rm_memory(r, 1, 4 * MiB);
	create(r, 1, 3 * MiB, 13);
	struct view view = look(r);
	const struct view_stacks *s = stacks_of(&view, 1);

	assert_true(s->live == 505 * MiB && s->unexplained == (int64_t)MiB);
	assert_true(owned_by(&view, s, "Anna").live == 502 * MiB && owned_by(&view, s, "Bert").live == 3 * MiB);
	assert_true(held_by(&view, s, VIEW_BY_LIVE, "anna_alloc").live_count == 2);
	view_free(&view);
	records_rm_free(r, module);
	records_exit(r, 0);
	view = look(r);
	s = stacks_of(&view, 1);
	assert_true(s->live == 503 * MiB && s->peak == 505 * MiB && s->unexplained == (int64_t)MiB);
	assert_true(owned_by(&view, s, "Anna").live == 500 * MiB && owned_by(&view, s, "Anna").at_peak == 502 * MiB);
	view_free(&view);
}

static void a_gpu_that_is_learned_late(void **state)
{
	struct records *r = *state;
	struct gmt_uvm_vaspace tie = { .client = RM_CLIENT, .vaspace = 0x5c000203 };
	struct gmt_rm_alloc vaspace = {
		.client = RM_CLIENT, .parent = RM_DEVICE(3), .object = 0x5c000203, .class_id = 0x90f1,
	};
	struct gmt_rm_alloc device = {
		.client = RM_CLIENT, .parent = RM_CLIENT, .object = RM_DEVICE(3), .class_id = 0x80, .device_id = 3,
	};

	name_stacks(r);
	records_rm_scene(r);
	records_apply(r, &device, GMT_KIND_RM_ALLOC, sizeof(device));
	records_apply(r, &vaspace, GMT_KIND_RM_ALLOC, sizeof(vaspace));
	r->cause = GMT_API_cuCtxCreate_v2;
	r->stack_id = 11;
	records_rm_memory(r, 3, 500 * MiB);
	records_rm_free(r, records_rm_memory(r, 0, MiB)); /* elsewhere */
	struct view view = look(r);

	assert_true(stacks_of(&view, NO_GPU)->live == 500 * MiB);
	view_free(&view);
	records_uuid(1, tie.uuid);
	records_apply(r, &tie, GMT_KIND_UVM_VASPACE, sizeof(tie));
	view = look(r);
	assert_null(stacks_of(&view, NO_GPU));
	assert_true(stacks_of(&view, 1)->live == 500 * MiB && stacks_of(&view, 1)->unexplained == 0);
	assert_true(owned_by(&view, stacks_of(&view, 1), "Anna").at_peak == 500 * MiB);
	assert_true(stacks_of(&view, 0)->live == 0 && stacks_of(&view, 0)->peak == MiB);
	view_free(&view);
}

static void the_most_are_limited(void **state)
{
	struct records *r = *state;
	struct view_request few = { .top = 3 };
	struct view view;

	records_symbol(r, 1, "f", "m", "", 0);
	for (uint32_t i = 0; i < 20; i++) {
		records_symbol(r, 10 + i, "g", "m", "", i + 1);
		FRAMES(r, 100 + i, 1, 10 + i);
		create(r, i + 1, 1 + i * 7 % 20, 100 + i);
	}
	view_build(r->pipeline, &few, &view);
	const struct view_stacks *s = stacks_of(&view, 1);

	assert_true(s->stack_count == 20 && s->top[VIEW_BY_LIVE].count == 3);
	for (uint64_t i = 0; i < 3; i++)
		assert_true(s->top[VIEW_BY_LIVE].rows[i].held.live == 20 - i);
	assert_int_equal(view.stack_count, 3);
	assert_int_equal(s->owner_count, 1);
	assert_string_equal(view.owners[s->owners[0].owner].text, "unknown");
	assert_true(s->owners[0].held.live == 210 && s->top[VIEW_BY_OLD].count == 0 && !view.has_ages);
	view_free(&view);
	view_build(r->pipeline, NULL, &view);
	assert_true(view.stack_count == 0 && stacks_of(&view, 1)->live == 210);
	view_free(&view);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(stacks_that_read_alike_are_one, scene, no_scene),
		cmocka_unit_test_setup_teardown(stacks_add_up_by_line, scene, no_scene),
		cmocka_unit_test_setup_teardown(what_no_line_holds_is_apart, scene, no_scene),
		cmocka_unit_test_setup_teardown(stacks_add_up_by_module, scene, no_scene),
		cmocka_unit_test_setup_teardown(without_modules_there_is_no_list_of_them, scene, no_scene),
		cmocka_unit_test_setup_teardown(names_may_come_late_or_never, scene, no_scene),
		cmocka_unit_test_setup_teardown(malformed_names_are_refused, scene, no_scene),
		cmocka_unit_test_setup_teardown(how_complete_stacks_are, scene, no_scene),
		cmocka_unit_test_setup_teardown(growth_is_counted_from_the_middle, scene, no_scene),
		cmocka_unit_test_setup_teardown(marks_count_on_after_a_new_mark, scene, no_scene),
		cmocka_unit_test_setup_teardown(growth_of_the_ended_counts_until_the_peak, scene, no_scene),
		cmocka_unit_test_setup_teardown(growth_of_the_ended_below_an_early_peak, scene, no_scene),
		cmocka_unit_test_setup_teardown(growth_of_the_ended_before_a_late_mark, scene, no_scene),
		cmocka_unit_test_setup_teardown(what_is_never_freed, scene, no_scene),
		cmocka_unit_test_setup_teardown(what_no_call_explains, scene, no_scene),
		cmocka_unit_test_setup_teardown(a_gpu_that_is_learned_late, scene, no_scene),
		cmocka_unit_test_setup_teardown(the_most_are_limited, scene, no_scene),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
