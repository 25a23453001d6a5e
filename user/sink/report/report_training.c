// SPDX-License-Identifier: BSD-2-Clause
/*
 * Training in the report: the use of PyTorch's memory by category, and its allocated memory by phase.
 *
 *         LIVE   COUNT  AT PEAK      GROWN  EACH ITER.  TENSOR USE, GUESSED
 *      102 MiB     161  102 MiB       +0 B        +0 B  parameters
 *
 *     PyTorch allocated    FORWARD           BACKWARD          OPTIMIZER     ZERO GRAD
 *     iteration          END     PEAK      END     PEAK      END     PEAK      END
 *             7      2.1 GiB  2.1 GiB  204 MiB  2.3 GiB  204 MiB  306 MiB  204 MiB
 */

#include "base/human.h"
#include "base/out.h"
#include "core/view/view.h"
#include "sink/report/report.h"
#include "sink/report/report_held.h"

#define ITERATIONS_SHOWN 6
#define RANGES_SHOWN 12
#define RANGE_COLUMNS 36

/* ---- categories ---- */

/* Without a backward pass there are nearly no categories to tell apart. */
static bool has_categories(const struct view_training *t)
{
	for (int i = 0; i < GMT_CATEGORY_COUNT; i++)
		if (i != GMT_CATEGORY_UNKNOWN && i != GMT_CATEGORY_TEMPORARY && t->categories[i].live)
			return true;
	return t->is_training;
}

static void print_categories(struct out *out, const struct view_torch *torch, bool has_exited)
{
	const struct report_held t = { &torch->stacks, has_exited };

	report_held_titles(out, &t, "TENSOR USE, GUESSED");
	for (int i = 0; i < GMT_CATEGORY_COUNT; i++) {
		struct view_held held = view_category_held(&torch->training.categories[i]);

		if (!view_category_is_used(&torch->training.categories[i]))
			continue;
		report_held_cells(out, &t, &held);
		out_printf(out, "%s\n", gmt_category_text(i));
	}
	if (torch->training.before)
		report_held_live(out, &t, human_bytes(torch->training.before).s, "before attach");
}

/* ---- iterations ---- */

static void print_phase_cell(struct out *out, const struct phase_cell *c, bool with_peak)
{
	out_printf(out, "%9s", c->times ? human_bytes(c->end).s : "-");
	if (with_peak)
		out_printf(out, "%9s", c->times ? human_bytes(c->peak).s : "-");
}

static bool has_peak_column(int phase)
{
	return phase != GMT_TRAINING_ZERO_GRAD;
}

static void print_iterations(struct out *out, const struct view_training *t)
{
	size_t first = t->iteration_count > ITERATIONS_SHOWN ? t->iteration_count - ITERATIONS_SHOWN : 0;
	bool any_part = false;

	out_printf(out, "\n    PyTorch allocated%5s%-18s%-18s%-14s%s\n    %-9s", "", "FORWARD", "BACKWARD", "OPTIMIZER",
		   "ZERO GRAD", "iteration");
	for (int k = 0; k < GMT_TRAINING_COUNT; k++)
		out_text(out, has_peak_column(k) ? "      END     PEAK" : "      END");
	out_char(out, '\n');
	for (size_t i = first; i < t->iteration_count; i++) {
		const struct phase_iteration *it = &t->iterations[i];
		bool is_part = !it->is_over || (it->number == 1 && !t->first_is_whole);

		out_printf(out, "    %8u%c", it->number, is_part ? '*' : ' ');
		for (int k = 0; k < GMT_TRAINING_COUNT; k++)
			print_phase_cell(out, &it->cells[k], has_peak_column(k));
		out_char(out, '\n');
		any_part |= is_part;
	}
	if (any_part)
		out_text(out, "    * only part of this iteration was seen\n");
	if (t->growth.count && t->growth.count == t->growth.iterations)
		out_printf(out, "    each of the last %u iterations left more memory allocated than the iteration"
			   " before, %s on average\n", t->growth.count, human_bytes(t->growth.bytes).s);
	else if (t->growth.count)
		out_printf(out, "    at least %u of the last %u iterations left memory that is still allocated,"
			   " %s in all\n", t->growth.count, t->growth.iterations,
			   human_bytes(t->growth.bytes * t->growth.count).s);
}

/* ---- ranges ---- */

static void print_ranges(struct out *out, const struct view_training *t)
{
	size_t count = t->range_count < RANGES_SHOWN ? t->range_count : RANGES_SHOWN;

	out_printf(out, "\n    %-*s%8s%9s%9s%9s\n", RANGE_COLUMNS, "ranges", "TIMES", "BEGIN", "END", "PEAK");
	for (size_t i = 0; i < count; i++) {
		const struct view_range *r = &t->ranges[i];

		out_text(out, "    ");
		out_pad(out, RANGE_COLUMNS - (int)human_print(out, RANGE_COLUMNS, r->name, sizeof(r->name)));
		out_printf(out, "%8s%9s%9s%9s\n", human_count(r->cell.times).s, human_bytes(r->cell.begin).s,
			   human_bytes(r->cell.end).s, human_bytes(r->cell.peak).s);
	}
	if (t->range_count > count)
		out_printf(out, "    and %zu more %s\n", t->range_count - count,
			   human_plural(t->range_count - count, "range", "ranges"));
}

void report_training(struct out *out, const struct view_torch *torch, bool has_exited)
{
	const struct view_training *t = &torch->training;

	if (has_categories(t))
		print_categories(out, torch, has_exited);
	if (t->is_training && t->iteration_count)
		print_iterations(out, t);
	if (t->range_count)
		print_ranges(out, t);
}
