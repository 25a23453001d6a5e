// SPDX-License-Identifier: BSD-2-Clause
/* The rules of findings about memory that stays and grows: leaks, growth, kept tensors, optimizer state. */
#include "core/view/finding_search.h"

#include "base/count.h"
#include "core/framework/rises.h"
#include "core/view/looked.h"
#include "core/view/thresholds.h"

_Static_assert((int)LEAK_ITERATIONS == RISES_MIN, "one least number of iterations");

/* The row's bytes of a category. A program frees its memory before it ends: of a process that has ended, what it held
 * at its peak counts, if that is more than what was left in the end. */
static uint64_t bytes_of(const struct finding_search *s, enum gmt_category category)
{
	const struct view_category *c = &s->row->torch.training.categories[category];

	return s->proc->exited && c->at_peak > c->live ? c->at_peak : c->live;
}

/* What an ended process holds no longer is in no order by growth; what came after its peak is in no order by peak. */
static const enum view_order line_orders[] = { VIEW_BY_GROWN, VIEW_BY_LIVE, VIEW_BY_PEAK };

/* The line that holds, or held, most for a purpose. */
static const struct view_line_row *line_with_most(const struct view_stacks *stacks, enum gmt_category category)
{
	const struct view_line_row *best = NULL;

	for (size_t o = 0; o < COUNT(line_orders); o++) {
		const struct view_lines *lines = &stacks->lines[line_orders[o]];

		for (size_t i = 0; i < lines->count; i++) {
			const struct view_line_row *line = &lines->rows[i];
			uint64_t bytes = view_line_part(line, category);

			if (view_line_has_code(line) && bytes && (!best || bytes > view_line_part(best, category)))
				best = line;
		}
	}
	return best;
}

/* Whether the memory that the row's process can still get on the GPU is known: what is free, and its own cache. */
static bool find_room(const struct finding_search *s, uint64_t *bytes)
{
	if (!s->gpu || !s->gpu->has_memory || s->proc->exited)
		return false;
	*bytes = s->gpu->free_bytes + view_torch_cached(&s->row->torch);
	return true;
}

/* How long the room lasts for memory that has grown by `bytes` in that time, or in so many iterations.
 * FINDING_LEFT_UNKNOWN: for as many as nobody waits for. */
static uint64_t how_long(uint64_t room, uint64_t bytes, uint64_t time, double most)
{
	double left = (double)room / (double)bytes * (double)time;

	return left < most ? (uint64_t)left : FINDING_LEFT_UNKNOWN;
}

static uint64_t time_left(uint64_t room, uint64_t bytes, uint64_t time_ns)
{
	return how_long(room, bytes, time_ns, LEFT_NS_MOST);
}

/* When the last iteration of a leak ended, if the process has ended or makes no iterations any longer; else 0. */
static uint64_t leak_stopped(const struct finding_search *s, const struct view_training *t)
{
	uint64_t each_ns = t->growth.time_ns / t->growth.iterations, end_ns = t->growth.end_ns;
	uint64_t quiet_ns = s->view->now_ns > end_ns ? s->view->now_ns - end_ns : 0;
	bool is_quiet = end_ns && quiet_ns >= STOPPED_NS && quiet_ns / STOPPED_ITERATIONS >= each_ns;

	if (s->proc->exited && !end_ns)
		return s->proc->exit_ts_ns;
	return s->proc->exited || is_quiet ? end_ns : 0;
}

/* Bytes of a category that stay and were not made in the start-up, whose memory is meant to stay. */
static uint64_t late_of(const struct finding_search *s, const struct view_category *c)
{
	return s->proc->exited && c->late_at_peak > c->late ? c->late_at_peak : c->late;
}

/* Where larger and larger inputs come, each iteration leaves more, too, but nothing stays for long. */
static bool stays_late(const struct finding_search *s, uint64_t bytes)
{
	uint64_t late = 0;

	for (int c = 0; c < GMT_CATEGORY_COUNT; c++)
		late += late_of(s, &s->row->torch.training.categories[c]);
	return late >= share_of(bytes, LEAK_KEPT_SHARE);
}

