/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/account/account.h"

#include <stdlib.h>

#include "base/xalloc.h"
#include "core/terms/names.h"

_Static_assert(GPUS_MAX + 1 <= ROW_NONE, "every GPU and the unknown one have a row, ROW_NONE is none");

bool account_has_row(unsigned int class)
{
	/* Imports and planned graph memory are no memory of the process, but their GPU is known. */
	return gmt_class_is_device(class) || class == GMT_CLASS_IMPORTED || class == GMT_CLASS_GRAPH;
}

void account_init(struct account *account)
{
	*account = (struct account){ .rows = xcalloc(1, sizeof(struct row)), .count = 1 };
	account->rows[0].gpu = GPU_UNKNOWN;
	stacks_init(&account->rows[0].stacks);
	stacks_init(&account->stacks);
}

void account_fini(struct account *account)
{
	for (unsigned int i = 0; i < account->count; i++)
		stacks_fini(&account->rows[i].stacks);
	stacks_fini(&account->stacks);
	free(account->rows);
}

unsigned int account_find_row(const struct account *account, int gpu)
{
	for (unsigned int i = 0; i < account->count; i++)
		if (account->rows[i].gpu == gpu)
			return i;
	return 0;
}

unsigned int account_row(struct account *account, int gpu)
{
	unsigned int row = account_find_row(account, gpu);

	if (row || gpu == GPU_UNKNOWN)
		return row;
	account->rows = xreallocarray(account->rows, account->count + 1, sizeof(*account->rows));
	account->rows[account->count] = (struct row){ .gpu = gpu };
	stacks_init(&account->rows[account->count].stacks);
	account->rows[account->count].stacks.is_closed = account->stacks.is_closed;
	return account->count++;
}

void level_set(struct view_level *level, uint64_t live, uint64_t ts_ns)
{
	level->live = live;
	if (live > level->peak) {
		level->peak = live;
		level->peak_ts_ns = ts_ns;
	}
}

void level_restart(struct view_level *level, uint64_t ts_ns)
{
	level->peak = level->live;
	level->peak_ts_ns = ts_ns;
}

/* Where memory of the class is booked by stack; NULL: the process does not own such memory. */
static inline struct stacks *stacks_of(struct account *account, const struct booking *b)
{
	if (b->row == ROW_NONE)
		return &account->stacks;
	return gmt_class_is_device(b->class) ? &account->rows[b->row].stacks : NULL;
}

static inline void raise_class(struct view_class *class, const struct booking *b)
{
	level_set(&class->bytes, class->bytes.live + b->bytes, b->ts_ns);
	class->live_count++;
}

static inline void lower_class(struct view_class *class, const struct booking *b)
{
	class->bytes.live -= b->bytes;
	class->live_count--;
}

static inline void add_to_class(struct view_class *class, const struct booking *b)
{
	raise_class(class, b);
	class->allocs++;
	class->alloc_bytes += b->bytes;
}

static inline void remove_from_class(struct view_class *class, const struct booking *b)
{
	lower_class(class, b);
	class->frees++;
	class->freed_bytes += b->bytes;
}

static void restore_to_class(struct view_class *class, const struct booking *b)
{
	raise_class(class, b);
	class->frees--;
	class->freed_bytes -= b->bytes;
}

/* Changes the class as if the allocation had never been there. */
static void take_from_class(struct view_class *class, const struct booking *b)
{
	lower_class(class, b);
	class->allocs--;
	class->alloc_bytes -= b->bytes;
}

static void resize_in_class(struct view_class *class, const struct booking *b, uint64_t bytes)
{
	level_set(&class->bytes, class->bytes.live - b->bytes + bytes, b->ts_ns);
	class->alloc_bytes += bytes - b->bytes;
}

/* Adds `bytes` of device memory, modulo 2^64: a negative number takes bytes away. */
static inline void change_attributed(struct row *row, const struct booking *b, uint64_t bytes)
{
	if (gmt_class_is_device(b->class))
		level_set(&row->attributed, row->attributed.live + bytes, b->ts_ns);
}

/* Changes the sums of the booking's class, and those of its row by `bytes`. Inline: each allocation passes here. */
static inline __attribute__((always_inline)) void change_sums(struct account *account, const struct booking *b,
		uint64_t bytes, void (*change)(struct view_class *class, const struct booking *b))
{
	change(&account->by_class[b->class], b);
	if (b->row == ROW_NONE)
		return;
	change(&account->rows[b->row].by_class[b->class], b);
	change_attributed(&account->rows[b->row], b, bytes);
}

