/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The live table. A frame is built whole and written at once: cursor home, each line over the old one, and the rest of
 * the screen erased. So nothing flickers, and the next frame after a resize is right. Between start and stop the table
 * is on the alternate screen, with wrapping off and the cursor hidden.
 *
 *     PID  GPU     LIVE     PEAK  PEAK AT PHYSICAL     NVML       RATE COMMAND
 *    4242    0  1.8 GiB  1.9 GiB 10:16:12  2.3 GiB  2.3 GiB  1.5 GiB/s python train.py
 *
 * Owners and stack traces stand below the table if there is room (term_stacks.c).
 */
#include <stdlib.h>

#include "base/xalloc.h"
#include "base/human.h"
#include "base/out.h"
#include "sink/formats/columns.h"
#include "sink/formats/processes.h"
#include "sink/formats/term_stacks.h"
#include "sink/oom/oom_sinks.h"
#include "sink/records/record_text.h"
#include "sink/report/report.h"
#include "sink/sink.h"
#include "sink/text/text.h"

#define DEFAULT_WIDTH 100
#define DEFAULT_HEIGHT 24
#define TOTALS_MAX 8        /* lines of GPU totals: a machine with many MIG instances has more */

/* ---- what stands above the table ---- */

static void head_line(struct out *out, const struct view *view, const struct sink_opts *opts)
{
	const struct gmt_session *s = &view->session;
	struct out line;

	out_init_mem(&line);
	out_printf(&line, "gpumemtrace %s", human_duration(view->now_ns - view->start_ns).s);
	if (view->wall_start_ns)
		out_printf(&line, "  %s UTC", text_when(view, view->now_ns).s);
	if (view->marks)
		out_printf(&line, "  since the mark at %s", text_when(view, view->mark_ns).s);
	out_printf(&line, "  layers: %s", text_layers(s->layers).s);
	if (s->host[0])
		out_printf(&line, "  %.64s", s->host);
	if (s->driver[0])
		out_printf(&line, "  driver %.64s", s->driver);
	if (s->kernel[0])
		out_printf(&line, "  Linux %.64s", s->kernel);
	text_line(out, opts, TEXT_BOLD, &line);
}

struct total {
	uint64_t live, physical, nvml;
	bool physical_known, nvml_known;
	unsigned processes;
};

static struct total total_of(const struct view *view, int gpu)
{
	struct total total = { .physical_known = true, .nvml_known = true };

	for (size_t p = 0; p < view->proc_count; p++) {
		for (size_t r = 0; r < view->procs[p].row_count; r++) {
			const struct view_row *row = &view->procs[p].rows[r];

			if (row->gpu != gpu || view->procs[p].exited)
				continue;
			total.processes++;
			total.live += row->attributed.live;
			total.physical += row->physical.live;
			total.nvml += row->nvml;
			total.physical_known &= row->has_physical;
			total.nvml_known &= row->has_nvml;
		}
	}
	return total;
}

static void total_line(struct out *out, const struct view *view, const struct sink_opts *opts, int gpu)
{
	struct total total = total_of(view, gpu);
	const struct view_gpu *g = gpu >= 0 ? &view->gpus[gpu] : NULL;
	struct out line;

	out_init_mem(&line);
	out_printf(&line, "GPU %-4s live %-8s", text_gpu(view, gpu).s, human_bytes(total.live).s);
	out_printf(&line, " physical %-8s", total.physical_known ? human_bytes(total.physical).s : "?");
	out_printf(&line, " NVML %-8s", total.nvml_known ? human_bytes(total.nvml).s : "?");
	if (g && g->total_bytes)
		out_printf(&line, " of %-8s", human_bytes(g->total_bytes).s);
	out_printf(&line, " %u %s", total.processes, human_plural(total.processes, "process", "processes"));
	if (g && g->name[0])
		out_printf(&line, "  %.96s", g->name);
	text_line(out, opts, TEXT_PLAIN, &line);
}

/* Prints a line for each GPU that traced processes use. */
static void total_lines(struct out *out, const struct view *view, const struct sink_opts *opts)
{
	unsigned used = 0;

	for (int gpu = VIEW_GPU_UNKNOWN; gpu < (int)view->gpu_count; gpu++)
		if (total_of(view, gpu).processes && used++ < TOTALS_MAX)
			total_line(out, view, opts, gpu);
	if (used > TOTALS_MAX)
		text_format(out, opts, TEXT_PLAIN, "and %u more %s", used - TOTALS_MAX,
			    human_plural(used - TOTALS_MAX, "GPU", "GPUs"));
}

/* ---- the table ---- */

static uint64_t weigh_process(const struct view_proc *proc)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < proc->row_count; i++)
		sum += view_weight(&proc->rows[i]);
	return sum;
}

