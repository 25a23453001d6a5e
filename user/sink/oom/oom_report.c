// SPDX-License-Identifier: BSD-2-Clause
/*
 * Prints a failed request for people: the verdict (oom_text.c) and who held the GPU's memory. With opts->full the
 * stack trace of the request follows, then a table of the processes, and for each process the memory by owner and by
 * stack trace, with recent and steady growth.
 *
 *     GPU 0  NVIDIA H100 80GB HBM3       HELD  BY CALLS     OTHER  RESERVED    IN USE  LARGEST GAP
 *     4242 python train.py           70.1 GiB  69.5 GiB   600 MiB    69 GiB    58 GiB      1.9 GiB
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "base/human.h"
#include "base/out.h"
#include "sink/oom/oom_sinks.h"
#include "sink/report/report.h"
#include "sink/sink.h"
#include "sink/text/neighbour_text.h"
#include "sink/text/stack_text.h"
#include "sink/text/text.h"

#define LABEL_COLUMNS 30
#define LINES_MOST 40
#define FRAME_INDENT 6
#define FILE_COLUMNS 400

/* ---- the request ---- */

static void asked_by(struct out *out, const struct oom_view *v, size_t index, const char *how,
		     const struct sink_opts *opts, struct report_numbers *numbers)
{
	const struct view_stack *stack;

	if (index == OOM_VIEW_NONE)
		return;
	stack = &v->view.stacks[index];
	numbers->of_stack[index] = ++numbers->last;
	out_printf(out, "\n  %s #%u  ", how, numbers->last);
	stack_text_head(out, &v->view, stack);
	out_char(out, '\n');
	if (stack->state == VIEW_STACK_NAMED)
		stack_text_frames(out, &v->view, stack, opts->full_stacks, FRAME_INDENT);
}

/* ---- the processes that held memory ---- */

static void row_label(struct out *out, const struct view_proc *p)
{
	char text[320];

	snprintf(text, sizeof(text), "%u %s", p->tgid, p->cmdline[0] ? p->cmdline : p->comm);
	out_text(out, "    ");
	out_pad(out, LABEL_COLUMNS - (int)human_print(out, LABEL_COLUMNS, text, sizeof(text)));
}

static void row_line(struct out *out, const struct view_proc *p, const struct view_row *row, uint64_t held)
{
	const struct view_torch *t = &row->torch;
	uint64_t calls = row->attributed.live;

	row_label(out, p);
	out_printf(out, "%10s%10s%10s", human_bytes(held).s, human_bytes(calls).s,
		   human_signed_bytes((int64_t)(held - calls)).s + (held > calls));
	if (t->seen)
		out_printf(out, "%10s%10s%13s", human_bytes(t->reserved.live).s, human_bytes(t->allocated.live).s,
			   t->gap_known ? human_bytes(t->largest_free_gap).s : "?");
	out_char(out, '\n');
}

static void plain_line(struct out *out, const char *label, uint64_t bytes)
{
	out_printf(out, "    %-*s%10s\n", LABEL_COLUMNS, label, human_bytes(bytes).s);
}

static void neighbour_lines(struct out *out, const struct view_gpu *g)
{
	for (size_t i = 0; i < g->neighbour_count; i++) {
		const struct view_neighbour *n = &g->neighbours[i];
		char text[64];

		snprintf(text, sizeof(text), "%u %s", n->tgid, n->comm[0] ? n->comm : "(name unknown)");
		out_text(out, "    ");
		out_pad(out, LABEL_COLUMNS - (int)human_print(out, LABEL_COLUMNS, text, sizeof(text)));
		out_printf(out, "%10s  not traced\n", human_bytes(n->bytes).s);
	}
	if (g->more_neighbours)
		plain_line(out, "other processes, not traced", g->more_bytes);
}

