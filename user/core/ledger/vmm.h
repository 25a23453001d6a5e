/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Virtual memory management: physical memory by handle, and where it is mapped.
 *
 * cuda.h (cuMemRelease, cuMemUnmap): the memory is freed when its handle has no reference left AND no mapping. The
 * driver may give out a handle's value again while the old memory is still mapped. So each object has a number, never
 * used twice, and mappings and undos refer to the number.
 */
#ifndef GPUMEMTRACE_CORE_LEDGER_VMM_H
#define GPUMEMTRACE_CORE_LEDGER_VMM_H

#include <stdint.h>

struct process;

/* These do for VMM objects what alloc_resolve() and alloc_resolve_at() (alloc.h) do for allocations. */
void vmm_resolve(struct process *p, uint64_t ts_ns);
void vmm_resolve_at(struct process *p, uint64_t address, int gpu, uint64_t ts_ns);

#endif
