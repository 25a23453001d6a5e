// SPDX-License-Identifier: BSD-2-Clause
#include "core/view/by_stack_order.h"

#include <stdlib.h>
#include <string.h>

#include "core/terms/frames.h"
#include "core/view/view.h"

static int compare_numbers(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int compare_symbols(const struct frames *frames, uint32_t a, uint32_t b)
{
	const struct frames_symbol *s = &frames->symbols[a], *t = &frames->symbols[b];
	int order = a == b ? 0 : strcmp(s->file, t->file);

	if (!order)
		order = compare_numbers(s->line, t->line);
	if (!order)
		order = strcmp(s->function, t->function);
	if (!order)
		order = strcmp(s->module, t->module);
	return order ? order : compare_numbers(s->offset, t->offset);
}

int by_stack_compare_owners(const struct view *view, uint32_t a, uint32_t b)
{
	if (a <= VIEW_OWNER_NOT_NAMED || b <= VIEW_OWNER_NOT_NAMED)
		return compare_numbers(a, b);
	return strcmp(view->owners[a].text, view->owners[b].text);
}

int by_stack_compare_stacks(const void *order, uint32_t a, uint32_t b)
{
	const struct frames *frames = ((const struct by_stack_order *)order)->frames;
	const uint32_t *frames_a, *frames_b;
	uint32_t count_a, count_b;

	if (a < FRAMES_FIRST || b < FRAMES_FIRST)
		return compare_numbers(a, b);
	frames_a = frames_list(frames, a, &count_a);
	frames_b = frames_list(frames, b, &count_b);
	for (uint32_t i = 0; i < count_a && i < count_b; i++) {
		int by_frame = compare_symbols(frames, frames_a[i], frames_b[i]);

		if (by_frame)
			return by_frame;
	}
	return compare_numbers(count_a, count_b);
}

int by_stack_compare_lines(const void *order, uint32_t a, uint32_t b)
{
	const struct by_stack_order *o = order;

	if (a >= o->places && b >= o->places)
		return compare_symbols(o->frames, a - o->places, b - o->places);
	if (a < o->owners || b < o->owners || a >= o->places || b >= o->places)
		return compare_numbers(a, b);
	return by_stack_compare_owners(o->view, a - o->owners, b - o->owners);
}

int by_stack_compare_modules(const void *order, uint32_t a, uint32_t b)
{
	const struct module_paths *paths = &((const struct by_stack_order *)order)->frames->modules;
	char *text_a = module_paths_text(paths, a), *text_b = module_paths_text(paths, b);
	int by_text = strcmp(text_a, text_b);

	free(text_a);
	free(text_b);
	return by_text;
}
