/* SPDX-License-Identifier: BSD-2-Clause */
/* See history.h. */
#include "core/history/history.h"

#include <stdlib.h>

#include <gpumemtrace/api.h>
#include <gpumemtrace/wire.h>

#include "base/xalloc.h"
#include "core/ledger/event.h"
#include "core/history/history_birth.h"
#include "core/history/history_change.h"
#include "core/history/history_dump.h"
#include "core/history/history_oom.h"
#include "core/ledger/ledger_state.h"
#include "core/terms/probes.h"
#include "core/framework/torch_size.h"

/* A release that fails is taken back soon after. */
#define UNDO_LOOKS 64

struct history *history_new(uint64_t most_events)
{
	struct history *h = xcalloc(1, sizeof(*h));

	h->most = most_events;
	hash_init(&h->by_process, sizeof(uint32_t));
	history_marks_init(&h->marks);
	return h;
}

static void forget_ranges(struct history_process *hp)
{
	rangemap_fini(&hp->blocks);
	rangemap_fini(&hp->segments);
	rangemap_fini(&hp->asleep);
	hash_fini(&hp->asked);
}

void history_free(struct history *h)
{
	if (!h)
		return;
	for (uint32_t i = 0; i < h->process_count; i++) {
		forget_ranges(&h->processes[i]);
		free(h->processes[i].unseen);
	}
	hash_fini(&h->by_process);
	history_marks_fini(&h->marks);
	free(h->processes);
	free(h->events);
	free(h);
}

struct history_process *history_process_of(struct history *h, const struct process *p)
{
	bool is_new;
	uint32_t *index = hash_put(&h->by_process, (uintptr_t)p, &is_new);

	if (is_new) {
		*index = h->process_count++;
		h->processes = xreallocarray(h->processes, h->process_count, sizeof(*h->processes));
		h->processes[*index] = (struct history_process){ .of = p, .since = h->next };
		hash_init(&h->processes[*index].asked, sizeof(uint64_t));
	}
	return &h->processes[*index];
}

/* ---- what PyTorch has from before tracing began ---- */

static uint64_t sum_ranges(const struct rangemap *map, int device, uint32_t flags)
{
	struct rangemap_pos pos = { 0 };
	const struct range *r;
	uint64_t sum = 0;

	while ((r = rangemap_next(map, &pos)))
		sum += r->gpu == device && (r->aux & flags) == flags ? r->length : 0;
	return sum;
}

static uint64_t subtract_bytes(uint64_t from, uint64_t what)
{
	return from > what ? from - what : 0;
}

unsigned int history_unseen_count(const struct history_process *hp)
{
	if (hp->is_read)
		return hp->unseen_count;
	return hp->of->torch ? hp->of->torch->count : 0;
}

/* PyTorch's own totals, less the blocks and the segments that were met. */
struct history_unseen history_unseen(const struct history_process *hp, unsigned int device)
{
	struct history_unseen unseen = { 0 };
	const struct torch_device *d;

	if (hp->is_read)
		return hp->unseen[device];
	d = &hp->of->torch->devices[device];
	unseen.allocated = subtract_bytes(d->allocated.live, sum_ranges(&hp->blocks, device, 0) +
					  sum_ranges(&hp->asleep, device, 0));
	/* Memory that was taken away below blocks is reserved still, to PyTorch. */
	if (!hp->asleep.count && !hp->of->from_start)
		unseen.reserved = subtract_bytes(d->reserved.live,
						 sum_ranges(&hp->segments, device, GMT_HISTORY_TORCH));
	return unseen;
}

/* ---- PyTorch's blocks ---- */

uint64_t history_asked(const struct history_process *hp, const struct range *block)
{
	const struct range *live = rangemap_at(&hp->blocks, block->base);
	const struct torch_size *size;
	const uint64_t *read;

	if (!live || live->offset != block->offset)
		return 0;
	if (hp->is_read) {
		read = hash_get(&hp->asked, block->base);
		return read ? *read : 0;
	}
	size = torch_size_of(hp->of->torch, block->base);
	return size && size->bytes <= block->length ? size->bytes : 0;
}

