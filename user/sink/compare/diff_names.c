// SPDX-License-Identifier: BSD-2-Clause
#include "sink/compare/diff_names.h"

#include "base/amounts.h"
#include "base/human.h"
#include "base/out.h"
#include "sink/compare/held_name.h"

void diff_name(struct out *out, const struct diff *d, enum held_table kind, const struct diff_row *row)
{
	int side = row->is_there[DIFF_B] ? DIFF_B : DIFF_A;

	held_name(out, d->sides[side].view, kind, row->line[side], row->index[side]);
}

/* ---- the answer ---- */

bool diff_is_of_tensors(const struct diff *d)
{
	for (size_t i = 0; i < d->part_count; i++)
		if (!d->parts[i].is_host && !d->parts[i].is_tensors &&
		    (d->parts[i].held.bytes[DIFF_A] || d->parts[i].held.bytes[DIFF_B]))
			return false;
	return d->is_tensors;
}

enum held_table diff_telling_table(const struct diff *d)
{
	const struct diff_table *lines = &d->tables[HELD_LINES];

	for (int side = 0; side < DIFF_SIDES && lines->count; side++)
		if (lines->rows[0].is_there[side] && !view_line_has_code(lines->rows[0].line[side]))
			return HELD_CALLS;
	return HELD_LINES;
}

static void print_change(struct out *out, const struct diff *d, enum held_table kind, const struct diff_row *row)
{
	diff_name(out, d, kind, row);
	out_printf(out, " %s", human_signed_bytes(diff_bytes(&row->amount)).s);
}

/* One row explains the difference, or two, of which one may go the other way. */
static void print_reason(struct out *out, const struct diff *d, int64_t difference)
{
	enum held_table kind = diff_telling_table(d);
	const struct diff_table *t = &d->tables[kind];
	int64_t first = t->count ? diff_bytes(&t->rows[0].amount) : 0;

	if (!first)
		return;
	out_text(out, ": ");
	if ((first < 0) == (difference < 0) && magnitude_of(first) <= magnitude_of(difference)) {
		out_printf(out, "%s of them ", human_bytes(magnitude_of(first)).s);
		diff_name(out, d, kind, &t->rows[0]);
		return;
	}
	print_change(out, d, kind, &t->rows[0]);
	if (t->count > 1 && diff_bytes(&t->rows[1].amount)) {
		out_text(out, ", ");
		print_change(out, d, kind, &t->rows[1]);
	}
}

void diff_answer(struct out *out, const struct diff *d)
{
	const struct diff_amount *all = &d->tables[HELD_LINES].all;
	const char *what = diff_is_of_tensors(d) ? " in tensors" : "";
	const struct diff_table *t = &d->tables[diff_telling_table(d)];
	int64_t difference = diff_bytes(all);

	if (difference) {
		out_printf(out, "B holds %s %s%s than A", human_bytes(magnitude_of(difference)).s,
			   difference > 0 ? "more" : "less", what);
		print_reason(out, d, difference);
	} else if (t->count && diff_bytes(&t->rows[0].amount)) {
		out_printf(out, "B holds as much%s as A, but not the same", what);
		print_reason(out, d, difference);
	} else {
		out_printf(out, "B holds the same%s as A: %s", what, human_bytes((uint64_t)all->bytes[DIFF_B]).s);
	}
}

/* ---- what cannot be compared ---- */

void diff_limit_text(struct out *out, const struct diff *d, enum diff_limit limit)
{
	static const char *const texts[DIFF_LIMIT_COUNT][2] = {   /* for one side, for both */
		[DIFF_LIMIT_LOSSES] = { "lost records: its numbers may be wrong",
					"lost records: their numbers may be wrong" },
		[DIFF_LIMIT_INCOMPLETE] = { "is incomplete: what came later is not known",
					    "are incomplete: what came later is not known" },
		[DIFF_LIMIT_NO_STACKS] = { "has memory without stack traces: its lines are not known",
					   "have memory without stack traces: its lines are not known" },
		[DIFF_LIMIT_NO_TENSORS] = { "has no stack traces of tensors (--block-stacks): lines are those of the"
					    " driver's memory", "" },
		[DIFF_LIMIT_NO_KERNEL] = { "has no numbers of the kernel driver: GPU memory is what calls asked"
					   " for", "" },
		[DIFF_LIMIT_LATE] = { "was attached late: memory from before the attach stands under no line",
				      "were attached late: memory from before the attach stands under no line" },
		[DIFF_LIMIT_PICTURE] = { "is a dump: it has the largest stack traces, and maybe not all GPUs",
					 "are dumps: these have the largest stack traces, and maybe not all GPUs" },
	};
	const uint64_t *of = d->limits[limit];
	bool is_both = of[DIFF_A] && of[DIFF_B] && *texts[limit][1];

	out_printf(out, "%s %s", is_both ? "A and B" : of[DIFF_A] ? "A" : "B", texts[limit][is_both]);
}
