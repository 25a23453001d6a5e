/* SPDX-License-Identifier: BSD-2-Clause */
/* Binary search in an array of structs that begin with a 64-bit number, sorted by these. */
#ifndef GPUMEMTRACE_BASE_SORTED_H
#define GPUMEMTRACE_BASE_SORTED_H

#include <stddef.h>
#include <stdint.h>

/* How many items of `size` bytes begin with `value` or less: the last of them is the one before that number. */
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
