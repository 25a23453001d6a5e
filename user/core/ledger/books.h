/* SPDX-License-Identifier: BSD-2-Clause */
/* What changes in a process's memory is booked in its account and given out (delta.h), both by one call. */
#ifndef GPUMEMTRACE_CORE_LEDGER_BOOKS_H
#define GPUMEMTRACE_CORE_LEDGER_BOOKS_H

#include "core/ledger/delta.h"

struct event;

/* ALLOC to FAIL. Of no class (CLASS_NONE) nothing is booked. The booking's time is that of the change. */
void book_memory(struct process *p, enum delta_kind kind, const struct delta_memory *memory);

/* MAP, UNMAP, REMAP; of the same memory several may follow. */
void book_place(const struct process *p, enum delta_kind kind, const struct delta_place *place);

/* The event is a release of [address, address + length), or takes one back. */
void book_release(const struct event *e, uint64_t address, uint64_t length);

#endif
