/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Virtual memory management: where the physical memory of handles (vmm_object.h) is mapped.
 */
#ifndef GPUMEMTRACE_CORE_LEDGER_VMM_H
#define GPUMEMTRACE_CORE_LEDGER_VMM_H

#include <stdint.h>

struct process;

/* These do for VMM objects what alloc_resolve() and alloc_resolve_at() (alloc.h) do for allocations. */
void vmm_resolve(struct process *p, uint64_t ts_ns);
void vmm_resolve_at(struct process *p, uint64_t address, int gpu, uint64_t ts_ns);

#endif
