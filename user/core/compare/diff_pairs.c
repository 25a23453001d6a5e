// SPDX-License-Identifier: BSD-2-Clause
/*
 * Pairs the processes of two views (diff.h): in one recording a process with itself, else by what ran and on which GPU,
 * never by pid. The rows of a pair belong together by CUDA's number of the GPU, or by their order.
 */
#include "core/compare/diff.h"

#include <stdlib.h>
#include <string.h>

#include "base/count.h"
#include "base/xalloc.h"
#include "core/compare/held_key.h"

static const struct view_proc *proc_at(const struct diff *d, int side, size_t i)
{
	return &d->sides[side].view->procs[i];
}

static bool is_proc_counted(const struct diff *d, int side, size_t i)
{
	const struct view_proc *proc = proc_at(d, side, i);
	uint64_t held = 0;

	if (proc->exited && !d->sides[side].has_ended)
		return false;
	for (int c = 0; c < GMT_CLASS_COUNT; c++)
		held += proc->by_class[c].bytes.live;
	return held || proc->row_count;
}

/* ---- pairs ---- */

/* What two processes of a pair have in common. */
enum { BY_PID = 1, BY_COMM = 2, BY_COMMAND = 4, BY_GPU = 8, BY_NOTHING = 16 };

static const struct step {
	unsigned by;
	bool in_one_recording;       /* or else in two */
	enum diff_pairing how;
} steps[] = {
	{ BY_PID, true, DIFF_PAIR_SAME },
	{ BY_COMM | BY_COMMAND | BY_GPU, false, DIFF_PAIR_COMMAND },
	{ BY_COMM | BY_COMMAND, false, DIFF_PAIR_COMMAND },
	{ BY_COMM | BY_GPU, false, DIFF_PAIR_COMM },
	{ BY_COMM, false, DIFF_PAIR_COMM },
	{ BY_NOTHING, false, DIFF_PAIR_ONLY },
};

/* A process that has no pair yet. */
struct single {
	uint64_t key;
	size_t proc;
};

struct singles {
	struct single *list[DIFF_SIDES];
	size_t count[DIFF_SIDES];
};

/* The number of the first GPU of a process: ranks of one job differ in it. */
static uint32_t gpu_index(const struct diff *d, int side, const struct view_proc *proc)
{
	const struct view *view = d->sides[side].view;

	if (!proc->row_count || proc->rows[0].gpu == VIEW_GPU_UNKNOWN)
		return UINT32_MAX;
	return view->gpus[proc->rows[0].gpu].index;
}

static uint64_t pair_key(const struct diff *d, int side, size_t i, unsigned by)
{
	const struct view_proc *proc = proc_at(d, side, i);
	uint64_t key = 0;

	if (by & BY_PID)
		key = held_key_number(held_key_number(key, proc->tgid), proc->attach_ts_ns);
	if (by & BY_COMM)
		key = held_key_text(key, proc->comm);
	if (by & BY_COMMAND)
		key = held_key_text(key, proc->cmdline);
	return by & BY_GPU ? held_key_number(key, gpu_index(d, side, proc)) : key;
}

static int compare_singles(const void *left, const void *right)
{
	const struct single *a = left, *b = right;

	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	return (a->proc > b->proc) - (a->proc < b->proc);
}

static void add_pair(struct diff *d, size_t a, size_t b, enum diff_pairing how)
{
	d->pairs = xgrow(d->pairs, d->pair_count, sizeof(*d->pairs));
	d->pairs[d->pair_count++] = (struct diff_pair){ .proc = { a, b }, .how = how };
}

static void sort_singles(const struct diff *d, struct singles *s, unsigned by)
{
	for (int side = 0; side < DIFF_SIDES; side++) {
		for (size_t i = 0; i < s->count[side]; i++)
			s->list[side][i].key = pair_key(d, side, s->list[side][i].proc, by);
		if (s->count[side])
			qsort(s->list[side], s->count[side], sizeof(*s->list[side]), compare_singles);
	}
}

/* Those with one key become pairs, in their order. */
static void pair_by(struct diff *d, struct singles *s, const struct step *step)
{
	struct single *a = s->list[DIFF_A], *b = s->list[DIFF_B];
	size_t i = 0, j = 0, left[DIFF_SIDES] = { 0 };

	sort_singles(d, s, step->by);
	while (i < s->count[DIFF_A] || j < s->count[DIFF_B]) {
		bool has_a = i < s->count[DIFF_A], has_b = j < s->count[DIFF_B];

		if (has_a && has_b && a[i].key == b[j].key)
			add_pair(d, a[i++].proc, b[j++].proc, step->how);
		else if (!has_b || (has_a && a[i].key < b[j].key))
			a[left[DIFF_A]++] = a[i++];
		else
			b[left[DIFF_B]++] = b[j++];
	}
	memcpy(s->count, left, sizeof(left));
}

static int compare_pairs(const void *left, const void *right)
{
	const struct diff_pair *a = left, *b = right;

	/* DIFF_NONE comes last. */
	if (a->proc[DIFF_A] != b->proc[DIFF_A])
		return a->proc[DIFF_A] < b->proc[DIFF_A] ? -1 : 1;
	return (a->proc[DIFF_B] > b->proc[DIFF_B]) - (a->proc[DIFF_B] < b->proc[DIFF_B]);
}

