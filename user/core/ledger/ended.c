/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/ledger/ended.h"

#include <stdlib.h>

#include "base/xalloc.h"

/* So many calls of the thread later, a call that ended a context has returned, or else its failure is counted. */
#define KEPT_CALLS 16

void ended_keep(struct event *e, struct undo *u, const struct ended *gone)
{
	u->ended = xgrow(u->ended, u->ended_count, sizeof(*u->ended));
	u->ended[u->ended_count++] = *gone;
	e->thread->keeps = KEPT_CALLS;
}

/* What an end of the thread that may still fail has taken along; NULL: no end has. */
static struct ended *find_ended(const struct event *e, const struct hash *table, uint64_t key, bool is_freed)
{
	struct thread *t = e->thread;

	for (unsigned int i = 0; i < THREAD_UNDOS && t->keeps; i++)
		for (uint32_t n = 0; n < t->undos[i].ended_count; n++) {
			struct ended *gone = &t->undos[i].ended[n];

			if (t->undos[i].valid && gone->key == key && gone->table == table &&
			    gone->is_freed == is_freed && !gone->is_replaced)
				return gone;
		}
	return NULL;
}

bool ended_free(struct event *e, const struct hash *table, uint64_t key)
{
	struct ended *gone = find_ended(e, table, key, false);

	if (gone && gone->opens > 1)
		gone->opens--;
	else if (gone)
		gone->is_freed = true;
	return gone;
}

void ended_free_undo(struct event *e, const struct hash *table, uint64_t key)
{
	struct ended *freed = find_ended(e, table, key, true), *open = find_ended(e, table, key, false);

	if (freed)
		freed->is_freed = false;
	else if (open)
		open->opens++;
}

void ended_replace(struct event *e, const struct hash *table, uint64_t key)
{
	struct ended *gone = find_ended(e, table, key, false);

	if (gone)
		gone->is_replaced = true;
}

void ended_settle(struct thread *t)
{
	if (--t->keeps)
		return;
	for (unsigned int i = 0; i < THREAD_UNDOS; i++) {
		struct undo *u = &t->undos[i];

		if (!u->ended_count)
			continue;
		u->is_settled = true;
		free(u->ended);
		u->ended = NULL;
		u->ended_count = u->unbound_count = 0;
	}
}
