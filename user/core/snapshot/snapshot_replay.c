/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes the events of a snapshot (snapshot.h), going back from the memory at the end. The end of a block or segment
 * puts the memory back; the beginning takes the memory away. An event that does not fit is left out. For memory that is
 * in the way, the snapshot says that the memory was allocated at that moment.
 */

#include "base/xalloc.h"
#include "core/framework/segments.h"
#include "core/history/births.h"
#include "core/history/history.h"
#include "core/history/window.h"
#include "core/snapshot/snapshot.h"
#include "core/snapshot/snapshot_index.h"

/* The moment to which the replay has come back. Ranges are as in a window, with two differences: in ranges from events,
 * offset is a number (births.h), and segments that are not PyTorch's have a block, too. */
struct moment {
	struct snapshot *out;
	const struct snapshot_index *index;
	struct rangemap blocks, segments;
	uint64_t ts_ns;
	uint64_t first;          /* number of the oldest event */
};

static bool is_plain(const struct range *segment)
{
	return !(segment->aux & GMT_HISTORY_TORCH);
}

/* Good until the next event. */
static struct snapshot_event *emit_event(struct moment *m, enum snapshot_action action, const struct range *r,
					 enum snapshot_why why)
{
	struct snapshot *s = m->out;
	unsigned int device = r->gpu < 0 ? 0 : r->gpu;

	if (!(uint32_t)r->value && (why == SNAPSHOT_WHY_NONE || why == SNAPSHOT_WHY_FREED))
		why = SNAPSHOT_WHY_NO_STACK;
	s->events = xgrow(s->events, s->event_count, sizeof(*s->events));
	s->events[s->event_count++] = (struct snapshot_event){
		.ts_ns = m->ts_ns, .address = r->base, .size = r->length,
		.stack_id = (uint32_t)r->value, .action = action, .why = why, .device = device,
		.category = window_category(r),
	};
	if (device >= s->device_count)
		s->device_count = device + 1;
	return &s->events[s->event_count - 1];
}

static void emit_segment(struct moment *m, enum snapshot_action action, const struct range *segment,
			 enum snapshot_why why)
{
	struct snapshot_event *e = emit_event(m, action, segment, why);

	e->is_plain = is_plain(segment);
	e->is_guessed = segment->aux & GMT_HISTORY_GUESSED;
}

/* ---- going back over one thing ---- */

static bool is_piece(const struct range *segment)
{
	return !is_plain(segment) && (segment->aux & SEGMENT_PIECE);
}

/* Viewers join a piece that is put back with every segment that the piece touches. */
static bool touches_a_whole(const struct rangemap *segments, const struct range *piece)
{
	const struct range *before = rangemap_find(segments, piece->base - 1);
	const struct range *behind = rangemap_at(segments, piece->base + piece->length);

	return (before && !is_piece(before)) || (behind && !is_piece(behind));
}

/* A free has no stack of its own: the snapshot shows the stack of the allocation. */
static enum snapshot_why why_of_end(const struct moment *m, const struct range *r)
{
	if (r->aux & GMT_HISTORY_GUESSED)
		return SNAPSHOT_WHY_GUESSED;
	if (r->offset == GMT_HISTORY_UNSEEN)
		return SNAPSHOT_WHY_BEFORE;
	return r->offset < m->first ? SNAPSHOT_WHY_EARLIER : SNAPSHOT_WHY_FREED;
}

/* Emits an event of a block, on the device of the block's segment. */
static void emit_block(struct moment *m, enum snapshot_action action, const struct range *block, enum snapshot_why why)
{
	const struct range *segment = rangemap_find(&m->segments, block->base);
	struct range r = *block;

	if (segment)
		r.gpu = segment->gpu;
	emit_event(m, action, &r, why)->is_plain = segment && is_plain(segment);
}

static void before_block(struct moment *m, const struct range *block, enum snapshot_why why)
{
	struct range gone = *block;

	rangemap_remove(&m->blocks, gone.base, NULL);
	emit_block(m, SNAPSHOT_ALLOC, &gone, why);
}

static void after_block(struct moment *m, const struct range *block)
{
	enum snapshot_why why = why_of_end(m, block);

	emit_block(m, SNAPSHOT_FREE_COMPLETED, block, why);
	emit_block(m, SNAPSHOT_FREE_REQUESTED, block, why);
	rangemap_insert(&m->blocks, block);
}

