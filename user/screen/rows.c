// SPDX-License-Identifier: BSD-2-Clause
/* The names of a table's rows, and what stands below a row that is shown in full. */
#include <string.h>

#include "base/human.h"
#include "base/out.h"
#include "screen/state.h"
#include "sink/text/stack_text.h"
#include "sink/text/text.h"

#define COMMAND_COLUMNS 200
#define STACKS_SHOWN 5           /* of a line, an owner or a category */
#define INDENT 4

/* The name may be that of a file. */
static void print_owner(struct out *out, const struct view *view, uint32_t owner)
{
	const char *text = view->owners[owner].text;

	human_print(out, COMMAND_COLUMNS, text, strlen(text));
}

void row_name(struct out *out, const struct picture *p, const struct table_row *row, enum table_kind kind,
	      unsigned int columns)
{
	const struct view *view = p->view;

	switch (kind) {
	case TABLE_PROCESSES:
		out_text(out, row->has_exited ? "ended  " : "");
		text_command(out, COMMAND_COLUMNS, &view->procs[row->index]);
		if (row->has_exited && view->procs[row->index].exit_code != GMT_EXIT_CODE_UNKNOWN)
			out_printf(out, "  %s", text_exit(view->procs[row->index].exit_code).s);
		break;
	case TABLE_GPUS:
		out_text(out, view->gpus[row->index].name);
		break;
	case TABLE_LINES:
		stack_text_line(out, view, row->line);
		break;
	case TABLE_STACKS:
		print_owner(out, view, view->stacks[row->index].owner);
		out_text(out, ": ");
		stack_text_head(out, view, &view->stacks[row->index]);
		break;
	case TABLE_OWNERS:
		print_owner(out, view, (uint32_t)row->index);
		break;
	case TABLE_CATEGORIES:
		out_text(out, row->index == TABLE_BEFORE_ATTACH ? "from before the attach"
								: gmt_category_text((unsigned int)row->index));
		break;
	case TABLE_MODULES:
		stack_text_module(out, view, (uint32_t)row->index, columns);
		break;
	case TABLE_KIND_COUNT:
		break;
	}
}

/* ---- a process, a GPU ---- */

static void print_gpu_of_process(struct out *out, const struct view *view, const struct view_proc *proc,
				 const struct view_row *row)
{
	out_printf(out, "%*sGPU %s  %s%s", INDENT, "", text_gpu(view, row->gpu).s, proc->exited ? "at its end " : "",
		   human_bytes(view_holds(proc, row)).s);
	if (row->has_nvml)
		out_printf(out, "  nvidia-smi %s", human_bytes(row->nvml).s);
	out_printf(out, "  calls %s", human_bytes(row->attributed.live).s);
	if (row->has_physical)
		out_printf(out, "  context %s", human_signed_bytes(row->context).s + (row->context > 0));
	if (row->torch.seen)
		out_printf(out, "  %s reserved %s, tensors %s", gmt_framework_text(row->torch.framework),
			   human_bytes(row->torch.reserved.live).s, human_bytes(row->torch.allocated.live).s);
	if (!proc->from_start)
		out_printf(out, "  before the attach %s", human_bytes(row->before_attach).s);
	out_char(out, '\n');
}

static void detail_process(struct out *out, const struct picture *p, const struct table_row *row)
{
	const struct view_proc *proc = &p->view->procs[row->index];

	for (size_t r = 0; r < proc->row_count; r++)
		if (p->gpu == TABLE_ALL_GPUS || proc->rows[r].gpu == p->gpu)
			print_gpu_of_process(out, p->view, proc, &proc->rows[r]);
	for (int c = 0; c < GMT_CLASS_COUNT; c++)
		if (!gmt_class_is_device((enum gmt_class)c) && proc->by_class[c].bytes.live)
			out_printf(out, "%*s%s %s\n", INDENT, "", gmt_class_text((enum gmt_class)c),
				   human_bytes(proc->by_class[c].bytes.live).s);
}

static void detail_gpu(struct out *out, const struct picture *p, const struct table_row *row)
{
	const struct view *view = p->view;
	const struct view_gpu *g = &view->gpus[row->index];

	out_printf(out, "%*s%s  %s\n", INDENT, "", g->uuid_text, g->pci);
	for (size_t i = 0; i < view->proc_count; i++) {
		for (size_t r = 0; r < view->procs[i].row_count && !view->procs[i].exited; r++) {
			if (view->procs[i].rows[r].gpu != (int)row->index)
				continue;
			out_printf(out, "%*s%9s  pid %u  ", INDENT, "",
				   human_bytes(view_holds(&view->procs[i], &view->procs[i].rows[r])).s,
				   view->procs[i].tgid);
			text_command(out, COMMAND_COLUMNS, &view->procs[i]);
			out_char(out, '\n');
		}
	}
}

/* ---- lines, owners and categories: their stacks ---- */

/* Whether a framework took the memory from the driver, for its blocks and its cache. */
static bool is_segment(const struct picture *p, size_t stack)
{
	for (size_t i = 0; i < p->view->proc_count; i++) {
		for (size_t r = 0; r < p->view->procs[i].row_count; r++) {
			const struct view_top *top =
				&view_best_stacks(&p->view->procs[i].rows[r])->top[p->screen->order];

			for (size_t k = 0; k < top->count; k++)
				if (top->rows[k].stack == stack && top->rows[k].is_segment)
					return true;
		}
	}
	return false;
}

static const struct view_symbol *frame_at(const struct view *view, const struct view_stack *stack, uint32_t frame)
{
	return frame < stack->frame_count ? &view->symbols[stack->frames[frame]] : NULL;
}

