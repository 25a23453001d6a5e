// SPDX-License-Identifier: BSD-2-Clause
#include "core/framework/segments.h"

#include <stdlib.h>

#include "core/framework/framework_state.h"
#include "core/framework/waiting.h"
#include "core/ledger/process.h"
#include "core/terms/names.h"

/* PyTorch's segments and the driver's larger allocations begin and end at multiples of this size. */
#define SEGMENT_UNIT (2ULL << 20)

static void give_segment(const struct process *p, const struct deltas *out, enum delta_kind kind, const struct range *r,
			 uint64_t ts_ns)
{
	deltas_give(out, &(struct delta){ .kind = kind, .p = p, .ts_ns = ts_ns, .segment.range = r });
}

void segments_give_block(const struct framework *f, enum delta_kind kind, const struct range *block,
			 unsigned int category, uint32_t tid, uint64_t ts_ns)
{
	deltas_give(f->out, &(struct delta){
		.kind = kind, .tid = tid, .p = f->p, .ts_ns = ts_ns, .block = { .range = block, .category = category },
	});
}

/* ---- which segments hold a block ---- */

/* Whether a part of the block may lie in the segment: blocks lie in one segment, or in pieces, on one device. */
static bool may_hold(const struct range *segment, const struct range *block)
{
	bool is_inside = segment->base <= block->base &&
			 block->base + block->length <= segment->base + segment->length;

	return (segment->aux & GMT_HISTORY_TORCH) && segment->gpu == block->gpu &&
	       (is_inside || (segment->aux & SEGMENT_PIECE));
}

bool segments_hold(const struct rangemap *segments, const struct range *block)
{
	uint64_t at = block->base, end = block->base + block->length;
	const struct range *segment;

	while (at < end && (segment = rangemap_find(segments, at)) && may_hold(segment, block))
		at = segment->base + segment->length;
	return at >= end;
}

/* ---- a framework's segments ---- */

static void count_segment(struct framework *f, const struct range *s, int sign)
{
	struct framework_device *d = &f->devices[s->gpu];

	if (s->aux & GMT_HISTORY_GUESSED)
		return;
	d->segments += sign;
	d->segment_bytes += sign * s->length;
	d->mapped_bytes += s->aux & GMT_HISTORY_MAPPED ? sign * s->length : 0;
}

/* The first range of the map that lies, at least in part, inside the other range; NULL: none does. */
static const struct range *first_in(const struct rangemap *map, const struct range *in)
{
	const struct range *first = rangemap_from(map, in->base);

	return first && first->base < in->base + in->length ? first : NULL;
}

/* Copies the next range of the map that lies, at least in part, in [*at, end), and moves *at behind the range. The map
 * may change between two calls. False: no range is left. */
static bool next_in(const struct rangemap *map, uint64_t *at, uint64_t end, struct range *out)
{
	const struct range *next = *at < end ? rangemap_from(map, *at) : NULL;

	if (!next || next->base >= end)
		return false;
	*out = *next;
	*at = next->base + next->length;
	return true;
}

static void mark_block(struct framework *f, struct range *block, bool is_lost)
{
	rangemap_remove(&f->blocks, block->base, NULL);
	block->aux = is_lost ? block->aux | BLOCK_LOST : block->aux & ~BLOCK_LOST;
	rangemap_insert(&f->blocks, block);
}

/* Marks the blocks in the segment: the memory below them is gone. */
static void lose_blocks(struct framework *f, const struct range *segment, uint64_t ts_ns)
{
	uint64_t at = segment->base;
	struct range block;

	while (next_in(&f->blocks, &at, segment->base + segment->length, &block)) {
		if (block.aux & BLOCK_LOST)
			continue;
		mark_block(f, &block, true);
		segments_give_block(f, DELTA_BLOCK_LOST, &block, framework_category(f, &block, false), 0, ts_ns);
	}
}

/*
 * The segment is out of the map already. PyTorch gives back only segments without blocks, and sends no event then. So
 * PyTorch's reserved bytes fall here. If the segment has blocks, somebody else has taken the memory away below them
 * (vLLM's sleep mode, a custom allocator), and for PyTorch nothing has changed.
 */
