/* SPDX-License-Identifier: BSD-2-Clause */
/* See history_change.h. */
#include "core/history/history_change.h"

#include "base/xalloc.h"
#include "core/history/history_birth.h"

/* PyTorch's segments begin and end at multiples of it; so do the driver's larger allocations. */
#define SEGMENT_UNIT (2ULL << 20)

/* ---- events ---- */

struct history_event *history_add(const struct history_step *s, enum gmt_history_kind kind)
{
	struct history *h = s->h;
	struct history_event *e;

	if (h->next - h->origin >= h->capacity && h->capacity < h->most) {
		h->capacity = h->capacity ? h->capacity * 2 : 256;
		if (h->capacity > h->most)
			h->capacity = h->most;
		h->events = xreallocarray(h->events, h->capacity, sizeof(*h->events));
	}
	e = history_slot(h, h->next);
	*e = (struct history_event){
		.ts_ns = s->ts_ns, .kind = kind, .born = h->next, .process = s->hp - h->processes,
	};
	s->hp->last = h->next++;
	if (h->next - h->first > h->most)
		h->first = h->next - h->most;
	return e;
}

void history_add_range(const struct history_step *s, enum gmt_history_kind kind, const struct range *r)
{
	struct history_event *e = history_add(s, kind);

	e->address = r->base;
	e->size = r->length;
	e->flags = r->aux & HISTORY_FLAGS;
	e->device = r->gpu < 0 ? GMT_HISTORY_DEVICE_UNKNOWN : r->gpu;
	e->stack_id = history_stack(r);
	if (kind == GMT_HISTORY_BLOCK_FREE || kind == GMT_HISTORY_SEGMENT_FREE)
		e->born = r->offset;
	if (kind == GMT_HISTORY_BLOCK_FREE)
		e->category = history_category(s->hp, r, false);
}

/* ---- segments ---- */

/* Blocks lose the memory below them, or get it back. */
static void sleep_blocks(const struct history_step *s, const struct range *segment)
{
	const struct range *b;

	while ((b = rangemap_from(&s->hp->blocks, segment->base)) && b->base < segment->base + segment->length) {
		struct range block = *b;

		rangemap_remove(&s->hp->blocks, block.base, NULL);
		history_add_range(s, GMT_HISTORY_BLOCK_FREE, &block);
		rangemap_insert(&s->hp->asleep, &block);
	}
}

/* The segment holds a block of PyTorch's, which knows its device. */
static void claim_segment(const struct history_step *s, const struct range *found, int device)
{
	struct range segment = *found;

	if (segment.aux & GMT_HISTORY_TORCH)
		return;
	rangemap_remove(&s->hp->segments, segment.base, NULL);
	segment.aux |= GMT_HISTORY_TORCH;
	segment.gpu = device;
	rangemap_insert(&s->hp->segments, &segment);
}

/* Whether the block may lie there, in part: in one segment or in pieces, which are on one device. */
static bool fits_segment(const struct range *segment, const struct range *block)
{
	bool is_inside = segment->base <= block->base &&
			 block->base + block->length <= segment->base + segment->length;

	if ((segment->aux & GMT_HISTORY_TORCH) && segment->gpu != block->gpu)
		return false;
	return is_inside || (segment->aux & HISTORY_PIECE);
}

bool history_is_covered(const struct rangemap *segments, const struct range *block)
{
	uint64_t at = block->base, end = block->base + block->length;
	const struct range *segment;

	while (at < end && (segment = rangemap_find(segments, at)) && fits_segment(segment, block))
		at = segment->base + segment->length;
	return at >= end;
}

static void claim_segments(const struct history_step *s, const struct range *block)
{
	uint64_t at = block->base, end = block->base + block->length;
	const struct range *segment;

	while (at < end && (segment = rangemap_find(&s->hp->segments, at))) {
		at = segment->base + segment->length;
		claim_segment(s, segment, block->gpu);
	}
}

