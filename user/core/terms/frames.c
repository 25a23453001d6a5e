// SPDX-License-Identifier: BSD-2-Clause
#include "core/terms/frames.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"

#define LIST_FIRST 64

static uint32_t keep_symbol(struct frames *f, struct frames_symbol symbol)
{
	f->symbols = xgrow(f->symbols, f->symbol_count, sizeof(*f->symbols));
	f->symbols[f->symbol_count] = symbol;
	return f->symbol_count++;
}

static uint32_t keep_stack(struct frames *f, struct frames_stack stack)
{
	f->stacks = xgrow(f->stacks, f->stack_count, sizeof(*f->stacks));
	f->stacks[f->stack_count] = stack;
	return f->stack_count++;
}

void frames_init(struct frames *f)
{
	*f = (struct frames){ .list_capacity = LIST_FIRST };
	hash_init(&f->symbol_ids, sizeof(uint32_t));
	hash_init(&f->by_place, sizeof(uint32_t));
	hash_init(&f->stack_ids, sizeof(uint32_t));
	hash_init(&f->by_list, sizeof(uint32_t));
	f->lists = xcalloc(f->list_capacity, sizeof(*f->lists));
	module_paths_init(&f->modules);
	keep_symbol(f, (struct frames_symbol){ .function = "", .module = "", .file = "" });
	while (f->stack_count < FRAMES_FIRST)
		keep_stack(f, (struct frames_stack){ .hint = SYMBOL_HINT_NONE });
}

void frames_fini(struct frames *f)
{
	for (uint32_t i = 1; i < f->symbol_count; i++)
		free((char *)f->symbols[i].function); /* all three texts are one block */
	free(f->symbols);
	free(f->stacks);
	free(f->lists);
	module_paths_fini(&f->modules);
	hash_fini(&f->symbol_ids);
	hash_fini(&f->by_place);
	hash_fini(&f->stack_ids);
	hash_fini(&f->by_list);
	*f = (struct frames){ 0 };
}

/* Whoever has kept the number of a stack or a symbol must not meet another one under it: frames stay closed, and the
 * arrays by number are empty. */
void frames_forget(struct frames *f)
{
	uint64_t dropped = f->dropped + f->symbol_count - 1;

	frames_fini(f);
	frames_init(f);
	f->dropped = dropped;
	f->is_closed = true;
}

void frames_forget_stack(struct frames *f, uint32_t stack_id)
{
	hash_erase(&f->stack_ids, stack_id);
}

/* ---- symbols ---- */

/* Whether the three texts fit the record and end where they should. */
static bool is_valid_symbol(const struct gmt_symbol *rec)
{
	size_t module = (size_t)rec->function_len + 1, file = module + rec->module_len + 1;
	size_t end = file + rec->file_len + 1;

	if (!rec->id || end > rec->hdr.size - sizeof(*rec))
		return false;
	return !rec->text[module - 1] && !rec->text[file - 1] && !rec->text[end - 1];
}

static bool is_with_line(const struct frames_symbol *s)
{
	return s->file[0] && s->line;
}

static bool is_place_alike(const struct frames_symbol *a, const struct frames_symbol *b)
{
	if (is_with_line(a) || is_with_line(b))
		return a->line == b->line && !strcmp(a->file, b->file);
	return !strcmp(a->function, b->function) && !strcmp(a->module, b->module);
}

static void set_place(struct frames *f, uint32_t symbol)
{
	struct frames_symbol *s = &f->symbols[symbol];
	uint64_t hash = hash_seed(&f->by_place);
	uint32_t *first;
	bool is_new;

	if (is_with_line(s)) {
		hash = hash_of_bytes(hash, s->file, strlen(s->file));
		hash = hash_of_bytes(hash, &s->line, sizeof(s->line));
	} else {
		hash = hash_of_bytes(hash, s->function, strlen(s->function));
		hash = hash_of_bytes(hash, s->module, strlen(s->module));
	}
	first = hash_put(&f->by_place, hash, &is_new);
	if (is_new)
		*first = symbol;
	/* Of unlike places with one hash, which nobody can choose, the second is shown as several. */
	s->place = is_place_alike(&f->symbols[*first], s) ? *first : symbol;
}

