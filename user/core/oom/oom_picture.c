/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes pictures: who holds what at this moment, by the ledger's sums. See oom_state.h. */
#include "core/oom/oom_state.h"

#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "base/hash.h"
#include "core/framework/framework.h"
#include "core/framework/frameworks.h"
#include "core/framework/waiting.h"
#include "core/ledger/balance.h"
#include "core/ledger/ledger_state.h"
#include "core/oom/oom_gpus.h"

#define STACKS_MAX 1000        /* the greatest stacks of a row; the rest is one sum */

_Static_assert((int)GMT_CLASS_COUNT <= (int)GMT_OOM_CLASSES, "a place for each class");
_Static_assert((int)GMT_CATEGORY_COUNT <= GMT_OOM_CATEGORIES, "a place for each category");

/* ---- stacks ---- */

static int compare_stacks(const void *left, const void *right)
{
	const struct gmt_oom_stack *a = left, *b = right;

	if (a->live != b->live)
		return a->live < b->live ? 1 : -1;
	return (a->stack_id > b->stack_id) - (a->stack_id < b->stack_id);
}

/* The moments from which growth counts, for all stacks of a process. */
struct moments {
	unsigned int since, later, recent;
	uint64_t since_ns, later_ns, recent_ns;
};

static struct gmt_oom_stack stack_of(const struct stacks *s, uint32_t i, const struct moments *m)
{
	const unsigned int at[STACKS_RISE_MOMENTS] = { m->since, m->later, STACKS_NOW };
	struct stacks_rise rise = stacks_rise(s, i, at);
	struct stacks_row now, recent;

	stacks_row(s, i, m->since, &now);
	stacks_row(s, i, m->recent, &recent);
	return (struct gmt_oom_stack){
		.stack_id = now.stack_id, .live = now.live, .count = now.count,
		.at_peak = now.at_peak, .grown = now.grown,
		.recent = recent.grown, .allocs = now.allocs, .frees = now.frees, .alloc_bytes = now.alloc_bytes,
		.flags = stacks_is_steady(&rise) ? GMT_OOM_STACK_STEADY : 0,
	};
}

/* Adds the stacks that hold something to the picture's, the greatest first. */
static void add_row_stacks(struct oom *oom, struct gmt_oom_row *row, const struct stacks *s, const struct moments *m)
{
	size_t first = oom->stack_count, count = first;

	oom->stacks = xreallocarray(oom->stacks, first + s->count, sizeof(*oom->stacks));
	for (uint32_t i = 0; i < s->count; i++) {
		oom->stacks[count] = stack_of(s, i, m);
		oom->stacks[count].number = row->number;
		oom->stacks[count].hdr = row->hdr;
		oom->stacks[count].hdr.kind = GMT_KIND_OOM_STACK;
		oom->stacks[count].hdr.size = sizeof(*oom->stacks);
		count += oom->stacks[count].live || oom->stacks[count].at_peak || oom->stacks[count].recent < 0;
	}
	if (count > first)
		qsort(oom->stacks + first, count - first, sizeof(*oom->stacks), compare_stacks);
	while (count - first > STACKS_MAX) {
		row->rest_bytes += oom->stacks[--count].live;
		row->rest++;
	}
	oom->stack_count = count;
	row->stacks = count - first;
	row->stacks_live = s->live;
	row->stacks_peak = s->peak;
	row->stacks_peak_ns = s->peak_ts_ns;
	row->since_ns = m->since_ns;
	row->recent_ns = m->recent_ns;
}

/* ---- rows ---- */

/* The process whose rows are being made. */
struct subject {
	const struct ledger *ledger;
	const struct process *p;
	const struct framework *f;   /* NULL: there is none */
	struct moments moments;
};

static void fill_row_torch(const struct view_torch *torch, struct gmt_oom_row *out)
{
	const struct view_training *training = &torch->training;

	if (!torch->seen)
		return;
	out->flags |= GMT_OOM_ROW_TORCH | (torch->gap_known ? GMT_OOM_ROW_GAP : 0);
	out->torch_backend = torch->backend;
	out->torch_allocated = torch->allocated.live;
	out->torch_reserved = torch->reserved.live;
	out->torch_gap = torch->largest_free_gap;
	for (int i = 0; i < GMT_CATEGORY_COUNT; i++)
		out->category_bytes[i] = training->categories[i].live;
	out->torch_before = training->before;
	if (training->is_training) {
		out->iteration = training->iteration;
		out->phase = training->phase;
		out->growth = training->growth.bytes;
		out->growth_count = training->growth.count;
		out->growth_iterations = training->growth.iterations;
	}
}

