// SPDX-License-Identifier: BSD-2-Clause
#include "core/view/view_single.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/xalloc.h"
#include "core/ledger/ledger_state.h"
#include "core/lives/kept_lives.h"
#include "core/pipeline/pipeline.h"
#include "core/view/by_stack.h"
#include "core/view/view.h"

struct maker {
	const struct view *view;
	const int *order;
	struct by_stack *by_stack;
	struct hash procs;       /* uint32_t: index in view.procs, by the number of a process */
};

/* Where a process's memory on a GPU stands in the view. */
struct place {
	uint32_t proc, row;
};

static bool find_shown_row(const struct maker *m, uint32_t process, int gpu, struct place *place)
{
	const uint32_t *proc = hash_get(&m->procs, process);
	int shown = gpu < 0 ? VIEW_GPU_UNKNOWN : m->order[gpu];

	for (uint32_t r = 0; proc && r < m->view->procs[*proc].row_count; r++)
		if (m->view->procs[*proc].rows[r].gpu == shown) {
			*place = (struct place){ *proc, r };
			return true;
		}
	return false;
}

/* Blocks on a device of which no GPU is known yet stand nowhere. */
static bool has_no_place(const struct maker *m, const struct kept_count *seen)
{
	return seen->gpu == LIFE_NO_GPU && !m->view->is_filtered;
}

static void add_life(const struct maker *m, const struct life *life, struct place at, struct view_lives *out)
{
	out->list[out->count++] = (struct view_life){
		.birth_ns = life->birth.ts_ns, .death_ns = life->death.ts_ns, .bytes = life->bytes,
		.stack = by_stack_show(m->by_stack, life->stack_id),
		.asked = by_stack_show_waiting(m->by_stack, life->stack_id),
		.proc = at.proc, .row = at.row, .iteration = life->iteration,
		.what = life->is_block ? by_stack_purpose(m->by_stack, life->stack_id, life->category) : life->class,
		.end = (uint8_t)life->end, .is_block = life->is_block, .is_segment = life->is_segment,
		.continues = life->continues,
	};
}

static void add_lives(const struct maker *m, const struct kept_shown *shown, struct view_lives *out)
{
	struct place at;

	out->list = xreallocarray(NULL, shown->count + 1, sizeof(*out->list));
	for (size_t i = 0; i < shown->count; i++)
		if (find_shown_row(m, shown->lives[i].process, shown->lives[i].gpu, &at))
			add_life(m, &shown->lives[i], at, out);
	out->left_out = shown->unseen;
	out->around_left_out = shown->around_left_out;
	out->processes_left_out = shown->processes_left_out;
	out->is_all = shown->keeps_all;
	out->shed_ns = shown->shed_ns;
	for (size_t i = 0; i < shown->seen_count; i++)
		if (has_no_place(m, &shown->seen[i]) ||
		    find_shown_row(m, shown->seen[i].process, shown->seen[i].gpu, &at))
			out->left_out += shown->seen[i].lives;
	out->left_out -= out->count < out->left_out ? out->count : out->left_out;
}

static int compare_times(const void *left, const void *right)
{
	const struct view_life_moment *a = left, *b = right;

	return (a->ts_ns > b->ts_ns) - (a->ts_ns < b->ts_ns);
}

static void add_life_moments(const struct maker *m, const struct kept_shown *shown, struct view_lives *out)
{
	struct place at;

	out->moments = xreallocarray(NULL, shown->moment_count + 1, sizeof(*out->moments));
	for (size_t i = 0; i < shown->moment_count; i++) {
		const struct life_moment *of = &shown->moments[i].of;

		if (find_shown_row(m, of->process, of->gpu, &at))
			out->moments[out->moment_count++] = (struct view_life_moment){
				.ts_ns = of->at.ts_ns, .why = of->why, .proc = at.proc, .row = at.row,
				.is_of_blocks = shown->moments[i].is_of_blocks,
			};
	}
	if (out->moment_count)
		qsort(out->moments, out->moment_count, sizeof(*out->moments), compare_times);
	out->moments_left_out = shown->moments_left_out;
}

struct view_lives *view_single(const struct pipeline *pl, struct by_stack *b, const int *order,
			       const struct view *view)
{
	struct maker m = { .view = view, .order = order, .by_stack = b };
	struct view_lives *out;
	struct kept_shown shown;

	if (!pl->kept_lives)
		return NULL;
	out = xcalloc(1, sizeof(*out));
	hash_init(&m.procs, sizeof(uint32_t));
	for (uint32_t i = 0; i < view->proc_count; i++)
		*(uint32_t *)hash_put(&m.procs, view->procs[i].number, NULL) = i;
	kept_lives_show(pl->kept_lives, pl->lives, &shown);
	add_lives(&m, &shown, out);
	add_life_moments(&m, &shown, out);
	kept_shown_free(&shown);
	hash_fini(&m.procs);
	return out;
}
