/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a call that ends a context has taken along (ends.h), for as long as the call may still fail. Callbacks inside of
 * the call may make calls, which cannot be told from calls that follow.
 */
#ifndef GPUMEMTRACE_CORE_LEDGER_ENDED_H
#define GPUMEMTRACE_CORE_LEDGER_ENDED_H

#include <stdbool.h>
#include <stdint.h>

#include "core/ledger/event.h"

/* An allocation or a stream that an unfinished call has taken along. */
struct ended {
	uint64_t key;
	struct hash *table;
	union {
		struct alloc alloc;
		struct stream_ended stream;
	};
	uint32_t opens;      /* imports at the address */
	bool is_freed;       /* meanwhile */
	bool is_replaced;    /* the key was given out again: what had the key is gone, however the call ends */
};

void ended_keep(struct event *e, struct undo *u, const struct ended *gone);

/* A program may free memory in a callback inside of the call that ends the memory's context. True: such a call of the
 * thread has taken the memory along, and will not bring it back. The other takes back a free that failed. */
bool ended_free(struct event *e, const struct hash *table, uint64_t key);
void ended_free_undo(struct event *e, const struct hash *table, uint64_t key);

/* The thread frees memory that lies where an end has taken other memory along. */
void ended_replace(struct event *e, const struct hash *table, uint64_t key);

/* The thread has made one call more. A callback inside of the end makes few: after many, the end has succeeded. */
void ended_settle(struct thread *t);

#endif