/* False: the process holds nothing in the row. */
static bool fill_oom_row(const struct subject *s, unsigned int index, const struct view_torch *torch,
			 struct gmt_oom_row *out)
{
	const struct process *p = s->p;
	const struct row *row = &p->account.rows[index];
	struct rm_physical physical;
	struct view_sum sum;

	balance_physical(p, row, &physical);
	balance_sum(p, row, &sum);
	out->device = (uint8_t)(framework_ordinal(s->f, p, index) + 1); /* ORDINAL_NONE: 0 */
	if (row->gpu != GPU_UNKNOWN)
		memcpy(out->uuid, s->ledger->gpus.list[row->gpu].uuid, GMT_UUID_BYTES);
	out->flags |= (process_has_kernel(p) ? GMT_OOM_ROW_PHYSICAL : 0) | (row->nvml.has ? GMT_OOM_ROW_NVML : 0);
	for (int c = 0; c < GMT_CLASS_COUNT; c++)
		out->class_bytes[c] = row->by_class[c].bytes.live;
	out->attributed = row->attributed.live;
	out->physical = physical.total;
	out->before_attach = row->nvml.before;
	out->context = sum.context;
	out->modules = sum.modules;
	out->pool_reserve = sum.pool_reserve;
	out->rounding = sum.rounding;
	out->other = sum.other - (int64_t)sum.checkpointed;
	out->nvml = row->nvml.used;
	out->nvml_ns = row->nvml.ts_ns;
	fill_row_torch(torch, out);
	return out->attributed || out->physical || out->before_attach || out->nvml || out->flags & GMT_OOM_ROW_TORCH;
}

static struct gmt_oom_row *new_row(struct oom *oom, const struct process *p)
{
	struct gmt_oom_row *row;

	oom->rows = xreallocarray(oom->rows, oom->row_count + 1, sizeof(*oom->rows));
	row = &oom->rows[oom->row_count++];
	*row = (struct gmt_oom_row){
		.hdr = { .size = sizeof(*row), .kind = GMT_KIND_OOM_ROW, .tgid = p->tgid, .ts_ns = oom->rec.hdr.ts_ns },
		.number = oom->rec.number,
	};
	return row;
}

/* Sets the purposes of the newest row's stacks. */
static void add_purposes(struct oom *oom, const struct view_training *training)
{
	size_t first = oom->stack_count - oom->rows[oom->row_count - 1].stacks;
	struct hash by_id;

	hash_init(&by_id, sizeof(size_t));
	for (size_t i = first; i < oom->stack_count; i++)
		*(size_t *)hash_put(&by_id, oom->stacks[i].stack_id, NULL) = i;
	for (size_t i = 0; i < training->purpose_count; i++) {
		const size_t *at = hash_get(&by_id, training->purposes[i].stack_id);

		if (at)
			oom->stacks[*at].purpose = 1 + training->purposes[i].category;
	}
	hash_fini(&by_id);
}

static void add_waiting_id(struct oom *oom, const struct gmt_oom_stack *stack, uint32_t id)
{
	struct gmt_oom_waiting *to;

	oom->waiting = xgrow(oom->waiting, oom->waiting_count, sizeof(*oom->waiting));
	to = &oom->waiting[oom->waiting_count++];
	*to = (struct gmt_oom_waiting){
		.hdr = stack->hdr, .number = stack->number, .stack_id = stack->stack_id, .waiting_id = id,
	};
	to->hdr.kind = GMT_KIND_OOM_WAITING;
	to->hdr.size = sizeof(*to);
}

/* Adds who waited for the threads of the newest row's stacks. */
static void add_waiting(struct oom *oom, const struct hash *waiting)
{
	size_t first = oom->stack_count - oom->rows[oom->row_count - 1].stacks;

	for (size_t i = first; waiting && i < oom->stack_count; i++) {
		const struct waiting_ids *of = hash_get(waiting, oom->stacks[i].stack_id);

		for (unsigned int k = 0; of && !of->is_uncertain && k < of->count; k++)
			add_waiting_id(oom, &oom->stacks[i], of->ids[k]);
	}
}

