/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory at one address belongs to one allocation. So where two allocations or mappings overlap, the release of the
 * older one was missed. Those that begin at one address displace each other at once. Others are searched for when a
 * process ends, at the end of the recording, and from time to time after records were lost, because the tables
 * (process_tables.h) are in no order.
 */
#ifndef GPUMEMTRACE_CORE_LEDGER_OVERLAP_H
#define GPUMEMTRACE_CORE_LEDGER_OVERLAP_H

#include <stdbool.h>
#include <stdint.h>

struct process;

/* Frees what newer memory overlaps, and counts each as a missed release (GMT_ANOMALY_DOUBLE_ALLOC). Takes the time of
 * sorting all that the process holds. */
void overlap_drop(struct process *p, uint64_t ts_ns);

/* Whether the process's records say that a release was missed. `has_loss`: the session has lost records. */
bool overlap_is_likely(const struct process *p, bool has_loss);

#endif
