/* SPDX-License-Identifier: BSD-2-Clause */
/* How the mappings of memory objects (vmm_object.h) are booked, and how they end. */
#ifndef GPUMEMTRACE_CORE_LEDGER_MAPPING_H
#define GPUMEMTRACE_CORE_LEDGER_MAPPING_H

#include <stdint.h>

#include "core/ledger/delta.h"
#include "core/ledger/process_tables.h"

struct process;

/* `o`: NULL if nothing is known of the object. */
void mapping_book(const struct process *p, enum delta_kind kind, uint64_t address, uint64_t size,
		  const struct vmm_object *o, uint64_t ts_ns);

/* Removes the mapping `m`, which begins at the address. */
void mapping_remove(struct process *p, uint64_t address, const struct vmm_mapping *m, uint64_t ts_ns);

/* Removes the mapping at the address, if there is one: the address was given out again, so the unmapping was missed. */
void mapping_displace(struct process *p, uint64_t address, uint64_t ts_ns);

#endif
