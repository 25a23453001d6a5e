// SPDX-License-Identifier: BSD-2-Clause
#include "sink/compare/held_name.h"

#include <stdlib.h>
#include <string.h>

#include "base/human.h"
#include "base/js.h"
#include "base/out.h"
#include "sink/text/stack_text.h"

#define NAME_COLUMNS 200     /* a longer name is cut */

const enum held_table held_table_order[HELD_TABLE_COUNT] = {
	HELD_LINES, HELD_USES, HELD_MODULES, HELD_OWNERS, HELD_MEMORY, HELD_CALLS,
};

const char *held_table_title(enum held_table table)
{
	static const char *const titles[HELD_TABLE_COUNT] = {
		[HELD_LINES] = "BY LINE OF THE PROGRAM", [HELD_USES] = "TENSOR USE, GUESSED",
		[HELD_OWNERS] = "BY OWNER", [HELD_MODULES] = "BY MODULE", [HELD_CALLS] = "BY KIND OF CALL",
		[HELD_MEMORY] = "GPU MEMORY BY OWNER",
	};

	return titles[table];
}

void held_name(struct out *out, const struct view *view, enum held_table table, const struct view_line_row *line,
	       size_t index)
{
	const char *owner;

	switch (table) {
	case HELD_LINES:
		stack_text_line(out, view, line);
		return;
	case HELD_USES:
		out_text(out, index == HELD_USE_BEFORE ? "from before the attach" :
			 gmt_category_text((unsigned int)index));
		return;
	case HELD_MODULES:
		stack_text_module(out, view, (uint32_t)index, NAME_COLUMNS);
		return;
	case HELD_CALLS:
		out_text(out, gmt_class_text((unsigned int)index));
		return;
	default:
		owner = index == HELD_MEMORY_ROUNDING ? "rounding, reserve" : view->owners[index].text;
		human_print(out, NAME_COLUMNS, owner, strlen(owner));
	}
}

json_t *held_line_to_json(const struct view *view, const struct view_line_row *line)
{
	const struct view_symbol *s;

	if (!line || line->state != VIEW_LINE_OWN)
		return json_null();
	s = &view->symbols[line->symbol];
	return JS_OBJECT({ "file", js_word(s->file) }, { "line", js_u64_if(s->line, s->line) },
			 { "function", js_word(s->function) }, { "module", js_word(s->module) });
}

json_t *held_text_to_json(struct out *text)
{
	char *taken = out_take(text);
	json_t *word = js_word(taken);

	free(taken);
	return word;
}
