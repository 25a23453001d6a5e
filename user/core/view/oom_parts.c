// SPDX-License-Identifier: BSD-2-Clause
/* The parts of a verdict that follow from its causes: who asked, which lines, what is ruled out, what to do. */
#include <stdlib.h>

#include "base/count.h"
#include "core/terms/own_code.h"
#include "core/view/oom_view.h"
#include "core/view/thresholds.h"

/* The row of the process that asked. */
struct subject {
	const struct oom_view *v;
	const struct oom_verdict *verdict;
	const struct view_row *row;      /* NULL: it holds nothing on the GPU */
	const struct view_torch *torch;  /* NULL: no framework */
	uint64_t held;
};

static struct subject subject_of(const struct oom_view *v)
{
	const struct oom_view_row *r = v->facts.asker == OOM_VIEW_NONE ? NULL : &v->rows[v->facts.asker];
	struct subject s = { .v = v, .verdict = &v->verdict, .held = r ? r->held : 0 };

	s.row = r ? oom_gpu_row(v, r) : NULL;
	s.torch = s.row && s.row->torch.seen ? &s.row->torch : NULL;
	return s;
}

static bool has_cause(const struct oom_verdict *verdict, enum oom_cause_kind kind)
{
	for (size_t i = 0; i < verdict->cause_count; i++)
		if (verdict->causes[i].kind == kind)
			return true;
	return false;
}

/* ---- who asked ---- */

static const struct view_stack *named_stack(const struct oom_view *v, size_t index)
{
	const struct view_stack *stack = index == OOM_VIEW_NONE ? NULL : &v->view.stacks[index];

	return stack && stack->state == VIEW_STACK_NAMED ? stack : NULL;
}

static uint32_t own_symbol(const struct view_stack *stack)
{
	return stack && stack->own < stack->frame_count ? stack->frames[stack->own] : VIEW_NO_FRAME;
}

/* The line of the program that called a package, such as PyTorch, which then began the backward. The program's own code
 * may be inside the package's, too. */
static uint32_t calling_symbol(const struct oom_view *v, const struct view_stack *stack)
{
	bool is_in_package = false;

	for (uint32_t i = 0; stack && i < stack->frame_count; i++) {
		const struct view_symbol *s = &v->view.symbols[stack->frames[i]];
		bool is_own = own_code_of(s->file) == OWN_CODE_PROGRAM;

		if (!s->is_python || !s->file[0])
			continue;
		if (is_own && is_in_package)
			return stack->frames[i];
		is_in_package = !is_own;
	}
	return own_symbol(stack);
}

static void find_asker(struct oom_view *v)
{
	struct oom_verdict *out = &v->verdict;
	uint32_t asked = own_symbol(named_stack(v, v->stack));

	out->waiting_symbol = calling_symbol(v, named_stack(v, v->backward));
	/* Next to a line of the program, a frame of the thread that did the work says little. */
	if (out->waiting_symbol != VIEW_NO_FRAME && asked != VIEW_NO_FRAME && !v->view.symbols[asked].is_python)
		asked = VIEW_NO_FRAME;
	out->asked_symbol = asked;
}

/* ---- where the memory is ---- */

static uint64_t bytes_of_one_iteration(const struct view_line_row *line)
{
	return line->by_category[GMT_CATEGORY_ACTIVATION] + line->by_category[GMT_CATEGORY_AUTOGRAD_DETAIL] +
	       line->by_category[GMT_CATEGORY_TEMPORARY];
}

/* What counts of a line for a cause. */
static uint64_t bytes_for(enum oom_cause_kind kind, const struct view_line_row *line)
{
	switch (kind) {
	case OOM_CAUSE_LEAK:
		return line->by_category[GMT_CATEGORY_KEPT];
	case OOM_CAUSE_STATE:
		return line->by_category[GMT_CATEGORY_OPTIMIZER_STATE];
	case OOM_CAUSE_ACTIVATIONS:
		return bytes_of_one_iteration(line);
	case OOM_CAUSE_GROWTH:
		return line->held.grown > 0 ? (uint64_t)line->held.grown : 0;
	default:
		return line->held.live;
	}
}

