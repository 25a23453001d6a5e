/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes the memory at the end of a snapshot (snapshot.h). snapshot_replay.c makes the events. */
#include "core/snapshot/snapshot.h"

#include <stdlib.h>

#include "base/xalloc.h"
#include "core/framework/framework.h"
#include "core/framework/frameworks.h"
#include "core/framework/segments.h"
#include "core/framework/waiting.h"
#include "core/history/history.h"
#include "core/history/window.h"
#include "core/ledger/alloc.h"
#include "core/snapshot/snapshot_index.h"

/* Made-up addresses: those of two devices are far apart. */
#define UNSEEN_ADDRESS(device) (ALLOC_ADDRESS_END + ((uint64_t)(device) << 48))

static struct snapshot_segment *add_segment(struct snapshot *s, uint64_t address, unsigned int device)
{
	s->segments = xgrow(s->segments, s->segment_count, sizeof(*s->segments));
	s->segments[s->segment_count] = (struct snapshot_segment){
		.address = address, .first_block = s->block_count, .device = device,
	};
	if (device >= s->device_count)
		s->device_count = device + 1;
	return &s->segments[s->segment_count++];
}

/* Appends a block to the newest segment. */
static struct snapshot_block *append_block(struct snapshot *s, uint64_t address, uint64_t size, bool active,
					   uint32_t stack_id)
{
	struct snapshot_segment *segment = &s->segments[s->segment_count - 1];

	s->blocks = xgrow(s->blocks, s->block_count, sizeof(*s->blocks));
	s->blocks[s->block_count] = (struct snapshot_block){
		.address = address, .size = size, .asked = active ? size : 0, .active = active, .stack_id = stack_id,
		.why = active ? snapshot_why_of(stack_id) : SNAPSHOT_WHY_NONE,
	};
	segment->block_count++;
	segment->active += active ? size : 0;
	segment->asked += active ? size : 0;
	return &s->blocks[s->block_count++];
}

static unsigned int device_of_range(const struct range *r)
{
	return r->gpu < 0 ? 0 : r->gpu;
}

/* Adds PyTorch's blocks, and the free pieces between them, to the newest segment, whose size is set. */
static void fill_segment(struct snapshot *s, const struct window *w)
{
	struct snapshot_segment *segment = &s->segments[s->segment_count - 1];
	uint64_t at = segment->address, end = segment->address + segment->size;
	const struct range *b;

	while (at < end && (b = rangemap_from(&w->blocks, at)) && b->base < end) {
		uint64_t base = b->base < at ? at : b->base, stop = b->base + b->length, asked = window_asked(w, b);
		struct snapshot_block *block;

		if (base > at)
			append_block(s, at, base - at, false, 0);
		at = stop < end ? stop : end;
		block = append_block(s, base, at - base, true, b->value);
		block->born_ns = b->offset;
		block->category = window_category(b);
		if (asked && asked <= block->size) {
			segment->asked -= block->size - asked;
			block->asked = asked;
		}
	}
	if (at < end)
		append_block(s, at, end - at, false, 0);
}

static void add_plain(struct snapshot *s, const struct range *r)
{
	struct snapshot_segment *segment = add_segment(s, r->base, device_of_range(r));

	segment->size = r->length;
	segment->stack_id = r->value;
	segment->born_ns = r->offset;
	segment->why = snapshot_why_of(r->value);
	append_block(s, r->base, r->length, true, r->value);
}

static void add_segments(struct snapshot *s, const struct window *w)
{
	struct rangemap_pos pos = { 0 };
	const struct range *r = rangemap_next(&w->segments, &pos);

	while (r) {
		struct snapshot_segment *segment;
		const struct range *last;

		if (!(r->aux & GMT_HISTORY_TORCH)) {
			add_plain(s, r);
			r = rangemap_next(&w->segments, &pos);
			continue;
		}
		segment = add_segment(s, r->base, device_of_range(r));
		segment->stack_id = r->value;
		segment->born_ns = r->offset;
		segment->is_torch = true;
		segment->why = r->aux & GMT_HISTORY_GUESSED ? SNAPSHOT_WHY_GUESSED : snapshot_why_of(r->value);
		do {
			segment->size += r->length;
			segment->is_expandable |= (r->aux & GMT_HISTORY_MAPPED) != 0;
			last = r;
			r = rangemap_next(&w->segments, &pos);
		} while (r && window_is_joined(last, r));
		s->is_expandable |= segment->is_expandable;
		fill_segment(s, w);
	}
}

