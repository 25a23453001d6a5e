/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory pools and what is allocated from them in stream order. A pool tells the class and the GPU of
 * its allocations; these then live on their own: a pool that is destroyed with allocations
 * outstanding takes none of them along (cuda.h, cuMemPoolDestroy).
 */
#ifndef GPUMEMTRACE_CORE_LEDGER_POOL_H
#define GPUMEMTRACE_CORE_LEDGER_POOL_H

#include <stdbool.h>
#include <stdint.h>

struct event;
struct undo;

struct pool {
	uint8_t ordinal;     /* ORDINAL_NONE */
	uint8_t location;    /* CUmemLocationType: 0 unknown, 1 device, 2 host, 3 and 4 host NUMA */
	uint8_t type;        /* CUmemAllocationType: 2 managed */
	bool imported;
};

/* The class of memory asked for at a place (CUmemLocationType, CUmemAllocationType): `device` if it
 * lies on a GPU. */
unsigned int pool_class_at(unsigned int location, unsigned int type, unsigned int device);

/* Operations (api.h). */
void pool_create(struct event *e);
void pool_of_device(struct event *e);
void pool_set_device(struct event *e);
void pool_of_location(struct event *e);
void pool_set_location(struct event *e);
void pool_import(struct event *e);
void pool_import_pointer(struct event *e);
void pool_alloc_async(struct event *e);
void pool_alloc_from(struct event *e);

void pool_destroy(struct event *e);
void pool_destroy_undo(struct event *e, struct undo *u);

#endif
