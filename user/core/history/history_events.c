// SPDX-License-Identifier: BSD-2-Clause
/* The events and processes of a history, added and found. */
#include "core/history/history.h"

#include "base/xalloc.h"
#include "core/framework/frameworks.h"
#include "core/history/window.h"

_Static_assert(GMT_CATEGORY_COUNT < 15, "a category fits into an event");

struct history_process *history_find(const struct history *h, const struct process *p)
{
	const uint32_t *index = hash_get(&h->by_process, (uintptr_t)p);

	return index ? &h->processes[*index] : NULL;
}

struct history_process *history_process_of(struct history *h, const struct process *p)
{
	bool is_new;
	uint32_t *index = hash_put(&h->by_process, (uintptr_t)p, &is_new);

	if (is_new) {
		*index = h->process_count++;
		h->processes = xreallocarray(h->processes, h->process_count, sizeof(*h->processes));
		h->processes[*index] = (struct history_process){ .of = p, .since = h->next };
	}
	return &h->processes[*index];
}

struct history_event *history_add(struct history *h, struct history_process *hp, enum gmt_history_kind kind,
				  uint64_t ts_ns)
{
	struct history_event *e;

	if (h->next - h->origin >= h->capacity && h->capacity < h->most) {
		h->capacity = h->capacity ? h->capacity * 2 : 256;
		if (h->capacity > h->most)
			h->capacity = h->most;
		h->events = xreallocarray(h->events, h->capacity, sizeof(*h->events));
	}
	e = history_slot(h, h->next);
	*e = (struct history_event){ .ts_ns = ts_ns, .kind = kind, .process = hp - h->processes };
	hp->last = h->next++;
	if (h->next - h->first > h->most)
		h->first = h->next - h->most;
	return e;
}

struct range history_range_of(const struct history_event *e)
{
	bool is_alloc = e->kind == GMT_HISTORY_BLOCK_ALLOC || e->kind == GMT_HISTORY_SEGMENT_ALLOC;

	return (struct range){
		.base = e->address, .length = e->size, .offset = is_alloc ? e->ts_ns : e->born, .value = e->stack_id,
		.gpu = e->device == GMT_HISTORY_DEVICE_UNKNOWN ? -1 : (int)e->device,
		.aux = window_aux(e->flags, e->category),
	};
}

void history_window(const struct history *h, uint32_t process, struct window *out)
{
	const struct history_process *hp = &h->processes[process];

	if (hp->kept)
		window_copy(out, hp->kept);
	else
		window_now(out, hp->of, frameworks_of(h->frameworks, hp->of));
}
