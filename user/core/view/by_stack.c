// SPDX-License-Identifier: BSD-2-Clause
#include "core/view/by_stack.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/out.h"
#include "base/xalloc.h"
#include "core/framework/category.h"
#include "core/framework/waiting.h"

#define OWNER_NONE_TEXT "(without a stack)"
#define OWNER_NOT_NAMED_TEXT "(not named)"
#define OWNER_UNKNOWN_TEXT "unknown"

static void add_owner(struct view *view, const struct view_owner_names *names)
{
	struct view_owner_text *to = &view->owners[view->owner_count++];
	struct out text;

	to->name = to->text = xstrdup(names->name);
	if (!names->allocator)
		return;
	to->allocator = xstrdup(names->allocator);
	out_init_mem(&text);
	out_printf(&text, "%s (%s)", names->name, names->allocator);
	to->text = out_take(&text);
}

void by_stack_init(struct by_stack *b, const struct frames *frames, const struct view_request *request,
		   struct view *view)
{
	uint32_t owners = by_stack_owner_count(request) + 2;

	*b = (struct by_stack){ .frames = frames, .request = request, .view = view };
	b->order = (struct by_stack_order){ frames, view, BY_STACK_LINE_OWNERS, by_stack_line_symbols(request) };
	sums_init(&b->stacks, frames->stack_count);
	sums_init(&b->owners, owners);
	sums_init(&b->lines, by_stack_line_symbols(request) + frames->symbol_count);
	sums_init(&b->modules, frames->modules.count);
	b->line_of = xcalloc(frames->stack_count, sizeof(*b->line_of));
	b->caller_of = xcalloc(frames->stack_count, sizeof(*b->caller_of));
	b->waiting_of = xcalloc(frames->stack_count, sizeof(*b->waiting_of));
	b->marks = xcalloc(frames->stack_count, sizeof(*b->marks));
	b->stack_of = xcalloc(frames->stack_count, sizeof(*b->stack_of));
	b->symbol_of = xcalloc(frames->symbol_count, sizeof(*b->symbol_of));
	b->module_of = xcalloc(frames->modules.count, sizeof(*b->module_of));
	b->owner_of = xcalloc(owners, sizeof(*b->owner_of));
	view->owners = xcalloc(owners, sizeof(*view->owners));
	add_owner(view, &(struct view_owner_names){ .name = OWNER_NONE_TEXT });
	add_owner(view, &(struct view_owner_names){ .name = OWNER_NOT_NAMED_TEXT });
}

void by_stack_fini(struct by_stack *b)
{
	sums_fini(&b->stacks);
	sums_fini(&b->owners);
	sums_fini(&b->lines);
	sums_fini(&b->modules);
	free(b->line_of);
	free(b->caller_of);
	free(b->waiting_of);
	free(b->marks);
	free(b->marked);
	free(b->stack_of);
	free(b->symbol_of);
	free(b->module_of);
	free(b->owner_of);
}

/* ---- owners ---- */

/* The index in view.owners, and the frame that decided about the owner. */
static struct view_verdict decide_owner(struct by_stack *b, uint32_t stack)
{
	struct view_verdict verdict = { .frame = VIEW_NO_FRAME, .line = VIEW_NO_FRAME };
	const struct view_request *r = b->request;
	struct view *view = b->view;

	if (stack < FRAMES_FIRST) {
		verdict.owner = stack == FRAMES_NO_STACK ? VIEW_OWNER_NO_STACK : VIEW_OWNER_NOT_NAMED;
		return verdict;
	}
	if (r->decide)
		verdict = r->decide(r->arg, b->frames, stack);
	uint32_t *index = &b->owner_of[verdict.owner];

	if (!*index) {
		static const struct view_owner_names unknown = { .name = OWNER_UNKNOWN_TEXT };
		const struct view_owner_names names = r->decide ? r->owner_names(r->arg, verdict.owner) : unknown;

		*index = (uint32_t)view->owner_count;
		add_owner(view, &names);
	}
	verdict.owner = *index;
	return verdict;
}

