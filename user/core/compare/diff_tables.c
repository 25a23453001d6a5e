// SPDX-License-Identifier: BSD-2-Clause
/* Makes a table of a difference (diff.h): entries of both sides, of which those with one key become one row. */
#include "core/compare/diff.h"

#include <stdlib.h>

#include "base/amounts.h"
#include "base/xalloc.h"

static void add_amount(struct diff_amount *to, const struct held_entry *entry)
{
	to->bytes[entry->side] += entry->bytes;
	to->count[entry->side] += entry->count;
}

/* The greatest entry of a side says what the row is. */
static void add_to_row(struct diff_row *row, const struct held_entry *entry)
{
	add_amount(&row->amount, entry);
	if (row->is_there[entry->side])
		return;
	row->is_there[entry->side] = true;
	row->line[entry->side] = entry->line;
	row->index[entry->side] = entry->index;
}

static uint64_t change_size(const struct diff_row *row)
{
	return magnitude_of(diff_bytes(&row->amount));
}

static int64_t most_of(const struct diff_row *row)
{
	const int64_t *bytes = row->amount.bytes;

	return bytes[DIFF_A] > bytes[DIFF_B] ? bytes[DIFF_A] : bytes[DIFF_B];
}

/* The greatest difference first, then the greatest amount. */
static int compare_differences(const void *left, const void *right)
{
	const struct diff_row *a = left, *b = right;

	if (change_size(a) != change_size(b))
		return change_size(a) < change_size(b) ? 1 : -1;
	if (most_of(a) != most_of(b))
		return most_of(a) < most_of(b) ? 1 : -1;
	return (a->key > b->key) - (a->key < b->key);
}

static void make_rows(struct held_entries *e, struct diff_table *out)
{
	held_entries_sort(e);
	for (size_t i = 0; i < e->count; i++) {
		if (!i || e->list[i].key != e->list[i - 1].key) {
			out->rows = xgrow(out->rows, out->count, sizeof(*out->rows));
			out->rows[out->count++] = (struct diff_row){ .key = e->list[i].key };
		}
		add_to_row(&out->rows[out->count - 1], &e->list[i]);
		add_amount(&out->all, &e->list[i]);
	}
}

static void add_part_entries(const struct diff *d, enum held_table kind, const struct diff_part *part, int side,
			     struct held_entries *to)
{
	struct held_of of = {
		.side = (size_t)side, .view = d->sides[side].view, .is_tensors = part->is_tensors,
		.is_physical = part->is_physical, .has_memory = d->is_tensors,
	};
	size_t proc = d->pairs[part->pair].proc[side], row = part->row[side];

	if (proc == DIFF_NONE || (!part->is_host && row == DIFF_NONE))
		return;
	of.proc = &of.view->procs[proc];
	of.row = part->is_host ? NULL : &of.proc->rows[row];
	held_entries_add(to, kind, &of);
}

void diff_fill_table(const struct diff *diff, enum held_table kind, const struct diff_part *parts, size_t count,
		     struct diff_table *out)
{
	struct held_entries entries = { 0 };

	*out = (struct diff_table){ 0 };
	for (size_t i = 0; i < count; i++)
		for (int side = 0; side < DIFF_SIDES; side++)
			add_part_entries(diff, kind, &parts[i], side, &entries);
	make_rows(&entries, out);
	free(entries.list);
	if (kind == HELD_LINES)
		diff_match_moved(diff, out);
	if (out->count)
		qsort(out->rows, out->count, sizeof(*out->rows), compare_differences);
}
