/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes the part of a view about where memory lay at instants (view_instants.h). */
#ifndef GPUMEMTRACE_CORE_VIEW_VIEW_PLACED_H
#define GPUMEMTRACE_CORE_VIEW_VIEW_PLACED_H

struct by_stack;
struct pipeline;
struct view;
struct view_instants;

/* view: the processes and rows are there. NULL: no instants are kept. */
struct view_instants *view_placed(const struct pipeline *pl, struct by_stack *b, const struct view *view);

#endif