static void add_unseen(struct snapshot *s, const struct window *w, unsigned int device)
{
	struct window_unseen unseen = w->unseen[device];
	struct snapshot_segment *segment;

	if (!unseen.allocated && !unseen.reserved)
		return;
	segment = add_segment(s, UNSEEN_ADDRESS(device), device);
	segment->why = SNAPSHOT_WHY_UNSEEN;
	segment->size = unseen.reserved > unseen.allocated ? unseen.reserved : unseen.allocated;
	if (unseen.allocated)
		append_block(s, segment->address, unseen.allocated, true, 0)->why = SNAPSHOT_WHY_UNSEEN;
	if (unseen.reserved > unseen.allocated)
		append_block(s, segment->address + unseen.allocated, unseen.reserved - unseen.allocated, false, 0);
}

static void add_marks(struct snapshot *s, const struct snapshot_index *x, uint32_t process)
{
	const struct history *h = x->h;
	const struct history_marks *m = &h->marks;
	uint64_t first = h->first > h->processes[process].since ? h->first : h->processes[process].since;

	for (uint64_t n = x->oldest_mark[process]; n != SNAPSHOT_NONE; n = x->mark_after[n - history_marks_first(m)]) {
		const struct history_mark *mark = history_marks_at(m, n);

		if (mark->event < first)
			continue;
		s->marks = xgrow(s->marks, s->mark_count, sizeof(*s->marks));
		s->marks[s->mark_count++] = (struct snapshot_mark){
			.ts_ns = mark->ts_ns, .name = m->names[mark->name], .is_end = mark->is_end,
		};
	}
}

static const struct hash *waiting_of(const struct history *h, const struct process *p)
{
	return h->frameworks ? framework_waiting(frameworks_of(h->frameworks, p)) : NULL;
}

void snapshot_place(const struct window *w, struct snapshot *out)
{
	*out = (struct snapshot){ 0 };
	add_segments(out, w);
}

void snapshot_build_from(const struct snapshot_index *x, uint32_t process, struct snapshot *out)
{
	struct window w;

	history_window(x->h, process, &w);
	snapshot_place(&w, out);
	out->waiting = waiting_of(x->h, x->h->processes[process].of);
	for (unsigned int i = 0; i < w.unseen_count; i++)
		add_unseen(out, &w, i);
	snapshot_replay(x, process, &w, out);
	add_marks(out, x, process);
	window_free(&w);
}

void snapshot_build(const struct history *h, uint32_t process, struct snapshot *out)
{
	struct snapshot_index x;

	snapshot_index_init(&x, h);
	snapshot_build_from(&x, process, out);
	snapshot_index_fini(&x);
}

void snapshot_keep_devices(struct snapshot *s, const bool *wanted)
{
	size_t segments = 0, events = 0;

	for (size_t i = 0; i < s->segment_count; i++)
		if (wanted[s->segments[i].device])
			s->segments[segments++] = s->segments[i];
	for (size_t i = 0; i < s->event_count; i++)
		if (wanted[s->events[i].device])
			s->events[events++] = s->events[i];
	s->segment_count = segments;
	s->event_count = events;
}

void snapshot_free(struct snapshot *s)
{
	free(s->events);
	free(s->segments);
	free(s->blocks);
	free(s->marks);
	*s = (struct snapshot){ 0 };
}

uint32_t snapshot_waited(const struct snapshot *s, uint32_t stack_id)
{
	return waiting_only(s->waiting, stack_id);
}
