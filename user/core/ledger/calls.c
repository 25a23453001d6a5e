/* SPDX-License-Identifier: BSD-2-Clause */
/* Call records: which operation each one is, and who applies the operation. */
#include <errno.h>

#include "core/ledger/alloc.h"
#include "core/ledger/context.h"
#include "core/ledger/event.h"
#include "core/ledger/graph.h"
#include "core/ledger/handlers.h"
#include "core/ledger/import.h"
#include "core/ledger/pool.h"
#include "core/ledger/process.h"
#include "core/ledger/vmm.h"
#include "core/terms/probes.h"

struct operation {
	void (*apply)(struct event *e);
	void (*undo)(struct event *e, struct undo *u);
	bool counts_failures;    /* apply() is for calls that failed, too */
};

/* Those that are not here change nothing: they only name what runs inside them, or tell what the
 * kernel layer knows better (reserved bytes of pools and graphs). */
static const struct operation operations[GMT_OP_COUNT] = {
#define CALL(op, apply) [GMT_OP_##op] = { apply, NULL, false }
#define ALLOC(op, apply) [GMT_OP_##op] = { apply, NULL, true }
#define RELEASE(op, apply, undo) [GMT_OP_##op] = { apply, undo, false }
	ALLOC(MEM_ALLOC, alloc_device),
	ALLOC(MEM_ALLOC_PITCH, alloc_pitch),
	ALLOC(MEM_ALLOC_MANAGED, alloc_managed),
	RELEASE(MEM_FREE, alloc_free, alloc_free_undo),
	CALL(MEM_RANGE, alloc_learn),
	ALLOC(HOST_ALLOC, alloc_host),
	RELEASE(HOST_FREE, alloc_free, alloc_free_undo),
	ALLOC(HOST_REGISTER, alloc_register),
	RELEASE(HOST_UNREGISTER, alloc_free, alloc_free_undo),
	ALLOC(ASYNC_ALLOC, pool_alloc_async),
	ALLOC(POOL_ALLOC, pool_alloc_from),
	RELEASE(ASYNC_FREE, alloc_free, alloc_free_undo),
	CALL(POOL_CREATE, pool_create),
	RELEASE(POOL_DESTROY, pool_destroy, pool_destroy_undo),
	CALL(POOL_OF_DEVICE, pool_of_device),
	CALL(POOL_SET_DEVICE, pool_set_device),
	CALL(POOL_OF_LOCATION, pool_of_location),
	CALL(POOL_SET_LOCATION, pool_set_location),
	CALL(POOL_IMPORT, pool_import),
	CALL(POOL_IMPORT_PTR, pool_import_pointer),
	ALLOC(VMM_CREATE, vmm_create),
	RELEASE(VMM_RELEASE, vmm_release, vmm_release_undo),
	CALL(VMM_RETAIN, vmm_retain),
	CALL(VMM_MAP, vmm_map),
	RELEASE(VMM_UNMAP, vmm_unmap, vmm_unmap_undo),
	CALL(VMM_IMPORT, vmm_import),
	CALL(VMM_PROPERTIES, vmm_properties),
	CALL(MULTICAST_CREATE, vmm_multicast),
	ALLOC(ARRAY_CREATE, alloc_array),
	ALLOC(ARRAY3D_CREATE, alloc_array),
	ALLOC(MIPMAP_CREATE, alloc_array),
	RELEASE(ARRAY_DESTROY, alloc_array_destroy, alloc_release_undo),
	CALL(ARRAY_REQUIREMENTS, alloc_array_requirements),
	CALL(IPC_OPEN, import_ipc_open),
	RELEASE(IPC_CLOSE, import_ipc_close, import_ipc_close_undo),
	CALL(EXT_IMPORT, import_external),
	CALL(EXT_MAP, import_external_map),
	RELEASE(EXT_DESTROY, import_external_destroy, alloc_release_undo),
	CALL(GRAPH_ALLOC_NODE, graph_alloc_node),
	CALL(GRAPH_FREE_NODE, graph_free_node),
	CALL(GRAPH_NODE, graph_node),
	CALL(CAPTURE_BEGIN, context_capture_begin),
	[GMT_OP_CAPTURE_END] = { context_capture_end, NULL, true }, /* over, even if it failed */
	CALL(CTX_CREATE, context_create),
	CALL(CTX_DESTROY, context_destroy),
	CALL(CTX_SET, context_set),
	CALL(CTX_PUSH, context_push),
	CALL(CTX_POP, context_pop),
	CALL(PRIMARY_RETAIN, context_primary_retain),
	CALL(PRIMARY_RELEASE, context_primary_release),
	CALL(PRIMARY_RESET, context_primary_reset),
	CALL(GREEN_CREATE, context_green_create),
	CALL(GREEN_DESTROY, context_green_destroy),
	CALL(GREEN_CTX, context_from_green),
	CALL(STREAM_CREATE, context_stream_create),
	RELEASE(STREAM_DESTROY, context_stream_destroy, context_stream_destroy_undo),
	CALL(GREEN_STREAM, context_green_stream),
	CALL(DEVICE_UUID, context_device_uuid),
#undef RELEASE
#undef ALLOC
#undef CALL
};

