// SPDX-License-Identifier: BSD-2-Clause
/*
 * The table on the screen: its columns, the rows that pass the filter, and the place that the person has chosen, which
 * stays at its row when the next view has another order.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/count.h"
#include "base/human.h"
#include "base/out.h"
#include "base/xalloc.h"
#include "screen/state.h"
#include "sink/text/text.h"

#define DETAILS_MOST 40          /* lines below a row */
#define NAME_COLUMNS 1000        /* of a name that the filter looks at */
#define PURPOSE_COLUMNS 22
#define TABS_WIDE 92             /* columns from which on two blanks lie between the names of the tables */
#define PURPOSE_FROM 76          /* columns of the screen from which on the purpose has a column */

/* ---- columns ---- */

typedef struct human (*cell_fn)(const struct picture *p, const struct table_row *row);

static struct human cell_now(const struct picture *p, const struct table_row *row)
{
	(void)p;
	return human_bytes(row->held.live);
}

static struct human cell_grown(const struct picture *p, const struct table_row *row)
{
	(void)p;
	return human_signed_bytes(row->held.grown);
}

static struct human cell_each(const struct picture *p, const struct table_row *row)
{
	(void)p;
	return row->has_each ? human_signed_bytes(row->each) : (struct human){ "-" };
}

static struct human cell_count(const struct picture *p, const struct table_row *row)
{
	(void)p;
	return human_short((double)row->held.live_count);
}

static struct human cell_peak(const struct picture *p, const struct table_row *row)
{
	(void)p;
	return human_bytes(row->held.at_peak);
}

static struct human cell_calls(const struct picture *p, const struct table_row *row)
{
	(void)p;
	return human_bytes(row->held.alloc_bytes);
}

static struct human cell_pid(const struct picture *p, const struct table_row *row)
{
	struct human h;

	snprintf(h.s, sizeof(h.s), "%u", p->view->procs[row->index].tgid);
	return h;
}

/* The process's GPU, or the number of its GPUs in brackets. Memory that is on no known GPU has none. */
static struct human cell_gpus(const struct picture *p, const struct table_row *row)
{
	const struct view_proc *proc = &p->view->procs[row->index];
	struct human h = { "-" };
	size_t count = 0;

	for (size_t r = 0; r < proc->row_count; r++)
		if (proc->rows[r].gpu >= 0 && !count++)
			h = text_gpu(p->view, proc->rows[r].gpu);
	if (count > 1)
		snprintf(h.s, sizeof(h.s), "(%zu)", count);
	return h;
}

static struct human cell_tensors(const struct picture *p, const struct table_row *row)
{
	(void)p;
	return row->has_torch ? human_bytes(row->tensors) : (struct human){ "-" };
}

static struct human cell_cached(const struct picture *p, const struct table_row *row)
{
	(void)p;
	return row->has_torch ? human_bytes(row->cached) : (struct human){ "-" };
}

static struct human cell_before(const struct picture *p, const struct table_row *row)
{
	(void)p;
	return human_bytes(row->before);
}

static struct human cell_gpu(const struct picture *p, const struct table_row *row)
{
	return text_gpu(p->view, (int)row->index);
}

static struct human cell_traced(const struct picture *p, const struct table_row *row)
{
	struct table_gpu use;

	table_gpu_use(p->view, (int)row->index, &use);
	return human_bytes(use.traced);
}

static struct human cell_others(const struct picture *p, const struct table_row *row)
{
	struct table_gpu use;

	table_gpu_use(p->view, (int)row->index, &use);
	return use.has_others ? human_bytes(use.others) : (struct human){ "?" };
}

static struct human cell_free(const struct picture *p, const struct table_row *row)
{
	struct table_gpu use;

	table_gpu_use(p->view, (int)row->index, &use);
	return use.has_others ? human_bytes(use.free) : (struct human){ "?" };
}

static struct human cell_total(const struct picture *p, const struct table_row *row)
{
	uint64_t total = p->view->gpus[row->index].total_bytes;

	return total ? human_bytes(total) : (struct human){ "?" };
}

/* The order that a column shows. A column without `from` is shown at any width. */
#define NO_ORDER VIEW_ORDER_COUNT
struct column {
	const char *title;
	int width;
	cell_fn cell;
	enum view_order order;
	unsigned int from;       /* columns of the screen */
};

