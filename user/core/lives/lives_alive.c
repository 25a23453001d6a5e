// SPDX-License-Identifier: BSD-2-Clause
/* The lives that go on (lives.h): what is known of them now, and how they are lost where memory is short. */
#include "base/rangemap.h"
#include "core/framework/framework_state.h"
#include "core/framework/frameworks.h"
#include "core/lives/lives.h"
#include "core/lives/lives_state.h"

#define SHED_ALIVE 4096      /* once memory was short: so many go on in each table, 0.7 MiB */

int lives_gpu_of_row(const struct process *p, unsigned int row)
{
	return row == ROW_NONE ? LIFE_ON_HOST : p->account.rows[row].gpu;
}

struct life lives_allocation(const struct lives *l, const struct process *p, uint32_t index)
{
	const struct framework *f = frameworks_of(l->frameworks, p);
	struct life life = live_at(&l->allocations, index)->life;

	life.is_segment = f && life.is_counted && hash_get(&f->segment_stacks, life.stack_id);
	return life;
}

struct life lives_block(const struct lives *l, const struct process *p, uint32_t index, uint8_t category)
{
	const struct framework *f = frameworks_of(l->frameworks, p);
	struct life life = live_at(&l->blocks, index)->life;
	const struct framework_size *size = f ? sizes_of(f, life.address) : NULL;

	life.category = category;
	life.asked = size ? size->bytes : 0;
	if (f && life.ordinal < f->count)
		life.gpu = (int16_t)lives_gpu_of_row(p, f->devices[life.ordinal].row);
	return life;
}

uint8_t lives_category_now(const struct lives *l, const struct process *p, const struct life *life)
{
	const struct framework *f = frameworks_of(l->frameworks, p);
	const struct range *block = f ? rangemap_at(&f->blocks, life->address) : NULL;

	return block ? (uint8_t)framework_category(f, block, true) : 0;
}

static void each_alive_of(const struct lives *l, const struct process *p, const struct live_process *lp,
			  const struct life_taker *to)
{
	for (uint32_t n = lp->blocks; n; n = live_at(&l->blocks, n)->next) {
		struct life life = lives_block(l, p, n, lives_category_now(l, p, &live_at(&l->blocks, n)->life));

		to->block(to->arg, &life);
	}
	for (uint32_t n = lp->allocations; n; n = live_at(&l->allocations, n)->next) {
		struct life life = lives_allocation(l, p, n);

		to->allocation(to->arg, &life);
	}
}

void lives_each_alive(const struct lives *l, const struct life_taker *to)
{
	const struct processes *all = &l->ledger->processes;

	for (size_t i = 0; i < all->count; i++) {
		const struct process *p = all->list[i];

		if (p && p->index < l->process_count && l->processes[p->index])
			each_alive_of(l, p, l->processes[p->index], to);
	}
}

/* ---- memory is short ---- */

static void empty_table(struct live_table *table)
{
	live_table_fini(table);
	live_table_init(table);
}

static void lose_alive(struct lives *l)
{
	const struct life_taker lost = { .arg = l->to->arg, .allocation = l->to->lost, .block = l->to->lost };

	lives_each_alive(l, &lost);
	for (size_t i = 0; i < l->process_count; i++)
		if (l->processes[i])
			l->processes[i]->allocations = l->processes[i]->blocks = 0;
	empty_table(&l->allocations);
	empty_table(&l->blocks);
}

void lives_add(struct lives *l, struct live_table *table, const struct live_key *key, uint32_t *first,
	       const struct life *life)
{
	if (table->count >= l->most_alive)
		lose_alive(l);
	live_table_add(table, key, first)->life = *life;
}

void lives_shed(struct lives *l, uint64_t ts_ns)
{
	if (!life_takers_shed(&l->takers, ts_ns))
		return;
	lose_alive(l);
	l->most_alive = SHED_ALIVE;
}
