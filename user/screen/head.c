// SPDX-License-Identifier: BSD-2-Clause
/*
 * The upper part of the screen: what is traced, how full the GPUs are, and what frameworks hold.
 *
 *   python train.py  pid 4242  on node17  attached 2m 23s  10:17:23 UTC                q quit  ? help
 *   GPU 0   ████▓▓▓·········  46 % of 79.6 GiB  traced 1.8 GiB  others 34.9 GiB  ▁▂▃▄▅
 *           not traced: pid 77 (ollama): 32 GiB; pid 93 (Xorg): 2.9 GiB
 *   PyTorch reserved 64 MiB, tensors 57.6 MiB (at most 60.4 MiB)  before the attach 576 MiB  iteration 71
 *         kept over iterations 49.2 MiB  optimizer 3.0 MiB
 */
#include <stdlib.h>
#include <string.h>

#include "base/human.h"
#include "base/out.h"
#include "base/xalloc.h"
#include "screen/screen.h"
#include "screen/state.h"
#include "sink/text/neighbour_text.h"
#include "sink/text/text.h"

#define LABEL 8              /* columns of the word in front, as in the findings */
#define NAME_PART 4          /* a quarter of the line for the name of the process */
#define HINT "  q quit  ? help"
#define GPUS_PART 6          /* a sixth of the lines for GPUs, at least GPUS_LEAST */
#define GPUS_LEAST 2
#define BAR_PART 5           /* of the width */
#define BAR_PART_NARROW 8
#define BAR_LEAST 10
#define BAR_MOST 40
#define SPARK_LEAST 6
#define WIDE 120             /* columns from which on more numbers fit, and the name of the GPU */
#define WIDEST 160
#define WIDE_ENOUGH 100      /* for the host */
#define PERCENT 100
#define PERCENT_MOST 999
#define NEIGHBOURS_NAMED 5   /* at most */
#define FRAMEWORK_PART 6     /* a sixth of the lines for a framework, at most */

/* ---- what is traced ---- */

/* The process that the picture is about; NULL: several, or none. */
static const struct view_proc *only_process(const struct picture *p)
{
	const struct view_proc *found = NULL;

	if (p->proc != TABLE_ALL_PROCS)
		return &p->view->procs[p->proc];
	for (size_t i = 0; i < p->view->proc_count; i++)
		if (!p->view->procs[i].exited)
			found = &p->view->procs[i];
	return p->running == 1 ? found : NULL;
}

static uint64_t time_since(uint64_t now_ns, uint64_t then_ns)
{
	return now_ns > then_ns ? now_ns - then_ns : 0;
}

static void print_subjects(struct out *line, const struct picture *p)
{
	const struct view *view = p->view;
	const struct view_proc *proc = only_process(p);
	uint64_t now_ns = p->scene->now_ns;

	if (proc) {
		text_command(line, p->width / NAME_PART, proc);
		out_printf(line, "  pid %u", proc->tgid);
	} else {
		out_printf(line, "gpumemtrace: %zu %s", p->running, human_plural(p->running, "process", "processes"));
	}
	if (proc && proc->exited)
		out_printf(line, "  %s", text_exit(proc->exit_code).s);
	else
		out_printf(line, "  attached %s",
			   human_duration(time_since(now_ns, proc ? proc->attach_ts_ns : view->start_ns)).s);
	if (view->wall_start_ns)
		out_printf(line, "  %s UTC", text_clock(view, now_ns).s);
	if (view->marks)
		out_printf(line, "  mark %s", text_when(view, view->mark_ns).s);
	if (view->session.host[0] && p->width >= WIDE_ENOUGH)
		out_printf(line, "  on %.64s", (const char *)view->session.host);
}

void head_draw(struct picture *p)
{
	unsigned int hint = p->width > strlen(HINT) + LABEL && p->screen->has_keys ? (unsigned int)strlen(HINT) : 0;
	const char *state = p->screen->is_paused ? "  PAUSED" : "";
	unsigned int used;
	struct out line;
	char *text;

	out_init_mem(&line);
	print_subjects(&line, p);
	text = out_take(&line);
	used = p->width - hint > strlen(state) ? p->width - hint - (unsigned int)strlen(state) : 0;
	used = curses_put_marked(p->curses, p->y, 0, used, STYLE_BOLD, text);
	curses_put(p->curses, p->y, used, p->width - used, STYLE_YELLOW, state);
	curses_put(p->curses, p->y, p->width - hint, hint, STYLE_DIM, hint ? HINT : "");
	p->y++;
	free(text);
}