/* The line of a stack in which no frame is the program's own code. */
static uint32_t line_without_own(const struct by_stack *b, uint32_t stack)
{
	const uint32_t *list;
	const struct frames_symbol *outermost;
	uint32_t count;

	list = frames_list(b->frames, stack, &count);
	outermost = count ? &b->frames->symbols[list[count - 1]] : NULL;
	if (outermost && !outermost->module[0] && !outermost->function[0] && !outermost->file[0])
		return VIEW_LINE_GONE;
	return b->marks[stack] & BY_STACK_CUT ? VIEW_LINE_CUT : VIEW_LINE_NOT_OWN;
}

static uint32_t line_of(const struct by_stack *b, uint32_t stack, const struct view_verdict *verdict)
{
	const uint32_t *list;
	uint32_t count;

	if (stack < FRAMES_FIRST)
		return stack == FRAMES_NO_STACK ? VIEW_LINE_NO_STACK : VIEW_LINE_NOT_NAMED;
	if (b->marks[stack] & BY_STACK_RESERVE)
		return VIEW_LINE_RESERVE;
	if (verdict->is_driver)
		return BY_STACK_LINE_OWNERS + verdict->owner;
	list = frames_list(b->frames, stack, &count);
	if (verdict->line >= count)
		return line_without_own(b, stack);
	return by_stack_line_symbols(b->request) + b->frames->symbols[list[verdict->line]].place;
}

static uint32_t caller_of(const struct by_stack *b, uint32_t stack, const struct view_verdict *verdict)
{
	const uint32_t *list;
	uint32_t count;

	if (stack < FRAMES_FIRST || !verdict->caller)
		return 0;
	list = frames_list(b->frames, stack, &count);
	return verdict->caller < count ? 1 + b->frames->symbols[list[verdict->caller]].place : 0;
}

static uint8_t state_of_line(const struct by_stack *b, uint32_t line)
{
	if (line < BY_STACK_LINE_OWNERS)
		return (uint8_t)line;
	return line < by_stack_line_symbols(b->request) ? VIEW_LINE_DRIVER : VIEW_LINE_OWN;
}

static int compare_owners(const void *left, const void *right, void *view)
{
	const struct view_owner *a = left, *b = right;

	if (a->held.live != b->held.live)
		return a->held.live < b->held.live ? 1 : -1;
	if (a->held.at_peak != b->held.at_peak)
		return a->held.at_peak < b->held.at_peak ? 1 : -1;
	return by_stack_compare_owners(view, a->owner, b->owner);
}

static void take_owners(struct by_stack *b, struct view_stacks *out)
{
	out->owner_count = b->owners.count;
	out->owners = xcalloc(out->owner_count, sizeof(*out->owners));
	for (size_t i = 0; i < out->owner_count; i++)
		out->owners[i] = (struct view_owner){ b->owners.list[i].number, b->owners.list[i].held };
	if (out->owner_count)
		qsort_r(out->owners, out->owner_count, sizeof(*out->owners), compare_owners, b->view);
	sums_forget(&b->owners);
}

void by_stack_mark(struct by_stack *b, uint32_t stack_id, unsigned int marks)
{
	uint32_t stack = frames_of(b->frames, stack_id);

	if (stack < FRAMES_FIRST)
		return;
	if (!b->marks[stack]) {
		b->marked = xgrow(b->marked, b->marked_count, sizeof(*b->marked));
		b->marked[b->marked_count++] = stack;
	}
	b->marks[stack] |= (uint8_t)marks;
}

/* The newest of the stacks, if they have names and all are of one line of the program; 0: they are not. */
static uint32_t one_line_of(struct by_stack *b, const struct waiting_ids *waiting)
{
	uint32_t by = 0, line = 0;

	for (unsigned int i = 0; i < waiting->count; i++) {
		uint32_t stack = frames_of(b->frames, waiting->ids[i]), its;
		struct view_verdict verdict;

		if (stack < FRAMES_FIRST)
			continue;
		verdict = decide_owner(b, stack);
		its = line_of(b, stack, &verdict);
		if (its < by_stack_line_symbols(b->request) || (line && its != line))
			return 0;
		line = its;
		by = stack;
	}
	return by;
}