static void end_segment(struct framework *f, const struct range *s, uint64_t ts_ns)
{
	struct framework_device *d = &f->devices[s->gpu];
	bool is_guess = s->aux & GMT_HISTORY_GUESSED;

	count_segment(f, s, -1);
	if (first_in(&f->blocks, s))
		d->unchecked = true;
	else if (!is_guess && s->length <= d->reserved.live)
		level_set(&d->reserved, d->reserved.live - s->length, ts_ns);
	lose_blocks(f, s, ts_ns);
	give_segment(f->p, f->out, DELTA_SEGMENT_FREE, s, ts_ns);
}

static void take_segment(struct framework *f, const struct range *s, uint64_t ts_ns)
{
	f->taken[f->next_taken++ % FRAMEWORK_TAKEN] = *s;
	end_segment(f, s, ts_ns);
}

/* Ends the parts of guessed segments in [base, base + length). */
static void end_guesses(struct framework *f, uint64_t base, uint64_t length, uint64_t ts_ns)
{
	uint64_t at = base, end = length < UINT64_MAX - base ? base + length : UINT64_MAX;
	struct range r;

	while (next_in(&f->segments, &at, end, &r))
		if (r.aux & GMT_HISTORY_GUESSED && rangemap_cut(&f->segments, base, length, &r))
			take_segment(f, &r, ts_ns);
}

/* The segment is there again: its blocks have their memory back. */
static void find_blocks_again(struct framework *f, const struct range *segment, uint64_t ts_ns)
{
	uint64_t at = segment->base;
	struct range block;

	while (next_in(&f->blocks, &at, segment->base + segment->length, &block)) {
		if (!(block.aux & BLOCK_LOST) || !segments_hold(&f->segments, &block))
			continue;
		mark_block(f, &block, false);
		segments_give_block(f, DELTA_BLOCK_BACK, &block, 0, 0, ts_ns);
	}
}

static bool claim_segment(struct framework *f, struct range *segment, int device)
{
	segment->aux |= GMT_HISTORY_TORCH;
	segment->gpu = device;
	if (!rangemap_insert(&f->segments, segment))
		return false;
	count_segment(f, segment, 1);
	if (!f->segment_stacks.value_size)
		hash_init(&f->segment_stacks, sizeof(uint8_t));
	if (segment->value)
		hash_put(&f->segment_stacks, segment->value, NULL);
	return true;
}

/* ---- the driver's memory ---- */

/* The ordinal that the memory was asked for on, else its GPU's ordinal. -1: not known. */
static int device_of_memory(const struct process *p, unsigned int ordinal, unsigned int row)
{
	int gpu = row < p->account.count ? p->account.rows[row].gpu : GPU_UNKNOWN;

	if (ordinal != ORDINAL_NONE)
		return ordinal;
	for (unsigned int i = 0; gpu != GPU_UNKNOWN && i < p->contexts.device_count; i++)
		if (p->contexts.devices[i].gpu == gpu)
			return i;
	return -1;
}

static struct range range_of(const struct process *p, const struct booking *b, uint64_t base, uint64_t length,
			     unsigned int ordinal, uint64_t born_ns)
{
	return (struct range){
		.base = base, .length = length, .offset = born_ns, .value = b->stack_id,
		.gpu = device_of_memory(p, ordinal, b->row),
	};
}

/* False: the delta is not of device memory at an address. */
static bool range_of_delta(const struct delta *d, struct range *r)
{
	bool is_place = d->kind == DELTA_MAP || d->kind == DELTA_UNMAP || d->kind == DELTA_REMAP;
	const struct booking *b = is_place ? &d->place.booking : &d->memory.booking;

	if (!gmt_class_is_device(b->class))
		return false;
	if (is_place) {
		*r = range_of(d->p, b, d->place.address, d->place.length, d->place.ordinal, d->place.born_ns);
		r->aux = GMT_HISTORY_MAPPED;
	} else {
		*r = range_of(d->p, b, d->memory.address, b->bytes, d->memory.ordinal, d->memory.born_ns);
	}
	return r->base && alloc_is_place(r->base, r->length);
}

