// SPDX-License-Identifier: BSD-2-Clause
/* Applies the kernel layer's records to a process's RM objects, rows and stacks. */
#include <gpumemtrace/nv.h>

#include "core/ledger/alloc.h"
#include "core/ledger/balance.h"
#include "core/ledger/checkpoint.h"
#include "core/ledger/handlers.h"
#include "core/ledger/process.h"
#include "core/ledger/vmm.h"
#include "core/terms/probes.h"

/*
 * UVM names a MIG instance by the UUID of its GPU instance, which no inventory has. CUDA uses only one MIG instance in
 * a process. So the record is about the instance that the process uses, if that instance is known.
 */
static int gpu_of_uvm(const struct process *p, int gpu)
{
	if (gpu == GPU_UNKNOWN || p->gpus->list[gpu].listed || !p->gpus->has_mig)
		return gpu;
	return p->mig;
}

static struct rm *rm_of(struct process *p)
{
	if (!p->rm)
		p->rm = rm_new();
	return p->rm;
}

/* Memory may turn out to lie on a GPU that nothing has named for the process so far. */
static void add_found_rows(struct process *p)
{
	for (int gpu = 0; gpu < rm_gpus(p->rm); gpu++) {
		struct rm_physical physical;

		rm_physical(p->rm, gpu, &physical);
		if (physical.total)
			account_row(&p->account, gpu);
	}
}

static void follow_physical(struct process *p, uint64_t ts_ns)
{
	add_found_rows(p);
	for (unsigned int i = 0; i < p->account.count; i++) {
		struct rm_physical physical;

		balance_physical(p, &p->account.rows[i], &physical);
		level_set(&p->account.rows[i].physical, physical.total, ts_ns);
	}
	deltas_give(p->out, &(struct delta){ .kind = DELTA_PHYSICAL, .p = p, .ts_ns = ts_ns });
}

static void give_booking(struct process *p, enum delta_kind kind, const struct rm_booking *b, int gpu, uint64_t ts_ns)
{
	if (!(p->out->wanted & DELTA_BIT(kind)))
		return;
	deltas_give(p->out, &(struct delta){
		.kind = kind, .p = p, .ts_ns = ts_ns,
		.memory = { .booking = { .row = account_row(&p->account, gpu), .class = CLASS_NONE,
					 .stack_id = b->stack_id, .bytes = b->bytes, .ts_ns = b->ts_ns },
			    .born_ns = b->ts_ns, .ordinal = ORDINAL_NONE },
	});
}

/* Memory that turns out to lie on another GPU goes from one to the other. */
static void give_bookings(struct process *p, const struct rm_booking *b, uint64_t ts_ns)
{
	if (b->kind != RM_BOOKING_ADD)
		give_booking(p, DELTA_DRIVER_REMOVE, b, b->gpu, ts_ns);
	if (b->kind != RM_BOOKING_REMOVE)
		give_booking(p, DELTA_DRIVER_ADD, b, b->kind == RM_BOOKING_MOVE ? b->to : b->gpu, ts_ns);
}

/* Books the kernel's memory that no call explains, in the same stacks as the memory of calls. */
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
		give_bookings(p, b, ts_ns);
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

static bool is_video_memory(const struct gmt_rm_alloc *rec)
{
	return rec->class_id == NV01_MEMORY_LOCAL_USER && !NVOS32_ATTR_LOCATION(rec->attr);
}

/* Whether there was no memory left. */
static bool is_refusal(const struct gmt_rm_alloc *rec)
{
	return nv_is_no_memory(rec->status) && rec->size && rec->size <= ALLOC_SIZE_MAX && is_video_memory(rec);
}

static unsigned int row_of_refusal(struct process *p, const struct gmt_rm_alloc *rec)
{
	int gpu = p->rm ? rm_gpu_of_object(p->rm, rec->client, rec->parent) : GPU_UNKNOWN;

	return gpu == GPU_UNKNOWN ? process_row(p, 0, NULL, ORDINAL_NONE) : account_row(&p->account, gpu);
}

