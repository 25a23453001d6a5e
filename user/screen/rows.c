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

void row_name(struct out *out, const struct picture *p, const struct table_row *row, enum table_kind kind)
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
		out_printf(out, "%s: ", view->owners[view->stacks[row->index].owner]);
		stack_text_head(out, view, &view->stacks[row->index]);
		break;
	case TABLE_OWNERS:
		out_text(out, view->owners[row->index]);
		break;
	case TABLE_CATEGORIES:
		out_text(out, row->index == TABLE_BEFORE_ATTACH ? "from before the attach"
								: gmt_category_text((unsigned int)row->index));
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

static bool is_at_line(const struct view *view, const struct view_stack *stack, const struct view_line_row *line)
{
	const struct view_symbol *a, *b = line->state == VIEW_LINE_OWN ? &view->symbols[line->symbol] : NULL;

	if (!b || stack->own >= stack->frame_count)
		return line->state == (stack->state == VIEW_STACK_NONE	      ? VIEW_LINE_NO_STACK
				       : stack->state == VIEW_STACK_NOT_NAMED ? VIEW_LINE_NOT_NAMED
				       : stack->own >= stack->frame_count     ? VIEW_LINE_NOT_OWN
									      : VIEW_LINE_OWN);
	a = &view->symbols[stack->frames[stack->own]];
	return a == b || (a->line == b->line && !strcmp(a->file, b->file) && !strcmp(a->function, b->function));
}

static bool is_part_of(const struct picture *p, const struct table_row *part, const struct table_row *row,
		       enum table_kind kind)
{
	const struct view_stack *stack = &p->view->stacks[part->index];

	if (kind == TABLE_LINES)
		return is_at_line(p->view, stack, row->line);
	if (kind == TABLE_OWNERS)
		return stack->owner == row->index;
	return part->purpose == row->index + 1;
}

static void detail_stacks(struct out *out, const struct picture *p, const struct table_row *row, enum table_kind kind)
{
	struct table_ask ask = { TABLE_STACKS, p->screen->order, p->gpu, p->proc };
	size_t shown = 0, left = 0;
	struct table stacks;

	table_build(p->view, &ask, &stacks);
	for (size_t i = 0; i < stacks.count; i++) {
		const struct table_row *part = &stacks.rows[i];

		if (!is_part_of(p, part, row, kind))
			continue;
		if (shown++ >= STACKS_SHOWN) {
			left++;
			continue;
		}
		out_printf(out, "%*s%9s  ", INDENT, "", human_bytes(part->held.live).s);
		row_name(out, p, part, TABLE_STACKS);
		out_char(out, '\n');
		stack_text_frames(out, p->view, &p->view->stacks[part->index], false, 4 * INDENT);
	}
	if (left)
		out_printf(out, "%*sand %zu more %s\n", INDENT, "", left,
			   human_plural(left, "stack trace", "stack traces"));
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
