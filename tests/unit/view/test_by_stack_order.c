// SPDX-License-Identifier: BSD-2-Clause
/* Rows of a view that hold the same bytes: their texts decide about the order, not the order in which names came. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "by_letter.h"

#define STACKS 6
#define TEXT 4096

static const char module_py[] = "/site/torch/nn/modules/module.py";

/* Symbol `n` of each stack. The call of a module and the program's line are everywhere the same. */
static void add_symbols(struct records *r, uint32_t n)
{
	static const struct {
		const char *function, *library, *file;
		uint32_t line;
	} symbols[STACKS] = {
		{ "anna", "/opt/libanna.so", "", 0 }, { "bert", "/opt/libanna.so", "", 0 },
		{ "adriver", "/opt/libcuda.so", "", 0 }, { "bdriver", "/opt/libcuda.so", "", 0 },
		{ "a", "", "/src/b.py", 9 }, { "b", "", "/src/b.py", 10 },
	};
	char net[16];

	snprintf(net, sizeof(net), "bNet%u.forward", n);
	records_symbol(r, 10 + n, symbols[n].function, symbols[n].library, symbols[n].file, symbols[n].line);
	records_symbol(r, 20 + n, net, "", "/src/net.py", 20 + n % 4);
}

/* What the rows of one order say, a line each. */
static void tell(const struct view *view, enum view_order order, char *text)
{
	const struct view_stacks *s = stacks_of(view, 1);
	size_t len = 0;

	for (size_t i = 0; i < s->owner_count; i++)
		len += (size_t)snprintf(text + len, TEXT - len, "owner %s\n", view->owners[s->owners[i].owner].text);
	for (size_t i = 0; i < s->top[order].count; i++) {
		const struct view_stack *stack = &view->stacks[s->top[order].rows[i].stack];

		for (uint32_t k = 0; k < stack->frame_count; k++)
			len += (size_t)snprintf(text + len, TEXT - len, "%s:%u ",
						view->symbols[stack->frames[k]].function,
						view->symbols[stack->frames[k]].line);
		len += (size_t)snprintf(text + len, TEXT - len, "\n");
	}
	for (size_t i = 0; i < s->lines[order].count; i++) {
		const struct view_line_row *row = &s->lines[order].rows[i];
		const struct view_stack *stack = &view->stacks[row->stack];

		len += (size_t)snprintf(text + len, TEXT - len, "line %u, as of %s by %s\n", row->state,
					view->symbols[stack->frames[0]].function, view->owners[stack->owner].text);
	}
	for (size_t i = 0; i < s->modules[order].count; i++) {
		uint32_t module = s->modules[order].rows[i].module;

		len += (size_t)snprintf(text + len, TEXT - len, "module %s\n",
					module == VIEW_NO_MODULE ? "" : view->modules[module]);
	}
	assert_true(len < TEXT - 1);
}

/* Each stack holds 100 bytes. They come and get their names in the order that is given. */
static void tell_in_order(const uint32_t *order, char *text)
{
	struct records *r = calloc(1, sizeof(*r));
	struct view view;

	records_scene(r, ALL_LAYERS);
	records_symbol(r, 1, "-Module._call_impl", "", module_py, 1501);
	for (int i = 0; i < STACKS; i++) {
		uint32_t n = order[i];

		add_symbols(r, n);
		FRAMES(r, 30 + n, 10 + n, 20 + n, 1);
		r->stack_id = 30 + n;
		CALL(r, cuMemCreate, 1 + n, 100, 1, 0, 0);
		r->stack_id = 0;
	}
	view = look(r);
	tell(&view, VIEW_BY_LIVE, text);
	view_free(&view);
	records_fini(r);
	free(r);
}

static void texts_decide(void **state)
{
	static const uint32_t forward[STACKS] = { 0, 1, 2, 3, 4, 5 }, backward[STACKS] = { 5, 4, 3, 2, 1, 0 },
			      mixed[STACKS] = { 3, 0, 5, 2, 4, 1 };
	char first[TEXT], second[TEXT];

	(void)state;
	tell_in_order(forward, first);
	tell_in_order(backward, second);
	assert_string_equal(first, second);
	tell_in_order(mixed, second);
	assert_string_equal(first, second);
	assert_non_null(strstr(first, "a:9 "));
	assert_true(strstr(first, "a:9 ") < strstr(first, "b:10 "));
	assert_true(strstr(first, "owner Anna") < strstr(first, "owner Bert"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_decide),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
