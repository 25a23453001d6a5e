// SPDX-License-Identifier: BSD-2-Clause
#include "core/history/window.h"

#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "core/framework/framework_state.h"
#include "core/framework/segments.h"
#include "core/ledger/process.h"

void window_init(struct window *w)
{
	*w = (struct window){ 0 };
	hash_init(&w->asked, sizeof(struct window_asked));
}

void window_free(struct window *w)
{
	rangemap_fini(&w->segments);
	rangemap_fini(&w->blocks);
	hash_fini(&w->asked);
	free(w->unseen);
}

static void copy_ranges(struct rangemap *to, const struct rangemap *from)
{
	struct rangemap_pos pos = { 0 };
	const struct range *r;

	while ((r = rangemap_next(from, &pos)))
		rangemap_insert(to, r);
}

static void copy_unseen(struct window *to, const struct window *from)
{
	to->unseen = xcalloc(from->unseen_count + 1, sizeof(*to->unseen));
	to->unseen_count = from->unseen_count;
	if (from->unseen_count)
		memcpy(to->unseen, from->unseen, from->unseen_count * sizeof(*to->unseen));
}

void window_copy(struct window *to, const struct window *from)
{
	uint64_t address;
	size_t pos = 0;
	void *asked;

	window_init(to);
	copy_ranges(&to->segments, &from->segments);
	copy_ranges(&to->blocks, &from->blocks);
	while (hash_next(&from->asked, &pos, &address, &asked))
		*(struct window_asked *)hash_put(&to->asked, address, NULL) = *(struct window_asked *)asked;
	copy_unseen(to, from);
}

void window_copy_device(struct window *to, const struct window *from, int device)
{
	struct rangemap_pos segment = { 0 }, block = { 0 };
	const struct window_asked *asked;
	const struct range *r;

	window_init(to);
	while ((r = rangemap_next(&from->segments, &segment)))
		if (r->gpu == device)
			rangemap_insert(&to->segments, r);
	while ((r = rangemap_next(&from->blocks, &block))) {
		if (r->gpu != device || !rangemap_insert(&to->blocks, r))
			continue;
		asked = hash_get(&from->asked, r->base);
		if (asked)
			*(struct window_asked *)hash_put(&to->asked, r->base, NULL) = *asked;
	}
	copy_unseen(to, from);
}

bool window_is_joined(const struct range *a, const struct range *b)
{
	return (a->aux & GMT_HISTORY_TORCH) && (b->aux & GMT_HISTORY_TORCH) && (a->aux & SEGMENT_PIECE) &&
	       (b->aux & SEGMENT_PIECE) && a->gpu == b->gpu && a->base + a->length == b->base;
}

/* ---- requested bytes ---- */

uint64_t window_asked(const struct window *w, const struct range *block)
{
	const struct window_asked *asked = hash_get(&w->asked, block->base);

	return asked && asked->born_ns == block->offset ? asked->bytes : 0;
}

void window_set_asked(struct window *w, const struct range *block, uint64_t bytes)
{
	*(struct window_asked *)hash_put(&w->asked, block->base, NULL) = (struct window_asked){ block->offset, bytes };
}

/* ---- the present ---- */

static void add_plain_segment(void *arg, const struct range *segment)
{
	struct window *w = arg;

	rangemap_insert(&w->segments, segment);
}

static void add_live_block(struct window *w, const struct framework *f, const struct range *live)
{
	const struct framework_size *size = sizes_of(f, live->base);
	struct range block = *live;

	block.value = (uint32_t)live->value;
	block.aux = window_aux(0, framework_category(f, live, true));
	if (!segments_hold(&w->segments, &block) || !rangemap_insert(&w->blocks, &block))
		return;
	if (size && size->bytes <= block.length)
		window_set_asked(w, &block, size->bytes);
}

static uint64_t sum_lengths(const struct rangemap *map, int device)
{
	struct rangemap_pos pos = { 0 };
	const struct range *r;
	uint64_t sum = 0;

	while ((r = rangemap_next(map, &pos)))
		sum += r->gpu == device ? r->length : 0;
	return sum;
}

static uint64_t less_or_none(uint64_t from, uint64_t what)
{
	return from > what ? from - what : 0;
}

static bool has_lost_blocks(const struct framework *f)
{
	struct rangemap_pos pos = { 0 };
	const struct range *b;

	while ((b = rangemap_next(&f->blocks, &pos)))
		if (b->aux & BLOCK_LOST)
			return true;
	return false;
}

/* What is unseen: the framework's own totals, less the known blocks and segments. */
static void fill_unseen(struct window *w, const struct framework *f)
{
	/* Where memory was taken away below PyTorch's blocks, PyTorch still counts the memory as reserved. */
	bool is_lost = has_lost_blocks(f);

	w->unseen = xcalloc(f->count, sizeof(*w->unseen));
	w->unseen_count = f->count;
	for (unsigned int i = 0; i < f->count; i++) {
		const struct framework_device *d = &f->devices[i];

		w->unseen[i].allocated = less_or_none(d->allocated.live, d->block_bytes);
		if (!is_lost && !f->p->from_start)
			w->unseen[i].reserved = less_or_none(d->reserved.live, sum_lengths(&f->segments, i));
	}
}

void window_now(struct window *w, const struct process *p, const struct framework *f)
{
	struct rangemap_pos pos = { 0 };
	const struct range *r;

	window_init(w);
	if (f)
		copy_ranges(&w->segments, &f->segments);
	segments_each_plain(f, p, add_plain_segment, w);
	while (f && (r = rangemap_next(&f->blocks, &pos)))
		if (!(r->aux & BLOCK_LOST))
			add_live_block(w, f, r);
	if (f)
		fill_unseen(w, f);
}

/* ---- the past ---- */

void window_undo(struct window *w, enum gmt_history_kind kind, const struct range *r)
{
	bool is_block = kind == GMT_HISTORY_BLOCK_ALLOC || kind == GMT_HISTORY_BLOCK_FREE;
	struct rangemap *map = is_block ? &w->blocks : &w->segments;

	if (kind == GMT_HISTORY_BLOCK_ALLOC || kind == GMT_HISTORY_SEGMENT_ALLOC)
		rangemap_remove(map, r->base, NULL);
	else if (kind == GMT_HISTORY_BLOCK_FREE || kind == GMT_HISTORY_SEGMENT_FREE)
		rangemap_insert(map, r);
}