#define COLUMN_NOW { "NOW", 9, cell_now, VIEW_BY_LIVE, 0 }
#define COLUMN_GROWN { "GROWN", 11, cell_grown, VIEW_BY_GROWN, 0 }
#define COLUMN_PEAK { "AT PEAK", 9, cell_peak, VIEW_BY_PEAK, 90 }
#define COLUMN_COUNT { "COUNT", 7, cell_count, NO_ORDER, 90 }
#define COLUMN_CALLS { "ALLOCATED", 11, cell_calls, VIEW_BY_ALLOCATED, 100 }
#define COLUMN_EACH(from) { "EACH ITER.", 12, cell_each, NO_ORDER, from }
#define COLUMNS_HELD COLUMN_NOW, COLUMN_GROWN, COLUMN_EACH(112), COLUMN_COUNT, COLUMN_PEAK, COLUMN_CALLS
#define COLUMNS_MOST 8

static const struct {
	const char *name;        /* of the rows, as the last column's title */
	struct column columns[COLUMNS_MOST];
} layouts[TABLE_KIND_COUNT] = {
	[TABLE_PROCESSES] = { "COMMAND", {
		{ "PID", 8, cell_pid, NO_ORDER, 0 }, { "GPU", 6, cell_gpus, NO_ORDER, 0 }, COLUMN_NOW, COLUMN_GROWN,
		{ "TENSORS", 9, cell_tensors, NO_ORDER, 0 }, { "CACHED", 9, cell_cached, NO_ORDER, 76 },
		{ "BEFORE", 9, cell_before, NO_ORDER, 76 }, { "AT PEAK", 9, cell_peak, VIEW_BY_PEAK, 100 } } },
	[TABLE_GPUS] = { "NAME", {
		{ "GPU", 5, cell_gpu, NO_ORDER, 0 }, COLUMN_NOW, COLUMN_GROWN,
		{ "TRACED", 9, cell_traced, NO_ORDER, 0 },
		{ "OTHERS", 9, cell_others, NO_ORDER, 0 }, { "FREE", 9, cell_free, NO_ORDER, 0 },
		{ "OF", 9, cell_total, NO_ORDER, 76 }, { "PROCS", 7, cell_count, NO_ORDER, 76 } } },
	[TABLE_LINES] = { "LINE", { COLUMNS_HELD } },
	[TABLE_STACKS] = { "STACK", { COLUMNS_HELD } },
	[TABLE_OWNERS] = { "OWNER", { COLUMNS_HELD } },
	[TABLE_MODULES] = { "MODULE", { COLUMNS_HELD } },
	[TABLE_CATEGORIES] = { "WHAT FOR (a guess)", {
		COLUMN_NOW, COLUMN_GROWN, COLUMN_EACH(72), { "COUNT", 7, cell_count, NO_ORDER, 60 },
		{ "AT PEAK", 9, cell_peak, VIEW_BY_PEAK, 52 } } },
};

/* ---- lines ---- */

/* A line of the table: a row, whose name is made when the row is drawn, or one of the details below a row. */
struct list_line {
	const struct table_row *row;
	char *detail;            /* to be freed; NULL: the row's own line */
	size_t below;            /* 0: the row's own line */
};

struct list {
	struct table table;
	bool has_purpose;        /* of any row, and there is room for a column */
	bool has_each;           /* iterations are known of any row */
	struct list_line *lines;
	size_t count;
};

static void add_list_line(struct list *list, const struct table_row *row, char *detail, size_t below)
{
	list->lines = xgrow(list->lines, list->count, sizeof(*list->lines));
	list->lines[list->count++] = (struct list_line){ row, detail, below };
}

static void add_details(struct list *list, const struct picture *p, const struct table_row *row)
{
	struct out out;
	char *text, *rest, *line;
	size_t below = 0;

	out_init_mem(&out);
	row_details(&out, p, row, list->table.kind);
	rest = text = out_take(&out);
	while ((line = strsep(&rest, "\n")) && rest && below < DETAILS_MOST)
		add_list_line(list, row, xstrdup(line), ++below);
	free(text);
}

/* The filter looks at the whole name, also at what has no room on the screen. */
static bool passes_filter(const struct picture *p, const struct table_row *row)
{
	const struct screen *s = p->screen;
	struct out out;
	bool passes;
	char *name;

	if (!s->filter[0])
		return true;
	out_init_mem(&out);
	row_name(&out, p, row, s->table, NAME_COLUMNS);
	name = out_take(&out);
	passes = strcasestr(name, s->filter);
	free(name);
	return passes;
}

