/* SPDX-License-Identifier: BSD-2-Clause */
/* A window that comes from a dump. See history_dump.h. Any bytes may come: the history's invariant holds. */
#include <errno.h>

#include "base/xalloc.h"
#include "core/ledger/alloc.h"
#include "core/history/history_birth.h"
#include "core/history/history_change.h"
#include "core/history/history_dump.h"
#include "core/ledger/ledger_state.h"

#define DEVICES_MAX 255
#define NUMBER_MAX (1ULL << 62)   /* of an event: no session gets there */

int history_check(const struct gmt_hdr *record)
{
	const struct gmt_history *process = (const void *)record;
	const struct gmt_history_unseen *unseen = (const void *)record;
	const struct gmt_history_range *range = (const void *)record;
	const struct gmt_history_event *event = (const void *)record;
	bool is_right = true;

	switch (record->kind) {
	case GMT_KIND_HISTORY:
		is_right = process->first < NUMBER_MAX;
		break;
	case GMT_KIND_HISTORY_UNSEEN:
		is_right = unseen->device < DEVICES_MAX && unseen->allocated <= ALLOC_SIZE_MAX &&
			   unseen->reserved <= ALLOC_SIZE_MAX;
		break;
	case GMT_KIND_HISTORY_RANGE:
		is_right = history_is_place(range->base, range->length) && range->asked <= range->length &&
			   range->category <= GMT_CATEGORY_COUNT;
		break;
	case GMT_KIND_HISTORY_EVENT:
		is_right = event->kind < GMT_HISTORY_KIND_COUNT && event->category <= GMT_CATEGORY_COUNT &&
			   event->size <= ALLOC_SIZE_MAX &&
			   (event->kind == GMT_HISTORY_NOTHING || event->kind == GMT_HISTORY_OOM ||
			    history_is_place(event->address, event->size));
		break;
	}
	return is_right ? 0 : -EINVAL;
}

/* The process's first record. A window has one for each, before all events; it is no continuation of anything. */
static void read_process_start(struct history *h, struct history_process *hp, const struct gmt_history *rec)
{
	if (hp->blocks.count || hp->segments.count || hp->asleep.count)
		return;
	if (!h->next)
		h->origin = h->first = h->next = rec->first;
	hp->is_read = true;
	hp->since = rec->since;
}

static void read_unseen(struct history_process *hp, const struct gmt_history_unseen *rec)
{
	if (rec->device >= hp->unseen_count) {
		hp->unseen = xreallocarray(hp->unseen, rec->device + 1, sizeof(*hp->unseen));
		while (hp->unseen_count <= rec->device)
			hp->unseen[hp->unseen_count++] = (struct history_unseen){ 0 };
	}
	hp->unseen[rec->device] = (struct history_unseen){ rec->allocated, rec->reserved };
}

static bool is_in_torch(const struct rangemap *segments, const struct range *block)
{
	uint64_t at = block->base, end = block->base + block->length;
	const struct range *segment;

	if (!history_is_covered(segments, block))
		return false;
	for (; at < end; at = segment->base + segment->length) {
		segment = rangemap_find(segments, at);
		if (!(segment->aux & GMT_HISTORY_TORCH))
			return false;
	}
	return true;
}

static void read_range(struct history_process *hp, const struct gmt_history_range *rec)
{
	struct range r = {
		.base = rec->base, .length = rec->length, .offset = rec->born, .value = rec->stack_id,
		.gpu = rec->device == GMT_HISTORY_DEVICE_UNKNOWN ? -1 : (int)rec->device,
		.aux = history_told(rec->flags, rec->is_block ? rec->category : 0),
	};

	if (!rec->is_block)
		rangemap_insert(&hp->segments, &r);
	else if (is_in_torch(&hp->segments, &r) && rangemap_insert(&hp->blocks, &r) && rec->asked)
		*(uint64_t *)hash_put(&hp->asked, rec->base, NULL) = rec->asked;
}

static void read_event(const struct history_step *s, const struct gmt_history_event *rec)
{
	struct history_event *e = history_add(s, (enum gmt_history_kind)rec->kind);

	e->address = rec->address;
	e->size = rec->size;
	e->flags = rec->flags;
	e->device = rec->device;
	e->born = rec->born;
	e->stack_id = rec->stack_id;
	e->category = rec->category;
}

void history_read(struct history *h, const struct ledger *l, const struct gmt_hdr *record)
{
	const struct process *p = process_find((struct processes *)&l->processes, record->tgid);
	bool is_first = record->kind == GMT_KIND_HISTORY;
	struct history_step s = { .h = h, .ts_ns = record->ts_ns };

	if (!p || (!is_first && !hash_get(&h->by_process, (uintptr_t)p)))
		return;
	s.hp = history_process_of(h, p);
	if (is_first)
		read_process_start(h, s.hp, (const void *)record);
	else if (!s.hp->is_read)
		return;
	else if (record->kind == GMT_KIND_HISTORY_UNSEEN)
		read_unseen(s.hp, (const void *)record);
	else if (record->kind == GMT_KIND_HISTORY_RANGE)
		read_range(s.hp, (const void *)record);
	else if (record->kind == GMT_KIND_HISTORY_MARK)
		history_marks_read(&h->marks, s.hp - h->processes, (const void *)record);
	else
		read_event(&s, (const void *)record);
}
