// SPDX-License-Identifier: BSD-2-Clause
/* Finds the causes of a failed request. See oom_verdict.h. */
#include <stdlib.h>

#include "core/view/oom_view.h"
#include "core/view/thresholds.h"

/* Where a search for causes is. */
struct search {
	const struct oom_view *v;
	struct oom_verdict *out;
	const struct view_row *row;      /* of the process that asked; NULL */
	const struct view_torch *torch;  /* its framework; NULL: it has none */
};

static bool would_fit(const struct search *s, uint64_t bytes)
{
	return oom_would_fit(&s->v->facts, bytes);
}

static struct oom_cause *add_cause(struct search *s, enum oom_cause_kind kind, enum finding_ground ground)
{
	struct oom_cause *c = &s->out->causes[s->out->cause_count++];

	/* Nobody knows what is enough for a request without a size. */
	if (!s->v->facts.asked)
		ground = FINDING_GUESS;
	*c = (struct oom_cause){ .kind = kind, .ground = ground, .row = s->v->facts.asker };
	return c;
}

/* ---- causes with bytes to blame ---- */

/* Bytes that have outlived their iteration. */
static uint64_t outlived_bytes(const struct view_training *t)
{
	uint64_t bytes = 0;

	for (int c = 0; c < GMT_CATEGORY_COUNT; c++)
		bytes += t->categories[c].late;
	return bytes;
}

/* How long another run takes, at the same rate, until it has filled what this run has filled and what was left. */
static uint64_t until_full(const struct search *s, uint64_t grown, uint64_t span)
{
	const struct oom_facts *f = &s->v->facts;
	uint64_t room = grown + f->cached + (f->is_limit ? 0 : oom_surely_free(f));
	double until = grown ? (double)room / (double)grown * (double)span : 0;

	return room >= grown && until < LEFT_NS_MOST ? (uint64_t)until : 0;
}

static void blame_leak(struct search *s)
{
	const struct view_training *t = s->torch ? &s->torch->training : NULL;
	uint64_t kept, left;
	struct oom_cause *c;

	if (!t || t->growth.count < LEAK_ITERATIONS || oom_left_by(t->growth.bytes, t->growth.count) < LEAK_BYTES)
		return;
	kept = outlived_bytes(t);
	left = oom_left_by(t->growth.bytes, t->growth.count);
	/* Larger and larger inputs leave more each time, too. */
	if (kept < share_of(left, LEAK_KEPT_SHARE))
		return;
	if (greater_of(kept, left) < share_of(s->torch->allocated.live, KEPT_SHARE) ||
	    !would_fit(s, greater_of(kept, left)))
		return;
	c = add_cause(s, OOM_CAUSE_LEAK, FINDING_GUESS);
	c->bytes = kept;
	c->whole = s->torch->allocated.live;
	c->each = t->growth.bytes;
	c->count = t->growth.count;
	c->iterations = t->growth.iterations;
	c->again = until_full(s, left, t->growth.iterations);
}

static const struct view_stacks *all_stacks(const struct oom_view *v, const struct oom_view_row *r)
{
	const struct view_row *row = oom_gpu_row(v, r);

	if (!row)
		return &v->view.procs[r->proc].host_stacks;
	return r->is_blocks ? &row->torch.stacks : &row->stacks;
}

bool oom_counts_for_growth(const struct oom_view *v, size_t index, const struct view_line_row *line)
{
	const struct view_row *row = oom_gpu_row(v, &v->rows[index]);
	bool is_in_iterations = row && row->torch.training.iteration > 1;
	uint64_t grown = line->held.grown > 0 ? (uint64_t)line->held.grown : 0;

	return view_line_has_code(line) && (!is_in_iterations || line->by_category[GMT_CATEGORY_KEPT] >= grown);
}

const struct view_line_row *oom_growth_of(const struct oom_view *v, size_t index, const struct view_line_row *steady)
{
	const struct view_lines *lines = &all_stacks(v, &v->rows[index])->lines[VIEW_BY_GROWN];

	for (size_t i = 0; i < lines->count && steady->state == VIEW_LINE_OWN; i++) {
		const struct view_line_row *line = &lines->rows[i];

		if (view_line_is_same(line, steady) && line->held.grown > steady->held.grown &&
		    oom_counts_for_growth(v, index, line) &&
		    line->held.frees <= share_of(line->held.allocs, ENDED_SHARE))
			return line;
	}
	return steady;
}

