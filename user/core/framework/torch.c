/* SPDX-License-Identifier: BSD-2-Clause */
/* See torch.h. */
#include "core/framework/torch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "core/ledger/event.h"
#include "core/ledger/process.h"
#include "core/framework/torch_size.h"

/* ---- devices ---- */

static struct torch *torch_of(struct process *p)
{
	if (!p->torch)
		p->torch = xcalloc(1, sizeof(*p->torch));
	if (!p->torch->phases)
		p->torch->phases = xcalloc(1, sizeof(*p->torch->phases));
	return p->torch;
}

static struct torch_device *device_of_ordinal(struct process *p, unsigned int ordinal)
{
	struct torch *t = torch_of(p);

	if (ordinal >= t->count) {
		t->devices = xreallocarray(t->devices, ordinal + 1, sizeof(*t->devices));
		for (; t->count <= ordinal; t->count++) {
			t->devices[t->count] = (struct torch_device){ 0 };
			stacks_init(&t->devices[t->count].stacks);
		}
	}
	return &t->devices[ordinal];
}

/* ---- segments ---- */

static void count_segment(struct torch *t, const struct range *s, int sign)
{
	struct torch_device *d = &t->devices[s->gpu];

	d->segments += sign;
	d->segment_bytes += sign * s->length;
	d->mapped_bytes += s->value ? sign * s->length : 0;
}

/* The driver allocation that begins at the address: becomes a segment. NULL: there is none. */
static const struct range *learn_segment(struct process *p, unsigned int ordinal, uint64_t address)
{
	const struct vmm_mapping *m = hash_get(&p->vmm.mappings, address);
	const struct alloc *a = m ? NULL : hash_get(&p->allocs.by_address, address);
	struct range s = { .base = address, .gpu = ordinal, .value = m != NULL };

	if (m)
		s.length = m->size;
	else if (a && a->class < GMT_CLASS_COUNT && gmt_class_is_device(a->class))
		s.length = a->size;
	if (!rangemap_insert(&p->torch->segments, &s))
		return NULL;
	count_segment(p->torch, &s, 1);
	return rangemap_at(&p->torch->segments, address);
}

/* A block may lie in several pieces of an expandable segment. */
static void cover_block(struct process *p, struct torch_device *d, unsigned int ordinal, const struct range *block)
{
	uint64_t at = block->base, end = block->base + block->length;

	while (at < end) {
		const struct range *s = rangemap_find(&p->torch->segments, at);

		if (!s)
			s = learn_segment(p, ordinal, at);
		if (!s) {
			d->unchecked = true;
			return;
		}
		at = s->base + s->length;
	}
}

static bool holds_blocks(const struct torch *t, const struct range *segment)
{
	const struct range *block = rangemap_from(&t->blocks, segment->base);

	return block && block->base < segment->base + segment->length;
}

/*
 * PyTorch gives back segments without blocks only, and says nothing then: what it holds is less from
 * now on. If blocks are in it somebody else has taken the memory away below them (vLLM's sleep mode,
 * a custom allocator): to PyTorch nothing has changed.
 */
static void lose_segment(struct torch *t, const struct range *s, uint64_t ts_ns)
{
	struct torch_device *d = &t->devices[s->gpu];

	count_segment(t, s, -1);
	if (holds_blocks(t, s))
		d->unchecked = true;
	else if (s->length <= d->reserved.live)
		level_set(&d->reserved, d->reserved.live - s->length, ts_ns);
}

static void regain_segment(struct event *e)
{
	struct torch *t = e->proc->torch;
	const struct range *s = &t->taken.segment;

	if (t->taken.tid != e->call->hdr.tid || t->taken.seq != e->call->seq || !rangemap_insert(&t->segments, s))
		return;
	count_segment(t, s, 1);
	if (!holds_blocks(t, s))
		level_set(&t->devices[s->gpu].reserved, t->devices[s->gpu].reserved.live + s->length, e->ts_ns);
	t->taken.seq = 0;
}

/* Memory comes back below blocks that have lost theirs. */
static void refill_segments(struct event *e)
{
	struct torch *t = e->proc->torch;
	const struct range *block = rangemap_from(&t->blocks, e->val[0]);

	if (block && (block->base <= e->val[0] || block->base - e->val[0] < e->val[1]))
		learn_segment(e->proc, block->gpu, e->val[0]);
}

