// SPDX-License-Identifier: BSD-2-Clause
/* Makes a table of a difference (diff.h): entries of both sides, of which those with one key become one row. */
#include "core/compare/diff.h"

#include <stdlib.h>

#include "base/xalloc.h"
#include "core/compare/diff_key.h"

/* What one side has in one part. */
struct entry {
	uint64_t key;
	int side;
	struct view_held held;       /* `live` may be below 0, as a number with a sign */
	const struct view_line_row *line;
	size_t index;
};

struct entries {
	const struct diff *diff;
	const struct diff_part *part; /* whose entries are added */
	int side;
	struct entry *list;
	size_t count;
};

static void add_held_entry(struct entries *e, uint64_t key, size_t index, const struct view_line_row *line,
		      const struct view_held *held)
{
	if (!held->live && !held->live_count)
		return;
	e->list = xgrow(e->list, e->count, sizeof(*e->list));
	e->list[e->count++] = (struct entry){
		.key = key, .side = e->side, .held = *held, .line = line, .index = index,
	};
}

static const struct view *entry_view(const struct entries *e)
{
	return e->diff->sides[e->side].view;
}

/* NULL: the side has no such process, or the process has nothing on this GPU. */
static const struct view_proc *entry_proc(const struct entries *e)
{
	size_t proc = e->diff->pairs[e->part->pair].proc[e->side];

	return proc == DIFF_NONE ? NULL : &entry_view(e)->procs[proc];
}

static const struct view_row *entry_row(const struct entries *e)
{
	size_t row = e->part->row[e->side];

	return row == DIFF_NONE ? NULL : &entry_proc(e)->rows[row];
}

static const struct view_stacks *entry_stacks(const struct entries *e)
{
	const struct view_row *row = entry_row(e);

	return !row ? NULL : e->part->is_tensors ? &row->torch.stacks : &row->stacks;
}

/* ---- the tables ---- */

static uint64_t code_key(const struct view_symbol *s)
{
	uint64_t key = diff_key_text(0, s->function);

	if (s->file[0])
		return diff_key_number(diff_key_text(key, s->file), s->line);
	key = diff_key_text(key, s->module);
	return s->function[0] ? key : diff_key_number(key, s->offset);
}

static uint64_t line_key(const struct view *view, const struct view_line_row *line)
{
	uint64_t key = diff_key_number(0, line->state);

	if (line->state == VIEW_LINE_OWN)
		return diff_key_number(key, code_key(&view->symbols[line->symbol]));
	if (line->state == VIEW_LINE_DRIVER)
		return diff_key_text(key, view->owners[view->stacks[line->stack].owner].text);
	return key;
}

static void add_line_entries(struct entries *e)
{
	const struct view_stacks *s = entry_stacks(e);
	const struct view_lines *lines = s ? &s->lines[VIEW_BY_LIVE] : NULL;

	for (size_t i = 0; s && i < lines->count; i++)
		add_held_entry(e, line_key(entry_view(e), &lines->rows[i]), 0, &lines->rows[i], &lines->rows[i].held);
}

static void add_use_entries(struct entries *e)
{
	const struct view_row *row = entry_row(e);
	struct view_held before;

	if (!row || !row->torch.seen)
		return;
	for (size_t c = 0; c < GMT_CATEGORY_COUNT; c++) {
		struct view_held held = view_category_held(&row->torch.training.categories[c]);

		add_held_entry(e, c, c, NULL, &held);
	}
	before = (struct view_held){ .live = row->torch.training.before };
	add_held_entry(e, DIFF_USE_BEFORE, DIFF_USE_BEFORE, NULL, &before);
}

static void add_owners_of(struct entries *e, const struct view_stacks *s)
{
	for (size_t i = 0; i < s->owner_count; i++) {
		uint32_t owner = s->owners[i].owner;

		add_held_entry(e, diff_key_text(0, entry_view(e)->owners[owner].text), owner, NULL, &s->owners[i].held);
	}
}

