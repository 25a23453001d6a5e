/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/oom/oom_requests.h"

#include <stdlib.h>

#include "base/xalloc.h"
#include "core/ledger/process.h"
#include "core/oom/oom_kept.h"
#include "core/oom/oom_watch.h"
#include "core/terms/probes.h"

#define FATAL_DOUBT_NS 1000000000ULL /* after so long, another thread's success shows that the process goes on */
#define REPEAT_NS 1000000ULL        /* longer than the time between a report and its repetition */

struct ooms *ooms_new(const struct ledger *ledger, const struct frameworks *frameworks, struct deltas *out)
{
	struct ooms *o = xcalloc(1, sizeof(*o));

	o->ledger = ledger;
	o->frameworks = frameworks;
	o->out = out;
	o->pictures = OOM_PICTURES;
	hash_init(&o->threads, sizeof(struct oom_thread));
	hash_init(&o->counts, sizeof(struct oom_counts));
	return o;
}

struct oom_counts ooms_counts(const struct ooms *o, const struct process *p)
{
	const struct oom_counts *counts = o ? hash_get(&o->counts, p->index) : NULL;

	return counts ? *counts : (struct oom_counts){ 0 };
}

void ooms_finish(struct ooms *o)
{
	if (o->reading)
		ooms_push(o, o->reading);
	o->reading = NULL;
	while (o->count)
		oom_watch_end(o, &o->watches[0]);
	oom_set_due(o);
}

void ooms_free(struct ooms *o)
{
	if (!o)
		return;
	while (o->count)
		oom_watch_forget(o, &o->watches[0]);
	for (size_t i = 0; i < o->queued; i++)
		oom_free(o->queue[i]);
	oom_free(o->reading);
	ooms_free_kept(o);
	free(o->watches);
	hash_fini(&o->threads);
	hash_fini(&o->counts);
	free(o);
}

/* ---- tries ---- */

/* The request is a call without a size: memory that the thread gets later is for something else. */
static bool is_unsaid(const struct gmt_oom *rec)
{
	return rec->class_id == GMT_OOM_CLASS_NONE && rec->api && !gmt_op_makes_context(gmt_probes[rec->api].op);
}

static bool is_same_place(const struct oom_watch *w, const struct delta_ask *ask)
{
	/* Row 0 is that of the unknown GPU. */
	return w->oom->rec.class_id == ask->class && (w->row == ask->row || !w->row || !ask->row);
}

/* The call is the next try of the same request. A request of pieces may have got more this time. Calls without a size
 * must be the same function: cuFFT loads four modules, from four places, before it gives up. */
static bool is_next_try(const struct oom_watch *w, const struct delta_ask *ask, const struct gmt_call *call)
{
	if (!oom_watch_is_open(w) || !is_same_place(w, ask) ||
	    (is_unsaid(&w->oom->rec) && w->oom->rec.api != call->api))
		return false;
	return ask->class == GMT_CLASS_VMM || ask->bytes <= w->oom->rec.failed_bytes;
}

static void note_failure(struct ooms *o, const struct delta *d)
{
	const struct gmt_call *call = d->call.rec;
	struct oom_thread *t = oom_thread_of(o, d->p, d->tid);
	struct delta_ask ask = oom_ask_of_call(t, &d->call, d->ts_ns);
	struct oom_watch *w = oom_watch_find(o, d->p, d->tid);
	const struct oom_refusal *refused = oom_refused_in(t, call);
	struct gmt_oom *rec;

	w = oom_watch_try(o, w, w && is_next_try(w, &ask, call), d, ask.row);
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
	w->ordinal = ask.ordinal;
	oom_forget_run(t);
	oom_watch_failed(o, w, d, ask.bytes);
}

/* The thread got memory. */
static void note_memory(struct ooms *o, struct oom_watch *w, const struct delta_ask *ask,
			const struct gmt_call *call)
{
	struct gmt_oom *rec = &w->oom->rec;
	bool is_alike = call->stack_id && call->stack_id == rec->stack_id;
	uint64_t live = oom_row_live(w->p, w->row);

	if (!oom_watch_is_open(w)) {
		oom_watch_forget(o, w);     /* raised, and survived */
		return;
	}
	if (is_unsaid(rec)) {
		oom_watch_decide(o, w, GMT_OOM_RAISED, GMT_OOM_BY_WENT_ON, call->hdr.ts_ns);
		return;
	}
	if (!is_same_place(w, ask))
		return;
	rec->given_bytes = ask->bytes;
	live = live > ask->bytes ? live - ask->bytes : 0;
	if (w->live_at_first > live && w->live_at_first - live > rec->freed_bytes)
		rec->freed_bytes = w->live_at_first - live;
	/* XLA takes a tenth off at each try; cuDNN's search halves the size. */
	if (ask->bytes >= rec->failed_bytes || ask->bytes / 17 >= rec->failed_bytes / 20 ||
	    (is_alike && ask->bytes >= rec->failed_bytes / 2)) {
		bool is_all = ask->bytes >= rec->asked_bytes;   /* no less than failed_bytes */

		oom_watch_decide(o, w, GMT_OOM_RETRY, is_all ? GMT_OOM_BY_GIVEN : GMT_OOM_BY_SMALLER, call->hdr.ts_ns);
	} else {
		rec->given_bytes = 0;
		oom_watch_leave(o, w, call->hdr.ts_ns);
	}
}

