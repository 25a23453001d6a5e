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
	hash_init(&f->by_content, sizeof(uint32_t));
	hash_init(&f->by_place, sizeof(uint32_t));
	hash_init(&f->stack_ids, sizeof(uint32_t));
	hash_init(&f->by_list, sizeof(uint32_t));
	f->lists = xcalloc(f->list_capacity, sizeof(*f->lists));
	module_paths_init(&f->modules);
	keep_symbol(f, (struct frames_symbol){ .function = "", .module = "", .file = "" });
	while (f->stack_count < FRAMES_FIRST)
		keep_stack(f, (struct frames_stack){ .hint = SYMBOL_HINT_NONE });
}

static void free_tables(struct frames *f)
{
	free(f->symbols);
	free(f->stacks);
	free(f->lists);
	module_paths_fini(&f->modules);
	hash_fini(&f->symbol_ids);
	hash_fini(&f->by_content);
	hash_fini(&f->by_place);
	hash_fini(&f->stack_ids);
	hash_fini(&f->by_list);
}

/* All three texts are one block. */
static void free_texts(const struct frames_symbol *symbol)
{
	free((char *)symbol->function);
}

void frames_fini(struct frames *f)
{
	for (uint32_t i = 1; i < f->symbol_count; i++)
		free_texts(&f->symbols[i]);
	free_tables(f);
	*f = (struct frames){ 0 };
}

/* Whoever has kept the number of a stack or a symbol must not meet another one under it: frames stay closed, and the
 * arrays by number are empty. */
