// SPDX-License-Identifier: BSD-2-Clause
#include "core/view/table.h"

#include <stdlib.h>
#include <string.h>

#include "base/siphash.h"
#include "base/xalloc.h"

#define KEY_FRAMES 6         /* innermost frames that tell stacks apart */

const char *table_name(enum table_kind kind)
{
	static const char *const names[] = {
#define X(name, text) text,
		TABLES(X)
#undef X
	};

	return names[kind];
}

/* ---- keys ---- */

static uint64_t key_of(const void *bytes, size_t size)
{
	static const uint64_t key[2] = { 0 };

	return siphash(key, bytes, size);
}

static uint64_t key_of_symbol(const struct view_symbol *s)
{
	const uint64_t parts[] = {
		key_of(s->function, strlen(s->function)), key_of(s->file, strlen(s->file)), s->line,
		s->function[0] ? 0 : s->offset,
	};

	return key_of(parts, sizeof(parts));
}

static uint64_t key_of_line(const struct view *view, const struct view_line_row *line)
{
	const char *owner = view->owners[view->stacks[line->stack].owner].text;

	if (line->state == VIEW_LINE_DRIVER)
		return key_of(owner, strlen(owner));
	return line->state == VIEW_LINE_OWN ? key_of_symbol(&view->symbols[line->symbol]) : line->state + 1u;
}

static uint64_t key_of_stack(const struct view *view, const struct view_stack *stack)
{
	uint64_t parts[KEY_FRAMES + 2] = { stack->state, stack->frame_count };

	for (uint32_t i = 0; i < stack->frame_count && i < KEY_FRAMES; i++)
		parts[i] ^= key_of_symbol(&view->symbols[stack->frames[i]]);
	if (stack->own < stack->frame_count)
		parts[KEY_FRAMES] = key_of_symbol(&view->symbols[stack->frames[stack->own]]);
	return key_of(parts, sizeof(parts));
}

/* ---- rows ---- */

static struct table_row *add_row(struct table *t, uint64_t key, size_t index)
{
	t->rows = xgrow(t->rows, t->count, sizeof(*t->rows));
	t->rows[t->count] = (struct table_row){ .key = key, .index = index };
	return &t->rows[t->count++];
}

static void add_held(struct view_held *sum, const struct view_held *held)
{
	sum->live += held->live;
	sum->at_peak += held->at_peak;
	sum->grown += held->grown;
	sum->live_count += held->live_count;
	sum->allocs += held->allocs;
	sum->frees += held->frees;
	sum->alloc_bytes += held->alloc_bytes;
}

static bool is_asked(const struct table_ask *ask, const struct view *view, size_t proc, const struct view_row *row)
{
	if (ask->proc == TABLE_ALL_PROCS ? view->procs[proc].exited : ask->proc != proc)
		return false;
	return ask->gpu == TABLE_ALL_GPUS || row->gpu == ask->gpu;
}

typedef void (*row_fn)(struct table *t, const struct view *view, const struct view_row *row,
		       const struct table_ask *ask);

static void for_rows(struct table *t, const struct view *view, const struct table_ask *ask, row_fn add)
{
	for (size_t p = 0; p < view->proc_count; p++)
		for (size_t r = 0; r < view->procs[p].row_count; r++)
			if (is_asked(ask, view, p, &view->procs[p].rows[r]))
				add(t, view, &view->procs[p].rows[r], ask);
}

/* ---- processes ---- */

/* Growth of tensors says more: the segments that they lie in come and go rarely. */
static int64_t grown_of(const struct view_row *row)
{
	const struct view_stacks *s = row->torch.stacks.owner_count ? &row->torch.stacks : &row->stacks;
	int64_t grown = 0;

	for (size_t i = 0; i < s->owner_count; i++)
		grown += s->owners[i].held.grown;
	return grown;
}

static void add_gpu_of_process(struct table_row *out, const struct view_proc *proc, const struct view_row *row)
{
	const struct view_torch *t = &row->torch;

	out->held.live += view_holds(proc, row);
	out->held.at_peak += row->has_physical ? row->physical.peak : row->attributed.peak;
	out->held.grown += grown_of(row);
	out->before += row->before_attach;
	for (int c = 0; c < GMT_CLASS_COUNT; c++) {
		if (!gmt_class_is_device((enum gmt_class)c))
			continue;
		out->held.live_count += row->by_class[c].live_count;
		out->held.alloc_bytes += row->by_class[c].alloc_bytes;
	}
	if (!t->seen)
		return;
	out->has_torch = true;
	out->tensors += t->allocated.live;
	out->cached += t->reserved.live > t->allocated.live ? t->reserved.live - t->allocated.live : 0;
}

static bool has_failed_request(const struct view_proc *proc)
{
	for (int i = 0; i < GMT_OOM_OUTCOME_COUNT; i++)
		if (proc->ooms[i])
			return true;
	return false;
}

