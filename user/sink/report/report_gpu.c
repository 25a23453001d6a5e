// SPDX-License-Identifier: BSD-2-Clause
/* What the answer of a report says of a GPU that a process uses. */
#include <stdio.h>
#include <string.h>

#include "base/amounts.h"
#include "base/human.h"
#include "base/out.h"
#include "core/terms/module_paths.h"
#include "sink/report/report_parts.h"
#include "sink/sink.h"
#include "sink/text/finding_text.h"
#include "sink/text/stack_text.h"
#include "sink/text/text.h"

#define LINES_SHOWN 3
#define LINES_OF_SEVERAL 2      /* where there are several processes or GPUs */
#define LEAST_PART 100          /* of the lines: those with less than a hundredth are not shown */
#define VALUE_COLUMNS 9         /* of bytes */
#define MODULE_SHARE 20         /* percent of the row's memory: a module with less says little */

/* Two blanks keep a part in one line. */
static void print_part(struct out *line, const char *name, int64_t bytes)
{
	if (bytes)
		out_printf(line, "  %c %s %s", bytes < 0 ? '-' : '+', name,
			   human_bytes(magnitude_of(bytes)).s);
}

/* NVML's last number is from before memory that the process got and held until its end. */
static bool has_outgrown(const struct view_proc *proc, const struct view_row *row)
{
	return row->has_nvml && proc->exited && view_weight(row) > row->nvml;
}

static const struct view_level *level_of(const struct view_row *row)
{
	return row->has_physical ? &row->physical : &row->attributed;
}

/* The total is worth no line of its own. */
static void print_total(struct out *line, const struct view_gpu *gpu, const char *rest)
{
	char total[64] = "";

	if (gpu && gpu->total_bytes)
		snprintf(total, sizeof(total), " of %s", human_bytes(gpu->total_bytes).s);
	if (FINDING_TEXT_LABEL + line->size + strlen(total) + strlen(rest) <= TEXT_COLUMNS)
		out_text(line, total);
	out_text(line, rest);
}

static void print_end(struct out *line, const struct view *view, const struct view_row *row)
{
	char rest[128] = " at the end";

	out_printf(line, "held %s", human_bytes(view_weight(row)).s);
	if (row->before_attach)
		snprintf(rest, sizeof(rest), " at the end, %s of it since the attach",
			 human_bytes(level_of(row)->live).s);
	print_total(line, row->gpu >= 0 ? &view->gpus[row->gpu] : NULL, rest);
}

/* What is free now says nothing of a process that has ended. */
static void print_nvml(struct out *line, const struct view *view, const struct view_proc *proc,
		       const struct view_row *row)
{
	const struct view_gpu *gpu = row->gpu >= 0 ? &view->gpus[row->gpu] : NULL;
	bool is_past = proc->exited && proc->exit_ts_ns >= row->nvml_ts_ns;
	char rest[64] = "";

	out_printf(line, "nvidia-smi %s %s", is_past ? "showed" : "shows", human_bytes(row->nvml).s);
	if (is_past)
		snprintf(rest, sizeof(rest), ", %s before the end",
			 human_duration(proc->exit_ts_ns - row->nvml_ts_ns).s);
	else if (gpu && gpu->has_memory)
		snprintf(rest, sizeof(rest), ", %s free", human_bytes(gpu->free_bytes).s);
	print_total(line, gpu, rest);
}

static void nvml_line(struct out *out, const struct view *view, const struct view_proc *proc,
		      const struct view_row *row, const struct sink_opts *opts)
{
	struct human ordinal = text_ordinal(view, row), label;
	struct out line;

	snprintf(label.s, sizeof(label.s), "GPU %.20s ", text_gpu(view, row->gpu).s);
	out_init_mem(&line);
	if (ordinal.s[0])
		out_printf(&line, "%s: ", ordinal.s);
	if (!row->has_nvml)
		out_printf(&line, "%s%s; nvidia-smi's number is unknown", human_bytes(view_weight(row)).s,
			   proc->from_start ? "" : " since the attach");
	else if (has_outgrown(proc, row))
		print_end(&line, view, row);
	else
		print_nvml(&line, view, proc, row);
	report_put(out, opts, label.s, &line);
}

static void print_peak(struct out *line, const struct view *view, const struct view_row *row)
{
	const struct view_level *level = level_of(row);
	const char *of = !row->has_physical ? " by CUDA calls" : row->before_attach ? " since the attach" : "";

	out_printf(line, "at most %s%s, at %s", human_bytes(level->peak).s, of, text_when(view, level->peak_ts_ns).s);
}

