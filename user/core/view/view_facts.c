/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/view/view_facts.h"

#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "core/framework/framework.h"
#include "core/framework/frameworks.h"
#include "core/ledger/ledger_state.h"
#include "core/oom/oom_gpus.h"
#include "core/oom/oom_requests.h"
#include "core/pipeline/pipeline.h"

/* ---- GPUs ---- */

static void format_uuid(const uint8_t *uuid, bool is_mig, char text[48])
{
	static const char digits[] = "0123456789abcdef";
	size_t n = 4;

	memcpy(text, is_mig ? "MIG-" : "GPU-", n);
	for (int i = 0; i < GMT_UUID_BYTES; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			text[n++] = '-';
		text[n++] = digits[uuid[i] >> 4];
		text[n++] = digits[uuid[i] & 15];
	}
	text[n] = '\0';
}

/* A process that is traced by now is no neighbour any more: NVML's next answer will say so, too. processes NULL: the
 * list has no traced process. */
static void fill_gpu_neighbours(const struct neighbours *from, const struct processes *processes, struct view_gpu *out)
{
	out->neighbour_count = 0;
	for (size_t i = 0; i < from->count; i++) {
		const struct gmt_gpu_neighbour *rec = &from->list[i];
		struct view_neighbour *to = &out->neighbours[out->neighbour_count];

		if (processes && process_is_traced(processes, rec->hdr.tgid))
			continue;
		*to = (struct view_neighbour){ .tgid = rec->hdr.tgid, .bytes = rec->used_bytes };
		memcpy(to->comm, rec->comm, sizeof(rec->comm));
		out->neighbour_count++;
	}
	out->more_neighbours = from->others.used_bytes ? from->others.count : 0;
	out->more_bytes = from->others.used_bytes;
}

static void fill_told_memory(const struct gmt_gpu_memory *from, struct view_gpu *out)
{
	out->has_memory = true;
	out->used_bytes = from->used_bytes;
	out->free_bytes = from->free_bytes;
	out->processes_bytes = from->processes_bytes;
	out->memory_ts_ns = from->hdr.ts_ns;
}

static void fill_gpu(const struct ledger *l, const struct gpu *gpu, struct view_gpu *out)
{
	const struct gmt_gpu *r = &gpu->record;
	bool is_mig = gpu->listed && (r->flags & GMT_GPU_MIG);

	*out = (struct view_gpu){ .index = UINT32_MAX };
	memcpy(out->uuid, gpu->uuid, sizeof(out->uuid));
	format_uuid(gpu->uuid, is_mig, out->uuid_text);
	if (gpu->memory.hdr.size) {
		fill_told_memory(&gpu->memory, out);
		fill_gpu_neighbours(&gpu->neighbours, &l->processes, out);
	}
	if (!gpu->listed)
		return;
	out->index = r->index;
	out->flags = r->flags;
	out->parent_index = r->parent_index;
	out->gpu_instance = r->gpu_instance;
	out->compute_instance = r->compute_instance;
	out->total_bytes = r->total_bytes;
	/* The last byte stays a NUL. */
	memcpy(out->name, r->name, sizeof(out->name) - 1);
	memcpy(out->pci, r->pci, sizeof(out->pci) - 1);
}

/* The order is nvidia-smi's: by index, with a GPU before its MIG instances; then GPUs without an index, by UUID. */
static int compare_gpus(const void *left, const void *right)
{
	const struct view_gpu *a = left, *b = right;
	bool mig_a = a->flags & GMT_GPU_MIG, mig_b = b->flags & GMT_GPU_MIG;
	uint64_t key_a = mig_a ? a->parent_index : a->index, key_b = mig_b ? b->parent_index : b->index;

	if (key_a != key_b)
		return key_a < key_b ? -1 : 1;
	if (mig_a != mig_b)
		return mig_a ? 1 : -1;
	if (a->gpu_instance != b->gpu_instance)
		return a->gpu_instance < b->gpu_instance ? -1 : 1;
	if (a->compute_instance != b->compute_instance)
		return a->compute_instance < b->compute_instance ? -1 : 1;
	return memcmp(a->uuid, b->uuid, sizeof(a->uuid));
}

