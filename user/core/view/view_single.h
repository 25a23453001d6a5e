/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes the part of a view about single allocations and blocks (view_lives.h). */
#ifndef GPUMEMTRACE_CORE_VIEW_VIEW_SINGLE_H
#define GPUMEMTRACE_CORE_VIEW_VIEW_SINGLE_H

struct by_stack;
struct pipeline;
struct view;
struct view_lives;

/* view: the processes and rows are there. order: of each GPU of the ledger its index in the view. NULL: no lives are
 * kept. */
struct view_lives *view_single(const struct pipeline *pl, struct by_stack *b, const int *order,
			       const struct view *view);

#endif
