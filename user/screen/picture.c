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
#include "base/xalloc.h"
#include "core/view/finding.h"
#include "screen/screen.h"
#include "screen/state.h"
#include "sink/report/report.h"
#include "sink/sink.h"
#include "sink/text/finding_text.h"
#include "sink/text/text.h"

#define FINDINGS_PART 3          /* a third of the lines, at most; a sixth for warnings and for messages */
#define OTHERS_PART 6
#define FINDINGS_LEAST 3
#define MESSAGES_LEAST 2
#define TABLE_LEAST 5            /* lines: the answer leaves these to the table */

static unsigned int part_of(const struct picture *p, unsigned int part, unsigned int least)
{
	unsigned int lines = p->bottom / part;

	return lines < least ? least : lines;
}

/* ---- findings and warnings ---- */

static bool is_chosen_finding(const struct picture *p, const struct finding *f)
{
	return (p->proc == TABLE_ALL_PROCS || f->proc == FINDING_NONE || f->proc == p->proc) &&
	       (p->gpu == TABLE_ALL_GPUS || f->row == FINDING_NONE || f->gpu == p->gpu);
}

/* The process and the GPU of a finding, where there are several. */
static void print_subject(struct out *out, const struct picture *p, const struct finding *f)
{
	if (f->proc == FINDING_NONE)
		return;
	if (p->view->proc_count > 1)
		out_printf(out, "  pid %u", p->view->procs[f->proc].tgid);
	if (f->row != FINDING_NONE && p->view->procs[f->proc].row_count > 1)
		out_printf(out, "  GPU %s", text_gpu(p->view, f->gpu).s);
}

/* The report's words. The lines below the first one are left out if they say what they have just said (*below). */
static void print_finding(struct out *out, const struct picture *p, const struct finding *f, char **below)
{
	struct sink_opts opts = { 0 };
	struct out words;
	char *text, *end;

	out_init_mem(&words);
	finding_text(&words, p->view, f, &opts);
	text = out_take(&words);
	end = text + strcspn(text, "\n");
	out_bytes(out, text, (size_t)(end - text));
	print_subject(out, p, f);
	out_text(out, *below && !strcmp(*below, end) ? "\n" : end);
	free(*below);
	*below = xstrdup(end);
	free(text);
}

static void draw_findings(struct picture *p)
{
	char *below = NULL;
	struct out out;

	out_init_mem(&out);
	for (size_t i = 0; i < p->view->finding_count; i++)
		if (is_chosen_finding(p, &p->view->findings[i]))
			print_finding(&out, p, &p->view->findings[i], &below);
	free(below);
	lines_put(p, STYLE_YELLOW, out_take(&out), part_of(p, FINDINGS_PART, FINDINGS_LEAST));
}

static void draw_warnings(struct picture *p)
{
	struct sink_opts opts = { 0 };
	struct out out;

	out_init_mem(&out);
	report_warnings(&out, p->view, &opts);
	lines_put(p, STYLE_RED, out_take(&out), part_of(p, OTHERS_PART, 1));
}

/* ---- the bottom ---- */

/* The bytes of a message's next line: up to a blank, or the whole width where a word is longer. */
static size_t next_piece(const char *text, unsigned int width)
{
	size_t size = strlen(text), end;

	if (!width || size <= width)
		return size;
	for (end = width; end && text[end] != ' '; end--)
		;
	if (end)
		return end;
	for (end = width; end > 1 && ((unsigned char)text[end] & 0xc0) == 0x80; end--)
		; /* not into a character of UTF-8 */
	return end;
}

static const char *after_piece(const char *text, unsigned int width)
{
	text += next_piece(text, width);
	return *text == ' ' ? text + 1 : text;
}

/* Lines that a message takes. */
static unsigned int lines_of(const char *message, unsigned int width)
{
	unsigned int lines = 1;

	for (message = after_piece(message, width); *message; message = after_piece(message, width))
		lines++;
	return lines;
}

/* The newest messages that fit, from the bottom upwards. */
static void draw_messages(struct picture *p)
{
	const struct screen_scene *scene = p->scene;
	unsigned int most = part_of(p, OTHERS_PART, MESSAGES_LEAST), used = 0;
	size_t first = scene->message_count;

	while (first && used + lines_of(scene->messages[first - 1], p->width) <= most)
		used += lines_of(scene->messages[--first], p->width);
	/* One that is too long is cut. */
	if (first == scene->message_count && first) {
		first--;
		used = most;
	}
	if (!used || p->bottom < used + 1)
		return;
	p->bottom -= used;
	for (unsigned int y = p->bottom; first < scene->message_count; first++) {
		const char *rest = scene->messages[first];

		for (; *rest && y < p->bottom + used; y++, rest = after_piece(rest, p->width)) {
			char *piece = strndup(rest, next_piece(rest, p->width));

			curses_put(p->curses, y, 0, p->width, STYLE_YELLOW, piece ? piece : "");
			free(piece);
		}
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
	else
		out_printf(&out, "s:%s /:filter Enter:open g:GPU p:process Space:%s m:mark d:dump o:OOM",
			   s->order == VIEW_BY_LIVE ? "now" : view_order_name(s->order),
			   s->is_paused ? "go on" : "pause");
	text = out_take(&out);
	curses_put(p->curses, --p->bottom, 0, p->width, STYLE_DIM, text);
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
	size_t lines = 0, page = p->bottom > p->y + 1 ? p->bottom - p->y - 1 : 0, last;
	const char *at;

	for (const char *c = reader->text; *c; c++)
		lines += *c == '\n';
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
	draw_findings(p);
	draw_warnings(p);
	p->bottom = bottom;
}

void screen_draw(struct screen *s, const struct screen_scene *scene, struct out *out)
{
	struct picture p = {
		.screen = s, .scene = scene, .view = scene->view, .curses = s->curses, .width = curses_width(s->curses),
		.bottom = curses_height(s->curses), .gpu = TABLE_ALL_GPUS, .proc = TABLE_ALL_PROCS,
	};

	curses_clear(s->curses);
	draw_hints(&p);
	draw_messages(&p);
	if (s->reader.title) {
		draw_reader(&p, &s->reader);
	} else if (p.view) {
		find_choice(&p);
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