/* The processes of the picture on one GPU. */
static void print_holders(struct out *out, const struct oom_view *v, int gpu, const struct sink_opts *opts)
{
	static const char *const frees[] = {
		[OOM_FREE_TOLD] = "free", [OOM_FREE_COMPUTED] = "free, at most", [OOM_FREE_REFUSED] = "free, less than",
	};
	const struct view_gpu *g = gpu >= 0 ? &v->view.gpus[gpu] : NULL;
	const struct oom_facts *f = &v->facts;
	bool is_asked = f->is_of_gpu && gpu == v->gpu && v->rec.outcome != GMT_OOM_NONE;
	struct out head;
	char title[120];

	snprintf(title, sizeof(title), "GPU %s  %.80s", text_gpu(&v->view, gpu).s, g ? g->name : "unknown");
	out_char(out, '\n');
	out_init_mem(&head);
	out_printf(&head, "  %-*s%10s%10s%10s%10s%10s%13s", LABEL_COLUMNS + 2, title, "HELD", "BY CALLS", "OTHER",
		   "RESERVED", "IN USE", "LARGEST GAP");
	text_line(out, opts, TEXT_BOLD, &head);
	for (size_t i = 0; i < v->row_count; i++) {
		const struct oom_view_row *r = &v->rows[i];
		const struct view_row *row = oom_gpu_row(v, r);

		if (!r->is_blocks && row && row->gpu == gpu)
			row_line(out, &v->view.procs[r->proc], row, r->held);
	}
	if (g)
		neighbour_lines(out, g);
	if (is_asked && f->has_untraced)
		plain_line(out, g && g->neighbour_count ? "driver, and not listed" : "driver, and not traced",
			   f->unlisted);
	if (is_asked && f->has_free)
		plain_line(out, frees[f->has_free], f->free);
	if (g && g->total_bytes)
		plain_line(out, "total", g->total_bytes);
}

static void all_holders(struct out *out, const struct oom_view *v, const struct sink_opts *opts)
{
	for (int gpu = VIEW_GPU_UNKNOWN; gpu < (int)v->view.gpu_count; gpu++) {
		bool any = false;

		for (size_t i = 0; i < v->row_count && !any; i++) {
			const struct view_row *row = oom_gpu_row(v, &v->rows[i]);

			any = row && row->gpu == gpu;
		}
		if (any)
			print_holders(out, v, gpu, opts);
	}
}

static void print_host(struct out *out, const struct oom_view *v)
{
	bool any = false;

	for (size_t i = 0; i < v->row_count; i++) {
		const struct view_proc *p = &v->view.procs[v->rows[i].proc];

		if (v->rows[i].row != OOM_VIEW_NONE)
			continue;
		if (!any)
			out_printf(out, "\n  %-*s%10s%10s%12s%10s\n", LABEL_COLUMNS + 2, "host and managed memory",
				   "HELD", "PINNED", "REGISTERED", "MANAGED");
		any = true;
		row_label(out, p);
		out_printf(out, "%10s%10s%12s%10s\n", human_bytes(v->rows[i].held).s,
			   human_bytes(p->by_class[GMT_CLASS_PINNED].bytes.live).s,
			   human_bytes(p->by_class[GMT_CLASS_REGISTERED].bytes.live).s,
			   human_bytes(p->by_class[GMT_CLASS_MANAGED].bytes.live).s);
	}
}

/* ---- by owner and by stack ---- */

