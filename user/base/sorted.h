/* SPDX-License-Identifier: BSD-2-Clause */
/* Sorts and searches arrays of structs by the 64-bit number that each struct begins with. */
#ifndef GPUMEMTRACE_BASE_SORTED_H
#define GPUMEMTRACE_BASE_SORTED_H

#include <stddef.h>
#include <stdint.h>

static inline int sorted_compare(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return a < b ? -1 : a > b;
}

/* How many items of `size` bytes begin with `value` or less. The last of these items has the index result - 1. */
static inline size_t sorted_count(const void *items, size_t count, size_t size, uint64_t value)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (*(const uint64_t *)((const char *)items + middle * size) <= value)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

#endif
