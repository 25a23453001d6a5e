/* SPDX-License-Identifier: BSD-2-Clause */
/* See oom_requests.h. */
#include "core/oom/oom_requests.h"

#include "core/ledger/ledger_state.h"
#include "core/oom/oom_ask.h"
#include "core/oom/oom_watch.h"
#include "core/terms/probes.h"

#define FATAL_DOUBT_NS 1000000000ULL /* after that, another thread's success says that the process goes on */

const struct gmt_oom *ooms_request(const struct ledger *l, const struct process *p, uint32_t tid)
{
	const struct oom_watch *w = oom_watch_find(&l->ooms, p, tid);

	return w ? &w->oom->rec : NULL;
}

/* ---- tries ---- */

static bool makes_context(unsigned int api)
{
	return gmt_probes[api].op == GMT_OP_CTX_CREATE || gmt_probes[api].op == GMT_OP_PRIMARY_RETAIN;
}

/* Of a call that does not say what it takes: what the thread gets later is for something else. */
static bool is_unsaid(const struct gmt_oom *rec)
{
	return rec->class_id == GMT_OOM_CLASS_NONE && rec->api && !makes_context(rec->api);
}

static bool is_same_place(const struct oom_watch *w, const struct process_ask *ask)
{
	/* Row 0 is that of the unknown GPU. */
	return w->oom->rec.class_id == ask->class && (w->row == ask->row || !w->row || !ask->row);
}

/* The next try of the same request: of pieces it may have got more this time. cuFFT loads four modules before it gives
 * up, from as many places: of calls that do not say how much they take it must be the same one. */
static bool is_next_try(const struct oom_watch *w, const struct process_ask *ask, const struct gmt_call *call)
{
	if (!oom_watch_is_open(w) || !is_same_place(w, ask) ||
	    (is_unsaid(&w->oom->rec) && w->oom->rec.api != call->api))
		return false;
	return ask->class == GMT_CLASS_VMM || ask->bytes <= w->oom->rec.failed_bytes;
}

static void note_failure(struct ledger *l, struct process *p, const struct gmt_call *call)
{
	struct thread *t = process_thread(p, call->hdr.tid);
	struct process_ask ask = oom_ask_with_run(p, t, call->hdr.ts_ns);
	struct oom_watch *w = oom_watch_find(&l->ooms, p, call->hdr.tid);
	const struct refusal *refused = oom_refused_in(p, call);
	struct gmt_oom *rec;

	w = oom_watch_try(l, w && is_next_try(w, &ask, call), p, &call->hdr, ask.row);
	if (!w)
		return;
	rec = &w->oom->rec;
	if (!rec->failures) {
		rec->api = call->api;
		rec->class_id = ask.class;
		rec->stack_id = call->stack_id || !refused ? call->stack_id : refused->stack_id;
	}
	if (ask.bytes > rec->asked_bytes) {
		rec->asked_bytes = ask.bytes;
		rec->pieces = ask.class == GMT_CLASS_VMM ? t->created_count : 0;
	}
	if (refused)
		rec->flags |= GMT_OOM_NO_ROOM;
	t->created_bytes = t->created_count = 0;
	oom_watch_failed(l, w, &call->hdr, ask.bytes);
}