static void add_processes(struct table *t, const struct view *view, const struct table_ask *ask)
{
	for (size_t p = 0; p < view->proc_count; p++) {
		const struct view_proc *proc = &view->procs[p];
		const uint64_t parts[] = { proc->tgid, proc->attach_ts_ns };
		/* What ended without memory, as each nvidia-smi does under -a, is nothing to look at. */
		bool is_shown = ask->gpu == TABLE_ALL_GPUS &&
				(!proc->exited || proc->row_count || has_failed_request(proc));
		struct table_row *out;

		if (ask->proc != TABLE_ALL_PROCS && ask->proc != p)
			continue;
		for (size_t r = 0; r < proc->row_count; r++)
			is_shown |= proc->rows[r].gpu == ask->gpu;
		if (!is_shown)
			continue;
		out = add_row(t, key_of(parts, sizeof(parts)), p);
		out->has_exited = proc->exited;
		for (size_t r = 0; r < proc->row_count; r++)
			if (ask->gpu == TABLE_ALL_GPUS || proc->rows[r].gpu == ask->gpu)
				add_gpu_of_process(out, proc, &proc->rows[r]);
	}
}

/* ---- GPUs ---- */

void table_gpu_use(const struct view *view, int gpu, struct table_gpu *out)
{
	const struct view_gpu *g = &view->gpus[gpu];
	uint64_t by_nvml = 0;

	*out = (struct table_gpu){ .total = g->total_bytes };
	for (size_t p = 0; p < view->proc_count; p++) {
		for (size_t r = 0; r < view->procs[p].row_count && !view->procs[p].exited; r++) {
			const struct view_row *row = &view->procs[p].rows[r];

			if (row->gpu != gpu)
				continue;
			out->processes++;
			out->traced += view_holds(&view->procs[p], row);
			by_nvml += row->has_nvml ? row->nvml : 0;
		}
	}
	if (!g->has_memory)
		return;
	out->has_others = true;
	out->others = g->processes_bytes > by_nvml ? g->processes_bytes - by_nvml : 0;
	out->rest = g->used_bytes > g->processes_bytes ? g->used_bytes - g->processes_bytes : 0;
	out->free = g->free_bytes;
}

static void add_gpus(struct table *t, const struct view *view, const struct table_ask *ask)
{
	for (size_t gpu = 0; gpu < view->gpu_count; gpu++) {
		struct table_ask processes = { TABLE_PROCESSES, ask->order, (int)gpu, ask->proc };
		struct table of_gpu = { 0 };
		struct table_gpu use;
		struct table_row *out;

		if (ask->gpu != TABLE_ALL_GPUS && ask->gpu != (int)gpu)
			continue;
		table_gpu_use(view, (int)gpu, &use);
		out = add_row(t, key_of(view->gpus[gpu].uuid, sizeof(view->gpus[gpu].uuid)), gpu);
		add_processes(&of_gpu, view, &processes);
		for (size_t i = 0; i < of_gpu.count; i++)
			if (!of_gpu.rows[i].has_exited)
				add_held(&out->held, &of_gpu.rows[i].held);
		out->held.live = use.traced + use.others + use.rest;
		out->held.live_count = use.processes;
		table_free(&of_gpu);
	}
}

/* ---- lines, stacks, owners, categories ---- */

static struct table_row *add_held_row(struct table *t, uint64_t key, size_t index, const struct view_stacks *s,
				      const struct view_held *held)
{
	struct table_row *row = add_row(t, key, index);

	row->held = *held;
	row->has_each = s->iterations;
	row->each = view_each(s, held);
	return row;
}

static void add_lines(struct table *t, const struct view *view, const struct view_row *row, const struct table_ask *ask)
{
	const struct view_stacks *s = view_best_stacks(row);
	const struct view_lines *lines = &s->lines[ask->order];

	for (size_t i = 0; i < lines->count; i++) {
		struct table_row *out = add_held_row(t, key_of_line(view, &lines->rows[i]), 0, s,
						     &lines->rows[i].held);

		out->line = &lines->rows[i];
		out->purpose = lines->rows[i].purpose;
	}
}

static void add_stacks(struct table *t, const struct view *view, const struct view_row *row,
		       const struct table_ask *ask)
{
	const struct view_stacks *s = view_best_stacks(row);
	const struct view_top *top = &s->top[ask->order];

	for (size_t i = 0; i < top->count; i++) {
		const struct view_stack_row *stack = &top->rows[i];
		uint64_t key = key_of_stack(view, &view->stacks[stack->stack]);

		add_held_row(t, key, stack->stack, s, &stack->held)->purpose = stack->purpose;
	}
}

