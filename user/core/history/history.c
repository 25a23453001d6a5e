/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/history/history.h"

#include <stdlib.h>

#include "base/rangemap.h"
#include "base/xalloc.h"
#include "core/framework/frameworks.h"
#include "core/history/window.h"
#include "core/ledger/ledger_state.h"
#include "core/terms/names.h"

#define SHED_EVENTS 1024 /* the most that are kept once memory is short */
#define UNDO_LOOKS 64   /* so many events may lie between a release and its failure */

struct history *history_new(const struct ledger *ledger, const struct frameworks *frameworks, uint64_t most_events)
{
	struct history *h = xcalloc(1, sizeof(*h));

	h->ledger = ledger;
	h->frameworks = frameworks;
	h->most = most_events;
	hash_init(&h->by_process, sizeof(uint32_t));
	history_marks_init(&h->marks);
	return h;
}

static void forget_window(struct history_process *hp)
{
	if (hp->kept)
		window_free(hp->kept);
	free(hp->kept);
	hp->kept = NULL;
	hp->is_read = false;
}

void history_free(struct history *h)
{
	if (!h)
		return;
	for (uint32_t i = 0; i < h->process_count; i++)
		forget_window(&h->processes[i]);
	hash_fini(&h->by_process);
	history_marks_fini(&h->marks);
	free(h->processes);
	free(h->events);
	free(h);
}

/* ---- events ---- */

static void pass_time(struct history *h, uint64_t now_ns)
{
	while (h->span_ns && h->first < h->next && history_event(h, h->first)->ts_ns + h->span_ns < now_ns)
		h->first++;
}

static const enum gmt_history_kind kind_of[DELTA_COUNT] = {
	[DELTA_BLOCK_ALLOC] = GMT_HISTORY_BLOCK_ALLOC,
	[DELTA_BLOCK_BACK] = GMT_HISTORY_BLOCK_ALLOC,
	[DELTA_BLOCK_FREE] = GMT_HISTORY_BLOCK_FREE,
	[DELTA_BLOCK_LOST] = GMT_HISTORY_BLOCK_FREE,
	[DELTA_SEGMENT_ALLOC] = GMT_HISTORY_SEGMENT_ALLOC,
	[DELTA_SEGMENT_FREE] = GMT_HISTORY_SEGMENT_FREE,
};

struct history_event history_event_of(const struct delta *d)
{
	enum gmt_history_kind kind = kind_of[d->kind];
	bool is_block = kind == GMT_HISTORY_BLOCK_ALLOC || kind == GMT_HISTORY_BLOCK_FREE;
	bool is_end = kind == GMT_HISTORY_BLOCK_FREE || kind == GMT_HISTORY_SEGMENT_FREE;
	const struct range *r = is_block ? d->block.range : d->segment.range;

	return (struct history_event){
		.ts_ns = d->ts_ns, .kind = kind, .address = r->base, .size = r->length,
		.device = r->gpu < 0 ? GMT_HISTORY_DEVICE_UNKNOWN : r->gpu, .stack_id = (uint32_t)r->value,
		.flags = is_block ? 0 : r->aux & WINDOW_FLAGS, .category = is_block ? d->block.category : 0,
		.born = is_end ? r->offset : 0,
	};
}

static void record_memory(struct history *h, const struct delta *d)
{
	struct history_process *hp = history_process_of(h, d->p);
	struct history_event event = history_event_of(d), *e;

	pass_time(h, d->ts_ns);
	e = history_add(h, hp, kind_of[d->kind], d->ts_ns);
	event.process = e->process;
	*e = event;
}

/* The release failed: the segment did not end. */
static void take_back_segment(struct history *h, const struct delta *d)
{
	const struct range *r = d->segment.range;
	uint32_t process = history_process_of(h, d->p) - h->processes;

	for (uint64_t n = h->next; n > h->first && h->next - n < UNDO_LOOKS; n--) {
		struct history_event *e = history_slot(h, n - 1);

		if (e->kind != GMT_HISTORY_SEGMENT_FREE || e->process != process || e->address != r->base)
			continue;
		e->kind = GMT_HISTORY_NOTHING;
		return;
	}
}

static void record_range(struct history *h, const struct delta *d)
{
	uint32_t process = history_process_of(h, d->p) - h->processes;

	history_marks_see(&h->marks, process, h->next, (const void *)d->framework.rec);
}

/* ---- requests that failed: one event each, at the newest failure, unless the request was met in the end ---- */

static uint64_t free_on_gpu(const struct ledger *l, int gpu)
{
	const struct gpu *g = gpu >= 0 ? &l->gpus.list[gpu] : NULL;
	uint64_t total = g && g->listed ? g->record.total_bytes : 0, used = 0;

	for (size_t i = 0; total && i < l->processes.count; i++) {
		const struct process *p = l->processes.list[i];

		if (!p || p->exited)
			continue;
		const struct row *row = &p->account.rows[account_find_row(&p->account, gpu)];
		uint64_t known = row->attributed.live > row->physical.live ? row->attributed.live : row->physical.live;

		if (row->gpu == gpu)
			used += row->nvml.used > known ? row->nvml.used : known;
	}
	return used < total ? total - used : 0;
}

