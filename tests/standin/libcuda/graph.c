/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Graphs, as far as they hold memory. An allocation node reserves an address when the node is made. The memory comes
 * with the first launch or upload, and stays with the device until the device is trimmed, whatever happens to the
 * graph. Memory that a graph allocates and does not free lives on after the launch.
 */
#include <stdlib.h>
#include <string.h>

#include "standin.h"

static struct graph *graph_get(const void *handle, bool executable)
{
	struct graph *graph = object_get(handle, executable ? OBJECT_EXEC : OBJECT_GRAPH);

	return graph;
}

static struct node *find_node(struct graph *graph, CUdeviceptr dptr)
{
	for (struct node *node = graph->nodes; node; node = node->next)
		if (node->address == dptr)
			return node;
	return NULL;
}

static struct node *add_alloc(struct graph *graph, struct device *device, uint64_t bytes)
{
	uint64_t size = ROUND_UP(bytes, PAGE_BYTES), address = bytes ? va_take(size) : 0;
	struct node *node;

	if (!address)
		return NULL;
	node = object_new(OBJECT_NODE);
	*node = (struct node){
		.address = address, .size = size, .request = bytes, .device = device, .next = graph->nodes,
	};
	graph->nodes = node;
	return node;
}

static CUresult create(CUgraph *out)
{
	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	*out = (CUgraph)object_new(OBJECT_GRAPH);
	return CUDA_SUCCESS;
}

CUresult cuGraphCreate(CUgraph *graph, unsigned int flags)
{
	(void)flags;
	API(create(graph));
}

static void delete_graph(struct graph *graph)
{
	struct node *node = graph->nodes, *next;

	for (; node; node = next) {
		next = node->next;
		object_delete(node);
	}
	object_delete(graph);
}

static CUresult destroy(const void *handle, bool executable)
{
	struct graph *graph = graph_get(handle, executable);

	if (!graph)
		return CUDA_ERROR_INVALID_VALUE;
	delete_graph(graph);
	return CUDA_SUCCESS;
}

CUresult cuGraphDestroy(CUgraph graph)
{
	API(destroy(graph, false));
}

CUresult cuGraphExecDestroy(CUgraphExec exec)
{
	API(destroy(exec, true));
}

static CUresult alloc_node(CUgraphNode *out, CUgraph handle, CUDA_MEM_ALLOC_NODE_PARAMS *params)
{
	struct graph *graph = graph_get(handle, false);
	struct device *device = params ? device_of(params->poolProps.location.id) : NULL;
	struct node *node;

	if (!out || !graph || !device)
		return CUDA_ERROR_INVALID_VALUE;
	node = add_alloc(graph, device, params->bytesize);
	if (!node)
		return CUDA_ERROR_OUT_OF_MEMORY;
	params->dptr = node->address;
	*out = (CUgraphNode)node;
	return CUDA_SUCCESS;
}

CUresult cuGraphAddMemAllocNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t count,
		CUDA_MEM_ALLOC_NODE_PARAMS *params)
{
	(void)deps, (void)count;
	API(alloc_node(node, graph, params));
}

static CUresult free_node(CUgraphNode *out, CUgraph handle, CUdeviceptr dptr)
{
	struct graph *graph = graph_get(handle, false);
	struct node *node = graph ? find_node(graph, dptr) : NULL;

	if (!out || !node || node->freed)
		return CUDA_ERROR_INVALID_VALUE;
	node->freed = true;
	*out = (CUgraphNode)node;
	return CUDA_SUCCESS;
}

CUresult cuGraphAddMemFreeNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t count,
		CUdeviceptr dptr)
{
	(void)deps, (void)count;
	API(free_node(node, graph, dptr));
}