/* Sums up the growth of lines, and finds the line that has grown most. */
static uint64_t steady_growth(const struct oom_view *v, size_t index, const struct view_line_row **most)
{
	const struct view_lines *lines = &v->rows[index].steady.lines[VIEW_BY_GROWN];
	uint64_t sum = 0;

	*most = NULL;
	for (size_t i = 0; i < lines->count; i++) {
		const struct view_line_row *line = oom_growth_of(v, index, &lines->rows[i]);
		uint64_t grown = line->held.grown > 0 ? (uint64_t)line->held.grown : 0;

		if (!oom_counts_for_growth(v, index, line))
			continue;
		if (__builtin_add_overflow(sum, grown, &sum))
			return 0;
		if (!*most || grown > (uint64_t)(*most)->held.grown)
			*most = line;
	}
	return sum;
}

bool oom_is_start_up(const struct oom_view *v, const struct oom_view_row *r)
{
	uint64_t since_ns = r->steady.since_ns, attach_ns = v->view.procs[r->proc].attach_ts_ns;

	return v->rec.hdr.ts_ns < since_ns || since_ns < attach_ns || since_ns - attach_ns < GROWTH_NS;
}

static void blame_growth(struct search *s)
{
	const struct oom_view *v = s->v;
	size_t asker = v->facts.asker, blocks = asker == OOM_VIEW_NONE ? asker : oom_blocks_row(v, asker);
	size_t index = blocks != OOM_VIEW_NONE ? blocks : asker;
	const struct oom_view_row *r = index == OOM_VIEW_NONE ? NULL : &v->rows[index];
	const struct view_line_row *most;
	uint64_t bytes = r ? steady_growth(v, index, &most) : 0, whole;
	struct oom_cause *c;

	if (!bytes || (s->out->cause_count && s->out->causes[0].kind == OOM_CAUSE_LEAK) || oom_is_start_up(v, r))
		return;
	whole = blocks != OOM_VIEW_NONE ? s->torch->allocated.live : r->held;
	if (!is_much(bytes, GROWN_BYTES, whole, KEPT_SHARE) || !would_fit(s, bytes))
		return;
	c = add_cause(s, OOM_CAUSE_GROWTH, FINDING_GUESS);
	c->bytes = bytes;
	c->whole = whole;
	c->since_ns = r->steady.since_ns;
	c->again_ns = until_full(s, bytes, v->rec.hdr.ts_ns - c->since_ns);
	c->line = most;
}

/* Only where all parameters were seen. The state beyond Adam's would have been enough. */
static void blame_state(struct search *s)
{
	const struct view_training *t = s->torch ? &s->torch->training : NULL;
	uint64_t state, parameters;
	struct oom_cause *c;

	if (!t || t->before)
		return;
	state = t->categories[GMT_CATEGORY_OPTIMIZER_STATE].live;
	parameters = t->categories[GMT_CATEGORY_PARAMETER].live;
	if (!parameters || !is_much(state, STATE_BYTES, parameters, STATE_SHARE) ||
	    !would_fit(s, state - share_of(parameters, ADAM_SHARE)))
		return;
	c = add_cause(s, OOM_CAUSE_STATE, FINDING_GUESS);
	c->bytes = state;
	c->whole = parameters;
}

static void blame_pieces(struct search *s)
{
	const struct oom_facts *f = &s->v->facts;
	struct oom_cause *c;

	/* A piece that is large enough was no help: it may be another stream's. */
	if (!s->torch || !(f->fits_in_one_piece || f->fits_expandable) || (f->gap_known && f->gap >= f->asked))
		return;
	if (f->cached < share_of(s->torch->reserved.live, f->gap_known ? PIECES_SHARE : FRAGMENTED_SHARE))
		return;
	c = add_cause(s, OOM_CAUSE_FRAGMENTED, f->gap_known ? FINDING_FOLLOWS : FINDING_GUESS);
	c->bytes = f->cached;
	c->whole = s->torch->reserved.live;
	c->each = f->gap_known ? f->gap : 0;
}

static void blame_neighbour(struct search *s)
{
	const struct oom_view *v = s->v;
	const struct oom_facts *f = &v->facts;
	uint64_t own = f->asker == OOM_VIEW_NONE ? 0 : v->rows[f->asker].held;
	struct oom_cause *c;

	if (f->is_limit || f->was_room || f->other == OOM_VIEW_NONE || !would_fit(s, v->rows[f->other].held))
		return;
	c = add_cause(s, OOM_CAUSE_NEIGHBOUR, FINDING_FOLLOWS);
	c->bytes = v->rows[f->other].held;
	c->whole = f->total;
	c->row = f->other;
	c->is_minor = c->bytes < own && c->bytes < share_of(f->total, UNTRACED_SHARE);
}

