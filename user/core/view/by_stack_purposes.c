// SPDX-License-Identifier: BSD-2-Clause
/* Sets what the memory of stacks and lines is for, in a part of a view that has been made (by_stack.h). */
#include <stdlib.h>

#include "base/xalloc.h"
#include "core/view/by_stack.h"

/* Which rows of one order show a stack (by its index in view.stacks) or a line (by its number): 1 + index in the order;
 * 0: none. A job chooses how many stacks there are. */
struct places {
	uint32_t *of_stack, *of_line, *of_line_stack;
};

static uint32_t number_of_line(const struct by_stack *b, const struct view_line_row *row,
			       const uint32_t *line_of_symbol)
{
	if (row->state == VIEW_LINE_DRIVER)
		return BY_STACK_LINE_OWNERS + b->view->stacks[row->stack].owner;
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
	uint32_t *line_of_symbol, first = by_stack_line_symbols(b->request);
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
