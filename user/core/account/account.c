/* SPDX-License-Identifier: BSD-2-Clause */
/* See account.h. */
#include "core/account/account.h"

#include <stdlib.h>

#include "base/xalloc.h"

_Static_assert(GPUS_MAX + 1 <= ROW_NONE, "every GPU and the unknown one have a row, ROW_NONE is none");

/* Imports and planned graph memory are no memory of the process, but it is known on which GPU. */
static const bool on_gpu[GMT_CLASS_COUNT] = {
#define X(name, number, json, text, device) \
	[GMT_CLASS_##name] = device || GMT_CLASS_##name == GMT_CLASS_IMPORTED || GMT_CLASS_##name == GMT_CLASS_GRAPH,
	GMT_CLASSES(X)
#undef X
};

static const bool is_device[GMT_CLASS_COUNT] = {
#define X(name, number, json, text, device) [GMT_CLASS_##name] = device,
	GMT_CLASSES(X)
#undef X
};

bool account_has_row(unsigned int class)
{
	return class < GMT_CLASS_COUNT && on_gpu[class];
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

/* Where memory of the class is booked by stack; NULL: it is none of the process's. */
static inline struct stacks *stacks_of(struct account *account, const struct booking *b)
{
	if (b->row == ROW_NONE)
		return &account->stacks;
	return is_device[b->class] ? &account->rows[b->row].stacks : NULL;
}

static inline void raise_class(struct view_class *class, uint64_t bytes, uint64_t ts_ns)
{
	level_set(&class->bytes, class->bytes.live + bytes, ts_ns);
	class->live_count++;
}

static inline void lower_class(struct view_class *class, uint64_t bytes)
{
	class->bytes.live -= bytes;
	class->live_count--;
}

static inline void raise_row(struct row *row, const struct booking *b)
{
	raise_class(&row->by_class[b->class], b->bytes, b->ts_ns);
	if (is_device[b->class])
		level_set(&row->attributed, row->attributed.live + b->bytes, b->ts_ns);
}

static inline void lower_row(struct row *row, const struct booking *b)
{
	lower_class(&row->by_class[b->class], b->bytes);
	if (is_device[b->class])
		row->attributed.live -= b->bytes;
}

void account_add(struct account *account, const struct booking *b)
{
	if (b->class >= GMT_CLASS_COUNT)
		return;
	struct stacks *stacks = stacks_of(account, b);

	if (stacks)
		stacks_add(stacks, b->stack_id, b->bytes, b->ts_ns);
	raise_class(&account->by_class[b->class], b->bytes, b->ts_ns);
	account->by_class[b->class].allocs++;
	account->by_class[b->class].alloc_bytes += b->bytes;
	if (b->row == ROW_NONE)
		return;
	raise_row(&account->rows[b->row], b);
	account->rows[b->row].by_class[b->class].allocs++;
	account->rows[b->row].by_class[b->class].alloc_bytes += b->bytes;
}

void account_remove(struct account *account, const struct booking *b)
{
	if (b->class >= GMT_CLASS_COUNT)
		return;
	struct stacks *stacks = stacks_of(account, b);

	if (stacks)
		stacks_remove(stacks, b->stack_id, b->bytes);
	lower_class(&account->by_class[b->class], b->bytes);
	account->by_class[b->class].frees++;
	account->by_class[b->class].freed_bytes += b->bytes;
	if (b->row == ROW_NONE)
		return;
	lower_row(&account->rows[b->row], b);
	account->rows[b->row].by_class[b->class].frees++;
	account->rows[b->row].by_class[b->class].freed_bytes += b->bytes;
}

void account_restore(struct account *account, const struct booking *b)
{
	if (b->class >= GMT_CLASS_COUNT)
		return;
	struct stacks *stacks = stacks_of(account, b);

	if (stacks)
		stacks_restore(stacks, b->stack_id, b->bytes, b->ts_ns);
	raise_class(&account->by_class[b->class], b->bytes, b->ts_ns);
	account->by_class[b->class].frees--;
	account->by_class[b->class].freed_bytes -= b->bytes;
	if (b->row == ROW_NONE)
		return;
	raise_row(&account->rows[b->row], b);
	account->rows[b->row].by_class[b->class].frees--;
	account->rows[b->row].by_class[b->class].freed_bytes -= b->bytes;
}

void account_fail(struct account *account, const struct booking *b)
{
	if (b->class >= GMT_CLASS_COUNT)
		return;
	account->by_class[b->class].failed++;
	if (b->row != ROW_NONE)
		account->rows[b->row].by_class[b->class].failed++;
}

/* The unknown row shows what is unknown now: when all of a class has found its GPU, nothing is left
 * that the peak could be the peak of. */
static void forget_peaks(struct row *row, unsigned int class)
{
	uint64_t allocs = 0;

	if (!row->by_class[class].allocs)
		row->by_class[class].bytes = (struct view_level){ 0 };
	for (unsigned int i = 0; i < GMT_CLASS_COUNT; i++)
		allocs += is_device[i] ? row->by_class[i].allocs : 0;
	if (!allocs)
		row->attributed = (struct view_level){ 0 };
}

void account_move(struct account *account, const struct booking *b, unsigned int to)
{
	if (b->class >= GMT_CLASS_COUNT || b->row == ROW_NONE)
		return;
	struct row *from_row = &account->rows[b->row], *to_row = &account->rows[to];

	lower_row(from_row, b);
	from_row->by_class[b->class].allocs--;
	from_row->by_class[b->class].alloc_bytes -= b->bytes;
	forget_peaks(from_row, b->class);
	raise_row(to_row, b);
	to_row->by_class[b->class].allocs++;
	to_row->by_class[b->class].alloc_bytes += b->bytes;
	if (is_device[b->class])
		stacks_move(&from_row->stacks, &to_row->stacks, b->stack_id, b->bytes, b->ts_ns);
}

static void resize_class(struct view_class *class, uint64_t old, uint64_t bytes, uint64_t ts_ns)
{
	level_set(&class->bytes, class->bytes.live - old + bytes, ts_ns);
	class->alloc_bytes += bytes - old;
}

void account_resize(struct account *account, const struct booking *b, uint64_t bytes)
{
	if (b->class >= GMT_CLASS_COUNT)
		return;
	struct stacks *stacks = stacks_of(account, b);

	if (stacks)
		stacks_resize(stacks, b->stack_id, b->bytes, bytes, b->ts_ns);
	resize_class(&account->by_class[b->class], b->bytes, bytes, b->ts_ns);
	if (b->row == ROW_NONE)
		return;
	struct row *row = &account->rows[b->row];

	resize_class(&row->by_class[b->class], b->bytes, bytes, b->ts_ns);
	if (is_device[b->class])
		level_set(&row->attributed, row->attributed.live - b->bytes + bytes, b->ts_ns);
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
		account->rows[i].nvml.before = 0;
		stacks_drop(&account->rows[i].stacks);
	}
}

struct stacks *account_stacks(struct account *account, int gpu)
{
	unsigned int row = account_row(account, gpu); /* may move the rows */

	return &account->rows[row].stacks;
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
