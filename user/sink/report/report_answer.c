// SPDX-License-Identifier: BSD-2-Clause
/*
 * The answer at the head of a report: what the largest processes hold on each GPU, what was found, and the lines with
 * the most memory. The rest of the report has the numbers behind the answer.
 *
 *     python train.py  pid 4242  running at 2026-02-03 10:17:23 UTC on node17
 *     GPU 0   nvidia-smi shows 2.3 GiB of 79.6 GiB, 76.7 GiB free
 *             = allocations 1.8 GiB  + CUDA context 498 MiB  + rounding 47 MiB
 *               + unexplained 0 B  (at most 2.4 GiB, at 10:16:12)
 *             PyTorch 1.7 GiB, 1.1 GiB of it in tensors (at most 1.5 GiB, at 10:16:11)
 *     LEAK    (guess) +832 KiB on average in the last 30 iterations, 55.2 MiB kept
 *             train.py:21 forward keeps 53.2 MiB of them
 *     LINES    53.2 MiB  train.py:21 forward  kept over iterations
 *
 * The report ends with the files to read next:
 *
 *     NEXT    gpumemtrace report --full run.gmt
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/human.h"
#include "base/out.h"
#include "base/xalloc.h"
#include "sink/report/report.h"
#include "sink/report/report_others.h"
#include "sink/sink.h"
#include "sink/text/finding_text.h"
#include "sink/text/stack_text.h"
#include "sink/text/text.h"

#define PROCESSES_SHOWN 3
#define LINES_SHOWN 3
#define LINES_OF_SEVERAL 2      /* where there are several processes or GPUs */
#define NAME_COLUMNS 64      /* lines have 80 columns */
#define VALUE_COLUMNS 9      /* of bytes */
#define HOST_COLUMNS 64
#define PATH_COLUMNS 4096

/* A line of the answer, which is taken; lines that are too long are broken. */
static void put_line(struct out *out, const struct sink_opts *opts, const char *label, struct out *line)
{
	text_item(out, opts, TEXT_PLAIN, &(struct text_place){ label, FINDING_TEXT_LABEL, TEXT_COLUMNS }, line);
}

static uint64_t most_of(const struct view_row *row)
{
	return row->has_physical ? row->physical.peak : row->attributed.peak;
}

/* Whether a process comes before another one: it runs, and the other one has ended; it holds more; it held more. */
static bool is_heavier(const struct view_proc *a, const struct view_proc *b)
{
	uint64_t live_a = report_holds(a), live_b = report_holds(b);

	if (a->exited != b->exited)
		return b->exited;
	return live_a != live_b ? live_a > live_b : report_most(a) > report_most(b);
}

/* The state and its time. Of all that run, one line has the time. */
static void print_state(struct out *line, const struct view *view, const struct view_proc *proc, bool is_first)
{
	uint64_t at_ns = proc->exited ? proc->exit_ts_ns : view->now_ns;

	if (proc->exited && proc->ooms[GMT_OOM_FATAL])
		out_text(line, "DIED OUT OF MEMORY");
	else
		out_text(line, proc->exited ? text_exit(proc->exit_code).s : "running");
	if (!is_first && !proc->exited)
		return;
	if (view->wall_start_ns)
		out_printf(line, " at %s UTC",
			   human_wall(view->wall_start_ns + (at_ns - view->start_ns), "%Y-%m-%d %H:%M:%S").s);
	if (!view->session.host[0] || !is_first)
		return;
	out_text(line, " on ");
	human_print(line, HOST_COLUMNS, (const char *)view->session.host, sizeof(view->session.host));
}

