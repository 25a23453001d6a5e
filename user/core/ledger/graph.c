/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory nodes of graphs, which are only planned memory. A node has an address from its creation on. The driver obtains
 * the memory, unseen, when the graph is uploaded or launched, and keeps the memory for the next launch: only the kernel
 * layer has these bytes. A captured stream-ordered allocation is such a node, too (pool.c).
 *
 * cuda.h (cuGraphAddMemAllocNode, cuGraphClone, cuGraphDestroyNode): a graph with such nodes cannot be cloned, its
 * nodes cannot be destroyed, and it may be another graph's child only by moving there. So all of its nodes go at once.
 */
#include "core/ledger/graph.h"

#include "core/ledger/alloc.h"
#include "core/ledger/operations.h"
#include "core/ledger/process.h"

/* CUgraphNodeType and CUgraphChildGraphNodeOwnership of cuda.h. */
#define NODE_GRAPH 4
#define NODE_MEM_ALLOC 10
#define NODE_MEM_FREE 11
#define OWNERSHIP_MOVE 1

/* ---- graphs and their nodes ---- */

static uint64_t make_graph(struct graphs *graphs)
{
	struct graph *graph = hash_put(&graphs->by_number, ++graphs->last, NULL);

	graph->holders = 1;
	return graphs->last;
}

static void name_graph(struct graphs *graphs, uint64_t handle, uint64_t number, enum graph_kind kind)
{
	*(struct graph_name *)hash_put(&graphs->by_handle, handle, NULL) =
		(struct graph_name){ .graph = number, .kind = kind };
}

/* The number of the graph that has the handle; 0: none that allocates is known. */
static uint64_t find_graph(const struct graphs *graphs, uint64_t handle)
{
	const struct graph_name *name = hash_get(&graphs->by_handle, handle);

	return name && hash_get(&graphs->by_number, name->graph) ? name->graph : 0;
}

/* The same, of a graph that gets a node now; 0: the handle is not known. */
static uint64_t get_graph(struct graphs *graphs, uint64_t handle)
{
	uint64_t number = find_graph(graphs, handle);

	if (!number && handle) {
		number = make_graph(graphs);
		name_graph(graphs, handle, number, GRAPH_IS_GRAPH);
	}
	return number;
}

static struct graph_node *graph_node_at(const struct graphs *graphs, uint64_t address)
{
	return address ? hash_get(&graphs->nodes, address) : NULL;
}

static void unlink_node(struct graphs *graphs, const struct graph_node *node)
{
	struct graph *graph = hash_get(&graphs->by_number, node->graph);
	struct graph_node *prev = graph_node_at(graphs, node->prev), *next = graph_node_at(graphs, node->next);

	if (prev)
		prev->next = node->next;
	else if (graph)
		graph->first = node->next;
	if (next)
		next->prev = node->prev;
}

/* Puts the node at the address into the graph, and takes it out of another graph. */
static void add_node(struct graphs *graphs, uint64_t number, uint64_t address)
{
	bool is_new;

	if (!number || !address)
		return;
	struct graph_node *node = hash_put(&graphs->nodes, address, &is_new);

	if (!is_new && node->graph == number)
		return;
	if (!is_new)
		unlink_node(graphs, node);
	struct graph *graph = hash_get(&graphs->by_number, number);
	struct graph_node *first = graph_node_at(graphs, graph->first);

	*node = (struct graph_node){ .graph = number, .next = graph->first };
	graph->first = address;
	if (first)
		first->prev = address;
}

static void drop_graph(struct process *p, uint64_t number, uint64_t ts_ns)
{
	struct graph graph;
	struct graph_node node;

	hash_take(&p->graphs.by_number, number, &graph);
	for (uint64_t address = graph.first; address; address = node.next) {
		if (!hash_take(&p->graphs.nodes, address, &node))
			break;
		alloc_drop_plan(p, address, ts_ns);
	}
}

/* One holder less. True: the graph is gone. */
static bool release_graph(struct process *p, uint64_t number, uint64_t ts_ns)
{
	struct graph *graph = hash_get(&p->graphs.by_number, number);

	if (--graph->holders)
		return false;
	drop_graph(p, number, ts_ns);
	return true;
}

static void add_child(struct graphs *graphs, uint64_t handle, uint64_t parent)
{
	struct graph *graph = hash_get(&graphs->by_number, parent);

	*(struct graph_name *)hash_put(&graphs->by_handle, handle, NULL) =
		(struct graph_name){ .graph = parent, .next = graph->child, .kind = GRAPH_IS_CHILD };
	graph->child = handle;
}

/* The graph's first child is none of its children any longer. 0: the graph has no child; else the child's handle, which
 * may have become another graph's. */
static uint64_t take_child(struct graphs *graphs, struct graph *graph, uint64_t number, bool *is_still)
{
	uint64_t handle = graph->child;
	const struct graph_name *name = handle ? hash_get(&graphs->by_handle, handle) : NULL;

	*is_still = name && name->kind == GRAPH_IS_CHILD && name->graph == number;
	graph->child = *is_still ? name->next : 0;
	return handle;
}