static void list_build(struct list *list, const struct picture *p)
{
	const struct screen *s = p->screen;
	struct table_ask ask = { s->table, s->order, p->gpu, p->proc };

	*list = (struct list){ 0 };
	table_build(p->view, &ask, &list->table);
	for (size_t i = 0; i < list->table.count; i++) {
		const struct table_row *row = &list->table.rows[i];

		list->has_purpose |= row->purpose && p->width >= PURPOSE_FROM;
		list->has_each |= row->has_each;
		if (!passes_filter(p, row))
			continue;
		add_list_line(list, row, NULL, 0);
		if (row->key == s->expanded)
			add_details(list, p, row);
	}
}

static void list_free(struct list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->lines[i].detail);
	free(list->lines);
	table_free(&list->table);
}

/* ---- the place ---- */

/* The chosen line of this list, with what the keys have moved; also the first line that is shown. */
static size_t find_place(struct screen *s, const struct list *list, size_t page)
{
	size_t at = 0;

	for (size_t i = 0; i < list->count && s->selected != NO_KEY; i++)
		if (list->lines[i].row->key == s->selected && list->lines[i].below <= s->below)
			at = i;
	if (s->move < 0)
		at = at > (size_t)-s->move ? at - (size_t)-s->move : 0;
	else
		at += (size_t)s->move;
	at = at < list->count ? at : list->count ? list->count - 1 : 0;
	/* Until a key is pressed the first row is the chosen one, whichever this is. */
	if (list->count && (s->selected != NO_KEY || s->move)) {
		s->selected = list->lines[at].row->key;
		s->below = list->lines[at].below;
	}
	s->current = list->count ? list->lines[at].row->key : NO_KEY;
	s->move = 0;
	s->page = page;
	if (at < s->top)
		s->top = at;
	if (page && at >= s->top + page)
		s->top = at - page + 1;
	if (s->top && list->count <= page)
		s->top = 0;
	return at;
}

/* ---- drawing ---- */

static void print_scope(struct out *line, const struct picture *p, unsigned int room)
{
	static const char all[] = "all GPUs, all pids";

	if (p->gpu == TABLE_ALL_GPUS && p->proc == TABLE_ALL_PROCS)
		out_text(line, room >= strlen(all) ? all : "all GPUs, pids");
	if (p->gpu != TABLE_ALL_GPUS)
		out_printf(line, "GPU %s ", text_gpu(p->view, p->gpu).s);
	if (p->proc != TABLE_ALL_PROCS)
		out_printf(line, "pid %u ", p->view->procs[p->proc].tgid);
}

/* The tables, what they are of, and the filter. */
static void draw_tabs(struct picture *p)
{
	const struct screen *s = p->screen;
	unsigned int x = 0;
	struct out line;
	char *text;

	if (p->y >= p->bottom)
		return;
	for (int kind = 0; kind < TABLE_KIND_COUNT; kind++) {
		char tab[32];

		snprintf(tab, sizeof(tab), "%d:%s", kind + 1, table_name((enum table_kind)kind));
		x += curses_put(p->curses, p->y, x, p->width - x,
				kind == (int)s->table ? STYLE_REVERSE : STYLE_DIM, tab);
		x += p->width < TABS_WIDE ? 1 : 2;
	}
	out_init_mem(&line);
	if (s->filter[0] || s->is_filtering)
		out_printf(&line, "/%s%s ", s->filter, s->is_filtering ? "_" : "");
	print_scope(&line, p, p->width > x + line.size ? p->width - x - (unsigned int)line.size : 0);
	text = out_take(&line);
	if (x < p->width)
		curses_put(p->curses, p->y, x, p->width - x, STYLE_BOLD, text);
	free(text);
	p->y++;
}

static bool is_column_shown(const struct picture *p, const struct list *list, const struct column *column)
{
	return column->title && p->width >= column->from && (list->has_each || column->cell != cell_each);
}

