/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory pools, and the memory that is allocated from pools in stream order. A pool says the class and the GPU of its
 * allocations. But allocations live on their own: destroying the pool frees none (cuda.h, cuMemPoolDestroy).
 */
#include "core/ledger/alloc.h"
#include "core/ledger/graph.h"
#include "core/ledger/import.h"
#include "core/ledger/operations.h"
#include "core/ledger/process.h"

/* Keeps what was learned of a pool. The location and type of a known pool never change. */
static void learn_pool(struct event *e, uint64_t handle, struct pool is)
{
	bool is_new;

	if (!handle)
		return;
	struct pool *pool = hash_put(&e->proc->pools, handle, &is_new);

	if (is_new)
		*pool = is;
	else if (pool->ordinal == ORDINAL_NONE)
		pool->ordinal = is.ordinal;
}

/* A pool by its place, whose three values begin at `first`: CUmemLocationType, id, CUmemAllocationType. */
static struct pool pool_by_place(const struct event *e, unsigned int first)
{
	uint64_t location = e->val[first], type = e->val[first + 2];

	return (struct pool){
		.location = location < 256 ? location : 0,
		.type = type < 256 ? type : 0,
		.ordinal = event_unread(e, first + 1) ? ORDINAL_NONE : context_ordinal_at(location, e->val[first + 1]),
	};
}

static struct pool pool_by_device(uint64_t dev)
{
	return (struct pool){ .location = LOCATION_DEVICE, .ordinal = context_ordinal_of(dev) };
}

static void pool_create(struct event *e)
{
	/* A known handle is given out again after the old pool was destroyed. */
	if (e->val[0])
		*(struct pool *)hash_put(&e->proc->pools, e->val[0], NULL) = pool_by_place(e, 1);
}

static void pool_of_device(struct event *e)
{
	learn_pool(e, e->val[0], pool_by_device(e->val[1]));
}

static void pool_set_device(struct event *e)
{
	learn_pool(e, e->val[1], pool_by_device(e->val[0]));
}

static void pool_of_location(struct event *e)
{
	learn_pool(e, e->val[0], pool_by_place(e, 1));
}

static void pool_set_location(struct event *e)
{
	learn_pool(e, e->val[3], pool_by_place(e, 0));
}

static void pool_import(struct event *e)
{
	struct pool pool = { .ordinal = ORDINAL_NONE, .imported = true };

	if (e->val[0])
		*(struct pool *)hash_put(&e->proc->pools, e->val[0], NULL) = pool;
}

/* The allocation is the exporting process's, and the bytes are counted there. */
static void pool_import_pointer(struct event *e)
{
	const struct pool *pool = hash_get(&e->proc->pools, e->val[1]);

	if (!import_opens(e))
		return;
	alloc_add(e, &(struct alloc_request){
		.table = &e->proc->allocs.by_address,
		.key = e->val[0],
		.address = e->val[0],
		.class = GMT_CLASS_IMPORTED,
		.ordinal = pool ? pool->ordinal : ORDINAL_NONE,
	});
}

/* The context of a stream; 0: unknown. */
static unsigned int context_of_stream(const struct event *e, uint64_t stream)
{
	if (stream <= STREAM_PER_THREAD)
		return context_current(e);
	const struct stream *s = hash_get(&e->proc->contexts.streams, stream);

	return s ? s->context : 0;
}

/* Whether what is put on the stream goes into a graph. */
static bool is_capturing(const struct event *e, uint64_t stream)
{
	if (stream <= STREAM_PER_THREAD)
		return e->thread->capturing;
	const struct stream *s = hash_get(&e->proc->contexts.streams, stream);

	return s && s->capturing;
}

/*
 * Whether an allocation on the stream only adds a node to a graph. A stream may join a capture through an event, which
 * is not seen. So during any capture, an address of device memory that the kernel did not map is such a node. Whether
 * the kernel maps the memory of a host's or a managed pool is not known.
 */
static bool goes_into_graph(const struct event *e, unsigned int class, uint64_t stream)
{
	const struct process *p = e->proc;

	if (!p->contexts.capturing)
		return false;
	return is_capturing(e, stream) ||
	       (p->rm && !e->call->rc && class == GMT_CLASS_POOL && !rm_is_mapped(p->rm, e->val[0]));
}

static void add_pool_alloc(struct event *e, unsigned int class, uint64_t stream, unsigned int owner,
			   unsigned int ordinal)
{
	bool is_node = goes_into_graph(e, class, stream);

	alloc_add(e, &(struct alloc_request){
		.table = &e->proc->allocs.by_address,
		.key = e->val[0],
		.address = e->val[0],
		.size = e->val[1],
		.size_unread = event_unread(e, 1),
		.class = is_node ? GMT_CLASS_GRAPH : class,
		.owner = owner,
		.ordinal = ordinal,
	});
	if (is_node)
		graph_add_captured(e, stream);
}

/* Allocates from the pool that is current on the stream's device. */
static void pool_alloc_async(struct event *e)
{
	unsigned int owner = event_unread(e, 2) ? 0 : context_of_stream(e, e->val[2]);

	add_pool_alloc(e, GMT_CLASS_POOL, e->val[2], owner, context_ordinal(&e->proc->contexts, owner));
}

/* Allocates on the pool's device, which may differ from the stream's device. */
static void pool_alloc_from(struct event *e)
{
	const struct pool *pool = hash_get(&e->proc->pools, e->val[2]);
	unsigned int class = GMT_CLASS_POOL;

	if (pool)
		class = pool->imported ? GMT_CLASS_IMPORTED : pool_class_at(pool->location, pool->type, class);
	add_pool_alloc(e, class, e->val[3], 0, pool ? pool->ordinal : ORDINAL_NONE);
}

static void pool_destroy(struct event *e)
{
	struct undo *u = undo_push(e, e->val[0]);

	u->found = hash_take(&e->proc->pools, e->val[0], &u->pool);
}

static void pool_destroy_undo(struct event *e, struct undo *u)
{
	if (u->found)
		*(struct pool *)hash_put(&e->proc->pools, u->key, NULL) = u->pool;
}

const struct operation pool_operations[GMT_OP_COUNT] = {
	[GMT_OP_ASYNC_ALLOC] = OPERATION_REQUEST(pool_alloc_async),
	[GMT_OP_POOL_ALLOC] = OPERATION_REQUEST(pool_alloc_from),
	[GMT_OP_POOL_CREATE] = OPERATION_CALL(pool_create),
	[GMT_OP_POOL_DESTROY] = OPERATION_RELEASE(pool_destroy, pool_destroy_undo),
	[GMT_OP_POOL_OF_DEVICE] = OPERATION_CALL(pool_of_device),
	[GMT_OP_POOL_SET_DEVICE] = OPERATION_CALL(pool_set_device),
	[GMT_OP_POOL_OF_LOCATION] = OPERATION_CALL(pool_of_location),
	[GMT_OP_POOL_SET_LOCATION] = OPERATION_CALL(pool_set_location),
	[GMT_OP_POOL_IMPORT] = OPERATION_CALL(pool_import),
	[GMT_OP_POOL_IMPORT_PTR] = OPERATION_CALL(pool_import_pointer),
};