/* One line, or two where one is too short. */
static void name_lines(struct out *out, const struct view *view, const struct view_proc *proc, bool is_first,
		       const struct sink_opts *opts)
{
	struct out line, state;
	size_t used;
	char *text;

	out_init_mem(&line);
	text_command(&line, NAME_COLUMNS, proc);
	out_printf(&line, "  pid %u", proc->tgid);
	out_init_mem(&state);
	print_state(&state, view, proc, is_first);
	used = line.size + 2 + state.size;
	text = out_take(&line);
	text_styled(out, opts, TEXT_BOLD, text);
	free(text);
	if (used <= TEXT_COLUMNS) {
		text = out_take(&state);
		out_printf(out, "  %s\n", text);
		free(text);
	} else {
		out_char(out, '\n');
		put_line(out, opts, "", &state);
	}
}

/* Two blanks keep a part in one line. */
static void print_part(struct out *line, const char *name, int64_t bytes)
{
	if (bytes)
		out_printf(line, "  %c %s %s", bytes < 0 ? '-' : '+', name,
			   human_bytes(bytes < 0 ? 0 - (uint64_t)bytes : (uint64_t)bytes).s);
}

/* What is free now says nothing of a process that has ended. */
static void print_nvml(struct out *line, const struct view *view, const struct view_proc *proc,
		       const struct view_row *row)
{
	const struct view_gpu *gpu = row->gpu >= 0 ? &view->gpus[row->gpu] : NULL;
	bool is_past = proc->exited && proc->exit_ts_ns >= row->nvml_ts_ns;
	char total[64] = "", rest[64] = "";

	out_printf(line, "nvidia-smi %s %s", is_past ? "showed" : "shows", human_bytes(row->nvml).s);
	if (is_past)
		snprintf(rest, sizeof(rest), ", %s before the end",
			 human_duration(proc->exit_ts_ns - row->nvml_ts_ns).s);
	else if (gpu && gpu->has_memory)
		snprintf(rest, sizeof(rest), ", %s free", human_bytes(gpu->free_bytes).s);
	if (gpu && gpu->total_bytes)
		snprintf(total, sizeof(total), " of %s", human_bytes(gpu->total_bytes).s);
	/* The total is worth no line of its own. */
	if (FINDING_TEXT_LABEL + line->size + strlen(total) + strlen(rest) <= TEXT_COLUMNS)
		out_text(line, total);
	out_text(line, rest);
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
		out_printf(&line, "%s since the attach; nvidia-smi's number is unknown",
			   human_bytes(view_weight(row)).s);
	else
		print_nvml(&line, view, proc, row);
	put_line(out, opts, label.s, &line);
}

static void print_peak(struct out *line, const struct view *view, const struct view_proc *proc,
		       const struct view_row *row)
{
	const struct view_level *level = row->has_physical ? &row->physical : &row->attributed;
	const char *of = !row->has_physical ? " by CUDA calls" : row->before_attach ? " since the attach" : "";

	if (row->has_nvml && proc->exited && view_weight(row) > row->nvml)
		out_printf(line, "at the end %s%s", human_bytes(view_weight(row)).s, level->peak ? ", " : "");
	if (level->peak)
		out_printf(line, "at most %s%s, at %s", human_bytes(level->peak).s, of,
			   text_when(view, level->peak_ts_ns).s);
}

/* What nvidia-smi shows, as a sum; and the peak, which so takes no line of its own. */
static void sum_lines(struct out *out, const struct view *view, const struct view_proc *proc,
		      const struct view_row *row, const struct sink_opts *opts)
{
	const struct view_sum *s = &row->at_nvml;
	struct out line;

	out_init_mem(&line);
	if (view->session.hdr.size && !(view->session.layers & GMT_LAYER_API))
		out_text(&line, "= what CUDA calls allocated, which were not traced");
	else
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
	if (most_of(row)) {
		out_text(&line, "  (");
		print_peak(&line, view, proc, row);
		out_char(&line, ')');
	}
	put_line(out, opts, "", &line);
}

static void gpu_lines(struct out *out, const struct view *view, const struct view_proc *proc,
		      const struct view_row *row, const struct sink_opts *opts)
{
	struct out line;

	nvml_line(out, view, proc, row, opts);
	if (row->has_nvml) {
		sum_lines(out, view, proc, row, opts);
	} else if (most_of(row)) {
		out_init_mem(&line);
		print_peak(&line, view, proc, row);
		put_line(out, opts, "", &line);
	}
}