void history_wake_blocks(const struct history_step *s, const struct range *segment)
{
	uint64_t at = segment->base, end = segment->base + segment->length;
	const struct range *b;

	while (s->hp->asleep.count && (b = rangemap_from(&s->hp->asleep, at)) && b->base < end) {
		struct range block = *b;

		at = block.base + block.length;
		if (!history_is_covered(&s->hp->segments, &block))
			continue;
		rangemap_remove(&s->hp->asleep, block.base, NULL);
		block.offset = s->h->next;
		if (!rangemap_insert(&s->hp->blocks, &block))
			continue;
		history_add_range(s, GMT_HISTORY_BLOCK_ALLOC, &block);
		claim_segments(s, &block);
	}
}

/* It is out of the map already. */
void history_end_segment(const struct history_step *s, const struct range *segment)
{
	sleep_blocks(s, segment);
	history_add_range(s, GMT_HISTORY_SEGMENT_FREE, segment);
}

/* All that lies in [base, base + length): of a guess just the part there. */
void history_end_segments(const struct history_step *s, uint64_t base, uint64_t length)
{
	const struct range *found;

	while (length && (found = rangemap_from(&s->hp->segments, base)) &&
	       (found->base < base || found->base - base < length)) {
		struct range r = *found;

		if (!(r.aux & GMT_HISTORY_GUESSED))
			rangemap_remove(&s->hp->segments, r.base, NULL);
		else if (!rangemap_cut(&s->hp->segments, base, length, &r))
			return;
		history_end_segment(s, &r);
	}
}

void history_begin_segment(const struct history_step *s, struct range *segment)
{
	if (!history_is_place(segment->base, segment->length))
		return;
	/* What was there has ended unseen. */
	history_end_segments(s, segment->base, segment->length);
	segment->offset = s->h->next;
	if (!rangemap_insert(&s->hp->segments, segment))
		return;
	history_add_range(s, GMT_HISTORY_SEGMENT_ALLOC, segment);
	history_wake_blocks(s, segment);
}

/* Makes up a segment for what lies at `at`, and all of [at, end) that is in none. */
static void guess_segment(const struct history_step *s, uint64_t at, uint64_t end, int device)
{
	struct range guess = {
		.base = at & ~(SEGMENT_UNIT - 1), .offset = GMT_HISTORY_UNSEEN, .gpu = device,
		.aux = GMT_HISTORY_TORCH | GMT_HISTORY_GUESSED,
	};
	uint64_t stop = (end + SEGMENT_UNIT - 1) & ~(SEGMENT_UNIT - 1);
	const struct range *other;

	while ((other = rangemap_from(&s->hp->segments, guess.base)) && other->base < at)
		guess.base = other->base + other->length;
	if (other && other->base < stop)
		stop = other->base;
	guess.length = stop - guess.base;
	rangemap_insert(&s->hp->segments, &guess);
}

/* What is there and cannot hold the block has ended unseen. */
static void end_unfit(const struct history_step *s, const struct range *block)
{
	uint64_t at = block->base, end = block->base + block->length;
	const struct range *found;

	while (at < end && (found = rangemap_from(&s->hp->segments, at)) && found->base < end) {
		struct range r = *found;

		at = r.base + r.length;
		if (fits_segment(&r, block))
			continue;
		rangemap_remove(&s->hp->segments, r.base, NULL);
		history_end_segment(s, &r);
	}
}

bool history_cover(const struct history_step *s, const struct range *block)
{
	uint64_t at = block->base, end = block->base + block->length;

	end_unfit(s, block);
	while (at < end) {
		const struct range *segment = rangemap_find(&s->hp->segments, at);

		if (!segment) {
			guess_segment(s, at, end, block->gpu);
			segment = rangemap_find(&s->hp->segments, at);
		}
		if (!segment)
			return false;
		at = segment->base + segment->length;
	}
	claim_segments(s, block);
	return true;
}

/* ---- blocks ---- */

bool history_end_block(const struct history_step *s, uint64_t base)
{
	struct range block;

	if (!rangemap_remove(&s->hp->blocks, base, &block))
		return rangemap_remove(&s->hp->asleep, base, NULL);
	history_add_range(s, GMT_HISTORY_BLOCK_FREE, &block);
	return true;
}