/* The CUgraph has gone, and with it the handles of its children, which may be given out again. */
static void drop_children(struct graphs *graphs, struct graph *graph, uint64_t number)
{
	uint64_t handle;
	bool is_still;

	while ((handle = take_child(graphs, graph, number, &is_still)))
		if (is_still)
			hash_erase(&graphs->by_handle, handle);
}

/* A child's nodes and its own children are the parent's from now on. */
static void move_graph(struct graphs *graphs, uint64_t child, uint64_t parent)
{
	struct graph *graph = hash_get(&graphs->by_number, child);
	uint64_t handle;
	bool is_still;

	while (graph->first)
		add_node(graphs, parent, graph->first);
	while ((handle = take_child(graphs, graph, child, &is_still)))
		if (is_still)
			add_child(graphs, handle, parent);
	hash_erase(&graphs->by_number, child);
}

/* ---- operations: nodes ---- */

/* The record lacks the type of the place. An ordinal has a byte at most, so more bytes are a locality domain's. */
static unsigned int node_ordinal(uint64_t id)
{
	return context_ordinal_at(id > UINT8_MAX ? LOCATION_DEVICE_DOMAIN : LOCATION_DEVICE, id);
}

static void plan_alloc(struct event *e, uint64_t address, uint64_t size, unsigned int unread_bits, uint64_t dev)
{
	alloc_add(e, &(struct alloc_request){
		.table = &e->proc->allocs.by_address,
		.key = address,
		.address = address,
		.size = size,
		.size_unread = e->unread & unread_bits,
		.class = GMT_CLASS_GRAPH,
		.ordinal = node_ordinal(dev),
	});
}

static void add_plan(struct event *e, uint64_t address, uint64_t handle)
{
	add_node(&e->proc->graphs, get_graph(&e->proc->graphs, handle), address);
}

static void graph_alloc_node(struct event *e)
{
	plan_alloc(e, e->val[0], e->val[1], 1u << 1, event_unread(e, 2) ? ORDINAL_NONE : e->val[2]);
	add_plan(e, e->val[0], e->val[3]);
}

static void graph_free_node(struct event *e)
{
	alloc_unplan(e->proc, e->val[0], e->ts_ns);
}

static void adopt_child(struct event *e, uint64_t child_handle, uint64_t parent_handle)
{
	struct graphs *graphs = &e->proc->graphs;
	uint64_t child = find_graph(graphs, child_handle);

	if (!child || !parent_handle || child_handle == parent_handle)
		return;
	uint64_t parent = get_graph(graphs, parent_handle);

	if (parent == child)
		return;
	move_graph(graphs, child, parent);
	add_child(graphs, child_handle, parent);
}

static void graph_node(struct event *e)
{
	if (event_unread(e, 0))
		return;
	if (e->val[0] == NODE_MEM_ALLOC) {
		plan_alloc(e, e->val[1], e->val[2], 1u << 2, event_unread(e, 3) ? ORDINAL_NONE : e->val[3]);
		add_plan(e, e->val[1], e->val[5]);
	} else if (e->val[0] == NODE_MEM_FREE) {
		alloc_unplan(e->proc, e->val[4], e->ts_ns);
	} else if (e->val[0] == NODE_GRAPH && e->val[6] == OWNERSHIP_MOVE) {
		adopt_child(e, e->val[4], e->val[5]);
	}
}

/* ---- operations: captures ---- */

/* A capture goes by its stream, or on the thread's own default stream by the thread. */
static uint64_t capture_key(uint64_t stream, uint32_t tid)
{
	return stream > STREAM_PER_THREAD ? stream : 1ULL << 63 | tid;
}

static bool set_capturing(struct event *e, bool begins)
{
	struct contexts *contexts = &e->proc->contexts;
	bool *state = &e->thread->capturing;

	if (e->val[0] > STREAM_PER_THREAD) {
		if (!begins && !hash_get(&contexts->streams, e->val[0]))
			return false;
		state = &((struct stream *)hash_put(&contexts->streams, e->val[0], NULL))->capturing;
	}
	contexts->capturing += begins - *state;
	*state = begins;
	if (begins && state == &e->thread->capturing)
		e->thread->captures_in = context_current(e);
	return true;
}

static void graph_capture_begin(struct event *e)
{
	struct graphs *graphs = &e->proc->graphs;
	struct capture capture = { 0 };

	set_capturing(e, true);
	if (e->op == GMT_OP_CAPTURE_INTO && e->val[1])
		capture = (struct capture){ .graph = get_graph(graphs, e->val[1]), .is_into = true };
	*(struct capture *)hash_put(&graphs->captures, capture_key(e->val[0], e->call->hdr.tid), NULL) = capture;
}