static void blame_untraced(struct search *s)
{
	const struct oom_facts *f = &s->v->facts;
	struct oom_cause *c;

	if (f->is_limit || f->was_room || !f->has_untraced || !f->total ||
	    (f->has_free != OOM_FREE_TOLD && !f->is_by_nvml) ||
	    f->untraced < share_of(f->total, UNTRACED_SHARE) || !would_fit(s, f->untraced))
		return;
	c = add_cause(s, OOM_CAUSE_UNTRACED, FINDING_FOLLOWS);
	c->bytes = f->untraced;
	c->whole = f->total;
	c->row = OOM_VIEW_NONE;
}

/* A launch, a module or a context takes no memory from a framework's cache. */
static void blame_cache(struct search *s)
{
	const struct oom_facts *f = &s->v->facts;
	struct oom_cause *c;

	if (!s->torch || f->is_limit || s->v->rec.class_id != GMT_OOM_CLASS_NONE || s->v->rec.framework_bytes ||
	    f->cached < share_of(s->torch->reserved.live, PIECES_SHARE) || !would_fit(s, f->cached))
		return;
	c = add_cause(s, OOM_CAUSE_CACHE, FINDING_FOLLOWS);
	c->bytes = f->cached;
	c->whole = s->torch->reserved.live;
}

static void blame_driver(struct search *s, enum oom_cause_kind kind, int64_t bytes, int64_t usual)
{
	struct oom_cause *c;

	if (bytes < usual || !would_fit(s, (uint64_t)bytes))
		return;
	c = add_cause(s, kind, FINDING_RECORDED);
	c->bytes = (uint64_t)bytes;
	c->is_minor = c->bytes < share_of(s->v->facts.total, UNTRACED_SHARE);
}

static void blame_context(struct search *s)
{
	if (s->v->facts.is_limit || !s->row)
		return;
	blame_driver(s, OOM_CAUSE_CONTEXT, s->row->context, CONTEXT_BYTES);
	blame_driver(s, OOM_CAUSE_LAUNCHES, s->row->other, LAUNCH_BYTES);
}

static void blame_pool(struct search *s)
{
	if (s->v->facts.is_limit || !s->row || s->row->pool_reserve <= 0 ||
	    !is_much((uint64_t)s->row->pool_reserve, POOL_BYTES, s->row->physical.live, POOL_SHARE) ||
	    !would_fit(s, (uint64_t)s->row->pool_reserve))
		return;
	add_cause(s, OOM_CAUSE_POOL, FINDING_FOLLOWS)->bytes = (uint64_t)s->row->pool_reserve;
}

static bool is_of_others(const struct oom_cause *c)
{
	return !c->is_minor && (c->kind == OOM_CAUSE_NEIGHBOUR || c->kind == OOM_CAUSE_UNTRACED);
}

/* Others in the way matter more than a request of any size. */
static void blame_size(struct search *s)
{
	const struct oom_facts *f = &s->v->facts;
	uint64_t others = 0;
	struct oom_cause *c;

	for (size_t i = 0; i < s->out->cause_count; i++)
		others |= is_of_others(&s->out->causes[i]);
	/* More than what is free and what all traced processes hold. */
	if (others || f->is_limit || !f->asked ||
	    !(f->total ? f->asked >= share_of(f->total, REQUEST_SHARE)
		       : f->has_free == OOM_FREE_TOLD && !f->is_unseen && f->asked > f->free + f->held))
		return;
	c = add_cause(s, OOM_CAUSE_REQUEST, FINDING_FOLLOWS);
	c->bytes = f->asked;
	c->whole = f->total;
}

static void (*const rules[])(struct search *s) = {
	blame_leak,	   blame_growth, blame_state,   blame_pieces,  blame_neighbour, blame_untraced,
	blame_cache,	   blame_context, blame_pool,   blame_size,
};

/* The bytes that count for the order. */
static uint64_t cause_weight(const struct oom_cause *c)
{
	return c->kind == OOM_CAUSE_LEAK ? greater_of(c->bytes, oom_left_by(c->each, c->count)) : c->bytes;
}

static int compare_causes(const void *left, const void *right)
{
	const struct oom_cause *a = left, *b = right;

	if (a->is_minor != b->is_minor)
		return a->is_minor ? 1 : -1;
	if (cause_weight(a) != cause_weight(b))
		return cause_weight(a) < cause_weight(b) ? 1 : -1;
	return (a->kind > b->kind) - (a->kind < b->kind);
}

/* ---- causes that need no search, or are left after it ---- */

