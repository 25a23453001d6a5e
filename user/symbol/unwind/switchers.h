/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Libraries that move pieces of a thread's stack aside and run others in their place. What lies above the first
 * function of such a piece belongs to another piece, so a walk must end at that function.
 */
#ifndef GPUMEMTRACE_SYMBOL_UNWIND_SWITCHERS_H
#define GPUMEMTRACE_SYMBOL_UNWIND_SWITCHERS_H

#include <stdbool.h>

struct image;
struct unwind_table;

/* Whether the file's name, without folders, is that of such a library. */
bool switchers_has(const char *name);

/* Makes the first functions of pieces roots. If the file names none of them, all its code ends a walk, with the reason
 * GMT_UNWIND_END_SWITCHED. */
void switchers_mark(const struct image *image, struct unwind_table *table);

#endif