/* The child's nodes become the parent's, and its handle is the parent's, too. */
static CUresult move_child(CUgraphNode *out, CUgraph parent_handle, const CUDA_CHILD_GRAPH_NODE_PARAMS *params)
{
	struct graph *parent = graph_get(parent_handle, false), *child = graph_get(params->graph, false);
	struct node **end;

	if (!out || !parent || !child || parent == child)
		return CUDA_ERROR_INVALID_VALUE;
	if (params->ownership != CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE)
		return child->nodes ? CUDA_ERROR_NOT_SUPPORTED : CUDA_SUCCESS;
	for (end = &parent->nodes; *end; end = &(*end)->next)
		;
	*end = child->nodes;
	object_delete(child);
	*out = (CUgraphNode)object_new(OBJECT_NODE);
	return CUDA_SUCCESS;
}

static CUresult add_node(CUgraphNode *node, CUgraph graph, CUgraphNodeParams *params)
{
	if (!params)
		return CUDA_ERROR_INVALID_VALUE;
	if (params->type == CU_GRAPH_NODE_TYPE_GRAPH)
		return move_child(node, graph, &params->graph);
	if (params->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC)
		return alloc_node(node, graph, &params->alloc);
	if (params->type == CU_GRAPH_NODE_TYPE_MEM_FREE)
		return free_node(node, graph, params->free.dptr);
	return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuGraphAddNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t count,
		CUgraphNodeParams *params)
{
	(void)deps, (void)count;
	API(add_node(node, graph, params));
}

#ifndef STANDIN_OLD_EXPORTS
CUresult cuGraphAddNode_v2(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps,
			   const CUgraphEdgeData *edges, size_t count, CUgraphNodeParams *params)
{
	(void)deps, (void)edges, (void)count;
	API(add_node(node, graph, params));
}
#endif

/* ---- executable graphs ---- */
static CUresult instantiate(CUgraphExec *out, CUgraph handle)
{
	CUresult why = CUDA_SUCCESS;
	struct graph *graph = graph_get(handle, false), *exec;
	struct ctx *ctx = ctx_current(&why);

	if (!ctx)
		return why;
	if (!out || !graph)
		return CUDA_ERROR_INVALID_VALUE;
	exec = object_new(OBJECT_EXEC);
	exec->ctx = ctx;
	for (struct node *node = graph->nodes; node; node = node->next) {
		struct node *copy = object_new(OBJECT_NODE);

		*copy = *node;
		copy->next = exec->nodes;
		exec->nodes = copy;
	}
	*out = (CUgraphExec)exec;
	return CUDA_SUCCESS;
}

CUresult cuGraphInstantiate_v2(CUgraphExec *exec, CUgraph graph, CUgraphNode *error, char *log, size_t size)
{
	(void)error, (void)log, (void)size;
	API(instantiate(exec, graph));
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph, unsigned long long flags)
{
	(void)flags;
	API(instantiate(exec, graph));
}

CUresult cuGraphInstantiateWithParams(CUgraphExec *exec, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS *params)
{
	if (!params)
		return CUDA_ERROR_INVALID_VALUE;
	API(instantiate(exec, graph));
}

CUresult cuGraphInstantiateWithParams_ptsz(CUgraphExec *exec, CUgraph graph,
					   CUDA_GRAPH_INSTANTIATE_PARAMS *params)
{
	if (!params)
		return CUDA_ERROR_INVALID_VALUE;
	API(instantiate(exec, graph));
}

static void account(struct device *device, int64_t used, int64_t reserved)
{
	device->graph_used += (uint64_t)used;
	device->graph_reserved += (uint64_t)reserved;
	if (device->graph_used > device->graph_used_high)
		device->graph_used_high = device->graph_used;
	if (device->graph_reserved > device->graph_reserved_high)
		device->graph_reserved_high = device->graph_reserved;
}

