/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/framework/framework.h"

#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "core/ledger/delta.h"
#include "core/ledger/process.h"
#include "core/framework/segments.h"

/* ---- devices ---- */

static struct framework_device *device_of_ordinal(struct framework *f, unsigned int ordinal)
{
	if (ordinal >= f->count) {
		f->devices = xreallocarray(f->devices, ordinal + 1, sizeof(*f->devices));
		for (; f->count <= ordinal; f->count++) {
			f->devices[f->count] = (struct framework_device){ 0 };
			stacks_init(&f->devices[f->count].stacks);
			hash_init(&f->devices[f->count].gone.by_kind, sizeof(uint32_t));
			f->devices[f->count].stacks.is_closed = f->p->account.stacks.is_closed;
		}
	}
	return &f->devices[ordinal];
}

/* ---- blocks ---- */

static void remove_block(struct framework *f, uint64_t base, const struct gmt_hdr *by)
{
	struct range block;
	unsigned int category;

	if (!rangemap_remove(&f->blocks, base, &block))
		return;
	category = framework_count_gone(f, &block);
	f->devices[block.gpu].blocks--;
	f->devices[block.gpu].block_bytes -= block.length;
	stacks_remove(&f->devices[block.gpu].stacks, (uint32_t)block.value, block.length);
	/* Observers were told before that a lost block is gone. */
	if (!(block.aux & BLOCK_LOST))
		segments_give_block(f, DELTA_BLOCK_FREE, &block, category, by->tid, by->ts_ns);
	sizes_forget(f, &block);
}

static void add_block(struct framework *f, const struct gmt_fw_mem *rec, struct training_moment now)
{
	struct framework_device *d = &f->devices[rec->device_index];
	struct range block = {
		.base = rec->ptr, .length = rec->delta, .gpu = rec->device_index, .offset = rec->hdr.ts_ns,
		.value = rec->stack_id,
	};
	const struct range *old;
	uint32_t waiting_id;

	category_set_birth(&block, now);
	d->has_failed = false;
	d->allocs++;
	d->alloc_bytes += rec->delta;
	/* Blocks do not overlap: the free of an older block there was missed. */
	while ((old = rangemap_from(&f->blocks, block.base)) && old->base < block.base + block.length) {
		f->missed++;
		remove_block(f, old->base, &rec->hdr);
	}
	if (!alloc_is_place(block.base, block.length) || !rangemap_insert(&f->blocks, &block))
		return;
	d->blocks++;
	d->block_bytes += block.length;
	waiting_id = phases_backward_stack(&f->phases, rec->hdr.tid);
	f->waiting_dropped += !waiting_add(&f->waiting, rec->stack_id, waiting_id);
	stacks_add(&d->stacks, rec->stack_id, block.length, rec->hdr.ts_ns);
	d->newest_ns = rec->hdr.ts_ns > d->newest_ns ? rec->hdr.ts_ns : d->newest_ns;
	d->unchecked |= !segments_cover(f, &block, waiting_id, rec->hdr.ts_ns);
	segments_give_block(f, DELTA_BLOCK_ALLOC, &block, 0, rec->hdr.tid, rec->hdr.ts_ns);
}

/* The block is from before tracing began. */
static void free_unknown(struct framework *f, const struct gmt_fw_mem *rec)
{
	struct framework_device *d = &f->devices[rec->device_index];
	struct range block = { .base = rec->ptr, .length = -rec->delta, .gpu = rec->device_index };

	f->missed += !d->before;
	d->before -= block.length < d->before ? block.length : d->before;
	if (!alloc_is_place(block.base, block.length))
		return;
	segments_cover(f, &block, 0, rec->hdr.ts_ns);
	segments_give_block(f, DELTA_BLOCK_FREE, &block, 0, rec->hdr.tid, rec->hdr.ts_ns);
}

static void free_block(struct framework *f, const struct gmt_fw_mem *rec)
{
	struct framework_device *d = &f->devices[rec->device_index];

	d->frees++;
	d->freed_bytes += -rec->delta;
	if (rangemap_at(&f->blocks, rec->ptr))
		remove_block(f, rec->ptr, &rec->hdr);
	else
		free_unknown(f, rec);
}

/* ---- events ---- */

/* A file may be probed twice (through overlayfs, and below it): then the same event comes again. A new event always
 * changes the total. */
