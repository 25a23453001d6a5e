/* SPDX-License-Identifier: BSD-2-Clause */
/* Sums of memory by a number (of a stack, an owner, a line), and the greatest of the sums. */
#ifndef GPUMEMTRACE_CORE_ACCOUNT_SUMS_H
#define GPUMEMTRACE_CORE_ACCOUNT_SUMS_H

#include <stddef.h>
#include <stdint.h>

#include "core/account/view_stacks.h"

struct sums_row {
	uint32_t number;
	struct view_held held;
};

struct sums {
	uint32_t *place;         /* number -> 1 + index in list; 0: not in the list */
	struct sums_row *list;
	uint32_t count;
};

/* numbers: all numbers are below this one. */
void sums_init(struct sums *sums, uint32_t numbers);
void sums_fini(struct sums *sums);

void sums_count(struct sums *sums, uint32_t number, const struct view_held *held);
/* Empties the list. The cost is that of the list, whatever `numbers` was. */
void sums_forget(struct sums *sums);

/* Which of two numbers with equal sums comes first, as of strcmp(). Of numbers that compare equal, the lesser does. */
struct sums_ties {
	int (*compare)(const void *arg, uint32_t a, uint32_t b);
	const void *arg;
};

struct sums_pick {
	int64_t value;           /* above 0 */
	uint32_t number;
	uint32_t at;             /* index in sums.list */
};
/* The greatest sums, greatest first: at most `most`, in *count. Sums of 0 or less are left out. The caller frees the
 * array. */
struct sums_pick *sums_greatest(const struct sums *sums, enum view_order order, const struct sums_ties *ties,
				size_t most, size_t *count);

#endif