static uint8_t main_purpose(const struct view_line_row *line)
{
	int most = -1;

	for (int c = 0; c < GMT_CATEGORY_COUNT; c++)
		if (line->by_category[c] && (most < 0 || line->by_category[c] > line->by_category[most]))
			most = c;
	return (uint8_t)(1 + most);
}

static void keep_line(struct oom_verdict *out, const struct oom_line *line)
{
	size_t at = out->line_count;

	while (at > 0 && out->lines[at - 1].bytes < line->bytes)
		at--;
	if (at == OOM_LINES_MAX)
		return;
	if (out->line_count < OOM_LINES_MAX)
		out->line_count++;
	for (size_t i = out->line_count - 1; i > at; i--)
		out->lines[i] = out->lines[i - 1];
	out->lines[at] = *line;
}

/* The stacks of tensors, if these are known and are what the cause is about, or most of what is held. */
static const struct view_stacks *row_stacks(const struct view_row *row, uint64_t held, enum oom_cause_kind kind)
{
	bool is_about_tensors = kind == OOM_CAUSE_LEAK || kind == OOM_CAUSE_GROWTH || kind == OOM_CAUSE_FRAGMENTED ||
				kind == OOM_CAUSE_ACTIVATIONS || kind == OOM_CAUSE_LIMIT ||
				kind == OOM_CAUSE_STATE;

	if (!is_about_tensors && row->torch.allocated.live < share_of(held, ACTIVATIONS_SHARE))
		return &row->stacks;
	return view_best_stacks(row);
}

/* In a picture that was asked for: the stacks of tensors, if the framework took most of what was allocated. */
static const struct view_stacks *picture_stacks(const struct view_row *row)
{
	return row->torch.reserved.live >= share_of(row->attributed.live, ACTIVATIONS_SHARE) ? view_best_stacks(row)
											      : &row->stacks;
}

/* Only blocks' stacks have purposes. Without purposes, all memory of a line counts. */
static enum oom_cause_kind counted_kind(enum oom_cause_kind kind, bool are_tensors)
{
	return kind == OOM_CAUSE_ACTIVATIONS && !are_tensors ? OOM_CAUSE_FULL : kind;
}

static void find_lines(struct oom_view *v)
{
	struct oom_verdict *out = &v->verdict;
	enum oom_cause_kind kind = out->cause_count ? out->causes[0].kind : OOM_CAUSE_FULL;
	size_t index = out->cause_count ? out->causes[0].row : v->facts.largest, blocks;
	const struct view_lines *steady, *lines;
	const struct view_stacks *stacks;
	const struct view_row *row;

	/* A request for more than all of the GPU fails whatever is held. */
	if (index == OOM_VIEW_NONE || (kind == OOM_CAUSE_REQUEST && v->facts.asked > v->facts.total))
		return;
	row = oom_gpu_row(v, &v->rows[index]);
	if (!row)
		stacks = &v->view.procs[v->rows[index].proc].host_stacks;
	else if (v->rec.outcome == GMT_OOM_NONE)
		stacks = picture_stacks(row);
	else
		stacks = row_stacks(row, v->rows[index].held, kind);
	blocks = oom_blocks_row(v, index);
	index = blocks != OOM_VIEW_NONE ? blocks : index;
	steady = &v->rows[index].steady.lines[VIEW_BY_GROWN];
	lines = kind == OOM_CAUSE_GROWTH ? steady : &stacks->lines[VIEW_BY_LIVE];
	out->are_tensors = row && stacks == &row->torch.stacks;
	for (size_t i = 0; i < lines->count; i++) {
		const struct view_line_row *shown = kind == OOM_CAUSE_GROWTH ?
						    oom_growth_of(v, index, &lines->rows[i]) : &lines->rows[i];
		struct oom_line line = {
			.line = shown, .bytes = bytes_for(counted_kind(kind, out->are_tensors), shown),
			.purpose = main_purpose(shown),
			.has_grown = shown->state == VIEW_LINE_OWN && view_lines_have(steady, shown),
		};

		if (line.bytes && view_line_has_code(line.line))
			keep_line(out, &line);
	}
}

/* ---- what is ruled out ---- */

static void add_reason(struct oom_view *v, enum oom_reason_kind kind, uint64_t bytes, size_t count)
{
	v->verdict.reasons[v->verdict.reason_count++] = (struct oom_reason){ kind, bytes, (uint32_t)count };
}

