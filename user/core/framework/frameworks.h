/* SPDX-License-Identifier: BSD-2-Clause */
/* The frameworks of all processes: an observer of the ledger's deltas that gives out deltas of blocks and segments. */
#ifndef GPUMEMTRACE_CORE_FRAMEWORK_FRAMEWORKS_H
#define GPUMEMTRACE_CORE_FRAMEWORK_FRAMEWORKS_H

#include <stddef.h>

#include "core/ledger/delta.h"

struct framework;

struct frameworks {
	struct deltas *out;
	struct framework **list; /* by the number of the process; NULL: the process has none */
	size_t count;
	uint64_t waiting_dropped; /* of processes that are forgotten: framework_waiting_dropped() */
	uint64_t phases_dropped;  /* likewise: framework_phases_dropped() */
};

struct frameworks *frameworks_new(struct deltas *out);
void frameworks_free(struct frameworks *all);

/* The kinds that frameworks_see() is for: the first list always; the second list, of memory that becomes segments, once
 * a process has a framework or an observer wants all segments. */
#define FRAMEWORKS_DELTAS                                                                                        \
	(DELTA_BIT(DELTA_FRAMEWORK) | DELTA_BIT(DELTA_MARK) | DELTA_BIT(DELTA_WINDOW) | DELTA_BIT(DELTA_GONE) | \
	 DELTA_BIT(DELTA_FORGET) | DELTA_BIT(DELTA_SHED))
#define FRAMEWORKS_MEMORY_DELTAS                                                                                 \
	(DELTA_BIT(DELTA_ALLOC) | DELTA_BIT(DELTA_FREE) | DELTA_BIT(DELTA_RESTORE) | DELTA_BIT(DELTA_MAP) |      \
	 DELTA_BIT(DELTA_UNMAP) | DELTA_BIT(DELTA_REMAP) | DELTA_BIT(DELTA_RELEASE) |                            \
	 DELTA_BIT(DELTA_RELEASE_FAILED))
void frameworks_see(void *all, const struct delta *delta);

/* NULL: the process has none. */
struct framework *frameworks_of(const struct frameworks *all, const struct process *p);

/* framework_waiting_dropped() and framework_phases_dropped() of all processes. */
uint64_t frameworks_waiting_dropped(const struct frameworks *all);
uint64_t frameworks_phases_dropped(const struct frameworks *all);

#endif
