/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/oom/oom_watch.h"

#include <string.h>

#include "base/xalloc.h"
#include "core/framework/framework.h"
#include "core/framework/frameworks.h"
#include "core/ledger/ledger_state.h"
#include "core/oom/oom_copy.h"
#include "core/oom/oom_gpus.h"
#include "core/oom/oom_kept.h"
#include "core/terms/names.h"

#define WATCHES_MAX 256            /* threads; requests of further threads are only counted */
#define PICTURE_EACH_NS 100000000ULL

struct oom_watch *oom_watch_find(const struct ooms *o, const struct process *p, uint32_t tid)
{
	for (size_t i = 0; i < o->count; i++)
		if (o->watches[i].p == p && o->watches[i].tid == tid)
			return &o->watches[i];
	return NULL;
}

void oom_watch_forget(struct ooms *o, struct oom_watch *w)
{
	oom_free(w->oom);
	*w = o->watches[--o->count];
}

uint64_t oom_watch_due(const struct oom_watch *w)
{
	uint64_t decided_ns = w->oom->rec.decided_ns;

	return decided_ns ? decided_ns + OOM_FATAL_NS : w->active_ns + OOM_SILENCE_NS;
}

void oom_set_due(struct ooms *o)
{
	o->out->due_ns = UINT64_MAX;
	for (size_t i = 0; i < o->count; i++)
		if (oom_watch_due(&o->watches[i]) < o->out->due_ns)
			o->out->due_ns = oom_watch_due(&o->watches[i]);
}

uint64_t oom_row_live(const struct process *p, uint8_t row)
{
	return row == ROW_NONE ? p->account.stacks.live : p->account.rows[row].attributed.live;
}

static void give_request(const struct ooms *o, const struct oom_watch *w, enum delta_kind kind, bool is_reported,
			 uint64_t ts_ns)
{
	deltas_give(o->out, &(struct delta){
		.kind = kind, .tid = w->tid, .p = w->p, .ts_ns = ts_ns,
		.request = { .rec = &w->oom->rec, .ordinal = w->ordinal, .is_reported = is_reported },
	});
}

void oom_watch_reported(const struct ooms *o, const struct oom_watch *w, uint64_t ts_ns)
{
	give_request(o, w, DELTA_REQUEST_FAILED, true, ts_ns);
}

/* ---- pictures ---- */

static bool may_take(struct ooms *o, uint64_t now_ns)
{
	uint64_t more = (now_ns - o->pictures_ns) / PICTURE_EACH_NS;

	if (now_ns > o->pictures_ns && more) {
		o->pictures = more > OOM_PICTURES - o->pictures ? OOM_PICTURES : o->pictures + (uint32_t)more;
		o->pictures_ns = now_ns;
	}
	if (!o->pictures)
		return false;
	o->pictures--;
	return true;
}

/* The next try comes a moment later: a new picture shows something new only if memory was freed for that try. */
static bool is_another(const struct oom_watch *w, uint64_t now_ns)
{
	return !w->oom->row_count || oom_row_live(w->p, w->row) != w->oom->taken_live ||
	       now_ns - w->oom->taken_ns >= PICTURE_EACH_NS;
}

/* A library that tries one way after another, such as cuDNN, makes dozens of requests in a moment, and the program may
 * die of the last one. The picture of the process's request before is good for the next one if nothing has changed. */
static const struct oom *find_alike(const struct ooms *o, const struct oom_watch *w, uint64_t now_ns)
{
	const struct oom_kept *kept = ooms_kept(o, w->p->index);
	const struct oom *last = kept ? kept->oom : NULL;

	if (!last || !last->row_count || memcmp(last->rec.uuid, w->oom->rec.uuid, GMT_UUID_BYTES) ||
	    last->taken_live != oom_row_live(w->p, w->row) || now_ns - last->taken_ns >= PICTURE_EACH_NS)
		return NULL;
	return last;
}

void oom_watch_picture(struct ooms *o, struct oom_watch *w, const struct delta *d)
{
	struct oom *oom = w->oom;
	bool may = is_another(w, d->ts_ns) && may_take(o, d->ts_ns);
	const struct oom *alike;

	if (oom->row_count && !may)
		return;
	oom->rec.hdr = (struct gmt_hdr){
		.size = sizeof(oom->rec), .kind = GMT_KIND_OOM, .tgid = d->p->tgid, .tid = d->tid, .ts_ns = d->ts_ns,
	};
	if (!may) {
		alike = find_alike(o, w, d->ts_ns);
		if (alike)
			oom_take_over(oom, alike);
		return;
	}
	oom_forget_picture(oom);
	/* A request for pinned memory is on no GPU; every picture has the rows of host memory. */
	oom_picture(oom, o, w->row == ROW_NONE ? GPU_UNKNOWN : w->p->account.rows[w->row].gpu);
	oom->taken_ns = d->ts_ns;
	oom->taken_live = oom_row_live(w->p, w->row);
}

/* ---- outcomes ---- */

