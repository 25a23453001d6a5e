/* SPDX-License-Identifier: BSD-2-Clause */
/* The purposes of a framework's blocks: now, when most was allocated, and as a view shows them. */
#include <stdlib.h>

#include "base/xalloc.h"
#include "core/terms/frames.h"
#include "core/framework/framework.h"

/* ---- one block ---- */

static struct training_moment now_of(const struct framework *f, unsigned int ordinal)
{
	const struct phase_line *line = phases_line(&f->phases, ordinal);

	return line ? line->now : (struct training_moment){ 0 };
}

unsigned int framework_category(const struct framework *f, const struct range *block, bool is_alive)
{
	if (!category_is_known(block))
		return 0;
	return 1 + category_guess(block, now_of(f, block->gpu), is_alive, f->devices[block->gpu].is_first);
}

/* A block that goes after an out-of-memory error, before any new block, goes because of the error. Until then the block
 * was for what it seemed to be for when the error came; so are the blocks that are left. */
static enum gmt_category category_at_peak(const struct framework_device *d, const struct range *block,
					  enum gmt_category category)
{
	return d->has_failed ? category_guess(block, d->failed, true, d->is_first) : category;
}

static uint64_t late_bytes(const struct range *block, struct training_moment now)
{
	return category_is_late(block, now.iteration) ? block->length : 0;
}

static struct framework_kind *put_kind(struct framework_kinds *kinds, struct hash *by_kind, uint32_t stack_id,
				      enum gmt_category category)
{
	uint32_t *index = hash_put(by_kind, (uint64_t)stack_id << 32 | category, NULL);

	if (!*index) {
		kinds->list = xgrow(kinds->list, kinds->count, sizeof(*kinds->list));
		kinds->list[kinds->count++] = (struct framework_kind){ .stack_id = stack_id, .category = category };
		*index = kinds->count;
	}
	return &kinds->list[*index - 1];
}

/* Adds a block to what was there at the marks. */
static void add_to_marks(struct framework_kind *kind, const struct framework_device *d, const struct range *block)
{
	for (unsigned int i = 0; i < STACKS_MARKS; i++)
		if (block->offset <= d->mark_ns[i])
			kind->at_mark[i] += block->length;
}

static bool is_of_mark(const struct framework_kind *gone, const struct framework_device *d, unsigned int mark)
{
	return gone->changed > d->stacks.mark_change[mark];
}

static void count_gone_of_marks(struct framework_kind *kind, const struct framework_device *d,
				const struct range *block)
{
	for (unsigned int i = 0; i < STACKS_MARKS; i++)
		if (!is_of_mark(kind, d, i))
			kind->at_mark[i] = 0;
	add_to_marks(kind, d, block);
	kind->changed = d->stacks.changes + 1;
}

static void count_gone(struct framework_device *d, const struct range *block, enum gmt_category category,
		       struct training_moment now)
{
	struct framework_gone *gone = &d->gone;
	uint32_t stack_id = (uint32_t)block->value;
	struct framework_kind *kind;

	/* Where stacks are given up, a new one is memory without a stack here, too. */
	if (d->stacks.is_closed && !hash_get(&gone->by_kind, (uint64_t)stack_id << 32 | category))
		stack_id = 0;
	kind = put_kind(&gone->kinds, &gone->by_kind, stack_id, category);
	if (kind->peak != gone->peak)
		kind->at_peak = kind->late_at_peak = 0;
	kind->peak = gone->peak;
	count_gone_of_marks(kind, d, block);
	if (block->offset > d->allocated.peak_ts_ns)
		return;
	kind->at_peak += block->length;
	kind->late_at_peak += late_bytes(block, now);
}

/* Most blocks are gone before the next mark, and were not there at the peak. */
static bool is_counted(const struct framework_device *d, const struct range *block)
{
	return block->offset <= d->allocated.peak_ts_ns || block->offset <= d->newest_mark_ns;
}

unsigned int framework_count_gone(struct framework *f, const struct range *block)
{
	struct framework_device *d = &f->devices[block->gpu];
	struct training_moment now = now_of(f, block->gpu);
	enum gmt_category category = category_guess(block, now, false, d->is_first);

	if (is_counted(d, block))
		count_gone(d, block, category_at_peak(d, block, category), now);
	return category_is_known(block) ? category + 1 : 0;
}

/* ---- live blocks ---- */