/* A thread that has only a framework's code worked for the line that waited, if all that ever waited are one line. */
void by_stack_set_waiting(struct by_stack *b, uint32_t stack_id, const struct waiting_ids *waiting)
{
	uint32_t stack = frames_of(b->frames, stack_id);
	bool is_certain = waiting && !waiting->is_uncertain;

	if (stack >= FRAMES_FIRST)
		b->waiting_of[stack] = is_certain && decide_owner(b, stack).is_framework ? one_line_of(b, waiting) : 0;
}

void by_stack_add(struct by_stack *b, const struct stacks_row *r, const struct stacks_rise *rise,
		  const struct held_age *age)
{
	uint32_t stack = frames_of(b->frames, r->stack_id), by;
	struct view_verdict verdict;
	struct view_held held = {
		.live = r->live, .at_peak = r->at_peak, .grown = r->grown,
		.live_count = r->count, .allocs = r->allocs, .frees = r->frees, .alloc_bytes = r->alloc_bytes,
	};

	if (rise) {
		held.rise = rise->all;
		held.rise_later = rise->later;
		held.least_rise = rise->least;
		held.then = rise->then;
		held.each = rise->each;
	}
	if (age) {
		held.oldest_ts_ns = age->oldest_ts_ns;
		held.old_bytes = age->old_bytes;
		held.old_count = age->old_count;
	}
	by = b->waiting_of[stack] ? b->waiting_of[stack] : stack;
	verdict = decide_owner(b, by);
	sums_count(&b->owners, verdict.owner, &held);
	if (!b->request->top)
		return;
	b->line_of[stack] = line_of(b, by, &verdict);
	b->caller_of[stack] = caller_of(b, by, &verdict);
	sums_count(&b->stacks, stack, &held);
	sums_count(&b->lines, b->line_of[stack], &held);
	/* The driver keeps what a kernel's first launch needs for all modules. */
	sums_count(&b->modules, verdict.is_driver ? MODULE_PATHS_NONE : b->frames->stacks[stack].module, &held);
}

/* ---- stacks and symbols that the view shows ---- */

static uint32_t show_symbol(struct by_stack *b, uint32_t symbol)
{
	const struct frames_symbol *from = &b->frames->symbols[symbol];
	struct view *view = b->view;

	if (b->symbol_of[symbol])
		return b->symbol_of[symbol] - 1;
	view->symbols = xgrow(view->symbols, view->symbol_count, sizeof(*view->symbols));
	view->symbols[view->symbol_count] = (struct view_symbol){
		.function = from->function,
		.module = from->module,
		.file = from->file,
		.offset = from->offset,
		.line = from->line,
		.is_python = from->kind == GMT_SYMBOL_PYTHON,
		.is_inlined = from->flags & GMT_SYMBOL_INLINED,
		.is_guessed = from->flags & GMT_SYMBOL_GUESSED,
		.is_skipped = b->request->is_skipped &&
			      b->request->is_skipped(b->request->arg, b->frames, symbol),
	};
	b->symbol_of[symbol] = ++view->symbol_count;
	return b->symbol_of[symbol] - 1;
}

static uint32_t show_module(struct by_stack *b, uint32_t module)
{
	struct view *view = b->view;

	if (module == MODULE_PATHS_NONE)
		return VIEW_NO_MODULE;
	if (!b->module_of[module]) {
		view->modules = xgrow(view->modules, view->module_count, sizeof(*view->modules));
		view->modules[view->module_count] = module_paths_text(&b->frames->modules, module);
		b->module_of[module] = ++view->module_count;
	}
	return b->module_of[module] - 1;
}

