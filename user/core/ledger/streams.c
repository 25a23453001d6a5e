// SPDX-License-Identifier: BSD-2-Clause
#include "core/ledger/streams.h"

#include "core/ledger/ended.h"
#include "core/ledger/graph.h"
#include "core/ledger/operations.h"
#include "core/ledger/process.h"

bool streams_end(struct process *p, uint64_t handle, struct stream_ended *gone, uint64_t ts_ns)
{
	*gone = (struct stream_ended){ 0 };
	if (!hash_take(&p->contexts.streams, handle, &gone->stream))
		return false;
	if (!gone->stream.capturing)
		return true;
	p->contexts.capturing--;
	gone->has_dropped = graph_drop_capture(p, handle, 0, &gone->capture, ts_ns);
	return true;
}

void streams_put_back(struct process *p, uint64_t handle, const struct stream_ended *gone)
{
	bool is_new;
	struct stream *s = hash_put(&p->contexts.streams, handle, &is_new);

	p->anomalies[GMT_ANOMALY_UNDO_UNKNOWN] += gone->has_dropped;
	if (!is_new)
		return; /* the handle is another stream's by now */
	*s = gone->stream;
	if (!s->capturing)
		return;
	p->contexts.capturing++;
	*(struct capture *)hash_put(&p->graphs.captures, handle, NULL) =
		gone->has_dropped ? (struct capture){ 0 } : gone->capture;
}

bool streams_end_own(struct process *p, struct thread *t, uint32_t tid, uint64_t ts_ns)
{
	struct capture capture;

	t->capturing = false;
	p->contexts.capturing--;
	return graph_drop_capture(p, STREAM_PER_THREAD, tid, &capture, ts_ns);
}

/* ---- operations ---- */

static void set_stream(struct event *e, unsigned int context)
{
	struct stream_ended old; /* its end was missed */

	if (!e->val[0])
		return;
	streams_end(e->proc, e->val[0], &old, e->ts_ns);
	*(struct stream *)hash_put(&e->proc->contexts.streams, e->val[0], NULL) = (struct stream){ .context = context };
}

static void stream_create(struct event *e)
{
	set_stream(e, context_current(e));
}

static void stream_create_green(struct event *e)
{
	set_stream(e, contexts_find(&e->proc->contexts, e->val[1]));
}

static void stream_destroy(struct event *e)
{
	struct undo *u = undo_push(e, e->val[0]);

	u->found = streams_end(e->proc, e->val[0], &u->stream, e->ts_ns);
	u->was_ended = !u->found && ended_free(e, &e->proc->contexts.streams, e->val[0]);
}

static void stream_destroy_undo(struct event *e, struct undo *u)
{
	if (u->found)
		streams_put_back(e->proc, u->key, &u->stream);
	else if (u->was_ended)
		ended_free_undo(e, &e->proc->contexts.streams, u->key);
}

const struct operation stream_operations[GMT_OP_COUNT] = {
	[GMT_OP_STREAM_CREATE] = OPERATION_CALL(stream_create),
	[GMT_OP_STREAM_DESTROY] = OPERATION_RELEASE(stream_destroy, stream_destroy_undo),
	[GMT_OP_GREEN_STREAM] = OPERATION_CALL(stream_create_green),
};
