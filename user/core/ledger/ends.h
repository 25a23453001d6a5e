/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What goes with a context. A call that ends a context is applied when the call begins, like every release (event.h):
 * the driver may give out the context's handle and its addresses again before the call returns. The thread keeps what
 * went, to be put back if the call fails.
 */
#ifndef GPUMEMTRACE_CORE_LEDGER_ENDS_H
#define GPUMEMTRACE_CORE_LEDGER_ENDS_H

#include <stdint.h>

struct event;
struct undo;

/* Frees all allocations that go with the context of this number, and forgets its streams; 0: none. `u` keeps them;
 * NULL: the end is certain. */
void ends_context(struct event *e, unsigned int number, struct undo *u);

/* Calls on the streams of a green context fail once that context is gone, and their captures with it (cuda.h,
 * cuGreenCtxDestroy). Its memory is the primary context's. */
void ends_green(struct event *e, unsigned int number, struct undo *u);

/* The same as ends_context() for the primary context of a device, with the memory of green contexts, the device's
 * pools, and the registrations of host memory. */
void ends_primary(struct event *e, unsigned int ordinal, struct undo *u);

/* The end has failed: puts back what went. */
void ends_undo(struct event *e, struct undo *u);

#endif
