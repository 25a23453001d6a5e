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

#include "base/hash.h"

struct process;
struct event;
struct undo;

struct vmm_object {
	uint64_t handle;
	uint64_t size;
	uint64_t ts_ns;
	uint32_t stack_id;
	uint32_t refs;
	uint32_t maps;
	uint8_t row;
	uint8_t class;       /* enum gmt_class, CLASS_NONE */
	uint8_t ordinal;
	uint8_t reserved;
};

struct vmm_mapping {
	uint64_t size;
	uint64_t object;
};

/* A mapping that a cuMemUnmap in flight has taken away, and its object as it was before. */
struct vmm_unmapped {
	uint64_t address;
	struct vmm_mapping mapping;
	struct vmm_object before;
};

struct vmm {
	struct hash handles;  /* uint64_t: number of the object */
	struct hash objects;  /* struct vmm_object, by number */
	struct hash mappings; /* struct vmm_mapping, by address */
	uint64_t last;        /* number given out */
};

void vmm_init(struct vmm *vmm);
void vmm_fini(struct vmm *vmm);
uint64_t vmm_bytes(const struct vmm *vmm);

void vmm_resolve(struct process *p, uint64_t ts_ns);
void vmm_resolve_at(struct process *p, uint64_t address, int gpu, uint64_t ts_ns);

/* Operations (api.h). */
void vmm_create(struct event *e);
void vmm_import(struct event *e);
void vmm_multicast(struct event *e);
void vmm_retain(struct event *e);
void vmm_map(struct event *e);
void vmm_properties(struct event *e);

void vmm_release(struct event *e);
void vmm_release_undo(struct event *e, struct undo *u);
void vmm_unmap(struct event *e);
void vmm_unmap_undo(struct event *e, struct undo *u);

#endif
