// SPDX-License-Identifier: BSD-2-Clause
#include "core/compare/ranks.h"

#include <stdlib.h>
#include <string.h>

#include "base/amounts.h"
#include "base/xalloc.h"
#include "core/view/thresholds.h"

/* ---- the ranks ---- */

static bool holds_memory(const struct view_proc *proc)
{
	for (size_t i = 0; i < proc->row_count; i++)
		if (view_weight(&proc->rows[i]))
			return true;
	return false;
}

static int compare_ranks(const void *left, const void *right)
{
	const struct rank *a = left, *b = right;
	int gpu_a = a->proc->rows[0].gpu, gpu_b = b->proc->rows[0].gpu;

	if (a->source != b->source)
		return a->source < b->source ? -1 : 1;
	if (gpu_a != gpu_b)
		return (unsigned)gpu_a < (unsigned)gpu_b ? -1 : 1;
	return (a->proc->tgid > b->proc->tgid) - (a->proc->tgid < b->proc->tgid);
}

static void find_ranks(struct ranks *r)
{
	for (size_t source = 0; source < r->source_count; source++) {
		const struct view *view = r->sources[source].view;

		for (size_t p = 0; p < view->proc_count; p++) {
			const struct view_proc *proc = &view->procs[p];

			if ((proc->exited && !r->sources[source].has_ended) || !holds_memory(proc))
				continue;
			r->list = xgrow(r->list, r->count, sizeof(*r->list));
			r->list[r->count++] = (struct rank){ .source = source, .proc = proc };
		}
	}
	if (r->count)
		qsort(r->list, r->count, sizeof(*r->list), compare_ranks);
	r->is_tensors = r->count;
	for (size_t i = 0; i < r->count; i++)
		for (size_t k = 0; k < r->list[i].proc->row_count; k++)
			r->is_tensors &= !view_weight(&r->list[i].proc->rows[k]) ||
					 view_has_stacks(&r->list[i].proc->rows[k].torch.stacks);
}

/* ---- spreads ---- */

struct ranked {
	int64_t bytes;
	size_t rank;
};

static int compare_ranked(const void *left, const void *right)
{
	const struct ranked *a = left, *b = right;

	if (a->bytes != b->bytes)
		return a->bytes < b->bytes ? -1 : 1;
	return (a->rank > b->rank) - (a->rank < b->rank);
}

static void find_spread(const struct ranks *r, struct ranks_row *row)
{
	struct ranked *sorted = xcalloc(r->count, sizeof(*sorted));

	row->spread.sum = 0;
	for (size_t i = 0; i < r->count; i++) {
		sorted[i] = (struct ranked){ row->bytes[i], i };
		row->spread.sum += row->bytes[i];
	}
	if (r->count) {
		qsort(sorted, r->count, sizeof(*sorted), compare_ranked);
		row->spread.least = sorted[0].rank;
		row->spread.median = sorted[(r->count - 1) / 2].rank;
		row->spread.most = sorted[r->count - 1].rank;
	}
	free(sorted);
}

static int64_t beyond_median(const struct ranks_row *row, size_t rank)
{
	return row->bytes[rank] - row->bytes[row->spread.median];
}

/* ---- tables ---- */

static struct ranks_row *add_ranks_row(const struct ranks *r, struct ranks_table *t)
{
	t->rows = xgrow(t->rows, t->count, sizeof(*t->rows));
	t->rows[t->count] = (struct ranks_row){ .is_empty = true, .bytes = xcalloc(r->count, sizeof(int64_t)) };
	return &t->rows[t->count++];
}

static void add_to_ranks_row(struct ranks_row *row, const struct held_entry *entry)
{
	row->bytes[entry->side] += entry->bytes;
	if (!row->is_empty && row->greatest >= entry->bytes)
		return;
	row->is_empty = false;
	row->greatest = entry->bytes;
	row->shown = entry->side;
	row->line = entry->line;
	row->index = entry->index;
}

static int compare_sums(const void *left, const void *right)
{
	const struct ranks_row *a = left, *b = right;

	if (a->spread.sum != b->spread.sum)
		return a->spread.sum < b->spread.sum ? 1 : -1;
	return (a->index > b->index) - (a->index < b->index);
}

static void add_rank_entries(const struct ranks *r, enum held_table table, size_t rank, struct held_entries *to)
{
	const struct view_proc *proc = r->list[rank].proc;
	struct held_of of = {
		.side = rank, .view = r->sources[r->list[rank].source].view, .proc = proc, .is_tensors = r->is_tensors,
		.has_memory = r->is_tensors,
	};

	for (size_t i = 0; i < proc->row_count; i++) {
		of.row = &proc->rows[i];
		of.is_physical = of.row->has_physical;
		held_entries_add(to, table, &of);
	}
	of.row = NULL;
	held_entries_add(to, table, &of);
}