/* ---- GPUs ---- */

struct segment {
	uint64_t bytes;
	enum curses_style style;
	const char *utf8, *ascii;
	bool has_least;          /* at least one column, if there is anything */
};

/* Draws a part of the bar from column `from` on. Returns its end. */
static unsigned int draw_segment(struct picture *p, const struct segment *s, uint64_t total, unsigned int from,
				 unsigned int end, unsigned int columns)
{
	double share = s->bytes < total ? (double)s->bytes / (double)total : 1;
	unsigned int length = (unsigned int)(share * columns + 0.5);

	length = s->has_least && s->bytes && !length ? 1 : length;
	for (; length && from < end; length--, from++)
		curses_put(p->curses, p->y, from, 1, s->style, curses_has_utf8(p->curses) ? s->utf8 : s->ascii);
	return from;
}

/* The traced processes in turn, the others and the driver, then what is free. */
static void draw_bar(struct picture *p, int gpu, const struct table_gpu *use, unsigned int x, unsigned int columns)
{
	static const struct segment own[2] = { { 0, STYLE_GREEN, "█", "#", true }, { 0, STYLE_CYAN, "▓", "=", true } };
	struct segment others = { use->others + use->rest, STYLE_YELLOW, "▒", "o", false };
	struct segment open = { UINT64_MAX, STYLE_DIM, "·", ".", false };
	unsigned int end = x + columns, turn = 0;

	for (size_t i = 0; i < p->view->proc_count; i++) {
		const struct view_proc *proc = &p->view->procs[i];

		for (size_t r = 0; r < proc->row_count && !proc->exited; r++) {
			struct segment segment = own[turn % 2];

			if (proc->rows[r].gpu != gpu)
				continue;
			segment.bytes = view_holds(proc, &proc->rows[r]);
			x = draw_segment(p, &segment, use->total, x, end, columns);
			turn++;
		}
	}
	x = draw_segment(p, &others, use->total, x, end, columns);
	draw_segment(p, &open, use->total, x, end, columns);
}

/* Of what a recording says: it may say anything. */
static unsigned int percent_of(uint64_t used, uint64_t total)
{
	double percent = (double)used / (double)total * PERCENT + 0.5;

	return percent < PERCENT_MOST ? (unsigned int)percent : PERCENT_MOST;
}

/* CUDA's number of the GPU in the only process that runs on it, if the numbers differ. */
static void print_ordinal(struct out *line, const struct picture *p, int gpu)
{
	const struct view_row *only = NULL;
	unsigned int count = 0;

	for (size_t i = 0; i < p->view->proc_count; i++) {
		const struct view_proc *proc = &p->view->procs[i];

		for (size_t r = 0; r < proc->row_count && !proc->exited; r++) {
			if (proc->rows[r].gpu != gpu)
				continue;
			only = &proc->rows[r];
			count++;
		}
	}
	if (count == 1 && text_ordinal(p->view, only).s[0])
		out_printf(line, "  cuda:%u", only->ordinal);
}

static void print_use(struct out *line, const struct picture *p, const struct view_gpu *g, const struct table_gpu *use)
{
	uint64_t used = use->traced + use->others + use->rest;

	if (use->total)
		out_printf(line, "%3u %% of %s", percent_of(used, use->total), human_bytes(use->total).s);
	if (use->has_others)
		out_printf(line, "  free %s", human_bytes(use->free).s);
	/* The tables say what is traced. */
	if (!use->has_others || p->width >= WIDE)
		out_printf(line, "  traced %s", human_bytes(use->traced).s);
	if (!use->has_others)
		out_text(line, "  others ?");
	else
		out_printf(line, "  others %s", human_bytes(use->others).s);
	if (p->width < WIDE)
		return;
	if (use->has_others)
		out_printf(line, "  driver %s", human_bytes(use->rest).s);
	if (g->name[0] && p->width >= WIDEST)
		out_printf(line, "  %.32s", g->name);
}