static void rule_out_pieces(struct oom_view *v, const struct subject *s)
{
	const struct oom_facts *f = &v->facts;
	bool is_for_tensors = v->rec.framework_bytes || v->rec.class_id != GMT_OOM_CLASS_NONE;
	bool is_too_little = f->is_limit ? f->cached < f->asked : f->has_free && f->cached + f->free < f->asked;

	if (s->torch && is_for_tensors && !has_cause(&v->verdict, OOM_CAUSE_FRAGMENTED) &&
	    !f->fits_in_one_piece && !f->fits_expandable &&
	    (is_too_little || f->cached < share_of(s->torch->reserved.live, PIECES_SHARE)))
		add_reason(v, OOM_REASON_FEW_PIECES, f->cached, 0);
}

/* The most that may have been free counts: it may have been enough together with others' memory. */
static void rule_out_others(struct oom_view *v, const struct subject *s)
{
	const struct oom_facts *f = &v->facts;

	(void)s;
	if (has_cause(&v->verdict, OOM_CAUSE_NEIGHBOUR) || has_cause(&v->verdict, OOM_CAUSE_UNTRACED))
		return;
	if (f->was_room && !f->is_limit)
		return;
	if (f->is_limit && view_lost(&v->view))
		return;
	if (f->is_limit)
		add_reason(v, OOM_REASON_OTHERS_APART, 0, 0);
	else if (!f->other_count && f->has_free == OOM_FREE_TOLD && f->has_untraced && f->total &&
		 f->untraced < share_of(f->total, DRIVER_SHARE) && f->free + f->untraced < f->asked)
		add_reason(v, OOM_REASON_NO_OTHER, f->untraced, 0);
	else if (!f->other_count)
		add_reason(v, OOM_REASON_NO_TRACED, 0, 0);
	else if (f->has_free && f->free + f->others + (f->has_untraced ? f->untraced : 0) < f->asked)
		add_reason(v, OOM_REASON_SMALL_OTHERS, f->others, f->other_count);
}

static void rule_out_leak(struct oom_view *v, const struct subject *s)
{
	const struct view_training *t = s->torch ? &s->torch->training : NULL;

	if (!t || has_cause(&v->verdict, OOM_CAUSE_LEAK) || has_cause(&v->verdict, OOM_CAUSE_GROWTH) ||
	    t->iteration <= LEAK_ITERATIONS ||
	    t->categories[GMT_CATEGORY_KEPT].live >= share_of(s->torch->allocated.live, KEPT_SHARE))
		return;
	if (!t->growth.count)
		add_reason(v, OOM_REASON_NOTHING_LEFT, 0, 0);
	else
		add_reason(v, OOM_REASON_LITTLE_KEPT, t->categories[GMT_CATEGORY_KEPT].live, 0);
}

static void rule_out_context(struct oom_view *v, const struct subject *s)
{
	if (s->row && s->row->has_physical && s->row->context > 0 && (uint64_t)s->row->context < CONTEXT_BYTES &&
	    (uint64_t)s->row->context >= share_of(s->held, PIECES_SHARE))
		add_reason(v, OOM_REASON_USUAL_CONTEXT, (uint64_t)s->row->context, 0);
}

static void find_reasons(struct oom_view *v, const struct subject *s)
{
	static void (*const rules[])(struct oom_view *v, const struct subject *s) = {
		rule_out_pieces, rule_out_others, rule_out_leak, rule_out_context,
	};
	const struct oom_facts *f = &v->facts;

	if (!v->verdict.cause_count || !f->is_of_gpu || f->is_too_large || f->is_unseen)
		return;
	for (size_t i = 0; i < COUNT(rules); i++)
		rules[i](v, s);
}

/* ---- what to do ---- */

static bool lacks_block_stacks(const struct subject *s)
{
	return s->torch && s->torch->allocated.live && !view_has_stacks(&s->torch->stacks);
}

/* Most of the memory is older than the attach, so nobody saw its line. */
static bool is_late(const struct subject *s)
{
	/* A framework's reserve may be old while its tensors are new. */
	if (s->torch && s->torch->allocated.live)
		return s->torch->training.before >= share_of(s->torch->allocated.live, BEFORE_SHARE);
	return s->row && s->held && s->row->before_attach >= share_of(s->held, BEFORE_SHARE);
}