static void fill_ranks_table(const struct ranks *r, enum held_table table, struct ranks_table *out)
{
	struct held_entries e = { 0 };
	struct ranks_row *row = NULL;

	for (size_t i = 0; i < r->count; i++)
		add_rank_entries(r, table, i, &e);
	held_entries_sort(&e);
	out->all.bytes = xcalloc(r->count, sizeof(int64_t));
	for (size_t i = 0; i < e.count; i++) {
		if (!i || e.list[i].key != e.list[i - 1].key)
			row = add_ranks_row(r, out);
		add_to_ranks_row(row, &e.list[i]);
		out->all.bytes[e.list[i].side] += e.list[i].bytes;
	}
	for (size_t i = 0; i < out->count; i++)
		find_spread(r, &out->rows[i]);
	find_spread(r, &out->all);
	if (out->count)
		qsort(out->rows, out->count, sizeof(*out->rows), compare_sums);
	free(e.list);
}

static void fill_gpu_memory(struct ranks *r)
{
	r->gpu_memory.bytes = xcalloc(r->count, sizeof(int64_t));
	for (size_t i = 0; i < r->count; i++) {
		for (size_t k = 0; k < r->list[i].proc->row_count; k++)
			r->list[i].gpu_memory += (int64_t)view_weight(&r->list[i].proc->rows[k]);
		r->gpu_memory.bytes[i] = r->list[i].gpu_memory;
		r->list[i].lines = r->tables[HELD_LINES].all.bytes[i];
	}
	find_spread(r, &r->gpu_memory);
}

/* ---- the ranks that differ ---- */

/* Lines say nothing where most memory has no stack. */
static enum held_table find_telling(const struct ranks *r)
{
	const struct ranks_table *lines = &r->tables[HELD_LINES];

	return lines->count && view_line_has_code(lines->rows[0].line) ? HELD_LINES : HELD_CALLS;
}

static void find_odd_row(const struct ranks *r, struct ranks_odd *odd)
{
	const struct ranks_table *t = &r->tables[r->telling];

	odd->row = RANKS_NONE;
	for (size_t i = 0; i < t->count; i++) {
		int64_t change = beyond_median(&t->rows[i], odd->rank);

		if ((change < 0) != (odd->difference < 0) || magnitude_of(change) <= magnitude_of(odd->of_row))
			continue;
		odd->row = i;
		odd->of_row = change;
	}
}

static int compare_odd(const void *left, const void *right)
{
	const struct ranks_odd *a = left, *b = right;
	uint64_t x = magnitude_of(a->difference), y = magnitude_of(b->difference);

	if (x != y)
		return x < y ? 1 : -1;
	return (a->rank > b->rank) - (a->rank < b->rank);
}

static void find_odd(struct ranks *r)
{
	const struct ranks_row *all = &r->tables[HELD_LINES].all;

	r->telling = find_telling(r);
	for (size_t i = 0; i < r->count; i++) {
		struct ranks_odd odd = { .rank = i, .difference = beyond_median(all, i) };

		if (!is_much(magnitude_of(odd.difference), RANK_BYTES, (uint64_t)all->bytes[all->spread.median],
			     RANK_SHARE))
			continue;
		find_odd_row(r, &odd);
		r->odd = xgrow(r->odd, r->odd_count, sizeof(*r->odd));
		r->odd[r->odd_count++] = odd;
	}
	if (r->odd_count)
		qsort(r->odd, r->odd_count, sizeof(*r->odd), compare_odd);
}

void ranks_build(const struct ranks_source *sources, size_t count, struct ranks *out)
{
	*out = (struct ranks){ .source_count = count, .sources = sources };
	find_ranks(out);
	for (int table = 0; table < HELD_TABLE_COUNT; table++)
		fill_ranks_table(out, (enum held_table)table, &out->tables[table]);
	fill_gpu_memory(out);
	find_odd(out);
}

void ranks_free(struct ranks *r)
{
	for (int table = 0; table < HELD_TABLE_COUNT; table++) {
		for (size_t i = 0; i < r->tables[table].count; i++)
			free(r->tables[table].rows[i].bytes);
		free(r->tables[table].rows);
		free(r->tables[table].all.bytes);
	}
	free(r->gpu_memory.bytes);
	free(r->list);
	free(r->odd);
	*r = (struct ranks){ 0 };
}
