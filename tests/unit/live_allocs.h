/* SPDX-License-Identifier: BSD-2-Clause */
/* How many allocations live in all processes of a ledger, by the calls that made them. */
#ifndef GPUMEMTRACE_TESTS_UNIT_LIVE_ALLOCS_H
#define GPUMEMTRACE_TESTS_UNIT_LIVE_ALLOCS_H

#include "core/ledger/ledger_state.h"

static inline uint64_t live_allocs(const struct ledger *l)
{
	uint64_t count = 0;

	for (size_t i = 0; i < l->processes.count; i++) {
		const struct process *p = l->processes.list[i];

		count += hash_count(&p->allocs.by_address) + hash_count(&p->allocs.arrays) +
			 hash_count(&p->allocs.externals) + hash_count(&p->vmm.objects);
	}
	return count;
}

#endif