static uint64_t of_model(const struct subject *s)
{
	const struct view_category *c = s->torch->training.categories;

	return c[GMT_CATEGORY_PARAMETER].live + c[GMT_CATEGORY_OPTIMIZER_STATE].live + c[GMT_CATEGORY_GRADIENT].live;
}

static bool is_mostly_model(const struct subject *s)
{
	return s->torch && s->torch->allocated.live &&
	       of_model(s) >= share_of(s->torch->allocated.live, ACTIVATIONS_SHARE);
}

static bool has_other_tensors(const struct subject *s)
{
	return s->torch && s->torch->allocated.live && !is_mostly_model(s);
}

static bool has_only_lines(const struct subject *s)
{
	return !s->torch && s->held && s->verdict->line_count &&
	       s->verdict->lines[0].line->state != VIEW_LINE_DRIVER;
}

static bool is_not_expandable(const struct subject *s)
{
	return s->torch && s->torch->backend != GMT_TORCH_EXPANDABLE;
}

static bool is_other_unknown(const struct subject *s)
{
	const struct oom_view_row *r = &s->v->rows[s->v->facts.other];

	return !view_has_stacks(view_best_stacks(oom_gpu_row(s->v, r)));
}

/* Without the largest process that is not traced the request would have fit. */
static bool is_one_untraced(const struct subject *s)
{
	const struct view_gpu *g = s->v->gpu == VIEW_GPU_UNKNOWN ? NULL : &s->v->view.gpus[s->v->gpu];

	return g && g->neighbour_count && oom_would_fit(&s->v->facts, g->neighbours[0].bytes);
}

static bool are_several_untraced(const struct subject *s)
{
	return !is_one_untraced(s);
}

/* Nothing tells what was free, so memory that is not traced may have taken the rest. */
static bool may_be_untraced(const struct subject *s)
{
	const struct oom_facts *f = &s->v->facts;

	return f->is_of_gpu && !f->is_limit && !f->is_unseen && f->has_free == OOM_FREE_UNKNOWN;
}

/* The first cause is the verdict. */
static bool is_full_again(const struct subject *s)
{
	const struct oom_cause *c = &s->verdict->causes[0];

	return c->again || c->again_ns;
}

static bool is_pinned(const struct subject *s)
{
	return s->v->rec.class_id == GMT_CLASS_PINNED || s->v->rec.class_id == GMT_CLASS_REGISTERED;
}

static bool has_earlier(const struct subject *s)
{
	return s->v->rec.number > 1;
}