/* Takes away everything that is in the way of a block or a segment. */
static void clear_place(struct moment *m, const struct rangemap *map, const struct range *place,
			void (*take_away)(struct moment *m, const struct range *r, enum snapshot_why why))
{
	const struct range *r;

	while ((r = rangemap_from(map, place->base)) &&
	       (r->base < place->base || r->base - place->base < place->length))
		take_away(m, r, SNAPSHOT_WHY_MISSED);
}

static void before_segment(struct moment *m, const struct range *segment, enum snapshot_why why)
{
	struct range gone = *segment;
	const struct range *block = rangemap_at(&m->blocks, gone.base);

	if (is_plain(&gone) && block)
		before_block(m, block, why);
	clear_place(m, &m->blocks, &gone, before_block);
	rangemap_remove(&m->segments, gone.base, NULL);
	emit_segment(m, is_piece(&gone) ? SNAPSHOT_SEGMENT_MAP : SNAPSHOT_SEGMENT_ALLOC, &gone, why);
}

static void after_segment(struct moment *m, struct range *segment)
{
	enum snapshot_why why = why_of_end(m, segment);

	clear_place(m, &m->segments, segment, before_segment);
	if ((segment->aux & GMT_HISTORY_GUESSED) || touches_a_whole(&m->segments, segment))
		segment->aux &= ~SEGMENT_PIECE;
	if (!rangemap_insert(&m->segments, segment))
		return;
	emit_segment(m, is_piece(segment) ? SNAPSHOT_SEGMENT_UNMAP : SNAPSHOT_SEGMENT_FREE, segment, why);
	if (is_plain(segment))
		after_block(m, segment);
}

/* ---- events ---- */

static bool is_block_held(const struct moment *m, const struct range *block)
{
	uint64_t at = block->base, end = block->base + block->length;
	const struct range *s;

	while (at < end && (s = rangemap_find(&m->segments, at)) && !is_plain(s))
		at = s->base + s->length;
	return at >= end;
}

static void take_back_event(struct moment *m, uint64_t number)
{
	const struct history_event *e = history_event(m->index->h, number);
	struct range r = history_range_of(e);
	const struct range *found;

	r.offset = births_of_event(&m->index->births, number);
	m->ts_ns = e->ts_ns;
	switch (e->kind) {
	case GMT_HISTORY_BLOCK_FREE:
		if (!is_block_held(m, &r))
			break;
		clear_place(m, &m->blocks, &r, before_block);
		after_block(m, &r);
		break;
	case GMT_HISTORY_BLOCK_ALLOC:
		found = rangemap_at(&m->blocks, r.base);
		if (found && found->length == r.length)
			before_block(m, found, SNAPSHOT_WHY_NONE);
		break;
	case GMT_HISTORY_SEGMENT_FREE:
		after_segment(m, &r);
		break;
	case GMT_HISTORY_SEGMENT_ALLOC:
		found = rangemap_at(&m->segments, r.base);
		if (found && found->length == r.length)
			before_segment(m, found, SNAPSHOT_WHY_NONE);
		break;
	case GMT_HISTORY_OOM:
		emit_event(m, SNAPSHOT_OOM, &r, SNAPSHOT_WHY_NONE);
		break;
	default:
		break;
	}
}

/* ---- the replay ---- */

static void begin_at_the_end(struct moment *m, const struct window *end)
{
	struct rangemap_pos pos = { 0 };
	const struct range *r;

	while ((r = rangemap_next(&end->blocks, &pos)))
		rangemap_insert(&m->blocks, r);
	pos = (struct rangemap_pos){ 0 };
	while ((r = rangemap_next(&end->segments, &pos))) {
		rangemap_insert(&m->segments, r);
		if (is_plain(r))
			rangemap_insert(&m->blocks, r);
	}
}

static void turn_around(struct snapshot *s)
{
	for (size_t i = 0, j = s->event_count; i + 1 < j; i++) {
		struct snapshot_event e = s->events[--j];

		s->events[j] = s->events[i];
		s->events[i] = e;
	}
}

void snapshot_replay(const struct snapshot_index *x, uint32_t process, const struct window *end, struct snapshot *out)
{
	const struct history *h = x->h;
	const struct history_process *hp = &h->processes[process];
	uint64_t first = h->first > hp->since ? h->first : hp->since;
	struct moment m = { .out = out, .index = x, .first = first };

	out->dropped = first - hp->since;
	begin_at_the_end(&m, end);
	for (uint64_t n = x->newest_event[process]; n != SNAPSHOT_NONE && n >= first; n = x->event_before[n - h->first])
		take_back_event(&m, n);
	turn_around(out);
	rangemap_fini(&m.blocks);
	rangemap_fini(&m.segments);
}