/* The thread got memory. */
static void note_memory(struct ledger *l, struct oom_watch *w, const struct process_ask *ask,
			const struct gmt_call *call)
{
	struct gmt_oom *rec = &w->oom->rec;
	bool is_alike = call->stack_id && call->stack_id == rec->stack_id;
	uint64_t live = oom_row_live(w->p, w->row);

	if (!oom_watch_is_open(w)) {
		oom_watch_forget(&l->ooms, w);     /* raised, and survived */
		return;
	}
	if (is_unsaid(rec)) {
		oom_watch_decide(l, w, GMT_OOM_RAISED, GMT_OOM_BY_WENT_ON, call->hdr.ts_ns);
		return;
	}
	if (!is_same_place(w, ask))
		return;
	rec->given_bytes = ask->bytes;
	live = live > ask->bytes ? live - ask->bytes : 0;
	if (w->live_at_first > live && w->live_at_first - live > rec->freed_bytes)
		rec->freed_bytes = w->live_at_first - live;
	/* XLA takes a tenth off each time, cuDNN's search halves. */
	if (ask->bytes >= rec->failed_bytes) {
		bool is_all = ask->bytes >= rec->asked_bytes;

		oom_watch_decide(l, w, GMT_OOM_RETRY, is_all ? GMT_OOM_BY_GIVEN : GMT_OOM_BY_SMALLER, call->hdr.ts_ns);
	} else if (ask->bytes / 17 >= rec->failed_bytes / 20 || (is_alike && ask->bytes >= rec->failed_bytes / 2)) {
		oom_watch_decide(l, w, GMT_OOM_RETRY, GMT_OOM_BY_SMALLER, call->hdr.ts_ns);
	} else {
		rec->given_bytes = 0;
		oom_watch_leave(l, w, call->hdr.ts_ns);
	}
}

/* ---- what the ledger sees ---- */

/* Others of the process that have raised an error do not end it, if it goes on for so long. */
static void goes_on(struct ooms *o, const struct process *p, uint64_t now_ns)
{
	for (size_t i = 0; i < o->count; i++) {
		struct oom_watch *w = &o->watches[i];
		uint64_t since_ns = w->oom->rec.decided_ns;

		if (w->p == p && since_ns && w->oom->rec.sign != GMT_OOM_BY_SILENCE &&
		    now_ns - since_ns > FATAL_DOUBT_NS) {
			oom_watch_forget(o, w);
			i--;
		}
	}
}

static void note_success(struct ledger *l, struct process *p, const struct gmt_call *call, enum gmt_op op)
{
	struct process_ask ask = p->ask;
	struct thread *t = NULL;
	struct oom_watch *w;

	/* Handles alone are nothing: they have been given when they are mapped. */
	if (op == GMT_OP_VMM_CREATE && ask.class == GMT_CLASS_VMM) {
		oom_handle_created(process_thread(p, call->hdr.tid), call, ask.bytes);
		ask.made = false;
	} else if (op == GMT_OP_VMM_MAP) {
		t = process_thread(p, call->hdr.tid);
		ask = (struct process_ask){ t->created_bytes != 0, 0, GMT_CLASS_VMM, t->created_bytes };
		t->created_bytes = t->created_count = 0;
	}
	if (!l->ooms.count)
		return;
	if (ask.made)
		goes_on(&l->ooms, p, call->hdr.ts_ns);
	w = oom_watch_find(&l->ooms, p, call->hdr.tid);
	if (!w)
		return;
	if (op == GMT_OP_MEM_INFO && oom_watch_is_open(w) && call->hdr.size >= sizeof(*call) + sizeof(call->vals[0])) {
		w->oom->rec.free_bytes = call->vals[0];
		w->oom->rec.flags |= GMT_OOM_HAS_FREE;
	}
	w->active_ns = call->hdr.ts_ns;
	if (ask.made)
		note_memory(l, w, &ask, call);
	oom_set_due(&l->ooms);
}

void ooms_call(struct ledger *l, struct process *p, const struct gmt_call *call)
{
	enum gmt_op op = gmt_probes[call->api].op;

	if (l->ooms.count)
		ooms_left(l, p, call->hdr.tid, call->hdr.ts_ns);
	if (makes_context(call->api) && (call->rc || l->ooms.count))
		p->ask = oom_ask_of_context(p, call);
	else if (call->rc == GMT_CUDA_OUT_OF_MEMORY && !p->ask.made)
		p->ask = oom_ask_of_call(p, call);
	if (call->rc == GMT_CUDA_OUT_OF_MEMORY && call->phase == GMT_PHASE_DONE)
		note_failure(l, p, call);
	else if (!call->rc && (l->ooms.count || op == GMT_OP_VMM_CREATE || op == GMT_OP_VMM_MAP))
		note_success(l, p, call, op);
}