static uint32_t show_stack(struct by_stack *b, uint32_t stack)
{
	struct view_verdict verdict = decide_owner(b, stack);
	struct view *view = b->view;
	struct view_stack *to;
	const uint32_t *list;

	if (b->stack_of[stack])
		return b->stack_of[stack] - 1;
	view->stacks = xgrow(view->stacks, view->stack_count, sizeof(*view->stacks));
	to = &view->stacks[view->stack_count];
	*to = (struct view_stack){
		.state = stack == FRAMES_NO_STACK ? VIEW_STACK_NONE :
			 stack == FRAMES_NOT_NAMED ? VIEW_STACK_NOT_NAMED : VIEW_STACK_NAMED,
		.owner = b->waiting_of[stack] ? decide_owner(b, b->waiting_of[stack]).owner : verdict.owner,
		.decisive = verdict.frame,
		.own = verdict.line,
		.module = show_module(b, b->frames->stacks[stack].module),
	};
	list = frames_list(b->frames, stack, &to->frame_count);
	to->frames = xcalloc(to->frame_count, sizeof(*to->frames));
	for (uint32_t i = 0; i < to->frame_count; i++)
		to->frames[i] = show_symbol(b, list[i]);
	b->stack_of[stack] = ++view->stack_count;
	return b->stack_of[stack] - 1;
}

/* ---- the greatest ---- */

static void fill_top(struct by_stack *b, enum view_order order, struct view_top *top)
{
	const struct sums_ties ties = { by_stack_compare_stacks, &b->order };
	struct sums_pick *picks = sums_greatest(&b->stacks, order, &ties, b->request->top, &top->count);

	top->rows = xcalloc(top->count, sizeof(*top->rows));
	for (size_t i = 0; i < top->count; i++)
		top->rows[i] = (struct view_stack_row){
			.stack = show_stack(b, picks[i].number), .held = b->stacks.list[picks[i].at].held,
			.is_segment = b->marks[picks[i].number] & BY_STACK_RESERVE,
		};
	free(picks);
}

/* Counts the stacks of the lines that were picked, and finds the greatest and who called there. */
static void find_stacks(struct by_stack *b, enum view_order order, const struct sums_pick *picks,
			struct view_lines *lines)
{
	uint32_t *row_of = xcalloc(b->lines.count, sizeof(*row_of)); /* index in b->lines -> 1 + row */
	int64_t *greatest = xcalloc(lines->count, sizeof(*greatest));
	struct view_line_row *line;

	for (size_t i = 0; i < lines->count; i++)
		row_of[picks[i].at] = (uint32_t)i + 1;
	for (uint32_t i = 0; i < b->stacks.count; i++) {
		uint32_t stack = b->stacks.list[i].number;
		uint32_t row = row_of[b->lines.place[b->line_of[stack]] - 1];
		int64_t value = view_value(&b->stacks.list[i].held, order);

		if (!row || value <= 0)
			continue;
		line = &lines->rows[row - 1];
		line->has_callers |= line->stacks && line->caller != b->caller_of[stack];
		line->stacks++;
		if (value < greatest[row - 1] ||
		    (value == greatest[row - 1] && by_stack_compare_stacks(&b->order, stack, line->stack) > 0))
			continue;
		greatest[row - 1] = value;
		line->stack = stack;
		line->caller = b->caller_of[stack];
	}
	for (size_t i = 0; i < lines->count; i++) {
		line = &lines->rows[i];
		line->stack = show_stack(b, line->stack);
		line->caller = line->state == VIEW_LINE_OWN && line->caller ? 1 + show_symbol(b, line->caller - 1) : 0;
	}
	free(greatest);
	free(row_of);
}

static void fill_lines(struct by_stack *b, enum view_order order, struct view_lines *lines)
{
	const struct sums_ties ties = { by_stack_compare_lines, &b->order };
	struct sums_pick *picks = sums_greatest(&b->lines, order, &ties, b->request->top, &lines->count);

	lines->rows = xcalloc(lines->count, sizeof(*lines->rows));
	for (size_t i = 0; i < lines->count; i++) {
		uint32_t line = picks[i].number, first = by_stack_line_symbols(b->request);

		lines->rows[i] = (struct view_line_row){
			.state = state_of_line(b, line), .has_ended = b->has_ended,
			.symbol = line < first ? 0 : show_symbol(b, line - first),
			.held = b->lines.list[picks[i].at].held,
		};
	}
	if (lines->count)
		find_stacks(b, order, picks, lines);
	free(picks);
}