/* What a leak is of, above all: tensors, or what a training makes beside the model and never makes twice. */
static enum gmt_category most_late(const struct finding_search *s)
{
	static const enum gmt_category others[] = { GMT_CATEGORY_GRADIENT, GMT_CATEGORY_OPTIMIZER_STATE };
	const struct view_category *categories = s->row->torch.training.categories;
	enum gmt_category most = GMT_CATEGORY_KEPT;

	for (size_t i = 0; i < COUNT(others); i++)
		if (late_of(s, &categories[others[i]]) > late_of(s, &categories[most]))
			most = others[i];
	return most;
}

void finding_of_leak(struct finding_search *s)
{
	const struct view_torch *t = &s->row->torch;
	const struct view_growth *growth = &t->training.growth;
	uint64_t all = growth->bytes * growth->count, room;
	struct finding *f;

	if (growth->count < LEAK_ITERATIONS || !is_much(all, LEAK_BYTES, t->allocated.peak, LEAK_SHARE) ||
	    !stays_late(s, all))
		return;
	f = finding_add(s, FINDING_OF_LEAK);
	f->bytes = growth->bytes;
	f->count = growth->count;
	f->iterations = growth->iterations;
	f->category = most_late(s);
	f->part = bytes_of(s, f->category);
	f->line = line_with_most(&t->stacks, f->category);
	f->stopped_ns = leak_stopped(s, &t->training);
	if (f->stopped_ns || !find_room(s, &room))
		return;
	f->left = how_long(room, all, growth->iterations, LEFT_ITERATIONS_MOST);
	if (growth->time_ns)
		f->left_ns = time_left(room, all, growth->time_ns);
}

/* Each of the newest iterations left more, but there are too few. */
static bool may_begin_leak(const struct view_torch *t)
{
	const struct view_growth *growth = &t->training.growth;

	return growth->count < LEAK_ITERATIONS && growth->count == growth->iterations &&
	       is_much(growth->bytes * LEAK_ITERATIONS, LEAK_BYTES, t->allocated.peak, LEAK_SHARE);
}

void finding_of_kept(struct finding_search *s)
{
	const struct view_torch *t = &s->row->torch;
	const struct view_category *kept = &t->training.categories[GMT_CATEGORY_KEPT];
	uint64_t late = late_of(s, kept), all = late > kept->late ? t->allocated.peak : t->allocated.live;
	struct finding *f;

	if (!t->training.is_training || finding_in_row(s, FINDING_OF_LEAK) || may_begin_leak(t) ||
	    !is_much(late, KEPT_BYTES, all, KEPT_SHARE))
		return;
	f = finding_add(s, FINDING_OF_KEPT);
	f->bytes = late;
	f->category = GMT_CATEGORY_KEPT;
	f->line = line_with_most(&t->stacks, f->category);
}

/* Only where all parameters were seen. */
void finding_of_state(struct finding_search *s)
{
	const struct view_torch *t = &s->row->torch;
	uint64_t state = bytes_of(s, GMT_CATEGORY_OPTIMIZER_STATE);
	uint64_t parameters = bytes_of(s, GMT_CATEGORY_PARAMETER);
	struct finding *f;

	if (!t->training.first_is_whole || t->training.before || !parameters ||
	    !is_much(state, STATE_BYTES, parameters, STATE_SHARE))
		return;
	f = finding_add(s, FINDING_OF_STATE);
	f->bytes = state;
	f->part = parameters;
	f->category = GMT_CATEGORY_OPTIMIZER_STATE;
	f->line = line_with_most(&t->stacks, f->category);
}

/* What has come in a part of the time, over all the time at the same rate: where growth goes on evenly, this never
 * falls when another part of the time begins to count. */
static uint64_t over_all(int64_t bytes, uint64_t part_ns, uint64_t all_ns)
{
	double sum = bytes > 0 && part_ns ? (double)bytes / (double)part_ns * (double)all_ns : 0;

	return sum < (double)INT64_MAX ? (uint64_t)sum : INT64_MAX;
}

