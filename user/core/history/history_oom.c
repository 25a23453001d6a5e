/* SPDX-License-Identifier: BSD-2-Clause */
/* See history_oom.h. */
#include "core/history/history_oom.h"

#include "core/ledger/event.h"
#include "core/ledger/ledger_state.h"

/* CUmemLocationType of cuda.h. */
#define LOCATION_DEVICE 1

static unsigned int ordinal_of(const struct process *p, const struct gmt_call *call, enum gmt_op op)
{
	struct thread *const *t = hash_get(&p->threads, call->hdr.tid);
	struct event e = { .proc = (struct process *)p, .thread = t ? *t : NULL, .call = call, .op = op };

	if (op == GMT_OP_VMM_CREATE)
		return call->vals[2] == LOCATION_DEVICE ? context_ordinal_of(call->vals[3]) : ORDINAL_NONE;
	return e.thread ? context_ordinal(&p->contexts, context_current(&e)) : ORDINAL_NONE;
}

static uint64_t free_on(const struct ledger *l, int gpu)
{
	const struct gpu *g = gpu >= 0 ? &l->gpus.list[gpu] : NULL;
	uint64_t total = g && g->listed ? g->record.total_bytes : 0, used = 0;

	for (size_t i = 0; total && i < l->processes.count; i++) {
		const struct process *p = l->processes.list[i];
		const struct row *row = &p->account.rows[account_find_row(&p->account, gpu)];
		uint64_t known = row->attributed.live > row->physical.live ? row->attributed.live : row->physical.live;

		if (!p->exited && row->gpu == gpu)
			used += row->nvml.used > known ? row->nvml.used : known;
	}
	return used < total ? total - used : 0;
}

static uint64_t no_more_than(uint64_t bytes, uint64_t most)
{
	return bytes < most ? bytes : most;
}

static void forget_request(struct history *h, uint32_t number)
{
	struct history_request *r = &h->requests[number % HISTORY_REQUESTS];

	if (r->number == number && r->event >= h->first) {
		history_slot(h, r->event)->kind = GMT_HISTORY_NOTHING;
		h->next -= r->event + 1 == h->next;
	}
	r->number = 0;
}

static void add_request(const struct history_step *s, const struct ledger *l, uint32_t tid, unsigned int ordinal)
{
	const struct process *p = s->hp->of;
	const struct gmt_oom *rec = ooms_request(l, p, tid);
	int gpu = context_gpu(&p->contexts, ordinal);
	struct history_event *e;
	uint64_t free_bytes;

	if (!rec || (rec->class_id < GMT_CLASS_COUNT && !gmt_class_is_device(rec->class_id)))
		return;
	/* An earlier try of the same. */
	forget_request(s->h, rec->number);
	s->h->requests[rec->number % HISTORY_REQUESTS] = (struct history_request){ rec->number, s->h->next };
	free_bytes = rec->flags & GMT_OOM_HAS_FREE ? rec->free_bytes :
						     free_on(l, gpu != GPU_UNKNOWN ? gpu : gpus_only(&l->gpus));
	e = history_add(s, GMT_HISTORY_OOM);
	e->size = no_more_than(rec->framework_bytes ? rec->framework_bytes : rec->asked_bytes, ALLOC_SIZE_MAX);
	e->address = no_more_than(free_bytes, ALLOC_SIZE_MAX);
	e->device = ordinal == ORDINAL_NONE ? GMT_HISTORY_DEVICE_UNKNOWN : ordinal;
	e->stack_id = rec->stack_id;
	e->born = rec->number;
}

void history_oom_failed(const struct history_step *s, const struct ledger *l, const struct gmt_call *call,
			enum gmt_op op)
{
	add_request(s, l, call->hdr.tid, ordinal_of(s->hp->of, call, op));
}

void history_oom_reported(const struct history_step *s, const struct ledger *l, const struct gmt_fw_oom *rec)
{
	if (rec->device_type == GMT_C10_CUDA)
		add_request(s, l, rec->hdr.tid, rec->device_index);
}

void history_oom_look(struct history *h, const struct ledger *l)
{
	if (h->met == l->ooms.met)
		return;
	h->met = l->ooms.met;
	forget_request(h, h->met);
}