static void see_block(const struct history_step *s, const struct gmt_fw_mem *rec)
{
	struct history_process *hp = s->hp;
	struct range block = {
		.base = rec->ptr, .length = rec->delta < 0 ? -rec->delta : rec->delta, .offset = GMT_HISTORY_UNSEEN,
		.value = rec->delta < 0 ? 0 : rec->stack_id, .gpu = rec->device_index,
	};
	const struct range *old;

	if (rec->device_type != GMT_C10_CUDA || (hp->tid == rec->hdr.tid && hp->ptr == rec->ptr &&
						 hp->delta == rec->delta && hp->total == rec->total_allocated))
		return;
	if (!history_is_place(block.base, block.length))
		return;
	hp->tid = rec->hdr.tid;
	hp->ptr = rec->ptr;
	hp->delta = rec->delta;
	hp->total = rec->total_allocated;
	if (rec->delta < 0) {
		if (history_end_block(s, block.base))
			return;
		/* From before tracing began: until now it was in no list. */
		if (history_cover(s, &block))
			history_add_range(s, GMT_HISTORY_BLOCK_FREE, &block);
		return;
	}
	while ((old = rangemap_from(&hp->blocks, block.base)) && old->base < block.base + block.length)
		history_end_block(s, old->base);
	block.offset = s->h->next;
	history_set_birth(hp, &block);
	if (!rangemap_insert(&hp->blocks, &block))
		return;
	if (history_cover(s, &block))
		history_add_range(s, GMT_HISTORY_BLOCK_ALLOC, &block);
	else
		rangemap_remove(&hp->blocks, block.base, NULL);
}

/* ---- the driver's allocations ---- */

static int device_of_row(const struct process *p, unsigned int ordinal, unsigned int row)
{
	int gpu = row < p->account.count ? p->account.rows[row].gpu : GPU_UNKNOWN;

	if (ordinal != ORDINAL_NONE)
		return ordinal;
	for (unsigned int i = 0; gpu != GPU_UNKNOWN && i < p->contexts.device_count; i++)
		if (p->contexts.devices[i].gpu == gpu)
			return i;
	return -1;
}

static void see_alloc(const struct history_step *s, const struct gmt_call *call)
{
	const struct process *p = s->hp->of;
	const struct alloc *a = hash_get(&p->allocs.by_address, call->vals[0]);
	struct range segment = { .base = call->vals[0] };

	if (!a || a->class >= GMT_CLASS_COUNT || !gmt_class_is_device(a->class))
		return;
	segment.length = a->size;
	segment.value = a->stack_id;
	segment.gpu = device_of_row(p, a->ordinal, a->row);
	history_begin_segment(s, &segment);
}

static void see_map(const struct history_step *s, const struct gmt_call *call)
{
	const struct process *p = s->hp->of;
	const struct vmm_mapping *m = hash_get(&p->vmm.mappings, call->vals[0]);
	const struct vmm_object *o = m ? hash_get(&p->vmm.objects, m->object) : NULL;
	struct range segment = { .base = call->vals[0], .aux = GMT_HISTORY_MAPPED };

	if (!o || o->class >= GMT_CLASS_COUNT || !gmt_class_is_device(o->class))
		return;
	segment.length = m->size;
	segment.value = o->stack_id;
	segment.gpu = device_of_row(p, o->ordinal, o->row);
	history_begin_segment(s, &segment);
}

static void see_free(const struct history_step *s, const struct gmt_call *call)
{
	const struct range *segment = rangemap_find(&s->hp->segments, call->vals[0]);

	if (!segment || (segment->base != call->vals[0] && !(segment->aux & GMT_HISTORY_GUESSED)))
		return;
	history_end_segments(s, call->vals[0], segment->base + segment->length - call->vals[0]);
}

/* The release failed: what it ended did not end. */
static void see_undo(const struct history_step *s, uint64_t base, uint64_t length)
{
	struct history *h = s->h;

	for (uint64_t n = h->next; n > h->first && h->next - n < UNDO_LOOKS; n--) {
		struct history_event *e = history_slot(h, n - 1);
		struct range r = {
			.base = e->address, .length = e->size, .offset = e->born, .value = e->stack_id,
			.gpu = e->device == GMT_HISTORY_DEVICE_UNKNOWN ? -1 : (int)e->device, .aux = e->flags,
		};

		if (e->kind != GMT_HISTORY_SEGMENT_FREE || e->process != s->hp - h->processes ||
		    e->address - base >= length || !rangemap_insert(&s->hp->segments, &r))
			continue;
		e->kind = GMT_HISTORY_NOTHING;
		history_wake_blocks(s, &r);
	}
}

/* Contexts take along what lives in them: what the ledger has no longer has ended. */
static void sweep_segments(const struct history_step *s)
{
	const struct allocs *allocs = &s->hp->of->allocs;
	struct rangemap_pos pos = { 0 };
	const struct range *r;
	size_t count = 0;
	uint64_t *gone = xcalloc(s->hp->segments.count + 1, sizeof(*gone));

	while ((r = rangemap_next(&s->hp->segments, &pos)))
		if (!(r->aux & (GMT_HISTORY_MAPPED | GMT_HISTORY_GUESSED)) && !hash_get(&allocs->by_address, r->base))
			gone[count++] = r->base;
	for (size_t i = 0; i < count; i++) {
		struct range segment;

		rangemap_remove(&s->hp->segments, gone[i], &segment);
		history_end_segment(s, &segment);
	}
	free(gone);
}

