// SPDX-License-Identifier: BSD-2-Clause
#include "core/view/by_stack.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/xalloc.h"

#define OWNER_NONE_TEXT "(without a stack)"
#define OWNER_NOT_NAMED_TEXT "(not named)"
#define OWNER_UNKNOWN_TEXT "unknown"
/* A line's number: a state; from here on an owner, for the driver's own memory; from line_symbols() on the symbol of
 * its place. */
#define LINE_OWNERS VIEW_LINE_STATE_COUNT

static uint32_t owner_count(const struct view_request *request)
{
	return request->decide ? request->owner_count : 1;
}

static uint32_t line_symbols(const struct view_request *request)
{
	return LINE_OWNERS + owner_count(request) + 2;
}

void by_stack_init(struct by_stack *b, const struct frames *frames, const struct view_request *request,
		   struct view *view)
{
	uint32_t owners = owner_count(request) + 2;

	*b = (struct by_stack){ .frames = frames, .request = request, .view = view };
	sums_init(&b->stacks, frames->stack_count);
	sums_init(&b->owners, owners);
	sums_init(&b->lines, line_symbols(request) + frames->symbol_count);
	sums_init(&b->modules, frames->modules.count);
	b->line_of = xcalloc(frames->stack_count, sizeof(*b->line_of));
	b->caller_of = xcalloc(frames->stack_count, sizeof(*b->caller_of));
	b->marks = xcalloc(frames->stack_count, sizeof(*b->marks));
	b->stack_of = xcalloc(frames->stack_count, sizeof(*b->stack_of));
	b->symbol_of = xcalloc(frames->symbol_count, sizeof(*b->symbol_of));
	b->module_of = xcalloc(frames->modules.count, sizeof(*b->module_of));
	b->owner_of = xcalloc(owners, sizeof(*b->owner_of));
	view->owners = xcalloc(owners, sizeof(*view->owners));
	view->owners[VIEW_OWNER_NO_STACK] = xstrdup(OWNER_NONE_TEXT);
	view->owners[VIEW_OWNER_NOT_NAMED] = xstrdup(OWNER_NOT_NAMED_TEXT);
	view->owner_count = 2;
}

void by_stack_fini(struct by_stack *b)
{
	sums_fini(&b->stacks);
	sums_fini(&b->owners);
	sums_fini(&b->lines);
	sums_fini(&b->modules);
	free(b->line_of);
	free(b->caller_of);
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
		view->owners[view->owner_count] =
			xstrdup(r->decide ? r->owner_name(r->arg, verdict.owner) : OWNER_UNKNOWN_TEXT);
		*index = view->owner_count++;
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
		return LINE_OWNERS + verdict->owner;
	list = frames_list(b->frames, stack, &count);
	if (verdict->line >= count)
		return line_without_own(b, stack);
	return line_symbols(b->request) + b->frames->symbols[list[verdict->line]].place;
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
	return line < LINE_OWNERS ? (uint8_t)line : line < line_symbols(b->request) ? VIEW_LINE_DRIVER : VIEW_LINE_OWN;
}

static int compare_owners(const void *left, const void *right)
{
	const struct view_owner *a = left, *b = right;

	if (a->held.live != b->held.live)
		return a->held.live < b->held.live ? 1 : -1;
	if (a->held.at_peak != b->held.at_peak)
		return a->held.at_peak < b->held.at_peak ? 1 : -1;
	return (a->owner > b->owner) - (a->owner < b->owner);
}