static void draw_titles(struct picture *p, const struct list *list)
{
	enum table_kind kind = list->table.kind;
	unsigned int x = 0;

	for (size_t i = 0; i < COLUMNS_MOST; i++) {
		const struct column *column = &layouts[kind].columns[i];
		char title[32];

		if (!is_column_shown(p, list, column))
			continue;
		snprintf(title, sizeof(title), "%*s", column->width, column->title);
		curses_put(p->curses, p->y, x, p->width,
			   column->order == p->screen->order ? STYLE_CYAN : STYLE_BOLD, title);
		x += (unsigned int)column->width;
	}
	curses_put(p->curses, p->y, x + 2, p->width, STYLE_BOLD, layouts[kind].name);
	if (list->has_purpose)
		curses_put(p->curses, p->y, p->width - PURPOSE_COLUMNS, PURPOSE_COLUMNS, STYLE_BOLD, "WHAT FOR");
	p->y++;
}

/* A process that has ended holds nothing: what it held last says nothing about now. */
static bool has_no_value(const struct table_row *row, const struct column *column)
{
	if (row->is_before)
		return column->cell != cell_now;
	return row->has_exited && (column->cell == cell_now || column->cell == cell_grown ||
				   column->cell == cell_tensors || column->cell == cell_cached ||
				   column->cell == cell_before);
}

/* Returns the columns of the screen that the cells take. */
static unsigned int print_cells(struct out *out, const struct picture *p, const struct list *list,
				const struct table_row *row)
{
	unsigned int used = 2;

	for (size_t i = 0; i < COLUMNS_MOST; i++) {
		const struct column *column = &layouts[list->table.kind].columns[i];

		if (!is_column_shown(p, list, column))
			continue;
		out_printf(out, "%*.*s", column->width, column->width,
			   has_no_value(row, column) ? "-" : column->cell(p, row).s);
		used += (unsigned int)column->width;
	}
	out_text(out, "  ");
	return used;
}

static void print_list_line(struct out *out, const struct picture *p, const struct list *list,
			    const struct list_line *line, unsigned int room)
{
	unsigned int used;

	if (line->detail) {
		out_text(out, line->detail);
		return;
	}
	used = print_cells(out, p, list, line->row);
	row_name(out, p, line->row, list->table.kind, room > used ? room - used : 1);
}

static void draw_row(struct picture *p, const struct list *list, const struct list_line *line, bool is_chosen)
{
	enum curses_style plain = line->below || line->row->has_exited ? STYLE_DIM : STYLE_PLAIN;
	enum curses_style style = is_chosen ? STYLE_REVERSE : plain;
	bool has_purpose = !line->below && line->row->purpose && p->width >= PURPOSE_FROM;
	unsigned int room = has_purpose ? p->width - PURPOSE_COLUMNS - 1 : p->width, used;
	struct out out;
	char *text;

	out_init_mem(&out);
	print_list_line(&out, p, list, line, room);
	text = out_take(&out);
	used = curses_put_marked(p->curses, p->y, 0, room, style, text);
	free(text);
	for (; is_chosen && used < p->width; used++)
		curses_put(p->curses, p->y, used, 1, style, " ");
	if (has_purpose)
		curses_put_marked(p->curses, p->y, room + 1, PURPOSE_COLUMNS, style,
				  gmt_category_text(line->row->purpose - 1u));
	p->y++;
}

/* Why there are no rows. */
static const char *why_empty(const struct picture *p)
{
	enum table_kind kind = p->screen->table;

	if (p->screen->filter[0])
		return "no row has the text of the filter; Esc ends the filter";
	if (kind == TABLE_PROCESSES || kind == TABLE_GPUS)
		return "no process has used CUDA yet";
	if (table_has(p->view, kind))
		return "nothing is above 0 in this order; s chooses another one";
	if (kind == TABLE_CATEGORIES)
		return "no framework has reported tensors";
	if (kind == TABLE_MODULES)
		return "no stack trace is in a module of torch.nn (--block-stacks)";
	return "no stack traces have been taken since the attach";
}

void table_draw(struct picture *p)
{
	struct list list;
	size_t page, place;

	draw_tabs(p);
	if (p->y >= p->bottom)
		return;
	list_build(&list, p);
	page = p->bottom - p->y - 1;
	place = find_place(p->screen, &list, page);
	draw_titles(p, &list);
	for (size_t i = p->screen->top; i < list.count && p->y < p->bottom; i++)
		draw_row(p, &list, &list.lines[i], p->screen->has_keys && i == place);
	if (!list.count)
		line_text(p, STYLE_DIM, why_empty(p));
	list_free(&list);
}
