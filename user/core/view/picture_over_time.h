/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes the parts of a view of a dump's picture that the dump's window has: memory over time until the picture was
 * taken (view_row.timeline), and where memory lay then (view.instants). */
#ifndef GPUMEMTRACE_CORE_VIEW_PICTURE_OVER_TIME_H
#define GPUMEMTRACE_CORE_VIEW_PICTURE_OVER_TIME_H

#include <gpumemtrace/wire.h>

struct by_stack;
struct pipeline;
struct view;

/* view: the processes and rows are there. Where the pipeline has no dump's window, nothing is made. */
void picture_over_time(const struct pipeline *pl, struct by_stack *b, const struct gmt_oom *rec, struct view *view);

#endif