static CUresult bring_memory(struct node *node)
{
	struct device *device = node->device;
	struct chunk *chunk = va_chunk(node->address);

	if (!chunk) {
		chunk = chunk_new(device, CHUNK_GRAPH, node->size);
		if (!chunk)
			return CUDA_ERROR_OUT_OF_MEMORY;
		chunk->base = node->address;
		va_set(chunk->base, chunk->size, chunk);
		uvm_create_range(chunk->base, chunk->size);
		uvm_map(device, chunk->base, chunk->size, chunk->rm);
		chunk->mapped = true;
		chunk->next = device->graph_memory;
		device->graph_memory = chunk;
		account(device, 0, (int64_t)chunk->size);
	}
	if (!chunk->request) {
		account(device, (int64_t)chunk->size, 0);
		if (node->freed)
			account(device, -(int64_t)chunk->size, 0);
		else
			chunk->request = node->request;
	}
	return CUDA_SUCCESS;
}

static CUresult launch(CUgraphExec handle)
{
	struct graph *exec = graph_get(handle, true);
	CUresult rc = exec ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;

	for (struct node *node = exec ? exec->nodes : NULL; node && !rc; node = node->next)
		rc = bring_memory(node);
	return rc;
}

CUresult cuGraphUpload(CUgraphExec exec, CUstream stream)
{
	(void)stream;
	API(launch(exec));
}

CUresult cuGraphUpload_ptsz(CUgraphExec exec, CUstream stream)
{
	(void)stream;
	API(launch(exec));
}

CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream)
{
	(void)stream;
	API(launch(exec));
}

CUresult cuGraphLaunch_ptsz(CUgraphExec exec, CUstream stream)
{
	(void)stream;
	API(launch(exec));
}

CUresult graph_free(struct chunk *chunk)
{
	if (!chunk->request)
		return CUDA_ERROR_INVALID_VALUE;
	chunk->request = 0;
	account(chunk->device, -(int64_t)chunk->size, 0);
	return CUDA_SUCCESS;
}

static CUresult trim(CUdevice dev)
{
	struct device *device = device_of(dev);
	struct chunk **link = device ? &device->graph_memory : NULL, *chunk;

	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	while (*link) {
		chunk = *link;
		if (chunk->request) {
			link = &chunk->next;
			continue;
		}
		*link = chunk->next;
		account(device, 0, -(int64_t)chunk->size);
		chunk_free(chunk);
	}
	return CUDA_SUCCESS;
}

CUresult cuDeviceGraphMemTrim(CUdevice dev)
{
	API(trim(dev));
}

static CUresult attribute(CUdevice dev, int attr, void *value)
{
	struct device *device = device_of(dev);

	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	if (!value || attr < 0 || attr > 3)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(value,
	       (const uint64_t *[]){&device->graph_used, &device->graph_used_high, &device->graph_reserved,
				    &device->graph_reserved_high}[attr],
	       sizeof(uint64_t));
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetGraphMemAttribute(CUdevice dev, int attr, void *value)
{
	API(attribute(dev, attr, value));
}

/* ---- stream capture ---- */

/* A recapture must make the nodes that the graph has, in the order in which they were made. */
static CUresult recapture(struct stream *stream, CUdeviceptr *dptr, uint64_t size)
{
	unsigned int count = 0, from_newest;
	struct node *node;

	for (node = stream->capture->nodes; node; node = node->next)
		count++;
	if (stream->recaptured >= count)
		return CUDA_ERROR_INVALID_VALUE;
	from_newest = count - ++stream->recaptured;
	for (node = stream->capture->nodes; from_newest; from_newest--)
		node = node->next;
	if (node->request != size)
		return CUDA_ERROR_INVALID_VALUE;
	*dptr = node->address;
	return CUDA_SUCCESS;
}

CUresult graph_capture_alloc(struct stream *stream, CUdeviceptr *dptr, uint64_t size)
{
	struct node *node;

	if (stream->recaptures)
		return recapture(stream, dptr, size);
	node = add_alloc(stream->capture, stream->ctx->device, size);
	if (!node)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*dptr = node->address;
	return CUDA_SUCCESS;
}

bool graph_capture_free(struct stream *stream, CUdeviceptr dptr)
{
	struct node *node = find_node(stream->capture, dptr);

	if (!node || node->freed)
		return false;
	node->freed = true;
	return true;
}