static void print_details(struct out *out, const struct oom_view *v, const struct oom_view_row *r,
			  const struct sink_opts *opts, struct report_numbers *numbers)
{
	const struct view_proc *p = &v->view.procs[r->proc];
	const struct view_row *row = oom_gpu_row(v, r);
	const struct view_stacks *s = !row ? &p->host_stacks : r->is_blocks ? &row->torch.stacks : &row->stacks;
	struct out head;
	char title[96];

	if (!view_has_stacks(s))
		return;
	out_char(out, '\n');
	out_init_mem(&head);
	if (row)
		out_printf(&head, "  process %u on GPU %s%s", p->tgid, text_gpu(&v->view, row->gpu).s,
			   r->is_blocks ? ": PyTorch's blocks" : "");
	else
		out_printf(&head, "  process %u in host and managed memory", p->tgid);
	text_line(out, opts, TEXT_BOLD, &head);
	report_stacks(out, &v->view, p, s, r->is_blocks ? NULL : row, opts, numbers);
	/* In a process that has just begun, everything is growth. */
	if (r->recent_ns > p->attach_ts_ns) {
		snprintf(title, sizeof(title), "stack traces by recent growth, since %s",
			 text_offset(&v->view, r->recent_ns).s);
		report_stack_list(out, &v->view, &r->recent, VIEW_BY_GROWN, title, opts, numbers);
	}
	snprintf(title, sizeof(title), "stack traces that have grown steadily since %s",
		 text_offset(&v->view, r->steady.since_ns).s);
	report_stack_list(out, &v->view, &r->steady, VIEW_BY_GROWN, title, opts, numbers);
	if (r->rest)
		out_printf(out, "\n    and %s more %s with %s\n", human_count(r->rest).s,
			   human_plural(r->rest, "stack trace", "stack traces"), human_bytes(r->rest_bytes).s);
}

static void print_oom_head(struct out *out, const struct oom_view *v, const struct sink_opts *opts)
{
	struct out head, wrapped;
	char *text, *rest, *line;

	out_init_mem(&head);
	oom_text_head(&head, v);
	out_init_mem(&wrapped);
	text_wrap(&wrapped, "", 0, TEXT_COLUMNS, &head);
	rest = text = out_take(&wrapped);
	while ((line = strsep(&rest, "\n")) && (*line || rest))
		text_format(out, opts, TEXT_BOLD, NULL, "%s", line);
	free(text);
}

static void print_sentences(struct out *out, const struct oom_view *v)
{
	struct out text;

	out_init_mem(&text);
	oom_say_changes(&text, v);
	if (v->rec.outcome != GMT_OOM_NONE && v->rec.outcome != GMT_OOM_RETRY) {
		out_text(&text, text.size ? " " : "");
		oom_say_outcome(&text, v);
	}
	out_char(out, '\n');
	text_wrap(out, "", 0, TEXT_COLUMNS, &text);
}

static void print_oom_tables(struct out *out, const struct oom_view *v, const struct sink_opts *opts)
{
	struct report_numbers numbers = { .of_stack = xcalloc(v->view.stack_count, sizeof(*numbers.of_stack)) };

	print_sentences(out, v);
	asked_by(out, v, v->stack, "requested by", opts, &numbers);
	asked_by(out, v, v->backward, "for the backward of", opts, &numbers);
	all_holders(out, v, opts);
	print_host(out, v);
	for (size_t i = 0; i < v->row_count; i++)
		print_details(out, v, &v->rows[i], opts, &numbers);
	free(numbers.of_stack);
}

void oom_print(struct out *out, const struct oom_view *v, const struct sink_opts *opts)
{
	const char *file = opts->file ? opts->file : opts->recording;
	char *command = file ? report_command("gpumemtrace oom --full", opts, file) : NULL;
	struct page page;

	page_init(&page, out, opts->full ? 0 : LINES_MOST, OOM_LABEL_COLUMNS, command);
	print_oom_head(page_part(&page, OOM_RANK_ANSWER, PAGE_DETAILS, 1), v, opts);
	oom_text_parts(&page, v, opts->file, TEXT_COLUMNS);
	oom_holders_parts(&page, v);
	page_end(&page);
	free(command);
	if (opts->full)
		print_oom_tables(out, v, opts);
}

void oom_print_next(struct out *out, const struct oom_view *v, const struct sink_opts *opts)
{
	if (opts->printed)
		out_char(out, '\n');
	if (v->rec.outcome != GMT_OOM_RETRY || opts->verbose) {
		oom_print(out, v, opts);
		return;
	}
	print_oom_head(out, v, opts);
	oom_text(out, v, opts->file, TEXT_COLUMNS);
}

void oom_print_none(struct out *out, const struct sink_opts *opts)
{
	if (opts->file) {
		human_print(out, FILE_COLUMNS, opts->file, strlen(opts->file));
		out_text(out, ": ");
	}
	out_text(out, "no request failed for lack of memory\n");
}
