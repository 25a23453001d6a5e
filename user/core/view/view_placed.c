// SPDX-License-Identifier: BSD-2-Clause
#include "core/view/view_placed.h"

#include <stdlib.h>

#include "base/xalloc.h"
#include "core/framework/frameworks.h"
#include "core/history/instants.h"
#include "core/ledger/ledger_state.h"
#include "core/pipeline/pipeline.h"
#include "core/view/by_stack.h"
#include "core/snapshot/snapshot.h"
#include "core/view/view.h"

struct maker {
	const struct pipeline *pl;
	struct by_stack *by_stack;
	const struct view *view;
	struct view_instants *out;
};

/* ---- which row ---- */

uint32_t view_row_of_device(const struct view *view, uint32_t proc, unsigned int device)
{
	const struct view_proc *shown = &view->procs[proc];

	for (uint32_t r = 0; r < shown->row_count; r++)
		if (shown->rows[r].ordinal == device)
			return r;
	return shown->row_count == 1 && !view->is_filtered ? 0 : VIEW_INSTANT_NO_ROW;
}

/* ---- segments and blocks ---- */

static void add_placed_block(const struct maker *m, const struct snapshot_block *from, struct view_instant *to)
{
	to->blocks = xgrow(to->blocks, to->block_count, sizeof(*to->blocks));
	to->blocks[to->block_count++] = (struct view_placed_block){
		.address = from->address, .bytes = from->size, .asked = from->asked == from->size ? 0 : from->asked,
		.born_ns = from->born_ns, .stack = by_stack_show(m->by_stack, from->stack_id),
		.waiting = by_stack_show_waiting(m->by_stack, from->stack_id),
		.purpose = by_stack_purpose(m->by_stack, from->stack_id, from->category),
	};
}

static void add_placed_segment(const struct maker *m, const struct snapshot *s, const struct snapshot_segment *from,
			       struct view_instant *to)
{
	struct view_placed_segment *segment;
	size_t first = to->block_count;

	for (size_t i = 0; from->is_torch && i < from->block_count; i++)
		if (s->blocks[from->first_block + i].active)
			add_placed_block(m, &s->blocks[from->first_block + i], to);
	to->segments = xgrow(to->segments, to->segment_count, sizeof(*to->segments));
	segment = &to->segments[to->segment_count++];
	*segment = (struct view_placed_segment){
		.address = from->address, .bytes = from->size, .born_ns = from->born_ns, .held = from->active,
		.first_block = first, .block_count = to->block_count - first,
		.stack = by_stack_show(m->by_stack, from->stack_id),
		.waiting = by_stack_show_waiting(m->by_stack, from->stack_id),
		.is_frameworks = from->is_torch, .is_expandable = from->is_expandable,
		.is_guessed = from->why == SNAPSHOT_WHY_GUESSED,
	};
}

/* ---- instants ---- */

static struct view_instant *instant_of_row(struct maker *m, size_t first, const struct view_instant *like, uint32_t row)
{
	struct view_instants *out = m->out;

	for (size_t i = first; i < out->count; i++)
		if (out->list[i].row == row)
			return &out->list[i];
	out->list = xgrow(out->list, out->count, sizeof(*out->list));
	out->list[out->count] = *like;
	out->list[out->count].row = row;
	return &out->list[out->count++];
}

static void show_window(struct maker *m, const struct window *w, const struct view_instant *like)
{
	size_t first = m->out->count;
	struct snapshot s;

	snapshot_place(w, &s);
	for (size_t i = 0; i < s.segment_count; i++) {
		uint32_t row = view_row_of_device(m->view, like->proc, s.segments[i].device);
		bool is_left = m->view->is_filtered && row == VIEW_INSTANT_NO_ROW;

		if (!is_left)
			add_placed_segment(m, &s, &s.segments[i], instant_of_row(m, first, like, row));
	}
	for (unsigned int device = 0; device < w->unseen_count; device++) {
		uint32_t row = view_row_of_device(m->view, like->proc, device);

		for (size_t i = first; i < m->out->count; i++)
			if (m->out->list[i].row == row)
				m->out->list[i].unseen += w->unseen[device].allocated;
	}
	snapshot_free(&s);
}

static void show_instant(struct maker *m, uint32_t proc, const struct instant *instant)
{
	if (instant->is_made)
		show_window(m, &instant->window, &(struct view_instant){
			.why = instant->why, .ts_ns = instant->ts_ns, .proc = proc,
			.asked = instant->why == INSTANT_REQUEST ? instant->bytes : 0,
			.segments_left_out = instant->left_out.segments, .bytes_left_out = instant->left_out.bytes,
			.held_left_out = instant->left_out.held, .blocks_left_out = instant->left_out.blocks,
		});
}

void view_placed_add(struct by_stack *b, const struct view *view, uint32_t proc, const struct instant *instant,
		     struct view_instants *out)
{
	show_instant(&(struct maker){ .by_stack = b, .view = view, .out = out }, proc, instant);
}

static void show_present(struct maker *m, const struct process *p, uint32_t proc)
{
	struct instant now = { .why = INSTANT_END, .ts_ns = m->pl->ledger->now_ns, .is_made = true };

	window_now(&now.window, p, frameworks_of(m->pl->frameworks, p));
	instant_cut(&now.window, INSTANT_RANGES, &now.left_out);
	show_instant(m, proc, &now);
	window_free(&now.window);
}

static void show_instants_of(struct maker *m, const struct process *p, uint32_t proc)
{
	const struct instants_process *ip = instants_made(m->pl->instants, p);

	if (!ip)
		return;
	for (size_t i = 0; i < ip->count; i++)
		show_instant(m, proc, &ip->list[i]);
	if (!p->exited)
		show_present(m, p, proc);
	m->out->left_out += ip->dropped;
}

static int compare_instants(const void *left, const void *right)
{
	const struct view_instant *a = left, *b = right;

	if (a->proc != b->proc)
		return a->proc < b->proc ? -1 : 1;
	if (a->row != b->row)
		return a->row < b->row ? -1 : 1;
	return (a->ts_ns > b->ts_ns) - (a->ts_ns < b->ts_ns);
}

void view_placed_sort(struct view_instants *out)
{
	if (out->count)
		qsort(out->list, out->count, sizeof(*out->list), compare_instants);
}

struct view_instants *view_placed(const struct pipeline *pl, struct by_stack *b, const struct view *view)
{
	struct maker m = { .pl = pl, .by_stack = b, .view = view };

	if (!pl->instants)
		return NULL;
	m.out = xcalloc(1, sizeof(*m.out));
	for (uint32_t i = 0; i < view->proc_count; i++)
		show_instants_of(&m, pl->ledger->processes.list[view->procs[i].number - 1], i);
	view_placed_sort(m.out);
	return m.out;
}
