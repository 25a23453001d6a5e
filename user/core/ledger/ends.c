/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/ledger/ends.h"

#include <stdlib.h>

#include "core/ledger/alloc.h"
#include "core/ledger/ended.h"
#include "core/ledger/process.h"
#include "core/ledger/streams.h"
#include "core/ledger/vmm_object.h"

/* What ends: the context of this number, and that which is of it if it is green; or (0) the primary context of the
 * ordinal. */
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

static bool is_of_end(const struct end *end, unsigned int context)
{
	const struct context *owner = &end->contexts->list[context];

	if (end->number)
		return context == end->number || owner->green == end->number;
	return owner->kind != CONTEXT_OTHER && context_ordinal(end->contexts, context) == end->ordinal;
}

/*
 * With the primary context goes all that was made in it, and the memory of the device's pools (seen on an H100, driver
 * 580.159.04). Whether another context keeps the pools is not known: so they stay while there is one.
 */
static bool goes_with_primary(const struct end *end, const struct alloc *a)
{
	if (a->class == GMT_CLASS_GRAPH)
		return false;
	if (a->class == GMT_CLASS_POOL)
		return a->ordinal == end->ordinal && !end->has_others;
	return is_of_end(end, a->owner);
}

static bool goes_with_end(const struct end *end, const struct alloc *a)
{
	return end->number ? is_of_end(end, a->owner) && goes_with_context(a) : goes_with_primary(end, a);
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

static bool is_doomed_stream(uint64_t key, const void *value, const void *arg)
{
	(void)key;
	return is_of_end(arg, ((const struct stream *)value)->context);
}

/* A thread's own default stream is another one in each context. */
static void end_threads(struct event *e, const struct end *end, struct undo *u)
{
	uint64_t tid;
	size_t pos = 0;
	void *value;

	while (end->contexts->capturing && hash_next(&e->proc->threads, &pos, &tid, &value)) {
		struct thread *t = *(struct thread **)value;

		if (!t->capturing || !is_of_end(end, t->captures_in))
			continue;
		if (streams_end_own(e->proc, t, (uint32_t)tid, e->ts_ns) && u)
			u->has_dropped_own = true;
	}
}

/* The streams of a context go with the context (cuda.h, cuCtxDestroy), and with them what they capture. */
static void end_streams(struct event *e, const struct end *end, struct undo *u)
{
	struct hash *streams = &e->proc->contexts.streams;
	size_t count;
	uint64_t *keys = hash_sorted_keys_of(streams, is_doomed_stream, end, &count);

	for (size_t i = 0; i < count; i++) {
		struct ended gone = { .key = keys[i], .table = streams };

		streams_end(e->proc, keys[i], &gone.stream, e->ts_ns);
		if (u)
			ended_keep(e, u, &gone);
	}
	free(keys);
	end_threads(e, end, u);
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

	const struct end end = { .contexts = contexts, .number = number };

	if (!number)
		return;
	if (contexts->list[number].live)
		end_all(e, &end, u);
	end_streams(e, &end, u);
}

void ends_green(struct event *e, unsigned int number, struct undo *u)
{
	if (number)
		end_streams(e, &(struct end){ .contexts = &e->proc->contexts, .number = number }, u);
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

	const struct end end = { .contexts = contexts, .ordinal = ordinal,
				 .has_others = is_old || has_other_contexts(contexts, ordinal) };

	if (ordinal == ORDINAL_NONE)
		return;
	end_all(e, &end, u);
	end_streams(e, &end, u);
}

/* A key that was given out again says that what had it before is gone after all. */
static void put_back_ended(struct process *p, const struct ended *gone, struct undo *u, uint64_t ts_ns)
{
	if (gone->is_freed) {
		binding_forget(u, gone->key);
	} else if (gone->table == &p->contexts.streams) {
		streams_put_back(p, gone->key, &gone->stream);
	} else if (gone->is_replaced || !alloc_put_back(p, gone->table, gone->key, &gone->alloc, ts_ns)) {
		p->anomalies[GMT_ANOMALY_UNDO_UNKNOWN]++;
		binding_forget(u, gone->key);
	} else if (gone->opens) {
		*(uint32_t *)hash_put(&p->allocs.opens, gone->key, NULL) = gone->opens;
	}
}

void ends_undo(struct event *e, struct undo *u)
{
	struct process *p = e->proc;

	p->anomalies[GMT_ANOMALY_UNDO_UNKNOWN] += u->is_settled + u->has_dropped_own;
	for (uint32_t i = 0; i < u->ended_count; i++)
		put_back_ended(p, &u->ended[i], u, e->ts_ns);
	binding_restore(e, u);
}