static void undo_operation(struct event *e, const struct operation *operation)
{
	struct undo *u = undo_find(e);

	if (!u) {
		e->proc->anomalies[GMT_ANOMALY_UNDO_UNKNOWN]++;
		return;
	}
	u->valid = false;
	operation->undo(e, u);
}

static bool is_call_well_formed(const struct gmt_call *call, const struct gmt_probe *probe, size_t count)
{
	bool is_release = probe->flags & GMT_API_RELEASE;

	return count <= gmt_ops[probe->op].count && (call->phase == GMT_PHASE_DONE) == !is_release;
}

/* A context takes memory, too, and nobody says how much: a request of no class and no size. */
static struct delta_ask ask_for_context(const struct event *e)
{
	bool has_device = e->call->hdr.size >= sizeof(*e->call) + 2 * sizeof(e->call->vals[0]);
	unsigned int ordinal = has_device ? context_ordinal_of(e->val[1]) : ORDINAL_NONE;
	int gpu = process_gpu(e->proc, 0, NULL, ordinal);
	/* A row of a GPU on which nothing was asked for in vain is nothing to show. */
	unsigned int row = e->call->rc ? account_row(&e->proc->account, gpu) : account_find_row(&e->proc->account, gpu);

	return (struct delta_ask){ true, row, GMT_OOM_CLASS_NONE, ordinal, 0 };
}

/* What the call asked for, if its arguments have not said so. */
static void complete_ask(struct event *e)
{
	if (gmt_op_makes_context(e->op))
		e->ask = ask_for_context(e);
	else if (e->call->rc == GMT_CUDA_OUT_OF_MEMORY && !e->ask.made)
		e->ask = (struct delta_ask){
			true, process_row(e->proc, 0, e->call, ORDINAL_NONE), GMT_OOM_CLASS_NONE, ORDINAL_NONE, 0,
		};
}

static void give_call(struct event *e)
{
	if (!(e->proc->out->wanted & DELTA_BIT(DELTA_CALL)))
		return;
	complete_ask(e);
	deltas_give(e->proc->out, &(struct delta){
		.kind = DELTA_CALL, .tid = e->call->hdr.tid, .p = e->proc, .ts_ns = e->ts_ns,
		.call = { .rec = e->call, .op = e->op, .ask = e->ask },
	});
}

static void apply_operation(struct event *e, const struct operation *operation)
{
	e->thread = process_thread(e->proc, e->call->hdr.tid);
	if (e->call->phase == GMT_PHASE_UNDO)
		undo_operation(e, operation);
	else if (!e->call->rc || operation->counts_failures)
		operation->apply(e);
}

int calls_apply(struct process *p, const struct gmt_hdr *hdr)
{
	const struct gmt_call *call = (const void *)hdr;
	size_t count = (hdr->size - sizeof(*call)) / sizeof(call->vals[0]);

	if (!gmt_api_symbol(call->api) || call->phase > GMT_PHASE_UNDO)
		return -ENOENT;
	const struct gmt_probe *probe = &gmt_probes[call->api];
	const struct operation *operation = &operations[probe->op];

	if (!is_call_well_formed(call, probe, count))
		return -EINVAL;
	struct event e = { .proc = p, .call = call, .op = probe->op, .ts_ns = hdr->ts_ns };

	for (size_t i = 0; i < count; i++)
		e.val[i] = call->vals[i];
	if (operation->apply)
		apply_operation(&e, operation);
	give_call(&e);
	return 0;
}
