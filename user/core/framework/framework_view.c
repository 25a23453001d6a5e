/* SPDX-License-Identifier: BSD-2-Clause */
/* The part of a view about PyTorch's memory. See framework.h. */
#include "core/framework/framework.h"

#include "core/ledger/process.h"

/* A walk along the segments of one device. */
struct walk {
	uint64_t free_from;      /* all is free from here to the current place */
	uint64_t end;            /* end of the segment before */
	bool mapped;             /* the segment before is mapped */
	uint64_t largest;
};

static void used_from(struct walk *w, uint64_t base)
{
	if (base > w->free_from && base - w->free_from > w->largest)
		w->largest = base - w->free_from;
}

/* To PyTorch the pieces of an expandable segment are one segment; it never joins segments from cuMemAlloc. */
static void walk_segment(struct walk *w, const struct range *s)
{
	if (w->end != s->base || !w->mapped || !(s->aux & GMT_HISTORY_MAPPED)) {
		used_from(w, w->end);
		w->free_from = s->base;
	}
	w->end = s->base + s->length;
	w->mapped = s->aux & GMT_HISTORY_MAPPED;
}

static uint64_t largest_gap(const struct framework *f, unsigned int ordinal)
{
	struct rangemap_pos segment_pos = { 0 }, block_pos = { 0 };
	const struct range *s, *b = rangemap_next(&f->blocks, &block_pos);
	struct walk w = { 0 };

	while ((s = rangemap_next(&f->segments, &segment_pos))) {
		if ((unsigned int)s->gpu != ordinal || (s->aux & GMT_HISTORY_GUESSED))
			continue;
		walk_segment(&w, s);
		for (; b && b->base < w.end; b = rangemap_next(&f->blocks, &block_pos)) {
			if (b->base + b->length <= s->base)
				continue;
			used_from(&w, b->base);
			w.free_from = b->base + b->length;
		}
	}
	used_from(&w, w.end);
	return w.largest;
}

struct framework_gaps framework_gaps(const struct framework *f, unsigned int ordinal)
{
	const struct framework_device *d = &f->devices[ordinal];

	if (f->ended)
		return d->at_end;
	if (d->block_bytes != d->allocated.live || d->segment_bytes != d->reserved.live)
		return (struct framework_gaps){ 0 };
	return (struct framework_gaps){ .known = true, .largest = largest_gap(f, ordinal) };
}

static enum gmt_torch_backend judge_backend(uint64_t segment_bytes, uint64_t mapped_bytes)
{
	if (!segment_bytes)
		return GMT_TORCH_UNKNOWN;
	if (!mapped_bytes)
		return GMT_TORCH_NATIVE;
	return mapped_bytes == segment_bytes ? GMT_TORCH_EXPANDABLE : GMT_TORCH_MIXED;
}

/* Only the unknown GPU's row can have several devices. */
static bool is_in_row(const struct framework_device *d, unsigned int row)
{
	return d->row == row && (d->allocs | d->frees);
}

/* NULL: no device has the row. */
static const struct framework_device *device_of_row(const struct framework *f, unsigned int row)
{
	for (unsigned int i = 0; f && i < f->count; i++)
		if (is_in_row(&f->devices[i], row))
			return &f->devices[i];
	return NULL;
}

const struct stacks *framework_stacks(const struct framework *f, unsigned int row)
{
	const struct framework_device *d = device_of_row(f, row);

	return d ? &d->stacks : NULL;
}

struct iteration_span framework_iterations(const struct framework *f, unsigned int row)
{
	const struct framework_device *d = device_of_row(f, row);

	return d ? iteration_marks_span(&d->iterations) : (struct iteration_span){ 0 };
}

unsigned int framework_device_number(const struct framework *f, unsigned int row)
{
	const struct framework_device *d = device_of_row(f, row);

	return d ? (unsigned int)(d - f->devices) : ORDINAL_NONE;
}

uint64_t framework_reserved(const struct framework *f, unsigned int row)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; f && i < f->count; i++)
		sum += f->devices[i].row == row ? f->devices[i].reserved.live : 0;
	return sum;
}

unsigned int framework_ordinal(const struct framework *f, const struct process *p, unsigned int row)
{
	unsigned int ordinal = process_ordinal(p, p->account.rows[row].gpu);

	if (ordinal != ORDINAL_NONE || !row || p->named_several)
		return ordinal;
	return framework_device_number(f, row);
}

const struct hash *framework_waiting(const struct framework *f)
{
	return f && f->waiting.value_size ? &f->waiting : NULL;
}

uint64_t framework_waiting_dropped(const struct framework *f)
{
	return f ? f->waiting_dropped : 0;
}

uint64_t framework_phases_dropped(const struct framework *f)
{
	return f ? f->phases.dropped : 0;
}

const struct hash *framework_segment_stacks(const struct framework *f)
{
	return f && f->segment_stacks.value_size ? &f->segment_stacks : NULL;
}

static void add_level(struct view_level *sum, const struct view_level *level)
{
	sum->live += level->live;
	sum->peak += level->peak;
	if (level->peak_ts_ns > sum->peak_ts_ns)
		sum->peak_ts_ns = level->peak_ts_ns;
}

#define SUMS(X)                                                                                                  \
	X(blocks) X(block_bytes) X(sized) X(sized_bytes) X(asked_bytes) X(allocs) X(frees) X(alloc_bytes)        \
	X(freed_bytes) X(segments) X(segment_bytes)

/* The peak of several devices together is at most the sum of their peaks. */
void framework_view(const struct framework *f, unsigned int row, const struct frames *frames, uint64_t now_ns,
		    unsigned int since, struct view_torch *out)
{
	struct framework_moments at = { .since = since, .iterations = framework_iterations(f, row) };
	uint64_t mapped = 0;

	*out = (struct view_torch){ .gap_known = true, .recent_known = true };
	for (unsigned int i = 0; f && i < f->count; i++) {
		const struct framework_device *d = &f->devices[i];
		struct framework_gaps gaps;

		if (!is_in_row(d, row))
			continue;
		gaps = framework_gaps(f, i);
		out->seen = true;
		out->framework = f->id;
		add_level(&out->allocated, &d->allocated);
		add_level(&out->reserved, &d->reserved);
#define ADD(member) out->member += d->member;
		SUMS(ADD)
#undef ADD
		out->recent_peak += recent_peak(&d->recent, now_ns);
		out->recent_known &= recent_is_known(&d->recent, now_ns);
		out->gap_known &= gaps.known;
		if (gaps.largest > out->largest_free_gap)
			out->largest_free_gap = gaps.largest;
		mapped += d->mapped_bytes;
		framework_add_training(f, i, frames, &at, &out->training);
		at.iterations.iterations = 0;   /* they are those of the first device */
	}
	out->gap_known &= out->seen;
	out->recent_known &= out->seen;
	out->backend = judge_backend(out->segment_bytes, mapped);
}