/* ---- deltas ---- */

/* If the process goes on for so long, the errors that other threads raised do not end the process. */
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

/* Creating a handle is no success yet: the request has succeeded when the run of handles is mapped. */
static struct delta_ask ask_of_success(struct ooms *o, const struct delta *d)
{
	struct delta_ask ask = d->call.ask;
	struct oom_thread *t;

	if (d->call.op == GMT_OP_VMM_CREATE && ask.class == GMT_CLASS_VMM) {
		oom_handle_created(oom_thread_of(o, d->p, d->tid), ask.bytes, d->ts_ns);
		ask.made = false;
	} else if (d->call.op == GMT_OP_VMM_MAP) {
		t = oom_thread_of(o, d->p, d->tid);
		ask = (struct delta_ask){ t->created_bytes != 0, 0, GMT_CLASS_VMM, ORDINAL_NONE, t->created_bytes };
		oom_forget_run(t);
	}
	return ask;
}

static void note_success(struct ooms *o, const struct delta *d)
{
	const struct gmt_call *call = d->call.rec;
	struct delta_ask ask = ask_of_success(o, d);
	struct oom_watch *w;

	if (!o->count)
		return;
	if (ask.made)
		goes_on(o, d->p, d->ts_ns);
	w = oom_watch_find(o, d->p, d->tid);
	if (!w)
		return;
	if (d->call.op == GMT_OP_MEM_INFO && oom_watch_is_open(w) &&
	    call->hdr.size >= sizeof(*call) + sizeof(call->vals[0])) {
		w->oom->rec.free_bytes = call->vals[0];
		w->oom->rec.flags |= GMT_OOM_HAS_FREE;
	}
	w->active_ns = d->ts_ns;
	if (ask.made)
		note_memory(o, w, &ask, call);
}

static void watch_call(struct ooms *o, const struct delta *d)
{
	const struct gmt_call *call = d->call.rec;
	enum gmt_op op = d->call.op;

	if (o->count)
		ooms_left(o, d->p, d->tid, d->ts_ns);
	if (call->rc == GMT_CUDA_OUT_OF_MEMORY && call->phase == GMT_PHASE_DONE)
		note_failure(o, d);
	else if (!call->rc && (o->count || op == GMT_OP_VMM_CREATE || op == GMT_OP_VMM_MAP))
		note_success(o, d);
}

static void watch_block(struct ooms *o, const struct delta *d)
{
	struct oom_watch *w;

	if (!o->count)
		return;
	ooms_left(o, d->p, d->tid, d->ts_ns);
	if (d->kind != DELTA_BLOCK_ALLOC)
		return;
	goes_on(o, d->p, d->ts_ns);
	w = oom_watch_find(o, d->p, d->tid);
	/* While the driver's call is under way, a block of cached memory is no sign. */
	if (w && (w->oom->rec.sign == GMT_OOM_BY_REPORTED || w->oom->rec.sign == GMT_OOM_BY_RETURN ||
		  is_unsaid(&w->oom->rec)))
		oom_watch_leave(o, w, d->ts_ns);
}

/* A file may be probed twice (through overlayfs, and below it): then the same report comes again. A call that failed
 * since then is another request: cuDNN asks for the same size again at once, for its next algorithm. */
static bool is_repeated_report(const struct oom_watch *w, const struct gmt_fw_oom *rec)
{
	const struct gmt_oom *said = &w->oom->rec;

	return said->decided_ns && said->sign == GMT_OOM_BY_REPORTED && said->framework_bytes == rec->size &&
	       rec->hdr.ts_ns - said->decided_ns < REPEAT_NS;
}

