/* SPDX-License-Identifier: BSD-2-Clause */
/* Compares amounts, as of bytes or nanoseconds, and takes parts of them. */
#ifndef GPUMEMTRACE_BASE_AMOUNTS_H
#define GPUMEMTRACE_BASE_AMOUNTS_H

#include <stdint.h>

static inline uint64_t greater_of(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static inline uint64_t distance_of(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

static inline uint64_t magnitude_of(int64_t bytes)
{
	return bytes < 0 ? 0 - (uint64_t)bytes : (uint64_t)bytes;
}

/* Percent of the bytes, rounded down to whole percents first: no product overflows. */
static inline uint64_t share_of(uint64_t bytes, uint64_t percent)
{
	return bytes / 100 * percent;
}

#endif