/* An older segment at this place has ended unseen. New memory below lost blocks is the framework's. */
static void begin_segment(struct framework *f, const struct deltas *out, const struct delta *d, struct range *r)
{
	const struct range *found;

	while (f && (found = first_in(&f->segments, r))) {
		struct range old = *found;

		if (!(old.aux & GMT_HISTORY_GUESSED))
			rangemap_remove(&f->segments, old.base, NULL);
		else if (!rangemap_cut(&f->segments, r->base, r->length, &old))
			break;
		end_segment(f, &old, d->ts_ns);
	}
	give_segment(d->p, out, DELTA_SEGMENT_ALLOC, r, d->ts_ns);
	found = f ? first_in(&f->blocks, r) : NULL;
	if (found && claim_segment(f, r, found->gpu))
		find_blocks_again(f, r, d->ts_ns);
}

static void release_segment(struct framework *f, const struct deltas *out, const struct delta *d, const struct range *r)
{
	struct range own;

	if (f && rangemap_remove(&f->segments, r->base, &own)) {
		take_segment(f, &own, d->ts_ns);
		return;
	}
	if (f)
		end_guesses(f, r->base, r->length, d->ts_ns);
	give_segment(d->p, out, DELTA_SEGMENT_FREE, r, d->ts_ns);
}

/* Takes the segment that begins at `base` out of f->taken. False: no segment begins there. */
static bool find_taken(struct framework *f, uint64_t base, struct range *r)
{
	for (unsigned int i = 0; f && i < FRAMEWORK_TAKEN; i++) {
		if (f->taken[i].base != base || !f->taken[i].length)
			continue;
		*r = f->taken[i];
		f->taken[i].length = 0;
		return true;
	}
	return false;
}

static void put_back(struct framework *f, struct range *s, uint64_t ts_ns)
{
	struct framework_device *d = &f->devices[s->gpu];

	if (!claim_segment(f, s, s->gpu))
		return;
	if (!first_in(&f->blocks, s) && !(s->aux & GMT_HISTORY_GUESSED))
		level_set(&d->reserved, d->reserved.live + s->length, ts_ns);
	give_segment(f->p, f->out, DELTA_SEGMENT_BACK, s, ts_ns);
	find_blocks_again(f, s, ts_ns);
}

static void restore_segment(struct framework *f, const struct deltas *out, const struct delta *d, struct range *r)
{
	struct range own;

	if (find_taken(f, r->base, &own))
		put_back(f, &own, d->ts_ns);
	else
		give_segment(d->p, out, DELTA_SEGMENT_BACK, r, d->ts_ns);
}

static void restore_guesses(struct framework *f, const struct delta *d)
{
	for (unsigned int i = 0; i < FRAMEWORK_TAKEN; i++) {
		struct range r = f->taken[i];

		if (!r.length || !(r.aux & GMT_HISTORY_GUESSED) || r.base - d->place.address >= d->place.length)
			continue;
		f->taken[i].length = 0;
		put_back(f, &r, d->ts_ns);
	}
}

void segments_see(struct framework *f, const struct deltas *out, const struct delta *d)
{
	struct range r;

	if (d->kind == DELTA_RELEASE || d->kind == DELTA_RELEASE_FAILED) {
		const struct range *guess = f ? rangemap_find(&f->segments, d->place.address) : NULL;
		uint64_t length = d->place.length;

		if (f && d->kind == DELTA_RELEASE_FAILED)
			restore_guesses(f, d);
		/* A free gives only an address: the guessed segment goes from that address on. */
		else if (guess && length == 1)
			end_guesses(f, d->place.address, guess->base + guess->length - d->place.address, d->ts_ns);
		else if (f)
			end_guesses(f, d->place.address, length, d->ts_ns);
		return;
	}
	if (!range_of_delta(d, &r))
		return;
	if (d->kind == DELTA_ALLOC || d->kind == DELTA_MAP)
		begin_segment(f, out, d, &r);
	else if (d->kind == DELTA_FREE || d->kind == DELTA_UNMAP)
		release_segment(f, out, d, &r);
	else
		restore_segment(f, out, d, &r);
}

/* ---- segments below blocks ---- */

