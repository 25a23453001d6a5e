/* SPDX-License-Identifier: BSD-2-Clause */
/* A window from the records of a dump (include/gpumemtrace/history_records.h). Any bytes may come: the window's
 * invariant holds. */
#include "core/history/history.h"

#include "base/xalloc.h"
#include "core/framework/segments.h"
#include "core/history/window.h"
#include "core/ledger/dump_records.h"

#define SOME_TIME_NS 1    /* the allocation was seen; its event has the time (births.h) */

/* Takes in the record that begins a process. A window has one for each process, before all events. */
static void read_window_process(struct history *h, const struct process *p, const struct gmt_history *rec)
{
	struct history_process *hp = history_process_of(h, p);

	if (hp->kept)
		return;
	if (!h->next)
		h->origin = h->first = h->next = rec->first;
	hp->kept = xmalloc(sizeof(*hp->kept));
	window_init(hp->kept);
	hp->is_read = true;
	hp->since = rec->since;
}

static void read_unseen(struct window *w, const struct gmt_history_unseen *rec)
{
	if (rec->device >= w->unseen_count) {
		w->unseen = xreallocarray(w->unseen, rec->device + 1, sizeof(*w->unseen));
		while (w->unseen_count <= rec->device)
			w->unseen[w->unseen_count++] = (struct window_unseen){ 0 };
	}
	w->unseen[rec->device] = (struct window_unseen){ rec->allocated, rec->reserved };
}

static void read_range(struct window *w, const struct gmt_history_range *rec)
{
	struct range r = {
		.base = rec->base, .length = rec->length,
		.offset = rec->born == GMT_HISTORY_UNSEEN ? 0 : SOME_TIME_NS, .value = rec->stack_id,
		.gpu = rec->device == GMT_HISTORY_DEVICE_UNKNOWN ? -1 : (int)rec->device,
		.aux = window_aux(rec->flags, rec->is_block ? dump_category(rec->category) : 0),
	};

	if (!rec->is_block)
		rangemap_insert(&w->segments, &r);
	else if (segments_hold(&w->segments, &r) && rangemap_insert(&w->blocks, &r) && rec->asked)
		window_set_asked(w, &r, rec->asked);
}

static void read_event(struct history *h, struct history_process *hp, const struct gmt_history_event *rec)
{
	struct history_event *e = history_add(h, hp, dump_event_kind(rec), rec->hdr.ts_ns);

	e->address = rec->address;
	e->size = rec->size;
	e->flags = rec->flags;
	e->device = rec->device;
	if (rec->kind == GMT_HISTORY_BLOCK_FREE || rec->kind == GMT_HISTORY_SEGMENT_FREE)
		e->born = rec->born == GMT_HISTORY_UNSEEN ? 0 : SOME_TIME_NS;
	else if (rec->kind == GMT_HISTORY_OOM)
		e->born = rec->born;
	e->stack_id = rec->stack_id;
	e->category = dump_category(rec->category);
}

void history_read(struct history *h, const struct process *p, const struct gmt_hdr *record)
{
	struct history_process *hp;

	if (record->kind == GMT_KIND_HISTORY)
		read_window_process(h, p, (const void *)record);
	hp = history_find(h, p);
	if (!hp || !hp->is_read)
		return;
	switch (record->kind) {
	case GMT_KIND_HISTORY_UNSEEN:
		read_unseen(hp->kept, (const void *)record);
		break;
	case GMT_KIND_HISTORY_RANGE:
		read_range(hp->kept, (const void *)record);
		break;
	case GMT_KIND_HISTORY_EVENT:
		read_event(h, hp, (const void *)record);
		break;
	case GMT_KIND_HISTORY_MARK:
		history_marks_read(&h->marks, hp - h->processes, (const void *)record);
		break;
	}
}
