/* SPDX-License-Identifier: BSD-2-Clause */
/* Views with all stacks, whose owners are told by the first letter of a function; and questions to them. */
#ifndef GPUMEMTRACE_TESTS_BY_LETTER_H
#define GPUMEMTRACE_TESTS_BY_LETTER_H

#include <string.h>

#include "records.h"

#include "core/terms/frames.h"

#define S 1000000000ull

/* Whose function has no name or begins with '-' is of nobody; else it is of the owner that is its first letter, a or b.
 * The line is the outermost frame's. What is in a "driver" is the driver's own. */
static struct view_verdict by_letter(void *arg, const struct frames *frames, uint32_t stack)
{
	uint32_t count;
	const uint32_t *list = frames_list(frames, stack, &count);

	(void)arg;
	for (uint32_t i = 0; i < count; i++) {
		const char *function = frames->symbols[list[i]].function;

		if (function[0] && function[0] != '-')
			return (struct view_verdict){ .owner = (uint32_t)(function[0] - 'a' + 1), .frame = i,
						      .line = count - 1,
						      .is_driver = strstr(function, "driver") != NULL };
	}
	return (struct view_verdict){ .frame = VIEW_NO_FRAME, .line = VIEW_NO_FRAME };
}

static struct view_owner_names letter(void *arg, uint32_t owner)
{
	static const char *const names[] = { "nobody", "Anna", "Bert" };

	(void)arg;
	return (struct view_owner_names){ .name = names[owner] };
}

static bool is_dash(void *arg, const struct frames *frames, uint32_t symbol)
{
	(void)arg;
	return frames->symbols[symbol].function[0] == '-';
}

static const struct view_request all = {
	.decide = by_letter,
	.is_skipped = is_dash,
	.owner_names = letter,
	.owner_count = 3,
	.top = SIZE_MAX,
	.ages = true,
	.older_than_ns = 60 * S,
};

static struct view look(const struct records *r)
{
	struct view view;

	view_build(r->pipeline, &all, &view);
	return view;
}

/* The row of a GPU's index, NO_GPU, or ANY_GPU: host memory. */
__attribute__((unused)) static const struct view_stacks *stacks_of(const struct view *view, int gpu)
{
	const struct view_proc *p = &view->procs[view->proc_count - 1];

	if (gpu == ANY_GPU)
		return &p->host_stacks;
	for (size_t i = 0; i < p->row_count; i++)
		if (gpu == (p->rows[i].gpu == NO_GPU ? NO_GPU : (int)view->gpus[p->rows[i].gpu].index))
			return &p->rows[i].stacks;
	return NULL;
}

/* Of the stack whose innermost frame is the function; "": without a stack, NULL: without names. */
__attribute__((unused)) static struct view_held held_by(const struct view *view, const struct view_stacks *s,
							 enum view_order order, const char *function)
{
	for (size_t i = 0; s && i < s->top[order].count; i++) {
		const struct view_stack *stack = &view->stacks[s->top[order].rows[i].stack];
		bool same = false;

		if (stack->state == VIEW_STACK_NAMED && function)
			same = stack->frame_count && !strcmp(view->symbols[stack->frames[0]].function, function);
		else if (stack->state != VIEW_STACK_NAMED)
			same = function ? !*function && stack->state == VIEW_STACK_NONE
					: stack->state == VIEW_STACK_NOT_NAMED;
		if (same)
			return s->top[order].rows[i].held;
	}
	return (struct view_held){ 0 };
}

#endif