void oom_watch_failed(struct ooms *o, struct oom_watch *w, const struct delta *d, uint64_t bytes)
{
	uint64_t live = oom_row_live(w->p, w->row);
	struct gmt_oom *rec = &w->oom->rec;

	rec->outcome = GMT_OOM_OPEN;
	rec->decided_ns = 0;
	rec->failures++;
	rec->failed_bytes = bytes;
	rec->last_ns = w->active_ns = d->ts_ns;
	rec->freed_bytes = w->live_at_first > live ? w->live_at_first - live : 0;
	oom_watch_picture(o, w, d);
	give_request(o, w, DELTA_REQUEST_FAILED, false, d->ts_ns);
}

/* Queues what is known of the request now, with its picture. */
static void queue_oom(struct ooms *o, struct oom_watch *w)
{
	struct oom *oom = xmalloc(sizeof(*oom));
	struct oom_counts *counts;

	*oom = *w->oom;
	/* A sample after the failure may be nearer. Who held the GPU when the dump is written says nothing. */
	oom_take_gpus(oom, o->ledger);
	*w->oom = (struct oom){ .rec = oom->rec };
	ooms_keep(o, w->p->index, oom);
	ooms_push(o, oom);
	counts = hash_put(&o->counts, w->p->index, NULL);
	counts->of[w->told] -= w->told != GMT_OOM_OPEN;
	counts->of_host[w->told] -= w->told_host;
	w->told = oom->rec.outcome;
	w->told_host = oom->rec.class_id != GMT_OOM_CLASS_NONE &&
		       !gmt_class_is_device((enum gmt_class)oom->rec.class_id);
	counts->of[w->told]++;
	counts->of_host[w->told] += w->told_host;
}

void oom_watch_decide(struct ooms *o, struct oom_watch *w, enum gmt_oom_outcome outcome, enum gmt_oom_sign sign,
		      uint64_t ts_ns)
{
	struct gmt_oom *rec = &w->oom->rec;

	rec->outcome = outcome;
	rec->sign = sign;
	rec->decided_ns = ts_ns;
	if (outcome == GMT_OOM_RETRY) {
		give_request(o, w, DELTA_REQUEST_MET, false, ts_ns);
		oom_forget_picture(w->oom);
	}
	give_request(o, w, DELTA_REQUEST_DECIDED, false, ts_ns);
	queue_oom(o, w);
	/* After an error was raised, nobody knows yet whether the process survives. */
	if (outcome != GMT_OOM_RAISED || sign == GMT_OOM_BY_WENT_ON || sign == GMT_OOM_BY_EXIT)
		oom_watch_forget(o, w);
}

void oom_watch_leave(struct ooms *o, struct oom_watch *w, uint64_t ts_ns)
{
	if (w->oom->rec.outcome == GMT_OOM_OPEN)
		oom_watch_decide(o, w, GMT_OOM_RAISED, GMT_OOM_BY_WENT_ON, ts_ns);
	else
		oom_watch_forget(o, w);
}

bool oom_watch_is_open(const struct oom_watch *w)
{
	return w->oom->rec.outcome == GMT_OOM_OPEN || w->oom->rec.sign == GMT_OOM_BY_SILENCE;
}

/* ---- new watches ---- */

static struct oom_watch *add_watch(struct ooms *o, const struct delta *d, uint8_t row)
{
	int gpu = row == ROW_NONE ? GPU_UNKNOWN : d->p->account.rows[row].gpu;
	struct oom_watch *w;

	if (o->count == WATCHES_MAX) {
		o->dropped++;
		return NULL;
	}
	o->watches = xgrow(o->watches, o->count, sizeof(*o->watches));
	w = &o->watches[o->count++];
	*w = (struct oom_watch){
		.oom = xcalloc(1, sizeof(*w->oom)), .p = d->p, .tid = d->tid, .row = row, .ordinal = ORDINAL_NONE,
	};
	w->live_at_first = oom_row_live(d->p, row);
	w->oom->rec.number = ++o->last_number;
	w->oom->rec.class_id = GMT_OOM_CLASS_NONE;
	w->oom->rec.flags = GMT_OOM_UNSEEN;
	w->oom->rec.backward_stack_id = framework_backward_stack(frameworks_of(o->frameworks, d->p), d->tid);
	w->oom->rec.first_ns = w->oom->rec.last_ns = d->ts_ns;
	if (gpu != GPU_UNKNOWN)
		memcpy(w->oom->rec.uuid, o->ledger->gpus.list[gpu].uuid, GMT_UUID_BYTES);
	return w;
}

struct oom_watch *oom_watch_try(struct ooms *o, struct oom_watch *newest, bool is_next_try, const struct delta *d,
				uint8_t row)
{
	if (is_next_try)
		return newest;
	if (newest)
		oom_watch_leave(o, newest, d->ts_ns);
	return add_watch(o, d, row);
}

void oom_watch_end(struct ooms *o, struct oom_watch *w)
{
	if (!w->oom->rec.decided_ns)
		queue_oom(o, w);
	oom_watch_forget(o, w);
}