int frames_add_symbol(struct frames *f, const struct gmt_symbol *rec)
{
	size_t module = (size_t)rec->function_len + 1, file = module + rec->module_len + 1;
	char *text;

	if (!is_valid_symbol(rec) || hash_get(&f->symbol_ids, rec->id))
		return -EINVAL;
	if (f->symbol_count >= FRAMES_SYMBOLS_MAX || f->is_closed) {
		f->dropped++;
		return 0;
	}
	text = xmalloc(file + rec->file_len + 1);
	memcpy(text, rec->text, file + rec->file_len + 1);
	*(uint32_t *)hash_put(&f->symbol_ids, rec->id, NULL) = keep_symbol(f, (struct frames_symbol){
		.function = text,
		.module = text + module,
		.file = text + file,
		.offset = rec->offset,
		.line = rec->line,
		.kind = rec->kind,
		.flags = rec->flags,
		.hint = symbol_hint(text, text + file),
		.role = rec->kind == GMT_SYMBOL_PYTHON ? module_paths_role(text, text + file) : MODULE_ROLE_NONE,
	});
	set_place(f, f->symbol_count - 1);
	return 0;
}

/* ---- stacks ---- */

static uint8_t hint_of(const struct frames *f, const uint32_t *list, uint32_t count)
{
	uint8_t hint = SYMBOL_HINT_NONE;

	for (uint32_t i = 0; i < count && hint == SYMBOL_HINT_NONE; i++)
		hint = f->symbols[list[i]].hint;
	return hint;
}

/* Follows the calls of modules from the outermost frame on. */
static uint32_t module_of(struct frames *f, const uint32_t *list, uint32_t count)
{
	uint32_t module = MODULE_PATHS_NONE;
	bool is_called = false;

	for (uint32_t i = count; i-- > 0;) {
		const struct frames_symbol *s = &f->symbols[list[i]];
		const char *name;
		size_t len;

		if (s->kind != GMT_SYMBOL_PYTHON)
			continue;
		if (is_called && s->role == MODULE_ROLE_FORWARD) {
			name = module_paths_class(s->function, s->file, &len);
			module = module_paths_step(&f->modules, module, name, len);
		}
		is_called = s->role == MODULE_ROLE_CALL;
	}
	return module;
}

/* The number of the stack with the list that stands behind all lists in f->lists. A new stack takes this list over. */
static uint32_t number_stack(struct frames *f, uint32_t count)
{
	const uint32_t *list = f->lists + f->list_count;
	uint64_t hash = hash_of_bytes(hash_seed(&f->by_list), list, count * sizeof(*list));
	uint32_t *head = hash_put(&f->by_list, hash, NULL);

	for (uint32_t i = *head; i; i = f->stacks[i].next) {
		const struct frames_stack *s = &f->stacks[i];

		if (s->count == count && !memcmp(f->lists + s->first, list, count * sizeof(*list)))
			return i;
	}
	if (f->stack_count >= FRAMES_STACKS_MAX) {
		f->dropped++;
		return FRAMES_NOT_NAMED;
	}
	*head = keep_stack(f, (struct frames_stack){
		.first = f->list_count, .count = count, .next = *head,
		.module = module_of(f, list, count), .hint = hint_of(f, list, count),
	});
	f->list_count += count;
	return *head;
}

static void reserve_list(struct frames *f, uint32_t count)
{
	if (f->list_capacity - f->list_count >= count)
		return;
	while (f->list_capacity - f->list_count < count)
		f->list_capacity *= 2;
	f->lists = xreallocarray(f->lists, f->list_capacity, sizeof(*f->lists));
}

int frames_add_stack(struct frames *f, const struct gmt_stack_frames *rec)
{
	uint32_t number;

	if (!rec->stack_id || rec->count > (rec->hdr.size - sizeof(*rec)) / sizeof(rec->symbols[0]))
		return -EINVAL;
	if (f->is_closed || f->list_count + rec->count > FRAMES_LIST_MAX ||
	    hash_count(&f->stack_ids) >= FRAMES_IDS_MAX) {
		f->dropped++;
		return 0;
	}
	reserve_list(f, rec->count);
	for (uint32_t i = 0; i < rec->count; i++) {
		const uint32_t *symbol = hash_get(&f->symbol_ids, rec->symbols[i]);

		if (!symbol && !f->dropped)
			return -EINVAL;
		f->lists[f->list_count + i] = symbol ? *symbol : 0;
	}
	number = number_stack(f, rec->count);
	*(uint32_t *)hash_put(&f->stack_ids, rec->stack_id, NULL) = number;
	return 0;
}

uint32_t frames_of(const struct frames *f, uint32_t stack_id)
{
	const uint32_t *number;

	if (!stack_id)
		return FRAMES_NO_STACK;
	number = hash_get(&f->stack_ids, stack_id);
	return number ? *number : FRAMES_NOT_NAMED;
}

uint8_t frames_hint(const struct frames *f, uint32_t stack_id)
{
	return f->stacks[frames_of(f, stack_id)].hint;
}