static void add_blocks(struct oom *oom, const struct subject *s, unsigned int index,
		       const struct view_training *training)
{
	const struct stacks *blocks = framework_stacks(s->f, index);
	struct gmt_oom_row *row;

	/* Where blocks have no stacks, all blocks are under stack 0. */
	if (!blocks || !blocks->count || (blocks->count == 1 && !blocks->list[0].id))
		return;
	row = new_row(oom, s->p);
	row->flags = GMT_OOM_ROW_BLOCKS;
	memcpy(row->uuid, oom->rows[oom->row_count - 2].uuid, sizeof(row->uuid));
	add_row_stacks(oom, row, blocks, &s->moments);
	add_purposes(oom, training);
	add_waiting(oom, framework_waiting(s->f));
}

/* Marks those of the newest row's stacks that allocated a framework's segments. */
static void mark_reserve(struct oom *oom, const struct hash *segments)
{
	size_t first = oom->stack_count - oom->rows[oom->row_count - 1].stacks;

	for (size_t i = first; segments && i < oom->stack_count; i++)
		if (hash_get(segments, oom->stacks[i].stack_id))
			oom->stacks[i].flags |= GMT_OOM_STACK_RESERVE;
}

static void add_gpu_row(struct oom *oom, const struct subject *s, unsigned int index)
{
	struct gmt_oom_row *row = new_row(oom, s->p);
	struct view_torch torch;

	framework_view(s->f, index, &s->ledger->frames, s->ledger->now_ns, STACKS_NOW, &torch);
	if (fill_oom_row(s, index, &torch, row)) {
		add_row_stacks(oom, row, &s->p->account.rows[index].stacks, &s->moments);
		mark_reserve(oom, framework_segment_stacks(s->f));
		add_waiting(oom, framework_waiting(s->f));
		add_blocks(oom, s, index, &torch.training);
	} else {
		oom->row_count--;
	}
	framework_training_free(&torch.training);
}

static void add_host_row(struct oom *oom, const struct subject *s)
{
	const struct account *account = &s->p->account;
	struct gmt_oom_row *row;

	if (!account->stacks.live)
		return;
	row = new_row(oom, s->p);
	row->flags = GMT_OOM_ROW_HOST;
	for (int c = 0; c < GMT_CLASS_COUNT; c++)
		row->class_bytes[c] = account_has_row(c) ? 0 : account->by_class[c].bytes.live;
	add_row_stacks(oom, row, &account->stacks, &s->moments);
}

static void add_process(struct oom *oom, const struct ooms *o, const struct process *p, int gpu)
{
	struct subject s = { .ledger = o->ledger, .p = p, .f = frameworks_of(o->frameworks, p) };
	struct moments *m = &s.moments;

	m->since = process_since(p, oom->rec.hdr.ts_ns, &m->since_ns);
	m->later = process_since_later(p, oom->rec.hdr.ts_ns, &m->later_ns);
	m->recent = process_since_recent(p, oom->rec.hdr.ts_ns, &m->recent_ns);
	for (unsigned int i = 0; i < p->account.count; i++)
		if (gpu == GPU_UNKNOWN || p->account.rows[i].gpu == gpu)
			add_gpu_row(oom, &s, i);
	add_host_row(oom, &s);
}

void oom_picture(struct oom *oom, const struct ooms *o, int gpu)
{
	const struct processes *all = &o->ledger->processes;

	oom->rec.flags &= (__u8)~GMT_OOM_UNSEEN;
	for (size_t i = 0; i < all->count; i++)
		if (all->list[i] && all->list[i]->touched && !all->list[i]->exited)
			add_process(oom, o, all->list[i], gpu);
	oom_take_gpus(oom, o->ledger);
}

struct oom *ooms_picture(const struct ooms *o)
{
	struct oom *oom = xcalloc(1, sizeof(*oom));

	oom->rec = (struct gmt_oom){
		.hdr = { .size = sizeof(oom->rec), .kind = GMT_KIND_OOM, .ts_ns = o->ledger->now_ns },
		.outcome = GMT_OOM_NONE, .class_id = GMT_OOM_CLASS_NONE,
	};
	oom_picture(oom, o, GPU_UNKNOWN);
	return oom;
}
