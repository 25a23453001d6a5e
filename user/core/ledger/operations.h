/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The operations of calls (api.h) that change the ledger. Each file with functions that apply operations has a table of
 * these functions; an operation is in one table at most.
 */
#ifndef GPUMEMTRACE_CORE_LEDGER_OPERATIONS_H
#define GPUMEMTRACE_CORE_LEDGER_OPERATIONS_H

#include "core/ledger/event.h"

struct operation {
	void (*apply)(struct event *e);
	void (*undo)(struct event *e, struct undo *u);
	bool is_for_failures;    /* apply() is for calls that failed, too */
	bool was_call;           /* older recordings have the release at its return only */
};

/* CALL: calls that succeeded. REQUEST: calls that succeeded or failed. RELEASE: a release is applied when the call
 * begins, and is taken back if the call fails. END: a release that ends a context. */
#define OPERATION_CALL(apply) { apply, NULL, false, false }
#define OPERATION_REQUEST(apply) { apply, NULL, true, false }
#define OPERATION_RELEASE(apply, undo) { apply, undo, false, false }
#define OPERATION_END(apply, undo) { apply, undo, false, true }

#define OPERATION_TABLES(X)                                                       \
	X(alloc_operations)                                                       \
	X(pool_operations)                                                        \
	X(vmm_operations)                                                         \
	X(bind_operations)                                                        \
	X(import_operations)                                                      \
	X(graph_operations)                                                       \
	X(context_operations)                                                     \
	X(stream_operations)
#define X(table) extern const struct operation table[GMT_OP_COUNT];
OPERATION_TABLES(X)
#undef X

#endif