/* The number that the sum explains, where the line above has a newer one. */
static void print_before(struct out *line, const struct view_proc *proc, const struct view_row *row)
{
	if (has_outgrown(proc, row))
		out_printf(line, "nvidia-smi showed %s, %s before the end  ", human_bytes(row->nvml).s,
			   human_duration(proc->exit_ts_ns - row->nvml_ts_ns).s);
}

static void print_peak_of_sum(struct out *line, const struct view *view, const struct view_proc *proc,
			      const struct view_row *row)
{
	const struct view_level *level = level_of(row);

	/* What was held at the end is said. */
	if (!level->peak || (has_outgrown(proc, row) && level->peak <= level->live))
		return;
	out_text(line, "  (");
	print_peak(line, view, row);
	out_char(line, ')');
}

/* What nvidia-smi shows, as a sum; and the peak, which so takes no line of its own. */
static void sum_lines(struct out *out, const struct view *view, const struct view_proc *proc,
		      const struct view_row *row, const struct sink_opts *opts)
{
	const struct view_sum *s = &row->at_nvml;
	struct out line;

	out_init_mem(&line);
	print_before(&line, proc, row);
	if (view->session.hdr.size && !(view->session.layers & GMT_LAYER_API)) {
		/* The driver's memory alone tells no calls from a context. */
		out_text(&line, "not broken down: CUDA calls were not traced");
		report_put(out, opts, "", &line);
		return;
	}
	out_printf(&line, "= allocations %s", human_bytes(s->attributed).s);
	print_part(&line, "CUDA context", s->context);
	print_part(&line, "modules", s->modules);
	print_part(&line, "pool reserve", s->pool_reserve);
	print_part(&line, "rounding", s->rounding);
	print_part(&line, "streams, launches", s->other);
	print_part(&line, "checkpointed", -(int64_t)s->checkpointed);
	print_part(&line, "before attach", (int64_t)s->before_attach);
	if (s->residual)
		print_part(&line, "unexplained", s->residual);
	else
		out_text(&line, "  + unexplained 0 B");
	print_peak_of_sum(&line, view, proc, row);
	report_put(out, opts, "", &line);
}

/* A program frees its tensors while it ends. */
static void framework_line(struct out *out, const struct view *view, const struct view_proc *proc,
			   const struct view_torch *t, const struct sink_opts *opts)
{
	struct human most = human_bytes(t->allocated.peak), when = text_when(view, t->allocated.peak_ts_ns);
	struct out line;

	out_init_mem(&line);
	out_printf(&line, "%s %s, tensors ", gmt_framework_text(t->framework), human_bytes(t->reserved.live).s);
	if (proc->exited)
		out_printf(&line, "at most %s, at %s; %s at the end", most.s, when.s, human_bytes(t->allocated.live).s);
	else
		out_printf(&line, "%s (at most %s, at %s)", human_bytes(t->allocated.live).s, most.s, when.s);
	report_put(out, opts, "", &line);
}

static bool is_main(const struct report_answer *a, size_t row)
{
	return a->is_first && row == a->fullest;
}

/* A finding says nothing without its GPU. */
static enum report_rank rank_of_gpu(const struct report_answer *a, size_t row, bool has_findings)
{
	if (is_main(a, row))
		return REPORT_FIRST;
	if (has_findings)
		return a->is_first ? REPORT_FIRST : REPORT_FINDINGS;
	return a->is_first ? REPORT_FIRST_GPUS : REPORT_GPUS;
}

static enum report_rank rank_of_table(const struct report_answer *a, size_t row)
{
	if (is_main(a, row))
		return REPORT_FIRST_NUMBERS;
	return a->is_first ? REPORT_FIRST_TABLES : REPORT_TABLES;
}

void report_gpu(struct report_answer *a, size_t index, bool has_findings)
{
	const struct view_row *row = &a->proc->rows[index];
	enum report_rank rank = rank_of_table(a, index);
	struct out *out, line;

	out = page_part(&a->page, rank_of_gpu(a, index, has_findings), PAGE_GPUS, 1);
	nvml_line(out, a->view, a->proc, row, a->opts);
	if (row->has_nvml) {
		sum_lines(page_part(&a->page, rank, PAGE_DETAILS, 1), a->view, a->proc, row, a->opts);
	} else if (report_most_of(row)) {
		out = page_part(&a->page, rank, PAGE_DETAILS, 1);
		out_init_mem(&line);
		print_peak(&line, a->view, row);
		report_put(out, a->opts, "", &line);
	}
	if (row->torch.seen)
		framework_line(page_part(&a->page, rank, PAGE_DETAILS, 1), a->view, a->proc, &row->torch, a->opts);
}

/* The sum has the driver's memory already. */
static bool has_program(const struct view_lines *lines)
{
	for (size_t i = 0; i < lines->count; i++)
		if (lines->rows[i].state != VIEW_LINE_DRIVER)
			return true;
	return false;
}