static void watch_report(struct ooms *o, const struct delta *d)
{
	const struct gmt_fw_oom *rec = (const void *)d->framework.rec;
	struct oom_watch *w;

	ooms_left(o, d->p, d->tid, d->ts_ns);
	w = oom_watch_find(o, d->p, d->tid);
	if (w && is_repeated_report(w, rec))
		return;
	w = oom_watch_try(o, w, w && oom_watch_is_open(w), d, d->framework.row);
	if (!w)
		return;
	if (!w->oom->rec.failures) {
		w->oom->rec.asked_bytes = w->oom->rec.failed_bytes = rec->size;
		w->oom->rec.stack_id = rec->stack_id;
		oom_watch_picture(o, w, d);
	}
	w->oom->rec.framework_bytes = rec->size;
	if (!w->oom->rec.stack_id)
		w->oom->rec.stack_id = rec->stack_id;
	w->ordinal = rec->device_type == GMT_FW_GPU ? rec->device_index : ORDINAL_NONE;
	oom_watch_decide(o, w, GMT_OOM_RAISED, GMT_OOM_BY_REPORTED, d->ts_ns);
	oom_watch_reported(o, w, d->ts_ns);
}

/* An exec ends the program that asked, too. */
static void watch_end(struct ooms *o, const struct delta *d)
{
	int exit_code = d->kind == DELTA_EXIT ? d->exit.code : 0;

	if (d->kind == DELTA_EXIT && !d->exit.is_seen)
		return;
	for (size_t i = 0; i < o->count;) {
		struct oom_watch *w = &o->watches[i];
		struct gmt_oom *rec = &w->oom->rec;

		if (w->p != d->p) {
			i++;
			continue;
		}
		rec->flags |= GMT_OOM_EXITED;
		rec->exit_code = exit_code;
		rec->exit_ns = d->ts_ns;
		if (exit_code)
			oom_watch_decide(o, w, GMT_OOM_FATAL, GMT_OOM_BY_EXIT, d->ts_ns);
		else if (rec->outcome == GMT_OOM_OPEN)
			oom_watch_decide(o, w, GMT_OOM_RAISED, GMT_OOM_BY_EXIT, d->ts_ns);
		else
			oom_watch_forget(o, w);
	}
}

static void watch_time(struct ooms *o, const struct delta *d)
{
	for (size_t i = 0; i < o->count;) {
		struct oom_watch *w = &o->watches[i];

		if (d->ts_ns < oom_watch_due(w))
			i++;
		else if (w->oom->rec.decided_ns)
			oom_watch_forget(o, w);
		else
			oom_watch_decide(o, w, GMT_OOM_RAISED, GMT_OOM_BY_SILENCE, d->ts_ns);
	}
}

static bool is_watched(const struct ooms *o, const struct process *p)
{
	for (size_t i = 0; i < o->count; i++)
		if (o->watches[i].p == p)
			return true;
	return false;
}

/* Forgets one of the process's threads. False: no thread is left. */
static bool forget_thread(struct ooms *o, const struct process *p)
{
	size_t pos = 0;
	uint64_t tid;
	void *value;

	while (hash_next(&o->threads, &pos, &tid, &value))
		if (((struct oom_thread *)value)->p == p)
			return hash_erase(&o->threads, tid);
	return false;
}

static void drop_threads_of(struct ooms *o, const struct delta *d)
{
	struct oom_counts counts;

	if (!d->forget.sum) {
		*d->forget.is_needed |= is_watched(o, d->p);
		return;
	}
	while (forget_thread(o, d->p))
		;
	ooms_drop_kept(o, d->p->index);
	if (!hash_take(&o->counts, d->p->index, &counts))
		return;
	for (int i = 0; i < GMT_OOM_OUTCOME_COUNT; i++)
		d->forget.sum->ooms[i] += counts.of[i];
}

static void watch_dump(struct ooms *o, const struct delta *d)
{
	if (d->dump.rec->kind == GMT_KIND_OOM)
		ooms_finish(o);
	*d->dump.error = ooms_read(o, d->dump.rec);
}

static void (*const watchers[DELTA_COUNT])(struct ooms *o, const struct delta *d) = {
	[DELTA_CALL] = watch_call,
	[DELTA_DRIVER_ALLOC] = ooms_driver,
	[DELTA_REPORT] = watch_report,
	[DELTA_BLOCK_ALLOC] = watch_block,
	[DELTA_BLOCK_FREE] = watch_block,
	[DELTA_EXEC] = watch_end,
	[DELTA_EXIT] = watch_end,
	[DELTA_FORGET] = drop_threads_of,
	[DELTA_TIME] = watch_time,
	[DELTA_DUMP] = watch_dump,
};

void ooms_see(void *ooms, const struct delta *d)
{
	struct ooms *o = ooms;
	bool was_watching = o->count;

	watchers[d->kind](o, d);
	if (was_watching || o->count)
		oom_set_due(o);
}
