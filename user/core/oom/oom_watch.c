/* SPDX-License-Identifier: BSD-2-Clause */
/* See oom_watch.h. */
#include "core/oom/oom_watch.h"

#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "core/ledger/ledger_state.h"

#define WATCHES_MAX 256            /* threads; of more nothing is told */
#define PICTURES 16                /* in a row, and after that one for each so long */
#define PICTURE_EACH_NS 100000000ULL

/* ---- which there are ---- */

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
	o->due_ns = UINT64_MAX;
	for (size_t i = 0; i < o->count; i++)
		if (oom_watch_due(&o->watches[i]) < o->due_ns)
			o->due_ns = oom_watch_due(&o->watches[i]);
}

uint64_t oom_row_live(const struct process *p, uint8_t row)
{
	return row == ROW_NONE ? p->account.stacks.live : p->account.rows[row].attributed.live;
}

/* ---- pictures ---- */

static bool may_take(struct ooms *o, uint64_t now_ns)
{
	uint64_t more = (now_ns - o->pictures_ns) / PICTURE_EACH_NS;

	if (now_ns > o->pictures_ns && more) {
		o->pictures = more > PICTURES - o->pictures ? PICTURES : o->pictures + (uint32_t)more;
		o->pictures_ns = now_ns;
	}
	if (!o->pictures)
		return false;
	o->pictures--;
	return true;
}

/* Of the next try a moment later there is nothing new to see, unless something was freed for it. */
static bool is_another(const struct oom_watch *w, uint64_t now_ns)
{
	return !w->oom->row_count || oom_row_live(w->p, w->row) != w->live_at_picture ||
	       now_ns - w->oom->rec.hdr.ts_ns >= PICTURE_EACH_NS;
}

void oom_watch_picture(struct ledger *l, struct oom_watch *w, const struct gmt_hdr *hdr)
{
	struct oom *oom = w->oom;
	bool may = is_another(w, hdr->ts_ns) && may_take(&l->ooms, hdr->ts_ns);

	if (oom->row_count && !may)
		return;
	oom->rec.hdr = (struct gmt_hdr){
		.size = sizeof(oom->rec), .kind = GMT_KIND_OOM, .tgid = hdr->tgid, .tid = hdr->tid, .ts_ns = hdr->ts_ns,
	};
	if (!may)
		return;
	oom_forget_picture(oom);
	/* Of pinned memory the host is short; who has what of it is in every picture. */
	oom_picture(oom, l, w->row == ROW_NONE ? GPU_UNKNOWN : w->p->account.rows[w->row].gpu);
	w->live_at_picture = oom_row_live(w->p, w->row);
}

/* ---- what is told ---- */

void oom_watch_failed(struct ledger *l, struct oom_watch *w, const struct gmt_hdr *hdr, uint64_t bytes)
{
	uint64_t live = oom_row_live(w->p, w->row);
	struct gmt_oom *rec = &w->oom->rec;

	rec->outcome = GMT_OOM_OPEN;
	rec->decided_ns = 0;
	rec->failures++;
	rec->failed_bytes = bytes;
	rec->last_ns = w->active_ns = hdr->ts_ns;
	rec->freed_bytes = w->live_at_first > live ? w->live_at_first - live : 0;
	oom_watch_picture(l, w, hdr);
	oom_set_due(&l->ooms);
}

/* Queues what is known of it now, with the picture. */
static void queue_oom(struct ooms *o, struct oom_watch *w)
{
	struct oom *oom = xmalloc(sizeof(*oom));

	*oom = *w->oom;
	*w->oom = (struct oom){ .rec = oom->rec };
	ooms_push(o, oom);
	w->p->ooms[w->told] -= w->told != GMT_OOM_OPEN;
	w->told = oom->rec.outcome;
	w->p->ooms[w->told]++;
}