/* The driver's allocation that begins at the address, of memory of any class. False: none does. */
static bool memory_at(const struct process *p, uint64_t address, struct range *out, unsigned int *class)
{
	struct delta_place place;
	bool is_mapped;

	if (!process_memory_at(p, address, &place, &is_mapped) || !alloc_is_place(address, place.length))
		return false;
	*out = range_of(p, &place.booking, address, place.length, place.ordinal, place.born_ns);
	out->aux = is_mapped ? GMT_HISTORY_MAPPED : 0;
	*class = place.booking.class;
	return true;
}

/* The segment that begins at the address; NULL: none does, or it overlaps another. */
static const struct range *learn_segment(struct framework *f, int device, uint64_t address)
{
	unsigned int class;
	struct range s;

	return memory_at(f->p, address, &s, &class) && claim_segment(f, &s, device) ?
		       rangemap_at(&f->segments, address) : NULL;
}

/* Makes up a segment at `at` that covers [at, end) up to the next segment. */
static const struct range *guess_segment(struct framework *f, uint64_t at, uint64_t end, int device)
{
	struct range guess = {
		.base = at & ~(SEGMENT_UNIT - 1), .gpu = device, .aux = GMT_HISTORY_TORCH | GMT_HISTORY_GUESSED,
	};
	uint64_t stop = (end + SEGMENT_UNIT - 1) & ~(SEGMENT_UNIT - 1);
	const struct range *other;

	while ((other = rangemap_from(&f->segments, guess.base)) && other->base < at)
		guess.base = other->base + other->length;
	if (other && other->base < stop)
		stop = other->base;
	guess.length = stop - guess.base;
	rangemap_insert(&f->segments, &guess);
	return rangemap_find(&f->segments, at);
}

int segments_device(const struct framework *f, uint64_t address, unsigned int *row)
{
	const struct range *segment = rangemap_find(&f->segments, address);
	struct delta_place place;
	bool is_mapped;

	*row = 0;
	if (segment)
		return segment->gpu;
	if (!process_memory_at(f->p, address, &place, &is_mapped) || !gmt_class_is_device(place.booking.class))
		return -1;
	*row = place.booking.row;
	return device_of_memory(f->p, place.ordinal, place.booking.row);
}

static void end_unfit(struct framework *f, const struct range *block, uint64_t ts_ns)
{
	uint64_t at = block->base;
	struct range r;

	while (next_in(&f->segments, &at, block->base + block->length, &r)) {
		if (may_hold(&r, block))
			continue;
		rangemap_remove(&f->segments, r.base, NULL);
		end_segment(f, &r, ts_ns);
	}
}

bool segments_cover(struct framework *f, const struct range *block, uint32_t waiting_id, uint64_t ts_ns)
{
	uint64_t at = block->base, end = block->base + block->length;
	bool is_known = true;

	end_unfit(f, block, ts_ns);
	while (at < end) {
		const struct range *s = rangemap_find(&f->segments, at);

		if (!s && (s = learn_segment(f, block->gpu, at)))
			f->waiting_dropped += !waiting_add(&f->waiting, (uint32_t)s->value, waiting_id);
		if (!s) {
			is_known = false;
			s = guess_segment(f, at, end, block->gpu);
		}
		if (!s)
			return false;
		is_known &= !(s->aux & GMT_HISTORY_GUESSED);
		at = s->base + s->length;
	}
	return is_known;
}

/* ---- memory without a framework ---- */

static void each_plain(const struct framework *f, const struct process *p, uint64_t address, segments_fn fn, void *arg)
{
	unsigned int class;
	struct range r;

	if (memory_at(p, address, &r, &class) && gmt_class_is_device(class) && !(f && first_in(&f->segments, &r)))
		fn(arg, &r);
}

void segments_each_plain(const struct framework *f, const struct process *p, segments_fn fn, void *arg)
{
	size_t mapped_count, count;
	uint64_t *mapped = hash_sorted_keys(&p->vmm.mappings, &mapped_count);
	uint64_t *addresses = hash_sorted_keys(&p->allocs.by_address, &count);

	for (size_t i = 0; i < mapped_count; i++)
		each_plain(f, p, mapped[i], fn, arg);
	for (size_t i = 0; i < count; i++)
		if (!hash_get(&p->vmm.mappings, addresses[i]))
			each_plain(f, p, addresses[i], fn, arg);
	free(mapped);
	free(addresses);
}
