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