/* A capture that fails has ended, too. */
static void graph_capture_end(struct event *e)
{
	struct graphs *graphs = &e->proc->graphs;
	struct capture capture;

	if (!set_capturing(e, false))
		return;
	if (!hash_take(&graphs->captures, capture_key(e->val[0], e->call->hdr.tid), &capture))
		return;
	if (!capture.graph || capture.is_into || !hash_get(&graphs->by_number, capture.graph))
		return;
	if (e->call->rc)
		release_graph(e->proc, capture.graph, e->ts_ns);
	else if (e->val[1])
		name_graph(graphs, e->val[1], capture.graph, GRAPH_IS_GRAPH);
}

/* A stream that joined a capture through an event, unseen, is in the only capture that there is. */
static struct capture *capture_of(const struct event *e, uint64_t stream)
{
	const struct hash *captures = &e->proc->graphs.captures;
	void *capture = hash_get(captures, capture_key(stream, e->call->hdr.tid));
	size_t pos = 0;

	if (!capture && hash_count(captures) == 1)
		hash_next(captures, &pos, NULL, &capture);
	return capture;
}

void graph_add_captured(struct event *e, uint64_t stream)
{
	struct graphs *graphs = &e->proc->graphs;
	struct capture *capture = e->call->rc ? NULL : capture_of(e, stream);

	if (!capture)
		return;
	if (!capture->graph || !hash_get(&graphs->by_number, capture->graph))
		*capture = (struct capture){ .graph = make_graph(graphs) };
	add_node(graphs, capture->graph, e->val[0]);
}

bool graph_drop_capture(struct process *p, uint64_t stream, uint32_t tid, struct capture *capture, uint64_t ts_ns)
{
	struct graphs *graphs = &p->graphs;

	if (!hash_take(&graphs->captures, capture_key(stream, tid), capture))
		return false;
	return capture->graph && !capture->is_into && hash_get(&graphs->by_number, capture->graph) &&
	       release_graph(p, capture->graph, ts_ns);
}

/* ---- operations: lifetimes ---- */

static void graph_instantiate(struct event *e)
{
	struct graphs *graphs = &e->proc->graphs;
	uint64_t number = find_graph(graphs, e->val[1]), old = find_graph(graphs, e->val[0]);

	/* An entry of the driver that calls another one sends the same executable twice. */
	if (!number || !e->val[0] || old == number)
		return;
	((struct graph *)hash_get(&graphs->by_number, number))->holders++;
	name_graph(graphs, e->val[0], number, GRAPH_IS_EXEC);
	if (old)
		release_graph(e->proc, old, e->ts_ns); /* its end was missed */
}

/* A child graph cannot be destroyed by itself (cuda.h, CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE): the call fails, unseen. */
static void graph_destroy(struct event *e)
{
	struct graphs *graphs = &e->proc->graphs;
	uint64_t number = find_graph(graphs, e->val[0]);
	struct graph_name name = { 0 };
	struct undo *u = undo_push(e, e->val[0]);

	hash_take(&graphs->by_handle, e->val[0], &name);
	if (!number)
		return;
	if (name.kind == GRAPH_IS_CHILD) {
		*(struct graph_name *)hash_put(&graphs->by_handle, e->val[0], NULL) = name;
		return;
	}
	u->found = true;
	u->number = number;
	u->graph_kind = name.kind;
	if (name.kind == GRAPH_IS_GRAPH)
		drop_children(graphs, hash_get(&graphs->by_number, number), number);
	release_graph(e->proc, number, e->ts_ns);
}

static void graph_destroy_undo(struct event *e, struct undo *u)
{
	struct graphs *graphs = &e->proc->graphs;
	struct graph *graph = u->found ? hash_get(&graphs->by_number, u->number) : NULL;

	if (graph) {
		graph->holders++;
		name_graph(graphs, u->key, u->number, u->graph_kind);
	} else if (u->found) {
		e->proc->anomalies[GMT_ANOMALY_UNDO_UNKNOWN]++;
	}
}

const struct operation graph_operations[GMT_OP_COUNT] = {
	[GMT_OP_GRAPH_ALLOC_NODE] = OPERATION_CALL(graph_alloc_node),
	[GMT_OP_GRAPH_FREE_NODE] = OPERATION_CALL(graph_free_node),
	[GMT_OP_GRAPH_NODE] = OPERATION_CALL(graph_node),
	[GMT_OP_GRAPH_INSTANTIATE] = OPERATION_CALL(graph_instantiate),
	[GMT_OP_GRAPH_DESTROY] = OPERATION_RELEASE(graph_destroy, graph_destroy_undo),
	[GMT_OP_CAPTURE_BEGIN] = OPERATION_CALL(graph_capture_begin),
	[GMT_OP_CAPTURE_INTO] = OPERATION_CALL(graph_capture_begin),
	[GMT_OP_CAPTURE_END] = OPERATION_REQUEST(graph_capture_end),
};
