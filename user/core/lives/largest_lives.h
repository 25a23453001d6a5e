/* SPDX-License-Identifier: BSD-2-Clause */
/* The largest lives so far: a heap with the smallest of them on top. */
#ifndef GPUMEMTRACE_CORE_LIVES_LARGEST_LIVES_H
#define GPUMEMTRACE_CORE_LIVES_LARGEST_LIVES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/terms/lives_told.h"

#define LARGEST_LIVES 1000

/* All 0: none. */
struct largest_lives {
	struct life *list;
	uint32_t count;
};

void largest_lives_fini(struct largest_lives *largest);
void largest_lives_copy(struct largest_lives *to, const struct largest_lives *from);

/* Of lives with the same bytes those that came first stay. A framework's segments, in which blocks lie, are none. */
void largest_lives_offer(struct largest_lives *largest, const struct life *life);
void largest_lives_forget(struct largest_lives *largest, uint32_t process);

#endif
