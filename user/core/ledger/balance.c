/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/ledger/balance.h"

#include "core/ledger/checkpoint.h"
#include "core/ledger/handlers.h"
#include "core/terms/names.h"

void balance_physical(const struct process *p, const struct row *row, struct rm_physical *out)
{
	*out = (struct rm_physical){ 0 };
	if (p->exited)
		*out = row->at_end;
	else if (p->rm)
		rm_physical(p->rm, row->gpu, out);
}

static int64_t live_of_class(const struct row *row, enum gmt_class class)
{
	return row->by_class[class].bytes.live;
}

/* Takes up to `wanted` bytes out of a member that has some, and returns how many. */
static int64_t take_bytes(int64_t *member, int64_t wanted)
{
	int64_t taken = *member < wanted ? *member : wanted;

	if (taken <= 0)
		return 0;
	*member -= taken;
	return taken;
}

/*
 * The driver carves small allocations out of blocks that it got earlier: while it made the context, or before the
 * attach. Where allocations outweigh the bytes obtained for them, the block below them is counted under another member,
 * which gives up the difference.
 */
static void cover_missing(struct view_sum *sum, int64_t *member, bool from_start)
{
	int64_t *first = from_start ? &sum->context : &sum->other;
	int64_t *second = from_start ? &sum->other : &sum->context;
	int64_t missing = -*member;

	if (missing <= 0)
		return;
	*member = 0;
	missing -= take_bytes(first, missing);
	missing -= take_bytes(second, missing);
	missing -= take_bytes(&sum->modules, missing);
	sum->other -= missing;
}

void balance_sum(const struct process *p, const struct row *row, struct view_sum *sum)
{
	struct rm_physical physical, parked;
	const uint64_t *by = physical.by_purpose;

	*sum = (struct view_sum){ .attributed = row->attributed.live, .before_attach = row->nvml.before };
	for (int class = 0; class < GMT_CLASS_COUNT; class++)
		if (gmt_class_is_device(class))
			sum->by_class[class] = row->by_class[class].bytes.live;
	if (!process_has_kernel(p))
		return;
	balance_physical(p, row, &physical);
	checkpoint_sums(p->checkpoint, row->gpu, &parked);
	/* The other members are as if what is parked in host memory were still on the GPU. */
	sum->checkpointed = parked.total;
	physical.total += parked.total;
	for (int i = 0; i < GMT_PURPOSE_COUNT; i++)
		physical.by_purpose[i] += parked.by_purpose[i];
	sum->context = by[GMT_PURPOSE_CONTEXT];
	sum->modules = by[GMT_PURPOSE_MODULE];
	sum->pool_reserve = by[GMT_PURPOSE_POOL] - live_of_class(row, GMT_CLASS_POOL);
	sum->rounding = by[GMT_PURPOSE_ALLOC] + by[GMT_PURPOSE_VMM] - live_of_class(row, GMT_CLASS_DEVICE) -
			live_of_class(row, GMT_CLASS_ARRAY) - live_of_class(row, GMT_CLASS_VMM);
	sum->other = physical.total - row->attributed.live - sum->context - sum->modules - sum->pool_reserve -
		     sum->rounding;
	cover_missing(sum, &sum->pool_reserve, p->from_start);
	cover_missing(sum, &sum->rounding, p->from_start);
}

static uint64_t unknown_frees(const struct process *p, int gpu)
{
	struct rm_physical physical;

	balance_physical(p, &p->account.rows[account_find_row(&p->account, gpu)], &physical);
	return physical.unknown_frees;
}

uint64_t balance_before_frees(const struct process *p, const struct row *row)
{
	uint64_t frees = unknown_frees(p, row->gpu);

	/* The GPU of such an object is rarely known. In a process with one GPU, the object was that GPU's. */
	if (row->gpu != GPU_UNKNOWN && p->account.count == 2)
		frees += unknown_frees(p, GPU_UNKNOWN);
	return frees;
}

/* Frees that may have lowered the memory from before the attach, by an unknown size. */
static uint64_t frees_of_unknown_size(const struct process *p, const struct row *row)
{
	if (!process_has_kernel(p))
		return p->anomalies[GMT_ANOMALY_FREE_UNKNOWN];
	return unknown_frees(p, row->gpu) + unknown_frees(p, GPU_UNKNOWN);
}

/* NVML counts what a call got before the call's record comes. So the first baseline may have too much. Only the
 * kernel's records tell what the calls that were underway then had got. */
static bool takes_baseline(const struct process *p, const struct row_nvml *nvml)
{
	return !p->from_start && (!nvml->has_baseline || (process_has_kernel(p) && !nvml->has_settled));
}

/* What frees of unknown size have left of the memory from before the attach. */
static void settle_frees(struct row_nvml *nvml, uint64_t rest, uint64_t frees)
{
	uint64_t most = nvml->before + nvml->lowered, before = rest < most ? rest : most;
	bool is_settled = frees == nvml->frees_seen && before == nvml->before;

	nvml->frees_seen = frees;
	if (frees == nvml->frees_settled)
		return;
	nvml->before = before;
	nvml->lowered = most - before;
	nvml->inferred |= before < most;
	if (is_settled) {
		nvml->frees_settled = frees;
		nvml->lowered = 0;
	}
}

int balance_nvml(struct process *p, const struct gmt_hdr *hdr)
{
	const struct gmt_nvml *rec = (const void *)hdr;
	int gpu = gpus_number(p->gpus, rec->uuid);
	struct rm_physical physical;

	process_named(p, gpu);
	if (gpu == GPU_UNKNOWN)
		return 0;
	unsigned int number = account_row(&p->account, gpu); /* may move the rows */
	struct row *row = &p->account.rows[number];
	struct row_nvml *nvml = &row->nvml;

	balance_physical(p, row, &physical);
	uint64_t tracked = process_has_kernel(p) ? physical.total : row->attributed.live;
	uint64_t frees = frees_of_unknown_size(p, row);
	uint64_t rest = rec->used_bytes > tracked ? rec->used_bytes - tracked : 0;

	if (rec->when == GMT_NVML_BASELINE && takes_baseline(p, nvml)) {
		nvml->baseline = nvml->has_baseline ? nvml->baseline : rec->used_bytes;
		nvml->has_settled = nvml->has_baseline && rest == nvml->before;
		nvml->has_baseline = true;
		nvml->before = rest;
		nvml->frees_settled = nvml->frees_seen = frees;
	} else {
		settle_frees(nvml, rest, frees);
	}
	nvml->has = true;
	nvml->used = rec->used_bytes;
	nvml->ts_ns = hdr->ts_ns;
	balance_sum(p, row, &nvml->sum);
	nvml->sum.residual = rec->used_bytes - tracked - nvml->before;
	deltas_give(p->out, &(struct delta){ .kind = DELTA_NVML, .p = p, .ts_ns = hdr->ts_ns, .row = number });
	return 0;
}
