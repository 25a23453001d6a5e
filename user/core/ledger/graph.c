/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory nodes of graphs, which are only planned memory. A node has an address from its creation on. The driver obtains
 * the memory, unseen, when the graph is uploaded or launched, and keeps the memory for the next launch: only the kernel
 * layer has these bytes. A captured stream-ordered allocation is such a node, too (pool.c).
 */
#include "core/ledger/alloc.h"
#include "core/ledger/operations.h"
#include "core/ledger/process.h"

/* CUgraphNodeType of cuda.h. */
#define NODE_MEM_ALLOC 10
#define NODE_MEM_FREE 11

static void plan_alloc(struct event *e, uint64_t address, uint64_t size, unsigned int unread_bits, uint64_t dev)
{
	alloc_add(e, &(struct alloc_request){
		.table = &e->proc->allocs.by_address,
		.key = address,
		.address = address,
		.size = size,
		.size_unread = e->unread & unread_bits,
		.class = GMT_CLASS_GRAPH,
		.ordinal = context_ordinal_of(dev),
	});
}

static void graph_alloc_node(struct event *e)
{
	plan_alloc(e, e->val[0], e->val[1], 1u << 1, event_unread(e, 2) ? ORDINAL_NONE : e->val[2]);
}

static void graph_free_node(struct event *e)
{
	alloc_unplan(e->proc, e->val[0], e->ts_ns);
}

static void graph_node(struct event *e)
{
	if (event_unread(e, 0))
		return;
	if (e->val[0] == NODE_MEM_ALLOC)
		plan_alloc(e, e->val[1], e->val[2], 1u << 2, event_unread(e, 3) ? ORDINAL_NONE : e->val[3]);
	else if (e->val[0] == NODE_MEM_FREE)
		alloc_unplan(e->proc, e->val[4], e->ts_ns);
}

const struct operation graph_operations[GMT_OP_COUNT] = {
	[GMT_OP_GRAPH_ALLOC_NODE] = OPERATION_CALL(graph_alloc_node),
	[GMT_OP_GRAPH_FREE_NODE] = OPERATION_CALL(graph_free_node),
	[GMT_OP_GRAPH_NODE] = OPERATION_CALL(graph_node),
};
