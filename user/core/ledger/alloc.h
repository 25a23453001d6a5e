/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Allocations that have an address or a handle: of cuMemAlloc and its like, pinned and registered host memory, pools,
 * arrays, imports and graph nodes.
 *
 * A table maps the address to 24 bytes. The one invariant: every entry is booked in the process's account, with the row
 * and the size of the entry.
 */
#ifndef GPUMEMTRACE_CORE_LEDGER_ALLOC_H
#define GPUMEMTRACE_CORE_LEDGER_ALLOC_H

#include <stdbool.h>
#include <stdint.h>

#include "core/ledger/process_tables.h"

struct process;
struct event;
struct undo;

/* What a call asks for. A call that failed makes a request, too, which is counted as failed. */
struct alloc_request {
	struct hash *table;
	uint64_t key;
	uint64_t address;    /* 0: the key is no address */
	uint64_t size;
	bool size_unread;
	enum gmt_class class;
	unsigned int owner, ordinal, flags;
};
void alloc_add(struct event *e, const struct alloc_request *request);

/* Frees the allocation at the address, if there is one: the memory was given out again, so the free was missed. */
void alloc_displace(struct process *p, uint64_t address, uint64_t ts_ns);

/* Takes an allocation out of its table, because it is gone. False: there is none. alloc_put_back() takes this
 * back; false: the key was given out again. */
bool alloc_take(struct process *p, struct hash *table, uint64_t key, struct alloc *a, uint64_t ts_ns);
bool alloc_put_back(struct process *p, struct hash *table, uint64_t key, const struct alloc *a, uint64_t ts_ns);

/* Moves allocations from the unknown GPU to their own: all of them when the GPU of an ordinal or a context became
 * known, and the allocation at `address` when a mapping has shown the GPU. */
void alloc_resolve(struct process *p, uint64_t ts_ns);
void alloc_resolve_at(struct process *p, uint64_t address, int gpu, uint64_t ts_ns);

/* Adds an allocation whose address is the first value, made in the thread's current context. */
void alloc_in_context(struct event *e, enum gmt_class class, uint64_t size, bool size_unread);

/* Releases the allocation at the first value, and returns what is kept of the allocation; the other takes back a
 * release that failed. */
struct undo *alloc_release(struct event *e, struct hash *table);
void alloc_release_undo(struct event *e, struct undo *u);

/* From now on, the graph's node at the address leaves no memory behind. */
void alloc_unplan(struct process *p, uint64_t address, uint64_t ts_ns);
/* The graph's node at the address is gone. Memory that a launch has brought, and that nothing has freed, stays. */
void alloc_drop_plan(struct process *p, uint64_t address, uint64_t ts_ns);

#endif
