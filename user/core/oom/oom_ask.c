// SPDX-License-Identifier: BSD-2-Clause
/* See oom_ask.h. */
#include "core/oom/oom_ask.h"

#include "core/ledger/event.h"
#include "core/oom/oom_requests.h"

#define RUN_GAP_NS 100000000ULL    /* between two handles of one request there is less */

/* nvstatuscodes.h of NVIDIA/open-gpu-kernel-modules, 535 to 595; nvos.h: 0 is video memory. */
#define NV_ERR_INSUFFICIENT_RESOURCES 0x1a
#define NV_ERR_NO_MEMORY 0x51
#define NV01_MEMORY_LOCAL_USER 0x40   /* class/cl0040.h */
#define NVOS32_ATTR_LOCATION(attr) ((attr) >> 25 & 3)

/* ---- what arguments say ---- */

struct process_ask oom_ask_of_context(struct process *p, const struct gmt_call *call)
{
	bool has_device = call->hdr.size >= sizeof(*call) + 2 * sizeof(call->vals[0]);
	unsigned int ordinal = has_device ? context_ordinal_of(call->vals[1]) : ORDINAL_NONE;

	return (struct process_ask){ true, process_row(p, 0, NULL, ordinal), GMT_OOM_CLASS_NONE, 0 };
}

void oom_handle_created(struct thread *t, const struct gmt_call *call, uint64_t bytes)
{
	uint64_t ts_ns = call->hdr.ts_ns;

	if (bytes != t->created_each || ts_ns - t->created_ts_ns > RUN_GAP_NS)
		t->created_bytes = t->created_count = 0;
	t->created_each = bytes;
	t->created_ts_ns = ts_ns;
	t->created_bytes += bytes;
	t->created_count++;
}

struct process_ask oom_ask_with_run(const struct process *p, const struct thread *t, uint64_t ts_ns)
{
	struct process_ask ask = p->ask;

	if (ask.bytes > ALLOC_SIZE_MAX)
		ask.bytes = ALLOC_SIZE_MAX;
	if (ask.class == GMT_CLASS_VMM && t->created_count && ts_ns - t->created_ts_ns <= RUN_GAP_NS)
		ask.bytes += t->created_bytes;
	return ask;
}

/* ---- what the kernel driver refused ---- */

bool oom_is_video_memory(const struct gmt_rm_alloc *rec)
{
	return rec->class_id == NV01_MEMORY_LOCAL_USER && !NVOS32_ATTR_LOCATION(rec->attr);
}

bool oom_is_refusal(const struct gmt_rm_alloc *rec)
{
	return (rec->status == NV_ERR_NO_MEMORY || rec->status == NV_ERR_INSUFFICIENT_RESOURCES) && rec->size &&
	       rec->size <= ALLOC_SIZE_MAX && oom_is_video_memory(rec);
}

void oom_note_refusal(struct process *p, const struct gmt_rm_alloc *rec)
{
	int gpu = p->rm ? rm_gpu_of_object(p->rm, rec->client, rec->parent) : GPU_UNKNOWN;

	process_thread(p, rec->hdr.tid)->refused = (struct refusal){
		.bytes = rec->size,
		.api = rec->cause.api,
		.seq = rec->cause.seq,
		.stack_id = rec->cause.stack_id,
		.row = gpu == GPU_UNKNOWN ? process_row(p, 0, NULL, ORDINAL_NONE) : account_row(&p->account, gpu),
	};
}

struct process_ask oom_ask_of_refusal(struct process *p, uint32_t tid)
{
	const struct refusal *refused = &process_thread(p, tid)->refused;

	return (struct process_ask){ true, refused->row, GMT_OOM_CLASS_NONE, refused->bytes };
}

const struct refusal *oom_refused_in(struct process *p, const struct gmt_call *call)
{
	const struct refusal *refused = &process_thread(p, call->hdr.tid)->refused;

	return refused->bytes && refused->api == call->api && refused->seq == call->seq ? refused : NULL;
}

struct process_ask oom_ask_of_call(struct process *p, const struct gmt_call *call)
{
	if (oom_refused_in(p, call))
		return oom_ask_of_refusal(p, call->hdr.tid);
	return (struct process_ask){ true, process_row(p, 0, call, ORDINAL_NONE), GMT_OOM_CLASS_NONE, 0 };
}