static void find_pairs(struct diff *d)
{
	struct singles s = { 0 };

	for (int side = 0; side < DIFF_SIDES; side++) {
		size_t count = d->sides[side].view->proc_count;

		s.list[side] = xcalloc(count, sizeof(*s.list[side]));
		for (size_t i = 0; i < count; i++)
			if (is_proc_counted(d, side, i))
				s.list[side][s.count[side]++].proc = i;
	}
	for (size_t i = 0; i < COUNT(steps); i++)
		if (steps[i].in_one_recording == d->is_one_recording &&
		    (steps[i].by != BY_NOTHING || (s.count[DIFF_A] == 1 && s.count[DIFF_B] == 1)))
			pair_by(d, &s, &steps[i]);
	for (size_t i = 0; i < s.count[DIFF_A]; i++)
		add_pair(d, s.list[DIFF_A][i].proc, DIFF_NONE, DIFF_PAIR_NONE);
	for (size_t i = 0; i < s.count[DIFF_B]; i++)
		add_pair(d, DIFF_NONE, s.list[DIFF_B][i].proc, DIFF_PAIR_NONE);
	if (d->pair_count)
		qsort(d->pairs, d->pair_count, sizeof(*d->pairs), compare_pairs);
	free(s.list[DIFF_A]);
	free(s.list[DIFF_B]);
}

/* ---- the GPUs of a pair ---- */

static const struct view_row *pair_row(const struct diff *d, const struct diff_pair *pair, int side, size_t row)
{
	return row == DIFF_NONE ? NULL : &proc_at(d, side, pair->proc[side])->rows[row];
}

static size_t row_count(const struct diff *d, const struct diff_pair *pair, int side)
{
	return pair->proc[side] == DIFF_NONE ? 0 : proc_at(d, side, pair->proc[side])->row_count;
}

static void add_pair_part(struct diff *d, size_t pair, size_t a, size_t b, bool is_host)
{
	const struct view_row *rows[DIFF_SIDES] = {
		pair_row(d, &d->pairs[pair], DIFF_A, a), pair_row(d, &d->pairs[pair], DIFF_B, b),
	};
	struct diff_part *part;

	d->parts = xgrow(d->parts, d->part_count, sizeof(*d->parts));
	part = &d->parts[d->part_count++];
	*part = (struct diff_part){ .pair = pair, .row = { a, b }, .is_host = is_host };
	part->is_tensors = part->is_physical = !is_host;
	for (int side = 0; side < DIFF_SIDES; side++) {
		if (!rows[side])
			continue;
		part->is_tensors &= view_has_stacks(&rows[side]->torch.stacks);
		part->is_physical &= rows[side]->has_physical;
	}
	for (int side = 0; side < DIFF_SIDES; side++) {
		uint64_t held = !rows[side] ? 0 : part->is_physical ? view_weight(rows[side]) :
				rows[side]->attributed.live;

		part->held.bytes[side] = (int64_t)held;
	}
}

/* The row of B that has the GPU of a row of A; DIFF_NONE. Without CUDA's numbers the order decides. */
static size_t row_for(const struct diff *d, size_t pair, size_t row)
{
	const struct diff_pair *p = &d->pairs[pair];
	uint32_t ordinal = pair_row(d, p, DIFF_A, row)->ordinal;
	size_t count = row_count(d, p, DIFF_B);

	for (size_t i = 0; i < count && ordinal != VIEW_ORDINAL_UNKNOWN; i++)
		if (pair_row(d, p, DIFF_B, i)->ordinal == ordinal)
			return i;
	if (row < count && (ordinal == VIEW_ORDINAL_UNKNOWN ||
			    pair_row(d, p, DIFF_B, row)->ordinal == VIEW_ORDINAL_UNKNOWN))
		return row;
	return DIFF_NONE;
}

static void find_parts(struct diff *d, size_t pair)
{
	size_t count = row_count(d, &d->pairs[pair], DIFF_B);
	bool *is_taken = xcalloc(count, sizeof(*is_taken));

	d->pairs[pair].first_part = d->part_count;
	for (size_t i = 0; i < row_count(d, &d->pairs[pair], DIFF_A); i++) {
		size_t other = row_for(d, pair, i);

		if (other != DIFF_NONE && is_taken[other])
			other = DIFF_NONE;
		if (other != DIFF_NONE)
			is_taken[other] = true;
		add_pair_part(d, pair, i, other, false);
	}
	for (size_t i = 0; i < count; i++)
		if (!is_taken[i])
			add_pair_part(d, pair, DIFF_NONE, i, false);
	add_pair_part(d, pair, DIFF_NONE, DIFF_NONE, true);
	d->pairs[pair].part_count = d->part_count - d->pairs[pair].first_part;
	free(is_taken);
}

void diff_find_pairs(struct diff *d)
{
	find_pairs(d);
	for (size_t i = 0; i < d->pair_count; i++)
		find_parts(d, i);
}
