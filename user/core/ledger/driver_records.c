// SPDX-License-Identifier: BSD-2-Clause
/* See driver_records.h. */
#include "core/ledger/driver_records.h"

#include "core/ledger/balance.h"
#include "core/ledger/ledger_state.h"
#include "core/oom/oom_ask.h"
#include "core/terms/probes.h"

/*
 * UVM names a MIG instance by the UUID of its GPU instance, which no inventory has: then it is the
 * one instance that the process uses (CUDA uses no second one). Unknown until that is known.
 */
static int gpu_of_uvm(struct ledger *l, const struct process *p, const uint8_t *uuid)
{
	int gpu = gpus_number(&l->gpus, uuid);

	if (gpu == GPU_UNKNOWN || l->gpus.list[gpu].listed || !l->gpus.has_mig)
		return gpu;
	return p->mig;
}

static struct rm *rm_of(struct process *p)
{
	if (!p->rm)
		p->rm = rm_new();
	return p->rm;
}

static void follow_physical(struct process *p, uint64_t ts_ns)
{
	for (unsigned int i = 0; i < p->account.count; i++) {
		struct rm_physical physical;

		balance_physical(p, &p->account.rows[i], &physical);
		level_set(&p->account.rows[i].physical, physical.total, ts_ns);
	}
}

/* What the kernel gave that no call explains is booked where its calls are. */
static void follow_bookings(struct process *p, uint64_t ts_ns)
{
	size_t count;
	const struct rm_booking *list = rm_bookings(p->rm, &count);

	for (size_t i = 0; i < count; i++) {
		const struct rm_booking *b = &list[i];
		struct stacks *stacks = account_stacks(&p->account, b->gpu), *to;

		switch (b->kind) {
		case RM_BOOKING_ADD:
			stacks_add(stacks, b->stack_id, b->bytes, ts_ns);
			break;
		case RM_BOOKING_REMOVE:
			stacks_remove(stacks, b->stack_id, b->bytes);
			break;
		case RM_BOOKING_MOVE:
			to = account_stacks(&p->account, b->to); /* may move the rows */
			stacks = account_stacks(&p->account, b->gpu);
			stacks_move(stacks, to, b->stack_id, b->bytes, ts_ns);
			break;
		}
	}
}

static void count_change(struct process *p, const struct rm_change *change, uint64_t ts_ns)
{
	p->anomalies[GMT_ANOMALY_RM_FREE_UNKNOWN] += change->unknown_free;
	p->anomalies[GMT_ANOMALY_RM_DOUBLE_ALLOC] += change->double_alloc;
	follow_bookings(p, ts_ns);
	if (change->bytes)
		account_row(&p->account, change->gpu);
	if (change->bytes || change->several || change->double_alloc)
		follow_physical(p, ts_ns);
}

int kernel_rm_alloc(struct ledger *l, struct process *p, const struct gmt_hdr *hdr)
{
	const struct gmt_rm_alloc *rec = (const void *)hdr;
	struct rm_change change = { .gpu = GPU_UNKNOWN };

	if (oom_is_refusal(rec))
		ooms_refused(l, p, rec);
	else if (l->ooms.count && !rec->status)
		ooms_driver_gave(l, p, rec);
	rm_alloc(rm_of(p), rec, gmt_purpose_of_api(rec->cause.api), &change);
	count_change(p, &change, hdr->ts_ns);
	return 0;
}

int kernel_rm_free(struct ledger *l, struct process *p, const struct gmt_hdr *hdr)
{
	struct rm_change change = { .gpu = GPU_UNKNOWN };

	(void)l;
	rm_release(rm_of(p), (const void *)hdr, &change);
	count_change(p, &change, hdr->ts_ns);
	return 0;
}

/* Bytes went from one GPU, or the unknown one, to another, with no rm_change that says so. */
static void follow_moves(struct process *p, uint64_t moves_before, int gpu, uint64_t ts_ns)
{
	struct view_level *unknown;

	follow_bookings(p, ts_ns);
	if (rm_moves(p->rm) == moves_before)
		return;
	if (gpu != GPU_UNKNOWN)
		account_row(&p->account, gpu);
	follow_physical(p, ts_ns);
	unknown = &p->account.rows[0].physical;
	/* What was never there in truth leaves no peak behind. */
	if (!unknown->live)
		*unknown = (struct view_level){ 0 };
}

int kernel_rm_dup(struct ledger *l, struct process *p, const struct gmt_hdr *hdr)
{
	uint64_t moves = rm_moves(rm_of(p));

	(void)l;
	rm_dup(p->rm, (const void *)hdr);
	follow_moves(p, moves, GPU_UNKNOWN, hdr->ts_ns);
	return 0;
}

int kernel_uvm_gpu(struct ledger *l, struct process *p, const struct gmt_hdr *hdr)
{
	process_named(p, gpu_of_uvm(l, p, ((const struct gmt_uvm_gpu *)hdr)->uuid));
	return 0;
}

int kernel_uvm_vaspace(struct ledger *l, struct process *p, const struct gmt_hdr *hdr)
{
	const struct gmt_uvm_vaspace *rec = (const void *)hdr;
	int gpu = gpu_of_uvm(l, p, rec->uuid);

	uint64_t moves = rm_moves(rm_of(p));

	process_named(p, gpu);
	rm_vaspace(p->rm, rec, gpu);
	follow_moves(p, moves, gpu, hdr->ts_ns);
	return 0;
}

int kernel_uvm_map(struct ledger *l, struct process *p, const struct gmt_hdr *hdr)
{
	const struct gmt_uvm_map *rec = (const void *)hdr;
	int gpu = gpu_of_uvm(l, p, rec->uuid);

	uint64_t moves = rm_moves(rm_of(p));

	rm_map(p->rm, rec, gpu);
	follow_moves(p, moves, gpu, hdr->ts_ns);
	gpu = rm_gpu_of_address(p->rm, rec->base);
	if (gpu != GPU_UNKNOWN) {
		alloc_resolve_at(p, rec->base, gpu, hdr->ts_ns);
		vmm_resolve_at(p, rec->base, gpu, hdr->ts_ns);
	}
	return 0;
}

int kernel_uvm_unmap(struct ledger *l, struct process *p, const struct gmt_hdr *hdr)
{
	(void)l;
	rm_unmap(rm_of(p), (const void *)hdr);
	return 0;
}

int kernel_uvm_free(struct ledger *l, struct process *p, const struct gmt_hdr *hdr)
{
	(void)l;
	rm_range_free(rm_of(p), (const void *)hdr);
	return 0;
}
