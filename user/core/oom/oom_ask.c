// SPDX-License-Identifier: BSD-2-Clause
/*
 * How much memory a failed call had asked for. The call's arguments say the size (delta.h); a run of handles counts as
 * a whole. For a call whose arguments do not say a size (contexts, modules, graphs, streams), the size is what the
 * kernel driver refused to the thread meanwhile. A refusal is no error by itself: libcuda may try again, or otherwise.
 */
#include "core/oom/oom_watch.h"

#include "core/ledger/process.h"
#include "core/terms/probes.h"

#define RUN_GAP_NS 100000000ULL    /* longer than the time between two handles of one request */

struct oom_thread *oom_thread_of(struct ooms *o, const struct process *p, uint32_t tid)
{
	struct oom_thread *t = hash_put(&o->threads, tid, NULL);

	/* A new thread may have the number of a thread that has ended. */
	if (t->p != p)
		*t = (struct oom_thread){ .p = p };
	return t;
}

void oom_handle_created(struct oom_thread *t, uint64_t bytes, uint64_t ts_ns)
{
	if (bytes != t->created_each || ts_ns - t->created_ts_ns > RUN_GAP_NS)
		oom_forget_run(t);
	t->created_each = bytes;
	t->created_ts_ns = ts_ns;
	t->created_bytes += bytes;
	t->created_count++;
}

void oom_forget_run(struct oom_thread *t)
{
	t->created_bytes = t->created_count = 0;
}

struct delta_ask oom_ask_of_call(const struct oom_thread *t, const struct delta_call *call, uint64_t ts_ns)
{
	struct delta_ask ask = call->ask;

	if (ask.class == GMT_OOM_CLASS_NONE && !gmt_op_makes_context(call->op) && oom_refused_in(t, call->rec))
		ask = (struct delta_ask){ true, t->refused.row, GMT_OOM_CLASS_NONE, ORDINAL_NONE, t->refused.bytes };
	if (ask.bytes > ALLOC_SIZE_MAX)
		ask.bytes = ALLOC_SIZE_MAX;
	if (ask.class == GMT_CLASS_VMM && t->created_count && ts_ns - t->created_ts_ns <= RUN_GAP_NS)
		ask.bytes += t->created_bytes;
	return ask;
}

void oom_note_refusal(struct oom_thread *t, const struct delta_driver *driver)
{
	const struct gmt_rm_alloc *rec = driver->rec;

	t->refused = (struct oom_refusal){
		.bytes = rec->size,
		.api = rec->cause.api,
		.seq = rec->cause.seq,
		.stack_id = rec->cause.stack_id,
		.row = driver->row,
	};
}

const struct oom_refusal *oom_refused_in(const struct oom_thread *t, const struct gmt_call *call)
{
	return t->refused.bytes && t->refused.api == call->api && t->refused.seq == call->seq ? &t->refused : NULL;
}