static uint64_t all_time(const struct finding_search *s, uint64_t until_ns)
{
	return until_ns - (s->proc->window_ns ? s->proc->window_ns : s->proc->attach_ts_ns);
}

static bool is_much_of(const struct view_line_row *line, uint64_t span_ns, uint64_t over_all, uint64_t whole)
{
	if (line->state == VIEW_LINE_DRIVER && span_ns < GROWTH_DRIVER_NS)
		return false;
	return is_much(over_all, line->state == VIEW_LINE_RESERVE ? GROWTH_RESERVE_BYTES : GROWTH_BYTES, whole,
		       GROWTH_SHARE);
}

/* Whether a line has grown by much. What has stayed since the first part must say so, too: some of the memory of this
 * moment may go again at once, such as the older of a tensor and its longer copy. */
static bool has_grown_much(const struct finding_search *s, const struct view_stacks *stacks,
			   const struct view_line_row *line)
{
	const struct view_held *held = &line->held;
	const struct view_rise *rise = &stacks->rise;
	uint64_t all_ns = all_time(s, rise->until_ns);
	uint64_t stays = over_all(held->least_rise, rise->later_ns - rise->since_ns, all_ns);
	uint64_t both = over_all(held->rise, rise->until_ns - rise->since_ns, all_ns);

	return is_much_of(line, rise->until_ns - rise->since_ns, stays < both ? stays : both,
			  s->proc->exited ? stacks->peak : stacks->live);
}

bool finding_is_much_growth(const struct finding_search *s, const struct view_line_row *line, uint64_t bytes,
			    uint64_t span_ns, uint64_t whole)
{
	return is_much_of(line, span_ns, over_all((int64_t)bytes, span_ns, all_time(s, s->view->now_ns)), whole);
}

/* Of a training's memory, what stays from one iteration to the next. */
static uint64_t kept_by(const struct view_line_row *line)
{
	return view_line_part(line, GMT_CATEGORY_KEPT) + view_line_part(line, GMT_CATEGORY_OPTIMIZER_STATE);
}

/* The line that has risen most, of those that have risen steadily; NULL: none has. */
static const struct view_line_row *risen_line(const struct finding_search *s, const struct view_stacks *stacks)
{
	const struct finding *leak = finding_in_row(s, FINDING_OF_LEAK);
	/* What comes and goes in each iteration is more at one moment and less at another. */
	bool is_in_iterations = s->row->torch.training.is_training;
	const struct view_line_row *best = NULL;

	for (size_t o = 0; o < COUNT(line_orders); o++) {
		const struct view_lines *lines = &stacks->lines[line_orders[o]];

		for (size_t i = 0; i < lines->count; i++) {
			const struct view_line_row *line = &lines->rows[i];

			if (!view_line_has_code(line) || !view_is_steady(&line->held) ||
			    (leak && leak->line && view_line_is_same(leak->line, line)) ||
			    !has_grown_much(s, stacks, line) ||
			    (is_in_iterations && kept_by(line) < (uint64_t)line->held.rise))
				continue;
			if (!best || line->held.rise > best->held.rise)
				best = line;
		}
	}
	return best;
}

void finding_set_time_left(const struct finding_search *s, struct finding *f, uint64_t span_ns)
{
	uint64_t room;

	if (find_room(s, &room))
		f->left_ns = time_left(room, f->bytes, span_ns);
}

void finding_of_growth(struct finding_search *s)
{
	const struct view_stacks *stacks = view_best_stacks(s->row);
	const struct view_line_row *line = looked_at_growth(stacks) ? risen_line(s, stacks) : NULL;
	struct finding *f;

	if (!line)
		return;
	f = finding_add(s, FINDING_OF_GROWTH);
	f->bytes = (uint64_t)line->held.rise;
	f->since_ns = stacks->rise.since_ns;
	f->stopped_ns = s->proc->exited ? stacks->rise.until_ns : 0;
	finding_set_time_left(s, f, stacks->rise.until_ns - f->since_ns);
	f->line = line;
}