void account_add(struct account *account, const struct booking *b)
{
	struct stacks *stacks = stacks_of(account, b);

	if (stacks)
		stacks_add(stacks, b->stack_id, b->bytes, b->ts_ns);
	change_sums(account, b, b->bytes, add_to_class);
}

void account_remove(struct account *account, const struct booking *b)
{
	struct stacks *stacks = stacks_of(account, b);

	if (stacks)
		stacks_remove(stacks, b->stack_id, b->bytes);
	change_sums(account, b, -b->bytes, remove_from_class);
}

void account_restore(struct account *account, const struct booking *b)
{
	struct stacks *stacks = stacks_of(account, b);

	if (stacks)
		stacks_restore(stacks, b->stack_id, b->bytes, b->ts_ns);
	change_sums(account, b, b->bytes, restore_to_class);
}

void account_fail(struct account *account, const struct booking *b)
{
	account->by_class[b->class].failed++;
	if (b->row != ROW_NONE)
		account->rows[b->row].by_class[b->class].failed++;
}

/* The unknown row shows what is unknown now. If the GPU of all memory of a class is known, the peak goes, too. */
static void forget_peaks(struct row *row, unsigned int class)
{
	uint64_t allocs = 0;

	if (!row->by_class[class].allocs)
		row->by_class[class].bytes = (struct view_level){ 0 };
	for (unsigned int i = 0; i < GMT_CLASS_COUNT; i++)
		allocs += gmt_class_is_device(i) ? row->by_class[i].allocs : 0;
	if (!allocs)
		row->attributed = (struct view_level){ 0 };
}

void account_move(struct account *account, const struct booking *b, unsigned int to)
{
	if (b->row == ROW_NONE)
		return;
	struct row *from_row = &account->rows[b->row], *to_row = &account->rows[to];

	take_from_class(&from_row->by_class[b->class], b);
	change_attributed(from_row, b, -b->bytes);
	forget_peaks(from_row, b->class);
	add_to_class(&to_row->by_class[b->class], b);
	change_attributed(to_row, b, b->bytes);
	if (gmt_class_is_device(b->class))
		stacks_move(&from_row->stacks, &to_row->stacks, b->stack_id, b->bytes, b->ts_ns);
}

void account_resize(struct account *account, const struct booking *b, uint64_t bytes)
{
	struct stacks *stacks = stacks_of(account, b);

	if (stacks)
		stacks_resize(stacks, b->stack_id, b->bytes, bytes, b->ts_ns);
	resize_in_class(&account->by_class[b->class], b, bytes);
	if (b->row == ROW_NONE)
		return;
	resize_in_class(&account->rows[b->row].by_class[b->class], b, bytes);
	change_attributed(&account->rows[b->row], b, bytes - b->bytes);
}

static void drop_classes(struct view_class *classes)
{
	for (unsigned int i = 0; i < GMT_CLASS_COUNT; i++) {
		classes[i].bytes.live = 0;
		classes[i].live_count = 0;
	}
}

void account_drop(struct account *account)
{
	drop_classes(account->by_class);
	stacks_drop(&account->stacks);
	for (unsigned int i = 0; i < account->count; i++) {
		drop_classes(account->rows[i].by_class);
		account->rows[i].attributed.live = 0;
		account->rows[i].physical.live = 0;
		account->rows[i].nvml.before = account->rows[i].nvml.lowered = 0;
		stacks_drop(&account->rows[i].stacks);
	}
}

struct stacks *account_stacks(struct account *account, int gpu)
{
	unsigned int row = account_row(account, gpu); /* may move the rows */

	return &account->rows[row].stacks;
}

void account_close(struct account *account)
{
	for (unsigned int i = 0; i < account->count; i++)
		stacks_close(&account->rows[i].stacks);
	stacks_close(&account->stacks);
}

void account_mark(struct account *account, unsigned int mark)
{
	for (unsigned int i = 0; i < account->count; i++)
		stacks_mark(&account->rows[i].stacks, mark);
	stacks_mark(&account->stacks, mark);
}

static void restart_classes(struct view_class *classes, uint64_t ts_ns)
{
	for (unsigned int i = 0; i < GMT_CLASS_COUNT; i++)
		level_restart(&classes[i].bytes, ts_ns);
}

void account_restart(struct account *account, uint64_t ts_ns)
{
	restart_classes(account->by_class, ts_ns);
	stacks_restart(&account->stacks, ts_ns);
	for (unsigned int i = 0; i < account->count; i++) {
		struct row *row = &account->rows[i];

		restart_classes(row->by_class, ts_ns);
		level_restart(&row->attributed, ts_ns);
		level_restart(&row->physical, ts_ns);
		stacks_restart(&row->stacks, ts_ns);
	}
}
