// SPDX-License-Identifier: BSD-2-Clause
#include "core/compare/held_entries.h"

#include <stdlib.h>

#include "base/xalloc.h"
#include "core/compare/held_key.h"

const char *held_table_name(enum held_table table)
{
	static const char *const names[] = {
#define X(name, text) text,
		HELD_TABLES(X)
#undef X
	};

	return names[table];
}

struct adding {
	struct held_entries *to;
	const struct held_of *of;
};

static void add_entry_of(const struct adding *a, uint64_t key, size_t index, const struct view_line_row *line,
		     const struct view_held *held)
{
	struct held_entries *to = a->to;

	if (!held->live && !held->live_count)
		return;
	to->list = xgrow(to->list, to->count, sizeof(*to->list));
	to->list[to->count++] = (struct held_entry){
		.key = key, .side = a->of->side, .bytes = (int64_t)held->live, .count = held->live_count, .line = line,
		.index = index,
	};
}

static const struct view_stacks *held_stacks(const struct adding *a)
{
	const struct view_row *row = a->of->row;

	return !row ? NULL : a->of->is_tensors ? &row->torch.stacks : &row->stacks;
}

/* ---- the tables ---- */

static uint64_t code_key(const struct view_symbol *s)
{
	uint64_t key = held_key_text(0, s->function);

	if (s->file[0])
		return held_key_number(held_key_text(key, s->file), s->line);
	key = held_key_text(key, s->module);
	return s->function[0] ? key : held_key_number(key, s->offset);
}

static uint64_t line_key(const struct view *view, const struct view_line_row *line)
{
	uint64_t key = held_key_number(0, line->state);

	if (line->state == VIEW_LINE_OWN)
		return held_key_number(key, code_key(&view->symbols[line->symbol]));
	if (line->state == VIEW_LINE_DRIVER)
		return held_key_text(key, view->owners[view->stacks[line->stack].owner].text);
	return key;
}

static void add_line_entries(const struct adding *a)
{
	const struct view_stacks *s = held_stacks(a);
	const struct view_lines *lines = s ? &s->lines[VIEW_BY_LIVE] : NULL;

	for (size_t i = 0; s && i < lines->count; i++)
		add_entry_of(a, line_key(a->of->view, &lines->rows[i]), 0, &lines->rows[i], &lines->rows[i].held);
}

static void add_use_entries(const struct adding *a)
{
	const struct view_row *row = a->of->row;
	struct view_held before;

	if (!row || !row->torch.seen)
		return;
	for (size_t c = 0; c < GMT_CATEGORY_COUNT; c++) {
		struct view_held held = view_category_held(&row->torch.training.categories[c]);

		add_entry_of(a, c, c, NULL, &held);
	}
	before = (struct view_held){ .live = row->torch.training.before };
	add_entry_of(a, HELD_USE_BEFORE, HELD_USE_BEFORE, NULL, &before);
}

static void add_owners_of(const struct adding *a, const struct view_stacks *s)
{
	for (size_t i = 0; i < s->owner_count; i++) {
		uint32_t owner = s->owners[i].owner;

		add_entry_of(a, held_key_text(0, a->of->view->owners[owner].text), owner, NULL, &s->owners[i].held);
	}
}

static void add_owner_entries(const struct adding *a)
{
	if (held_stacks(a))
		add_owners_of(a, held_stacks(a));
}

static void add_module_entries(const struct adding *a)
{
	const struct view_stacks *s = held_stacks(a);
	const struct view_modules *modules = s ? &s->modules[VIEW_BY_LIVE] : NULL;

	for (size_t i = 0; s && i < modules->count; i++) {
		uint32_t module = modules->rows[i].module;
		const char *path = module == VIEW_NO_MODULE ? "" : a->of->view->modules[module];

		add_entry_of(a, held_key_text(0, path), module, NULL, &modules->rows[i].held);
	}
}

static void add_call_entries(const struct adding *a)
{
	const struct view_class *classes = a->of->row ? a->of->row->by_class : a->of->proc->by_class;

	for (size_t c = 0; c < GMT_CLASS_COUNT; c++) {
		struct view_held held = { .live = classes[c].bytes.live, .live_count = classes[c].live_count };

		if (gmt_class_is_device((enum gmt_class)c) == (a->of->row != NULL))
			add_entry_of(a, c, c, NULL, &held);
	}
}

static void add_memory_entries(const struct adding *a)
{
	const struct view_row *row = a->of->row;

	if (!row || !a->of->has_memory)
		return;
	add_owners_of(a, &row->stacks);
	if (a->of->is_physical)
		add_entry_of(a, 0, HELD_MEMORY_ROUNDING, NULL,
			 &(struct view_held){ .live = (uint64_t)row->stacks.unexplained });
}

/* ---- all of a table ---- */

void held_entries_add(struct held_entries *entries, enum held_table table, const struct held_of *of)
{
	static void (*const add[HELD_TABLE_COUNT])(const struct adding *) = {
		[HELD_LINES] = add_line_entries, [HELD_USES] = add_use_entries, [HELD_OWNERS] = add_owner_entries,
		[HELD_MODULES] = add_module_entries, [HELD_CALLS] = add_call_entries,
		[HELD_MEMORY] = add_memory_entries,
	};
	const struct adding adding = { entries, of };

	add[table](&adding);
}

static int compare_by_key(const void *left, const void *right)
{
	const struct held_entry *a = left, *b = right;

	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	if (a->side != b->side)
		return a->side < b->side ? -1 : 1;
	return (a->bytes < b->bytes) - (a->bytes > b->bytes);
}

void held_entries_sort(struct held_entries *entries)
{
	if (entries->count)
		qsort(entries->list, entries->count, sizeof(*entries->list), compare_by_key);
}