static bool is_repeated_event(const struct framework_device *d, const struct gmt_fw_mem *rec)
{
	return d->seen && d->tid == rec->hdr.tid && d->ptr == rec->ptr && d->delta == rec->delta &&
	       (d->allocated.live == rec->total_allocated || rec->flags & GMT_FW_NO_TOTALS);
}

static void take_totals(struct framework *f, struct framework_device *d, const struct gmt_fw_mem *rec)
{
	uint64_t before = rec->total_allocated - rec->delta, peak = d->allocated.peak;

	if (!d->seen) {
		d->before = before;
		d->is_first = !before && f->p->from_start;
		d->unchecked = before || !f->p->from_start;
		level_set(&d->allocated, before, rec->hdr.ts_ns);
		recent_set(&d->recent, before, rec->hdr.ts_ns);
	} else if (d->allocated.live != before) {
		f->missed++;
		/* The events that were missed may have raised the total. */
		recent_set(&d->recent, before, rec->hdr.ts_ns);
	}
	recent_set(&d->recent, rec->total_allocated, rec->hdr.ts_ns);
	d->seen = true;
	d->tid = rec->hdr.tid;
	d->ptr = rec->ptr;
	d->delta = rec->delta;
	level_set(&d->allocated, rec->total_allocated, rec->hdr.ts_ns);
	level_set(&d->reserved, rec->total_reserved, rec->hdr.ts_ns);
	if (d->allocated.peak != peak)
		d->gone.peak++;
}

/* Counts each time that the difference begins or changes. */
static void compare_reserved(struct framework *f, struct framework_device *d, bool is_first)
{
	int64_t off = (int64_t)(d->reserved.live - d->segment_bytes);

	/* The framework held memory before the probe was in place. */
	if (is_first && off)
		d->unchecked = true;
	if (d->unchecked)
		return;
	f->reserved_off += off && off != d->off;
	d->off = off;
}

/* Where the framework does not say the totals, computes the totals from the framework's events. */
static void sum_totals(const struct framework_device *d, struct gmt_fw_mem *rec)
{
	uint64_t live = d->allocated.live;
	uint64_t sum = rec->delta < 0 && live < (uint64_t)-rec->delta ? 0 : live + (uint64_t)rec->delta;

	if (!(rec->flags & GMT_FW_NO_TOTALS))
		return;
	rec->total_allocated = sum < ALLOC_SIZE_MAX ? sum : ALLOC_SIZE_MAX;
	rec->total_reserved = d->segment_bytes;
}

static void check_reserved(struct framework *f, struct framework_device *d, const struct gmt_fw_mem *rec, bool is_first)
{
	if (rec->flags & GMT_FW_NO_TOTALS)
		level_set(&d->reserved, d->segment_bytes, rec->hdr.ts_ns);
	else
		compare_reserved(f, d, is_first);
}

/* Takes in an event whose device and totals are known. */
static void take_event(struct framework *f, const struct gmt_fw_mem *rec, unsigned int row)
{
	struct framework_device *d = &f->devices[rec->device_index];
	bool is_first = !d->seen;
	struct training_moment now;

	take_totals(f, d, rec);
	f->phases.now_ns = rec->hdr.ts_ns;
	now = phases_block(&f->phases, rec->device_index, rec->hdr.tid, rec->delta, rec->total_allocated);
	framework_follow_iterations(f);
	if (rec->delta > 0)
		add_block(f, rec, now);
	else
		free_block(f, rec);
	check_reserved(f, d, rec, is_first);
	if (!d->row)
		d->row = row;
}

void framework_memory(struct framework *f, const struct gmt_fw_mem *said, unsigned int row)
{
	struct gmt_fw_mem rec = *said;
	struct framework_device *d;

	if (rec.device_type == GMT_FW_BY_ADDRESS) {
		/* The memory below a block may be gone before the block. */
		const struct range *block = rec.delta < 0 ? rangemap_at(&f->blocks, rec.ptr) : NULL;
		int device = block ? block->gpu : segments_device(f, rec.ptr, &row);

		/* The block is host memory, or GPU memory from before the attach. */
		if (device < 0 || device >= ORDINAL_NONE)
			return;
		rec.device_index = (__u8)device;
	}
	d = device_of_ordinal(f, rec.device_index);
	if (is_repeated_event(d, &rec))
		return;
	sum_totals(d, &rec);
	take_event(f, &rec, row);
}