static void add_sum(struct search *s, enum oom_cause_kind kind, enum finding_ground ground, uint64_t bytes,
		    uint64_t whole)
{
	struct oom_cause *c = add_cause(s, kind, ground);

	c->ground = ground;
	c->bytes = bytes;
	c->whole = whole;
}

/* What one iteration needs, and gives back. In the first iteration nobody knows what stays: the ends of iterations may
 * not be seen at all. */
static uint64_t of_one_iteration(const struct view_training *t)
{
	if (t->iteration < 2)
		return 0;
	return t->categories[GMT_CATEGORY_ACTIVATION].live + t->categories[GMT_CATEGORY_AUTOGRAD_DETAIL].live +
	       t->categories[GMT_CATEGORY_TEMPORARY].live;
}

static void add_rest(struct search *s)
{
	const struct oom_facts *f = &s->v->facts;
	uint64_t passing = s->torch ? of_one_iteration(&s->torch->training) : 0;
	bool is_room_for_any = !f->asked && f->has_free && f->free >= USUAL_CONTEXT_BYTES;
	bool is_much_passing = passing && passing >= share_of(s->torch->allocated.live, ACTIVATIONS_SHARE);

	if (f->is_limit && !(is_much_passing && would_fit(s, passing)))
		return;
	if (f->is_limit)
		add_sum(s, OOM_CAUSE_ACTIVATIONS, FINDING_GUESS, passing, s->torch->allocated.live);
	else if (is_room_for_any && f->has_free == OOM_FREE_TOLD)
		add_sum(s, OOM_CAUSE_OTHER_LIMIT, FINDING_GUESS, f->free, f->total);
	else if (f->is_unseen)
		add_sum(s, OOM_CAUSE_UNKNOWN, FINDING_RECORDED, 0, 0);
	else if (f->was_room || is_room_for_any)
		add_sum(s, OOM_CAUSE_UNEXPLAINED, FINDING_FOLLOWS, f->held, f->total);
	else if (is_much_passing)
		add_sum(s, OOM_CAUSE_ACTIVATIONS, FINDING_GUESS, passing, s->torch->allocated.live);
	else
		add_sum(s, OOM_CAUSE_FULL, FINDING_RECORDED, f->held, f->total);
}

/* What the retry got says enough: no size that was met in the end is a cause. */
static bool is_met_unseen(const struct oom_view *v)
{
	return v->facts.is_unseen && v->rec.outcome == GMT_OOM_RETRY;
}

static void find_causes(struct search *s)
{
	const struct oom_facts *f = &s->v->facts;
	struct oom_verdict *out = s->out;

	if (s->v->rec.outcome == GMT_OOM_NONE || is_met_unseen(s->v))
		return;
	if (!f->is_of_gpu) {
		add_sum(s, OOM_CAUSE_HOST, FINDING_RECORDED, f->held, 0);
		return;
	}
	if (f->is_too_large) {
		add_sum(s, OOM_CAUSE_REQUEST, FINDING_RECORDED, f->asked, f->total ? f->total : f->largest_total);
		return;
	}
	if (f->was_room && f->has_free == OOM_FREE_TOLD && !f->is_limit) {
		add_sum(s, OOM_CAUSE_OTHER_LIMIT, FINDING_RECORDED, f->free, f->total);
		return;
	}
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		rules[i](s);
	if (out->cause_count)
		qsort(out->causes, out->cause_count, sizeof(out->causes[0]), compare_causes);
	if (!out->cause_count || out->causes[0].is_minor)
		add_rest(s);
	if (f->is_limit)
		add_sum(s, OOM_CAUSE_LIMIT, view_lost(&s->v->view) ? FINDING_GUESS : FINDING_RECORDED,
			s->torch ? s->torch->reserved.live : 0, 0);
	if (out->cause_count && out->causes[0].is_minor) {   /* the rest comes before what is minor */
		struct oom_cause last = out->causes[out->cause_count - 1];

		for (size_t i = out->cause_count - 1; i > 0; i--)
			out->causes[i] = out->causes[i - 1];
		out->causes[0] = last;
	}
}

void oom_decide(struct oom_view *v)
{
	const struct oom_view_row *r = v->facts.asker == OOM_VIEW_NONE ? NULL : &v->rows[v->facts.asker];
	struct search s = { .v = v, .out = &v->verdict };

	v->verdict = (struct oom_verdict){ .asked_symbol = VIEW_NO_FRAME, .waiting_symbol = VIEW_NO_FRAME };
	s.row = r && r->row != OOM_VIEW_NONE ? &v->view.procs[r->proc].rows[r->row] : NULL;
	s.torch = s.row && s.row->torch.seen ? &s.row->torch : NULL;
	find_causes(&s);
}