static uint64_t bounded_size(uint64_t bytes)
{
	return bytes < ALLOC_SIZE_MAX ? bytes : ALLOC_SIZE_MAX;
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

bool history_wants_request(const struct delta *d)
{
	uint32_t class_id = d->request.rec->class_id;

	if (class_id < GMT_CLASS_COUNT)
		return gmt_class_is_device(class_id);
	return d->request.is_reported || gmt_class_is_device(class_id);
}

uint64_t history_asked_bytes(const struct gmt_oom *rec)
{
	return rec->framework_bytes ? rec->framework_bytes : rec->asked_bytes;
}

static void record_request(struct history *h, const struct delta *d)
{
	const struct gmt_oom *rec = d->request.rec;
	unsigned int ordinal = d->request.ordinal;
	int gpu = context_gpu(&d->p->contexts, ordinal);
	struct history_event *e;
	uint64_t free_bytes;

	if (!history_wants_request(d))
		return;
	/* The history may have an earlier try of the same request. */
	forget_request(h, rec->number);
	pass_time(h, d->ts_ns);
	h->requests[rec->number % HISTORY_REQUESTS] = (struct history_request){ rec->number, h->next };
	free_bytes = rec->flags & GMT_OOM_HAS_FREE ? rec->free_bytes :
		     free_on_gpu(h->ledger, gpu != GPU_UNKNOWN ? gpu : gpus_only(&h->ledger->gpus));
	e = history_add(h, history_process_of(h, d->p), GMT_HISTORY_OOM, d->ts_ns);
	e->size = bounded_size(history_asked_bytes(rec));
	e->address = bounded_size(free_bytes);
	e->device = ordinal == ORDINAL_NONE ? GMT_HISTORY_DEVICE_UNKNOWN : ordinal;
	e->stack_id = rec->stack_id;
	e->born = rec->number;
}

static void drop_met(struct history *h, const struct delta *d)
{
	forget_request(h, d->request.rec->number);
}

/* ---- processes ---- */

/* The process runs another program, and no memory of the old program is left. */
static void record_exec(struct history *h, const struct delta *d)
{
	struct history_process *hp = history_find(h, d->p);

	if (!hp)
		return;
	forget_window(hp);
	hp->since = h->next;
}

/* Tracing may go on for months, so processes without an event do not keep their windows. */
static void forget_ended(struct history *h)
{
	for (uint32_t i = 0; i < h->process_count; i++)
		if (h->processes[i].of->exited && h->processes[i].last < h->first)
			forget_window(&h->processes[i]);
}

static void record_exit(struct history *h, const struct delta *d)
{
	struct history_process *hp = history_find(h, d->p);
	struct window *w;

	if (!h->keeps_ended)
		forget_ended(h);
	if (!hp || hp->kept)
		return;
	w = xmalloc(sizeof(*w));
	history_window(h, hp - h->processes, w);
	hp->kept = w;
}

/* Somebody may ask for the events of the process, and for its memory at its end. */
static bool is_process_needed(const struct history *h, const struct history_process *hp)
{
	return h->keeps_ended || hp->last >= h->first;
}

/* The place of the process stays, so that the numbers of other processes stay. */
static void forget_process(struct history *h, const struct delta *d)
{
	static const struct process none = { .exited = true };
	struct history_process *hp = history_find(h, d->p);

	if (!hp)
		return;
	if (!d->forget.sum) {
		*d->forget.is_needed |= is_process_needed(h, hp);
		return;
	}
	forget_window(hp);
	hash_erase(&h->by_process, (uintptr_t)d->p);
	hp->of = &none;
}

static void record_dump(struct history *h, const struct delta *d)
{
	if (d->p)
		history_read(h, d->p, d->dump.rec);
}

/* Memory is short: the events until now are forgotten, and few are kept from now on. */
static void shed_events(struct history *h, const struct delta *d)
{
	if (d->shed != GMT_SHED_EVENTS)
		return;
	free(h->events);
	h->events = NULL;
	h->capacity = 0;
	h->first = h->origin = h->next;
	h->most = h->most < SHED_EVENTS ? h->most : SHED_EVENTS;
	forget_ended(h);
}

/* ---- deltas ---- */

static void (*const recorders[DELTA_COUNT])(struct history *h, const struct delta *d) = {
	[DELTA_BLOCK_ALLOC] = record_memory,
	[DELTA_BLOCK_FREE] = record_memory,
	[DELTA_BLOCK_LOST] = record_memory,
	[DELTA_BLOCK_BACK] = record_memory,
	[DELTA_SEGMENT_ALLOC] = record_memory,
	[DELTA_SEGMENT_FREE] = record_memory,
	[DELTA_SEGMENT_BACK] = take_back_segment,
	[DELTA_RANGE] = record_range,
	[DELTA_REQUEST_FAILED] = record_request,
	[DELTA_REQUEST_MET] = drop_met,
	[DELTA_EXEC] = record_exec,
	[DELTA_EXIT] = record_exit,
	[DELTA_FORGET] = forget_process,
	[DELTA_DUMP] = record_dump,
	[DELTA_SHED] = shed_events,
};

void history_see(void *history, const struct delta *d)
{
	struct history *h = history;

	if (!h->is_of_dumps || d->kind == DELTA_DUMP)
		recorders[d->kind](h, d);
}