static void give_driver_alloc(struct process *p, const struct gmt_rm_alloc *rec)
{
	bool is_refused = is_refusal(rec);

	if (!(p->out->wanted & DELTA_BIT(DELTA_DRIVER_ALLOC)) || (rec->status && !is_refused))
		return;
	deltas_give(p->out, &(struct delta){
		.kind = DELTA_DRIVER_ALLOC, .tid = rec->hdr.tid, .p = p, .ts_ns = rec->hdr.ts_ns,
		.driver = { .rec = rec, .is_refused = is_refused, .is_video = is_video_memory(rec),
			    .row = is_refused ? row_of_refusal(p, rec) : 0 },
	});
}

int kernel_rm_alloc(struct process *p, const struct gmt_hdr *hdr)
{
	const struct gmt_rm_alloc *rec = (const void *)hdr;
	struct rm_change change = { .gpu = GPU_UNKNOWN };
	enum gmt_purpose purpose = gmt_purpose_of_api(rec->cause.api);
	struct gmt_rm_alloc restored;
	struct rm_freed was;

	give_driver_alloc(p, rec);
	if (p->checkpoint && is_video_memory(rec) && checkpoint_unpark(&p->checkpoint, rec, &was)) {
		restored = *rec;
		restored.hdr.ts_ns = was.ts_ns;
		restored.cause.stack_id = was.stack_id;
		rec = &restored;
		purpose = was.purpose;
	}
	rm_alloc(rm_of(p), rec, purpose, &change);
	count_change(p, &change, hdr->ts_ns);
	return 0;
}

int kernel_rm_free(struct process *p, const struct gmt_hdr *hdr)
{
	const struct gmt_rm_free *rec = (const void *)hdr;
	struct rm_change change = { .gpu = GPU_UNKNOWN };
	const struct rm_freed *freed;
	size_t count;

	if (rec->cause.api) {
		rm_release(rm_of(p), rec, &change);
	} else {
		freed = rm_release_kept(rm_of(p), rec, &change, &count);
		p->all->parked_dropped += checkpoint_park(&p->checkpoint, freed, count);
	}
	count_change(p, &change, hdr->ts_ns);
	return 0;
}

/* Follows bytes that went from one GPU, or the unknown one, to another, without an rm_change. */
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
	/* The bytes were never on the unknown GPU in truth, so they leave no peak there. */
	if (!unknown->live)
		*unknown = (struct view_level){ 0 };
}

int kernel_rm_dup(struct process *p, const struct gmt_hdr *hdr)
{
	uint64_t moves = rm_moves(rm_of(p));

	rm_dup(p->rm, (const void *)hdr);
	follow_moves(p, moves, GPU_UNKNOWN, hdr->ts_ns);
	return 0;
}

int kernel_uvm_gpu(struct process *p, const struct gmt_hdr *hdr)
{
	process_named(p, gpu_of_uvm(p, gpus_number(p->gpus, ((const struct gmt_uvm_gpu *)hdr)->uuid)));
	return 0;
}

int kernel_uvm_vaspace(struct process *p, const struct gmt_hdr *hdr)
{
	const struct gmt_uvm_vaspace *rec = (const void *)hdr;
	int gpu = gpu_of_uvm(p, gpus_number(p->gpus, rec->uuid));
	uint64_t moves = rm_moves(rm_of(p));

	process_named(p, gpu);
	rm_vaspace(p->rm, rec, gpu);
	follow_moves(p, moves, gpu, hdr->ts_ns);
	return 0;
}

int kernel_uvm_map(struct process *p, const struct gmt_hdr *hdr)
{
	const struct gmt_uvm_map *rec = (const void *)hdr;
	int gpu = gpu_of_uvm(p, gpus_number(p->gpus, rec->uuid));
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

int kernel_uvm_unmap(struct process *p, const struct gmt_hdr *hdr)
{
	const struct gmt_uvm_unmap *rec = (const void *)hdr;

	rm_unmap(rm_of(p), rec, gpu_of_uvm(p, gpus_find(p->gpus, rec->uuid)));
	return 0;
}

int kernel_uvm_free(struct process *p, const struct gmt_hdr *hdr)
{
	rm_range_free(rm_of(p), (const void *)hdr);
	return 0;
}