static void print_code_line(struct out *out, const struct report_answer *a, const struct view_line_row *row,
			    enum view_order order, const char *label)
{
	struct text_place place = { .indent = FINDING_TEXT_LABEL + VALUE_COLUMNS + 2, .columns = TEXT_COLUMNS };
	char front[64];
	struct out line;

	snprintf(front, sizeof(front), "%-*s%*.20s  ", FINDING_TEXT_LABEL, label, VALUE_COLUMNS,
		 human_bytes((uint64_t)view_value(&row->held, order)).s);
	place.label = front;
	out_init_mem(&line);
	stack_text_line(&line, a->view, row);
	if (row->purpose)
		out_printf(&line, "  %s", gmt_category_text(row->purpose - 1));
	text_item(out, a->opts, TEXT_PLAIN, &place, &line);
}

static uint64_t sum_of_lines(const struct view_lines *lines, enum view_order order)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < lines->count; i++)
		sum += (uint64_t)view_value(&lines->rows[i].held, order);
	return sum;
}

/* A program frees its memory before it ends: of a process that has ended, the peak says who needed the memory. */
static enum view_order lines_order(const struct view_proc *proc, const struct view_stacks *s)
{
	return !proc->exited && s->lines[VIEW_BY_LIVE].count ? VIEW_BY_LIVE : VIEW_BY_PEAK;
}

/* Whether the line is in the forward() of the path's innermost module: then the line says it all. */
static bool is_of_line(const char *path, const struct view *view, const struct view_line_row *line)
{
	const char *function = line->state == VIEW_LINE_OWN ? view->symbols[line->symbol].function : "";
	const char *last = path, *next;
	size_t len;

	while ((next = strstr(last, MODULE_PATHS_BETWEEN)))
		last = next + strlen(MODULE_PATHS_BETWEEN);
	len = strlen(last);
	return !strncmp(function, last, len) && function[len] == '.';
}

/* The module that holds most, if this says more than the lines. */
static void module_line(struct report_answer *a, size_t index)
{
	const struct view_stacks *s = view_best_stacks(&a->proc->rows[index]);
	enum view_order order = lines_order(a->proc, s);
	const struct view_modules *modules = &s->modules[order];
	const struct view_module_row *top = modules->count ? &modules->rows[0] : NULL;
	uint64_t bytes = top ? (uint64_t)view_value(&top->held, order) : 0;
	uint64_t all = order == VIEW_BY_LIVE ? s->live : s->peak;
	char end[64];
	struct out line;

	if (!top || top->module == VIEW_NO_MODULE || bytes < share_of(all, MODULE_SHARE) ||
	    is_of_line(a->view->modules[top->module], a->view, &s->lines[order].rows[0]))
		return;
	snprintf(end, sizeof(end), "  %s (%.0f %%)", human_bytes(bytes).s, 100.0 * (double)bytes / (double)all);
	out_init_mem(&line);
	stack_text_module(&line, a->view, top->module, TEXT_COLUMNS - FINDING_TEXT_LABEL - (unsigned)strlen(end));
	out_text(&line, end);
	/* No GPU is left out for the module. */
	report_put(page_part(&a->page, a->is_first ? REPORT_FIRST_TABLES : REPORT_TABLES, PAGE_LINES, 1), a->opts,
		   "MODULES", &line);
}

void report_lines(struct report_answer *a, size_t index)
{
	const struct view_row *row = &a->proc->rows[index];
	size_t most = a->view->proc_count > 1 || a->proc->row_count > 1 ? LINES_OF_SEVERAL : LINES_SHOWN, shown = 0;
	const struct view_stacks *s = view_best_stacks(row);
	enum view_order order = lines_order(a->proc, s);
	const struct view_lines *lines = &s->lines[order];
	const char *label = order == VIEW_BY_LIVE ? "LINES" : "PEAK";
	uint64_t least;

	if (!view_has_stacks(s) || (!a->proc->exited && !view_holds(a->proc, row)) || !has_program(lines))
		return;
	least = (sum_of_lines(lines, order) + LEAST_PART - 1) / LEAST_PART;
	for (size_t i = 0, named = 0; i < lines->count && shown < LINES_SHOWN && named < most; i++) {
		enum report_rank rank = shown && is_main(a, index) ? REPORT_FIRST_GPUS : rank_of_table(a, index);

		if ((uint64_t)view_value(&lines->rows[i].held, order) < least)
			continue;
		print_code_line(page_part(&a->page, rank, PAGE_LINES, 1), a, &lines->rows[i], order,
				shown++ ? "" : label);
		named += view_line_has_code(&lines->rows[i]);
	}
	page_leave_out(&a->page, PAGE_LINES, lines->count - shown);
	module_line(a, index);
}
