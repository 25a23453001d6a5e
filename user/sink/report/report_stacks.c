// SPDX-License-Identifier: BSD-2-Clause
/*
 * Owners and stack traces in the report: a table by owner that adds up to the row, then the stack traces with the most
 * live memory, memory at the peak, growth, and old memory. The frames of a stack trace are printed once; its number
 * stands for them in later lists.
 *
 *         LIVE   COUNT  AT PEAK      GROWN  BY OWNER
 *      1.5 GiB      12  1.8 GiB   +100 MiB  PyTorch
 *       35 MiB                              rounding, reserve
 *      1.5 GiB                              physical
 *
 *         LIVE   COUNT  AT PEAK      GROWN  EACH ITER.  BY LINE OF THE PROGRAM
 *      1.5 GiB      12  1.8 GiB   +100 MiB    +832 KiB  train.py:212 forward
 *
 *         LIVE   COUNT  AT PEAK      GROWN  EACH ITER.  BY MODULE
 *      1.5 GiB      12  1.8 GiB   +100 MiB    +832 KiB  Net > Block > Linear
 *
 *     stack traces by live memory
 *        1.5 GiB  PyTorch  x12  #1  train.py:212 forward
 *           at::empty_cuda (libtorch_cuda.so)
 */
#include <stdio.h>
#include <string.h>

#include "base/human.h"
#include "base/out.h"
#include "sink/report/report.h"
#include "sink/report/report_held.h"
#include "sink/sink.h"
#include "sink/text/stack_text.h"
#include "sink/text/text.h"

#define OWNER_COLUMNS 64
#define FRAME_INDENT 16
#define PATH_COLUMNS 160

/* ---- owners ---- */

/* No stack trace asked for the memory that rounding adds. If the number is negative, small allocations lie in blocks
 * that the driver got for other memory. */
static void unexplained_line(struct out *out, const struct report_held *t, const struct view_row *row)
{
	int64_t bytes = row->stacks.unexplained;

	if (bytes)
		report_held_live(out, t, bytes < 0 ? human_signed_bytes(bytes).s : human_bytes((uint64_t)bytes).s,
				 bytes < 0 ? "inside other blocks" : "rounding, reserve");
	report_held_live(out, t, human_bytes(row->physical.live).s, "physical");
}

static void print_owners(struct out *out, const struct view *view, const struct report_held *t,
			 const struct view_row *row)
{
	report_held_moments(out, view, t);
	report_held_titles(out, t, "BY OWNER");
	for (size_t i = 0; i < t->stacks->owner_count; i++) {
		const char *name = view->owners[t->stacks->owners[i].owner].text;

		report_held_cells(out, t, &t->stacks->owners[i].held);
		human_print(out, OWNER_COLUMNS, name, strlen(name));
		out_char(out, '\n');
	}
	if (row && row->has_physical)
		unexplained_line(out, t, row);
}

/* ---- lines ---- */

static void line_line(struct out *out, const struct view *view, const struct report_held *t,
		      const struct view_line_row *row)
{
	report_held_cells(out, t, &row->held);
	stack_text_line(out, view, row);
	if (row->stacks > 1)
		out_printf(out, "  (%s stack traces)", human_count(row->stacks).s);
	if (row->purpose)
		out_printf(out, "  %s", gmt_category_text(row->purpose - 1));
	out_char(out, '\n');
}

/* The lines with the most live memory, then those that had the most at the peak and are not among the first. Of a
 * process that has ended, the other way round. */
static void print_lines(struct out *out, const struct view *view, const struct report_held *t)
{
	const struct view_lines *first = &t->stacks->lines[t->has_exited ? VIEW_BY_PEAK : VIEW_BY_LIVE];
	const struct view_lines *then = &t->stacks->lines[t->has_exited ? VIEW_BY_LIVE : VIEW_BY_PEAK];

	if (!first->count && !then->count)
		return;
	report_held_titles(out, t, "BY LINE OF THE PROGRAM");
	for (size_t i = 0; i < first->count; i++)
		line_line(out, view, t, &first->rows[i]);
	for (size_t i = 0; i < then->count; i++)
		if (!view_lines_have(first, &then->rows[i]))
			line_line(out, view, t, &then->rows[i]);
}

/* ---- modules ---- */

static void print_modules(struct out *out, const struct view *view, const struct report_held *t)
{
	const struct view_modules *modules = &t->stacks->modules[t->has_exited ? VIEW_BY_PEAK : VIEW_BY_LIVE];

	if (!modules->count)
		return;
	report_held_titles(out, t, "BY MODULE");
	for (size_t i = 0; i < modules->count; i++) {
		report_held_cells(out, t, &modules->rows[i].held);
		stack_text_module(out, view, modules->rows[i].module, PATH_COLUMNS);
		out_char(out, '\n');
	}
}

/* ---- stacks ---- */

struct lists {
	struct out *out;
	const struct view *view;
	const struct view_stacks *stacks;
	const struct sink_opts *opts;
	struct report_numbers *numbers;
};

