/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a block in a history is for (category.h). That is known at its end, or looks so now, from what the program
 * did when it was made: which is kept in the block's range. Of a block from a dump, and of one that a replay has
 * gone back to, the category itself is kept there.
 */
#ifndef GPUMEMTRACE_CORE_HISTORY_HISTORY_BIRTH_H
#define GPUMEMTRACE_CORE_HISTORY_HISTORY_BIRTH_H

#include <stdint.h>

#include "core/framework/category.h"
#include "core/history/history.h"

#define HISTORY_FLAG_BITS 3      /* of range.aux, the low ones: enum gmt_history_flag */
#define HISTORY_FLAGS ((1u << HISTORY_FLAG_BITS) - 1)

static inline uint32_t history_stack(const struct range *r)
{
	return (uint32_t)r->value;
}

/* enum gmt_category + 1; 0: not known. */
static inline uint32_t history_told(uint32_t flags, unsigned int category)
{
	return (flags & HISTORY_FLAGS) | category << HISTORY_FLAG_BITS;
}

static inline unsigned int history_told_category(const struct range *r)
{
	return r->aux >> HISTORY_FLAG_BITS;
}

/* Puts what the process does on the block's device into the block, which is new. */
void history_set_birth(const struct history_process *hp, struct range *block);
/* A block that ends, or as it looks now; as in history_told(). */
unsigned int history_category(const struct history_process *hp, const struct range *block, bool is_alive);

#endif