static void add_kind(struct framework_kinds *kinds, struct hash *found, const struct framework *f,
		     const struct range *block)
{
	const struct framework_device *d = &f->devices[block->gpu];
	struct training_moment now = now_of(f, block->gpu);
	enum gmt_category category = category_at_peak(d, block, category_guess(block, now, true, d->is_first));
	struct framework_kind *kind = put_kind(kinds, found, (uint32_t)block->value, category);
	uint64_t late = late_bytes(block, now);

	kind->count++;
	kind->live += block->length;
	kind->late += late;
	add_to_marks(kind, d, block);
	if (block->offset > d->allocated.peak_ts_ns)
		return;
	kind->at_peak += block->length;
	kind->late_at_peak += late;
}

void framework_kinds_make(const struct framework *f, unsigned int ordinal, struct framework_kinds *out)
{
	struct rangemap_pos pos = { 0 };
	const struct range *block;
	struct hash found;

	*out = (struct framework_kinds){ 0 };
	hash_init(&found, sizeof(uint32_t));
	while ((block = rangemap_next(&f->blocks, &pos)))
		if ((unsigned int)block->gpu == ordinal)
			add_kind(out, &found, f, block);
	hash_fini(&found);
}

void framework_kinds_free(struct framework_kinds *kinds)
{
	free(kinds->list);
	*kinds = (struct framework_kinds){ 0 };
}

static bool is_of_moment(const struct framework_device *d, const struct framework_kind *gone)
{
	bool is_of = gone->peak == d->gone.peak;

	for (unsigned int i = 0; i < STACKS_MARKS; i++)
		is_of |= gone->at_mark[i] && is_of_mark(gone, d, i);
	return is_of;
}

void framework_gone_end(struct framework_device *d)
{
	struct framework_gone *gone = &d->gone;
	struct framework_kinds *kinds = &gone->kinds;
	size_t kept = 0;

	for (size_t i = 0; i < kinds->count; i++)
		if (is_of_moment(d, &kinds->list[i]))
			kinds->list[kept++] = kinds->list[i];
	kinds->count = kept;
	kinds->list = xreallocarray(kinds->list, kept + 1, sizeof(*kinds->list)); /* nothing is added any longer */
	hash_fini(&gone->by_kind);
}

/* ---- the view ---- */

static enum gmt_category with_hint(const struct framework_kind *kind, const struct frames *frames)
{
	return category_with_hint(kind->category, frames_hint(frames, kind->stack_id));
}

enum gmt_category framework_purpose(const struct frames *frames, const struct range *block, unsigned int category)
{
	struct framework_kind kind = {
		.stack_id = (uint32_t)block->value, .category = category ? category - 1 : GMT_CATEGORY_UNKNOWN,
	};

	return with_hint(&kind, frames);
}

static int compare_live(const void *left, const void *right)
{
	const struct view_purpose *a = left, *b = right;

	return (a->live > b->live) - (a->live < b->live);
}

static int compare_at_peak(const void *left, const void *right)
{
	const struct view_purpose *a = left, *b = right;

	return (a->at_peak > b->at_peak) - (a->at_peak < b->at_peak);
}

static void add_purpose(const struct framework_kind *kind, enum gmt_category category, struct view_training *out)
{
	out->categories[category].late += kind->late;
	out->categories[category].late_at_peak += out->has_ended ? kind->late_at_peak : 0;
	if (kind->stack_id)
		out->purposes[out->purpose_count++] = (struct view_purpose){
			.stack_id = kind->stack_id, .category = category, .live = kind->live, .at_peak = kind->at_peak,
		};
}

/* What the blocks held at a moment (enum stacks_moment, but for the peak). */
static int64_t held_at(const struct framework_kind *kind, unsigned int moment)
{
	if (moment == STACKS_AT_START)
		return 0;
	return (int64_t)(moment < STACKS_MARKS ? kind->at_mark[moment] : kind->live);
}

static void add_growth(const struct framework_kind *kind, const struct framework_moments *at, struct view_category *c)
{
	c->grown += (int64_t)kind->live - held_at(kind, at->since);
	if (at->iterations.iterations)
		c->each += held_at(kind, at->iterations.to) - held_at(kind, at->iterations.from);
}

static void add_kinds(const struct framework_kinds *kinds, const struct frames *frames,
		      const struct framework_moments *at, struct view_training *out)
{
	for (size_t i = 0; i < kinds->count; i++) {
		const struct framework_kind *kind = &kinds->list[i];
		enum gmt_category category = with_hint(kind, frames);
		struct view_category *c = &out->categories[category];

		add_purpose(kind, category, out);
		add_growth(kind, at, c);
		c->live += kind->live;
		c->count += kind->count;
		c->at_peak += kind->at_peak;
	}
}

