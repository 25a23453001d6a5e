// SPDX-License-Identifier: BSD-2-Clause
/* See attribution.h. */
#include "attribution.h"

#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "cli.h"
#include "core/terms/frames.h"
#include "symbol/owners.h"

#define FIRST_CAPACITY 256

struct known_symbol {
	bool known;
	struct owners_match match;
};

struct known_stack {
	bool known;
	struct view_verdict verdict;
};

struct attribution {
	struct owners *owners;
	struct known_symbol *symbols;
	struct known_stack *stacks;
	struct owners_match *matches;   /* of one stack */
	uint32_t symbol_capacity, stack_capacity, match_capacity;
};

struct attribution *attribution_new(const struct options *options, char *why, size_t why_size)
{
	struct attribution *a = xcalloc(1, sizeof(*a));
	int err = 0;

	a->owners = owners_new();
	for (size_t i = 0; i < options->owners.count && !err; i++)
		err = owners_add_file(a->owners, options->owners.texts[i], why, why_size);
	if (!err)
		err = owners_add_standard(a->owners, why, why_size);
	if (!err)
		return a;
	attribution_free(a);
	return NULL;
}

void attribution_free(struct attribution *a)
{
	if (!a)
		return;
	owners_free(a->owners);
	free(a->symbols);
	free(a->stacks);
	free(a->matches);
	free(a);
}

/* Room for item `index`; what is new is all zero. */
static void *with_room(void *items, size_t size, uint32_t index, uint32_t *capacity)
{
	uint32_t old = *capacity;

	if (index < old)
		return items;
	*capacity = old ? old : FIRST_CAPACITY;
	while (*capacity <= index)
		*capacity *= 2;
	items = xreallocarray(items, *capacity, size);
	memset((char *)items + old * size, 0, (*capacity - old) * size);
	return items;
}

static const char *text_or_null(const char *text)
{
	return *text ? text : NULL;
}

static struct owners_match match_of(struct attribution *a, const struct frames *frames, uint32_t symbol)
{
	const struct frames_symbol *s = &frames->symbols[symbol];
	struct known_symbol *known;

	a->symbols = with_room(a->symbols, sizeof(*a->symbols), symbol, &a->symbol_capacity);
	known = &a->symbols[symbol];
	if (!known->known) {
		known->known = true;
		known->match = owners_match(a->owners, &(struct owners_frame){
			.module = text_or_null(s->module),
			.function = text_or_null(s->function),
			.file = text_or_null(s->file),
		});
	}
	return known->match;
}

static struct view_verdict judge_stack(void *arg, const struct frames *frames, uint32_t stack)
{
	struct attribution *a = arg;
	struct known_stack *known;
	uint32_t count;
	const uint32_t *list;
	size_t frame;

	a->stacks = with_room(a->stacks, sizeof(*a->stacks), stack, &a->stack_capacity);
	known = &a->stacks[stack];
	if (known->known)
		return known->verdict;
	list = frames_list(frames, stack, &count);
	a->matches = with_room(a->matches, sizeof(*a->matches), count, &a->match_capacity);
	for (uint32_t i = 0; i < count; i++)
		a->matches[i] = match_of(a, frames, list[i]);
	known->known = true;
	known->verdict.owner = owners_decide(a->matches, count, &frame);
	known->verdict.frame = frame < count ? (uint32_t)frame : VIEW_NO_FRAME;
	return known->verdict;
}

static bool is_skipped(void *arg, const struct frames *frames, uint32_t symbol)
{
	return match_of(arg, frames, symbol).verb == OWNERS_SKIP;
}

static const char *owner_name(void *arg, uint32_t owner)
{
	const struct attribution *a = arg;

	return owners_name(a->owners, (uint16_t)owner);
}

void attribution_ask(struct attribution *a, struct view_request *request)
{
	if (!a)
		return;
	request->decide = judge_stack;
	request->is_skipped = is_skipped;
	request->owner_name = owner_name;
	request->owner_count = (uint32_t)owners_count(a->owners);
	request->arg = a;
}
