/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes the part of a view about where memory lay at instants (view_instants.h). */
#ifndef GPUMEMTRACE_CORE_VIEW_VIEW_PLACED_H
#define GPUMEMTRACE_CORE_VIEW_VIEW_PLACED_H

#include <stdint.h>

struct by_stack;
struct instant;
struct pipeline;
struct view;
struct view_instants;

/* view: the processes and rows are there. NULL: no instants are kept. */
struct view_instants *view_placed(const struct pipeline *pl, struct by_stack *b, const struct view *view);

/* Adds an instant of a process (in view.procs), for each row that has memory in its window. */
void view_placed_add(struct by_stack *b, const struct view *view, uint32_t proc, const struct instant *instant,
		     struct view_instants *out);
void view_placed_sort(struct view_instants *out);

/* The row of a process (in view.procs) that has the memory of a device, by CUDA's number; VIEW_INSTANT_NO_ROW: nobody
 * knows. A process that has only one row has all its memory there. */
uint32_t view_row_of_device(const struct view *view, uint32_t proc, unsigned int device);

#endif