void frames_forget(struct frames *f)
{
	uint64_t dropped = f->dropped + f->modules.dropped + f->symbol_count - 1;
	uint32_t epoch = f->epoch;

	frames_fini(f);
	frames_init(f);
	f->epoch = epoch + 1;
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

static bool is_equal_symbol(const struct frames_symbol *a, const struct frames_symbol *b)
{
	return a->offset == b->offset && a->line == b->line && a->kind == b->kind && a->flags == b->flags &&
	       !strcmp(a->function, b->function) && !strcmp(a->module, b->module) && !strcmp(a->file, b->file);
}

static uint64_t hash_content(struct frames *f, const struct frames_symbol *s)
{
	const uint64_t words[] = { s->offset, s->line, (uint64_t)s->kind << 8 | s->flags };
	uint64_t hash = hash_of_bytes(hash_seed(&f->by_content), words, sizeof(words));

	hash = hash_of_bytes(hash, s->function, strlen(s->function));
	hash = hash_of_bytes(hash, s->module, strlen(s->module));
	return hash_of_bytes(hash, s->file, strlen(s->file));
}

/* The number of the symbol: that of an equal one, or a new number, for which the texts are kept. */
static uint32_t number_symbol(struct frames *f, const struct frames_symbol *symbol, bool *is_new)
{
	uint32_t *known = hash_put(&f->by_content, hash_content(f, symbol), is_new);
	uint32_t number;

	if (!*is_new && is_equal_symbol(&f->symbols[*known], symbol))
		return *known;
	*is_new = true;
	number = *known = keep_symbol(f, *symbol);
	set_place(f, number);
	return number;
}

int frames_add_symbol(struct frames *f, const struct gmt_symbol *rec)
{
	size_t module = (size_t)rec->function_len + 1, file = module + rec->module_len + 1;
	struct frames_symbol symbol;
	uint32_t number;
	bool is_new;
	char *text;

	if (!is_valid_symbol(rec) || hash_get(&f->symbol_ids, rec->id))
		return -EINVAL;
	if (f->symbol_count >= FRAMES_SYMBOLS_MAX || f->is_closed) {
		f->dropped++;
		return 0;
	}
	text = xmalloc(file + rec->file_len + 1);
	memcpy(text, rec->text, file + rec->file_len + 1);
	symbol = (struct frames_symbol){
		.function = text,
		.module = text + module,
		.file = text + file,
		.offset = rec->offset,
		.line = rec->line,
		.kind = rec->kind,
		.flags = rec->flags,
		.hint = symbol_hint(text, text + file),
		.role = rec->kind == GMT_SYMBOL_PYTHON ? module_paths_role(text, text + file) : MODULE_ROLE_NONE,
	};
	number = number_symbol(f, &symbol, &is_new);
	if (!is_new)
		free(text);
	*(uint32_t *)hash_put(&f->symbol_ids, rec->id, NULL) = number;
	return 0;
}

void frames_end_symbols(struct frames *f, uint32_t last_id)
{
	if (last_id > f->ended_id)
		f->ended_id = last_id;
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

/* ---- what is needed no more ---- */

/* Which symbols and stacks stay, then their new numbers; 0: none. */
struct renumbering {
	uint32_t *symbols, *stacks;
};

static void find_needed(const struct frames *f, const struct renumbering *to)
{
	uint64_t id;
	size_t pos = 0;
	void *value;

	while (hash_next(&f->symbol_ids, &pos, &id, &value))
		to->symbols[*(uint32_t *)value] |= id > f->ended_id;
	for (pos = 0; hash_next(&f->stack_ids, &pos, NULL, &value);)
		to->stacks[*(uint32_t *)value] = 1;
	for (uint32_t i = FRAMES_FIRST; i < f->stack_count; i++)
		for (uint32_t k = 0; to->stacks[i] && k < f->stacks[i].count; k++)
			to->symbols[f->lists[f->stacks[i].first + k]] = 1;
}

static void move_symbols(struct frames *f, const struct frames *old, const struct renumbering *to)
{
	uint64_t id;
	size_t pos = 0;
	void *value;
	bool is_new;

	to->symbols[0] = 0;
	for (uint32_t i = 1; i < old->symbol_count; i++) {
		if (to->symbols[i])
			to->symbols[i] = number_symbol(f, &old->symbols[i], &is_new);
		else
			free_texts(&old->symbols[i]);
	}
	while (hash_next(&old->symbol_ids, &pos, &id, &value))
		if (id > f->ended_id)
			*(uint32_t *)hash_put(&f->symbol_ids, id, NULL) = to->symbols[*(uint32_t *)value];
}

static void move_stacks(struct frames *f, const struct frames *old, const struct renumbering *to)
{
	uint64_t id;
	size_t pos = 0;
	void *value;

	for (uint32_t i = 0; i < FRAMES_FIRST; i++)
		to->stacks[i] = i;
	for (uint32_t i = FRAMES_FIRST; i < old->stack_count; i++) {
		const struct frames_stack *s = &old->stacks[i];

		if (!to->stacks[i])
			continue;
		reserve_list(f, s->count);
		for (uint32_t k = 0; k < s->count; k++)
			f->lists[f->list_count + k] = to->symbols[old->lists[s->first + k]];
		to->stacks[i] = number_stack(f, s->count);
	}
	while (hash_next(&old->stack_ids, &pos, &id, &value))
		*(uint32_t *)hash_put(&f->stack_ids, id, NULL) = to->stacks[*(uint32_t *)value];
}

void frames_compact(struct frames *f)
{
	struct frames old = *f;
	const struct renumbering to = {
		.symbols = xcalloc(old.symbol_count, sizeof(*to.symbols)),
		.stacks = xcalloc(old.stack_count, sizeof(*to.stacks)),
	};

	find_needed(&old, &to);
	frames_init(f);
	f->ended_id = old.ended_id;
	f->epoch = old.epoch + 1;
	f->dropped = old.dropped;
	f->modules.dropped = old.modules.dropped;
	f->is_closed = old.is_closed;
	move_symbols(f, &old, &to);
	move_stacks(f, &old, &to);
	free_tables(&old);
	free(to.symbols);
	free(to.stacks);
}
