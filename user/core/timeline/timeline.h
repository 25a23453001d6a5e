/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory over time of each process on each GPU, by who holds it: an observer of deltas (delta.h). */
#ifndef GPUMEMTRACE_CORE_TIMELINE_TIMELINE_H
#define GPUMEMTRACE_CORE_TIMELINE_TIMELINE_H

#include "core/ledger/delta.h"
#include "core/timeline/timeline_room.h"

#define TIMELINE_DELTAS                                                                                          \
	(DELTA_BIT(DELTA_ALLOC) | DELTA_BIT(DELTA_FREE) | DELTA_BIT(DELTA_RESTORE) | DELTA_BIT(DELTA_MOVE) |     \
	 DELTA_BIT(DELTA_RESIZE) | DELTA_BIT(DELTA_BLOCK_ALLOC) | DELTA_BIT(DELTA_BLOCK_FREE) |                  \
	 DELTA_BIT(DELTA_BLOCK_LOST) | DELTA_BIT(DELTA_BLOCK_BACK) | DELTA_BIT(DELTA_CALL) |                     \
	 DELTA_BIT(DELTA_DRIVER_ADD) | DELTA_BIT(DELTA_DRIVER_REMOVE) |                                          \
	 DELTA_BIT(DELTA_PHYSICAL) | DELTA_BIT(DELTA_NVML) | DELTA_BIT(DELTA_RANGE) |                            \
	 DELTA_BIT(DELTA_MARK) | DELTA_BIT(DELTA_WINDOW) | DELTA_BIT(DELTA_REQUEST_FAILED) |                     \
	 DELTA_BIT(DELTA_EXEC) | DELTA_BIT(DELTA_EXIT) | DELTA_BIT(DELTA_FORGET) | DELTA_BIT(DELTA_SHED))
void timeline_see(void *timeline, const struct delta *delta);
/* What live blocks are for, before their framework forgets them. */
#define TIMELINE_END_DELTAS (DELTA_BIT(DELTA_EXEC) | DELTA_BIT(DELTA_EXIT))
void timeline_see_end(void *timeline, const struct delta *delta);

#endif