void torch_follow(struct event *e)
{
	struct torch *t = e->proc->torch;
	uint64_t base = e->val[0], length = e->op == GMT_OP_VMM_UNMAP ? e->val[1] : 1;
	const struct range *found;

	if (e->op == GMT_OP_VMM_MAP)
		refill_segments(e);
	if (e->op != GMT_OP_MEM_FREE && e->op != GMT_OP_ASYNC_FREE && e->op != GMT_OP_VMM_UNMAP)
		return;
	if (e->call->phase == GMT_PHASE_UNDO) {
		regain_segment(e);
		return;
	}
	/* One cuMemUnmap may end many mappings; PyTorch makes one call for each. */
	for (uint64_t at = base; (found = rangemap_from(&t->segments, at)) && found->base - base < length;) {
		struct range s = *found;

		at = s.base + s.length;
		if (s.base < base || !rangemap_remove(&t->segments, s.base, NULL))
			continue;
		lose_segment(t, &s, e->ts_ns);
		t->taken = (struct torch_taken){ .tid = e->call->hdr.tid, .seq = e->call->seq, .segment = s };
	}
}

/* ---- blocks ---- */

static void remove_block(struct torch *t, uint64_t base)
{
	struct range block;

	if (!rangemap_remove(&t->blocks, base, &block))
		return;
	torch_block_freed(t, &block);
	torch_size_forget(t, &block);
	t->devices[block.gpu].blocks--;
	t->devices[block.gpu].block_bytes -= block.length;
	stacks_remove(&t->devices[block.gpu].stacks, (uint32_t)block.value, block.length);
}

static void add_block(struct process *p, struct torch_device *d, const struct gmt_fw_mem *rec,
		      struct training_moment now)
{
	struct torch *t = p->torch;
	struct range block = { .base = rec->ptr, .length = rec->delta, .gpu = rec->device_index };
	const struct range *old;

	torch_set_birth(&block, rec->stack_id, rec->hdr.ts_ns, now);
	d->allocs++;
	d->alloc_bytes += rec->delta;
	/* Blocks do not overlap: the free of what is there was missed. */
	while ((old = rangemap_from(&t->blocks, block.base)) && old->base < block.base + block.length) {
		p->anomalies[GMT_ANOMALY_TORCH_MISSED]++;
		remove_block(t, old->base);
	}
	if (!rangemap_insert(&t->blocks, &block))
		return; /* not an address */
	d->blocks++;
	d->block_bytes += block.length;
	stacks_add(&d->stacks, rec->stack_id, block.length, rec->hdr.ts_ns);
	cover_block(p, d, rec->device_index, &block);
}

static void free_block(struct process *p, struct torch_device *d, const struct gmt_fw_mem *rec)
{
	const struct range *block = rangemap_at(&p->torch->blocks, rec->ptr);
	uint64_t size = -rec->delta;

	d->frees++;
	d->freed_bytes += size;
	if (block) {
		remove_block(p->torch, rec->ptr);
		return;
	}
	p->anomalies[GMT_ANOMALY_TORCH_MISSED] += !d->before;
	d->before -= size < d->before ? size : d->before;
}

/* ---- events ---- */

/* The file is probed twice (through overlayfs, and below it): the same event once more. A new one never
 * leaves the total as it was. */
static bool is_repeated_event(const struct torch_device *d, const struct gmt_fw_mem *rec)
{
	return d->seen && d->tid == rec->hdr.tid && d->ptr == rec->ptr && d->delta == rec->delta &&
	       d->allocated.live == rec->total_allocated;
}

static void take_totals(struct process *p, struct torch_device *d, const struct gmt_fw_mem *rec)
{
	uint64_t before = rec->total_allocated - rec->delta, peak = d->allocated.peak;

	if (!d->seen) {
		d->before = before;
		d->is_first = !before && p->from_start;
		d->unchecked = before || !p->from_start;
		level_set(&d->allocated, before, rec->hdr.ts_ns);
	} else if (d->allocated.live != before) {
		p->anomalies[GMT_ANOMALY_TORCH_MISSED]++;
	}
	d->seen = true;
	d->tid = rec->hdr.tid;
	d->ptr = rec->ptr;
	d->delta = rec->delta;
	level_set(&d->allocated, rec->total_allocated, rec->hdr.ts_ns);
	level_set(&d->reserved, rec->total_reserved, rec->hdr.ts_ns);
	if (d->allocated.peak != peak)
		memset(d->gone_since_peak, 0, sizeof(d->gone_since_peak));
}

/* Counted each time that it begins to differ, or differs by another amount. */
static void compare_reserved(struct process *p, struct torch_device *d, bool is_first)
{
	int64_t off = (int64_t)(d->reserved.live - d->segment_bytes);

	/* Then it held memory before the probe was in place. */
	if (is_first && off)
		d->unchecked = true;
	if (d->unchecked)
		return;
	p->anomalies[GMT_ANOMALY_TORCH_RESERVED] += off && off != d->off;
	d->off = off;
}