static void framework_line(struct out *out, const struct view *view, const struct view_torch *t,
			   const struct sink_opts *opts)
{
	struct out line;

	if (!t->seen)
		return;
	out_init_mem(&line);
	out_printf(&line, "%s %s, %s of it in tensors (at most %s, at %s)", gmt_framework_text(t->framework),
		   human_bytes(t->reserved.live).s, human_bytes(t->allocated.live).s,
		   human_bytes(t->allocated.peak).s, text_when(view, t->allocated.peak_ts_ns).s);
	put_line(out, opts, "", &line);
}

/* The sum has the driver's memory already. */
static bool has_program(const struct view_lines *lines)
{
	for (size_t i = 0; i < lines->count; i++)
		if (lines->rows[i].state != VIEW_LINE_DRIVER)
			return true;
	return false;
}

/* A program frees its memory before it ends: of a process that has ended, the peak says who needed the memory. */
static void answer_lines(struct out *out, const struct view *view, const struct view_proc *proc,
			 const struct view_row *row, const struct sink_opts *opts)
{
	size_t most = view->proc_count > 1 || proc->row_count > 1 ? LINES_OF_SEVERAL : LINES_SHOWN;
	const struct view_stacks *s = view_best_stacks(row);
	enum view_order order = !proc->exited && s->lines[VIEW_BY_LIVE].count ? VIEW_BY_LIVE : VIEW_BY_PEAK;
	const struct view_lines *lines = &s->lines[order];
	const char *label = order == VIEW_BY_LIVE ? "LINES" : "PEAK";

	if (!view_has_stacks(s) || (!proc->exited && !view_holds(proc, row)) || !has_program(lines))
		return;
	for (size_t i = 0, named = 0; i < lines->count && i < LINES_SHOWN && named < most; i++) {
		struct text_place place = { .indent = FINDING_TEXT_LABEL + VALUE_COLUMNS + 2, .columns = TEXT_COLUMNS };
		char front[64];
		struct out line;

		snprintf(front, sizeof(front), "%-*s%*.20s  ", FINDING_TEXT_LABEL, i ? "" : label, VALUE_COLUMNS,
			 human_bytes((uint64_t)view_value(&lines->rows[i].held, order)).s);
		place.label = front;
		named += view_line_has_code(&lines->rows[i]);
		out_init_mem(&line);
		stack_text_line(&line, view, &lines->rows[i]);
		if (lines->rows[i].purpose)
			out_printf(&line, "  %s", gmt_category_text(lines->rows[i].purpose - 1));
		text_item(out, opts, TEXT_PLAIN, &place, &line);
	}
}

/* The first finding of the row from index `from` on; view->finding_count: there is none. */
static size_t next_finding(const struct view *view, size_t proc, size_t row, size_t from)
{
	while (from < view->finding_count && (view->findings[from].proc != proc || view->findings[from].row != row))
		from++;
	return from;
}

static bool has_findings(const struct view *view, size_t proc, size_t row)
{
	return next_finding(view, proc, row, 0) < view->finding_count;
}

/* Returns whether there are any. */
static bool answer_findings(struct out *out, const struct view *view, size_t proc, size_t row,
			    const struct sink_opts *opts)
{
	for (size_t i = next_finding(view, proc, row, 0); i < view->finding_count;
	     i = next_finding(view, proc, row, i + 1))
		finding_text(out, view, &view->findings[i], opts);
	return has_findings(view, proc, row);
}

