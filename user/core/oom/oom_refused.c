/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory that the kernel driver refused outside of all probed calls, above all in a launch that loads its kernel or
 * needs local memory. No record says what such a call returned; oom_requests.h has the signs.
 *
 * Measured on an H100, driver 580.159.04: libcuda asks twice, 35 to 160 us apart and with the same stack, and then
 * returns CUDA_ERROR_OUT_OF_MEMORY. No launch that was refused memory succeeded (tests/gpu/run.sh oom-launch).
 */
#include "core/ledger/process.h"
#include "core/oom/oom_watch.h"

#define AGAIN_NS 2000000ULL        /* longer than the time between the tries of one call */

static bool is_open(const struct oom_watch *w)
{
	return w && w->oom->rec.flags & GMT_OOM_REFUSED && w->oom->rec.outcome == GMT_OOM_OPEN;
}

/* The refusal has the stack of the first refusal, or comes so soon after the last that one call made both. */
static bool is_alike(const struct oom_watch *w, const struct gmt_rm_alloc *rec)
{
	const struct gmt_oom *first = &w->oom->rec;

	return (rec->cause.stack_id && rec->cause.stack_id == first->stack_id) ||
	       rec->hdr.ts_ns - first->last_ns < AGAIN_NS;
}

static bool is_next_refusal(const struct oom_watch *w, const struct gmt_rm_alloc *rec)
{
	return is_open(w) && rec->size == w->oom->rec.failed_bytes && is_alike(w, rec);
}

static void note_refused(struct ooms *o, const struct delta *d)
{
	const struct gmt_rm_alloc *rec = d->driver.rec;
	struct oom_watch *w;

	oom_note_refusal(oom_thread_of(o, d->p, d->tid), &d->driver);
	/* The record of a probed call says what came of the refusal. */
	if (rec->cause.api)
		return;
	w = oom_watch_find(o, d->p, d->tid);
	w = oom_watch_try(o, w, is_next_refusal(w, rec), d, d->driver.row);
	if (!w)
		return;
	if (!w->oom->rec.failures) {
		w->oom->rec.flags |= GMT_OOM_REFUSED | GMT_OOM_NO_ROOM;
		w->oom->rec.asked_bytes = rec->size;
		w->oom->rec.stack_id = rec->cause.stack_id;
	}
	oom_watch_failed(o, w, d, rec->size);
}

static void note_given(struct ooms *o, const struct delta *d)
{
	const struct gmt_rm_alloc *rec = d->driver.rec;
	struct oom_watch *w = oom_watch_find(o, d->p, d->tid);
	bool is_enough;

	if (!is_open(w) || rec->cause.api)
		return;
	is_enough = rec->size >= w->oom->rec.failed_bytes;
	if (!(is_enough && d->driver.is_video) && !is_alike(w, rec))
		return;
	/* Less host memory is no sign: a call takes host memory of many sizes for itself. */
	if (!is_enough && !d->driver.is_video)
		return;
	w->oom->rec.given_bytes = rec->size;
	oom_watch_decide(o, w, GMT_OOM_RETRY, is_enough ? GMT_OOM_BY_GIVEN : GMT_OOM_BY_SMALLER, d->ts_ns);
}

void ooms_driver(struct ooms *o, const struct delta *d)
{
	if (d->driver.is_refused)
		note_refused(o, d);
	else if (o->count)
		note_given(o, d);
}

void ooms_left(struct ooms *o, const struct process *p, uint32_t tid, uint64_t ts_ns)
{
	struct oom_watch *w = oom_watch_find(o, p, tid);

	if (is_open(w))
		oom_watch_decide(o, w, GMT_OOM_RAISED, GMT_OOM_BY_RETURN, ts_ns);
}