static unsigned int bar_columns(unsigned int width)
{
	unsigned int columns = width / (width < WIDE ? BAR_PART_NARROW : BAR_PART);

	return columns < BAR_LEAST ? BAR_LEAST : columns > BAR_MOST ? BAR_MOST : columns;
}

static void draw_gpu(struct picture *p, int gpu)
{
	const struct view_gpu *g = &p->view->gpus[gpu];
	unsigned int x = LABEL, bar = bar_columns(p->width);
	struct table_gpu use;
	struct out line;
	char *text;

	table_gpu_use(p->view, gpu, &use);
	out_init_mem(&line);
	out_printf(&line, "GPU %s", text_gpu(p->view, gpu).s);
	text = out_take(&line);
	curses_put(p->curses, p->y, 0, LABEL, STYLE_BOLD, text);
	free(text);
	if (use.total) {
		draw_bar(p, gpu, &use, x, bar);
		x += bar + 1;
	}
	out_init_mem(&line);
	print_use(&line, p, g, &use);
	print_ordinal(&line, p, gpu);
	text = out_take(&line);
	x += curses_put_marked(p->curses, p->y, x, p->width, STYLE_PLAIN, text) + 2;
	free(text);
	if (x + SPARK_LEAST <= p->width) {
		out_init_mem(&line);
		spark_print(&line, &p->screen->sparks, g->uuid, p->width - x, curses_has_utf8(p->curses));
		text = out_take(&line);
		curses_put(p->curses, p->y, x, p->width - x, STYLE_GREEN, text);
		free(text);
	}
	p->y++;
}

static bool is_gpu_shown(const struct picture *p, int gpu, bool is_used)
{
	struct table_gpu use;

	if (p->gpu >= 0)
		return is_used && gpu == p->gpu;
	table_gpu_use(p->view, gpu, &use);
	return (use.processes > 0) == is_used;
}

/* As many names as the line has room for. */
static void draw_neighbours(struct picture *p, int gpu)
{
	const struct view_gpu *g = &p->view->gpus[gpu];
	struct out line;
	char *text;

	for (size_t named = NEIGHBOURS_NAMED; named; named--) {
		out_init_mem(&line);
		out_printf(&line, "%*snot traced: ", LABEL, "");
		neighbour_text_list(&line, g, named);
		text = out_take(&line);
		if (named == 1 || strlen(text) <= p->width) {
			line_text(p, STYLE_PLAIN, text);
			named = 1;
		}
		free(text);
	}
}

/* Where few GPUs are used, who else is on them has room. */
static bool has_neighbour_lines(const struct picture *p, unsigned int most)
{
	unsigned int used = 0;

	for (int gpu = 0; gpu < (int)p->view->gpu_count; gpu++)
		used += is_gpu_shown(p, gpu, true);
	return used <= most;
}

/* Those that traced processes use come first. */
void gpus_draw(struct picture *p)
{
	unsigned int most = p->bottom / GPUS_PART < GPUS_LEAST ? GPUS_LEAST : p->bottom / GPUS_PART, shown = 0;
	unsigned int all = 0;
	bool has_neighbours = has_neighbour_lines(p, most);

	for (int turn = 0; turn < 2; turn++) {
		for (int gpu = 0; gpu < (int)p->view->gpu_count; gpu++) {
			if (!is_gpu_shown(p, gpu, turn == 0))
				continue;
			all++;
			if (shown >= most || p->y >= p->bottom)
				continue;
			draw_gpu(p, gpu);
			shown++;
			if (has_neighbours && turn == 0 && p->view->gpus[gpu].neighbour_count)
				draw_neighbours(p, gpu);
		}
	}
	if (all > shown) {
		struct out line;

		out_init_mem(&line);
		out_printf(&line, "        and %u more %s", all - shown, human_plural(all - shown, "GPU", "GPUs"));
		line_put(p, STYLE_DIM, &line);
	}
}

/* ---- frameworks ---- */

/* What a process holds on a GPU. */
struct holding {
	size_t proc;             /* in view.procs */
	const struct view_row *row;
};