/* ---- calls ---- */

static void see_release(const struct history_step *s, const struct gmt_call *call, enum gmt_op op)
{
	uint64_t length = op == GMT_OP_VMM_UNMAP ? call->vals[1] : 1;

	if (call->phase == GMT_PHASE_UNDO)
		see_undo(s, call->vals[0], length);
	else if (op == GMT_OP_VMM_UNMAP)
		history_end_segments(s, call->vals[0], length);
	else
		see_free(s, call);
}

static void see_call(const struct history_step *s, const struct ledger *l, const struct gmt_call *call)
{
	const struct gmt_probe *probe = &gmt_probes[call->api < GMT_API_MAX ? call->api : 0];
	size_t count = (call->hdr.size - sizeof(*call)) / sizeof(call->vals[0]);

	if (!probe->symbol || count < probe->count)
		return;
	switch (probe->op) {
	case GMT_OP_MEM_ALLOC:
	case GMT_OP_MEM_ALLOC_PITCH:
	case GMT_OP_ASYNC_ALLOC:
	case GMT_OP_POOL_ALLOC:
	case GMT_OP_VMM_CREATE:
		if (call->rc == GMT_CUDA_OUT_OF_MEMORY)
			history_oom_failed(s, l, call, probe->op);
		else if (!call->rc && probe->op != GMT_OP_VMM_CREATE)
			see_alloc(s, call);
		break;
	case GMT_OP_VMM_MAP:
		if (!call->rc)
			see_map(s, call);
		break;
	case GMT_OP_MEM_FREE:
	case GMT_OP_ASYNC_FREE:
	case GMT_OP_VMM_UNMAP:
		see_release(s, call, probe->op);
		break;
	case GMT_OP_CTX_DESTROY:
	case GMT_OP_PRIMARY_RELEASE:
	case GMT_OP_PRIMARY_RESET:
	case GMT_OP_GREEN_DESTROY:
		sweep_segments(s);
		break;
	default:
		break;
	}
}

static void pass_time(struct history *h, uint64_t now_ns)
{
	while (h->first < h->next && history_event(h, h->first)->ts_ns + h->span_ns < now_ns)
		h->first++;
}

static void see_record(struct history *h, const struct ledger *l, const struct gmt_hdr *record,
		       struct history_process *hp)
{
	struct history_step s = { .h = h, .hp = hp, .ts_ns = record->ts_ns };

	switch (record->kind) {
	case GMT_KIND_CALL:
		see_call(&s, l, (const void *)record);
		history_oom_look(h, l);
		break;
	case GMT_KIND_FW_MEM:
		see_block(&s, (const void *)record);
		break;
	case GMT_KIND_FW_OOM:
		history_oom_reported(&s, l, (const void *)record);
		break;
	case GMT_KIND_FW_RANGE:
		history_marks_see(&h->marks, hp - h->processes, h->next, (const void *)record);
		break;
	default:
		/* Another program: nothing of the one before is left. */
		forget_ranges(hp);
		hp->since = h->next;
	}
}

/* Tracing may go on for months. */
static void forget_ended(struct history *h)
{
	for (uint32_t i = 0; i < h->process_count; i++)
		if (h->processes[i].of->exited && h->processes[i].last < h->first)
			forget_ranges(&h->processes[i]);
}

void history_see(struct history *h, const struct ledger *l, const struct gmt_hdr *record)
{
	const struct process *p;

	if (record->kind >= GMT_KIND_HISTORY && record->kind <= GMT_KIND_HISTORY_MARK)
		history_read(h, l, record);
	if (record->kind == GMT_KIND_PROC_EXIT && !h->keeps_ended)
		forget_ended(h);
	if (record->kind != GMT_KIND_CALL && record->kind != GMT_KIND_FW_MEM && record->kind != GMT_KIND_FW_OOM &&
	    record->kind != GMT_KIND_FW_RANGE && record->kind != GMT_KIND_PROC_EXEC)
		return;
	/* It remembers whom it has found last, no more. */
	p = process_find((struct processes *)&l->processes, record->tgid);
	if (!p || p->exited || (record->kind == GMT_KIND_PROC_EXEC && !hash_get(&h->by_process, (uintptr_t)p)))
		return;
	if (h->span_ns)
		pass_time(h, record->ts_ns);
	see_record(h, l, record, history_process_of(h, p));
}
