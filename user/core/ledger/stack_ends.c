// SPDX-License-Identifier: BSD-2-Clause
#include "core/ledger/stack_ends.h"

#include <gpumemtrace/wire.h>

#include "core/account/stacks.h"
#include "core/ledger/process.h"
#include "core/terms/frames.h"

#define SWEEP_MIN 4096           /* ids: fewer are not worth the walk over all ids */

struct stack_end {
	uint32_t process;        /* its index */
	uint8_t reason, py_reason;
};

void stack_ends_init(struct stack_ends *ends)
{
	hash_init(&ends->by_id, sizeof(struct stack_end));
}

void stack_ends_fini(struct stack_ends *ends)
{
	hash_fini(&ends->by_id);
}

static void count_end(const struct processes *all, const struct stack_end *end, int by)
{
	struct process *p = all->list[end->process];
	struct view_unwinding *unwinding = p ? &p->unwinding : NULL;

	if (!unwinding)
		return;
	unwinding->stacks += by;
	unwinding->reasons[end->reason] += by;
	unwinding->py_reasons[end->py_reason] += by;
}

void stack_ends_see(struct stack_ends *ends, const struct processes *all, const struct process *p,
		    const struct gmt_stack *rec)
{
	struct stack_end *end;
	bool is_new;

	if (hash_count(&ends->by_id) >= FRAMES_IDS_MAX && !hash_get(&ends->by_id, rec->id)) {
		ends->dropped++;
		return;
	}
	end = hash_put(&ends->by_id, rec->id, &is_new);
	if (!is_new)
		count_end(all, end, -1);
	*end = (struct stack_end){
		.process = p->index,
		.reason = rec->reason < GMT_UNWIND_REASON_COUNT ? rec->reason : GMT_UNWIND_END_NONE,
		.py_reason = rec->py_reason < GMT_PY_REASON_COUNT ? rec->py_reason : GMT_PY_END_NONE,
	};
	count_end(all, end, 1);
}

bool stack_ends_is_cut(const struct stack_ends *ends, uint32_t id)
{
	const struct stack_end *end = hash_get(&ends->by_id, id);

	return end && end->reason != GMT_UNWIND_END_NONE && !(GMT_UNWIND_COMPLETE >> end->reason & 1);
}

static void add_used(struct hash *used, const struct stacks *s)
{
	for (uint32_t i = 0; i < s->count; i++)
		hash_put(used, s->list[i].id, NULL);
}

/* The ids under which processes that are kept have memory. */
static void find_used(const struct processes *all, struct hash *used)
{
	hash_init(used, sizeof(char));
	for (size_t i = 0; i < all->count; i++) {
		const struct process *p = all->list[i];

		for (unsigned int r = 0; p && r < p->account.count; r++)
			add_used(used, &p->account.rows[r].stacks);
		if (p)
			add_used(used, &p->account.stacks);
	}
}

void stack_ends_sweep(struct stack_ends *ends, struct processes *all, struct frames *frames)
{
	struct hash kept, used;
	size_t pos = 0;
	uint64_t id;
	void *value;

	if (all->dropped_stacks < SWEEP_MIN || all->dropped_stacks < hash_count(&ends->by_id) / 2)
		return;
	all->dropped_stacks = 0;
	find_used(all, &used);
	hash_init(&kept, sizeof(struct stack_end));
	while (hash_next(&ends->by_id, &pos, &id, &value)) {
		const struct stack_end *end = value;

		if (all->list[end->process] || hash_get(&used, id))
			*(struct stack_end *)hash_put(&kept, id, NULL) = *end;
		else
			frames_forget_stack(frames, (uint32_t)id);
	}
	hash_fini(&used);
	hash_fini(&ends->by_id);
	ends->by_id = kept;
	frames_compact(frames);
}