/* For each cause the remedies in their order; NULL: always. */
static const struct {
	enum oom_cause_kind cause;
	enum oom_remedy remedy;
	bool (*is_for)(const struct subject *s);
} remedy_rows[] = {
	{ OOM_CAUSE_LEAK, OOM_DO_FIND_KEEPER, NULL },
	{ OOM_CAUSE_LEAK, OOM_DO_BLOCK_STACKS, lacks_block_stacks },
	{ OOM_CAUSE_LEAK, OOM_DO_FROM_START, is_late },
	{ OOM_CAUSE_LEAK, OOM_DO_NOT_BATCH, NULL },
	{ OOM_CAUSE_LEAK, OOM_DO_NOT_RESTART, is_full_again },
	{ OOM_CAUSE_GROWTH, OOM_DO_FIND_GROWTH, NULL },
	{ OOM_CAUSE_GROWTH, OOM_DO_BLOCK_STACKS, lacks_block_stacks },
	{ OOM_CAUSE_GROWTH, OOM_DO_FROM_START, is_late },
	{ OOM_CAUSE_GROWTH, OOM_DO_NOT_RESTART, is_full_again },
	{ OOM_CAUSE_STATE, OOM_DO_FIND_STATE, NULL },
	{ OOM_CAUSE_STATE, OOM_DO_BLOCK_STACKS, lacks_block_stacks },
	{ OOM_CAUSE_STATE, OOM_DO_SHARD, is_mostly_model },
	{ OOM_CAUSE_FRAGMENTED, OOM_DO_EXPANDABLE, is_not_expandable },
	{ OOM_CAUSE_FRAGMENTED, OOM_DO_FEW_SIZES, NULL },
	{ OOM_CAUSE_NEIGHBOUR, OOM_DO_END_OTHER, NULL },
	{ OOM_CAUSE_NEIGHBOUR, OOM_DO_TRACE_OTHER, is_other_unknown },
	{ OOM_CAUSE_UNTRACED, OOM_DO_END_NEIGHBOUR, is_one_untraced },
	{ OOM_CAUSE_UNTRACED, OOM_DO_LIST_OTHERS, are_several_untraced },
	{ OOM_CAUSE_UNTRACED, OOM_DO_TRACE_ALL, NULL },
	{ OOM_CAUSE_CACHE, OOM_DO_EMPTY_CACHE, NULL },
	{ OOM_CAUSE_CACHE, OOM_DO_LEAVE_ROOM, NULL },
	{ OOM_CAUSE_CONTEXT, OOM_DO_CONTEXT_LIMITS, NULL },
	{ OOM_CAUSE_LAUNCHES, OOM_DO_CONTEXT_LIMITS, NULL },
	{ OOM_CAUSE_POOL, OOM_DO_TRIM_POOL, NULL },
	{ OOM_CAUSE_REQUEST, OOM_DO_CHECK_SIZE, NULL },
	{ OOM_CAUSE_ACTIVATIONS, OOM_DO_SMALLER_BATCH, NULL },
	{ OOM_CAUSE_ACTIVATIONS, OOM_DO_RECOMPUTE, NULL },
	{ OOM_CAUSE_ACTIVATIONS, OOM_DO_BLOCK_STACKS, lacks_block_stacks },
	{ OOM_CAUSE_ACTIVATIONS, OOM_DO_TRACE_ALL, may_be_untraced },
	{ OOM_CAUSE_LIMIT, OOM_DO_FROM_START, is_late },
	{ OOM_CAUSE_LIMIT, OOM_DO_BLOCK_STACKS, lacks_block_stacks },
	{ OOM_CAUSE_LIMIT, OOM_DO_RAISE_LIMIT, NULL },
	{ OOM_CAUSE_OTHER_LIMIT, OOM_DO_CHECK_LIMITS, NULL },
	{ OOM_CAUSE_UNEXPLAINED, OOM_DO_LIST_OTHERS, NULL },
	{ OOM_CAUSE_UNEXPLAINED, OOM_DO_TRACE_ALL, NULL },
	{ OOM_CAUSE_HOST, OOM_DO_LESS_PINNED, is_pinned },
	{ OOM_CAUSE_FULL, OOM_DO_LIST_OTHERS, may_be_untraced },
	{ OOM_CAUSE_FULL, OOM_DO_TRACE_ALL, may_be_untraced },
	{ OOM_CAUSE_FULL, OOM_DO_FROM_START, is_late },
	{ OOM_CAUSE_FULL, OOM_DO_BLOCK_STACKS, lacks_block_stacks },
	{ OOM_CAUSE_FULL, OOM_DO_SHARD, is_mostly_model },
	{ OOM_CAUSE_FULL, OOM_DO_SMALLER_BATCH, has_other_tensors },
	{ OOM_CAUSE_FULL, OOM_DO_HOLD_LESS, has_only_lines },
	{ OOM_CAUSE_UNKNOWN, OOM_DO_EARLIER, has_earlier },
};

static void add_remedy(struct oom_verdict *out, enum oom_remedy remedy)
{
	for (size_t i = 0; i < out->remedy_count; i++)
		if (out->remedies[i] == remedy)
			return;
	out->remedies[out->remedy_count++] = remedy;
}

static void find_remedies(struct oom_verdict *out, const struct subject *s)
{
	if (s->v->rec.outcome == GMT_OOM_RETRY) {
		add_remedy(out, OOM_DO_NOTHING);
		if (s->v->rec.freed_bytes)
			add_remedy(out, OOM_DO_KEEP_CACHE);
		return;
	}
	for (size_t c = 0; c < out->cause_count; c++)
		for (size_t i = 0; i < COUNT(remedy_rows); i++)
			if (remedy_rows[i].cause == out->causes[c].kind &&
			    (!remedy_rows[i].is_for || remedy_rows[i].is_for(s)))
				add_remedy(out, remedy_rows[i].remedy);
}

void oom_parts(struct oom_view *v)
{
	struct subject s = subject_of(v);

	find_asker(v);
	find_lines(v);
	find_reasons(v, &s);
	find_remedies(&v->verdict, &s);
}