void oom_watch_decide(struct ledger *l, struct oom_watch *w, enum gmt_oom_outcome outcome, enum gmt_oom_sign sign,
		      uint64_t ts_ns)
{
	struct gmt_oom *rec = &w->oom->rec;

	rec->outcome = outcome;
	rec->sign = sign;
	rec->decided_ns = ts_ns;
	if (outcome == GMT_OOM_RETRY) {
		l->ooms.met = rec->number;
		oom_forget_picture(w->oom);
	}
	queue_oom(&l->ooms, w);
	/* Of an error that was raised, whether the process survives it is still to be told. */
	if (outcome != GMT_OOM_RAISED || sign == GMT_OOM_BY_WENT_ON || sign == GMT_OOM_BY_EXIT)
		oom_watch_forget(&l->ooms, w);
	oom_set_due(&l->ooms);
}

void oom_watch_leave(struct ledger *l, struct oom_watch *w, uint64_t ts_ns)
{
	if (w->oom->rec.outcome == GMT_OOM_OPEN)
		oom_watch_decide(l, w, GMT_OOM_RAISED, GMT_OOM_BY_WENT_ON, ts_ns);
	else
		oom_watch_forget(&l->ooms, w);
}

bool oom_watch_is_open(const struct oom_watch *w)
{
	return w->oom->rec.outcome == GMT_OOM_OPEN || w->oom->rec.sign == GMT_OOM_BY_SILENCE;
}

/* ---- new ones ---- */

static void set_gpu(const struct ledger *l, struct oom_watch *w)
{
	int gpu = w->row == ROW_NONE ? GPU_UNKNOWN : w->p->account.rows[w->row].gpu;

	if (gpu != GPU_UNKNOWN)
		memcpy(w->oom->rec.uuid, l->gpus.list[gpu].uuid, GMT_UUID_BYTES);
}

static struct oom_watch *add_watch(struct ledger *l, struct process *p, const struct gmt_hdr *hdr, uint8_t row)
{
	struct ooms *o = &l->ooms;
	struct oom_watch *w;

	if (o->count == WATCHES_MAX) {
		o->dropped++;
		return NULL;
	}
	if (o->count == o->capacity) {
		o->capacity = o->capacity ? 2 * o->capacity : 4;
		o->watches = xreallocarray(o->watches, o->capacity, sizeof(*o->watches));
	}
	w = &o->watches[o->count++];
	*w = (struct oom_watch){ .oom = xcalloc(1, sizeof(*w->oom)), .p = p, .tid = hdr->tid, .row = row };
	w->live_at_first = oom_row_live(p, row);
	w->oom->rec.number = ++o->last_number;
	w->oom->rec.class_id = GMT_OOM_CLASS_NONE;
	w->oom->rec.flags = GMT_OOM_UNSEEN;
	w->oom->rec.first_ns = w->oom->rec.last_ns = hdr->ts_ns;
	set_gpu(l, w);
	return w;
}

struct oom_watch *oom_watch_try(struct ledger *l, bool is_next_try, struct process *p, const struct gmt_hdr *hdr,
				uint8_t row)
{
	struct oom_watch *newest = oom_watch_find(&l->ooms, p, hdr->tid);

	if (is_next_try)
		return newest;
	if (newest)
		oom_watch_leave(l, newest, hdr->ts_ns);
	return add_watch(l, p, hdr, row);
}

/* ---- all of it ---- */

void ooms_want(struct ledger *l)
{
	l->ooms.wanted = true;
	l->ooms.pictures = PICTURES;
	oom_set_due(&l->ooms);
}

void ooms_finish(struct ledger *l)
{
	struct ooms *o = &l->ooms;

	if (o->reading)
		ooms_push(o, o->reading);
	o->reading = NULL;
	while (o->count) {
		if (!o->watches[0].oom->rec.decided_ns)
			queue_oom(o, &o->watches[0]);
		oom_watch_forget(o, &o->watches[0]);
	}
	oom_set_due(o);
}

void ooms_fini(struct ooms *o)
{
	while (o->count)
		oom_watch_forget(o, &o->watches[0]);
	for (size_t i = 0; i < o->queued; i++)
		oom_free(o->queue[i]);
	oom_free(o->reading);
	free(o->watches);
}
