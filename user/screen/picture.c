// SPDX-License-Identifier: BSD-2-Clause
/*
 * The picture as a whole: the answer above, the table below the answer, and the program's messages at the bottom. Each
 * part takes the lines that it needs; the table takes what is left.
 */
#include <stdlib.h>
#include <string.h>

#include "base/count.h"
#include "base/human.h"
#include "base/out.h"
#include "screen/screen.h"
#include "screen/state.h"
#include "sink/report/report.h"
#include "sink/sink.h"
#include "sink/text/text.h"

#define WARNINGS_PART 6          /* a sixth of the lines, at most */
#define TABLE_LEAST 5            /* lines: the answer leaves these to the table */

/* ---- warnings ---- */

static void draw_warnings(struct picture *p)
{
	struct sink_opts opts = { 0 };
	struct out out;

	out_init_mem(&out);
	report_warnings(&out, p->view, &opts, p->width);
	lines_put(p, STYLE_RED, out_take(&out), lines_part(p, WARNINGS_PART, 1), "");
}

/* ---- the bottom ---- */

/* The keys, as many as have room: the help has them all. */
static void print_keys(struct out *out, const struct screen *s, unsigned int width)
{
	static const char *const keys[] = {
		"/:filter", "Enter:open", "f:findings", "o:last OOM", "d:dump file", "g:GPU", "p:pid", "m:mark",
		"Space:pause",
	};
	size_t used;

	if (s->is_paused)
		out_text(out, "Space:go on ");
	out_printf(out, "s:sort(%s)", s->order == VIEW_BY_LIVE ? "now" : view_order_name(s->order));
	used = out->size;
	for (size_t i = 0; i < COUNT(keys) - s->is_paused; i++) {
		used += 1 + strlen(keys[i]);
		if (used > width)
			return;
		out_printf(out, " %s", keys[i]);
	}
}

static void draw_hints(struct picture *p)
{
	const struct screen *s = p->screen;
	struct out out;
	char *text;

	if (!s->has_keys || p->bottom < 2)
		return;
	out_init_mem(&out);
	if (s->is_filtering)
		out_text(&out, "type a part of a name  Enter:keep Esc:no filter");
	else if (s->reader.title || s->wants_finding)
		out_printf(&out, "Up Down PageUp PageDown:scroll %sany other key:back",
			   s->finding || s->wants_finding ? "f:next " : "");
	else
		print_keys(&out, s, p->width);
	text = out_take(&out);
	curses_put_marked(p->curses, --p->bottom, 0, p->width, STYLE_DIM, text);
	free(text);
}

/* What the command asks may need an answer. */
static void draw_output(struct picture *p)
{
	struct out out;
	char *text;

	if (!p->scene->output || p->bottom < 2)
		return;
	out_init_mem(&out);
	out_printf(&out, "output: %s", p->scene->output);
	text = out_take(&out);
	curses_put_marked(p->curses, --p->bottom, 0, p->width, STYLE_CYAN, text);
	free(text);
}

/* ---- texts that are read ---- */

static const char *skip_lines(const char *text, size_t count)
{
	while (count-- && *text) {
		text += strcspn(text, "\n");
		text += *text == '\n';
	}
	return text;
}

static void draw_reader(struct picture *p, struct reader *reader)
{
	size_t lines = human_lines(reader->text), page = p->bottom > p->y + 1 ? p->bottom - p->y - 1 : 0, last;
	const char *at;

	last = lines > page ? lines - page : 0;
	reader->top = reader->top < last ? reader->top : last;
	p->screen->page = page;
	line_text(p, STYLE_REVERSE, reader->title);
	at = skip_lines(reader->text, reader->top);
	while (*at && p->y < p->bottom) {
		size_t size = strcspn(at, "\n");
		char *line = strndup(at, size);

		line_text(p, STYLE_PLAIN, line ? line : "");
		free(line);
		at += size + (at[size] == '\n');
	}
}

/* ---- all of it ---- */

/* What the person chose, in this view; a GPU or a process that is not there any more is not chosen. */
static void find_choice(struct picture *p)
{
	struct screen *s = p->screen;

	p->gpu = TABLE_ALL_GPUS;
	p->proc = TABLE_ALL_PROCS;
	for (size_t i = 0; s->has_gpu && i < p->view->gpu_count; i++)
		if (!memcmp(p->view->gpus[i].uuid, s->gpu_uuid, sizeof(s->gpu_uuid)))
			p->gpu = (int)i;
	for (size_t i = 0; s->has_proc && i < p->view->proc_count; i++)
		if (p->view->procs[i].tgid == s->tgid && p->view->procs[i].attach_ts_ns == s->attach_ts_ns)
			p->proc = i;
	for (size_t i = 0; i < p->view->proc_count; i++)
		p->running += !p->view->procs[i].exited;
	if (!s->has_chosen_table)
		s->table = table_has(p->view, TABLE_LINES) ? TABLE_LINES : TABLE_PROCESSES;
}

/* The next GPU behind the chosen one that any process uses; behind the last one, all. */
static void choose_next_gpu(struct picture *p)
{
	struct screen *s = p->screen;

	s->wants_gpu = false;
	for (int gpu = p->gpu == TABLE_ALL_GPUS ? 0 : p->gpu + 1; gpu < (int)p->view->gpu_count; gpu++) {
		struct table_gpu use;

		table_gpu_use(p->view, gpu, &use);
		if (!use.processes)
			continue;
		memcpy(s->gpu_uuid, p->view->gpus[gpu].uuid, sizeof(s->gpu_uuid));
		s->has_gpu = true;
		p->gpu = gpu;
		return;
	}
	s->has_gpu = false;
	p->gpu = TABLE_ALL_GPUS;
}

static void choose_next_process(struct picture *p)
{
	struct screen *s = p->screen;

	s->wants_proc = false;
	for (size_t i = p->proc == TABLE_ALL_PROCS ? 0 : p->proc + 1; i < p->view->proc_count; i++) {
		if (p->view->procs[i].exited || !p->view->procs[i].row_count)
			continue;
		s->tgid = p->view->procs[i].tgid;
		s->attach_ts_ns = p->view->procs[i].attach_ts_ns;
		s->has_proc = true;
		p->proc = i;
		return;
	}
	s->has_proc = false;
	p->proc = TABLE_ALL_PROCS;
}

static void draw_answer(struct picture *p)
{
	unsigned int bottom = p->bottom;

	if (bottom > TABLE_LEAST + 1)
		p->bottom = bottom - TABLE_LEAST;
	gpus_draw(p);
	frameworks_draw(p);
	findings_draw(p);
	draw_warnings(p);
	p->bottom = bottom;
}

void screen_draw(struct screen *s, const struct screen_scene *scene, struct out *out)
{
	struct picture p = {
		.screen = s, .scene = scene, .view = scene->view, .curses = s->curses, .width = curses_width(s->curses),
		.bottom = curses_height(s->curses), .gpu = TABLE_ALL_GPUS, .proc = TABLE_ALL_PROCS,
	};

	s->drawn_ns = scene->now_ns;
	curses_clear(s->curses);
	draw_hints(&p);
	draw_output(&p);
	messages_draw(&p);
	if (p.view)
		find_choice(&p);
	if (p.view && s->wants_finding)
		finding_open(&p);
	if (s->reader.title) {
		draw_reader(&p, &s->reader);
	} else if (p.view) {
		if (s->wants_gpu)
			choose_next_gpu(&p);
		if (s->wants_proc)
			choose_next_process(&p);
		head_draw(&p);
		draw_answer(&p);
		table_draw(&p);
	}
	curses_draw(s->curses, out);
}