static void stack_line(struct lists *l, const struct view_stack_row *row, const char *value, uint64_t count,
		       uint32_t number)
{
	const struct view_stack *stack = &l->view->stacks[row->stack];
	const char *owner = l->view->owners[stack->owner].text;

	out_printf(l->out, "    %10s  ", value);
	human_print(l->out, OWNER_COLUMNS, owner, strlen(owner));
	if (row->purpose)
		out_printf(l->out, ", %s", gmt_category_text(row->purpose - 1));
	if (count)
		out_printf(l->out, "  x%s", human_count(count).s);
	out_printf(l->out, "  #%u  ", number);
	stack_text_head(l->out, l->view, stack);
	out_char(l->out, '\n');
}

static void list_stacks(struct lists *l, enum view_order order)
{
	const struct view_top *top = &l->stacks->top[order];

	for (size_t i = 0; i < top->count; i++) {
		const struct view_stack *stack = &l->view->stacks[top->rows[i].stack];
		const struct view_held *h = &top->rows[i].held;
		uint32_t *number = &l->numbers->of_stack[top->rows[i].stack];
		uint64_t count = order == VIEW_BY_LIVE ? h->live_count : order == VIEW_BY_OLD ? h->old_count : 0;
		bool is_new = !*number;

		if (is_new)
			*number = ++l->numbers->last;
		stack_line(l, &top->rows[i], order == VIEW_BY_GROWN ? human_signed_bytes(h->grown).s
							    : human_bytes((uint64_t)view_value(h, order)).s,
			   count, *number);
		if (is_new && stack->state == VIEW_STACK_NAMED)
			stack_text_frames(l->out, l->view, stack, l->opts->full_stacks, FRAME_INDENT);
	}
}

/* Whether the list would repeat the list by live memory. */
static bool is_as_live(const struct view_stacks *s, enum view_order order)
{
	const struct view_top *live = &s->top[VIEW_BY_LIVE], *top = &s->top[order];

	if (order == VIEW_BY_LIVE || live->count != top->count)
		return false;
	for (size_t i = 0; i < top->count; i++)
		if (live->rows[i].stack != top->rows[i].stack ||
		    (int64_t)live->rows[i].held.live != view_value(&top->rows[i].held, order))
			return false;
	return true;
}

__attribute__((format(printf, 3, 4)))
static void print_section(struct lists *l, enum view_order order, const char *format, ...)
{
	bool is_same = is_as_live(l->stacks, order);
	va_list args;

	if (!l->stacks->top[order].count)
		return;
	out_text(l->out, "\n    ");
	va_start(args, format);
	out_vprintf(l->out, format, args);
	va_end(args);
	out_text(l->out, is_same ? ": same as the first list\n" : "\n");
	if (!is_same)
		list_stacks(l, order);
}

void report_stacks(struct out *out, const struct view *view, const struct view_proc *proc,
		   const struct view_stacks *s, const struct view_row *row, const struct sink_opts *opts,
		   struct report_numbers *numbers)
{
	const struct report_held t = { s, proc->exited };
	struct lists l = { out, view, s, opts, numbers };

	if (!view_has_stacks(s))
		return;
	print_owners(out, view, &t, row);
	print_lines(out, view, &t);
	print_modules(out, view, &t);
	print_section(&l, VIEW_BY_LIVE, proc->exited ? "stack traces by memory at the end" :
						"stack traces by live memory");
	print_section(&l, VIEW_BY_PEAK, "stack traces at the peak, %s at %s %s", human_bytes(s->peak).s,
		      text_when(view, s->peak_ts_ns).s, text_offset(view, s->peak_ts_ns).s);
	/* In the first two seconds everything is growth. */
	if (s->since_ns > proc->attach_ts_ns)
		print_section(&l, VIEW_BY_GROWN, "stack traces by growth since %s %s", text_when(view, s->since_ns).s,
			      text_offset(view, s->since_ns).s);
	print_section(&l, VIEW_BY_OLD, "stack traces by memory not freed for more than %s",
		      human_duration(view->older_than_ns).s);
}

void report_stack_list(struct out *out, const struct view *view, const struct view_stacks *s, enum view_order order,
		       const char *title, const struct sink_opts *opts, struct report_numbers *numbers)
{
	struct lists l = { out, view, s, opts, numbers };

	if (!s->top[order].count)
		return;
	out_printf(out, "\n    %s\n", title);
	list_stacks(&l, order);
}

/* ---- how complete the stack traces are ---- */

void report_unwinding(struct out *out, const struct view_unwinding *u)
{
	const char *lead = "; incomplete: ";

	if (!u->stacks)
		return;
	out_printf(out, "\n  stack traces: %s distinct", human_count(u->stacks).s);
	out_printf(out, ", %s complete", human_count(view_complete(u)).s);
	for (int i = 0; i < GMT_UNWIND_REASON_COUNT; i++) {
		if (!u->reasons[i] || GMT_UNWIND_COMPLETE >> i & 1)
			continue;
		out_printf(out, "%s%s (%s)", lead, human_count(u->reasons[i]).s,
			   gmt_unwind_reason_text(i));
		lead = ", ";
	}
	lead = "; Python frames or their names missing: ";
	for (int i = 0; i < GMT_PY_REASON_COUNT; i++) {
		if (!u->py_reasons[i] || !(GMT_PY_CUT >> i & 1))
			continue;
		out_printf(out, "%s%s (%s)", lead, human_count(u->py_reasons[i]).s, gmt_py_reason_text(i));
		lead = ", ";
	}
	out_char(out, '\n');
}