static void take_owners(struct by_stack *b, struct view_stacks *out)
{
	out->owner_count = b->owners.count;
	out->owners = xcalloc(out->owner_count, sizeof(*out->owners));
	for (size_t i = 0; i < out->owner_count; i++)
		out->owners[i] = (struct view_owner){ b->owners.list[i].number, b->owners.list[i].held };
	if (out->owner_count)
		qsort(out->owners, out->owner_count, sizeof(*out->owners), compare_owners);
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

void by_stack_add(struct by_stack *b, const struct stacks_row *r, const struct stacks_rise *rise,
		  const struct held_age *age)
{
	uint32_t stack = frames_of(b->frames, r->stack_id);
	struct view_verdict verdict;
	struct view_held held = {
		.live = r->live, .at_peak = r->at_peak, .grown = r->grown,
		.live_count = r->count, .allocs = r->allocs, .frees = r->frees, .alloc_bytes = r->alloc_bytes,
	};

	if (rise) {
		held.rise = rise->all;
		held.rise_later = rise->later;
		held.then = rise->then;
	}
	if (age) {
		held.oldest_ts_ns = age->oldest_ts_ns;
		held.old_bytes = age->old_bytes;
		held.old_count = age->old_count;
	}
	verdict = decide_owner(b, stack);
	sums_count(&b->owners, verdict.owner, &held);
	if (!b->request->top)
		return;
	b->line_of[stack] = line_of(b, stack, &verdict);
	b->caller_of[stack] = caller_of(b, stack, &verdict);
	sums_count(&b->stacks, stack, &held);
	sums_count(&b->lines, b->line_of[stack], &held);
	sums_count(&b->modules, b->frames->stacks[stack].module, &held);
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
		.owner = verdict.owner,
		.decisive = verdict.frame,
		.own = verdict.line,
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
	struct sums_pick *picks = sums_greatest(&b->stacks, order, b->request->top, &top->count);

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
		if (value <= greatest[row - 1])
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
	struct sums_pick *picks = sums_greatest(&b->lines, order, b->request->top, &lines->count);

	lines->rows = xcalloc(lines->count, sizeof(*lines->rows));
	for (size_t i = 0; i < lines->count; i++) {
		uint32_t line = picks[i].number, first = line_symbols(b->request);

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

static void fill_modules(struct by_stack *b, enum view_order order, struct view_modules *modules)
{
	struct sums_pick *picks = sums_greatest(&b->modules, order, b->request->top, &modules->count);

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
	};
	mark_stacks(b, of);
	b->has_ended = of->has_ended;
	for (uint32_t i = 0; i < stacks->count; i++) {
		struct stacks_rise rise = stacks_rise(stacks, i, moments->rise_at);
		struct stacks_row r;
		struct held_age age;

		stacks_row(stacks, i, moments->since, &r);
		if (!r.allocs && !r.frees && !r.live && !r.at_peak) /* the stack's memory has moved to other rows */
			continue;
		if (of->ages)
			age = held_age(of->ages, of->row, r.stack_id);
		by_stack_add(b, &r, &rise, of->ages ? &age : NULL);
	}
	by_stack_take(b, out);
}

/* Which rows of one order show a stack (by its index in view.stacks) or a line (by its number): 1 + index in the order;
 * 0: none. A job chooses how many stacks there are. */
struct places {
	uint32_t *of_stack, *of_line, *of_line_stack;
};

static uint32_t number_of_line(const struct by_stack *b, const struct view_line_row *row,
			       const uint32_t *line_of_symbol)
{
	if (row->state == VIEW_LINE_DRIVER)
		return LINE_OWNERS + b->view->stacks[row->stack].owner;
	return row->state == VIEW_LINE_OWN ? line_of_symbol[row->symbol] : row->state;
}

/* on: sets the places of an order; else clears them again. */
static void mark_places(const struct by_stack *b, struct places *places, const struct view_stacks *s, int order,
			const uint32_t *line_of_symbol, bool on)
{
	for (uint32_t k = 0; k < s->top[order].count; k++)
		places->of_stack[s->top[order].rows[k].stack] = on ? k + 1 : 0;
	for (uint32_t k = 0; k < s->lines[order].count; k++) {
		const struct view_line_row *row = &s->lines[order].rows[k];

		places->of_line_stack[row->stack] = on ? k + 1 : 0;
		places->of_line[number_of_line(b, row, line_of_symbol)] = on ? k + 1 : 0;
	}
}

static void add_part(struct view_line_row *row, const struct view_purpose *purpose)
{
	row->by_category[purpose->category] += purpose->live;
	row->at_peak[purpose->category] += purpose->at_peak;
}

static void set_purpose(struct by_stack *b, struct view_stacks *s, int order, const struct places *places,
			const struct view_purpose *purpose)
{
	uint32_t number = frames_of(b->frames, purpose->stack_id), line = places->of_line[b->line_of[number]];
	uint32_t shown = number < FRAMES_FIRST ? 0 : b->stack_of[number];

	if (line)
		add_part(&s->lines[order].rows[line - 1], purpose);
	if (shown && places->of_stack[shown - 1])
		s->top[order].rows[places->of_stack[shown - 1] - 1].purpose = 1 + purpose->category;
	if (shown && places->of_line_stack[shown - 1])
		s->lines[order].rows[places->of_line_stack[shown - 1] - 1].purpose = 1 + purpose->category;
}

void by_stack_set_purposes(struct by_stack *b, struct view_stacks *s, const struct view_purpose *purposes, size_t count)
{
	uint32_t *line_of_symbol, first = line_symbols(b->request);
	struct places places;

	if (!count) /* as in each process without a framework, of which there may be thousands */
		return;
	line_of_symbol = xcalloc(b->view->symbol_count, sizeof(*line_of_symbol));
	places = (struct places){
		.of_stack = xcalloc(b->view->stack_count, sizeof(*places.of_stack)),
		.of_line_stack = xcalloc(b->view->stack_count, sizeof(*places.of_line_stack)),
		.of_line = xcalloc(first + b->frames->symbol_count, sizeof(*places.of_line)),
	};
	for (uint32_t i = 0; i < b->frames->symbol_count; i++)
		if (b->symbol_of[i])
			line_of_symbol[b->symbol_of[i] - 1] = first + i;
	for (int order = 0; order < VIEW_ORDER_COUNT; order++) {
		mark_places(b, &places, s, order, line_of_symbol, true);
		for (size_t i = 0; i < count; i++)
			set_purpose(b, s, order, &places, &purposes[i]);
		mark_places(b, &places, s, order, line_of_symbol, false);
	}
	free(line_of_symbol);
	free(places.of_stack);
	free(places.of_line_stack);
	free(places.of_line);
}

uint32_t by_stack_show(struct by_stack *b, uint32_t stack_id)
{
	return show_stack(b, frames_of(b->frames, stack_id));
}