static void answer_process(struct out *out, const struct view *view, size_t index, bool is_first,
			   const struct sink_opts *opts)
{
	const struct view_proc *proc = &view->procs[index];

	name_lines(out, view, proc, is_first, opts);
	answer_findings(out, view, index, FINDING_NONE, opts);
	for (size_t r = 0; r < proc->row_count; r++) {
		if (!view_holds(proc, &proc->rows[r]) && !most_of(&proc->rows[r]) && !has_findings(view, index, r))
			continue;
		gpu_lines(out, view, proc, &proc->rows[r], opts);
		framework_line(out, view, &proc->rows[r].torch, opts);
		answer_findings(out, view, index, r, opts);
		answer_lines(out, view, proc, &proc->rows[r], opts);
	}
}

/* The heaviest process that is nowhere yet; FINDING_NONE: there is none. */
static size_t next_heaviest(const struct view *view, const enum report_place *places)
{
	size_t best = FINDING_NONE;

	for (size_t i = 0; i < view->proc_count; i++) {
		if (!view->procs[i].row_count || places[i] != REPORT_NOWHERE)
			continue;
		if (best == FINDING_NONE || is_heavier(&view->procs[i], &view->procs[best]))
			best = i;
	}
	return best;
}

static void count_rest(struct out *out, const struct view *view, const enum report_place *places)
{
	size_t all = 0, running = 0;

	for (size_t i = 0; i < view->proc_count; i++) {
		bool is_left = view->procs[i].row_count && places[i] == REPORT_NOWHERE;

		all += is_left;
		running += is_left && !view->procs[i].exited;
	}
	if (all)
		out_printf(out, "and %zu more %s, of which %zu %s\n\n", all,
			   human_plural(all, "process", "processes"), running,
			   human_plural(running, "is running", "are running"));
}

void report_answer(struct out *out, const struct view *view, const struct sink_opts *opts)
{
	enum report_place *places = xcalloc(view->proc_count, sizeof(*places));
	size_t index;

	for (int i = 0; i < PROCESSES_SHOWN && (index = next_heaviest(view, places)) != FINDING_NONE; i++) {
		places[index] = REPORT_SHOWN;
		answer_process(out, view, index, !i, opts);
		report_alike(out, view, index, places, opts);
		out_char(out, '\n');
	}
	report_other_findings(out, view, places, opts);
	count_rest(out, view, places);
	if (answer_findings(out, view, FINDING_NONE, FINDING_NONE, opts))
		out_char(out, '\n');
	free(places);
}

/* ---- what to read next ---- */

static bool had_failures(const struct view *view)
{
	for (size_t i = 0; i < view->finding_count; i++)
		if (view->findings[i].kind == FINDING_OF_OUT_OF_MEMORY)
			return true;
	return false;
}

/* The command shows the same processes and the same GPU. */
static void next_line(struct out *out, const char *label, const char *command, const struct sink_opts *opts,
		      const char *file)
{
	out_printf(out, "%-*s%s ", FINDING_TEXT_LABEL, label, command);
	for (size_t i = 0; i < opts->pid_count; i++)
		out_printf(out, "%s%d%s", i ? "," : "-p ", (int)opts->pids[i], i + 1 < opts->pid_count ? "" : " ");
	if (opts->gpu) {
		out_text(out, "--gpu ");
		human_print(out, PATH_COLUMNS, opts->gpu, strlen(opts->gpu));
		out_char(out, ' ');
	}
	human_print(out, PATH_COLUMNS, file, strlen(file));
	out_char(out, '\n');
}

void report_next(struct out *out, const struct view *view, const struct sink_opts *opts)
{
	const char *failures = opts->dump ? opts->dump : had_failures(view) ? opts->recording : NULL;
	bool is_dump = opts->dump && opts->dump == opts->recording;
	bool has_tables = !opts->full && !is_dump && (view->proc_count || view->ended.count);

	if (failures)
		next_line(out, "NEXT", "gpumemtrace oom", opts, failures);
	if (has_tables && opts->recording)
		next_line(out, failures ? "" : "NEXT", "gpumemtrace report --full", opts, opts->recording);
	else if (has_tables)
		out_text(out, "--full prints the tables behind these numbers\n");
}
