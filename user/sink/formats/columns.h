/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes the cells of the live table, and chooses the columns for a width. */
#ifndef GPUMEMTRACE_SINK_FORMATS_COLUMNS_H
#define GPUMEMTRACE_SINK_FORMATS_COLUMNS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/view/view.h"
#include "sink/text/text.h"

struct out;

/* One line of the table. */
struct entry {
	const struct view *view;
	const struct view_proc *proc;
	const struct view_row *row;   /* NULL: the process has used no GPU yet */
	bool first;                   /* of its process: this line shows host memory and command */
	struct text_rate rate;
	struct text_sum sum;
};

/* Bit i of `shown` is for column i. The command gets the rest of the width. */
struct layout {
	uint32_t shown;
	unsigned command;
};
struct layout columns_layout(const struct view *view, unsigned width);

/* Writes the titles, or one line; both without the end of the line. */
void columns_head(struct out *out, const struct layout *layout);
void columns_line(struct out *out, const struct layout *layout, const struct entry *entry);

#endif
