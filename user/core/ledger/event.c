/* SPDX-License-Identifier: BSD-2-Clause */
/* See event.h. */
#include "core/ledger/event.h"

struct undo *undo_push(struct event *e, uint64_t key)
{
	struct undo *u = &e->thread->undos[e->thread->next_undo++ % THREAD_UNDOS];

	u->valid = true;
	u->found = false;
	u->op = e->op;
	u->seq = e->call->seq;
	u->key = key;
	u->opens = 0;
	return u;
}

struct undo *undo_find(const struct event *e)
{
	for (unsigned int i = 0; i < THREAD_UNDOS; i++) {
		struct undo *u = &e->thread->undos[i];

		if (u->valid && u->seq == e->call->seq && u->op == e->op)
			return u;
	}
	return NULL;
}