static void print_purposes(struct out *line, const struct picture *p, const struct holding *h)
{
	struct table_ask ask = { TABLE_CATEGORIES, VIEW_BY_LIVE, h->row->gpu, h->proc };
	struct table table;

	table_build(p->view, &ask, &table);
	for (size_t i = 0; i < table.count && table.rows[i].held.live; i++) {
		out_text(line, i ? "  " : "");
		row_name(line, p, &table.rows[i], TABLE_CATEGORIES, p->width);
		out_printf(line, " %s", human_bytes(table.rows[i].held.live).s);
	}
	table_free(&table);
}

/* Makes one line of lines. */
static void join_lines(char *text)
{
	char *to = text;

	for (const char *at = text; *at;) {
		if (*at != '\n') {
			*to++ = *at++;
			continue;
		}
		at++;
		at += strspn(at, " ");   /* the indent, of more than a blank */
		if (*at) {
			*to++ = ' ';
			*to++ = ' ';
		}
	}
	*to = '\0';
}

/* Writes at most so many lines of a text, which is taken; the last one has the rest, which is cut. */
static void put_lines(struct picture *p, char *text, unsigned int most)
{
	char *rest = text;

	for (; most > 1 && *rest; most--)
		line_text(p, STYLE_PLAIN, strsep(&rest, "\n"));
	join_lines(rest);
	if (*rest)
		line_text(p, STYLE_PLAIN, rest);
	free(text);
}

static void draw_framework(struct picture *p, const struct holding *h)
{
	const struct view_torch *t = &h->row->torch;
	struct human ordinal = text_ordinal(p->view, h->row);
	struct out line, categories, lines;
	char *text;

	out_init_mem(&line);
	if (p->running > 1)
		out_printf(&line, "pid %u%s", p->view->procs[h->proc].tgid, ordinal.s[0] ? " " : "");
	if (p->running > 1 && !ordinal.s[0])
		out_printf(&line, " GPU %s", text_gpu(p->view, h->row->gpu).s);
	out_printf(&line, "%s%s", ordinal.s, p->running > 1 || ordinal.s[0] ? "  " : "");
	out_printf(&line, "reserved %s, tensors %s (at most %s)", human_bytes(t->reserved.live).s,
		   human_bytes(t->allocated.live).s, human_bytes(t->allocated.peak).s);
	if (h->row->before_attach)
		out_printf(&line, "  before the attach %s", human_bytes(h->row->before_attach).s);
	if (t->training.is_training)
		out_printf(&line, "  iteration %u", t->training.iteration);
	out_init_mem(&categories);
	print_purposes(&categories, p, h);
	out_init_mem(&lines);
	/* A line that is too long goes on in the line of the categories. */
	if (categories.size && LABEL + line.size <= p->width) {
		text_wrap(&lines, gmt_framework_text(t->framework), LABEL, p->width, &line);
		text_wrap(&lines, "", LABEL, p->width, &categories);
	} else {
		text = out_take(&categories);
		out_printf(&line, "%s%s", *text ? "  " : "", text);
		free(text);
		text_wrap(&lines, gmt_framework_text(t->framework), LABEL, p->width, &line);
	}
	put_lines(p, out_take(&lines), lines_part(p, FRAMEWORK_PART, 1));
}

static int by_reserved(const void *left, const void *right)
{
	const struct holding *a = left, *b = right;
	uint64_t x = a->row->torch.reserved.live, y = b->row->torch.reserved.live;

	if (x != y)
		return x < y ? 1 : -1;
	return a->row < b->row ? -1 : a->row > b->row;
}

/* The greatest first. */
void frameworks_draw(struct picture *p)
{
	unsigned int most = p->bottom / GPUS_PART / 2;
	struct holding *list = NULL;
	size_t count = 0;

	for (size_t i = 0; i < p->view->proc_count; i++) {
		const struct view_proc *proc = &p->view->procs[i];

		if (p->proc == TABLE_ALL_PROCS ? proc->exited : p->proc != i)
			continue;
		for (size_t r = 0; r < proc->row_count; r++) {
			if (!proc->rows[r].torch.seen || (p->gpu != TABLE_ALL_GPUS && p->gpu != proc->rows[r].gpu))
				continue;
			list = xgrow(list, count, sizeof(*list));
			list[count++] = (struct holding){ i, &proc->rows[r] };
		}
	}
	if (count)
		qsort(list, count, sizeof(*list), by_reserved);
	for (size_t i = 0; i < count && i < (most ? most : 1); i++)
		draw_framework(p, &list[i]);
	free(list);
}
