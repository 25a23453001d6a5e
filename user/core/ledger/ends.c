/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/ledger/ends.h"

#include <stdlib.h>

#include "core/ledger/alloc.h"
#include "core/ledger/ended.h"
#include "core/ledger/process.h"
#include "core/ledger/vmm_object.h"

/* What ends: the context of this number, or (0) the primary context of the ordinal. */
struct end {
	const struct contexts *contexts;
	unsigned int number, ordinal;
	bool has_others;     /* another context is on the primary context's device */
};

/* By cuda.h, cuCtxDestroy. Registered memory is the program's own; pools and VMM belong to no context. */
static bool goes_with_context(const struct alloc *a)
{
	return a->class != GMT_CLASS_POOL && a->class != GMT_CLASS_REGISTERED && a->class != GMT_CLASS_GRAPH;
}

/*
 * With the primary context goes all that was made in it, and the memory of the device's pools (seen on an H100, driver
 * 580.159.04). Whether another context keeps the pools is not known: so they stay while there is one.
 */
static bool goes_with_primary(const struct end *end, const struct alloc *a)
{
	const struct context *owner = &end->contexts->list[a->owner];

	if (a->class == GMT_CLASS_GRAPH)
		return false;
	if (a->class == GMT_CLASS_POOL)
		return a->ordinal == end->ordinal && !end->has_others;
	return owner->shared && owner->ordinal == end->ordinal;
}

static bool goes_with_end(const struct end *end, const struct alloc *a)
{
	return end->number ? a->owner == end->number && goes_with_context(a) : goes_with_primary(end, a);
}

static void end_one(struct event *e, struct hash *table, uint64_t key, struct undo *u)
{
	struct hash *opens = &e->proc->allocs.opens;
	struct ended gone = { .key = key, .table = table };

	alloc_take(e->proc, table, key, &gone.alloc, e->ts_ns);
	if (table == &e->proc->allocs.by_address)
		hash_take(opens, key, &gone.opens);
	else if (table == &e->proc->allocs.arrays)
		binding_end_all(e->proc, BINDING_ARRAY, key, e->ts_ns, u);
	if (u)
		ended_keep(e, u, &gone);
}

static bool is_doomed(uint64_t key, const void *value, const void *arg)
{
	(void)key;
	return goes_with_end(arg, value);
}

static void end_table(struct event *e, const struct end *end, struct hash *table, struct undo *u)
{
	size_t count;
	uint64_t *keys = hash_sorted_keys_of(table, is_doomed, end, &count); /* the order is seen in the history */

	for (size_t i = 0; i < count; i++)
		end_one(e, table, keys[i], u);
	free(keys);
}

static void end_all(struct event *e, const struct end *end, struct undo *u)
{
	struct allocs *allocs = &e->proc->allocs;

	end_table(e, end, &allocs->by_address, u);
	end_table(e, end, &allocs->arrays, u);
	end_table(e, end, &allocs->externals, u);
}

void ends_context(struct event *e, unsigned int number, struct undo *u)
{
	const struct contexts *contexts = &e->proc->contexts;

	if (number && contexts->list[number].live)
		end_all(e, &(struct end){ .contexts = contexts, .number = number }, u);
}

static bool has_other_contexts(const struct contexts *contexts, unsigned int ordinal)
{
	for (uint32_t i = 1; i < contexts->count; i++)
		if (contexts->list[i].made && contexts->list[i].ordinal == ordinal)
			return true;
	return false;
}

void ends_primary(struct event *e, unsigned int ordinal, struct undo *u)
{
	const struct contexts *contexts = &e->proc->contexts;
	/* Recordings that have ends at their return are read as when they were made: pools stay. */
	bool is_old = e->call->phase == GMT_PHASE_DONE;

	if (ordinal != ORDINAL_NONE)
		end_all(e, &(struct end){
			.contexts = contexts, .ordinal = ordinal,
			.has_others = is_old || has_other_contexts(contexts, ordinal),
		}, u);
}

void ends_undo(struct event *e, struct undo *u)
{
	struct process *p = e->proc;

	p->anomalies[GMT_ANOMALY_UNDO_UNKNOWN] += u->is_settled;
	for (uint32_t i = 0; i < u->ended_count; i++) {
		const struct ended *gone = &u->ended[i];

		if (gone->is_freed)
			continue;
		/* A key that was given out again says that the memory is gone after all. */
		if (!alloc_put_back(p, gone->table, gone->key, &gone->alloc, e->ts_ns)) {
			p->anomalies[GMT_ANOMALY_UNDO_UNKNOWN]++;
			binding_forget(u, gone->key);
		} else if (gone->opens) {
			*(uint32_t *)hash_put(&p->allocs.opens, gone->key, NULL) = gone->opens;
		}
	}
	binding_restore(e, u);
}
