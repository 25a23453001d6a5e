/* SPDX-License-Identifier: BSD-2-Clause */
/* Applies records of calls: finds the operation of each call, and the function that applies the operation. */
#include <errno.h>

#include "base/count.h"
#include "core/ledger/checkpoint.h"
#include "core/ledger/ended.h"
#include "core/ledger/handlers.h"
#include "core/ledger/operations.h"
#include "core/ledger/process.h"
#include "core/terms/probes.h"

static const struct operation *const tables[] = {
#define X(table) table,
	OPERATION_TABLES(X)
#undef X
};

/* NULL: the operation changes nothing. Such a call only names what runs inside the call, or says what the kernel layer
 * knows better (reserved bytes of pools and graphs). */
static const struct operation *operation_of(enum gmt_op op)
{
	for (size_t i = 0; i < COUNT(tables); i++)
		if (tables[i][op].apply)
			return &tables[i][op];
	return NULL;
}

/* A release that was not seen, or that was too long ago, cannot be taken back. The newest release with the call's
 * number is the one: an older release may be from a thread that has ended and had the same thread number. */
static void undo_operation(struct event *e, const struct operation *operation)
{
	for (unsigned int i = 1; i <= THREAD_UNDOS; i++) {
		struct undo *u = &e->thread->undos[(e->thread->next_undo - i) % THREAD_UNDOS];

		if (u->valid && u->seq == e->call->seq && u->op == e->op) {
			u->valid = false;
			operation->undo(e, u);
			return;
		}
	}
	e->proc->anomalies[GMT_ANOMALY_UNDO_UNKNOWN]++;
}

static bool is_call_well_formed(const struct gmt_call *call, const struct gmt_probe *probe,
				const struct operation *operation, size_t count)
{
	bool is_release = probe->flags & GMT_API_RELEASE, is_done = call->phase == GMT_PHASE_DONE;

	if (count > gmt_ops[probe->op].count)
		return false;
	return is_done == !is_release || (is_done && operation && operation->was_call);
}

/* A context takes memory, too, but no argument says how much. So the request has no class and no size. */
static struct delta_ask ask_for_context(const struct event *e)
{
	bool has_device = e->call->hdr.size >= sizeof(*e->call) + 2 * sizeof(e->call->vals[0]);
	unsigned int ordinal = has_device ? context_ordinal_of(e->val[1]) : ORDINAL_NONE;
	int gpu = process_gpu(e->proc, 0, NULL, ordinal);
	/* A GPU without a failed request gets no row. */
	unsigned int row = e->call->rc ? account_row(&e->proc->account, gpu) : account_find_row(&e->proc->account, gpu);

	return (struct delta_ask){ true, row, GMT_OOM_CLASS_NONE, ordinal, 0 };
}

/* Completes the call's request where the arguments do not say what the call asked for. */
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
	else if (!e->call->rc || operation->is_for_failures)
		operation->apply(e);
	if (e->thread->keeps)
		ended_settle(e->thread);
}

int calls_apply(struct process *p, const struct gmt_hdr *hdr)
{
	const struct gmt_call *call = (const void *)hdr;
	size_t count = (hdr->size - sizeof(*call)) / sizeof(call->vals[0]);

	if (!gmt_api_symbol(call->api) || call->phase > GMT_PHASE_UNDO)
		return -ENOENT;
	const struct gmt_probe *probe = &gmt_probes[call->api];
	const struct operation *operation = operation_of(probe->op);

	if (!is_call_well_formed(call, probe, operation, count))
		return -EINVAL;
	if (p->checkpoint && call->phase != GMT_PHASE_ENTER)
		checkpoint_call_returned(&p->checkpoint);
	struct event e = { .proc = p, .call = call, .op = probe->op, .ts_ns = hdr->ts_ns,
			   .unread = call->unread & ~GMT_CALL_CONTEXT_LOST };

	if (call->unread & GMT_CALL_CONTEXT_LOST)
		process_thread(p, hdr->tid)->depth = 0; /* unknown is better than wrong */
	for (size_t i = 0; i < count; i++)
		e.val[i] = call->vals[i];
	if (operation)
		apply_operation(&e, operation);
	give_call(&e);
	return 0;
}