static void add_owners(struct table *t, const struct view *view, const struct view_row *row,
		       const struct table_ask *ask)
{
	const struct view_stacks *s = view_best_stacks(row);

	(void)ask;
	for (size_t i = 0; i < s->owner_count; i++) {
		const char *name = view->owners[s->owners[i].owner].text;

		add_held_row(t, key_of(name, strlen(name)), s->owners[i].owner, s, &s->owners[i].held);
	}
}

static void add_modules(struct table *t, const struct view *view, const struct view_row *row,
			const struct table_ask *ask)
{
	const struct view_stacks *s = view_best_stacks(row);
	const struct view_modules *modules = &s->modules[ask->order];

	for (size_t i = 0; i < modules->count; i++) {
		uint32_t module = modules->rows[i].module;
		const char *path = module == VIEW_NO_MODULE ? "" : view->modules[module];

		add_held_row(t, key_of(path, strlen(path)), module, s, &modules->rows[i].held);
	}
}

static void add_all_categories(struct table *t, const struct view *view, const struct view_row *row,
			   const struct table_ask *ask)
{
	const struct view_training *training = &row->torch.training;
	struct table_row *before;

	(void)view;
	(void)ask;
	if (!row->torch.seen)
		return;
	for (size_t c = 0; c < GMT_CATEGORY_COUNT; c++) {
		struct view_held held = view_category_held(&training->categories[c]);

		if (view_category_is_used(&training->categories[c]))
			add_held_row(t, c + 1, c, &row->torch.stacks, &held);
	}
	if (!training->before)
		return;
	before = add_row(t, TABLE_BEFORE_ATTACH + 1, TABLE_BEFORE_ATTACH);
	before->held.live = training->before;
	before->is_before = true;
}

static void merge_row(struct table_row *to, const struct table_row *from)
{
	add_held(&to->held, &from->held);
	to->has_each |= from->has_each;
	to->each += from->each;
}

static int by_key(const void *left, const void *right)
{
	const struct table_row *a = left, *b = right;

	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	return a->held.live == b->held.live ? 0 : a->held.live < b->held.live ? 1 : -1;
}

/* Rows with the same key become one, which keeps what the greatest of them says. */
static void merge_rows(struct table *t)
{
	size_t kept = 0;

	qsort(t->rows, t->count, sizeof(*t->rows), by_key);
	for (size_t i = 0; i < t->count; i++) {
		if (kept && t->rows[kept - 1].key == t->rows[i].key)
			merge_row(&t->rows[kept - 1], &t->rows[i]);
		else
			t->rows[kept++] = t->rows[i];
	}
	t->count = kept;
}

/* ---- the order ---- */

static int compare_rows(const void *left, const void *right, void *order)
{
	const struct table_row *a = left, *b = right;
	int64_t x = view_value(&a->held, *(enum view_order *)order);
	int64_t y = view_value(&b->held, *(enum view_order *)order);

	if (a->has_exited != b->has_exited)
		return a->has_exited ? 1 : -1;
	if (x != y)
		return x < y ? 1 : -1;
	if (a->held.live != b->held.live)
		return a->held.live < b->held.live ? 1 : -1;
	return a->key < b->key ? -1 : a->key > b->key;
}

void table_build(const struct view *view, const struct table_ask *ask, struct table *out)
{
	static const row_fn by_row[TABLE_KIND_COUNT] = {
		[TABLE_LINES] = add_lines, [TABLE_STACKS] = add_stacks, [TABLE_OWNERS] = add_owners,
		[TABLE_CATEGORIES] = add_all_categories, [TABLE_MODULES] = add_modules,
	};
	enum view_order order = ask->order;

	*out = (struct table){ .kind = ask->kind };
	if (ask->kind == TABLE_PROCESSES)
		add_processes(out, view, ask);
	else if (ask->kind == TABLE_GPUS)
		add_gpus(out, view, ask);
	else
		for_rows(out, view, ask, by_row[ask->kind]);
	if (!out->count)
		return;
	merge_rows(out);
	qsort_r(out->rows, out->count, sizeof(*out->rows), compare_rows, &order);
}

void table_free(struct table *table)
{
	free(table->rows);
	*table = (struct table){ 0 };
}

static bool shows_modules(const struct view_stacks *s)
{
	for (int order = 0; order < VIEW_ORDER_COUNT; order++)
		if (s->modules[order].count)
			return true;
	return false;
}

static bool row_has(const struct view_row *row, enum table_kind kind)
{
	if (kind == TABLE_CATEGORIES)
		return row->torch.seen;
	return kind == TABLE_MODULES ? shows_modules(view_best_stacks(row)) : view_has_stacks(view_best_stacks(row));
}

bool table_has(const struct view *view, enum table_kind kind)
{
	for (size_t p = 0; p < view->proc_count; p++) {
		for (size_t r = 0; r < view->procs[p].row_count && !view->procs[p].exited; r++)
			if (row_has(&view->procs[p].rows[r], kind))
				return true;
	}
	return kind == TABLE_PROCESSES || kind == TABLE_GPUS;
}
