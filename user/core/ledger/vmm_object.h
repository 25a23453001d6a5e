/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Physical memory of virtual memory management, by handle: how its mappings are booked, and what it is bound to
 * besides addresses.
 *
 * cuda.h (cuMemRelease, cuMemUnmap): the memory is freed when its handle has no reference left AND no mapping. A
 * binding counts as a mapping. The driver may give out a handle's value again while the old memory is still mapped. So
 * each object has a number, never used twice, and mappings, bindings and undos refer to the number.
 */
#ifndef GPUMEMTRACE_CORE_LEDGER_VMM_OBJECT_H
#define GPUMEMTRACE_CORE_LEDGER_VMM_OBJECT_H

#include "core/account/account.h"
#include "core/ledger/delta.h"
#include "core/ledger/event.h"
#include "core/ledger/process_tables.h"

struct process;

/* The object of a handle, and its number unless `number` is NULL; NULL: none is known. */
struct vmm_object *vmm_find(struct vmm *vmm, uint64_t handle, uint64_t *number);
/* The same of the mapping that the address is in. */
struct vmm_object *vmm_find_at(struct process *p, uint64_t address, uint64_t *number);
void vmm_name(struct vmm *vmm, uint64_t handle, uint64_t number);

/* Adds an object that has the event's first value as its new handle, with one reference. */
void vmm_add(struct event *e, uint64_t size, unsigned int class, unsigned int ordinal);
/* Makes an object live again, which a release dropped before the release failed. */
struct vmm_object *vmm_revive(struct event *e, uint64_t number, const struct vmm_object *before);
/* `u` keeps the bindings that end with the object; NULL: the end is certain. */
void vmm_drop_if_unused(struct process *p, uint64_t number, uint64_t ts_ns, struct undo *u);
/* Notes that the object's memory lies on this GPU; GPU_UNKNOWN: nothing was learned. */
void vmm_place(struct process *p, struct vmm_object *o, int gpu, uint64_t ts_ns);
struct booking vmm_booking(const struct vmm_object *o, uint64_t ts_ns);

/* `o`: NULL if nothing is known of the object. */
void mapping_book(const struct process *p, enum delta_kind kind, uint64_t address, uint64_t size,
		  const struct vmm_object *o, uint64_t ts_ns);

/* Removes the mapping `m`, which begins at the address. `u` is as for vmm_drop_if_unused(). */
void mapping_remove(struct process *p, uint64_t address, const struct vmm_mapping *m, uint64_t ts_ns, struct undo *u);

/* Removes the mapping at the address, if there is one: the address was given out again, so the unmapping was missed. */
void mapping_displace(struct process *p, uint64_t address, uint64_t ts_ns);

/* The object is bound. It must be live, and must hold nothing itself, so that dropping a holder ends after one step. */
void binding_add(struct process *p, const struct binding *b, uint64_t ts_ns);
/* Ends the bindings of the range's holder that begin in the range, on its device or on an unknown one. */
void binding_end(struct process *p, const struct binding *range, uint64_t ts_ns);
/* The holder is gone: a multicast object by its number, an endpoint by its id, an array by its handle. `u` keeps the
 * bindings, which binding_restore() puts back, because the end failed; NULL: the end is certain. */
void binding_end_all(struct process *p, enum binding_kind kind, uint64_t holder, uint64_t ts_ns, struct undo *u);
void binding_restore(struct event *e, struct undo *u);
/* This holder's bindings do not come back. */
void binding_forget(struct undo *u, uint64_t holder);

#endif
