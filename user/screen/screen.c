// SPDX-License-Identifier: BSD-2-Clause
/* What the keys do. */
#include "screen/screen.h"

#include <stdlib.h>
#include <string.h>

#include "base/count.h"
#include "base/human.h"
#include "base/xalloc.h"
#include "screen/state.h"

#define ESCAPE 27
#define FAR 1000000          /* lines: further than any table */

struct screen *screen_new(struct curses *curses, bool has_keys)
{
	struct screen *s = xcalloc(1, sizeof(*s));

	s->curses = curses;
	s->has_keys = has_keys;
	return s;
}

void screen_free(struct screen *s)
{
	if (s)
		free(s->reader.text);
	free(s);
}

bool screen_is_paused(const struct screen *s)
{
	return s->is_paused;
}

void screen_see(struct screen *s, const struct view *view)
{
	for (int gpu = 0; gpu < (int)view->gpu_count; gpu++) {
		struct table_gpu use;

		table_gpu_use(view, gpu, &use);
		spark_add(&s->sparks, view->gpus[gpu].uuid, use.traced + use.others + use.rest);
	}
}

void screen_read(struct screen *s, const char *title, char *text)
{
	free(s->reader.text);
	s->reader = (struct reader){ .title = title, .text = text };
	s->finding = 0;
}

/* ---- the keys of the table ---- */

static void forget_place(struct screen *s)
{
	s->selected = s->expanded = NO_KEY;
	s->below = s->top = 0;
	s->move = 0;
}

static void choose_table(struct screen *s, enum table_kind kind)
{
	s->table = kind;
	s->has_chosen_table = true;
	forget_place(s);
}

static enum screen_action next_table(struct screen *s)
{
	choose_table(s, (enum table_kind)((s->table + 1) % TABLE_KIND_COUNT));
	return SCREEN_REDRAW;
}

/* Ages are not asked for, so there is no order by age. */
static enum screen_action next_order(struct screen *s)
{
	static const enum view_order orders[] = { VIEW_BY_LIVE, VIEW_BY_GROWN, VIEW_BY_PEAK, VIEW_BY_ALLOCATED };
	size_t at = 0;

	for (size_t i = 0; i < COUNT(orders); i++)
		if (orders[i] == s->order)
			at = i;
	s->order = orders[(at + 1) % COUNT(orders)];
	forget_place(s);
	return SCREEN_REDRAW;
}

static enum screen_action open_filter(struct screen *s)
{
	s->is_filtering = true;
	return SCREEN_REDRAW;
}

/* The row's lines close again with the same key. */
static enum screen_action open_row(struct screen *s)
{
	s->selected = s->current;
	s->expanded = s->expanded == s->current ? NO_KEY : s->current;
	s->below = 0;
	return SCREEN_REDRAW;
}

static enum screen_action next_gpu(struct screen *s)
{
	s->wants_gpu = true;
	forget_place(s);
	return SCREEN_REDRAW;
}

static enum screen_action next_process(struct screen *s)
{
	s->wants_proc = true;
	forget_place(s);
	return SCREEN_REDRAW;
}

static enum screen_action ask_finding(struct screen *s)
{
	s->wants_finding = true;
	return SCREEN_REDRAW;
}

static enum screen_action toggle_pause(struct screen *s)
{
	s->is_paused = !s->is_paused;
	return SCREEN_REDRAW;
}

/* Esc takes away the filter, or else the messages. */
static enum screen_action take_away(struct screen *s)
{
	if (!s->filter[0])
		s->dismissed_ns = s->drawn_ns;
	s->filter[0] = '\0';
	return SCREEN_REDRAW;
}

static enum screen_action show_help(struct screen *s)
{
	static const char text[] =
		"Up Down j k PgUp PgDn Home End   move in the table\n"
		"1 to 7, Tab   processes, GPUs, lines, stacks, owners, uses of tensors, modules\n"
		"s       sort by: now, growth, peak, allocated\n"
		"/       show only rows with this text in their name; Esc ends the filter\n"
		"Enter   open a row: a line's stacks, a process's GPUs; again: close the row\n"
		"f       what stands out, in full, with its ground and its stack; again: the next\n"
		"g p     the next GPU, the next process; behind the last one: all\n"
		"Space   pause: the view stays as it is, tracing goes on\n"
		"m       mark: peaks and growth count from here (SIGUSR2 does the same)\n"
		"d       write a dump of who holds memory now (SIGUSR1 does the same)\n"
		"o       why the newest request for memory failed\n"
		"q       end tracing, print the report; programs go on. Esc: remove the messages\n"
		"NOW     bytes now; of a process and a GPU as nvidia-smi counts, if NVML is there\n"
		"GROWN   since the attach, or since the newest mark; of tensors if they are known\n"
		"EACH ITER., COUNT  growth in an iteration, on average; allocations that live now\n"
		"AT PEAK, ALLOCATED  when the process held most; all bytes so far, freed or not\n"
		"TENSORS, CACHED   allocated by PyTorch; reserved by PyTorch and in no tensor\n"
		"BEFORE  memory from before the attach: nobody saw who allocated it\n"
		"TRACED, OTHERS  held by traced processes; by other processes: not traced\n"
		"Bar     traced processes (# =), others and driver (o), free (.); the last views\n";