static void fill_modules(struct by_stack *b, enum view_order order, struct view_modules *modules)
{
	const struct sums_ties ties = { by_stack_compare_modules, &b->order };
	struct sums_pick *picks = sums_greatest(&b->modules, order, &ties, b->request->top, &modules->count);

	modules->rows = xcalloc(modules->count, sizeof(*modules->rows));
	for (size_t i = 0; i < modules->count; i++)
		modules->rows[i] = (struct view_module_row){ .module = show_module(b, picks[i].number),
							     .held = b->modules.list[picks[i].at].held };
	free(picks);
}

static bool has_modules(const struct by_stack *b)
{
	return b->modules.count > 1 || (b->modules.count && b->modules.list[0].number != MODULE_PATHS_NONE);
}

void by_stack_take(struct by_stack *b, struct view_stacks *out)
{
	take_owners(b, out);
	out->stack_count = b->stacks.count;
	for (int order = 0; order < VIEW_ORDER_COUNT; order++)
		fill_top(b, (enum view_order)order, &out->top[order]);
	for (int order = 0; order < VIEW_ORDER_COUNT; order++)
		fill_lines(b, (enum view_order)order, &out->lines[order]);
	for (int order = 0; order < VIEW_ORDER_COUNT && has_modules(b); order++)
		fill_modules(b, (enum view_order)order, &out->modules[order]);
	while (b->marked_count)
		b->marks[b->marked[--b->marked_count]] = 0;
	b->has_ended = false;
	sums_forget(&b->stacks);
	sums_forget(&b->lines);
	sums_forget(&b->modules);
}

/* ---- one part of a view ---- */

/* Marks first: where stacks read alike, one may have what another has not. */
static void mark_stacks(struct by_stack *b, const struct by_stack_of *of)
{
	for (uint32_t i = 0; i < of->stacks->count; i++) {
		uint32_t id = of->stacks->list[i].id;

		if (of->segments && hash_get(of->segments, id))
			by_stack_mark(b, id, BY_STACK_RESERVE);
		if (of->ends && stack_ends_is_cut(of->ends, id))
			by_stack_mark(b, id, BY_STACK_CUT);
	}
}

void by_stack_fill(struct by_stack *b, const struct by_stack_of *of, const struct by_stack_moments *moments,
		   struct view_stacks *out)
{
	const struct stacks *stacks = of->stacks;

	*out = (struct view_stacks){
		.live = stacks->live, .peak = stacks->peak, .peak_ts_ns = stacks->peak_ts_ns,
		.since_ns = moments->since_ns, .rise = moments->rise,
		.iterations = moments->iterations.iterations,
	};
	mark_stacks(b, of);
	b->has_ended = of->has_ended;
	for (uint32_t i = 0; i < stacks->count; i++) {
		struct stacks_rise rise = stacks_rise(stacks, i, moments->rise_at);
		struct stacks_row r;
		struct held_age age;

		if (moments->iterations.iterations)
			rise.each = (int64_t)(stacks_held(stacks, i, moments->iterations.to) -
					      stacks_held(stacks, i, moments->iterations.from));
		stacks_row(stacks, i, moments->since, &r);
		if (!r.allocs && !r.frees && !r.live && !r.at_peak) /* the stack's memory has moved to other rows */
			continue;
		if (of->ages)
			age = held_age(of->ages, of->row, r.stack_id);
		/* A stack of another process that reads alike may have had one. */
		by_stack_set_waiting(b, r.stack_id, of->waiting ? hash_get(of->waiting, r.stack_id) : NULL);
		by_stack_add(b, &r, &rise, of->ages ? &age : NULL);
	}
	by_stack_take(b, out);
}

uint32_t by_stack_show(struct by_stack *b, uint32_t stack_id)
{
	return show_stack(b, frames_of(b->frames, stack_id));
}

uint32_t by_stack_show_waiting(struct by_stack *b, uint32_t stack_id)
{
	uint32_t stack = frames_of(b->frames, stack_id);

	return show_stack(b, b->waiting_of[stack] ? b->waiting_of[stack] : stack);
}

uint8_t by_stack_purpose(const struct by_stack *b, uint32_t stack_id, unsigned int category)
{
	enum gmt_category guess = category ? category - 1 : GMT_CATEGORY_UNKNOWN;

	return (uint8_t)category_with_hint(guess, frames_hint(b->frames, stack_id));
}
