/* SPDX-License-Identifier: BSD-2-Clause */
/* See history_oom.h. */
#include "core/history_oom.h"

#include "core/event.h"
#include "core/history.h"
#include "core/ledger_state.h"

/* CUmemLocationType of cuda.h. */
#define LOCATION_DEVICE 1
/* Far longer than it takes an allocator to give back what it has cached. */
#define RETRY_NS 1000000000ULL

uint64_t history_size_asked(const struct gmt_call *call, enum gmt_op op)
{
	uint64_t pitch, size;

	if (op != GMT_OP_MEM_ALLOC_PITCH)
		return call->vals[1] <= ALLOC_SIZE_MAX ? call->vals[1] : ALLOC_SIZE_MAX;
	/* Of a call that failed the width is all there is. */
	pitch = call->vals[1] ? call->vals[1] : call->vals[2];
	return __builtin_mul_overflow(pitch, call->vals[3], &size) || size > ALLOC_SIZE_MAX ? ALLOC_SIZE_MAX : size;
}

static unsigned int ordinal_of(const struct process *p, const struct gmt_call *call, enum gmt_op op)
{
	struct thread *const *t = hash_get(&p->threads, call->hdr.tid);
	struct event e = { .proc = (struct process *)p, .thread = t ? *t : NULL, .call = call, .op = op };

	if (op == GMT_OP_VMM_CREATE)
		return call->vals[2] == LOCATION_DEVICE ? context_ordinal_of(call->vals[3]) : ORDINAL_NONE;
	return e.thread ? context_ordinal(&p->contexts, context_current(&e)) : ORDINAL_NONE;
}

static uint64_t free_on(const struct ledger *l, int gpu)
{
	const struct gpu *g = gpu >= 0 ? &l->gpus.list[gpu] : NULL;
	uint64_t total = g && g->listed ? g->record.total_bytes : 0, used = 0;

	for (size_t i = 0; total && i < l->processes.count; i++) {
		const struct process *p = l->processes.list[i];
		const struct row *row = &p->account.rows[account_find_row(&p->account, gpu)];
		uint64_t known = row->attributed.live > row->physical.live ? row->attributed.live : row->physical.live;

		if (!p->exited && row->gpu == gpu)
			used += row->nvml.used > known ? row->nvml.used : known;
	}
	return used < total ? total - used : 0;
}

struct history_asked history_asked(const struct ledger *l, const struct process *p, const struct gmt_call *call,
				   enum gmt_op op)
{
	unsigned int ordinal = ordinal_of(p, call, op);
	int gpu = context_gpu(&p->contexts, ordinal);

	if (op == GMT_OP_VMM_CREATE && call->vals[2] > LOCATION_DEVICE)
		return (struct history_asked){ 0 };
	return (struct history_asked){
		.size = history_size_asked(call, op),
		.free = free_on(l, gpu != GPU_UNKNOWN ? gpu : gpus_only(&l->gpus)),
		.device = ordinal == ORDINAL_NONE ? HISTORY_DEVICE_UNKNOWN : ordinal,
	};
}

/* ---- tries ---- */

bool history_oom_failed(struct history_oom *oom, uint32_t tid, uint64_t size, uint64_t ts_ns)
{
	bool is_retry = oom->tries && oom->tid == tid && oom->size == size && ts_ns - oom->ts_ns < RETRY_NS;
	bool is_event = !is_retry || oom->taken_back;

	*oom = (struct history_oom){
		.tid = tid, .tries = is_retry ? oom->tries + 1 : 1, .size = size, .number = oom->number,
		.ts_ns = ts_ns,
	};
	return is_event;
}

/*
 * An expandable segment asks for one piece after the other: some come before the one that fails again, so
 * what is taken back is not forgotten yet.
 */
bool history_oom_succeeded(struct history_oom *oom, uint64_t size)
{
	if (oom->size != size || oom->tries > 1) {
		*oom = (struct history_oom){ 0 };
		return false;
	}
	if (oom->taken_back)
		return false;
	return oom->taken_back = true;
}