/* ---- the end ---- */

static void forget_blocks(struct framework *f)
{
	rangemap_fini(&f->blocks);
	rangemap_fini(&f->segments);
	memset(f->taken, 0, sizeof(f->taken));
}

void framework_end(struct framework *f)
{
	for (unsigned int i = 0; i < f->count; i++) {
		f->devices[i].at_end = framework_gaps(f, i);
		framework_kinds_free(&f->devices[i].kinds_at_end);
		framework_kinds_make(f, i, &f->devices[i].kinds_at_end);
		framework_gone_end(&f->devices[i]);
	}
	f->ended = true;
	forget_blocks(f);
}

static void count_all_gone(struct framework *f)
{
	struct rangemap_pos pos = { 0 };
	const struct range *block;

	while ((block = rangemap_next(&f->blocks, &pos)))
		framework_count_gone(f, block);
}

void framework_drop(struct framework *f)
{
	count_all_gone(f);
	memset(f->is_loaded, 0, sizeof(f->is_loaded));
	forget_blocks(f);
	phases_fini(&f->phases);
	hash_fini(&f->sizes);
	hash_fini(&f->waiting);
	for (unsigned int i = 0; i < f->count; i++) {
		struct framework_device *d = &f->devices[i];

		/* Peaks and counts stay, as everywhere. */
		d->allocated.live = d->reserved.live = d->before = 0;
		d->blocks = d->block_bytes = d->segments = d->segment_bytes = d->mapped_bytes = 0;
		d->sized = d->sized_bytes = d->asked_bytes = 0;
		d->off = 0;
		d->seen = false;
		d->gone.peak++;
		d->recent = (struct recent){ 0 };
		d->iterations = (struct iteration_marks){ 0 };
		stacks_drop(&d->stacks);
	}
}

void framework_free(struct framework *f)
{
	if (!f)
		return;
	forget_blocks(f);
	phases_fini(&f->phases);
	hash_fini(&f->sizes);
	hash_fini(&f->segment_stacks);
	hash_fini(&f->waiting);
	for (unsigned int i = 0; i < f->count; i++) {
		stacks_fini(&f->devices[i].stacks);
		framework_kinds_free(&f->devices[i].kinds_at_end);
		framework_kinds_free(&f->devices[i].gone.kinds);
		hash_fini(&f->devices[i].gone.by_kind);
	}
	free(f->devices);
	free(f);
}

void framework_close(struct framework *f)
{
	for (unsigned int i = 0; i < f->count; i++)
		stacks_close(&f->devices[i].stacks);
}

static void follow_mark(struct framework_device *d, unsigned int mark)
{
	d->mark_ns[mark] = d->newest_mark_ns = d->newest_ns;
}

void framework_mark(struct framework *f, unsigned int mark)
{
	for (unsigned int i = 0; i < f->count; i++) {
		stacks_mark(&f->devices[i].stacks, mark);
		follow_mark(&f->devices[i], mark);
	}
}

void framework_follow_iterations(struct framework *f)
{
	for (unsigned int i = 0; i < f->count; i++) {
		const struct phase_line *line = phases_line(&f->phases, i);
		struct framework_device *d = &f->devices[i];
		unsigned int mark = STACKS_MARKS;

		if (line)
			mark = iteration_marks_end(&d->iterations, &d->stacks, line->now.iteration - 1);
		if (mark < STACKS_MARKS)
			follow_mark(d, mark);
	}
}

void framework_restart(struct framework *f, uint64_t ts_ns)
{
	for (unsigned int i = 0; i < f->count; i++) {
		f->devices[i].gone.peak++;
		level_restart(&f->devices[i].allocated, ts_ns);
		level_restart(&f->devices[i].reserved, ts_ns);
		stacks_restart(&f->devices[i].stacks, ts_ns);
	}
	phases_restart(&f->phases);
}

uint32_t framework_backward_stack(const struct framework *f, uint32_t tid)
{
	return f ? phases_backward_stack(&f->phases, tid) : 0;
}

bool framework_has_reported(const struct framework *f)
{
	for (unsigned int i = 0; f && i < f->count; i++)
		if (f->devices[i].seen)
			return true;
	return false;
}
