/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Libraries that move pieces of a thread's stack aside and run others in their place. What lies above the first
 * function of such a piece belongs to another piece, so a walk must end at that function.
 */
#ifndef GPUMEMTRACE_SYMBOL_UNWIND_SWITCHERS_H
#define GPUMEMTRACE_SYMBOL_UNWIND_SWITCHERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct image;
struct unwind_table;

/* Whether the file's name, without folders, is that of such a library. */
bool switchers_has(const char *name);

/* The first functions of pieces, as vaddrs. */
struct switchers_range {
	uint64_t start, end;
};
#define SWITCHERS_MAX 8            /* a function and its cold part have one name; more are no greenlet */

/* Returns how many such functions there are in a library; 0 if there are too many. */
size_t switchers_find(const struct image *image, struct switchers_range ranges[SWITCHERS_MAX]);

/* Makes the first functions of pieces roots. If there are none, all code ends a walk, with the reason
 * GMT_UNWIND_END_SWITCHED. */
void switchers_mark(struct unwind_table *table, const struct switchers_range *ranges, size_t count);

#endif
