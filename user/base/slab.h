/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A growing array of items of one size, with a list of free items. Items have numbers, which stay good when the array
 * moves. Item 0 is never given out and is all zero: the number 0 means no item, and may be read.
 *
 * A new item is all zero. A pointer to an item is good until the next slab_new().
 */
#ifndef GPUMEMTRACE_BASE_SLAB_H
#define GPUMEMTRACE_BASE_SLAB_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"

struct slab {
	unsigned char *items;
	size_t size;         /* of an item, at least 4 */
	uint32_t count;      /* given out so far, with item 0; later items were never used */
	uint32_t capacity;
	uint32_t free;       /* the first free one; its first 4 bytes name the next */
};

#define SLAB_FIRST 8

static inline void slab_init(struct slab *slab, size_t size)
{
	*slab = (struct slab){ .size = size, .count = 1, .capacity = SLAB_FIRST };
	slab->items = xcalloc(SLAB_FIRST, size);
}

static inline void slab_fini(struct slab *slab)
{
	free(slab->items);
	slab->items = NULL;
}

static inline void *slab_at(const struct slab *slab, uint32_t i)
{
	return slab->items + i * slab->size;
}

static inline uint32_t slab_new(struct slab *slab)
{
	uint32_t i = slab->free;

	if (i) {
		memcpy(&slab->free, slab_at(slab, i), sizeof(slab->free));
	} else {
		i = slab->count++;
		if (i >= slab->capacity) {
			slab->capacity *= 2;
			slab->items = xreallocarray(slab->items, slab->capacity, slab->size);
		}
	}
	memset(slab_at(slab, i), 0, slab->size);
	return i;
}

static inline void slab_free(struct slab *slab, uint32_t i)
{
	memcpy(slab_at(slab, i), &slab->free, sizeof(slab->free));
	slab->free = i;
}

#endif