/* Running processes come first, in order of appearance (the order of the view's array), so that lines stay in place. */
static int by_appearance(const void *a, const void *b)
{
	const struct view_proc *p = *(const struct view_proc *const *)a,
			       *q = *(const struct view_proc *const *)b;

	if (p->exited != q->exited)
		return p->exited ? 1 : -1;
	return p < q ? -1 : p > q;
}

/* The order if not all lines fit: the largest on top. */
static int by_weight(const void *a, const void *b)
{
	const struct view_proc *p = *(const struct view_proc *const *)a,
			       *q = *(const struct view_proc *const *)b;
	uint64_t x = weigh_process(p), y = weigh_process(q);

	return p->exited != q->exited || x == y ? by_appearance(a, b) : x < y ? 1 : -1;
}

static size_t collect_entries(const struct view *now, const struct view *previous, unsigned lines,
			      struct entry **entries)
{
	const struct view_proc **procs = xcalloc(now->proc_count, sizeof(const struct view_proc *));
	size_t count = 0, used = 0;

	for (size_t i = 0; i < now->proc_count; i++) {
		procs[i] = &now->procs[i];
		count += procs[i]->row_count ? procs[i]->row_count : 1;
	}
	qsort(procs, now->proc_count, sizeof(*procs), count <= lines ? by_appearance : by_weight);
	*entries = xcalloc(count, sizeof(**entries));
	for (size_t i = 0; i < now->proc_count; i++) {
		size_t row = 0;

		do {
			struct entry *e = &(*entries)[used++];

			*e = (struct entry){ .view = now, .proc = procs[i], .first = row == 0 };
			if (row == procs[i]->row_count)
				continue;
			e->row = &procs[i]->rows[row];
			text_sum(e->row, &e->sum);
			if (!procs[i]->exited)
				e->rate = text_rate(now, procs[i], e->row, previous);
		} while (++row < procs[i]->row_count);
	}
	free(procs);
	return used;
}

/* Returns how many lines the table has below its head. */
static unsigned draw_table(struct out *out, const struct view *now, const struct view *previous,
			   const struct sink_opts *opts, unsigned lines)
{
	struct entry *entries;
	size_t count = collect_entries(now, previous, lines, &entries);
	size_t shown = count <= lines ? count : lines > 1 ? lines - 1 : 0;
	struct layout layout = columns_layout(now, opts->width);
	struct out line;

	out_init_mem(&line);
	columns_head(&line, &layout);
	text_line(out, opts, TEXT_BOLD, &line);
	for (size_t i = 0; i < shown; i++) {
		out_init_mem(&line);
		columns_line(&line, &layout, &entries[i]);
		text_line(out, opts, entries[i].proc->exited ? TEXT_DIM : TEXT_PLAIN, &line);
	}
	if (shown < count && lines)
		text_format(out, opts, TEXT_PLAIN, "%7s and %zu more", "...", count - shown);
	if (!count)
		text_format(out, opts, TEXT_PLAIN, "      - no process has used CUDA yet");
	free(entries);
	return (unsigned)shown + (shown < count || !count);
}

static void draw_frame(struct out *out, const struct view *now, const struct view *previous,
		       const struct sink_opts *opts)
{
	struct sink_opts full = *opts;
	struct out above;
	unsigned lines, used = 2; /* the table's head; and an empty last line, where a newline would scroll */
	char *text;

	full.width = opts->width ? opts->width : DEFAULT_WIDTH;
	out_init_mem(&above);
	head_line(&above, now, &full);
	total_lines(&above, now, &full);
	/* Losses stay visible in a small window: warnings come before the table. */
	report_warnings(&above, now, &full);
	text = out_take(&above);
	for (const char *c = text; *c; c++)
		used += *c == '\n';
	out_printf(out, "\033[H%s", text);
	free(text);
	lines = opts->height ? opts->height : DEFAULT_HEIGHT;
	lines = lines > used ? lines - used : 0;
	used = draw_table(out, now, previous, &full, lines);
	term_stacks(out, now, &full, lines > used ? lines - used : 0);
	out_text(out, "\033[J");
}

/* DEC private modes as xterm has them: 1049 alternate screen, 25 cursor, 7 wrapping. */
static void enter_screen(struct out *out, const struct sink_opts *opts)
{
	(void)opts;
	out_text(out, "\033[?1049h\033[?25l\033[?7l");
}

static void leave_screen(struct out *out, const struct sink_opts *opts)
{
	(void)opts;
	out_text(out, "\033[?7h\033[?25h\033[?1049l");
}

const struct sink sink_term = {
	.name = "term",
	.needs_terminal = true,
	.start = enter_screen,
	.live = draw_frame,
	.stop = leave_screen,
	.report = report_print,
	.oom = oom_print_next,
	.no_oom = oom_print_none,
	.oom_row = oom_print_row,
	.record = record_print,
	.doctor = doctor_print,
	.list = list_print,
	.processes = processes_print,
};
