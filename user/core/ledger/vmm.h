/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Virtual memory management: physical memory by handle, and where it is mapped.
 *
 * cuda.h (cuMemRelease, cuMemUnmap): the memory goes when its handle has no reference left AND no
 * mapping. A handle's value may be given out again while the old memory is still mapped, so objects
 * have numbers of their own, never used twice; mappings and undo refer to these.
 */
#ifndef GPUMEMTRACE_CORE_LEDGER_VMM_H
#define GPUMEMTRACE_CORE_LEDGER_VMM_H

#include <stdint.h>

struct process;

void vmm_resolve(struct process *p, uint64_t ts_ns);
void vmm_resolve_at(struct process *p, uint64_t address, int gpu, uint64_t ts_ns);

#endif
