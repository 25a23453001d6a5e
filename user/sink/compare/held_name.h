/* SPDX-License-Identifier: BSD-2-Clause */
/* What the outputs of comparisons share: the names of rows and of tables. */
#ifndef GPUMEMTRACE_SINK_COMPARE_HELD_NAME_H
#define GPUMEMTRACE_SINK_COMPARE_HELD_NAME_H

#include <jansson.h>

#include "core/compare/held_entries.h"

struct out;

/* "train.py:31 append", "optimizer state": an entry of held_entries.h, in its view. */
void held_name(struct out *out, const struct view *view, enum held_table table, const struct view_line_row *line,
	       size_t index);
/* "BY LINE OF THE PROGRAM" */
const char *held_table_title(enum held_table table);
/* The tables, in the order in which people read them. */
extern const enum held_table held_table_order[HELD_TABLE_COUNT];

/* The place of a line that is the program's own code; else null. */
json_t *held_line_to_json(const struct view *view, const struct view_line_row *line);
/* The text that the writer has, which is taken. */
json_t *held_text_to_json(struct out *text);

#endif
