// SPDX-License-Identifier: BSD-2-Clause
#include "sink/report/report_held.h"

#include "base/human.h"
#include "base/out.h"
#include "core/view/view.h"
#include "sink/text/text.h"

#define COUNT_COLUMNS 8
#define BYTES_COLUMNS 9
#define GROWN_COLUMNS 11
#define EACH_COLUMNS 12

/* A program frees its memory while it ends, which is no growth; a finding says how much had grown until then. */
static bool has_grown(const struct report_held *t)
{
	return !t->has_exited;
}

void report_held_moments(struct out *out, const struct view *view, const struct report_held *t)
{
	const struct view_stacks *s = t->stacks;
	const char *lead = "\n    ";

	if (has_grown(t)) {
		out_printf(out, "%sGROWN: since %s", lead, text_when(view, s->since_ns).s);
		lead = "; ";
	}
	if (s->iterations)
		out_printf(out, "%sEACH ITER.: mean of the last %s", lead, human_count(s->iterations).s);
}

void report_held_titles(struct out *out, const struct report_held *t, const char *title)
{
	out_printf(out, "\n    %*s%*s%*s", BYTES_COLUMNS, t->has_exited ? "AT END" : "LIVE", COUNT_COLUMNS, "COUNT",
		   BYTES_COLUMNS, "AT PEAK");
	if (has_grown(t))
		out_printf(out, "%*s", GROWN_COLUMNS, "GROWN");
	if (t->stacks->iterations)
		out_printf(out, "%*s", EACH_COLUMNS, "EACH ITER.");
	out_printf(out, "  %s\n", title);
}

void report_held_cells(struct out *out, const struct report_held *t, const struct view_held *held)
{
	out_printf(out, "    %*s%*s%*s", BYTES_COLUMNS, human_bytes(held->live).s, COUNT_COLUMNS,
		   human_count(held->live_count).s, BYTES_COLUMNS, human_bytes(held->at_peak).s);
	if (has_grown(t))
		out_printf(out, "%*s", GROWN_COLUMNS, human_signed_bytes(held->grown).s);
	if (t->stacks->iterations)
		out_printf(out, "%*s", EACH_COLUMNS, human_signed_bytes(view_each(t->stacks, held)).s);
	out_text(out, "  ");
}

void report_held_live(struct out *out, const struct report_held *t, const char *live, const char *name)
{
	int rest = COUNT_COLUMNS + BYTES_COLUMNS + (has_grown(t) ? GROWN_COLUMNS : 0) +
		   (t->stacks->iterations ? EACH_COLUMNS : 0);

	out_printf(out, "    %*s%*s  %s\n", BYTES_COLUMNS, live, rest, "", name);
}
