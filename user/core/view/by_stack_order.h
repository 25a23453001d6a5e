/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The order of stacks, lines, modules and owners that hold the same bytes. Their texts decide: a dump and a recording
 * of one failure number them differently, and list them in one order.
 */
#ifndef GPUMEMTRACE_CORE_VIEW_BY_STACK_ORDER_H
#define GPUMEMTRACE_CORE_VIEW_BY_STACK_ORDER_H

#include <stdint.h>

struct frames;
struct view;

/* What the numbers stand for. */
struct by_stack_order {
	const struct frames *frames;
	const struct view *view;
	uint32_t owners, places; /* lines from here on are owners (indices in view.owners), and symbols */
};

/* The `compare` of struct sums_ties; its `arg` is a struct by_stack_order. By the innermost frame that differs; stacks
 * without names come first. */
int by_stack_compare_stacks(const void *order, uint32_t a, uint32_t b);
/* States come first, then owners, then places in the code: by file, line and function. */
int by_stack_compare_lines(const void *order, uint32_t a, uint32_t b);
int by_stack_compare_modules(const void *order, uint32_t a, uint32_t b);
/* Of two owners, which are indices in view.owners. */
int by_stack_compare_owners(const struct view *view, uint32_t a, uint32_t b);

#endif