static bool is_valid_event(const struct gmt_fw_mem *rec)
{
	int64_t limit = ALLOC_SIZE_MAX;

	return rec->device_index < ORDINAL_NONE && rec->delta && rec->delta <= limit && rec->delta >= -limit &&
	       rec->total_allocated <= ALLOC_SIZE_MAX && rec->total_reserved <= ALLOC_SIZE_MAX &&
	       rec->delta <= (int64_t)rec->total_allocated;
}

int torch_memory(struct process *p, const struct gmt_fw_mem *rec)
{
	struct training_moment now;
	struct torch_device *d;
	bool is_first;

	if (rec->device_type != GMT_C10_CUDA)
		return 0;
	if (!is_valid_event(rec))
		return -EINVAL;
	d = device_of_ordinal(p, rec->device_index);
	is_first = !d->seen;
	if (is_repeated_event(d, rec))
		return 0;
	take_totals(p, d, rec);
	now = phases_block(p->torch->phases, rec->device_index, rec->hdr.tid, rec->delta,
			   rec->total_allocated);
	if (rec->delta > 0)
		add_block(p, d, rec, now);
	else
		free_block(p, d, rec);
	compare_reserved(p, d, is_first);
	if (!d->row)
		d->row = process_row(p, rec->ptr, NULL, rec->device_index);
	return 0;
}

int torch_range(struct process *p, const struct gmt_fw_range *rec)
{
	return phases_range(torch_of(p)->phases, rec);
}

/* ---- the end ---- */

static void forget_blocks(struct torch *t)
{
	rangemap_fini(&t->blocks);
	rangemap_fini(&t->segments);
	t->taken.seq = 0;
}

void torch_end(struct torch *t)
{
	if (!t)
		return;
	for (unsigned int i = 0; i < t->count; i++) {
		t->devices[i].at_end = torch_gaps(t, i);
		torch_kinds_free(&t->devices[i].kinds_at_end);
		torch_kinds_make(t, i, &t->devices[i].kinds_at_end);
	}
	t->ended = true;
	forget_blocks(t);
}

void torch_drop(struct torch *t)
{
	if (!t)
		return;
	forget_blocks(t);
	phases_free(t->phases);
	t->phases = NULL;
	hash_fini(&t->sizes);
	for (unsigned int i = 0; i < t->count; i++) {
		struct torch_device *d = &t->devices[i];

		/* Peaks and counts stay, as everywhere. */
		d->allocated.live = d->reserved.live = d->before = 0;
		d->blocks = d->block_bytes = d->segments = d->segment_bytes = d->mapped_bytes = 0;
		d->sized = d->sized_bytes = d->asked_bytes = 0;
		d->off = 0;
		d->seen = false;
		memset(d->gone_since_peak, 0, sizeof(d->gone_since_peak));
		stacks_drop(&d->stacks);
	}
}

void torch_free(struct torch *t)
{
	if (!t)
		return;
	forget_blocks(t);
	phases_free(t->phases);
	hash_fini(&t->sizes);
	for (unsigned int i = 0; i < t->count; i++) {
		stacks_fini(&t->devices[i].stacks);
		torch_kinds_free(&t->devices[i].kinds_at_end);
	}
	free(t->devices);
	free(t);
}

void torch_mark(struct torch *t, unsigned int mark)
{
	for (unsigned int i = 0; t && i < t->count; i++)
		stacks_mark(&t->devices[i].stacks, mark);
}

void torch_restart(struct torch *t, uint64_t ts_ns)
{
	for (unsigned int i = 0; t && i < t->count; i++) {
		memset(t->devices[i].gone_since_peak, 0, sizeof(t->devices[i].gone_since_peak));
		level_restart(&t->devices[i].allocated, ts_ns);
		level_restart(&t->devices[i].reserved, ts_ns);
		stacks_restart(&t->devices[i].stacks, ts_ns);
	}
}

uint64_t torch_bytes(const struct torch *t)
{
	uint64_t bytes;

	if (!t)
		return 0;
	bytes = sizeof(*t) + t->count * sizeof(*t->devices) + rangemap_bytes(&t->blocks) +
		rangemap_bytes(&t->segments) + hash_bytes(&t->sizes) + phases_bytes(t->phases);
	for (unsigned int i = 0; i < t->count; i++)
		bytes += stacks_bytes(&t->devices[i].stacks);
	return bytes;
}