/* The driver took the memory for itself: a function of the driver decided about the owner. */
static bool is_drivers_own(const struct view *view, const struct view_stack *stack)
{
	const struct view_symbol *s = frame_at(view, stack, stack->decisive);

	return s && !strncmp(basename(s->module), "libcuda.so", strlen("libcuda.so"));
}

/* VIEW_LINE_NOT_OWN: or VIEW_LINE_CUT. */
static enum view_line_state state_of(const struct picture *p, size_t index)
{
	const struct view_stack *stack = &p->view->stacks[index];
	const struct view_symbol *outermost = frame_at(p->view, stack, stack->frame_count - 1);

	if (stack->state != VIEW_STACK_NAMED)
		return stack->state == VIEW_STACK_NONE ? VIEW_LINE_NO_STACK : VIEW_LINE_NOT_NAMED;
	if (is_segment(p, index))
		return VIEW_LINE_RESERVE;
	if (is_drivers_own(p->view, stack))
		return VIEW_LINE_DRIVER;
	if (stack->own < stack->frame_count)
		return VIEW_LINE_OWN;
	if (outermost && !outermost->module[0] && !outermost->function[0] && !outermost->file[0])
		return VIEW_LINE_GONE;
	return VIEW_LINE_NOT_OWN;
}

static bool is_at_place(const struct view *view, const struct view_stack *stack, const struct view_symbol *place)
{
	const struct view_symbol *own = frame_at(view, stack, stack->own);

	return own == place || (own->line == place->line && !strcmp(own->file, place->file) &&
				!strcmp(own->function, place->function));
}

static bool shows_line(const struct picture *p, enum view_line_state state)
{
	for (size_t i = 0; i < p->view->proc_count; i++) {
		for (size_t r = 0; r < p->view->procs[i].row_count; r++) {
			const struct view_lines *lines =
				&view_best_stacks(&p->view->procs[i].rows[r])->lines[p->screen->order];

			for (size_t k = 0; k < lines->count; k++)
				if (lines->rows[k].state == state)
					return true;
		}
	}
	return false;
}

/* A stack trace that ended early reads like one without the program's code: where there are both, only the greatest of
 * each line is known. */
static bool is_at_line(const struct picture *p, size_t index, const struct view_line_row *line)
{
	const struct view *view = p->view;
	enum view_line_state state;

	if (index == line->stack)
		return true;
	state = state_of(p, index);
	if (state == VIEW_LINE_NOT_OWN && (line->state == VIEW_LINE_NOT_OWN || line->state == VIEW_LINE_CUT))
		return !shows_line(p, line->state == VIEW_LINE_CUT ? VIEW_LINE_NOT_OWN : VIEW_LINE_CUT);
	if (state != line->state)
		return false;
	if (state == VIEW_LINE_DRIVER)
		return view->stacks[index].owner == view->stacks[line->stack].owner;
	return state != VIEW_LINE_OWN || is_at_place(view, &view->stacks[index], &view->symbols[line->symbol]);
}

static bool is_part_of(const struct picture *p, const struct table_row *part, const struct table_row *row,
		       enum table_kind kind)
{
	if (kind == TABLE_LINES)
		return is_at_line(p, part->index, row->line);
	if (kind == TABLE_OWNERS)
		return p->view->stacks[part->index].owner == row->index;
	if (kind == TABLE_MODULES)
		return p->view->stacks[part->index].module == row->index;
	return part->purpose == row->index + 1;
}

/* The greatest stack trace of a line, whose bytes are not known here. */
static void print_greatest(struct out *out, const struct picture *p, const struct view_line_row *line)
{
	const struct view_stack *stack = &p->view->stacks[line->stack];

	out_printf(out, "%*sthe greatest of its stack traces: ", INDENT, "");
	stack_text_head(out, p->view, stack);
	out_char(out, '\n');
	stack_text_frames(out, p->view, stack, false, 4 * INDENT);
}

static void detail_stacks(struct out *out, const struct picture *p, const struct table_row *row, enum table_kind kind)
{
	struct table_ask ask = { TABLE_STACKS, p->screen->order, p->gpu, p->proc };
	size_t found = 0, shown = 0;
	struct table stacks;

	table_build(p->view, &ask, &stacks);
	for (size_t i = 0; i < stacks.count; i++) {
		const struct table_row *part = &stacks.rows[i];

		if (!is_part_of(p, part, row, kind))
			continue;
		if (found++ >= STACKS_SHOWN)
			continue;
		shown++;
		out_printf(out, "%*s%9s  ", INDENT, "", human_bytes(part->held.live).s);
		row_name(out, p, part, TABLE_STACKS, COMMAND_COLUMNS);
		out_char(out, '\n');
		stack_text_frames(out, p->view, &p->view->stacks[part->index], false, 4 * INDENT);
	}
	if (row->line && !shown) {
		print_greatest(out, p, row->line);
		shown = 1;
	}
	if (row->line && row->line->stacks > found)
		found = row->line->stacks;
	if (found > shown)
		out_printf(out, "%*sand %zu more %s\n", INDENT, "", found - shown,
			   human_plural(found - shown, "stack trace", "stack traces"));
	if (!shown)
		out_printf(out, "%*sits stack traces are not among the largest\n", INDENT, "");
	table_free(&stacks);
}

void row_details(struct out *out, const struct picture *p, const struct table_row *row, enum table_kind kind)
{
	if (kind == TABLE_PROCESSES)
		detail_process(out, p, row);
	else if (kind == TABLE_GPUS)
		detail_gpu(out, p, row);
	else if (kind == TABLE_STACKS)
		stack_text_frames(out, p->view, &p->view->stacks[row->index], true, INDENT);
	else
		detail_stacks(out, p, row, kind);
}
