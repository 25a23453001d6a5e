/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The columns that the report's tables of memory share: by owner, by line, by module, by use.
 *
 *         LIVE   COUNT  AT PEAK      GROWN  EACH ITER.  BY LINE OF THE PROGRAM
 *      1.5 GiB      12  1.8 GiB   +100 MiB    +832 KiB  train.py:212 forward
 *
 * The column GROWN is left out of a process that has ended, EACH ITER. where no iterations are known.
 */
#ifndef GPUMEMTRACE_SINK_REPORT_REPORT_HELD_H
#define GPUMEMTRACE_SINK_REPORT_REPORT_HELD_H

#include <stdbool.h>

struct out;
struct view;
struct view_held;
struct view_stacks;

/* Whose memory a table shows. */
struct report_held {
	const struct view_stacks *stacks;
	bool has_exited;
};

/* A line above the first table, whose titles end the line: since when GROWN counts, and the mean of how many iterations
 * EACH ITER. is. */
void report_held_moments(struct out *out, const struct view *view, const struct report_held *table);
void report_held_titles(struct out *out, const struct report_held *table, const char *title);
/* A row up to its name; the caller prints the name and ends the line. */
void report_held_cells(struct out *out, const struct report_held *table, const struct view_held *held);
/* A row of which only the live bytes are known. */
void report_held_live(struct out *out, const struct report_held *table, const char *live, const char *name);

#endif
