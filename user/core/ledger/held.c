// SPDX-License-Identifier: BSD-2-Clause
#include "core/ledger/held.h"

#include "base/xalloc.h"
#include "core/ledger/process.h"
#include "core/terms/names.h"

typedef void (*held_fn)(void *arg, const struct held *held);

/* Imports and plans of graphs are no memory of the process. */
static bool is_own_memory(unsigned int row, unsigned int class)
{
	return class < GMT_CLASS_COUNT && (row == ROW_NONE || gmt_class_is_device(class));
}

static void each_alloc(const struct hash *table, held_fn fn, void *arg)
{
	size_t pos = 0;
	void *value;

	while (hash_next(table, &pos, NULL, &value)) {
		const struct alloc *a = value;

		if (alloc_is_booked(a) && is_own_memory(a->row, a->class))
			fn(arg, &(struct held){ a->size, a->ts_ns, a->stack_id, a->row });
	}
}

static void each_object(const struct hash *objects, held_fn fn, void *arg)
{
	size_t pos = 0;
	void *value;

	while (hash_next(objects, &pos, NULL, &value)) {
		const struct vmm_object *o = value;

		if (is_own_memory(o->row, o->class))
			fn(arg, &(struct held){ o->size, o->ts_ns, o->stack_id, o->row });
	}
}

static void each_of_kernel(const struct process *p, held_fn fn, void *arg)
{
	struct rm_booking b;
	uint32_t pos = 0;

	while (p->rm && rm_next_booking(p->rm, &pos, &b))
		fn(arg, &(struct held){ b.bytes, b.ts_ns, b.stack_id, account_find_row(&p->account, b.gpu) });
}

static void held_each(const struct process *p, held_fn fn, void *arg)
{
	for (size_t i = 0; i < p->held_count; i++)
		fn(arg, &p->held[i]);
	each_alloc(&p->allocs.by_address, fn, arg);
	each_alloc(&p->allocs.arrays, fn, arg);
	each_alloc(&p->allocs.externals, fn, arg);
	each_object(&p->vmm.objects, fn, arg);
	each_of_kernel(p, fn, arg);
}

struct held_list {
	struct held *list;
	size_t count;
};

static void keep_one(void *arg, const struct held *held)
{
	struct held_list *to = arg;

	to->list = xgrow(to->list, to->count, sizeof(*to->list));
	to->list[to->count++] = *held;
}

void held_keep(struct process *p)
{
	struct held_list kept = { 0 };

	held_each(p, keep_one, &kept);
	p->held = kept.list;
	p->held_count = kept.count;
}

static void age_one(void *arg, const struct held *held)
{
	struct held_ages *ages = arg;
	struct held_age *age = hash_put(&ages->by_stack, (uint64_t)held->row << 32 | held->stack_id, NULL);

	if (!age->oldest_ts_ns || held->ts_ns < age->oldest_ts_ns)
		age->oldest_ts_ns = held->ts_ns;
	if (held->ts_ns >= ages->before_ts_ns)
		return;
	age->old_bytes += held->bytes;
	age->old_count++;
}

void held_ages_init(struct held_ages *ages, const struct process *p, uint64_t before_ts_ns)
{
	*ages = (struct held_ages){ .before_ts_ns = before_ts_ns };
	hash_init(&ages->by_stack, sizeof(struct held_age));
	held_each(p, age_one, ages);
}

void held_ages_fini(struct held_ages *ages)
{
	hash_fini(&ages->by_stack);
}

struct held_age held_age(const struct held_ages *ages, unsigned int row, uint32_t stack_id)
{
	const struct held_age *age = hash_get(&ages->by_stack, (uint64_t)row << 32 | stack_id);

	return age ? *age : (struct held_age){ 0 };
}