static void add_owner_entries(struct entries *e)
{
	if (entry_stacks(e))
		add_owners_of(e, entry_stacks(e));
}

static void add_module_entries(struct entries *e)
{
	const struct view_stacks *s = entry_stacks(e);
	const struct view_modules *modules = s ? &s->modules[VIEW_BY_LIVE] : NULL;

	for (size_t i = 0; s && i < modules->count; i++) {
		uint32_t module = modules->rows[i].module;
		const char *path = module == VIEW_NO_MODULE ? "" : entry_view(e)->modules[module];

		add_held_entry(e, diff_key_text(0, path), module, NULL, &modules->rows[i].held);
	}
}

static void add_call_entries(struct entries *e)
{
	const struct view_proc *proc = entry_proc(e);
	const struct view_row *row = entry_row(e);

	for (size_t c = 0; c < GMT_CLASS_COUNT; c++) {
		const struct view_class *class = row ? &row->by_class[c] : proc ? &proc->by_class[c] : NULL;
		bool is_wanted = gmt_class_is_device((enum gmt_class)c) != e->part->is_host;

		if (class && is_wanted)
			add_held_entry(e, c, c, NULL, &(struct view_held){ .live = class->bytes.live,
								      .live_count = class->live_count });
	}
}

static void add_memory_entries(struct entries *e)
{
	const struct view_row *row = entry_row(e);

	if (!row || !e->diff->is_tensors)
		return;
	add_owners_of(e, &row->stacks);
	if (e->part->is_physical)
		add_held_entry(e, 0, DIFF_MEMORY_ROUNDING, NULL,
			  &(struct view_held){ .live = (uint64_t)row->stacks.unexplained });
}

/* ---- rows ---- */

static int compare_by_key(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;

	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	if (a->side != b->side)
		return a->side < b->side ? -1 : 1;
	return (a->held.live < b->held.live) - (a->held.live > b->held.live);
}

static void add_amount(struct diff_amount *to, const struct entry *entry)
{
	to->bytes[entry->side] += (int64_t)entry->held.live;
	to->count[entry->side] += entry->held.live_count;
}

/* The greatest entry of a side says what the row is. */
static void add_to_row(struct diff_row *row, const struct entry *entry)
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
	int64_t bytes = diff_bytes(&row->amount);

	return bytes < 0 ? 0 - (uint64_t)bytes : (uint64_t)bytes;
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

static void make_rows(const struct entries *e, struct diff_table *out)
{
	if (e->count)
		qsort(e->list, e->count, sizeof(*e->list), compare_by_key);
	for (size_t i = 0; i < e->count; i++) {
		if (!i || e->list[i].key != e->list[i - 1].key) {
			out->rows = xgrow(out->rows, out->count, sizeof(*out->rows));
			out->rows[out->count++] = (struct diff_row){ .key = e->list[i].key };
		}
		add_to_row(&out->rows[out->count - 1], &e->list[i]);
		add_amount(&out->all, &e->list[i]);
	}
}

void diff_fill_table(const struct diff *diff, enum diff_table_kind kind, const struct diff_part *parts, size_t count,
		     struct diff_table *out)
{
	static void (*const add[DIFF_TABLE_COUNT])(struct entries *) = {
		[DIFF_LINES] = add_line_entries, [DIFF_USES] = add_use_entries, [DIFF_OWNERS] = add_owner_entries,
		[DIFF_MODULES] = add_module_entries, [DIFF_CALLS] = add_call_entries,
		[DIFF_MEMORY] = add_memory_entries,
	};
	struct entries e = { .diff = diff };

	*out = (struct diff_table){ 0 };
	for (size_t i = 0; i < count; i++) {
		e.part = &parts[i];
		for (e.side = 0; e.side < DIFF_SIDES; e.side++)
			add[kind](&e);
	}
	make_rows(&e, out);
	free(e.list);
	if (kind == DIFF_LINES)
		diff_match_moved(diff, out);
	if (out->count)
		qsort(out->rows, out->count, sizeof(*out->rows), compare_differences);
}