void view_fill_gpus(const struct ledger *l, struct view *view, int *order)
{
	const struct gpus *gpus = &l->gpus;

	view->gpu_count = gpus->count;
	view->gpus = xcalloc(gpus->count, sizeof(*view->gpus));
	for (int i = 0; i < gpus->count; i++)
		fill_gpu(l, &gpus->list[i], &view->gpus[i]);
	if (gpus->count)
		qsort(view->gpus, gpus->count, sizeof(*view->gpus), compare_gpus);
	for (int i = 0; i < gpus->count; i++)
		for (int place = 0; place < gpus->count; place++)
			if (memcmp(view->gpus[place].uuid, gpus->list[i].uuid, GMT_UUID_BYTES) == 0)
				order[i] = place;
}

static void forget_gpu_memory(struct view_gpu *gpu)
{
	gpu->has_memory = false;
	gpu->used_bytes = gpu->free_bytes = gpu->processes_bytes = gpu->memory_ts_ns = 0;
	gpu->neighbour_count = gpu->more_neighbours = 0;
	gpu->more_bytes = 0;
}

void view_set_gpus(struct view *view, const struct oom *oom)
{
	for (size_t i = 0; i < view->gpu_count; i++) {
		const struct oom_gpu *told = oom_gpu_of(oom, view->gpus[i].uuid);

		if (told) {
			fill_told_memory(&told->memory, &view->gpus[i]);
			fill_gpu_neighbours(&told->neighbours, NULL, &view->gpus[i]);
		} else {
			forget_gpu_memory(&view->gpus[i]);
		}
	}
}

/* ---- processes and the session ---- */

uint64_t view_anomalies_of(const struct process *p, const struct framework *f, int kind)
{
	uint64_t count = p->anomalies[kind];

	if (f && kind == GMT_ANOMALY_TORCH_MISSED)
		count += f->missed;
	if (f && kind == GMT_ANOMALY_TORCH_RESERVED)
		count += f->reserved_off;
	return count;
}

void view_fill_facts(const struct pipeline *pl, const struct process *p, struct view_proc *out)
{
	struct oom_counts ooms = ooms_counts(pl->ooms, p);

	*out = (struct view_proc){
		.tgid = p->tgid,
		.ns_pid = p->ns_pid,
		.uid = p->uid,
		.start_ns = p->start_ns,
		.attach_ts_ns = p->attach_ts_ns,
		.window_ns = p->window_ns ? p->window_ns : p->attach_ts_ns,
		.from_start = p->from_start,
		.exited = p->exited,
		.exit_code = p->exit_code,
		.exit_ts_ns = p->exit_ts_ns,
		.unwinding = p->unwinding,
	};
	memcpy(out->comm, p->comm, sizeof(out->comm));
	memcpy(out->cmdline, p->cmdline, sizeof(out->cmdline));
	memcpy(out->cgroup, p->cgroup, sizeof(out->cgroup));
	for (int k = 0; k < GMT_ANOMALY_COUNT; k++)
		out->anomalies[k] = view_anomalies_of(p, frameworks_of(pl->frameworks, p), k);
	memcpy(out->ooms, ooms.of, sizeof(out->ooms));
	memcpy(out->host_ooms, ooms.of_host, sizeof(out->host_ooms));
}

void view_fill_session(const struct ledger *l, const struct view_request *request, struct view *view)
{
	*view = (struct view){
		.start_ns = l->start_ns,
		.now_ns = l->now_ns,
		.session = l->session,
		.libraries_forgotten = l->libraries.forgotten,
		.memory = l->memory,
		.dropped = {
			[VIEW_DROP_NAMES] = l->frames.dropped + l->frames.modules.dropped,
			[VIEW_DROP_STACK_ENDS] = l->stack_ends.dropped,
			[VIEW_DROP_CHECKPOINTED] = l->processes.parked_dropped,
		},
		.has_ages = request->ages,
		.older_than_ns = request->older_than_ns,
		.records = l->records,
		.records_unknown = l->records_unknown,
		.records_malformed = l->records_malformed,
		.marks = l->marks,
		.mark_ns = l->mark_ns,
		.end_reason = l->end_reason,
	};
	if (l->session.hdr.size)
		view->wall_start_ns = l->session.wall_ns - (l->session.hdr.ts_ns - l->start_ns);
	memcpy(view->loss, l->loss, sizeof(view->loss));
	limits_copy(&view->limits, &l->limits);
	view->libraries = libraries_copy(&l->libraries, &view->library_count);
}