static void drop_old_moments(struct framework_kind *gone, const struct framework_device *d)
{
	if (gone->peak != d->gone.peak)
		gone->at_peak = gone->late_at_peak = 0;
	for (unsigned int i = 0; i < STACKS_MARKS; i++)
		if (!is_of_mark(gone, d, i))
			gone->at_mark[i] = 0;
}

/* What is gone of the newest peak and of the marks. Outside of a training all that goes seems to be temporary; but to
 * say so of what was there at the peak, or at a mark, would say nothing: the code that asked for it says more. */
static void add_gone(const struct framework_device *d, const struct frames *frames, bool in_training,
		     const struct framework_moments *at, struct view_training *out)
{
	for (size_t i = 0; i < d->gone.kinds.count; i++) {
		struct framework_kind kind = d->gone.kinds.list[i];
		uint8_t seemed = kind.category;

		drop_old_moments(&kind, d);
		if (!in_training && kind.category == GMT_CATEGORY_TEMPORARY)
			kind.category = GMT_CATEGORY_UNKNOWN;
		kind.category = with_hint(&kind, frames);
		seemed = kind.category == GMT_CATEGORY_UNKNOWN ? seemed : kind.category;
		out->categories[seemed].at_peak += kind.at_peak;
		add_growth(&kind, at, &out->categories[kind.category]);
		if (out->has_ended && kind.at_peak)
			add_purpose(&kind, kind.category, out);
	}
}

static void add_categories(const struct framework *f, unsigned int ordinal, const struct frames *frames,
			   const struct framework_moments *at, struct view_training *out)
{
	const struct framework_device *d = &f->devices[ordinal];
	const struct framework_kinds *kinds = &d->kinds_at_end;
	struct framework_kinds live = { 0 };

	if (!f->ended) {
		framework_kinds_make(f, ordinal, &live);
		kinds = &live;
	}
	out->has_ended = f->ended;
	out->purposes = xreallocarray(out->purposes, out->purpose_count + kinds->count + d->gone.kinds.count,
				      sizeof(*out->purposes));
	add_kinds(kinds, frames, at, out);
	add_gone(d, frames, now_of(f, ordinal).is_training, at, out);
	framework_kinds_free(&live);
	if (out->purpose_count)
		qsort(out->purposes, out->purpose_count, sizeof(*out->purposes),
		      f->ended ? compare_at_peak : compare_live);
}

static void add_iterations(const struct phase_line *line, struct view_training *out)
{
	uint32_t last = line->now.iteration, first = last >= PHASES_ITERATIONS ? last - PHASES_ITERATIONS + 1 : 1;

	out->iterations = xcalloc(last - first + 1, sizeof(*out->iterations));
	for (uint32_t n = first; n <= last; n++) {
		const struct phase_iteration *it = phase_line_iteration(line, n);

		if (it)
			out->iterations[out->iteration_count++] = *it;
	}
}

static void add_ranges(const struct phases *p, const struct phase_line *line, struct view_training *out)
{
	if (!line->ranges || !p->name_count)
		return;
	out->ranges = xcalloc(p->name_count, sizeof(*out->ranges));
	for (unsigned int i = 0; i < p->name_count; i++) {
		struct view_range *r = &out->ranges[out->range_count];

		if (!line->ranges[i].times)
			continue;
		memcpy(r->name, p->names[i], sizeof(r->name));
		r->cell = line->ranges[i];
		out->range_count++;
	}
}

void framework_add_training(const struct framework *f, unsigned int ordinal, const struct frames *frames,
			    const struct framework_moments *at, struct view_training *out)
{
	const struct phase_line *line = phases_line(&f->phases, ordinal);

	add_categories(f, ordinal, frames, at, out);
	out->before += f->devices[ordinal].before;
	if (!line || out->iterations)
		return;
	out->is_training = line->now.is_training;
	out->iteration = line->now.iteration;
	out->phase = line->now.phase;
	out->growth = phase_line_growth(line);
	out->first_is_whole = f->devices[ordinal].is_first;
	add_iterations(line, out);
	add_ranges(&f->phases, line, out);
}

void framework_training_free(struct view_training *training)
{
	free(training->purposes);
	free(training->iterations);
	free(training->ranges);
	*training = (struct view_training){ 0 };
}