	screen_read(s, "Keys and columns (q, Esc or Enter: back)", xstrdup(text));
	return SCREEN_REDRAW;
}

static enum screen_action move_by(struct screen *s, long lines)
{
	s->move += lines;
	return SCREEN_REDRAW;
}

static enum screen_action go_up(struct screen *s)
{
	return move_by(s, -1);
}

static enum screen_action go_down(struct screen *s)
{
	return move_by(s, 1);
}

static enum screen_action page_up(struct screen *s)
{
	return move_by(s, -(long)s->page);
}

static enum screen_action page_down(struct screen *s)
{
	return move_by(s, (long)s->page);
}

static enum screen_action go_first(struct screen *s)
{
	return move_by(s, -FAR);
}

static enum screen_action go_last(struct screen *s)
{
	return move_by(s, FAR);
}

static enum screen_action ask_mark(struct screen *s)
{
	(void)s;
	return SCREEN_MARK;
}

static enum screen_action ask_dump(struct screen *s)
{
	(void)s;
	return SCREEN_DUMP;
}

static enum screen_action ask_verdict(struct screen *s)
{
	(void)s;
	return SCREEN_VERDICT;
}

static enum screen_action ask_quit(struct screen *s)
{
	(void)s;
	return SCREEN_QUIT;
}

static const struct {
	int key;
	enum screen_action (*act)(struct screen *s);
} keys[] = {
	{ KEYS_UP, go_up }, { 'k', go_up }, { KEYS_DOWN, go_down }, { 'j', go_down },
	{ KEYS_PAGE_UP, page_up }, { KEYS_PAGE_DOWN, page_down }, { KEYS_HOME, go_first }, { KEYS_END, go_last },
	{ '\t', next_table }, { 's', next_order }, { '/', open_filter }, { '\n', open_row }, { 'g', next_gpu },
	{ 'f', ask_finding },
	{ 'p', next_process }, { ' ', toggle_pause }, { 'm', ask_mark }, { 'd', ask_dump }, { 'o', ask_verdict },
	{ '?', show_help }, { 'h', show_help }, { ESCAPE, take_away }, { 'q', ask_quit },
};

static enum screen_action act_on_table(struct screen *s, int key)
{
	if (key >= '1' && key < '1' + TABLE_KIND_COUNT) {
		choose_table(s, (enum table_kind)(key - '1'));
		return SCREEN_REDRAW;
	}
	for (size_t i = 0; i < COUNT(keys); i++)
		if (keys[i].key == key)
			return keys[i].act(s);
	return SCREEN_REDRAW;
}

/* ---- the keys of the filter and of a text ---- */

/* The filter has ASCII characters: names of functions and files mostly have no others. */
static enum screen_action type_filter(struct screen *s, int key)
{
	size_t size = strlen(s->filter);

	if (key == '\n' || key == ESCAPE)
		s->is_filtering = false;
	if (key == ESCAPE)
		s->filter[0] = '\0';
	if (key == KEYS_BACKSPACE && size)
		s->filter[size - 1] = '\0';
	if (key >= ' ' && key < 0x7f && size + 1 < sizeof(s->filter)) {
		s->filter[size] = (char)key;
		s->filter[size + 1] = '\0';
	}
	forget_place(s);
	return SCREEN_REDRAW;
}

static enum screen_action turn_pages(struct screen *s, int key)
{
	static const struct { int key; long lines, pages; } moves[] = {
		{ KEYS_UP, -1, 0 }, { 'k', -1, 0 }, { KEYS_DOWN, 1, 0 }, { 'j', 1, 0 }, { KEYS_PAGE_UP, 0, -1 },
		{ KEYS_PAGE_DOWN, 0, 1 }, { ' ', 0, 1 }, { KEYS_HOME, -FAR, 0 }, { KEYS_END, FAR, 0 },
	};

	for (size_t i = 0; i < COUNT(moves); i++) {
		long to = (long)s->reader.top + moves[i].lines + moves[i].pages * (long)s->page;

		if (moves[i].key != key)
			continue;
		s->reader.top = to > 0 ? (size_t)to : 0;
		return SCREEN_REDRAW;
	}
	if (key == 'f' && s->finding)
		return ask_finding(s);
	screen_read(s, NULL, NULL);
	return SCREEN_REDRAW;
}

enum screen_action screen_take_key(struct screen *s)
{
	int key = curses_key(s->curses);

	if (!key)
		return SCREEN_NONE;
	if (s->reader.title)
		return turn_pages(s, key);
	return s->is_filtering ? type_filter(s, key) : act_on_table(s, key);
}