/* Whether the process survives the error is all that is left to be told. */
static bool is_told(const struct oom_watch *w)
{
	return w->oom->rec.sign == GMT_OOM_BY_REPORTED || w->oom->rec.sign == GMT_OOM_BY_RETURN;
}

void ooms_block(struct ledger *l, struct process *p, const struct gmt_fw_mem *rec)
{
	struct oom_watch *w;

	ooms_left(l, p, rec->hdr.tid, rec->hdr.ts_ns);
	if (rec->delta <= 0)
		return;
	goes_on(&l->ooms, p, rec->hdr.ts_ns);
	w = oom_watch_find(&l->ooms, p, rec->hdr.tid);
	/* A block of what is cached says nothing about an allocation that is under way. */
	if (w && (is_told(w) || is_unsaid(&w->oom->rec)))
		oom_watch_leave(l, w, rec->hdr.ts_ns);
	oom_set_due(&l->ooms);
}

/* The file is probed twice (through overlayfs, and below it): the same report once more. */
static bool is_repeated_report(const struct oom_watch *w, const struct gmt_fw_oom *rec)
{
	return w->oom->rec.sign == GMT_OOM_BY_REPORTED && w->oom->rec.framework_bytes == rec->size &&
	       rec->hdr.ts_ns - w->oom->rec.decided_ns < 1000000;
}

int ooms_reported(struct ledger *l, struct process *p, const struct gmt_fw_oom *rec)
{
	struct oom_watch *w;

	if (rec->device_type != GMT_C10_CUDA || !l->ooms.wanted)
		return 0;
	ooms_left(l, p, rec->hdr.tid, rec->hdr.ts_ns);
	w = oom_watch_find(&l->ooms, p, rec->hdr.tid);
	if (w && is_repeated_report(w, rec))
		return 0;
	w = oom_watch_try(l, w && oom_watch_is_open(w), p, &rec->hdr, process_row(p, 0, NULL, rec->device_index));
	if (!w)
		return 0;
	if (!w->oom->rec.failures) {
		w->oom->rec.asked_bytes = w->oom->rec.failed_bytes = rec->size;
		w->oom->rec.stack_id = rec->stack_id;
		oom_watch_picture(l, w, &rec->hdr);
	}
	w->oom->rec.framework_bytes = rec->size;
	if (!w->oom->rec.stack_id)
		w->oom->rec.stack_id = rec->stack_id;
	oom_watch_decide(l, w, GMT_OOM_RAISED, GMT_OOM_BY_REPORTED, rec->hdr.ts_ns);
	return 0;
}

void ooms_exit(struct ledger *l, struct process *p, const struct gmt_hdr *hdr, int exit_code)
{
	for (size_t i = 0; i < l->ooms.count;) {
		struct oom_watch *w = &l->ooms.watches[i];
		struct gmt_oom *rec = &w->oom->rec;

		if (w->p != p) {
			i++;
			continue;
		}
		rec->flags |= GMT_OOM_EXITED;
		rec->exit_code = exit_code;
		rec->exit_ns = hdr->ts_ns;
		if (exit_code)
			oom_watch_decide(l, w, GMT_OOM_FATAL, GMT_OOM_BY_EXIT, hdr->ts_ns);
		else if (rec->outcome == GMT_OOM_OPEN)
			oom_watch_decide(l, w, GMT_OOM_RAISED, GMT_OOM_BY_EXIT, hdr->ts_ns);
		else
			oom_watch_forget(&l->ooms, w);
	}
	oom_set_due(&l->ooms);
}

void ooms_time(struct ledger *l, uint64_t now_ns)
{
	struct ooms *o = &l->ooms;

	for (size_t i = 0; i < o->count;) {
		struct oom_watch *w = &o->watches[i];

		if (now_ns < oom_watch_due(w))
			i++;
		else if (w->oom->rec.decided_ns)
			oom_watch_forget(o, w);
		else
			oom_watch_decide(l, w, GMT_OOM_RAISED, GMT_OOM_BY_SILENCE, now_ns);
	}
	oom_set_due(o);
}
