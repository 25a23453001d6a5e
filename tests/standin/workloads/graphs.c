/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Uses graph memory: nodes only plan; the memory comes with the first launch and stays with the GPU until the GPU is
 * trimmed. Allocations of a stream in capture are nodes, too. Nothing here is a device allocation.
 */
#include "wl_common.h"

static CUdeviceptr plan(CUgraph graph, uint64_t bytes)
{
	CUDA_MEM_ALLOC_NODE_PARAMS params = {
		.poolProps = {.allocType = 1, .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}},
		.bytesize = bytes,
	};
	CUgraphNode node;

	CU(cuGraphAddMemAllocNode(&node, graph, NULL, 0, &params));
	wl_alloc(0, WL_GRAPH, bytes);
	return params.dptr;
}

static CUdeviceptr plan_generic(CUgraph graph, uint64_t bytes)
{
	CUgraphNodeParams params = { .type = CU_GRAPH_NODE_TYPE_MEM_ALLOC };
	CUgraphNode node;

	params.alloc.poolProps.location = (CUmemLocation){ CU_MEM_LOCATION_TYPE_DEVICE, 0 };
	params.alloc.bytesize = bytes;
	CU(cuGraphAddNode_v3(&node, graph, NULL, NULL, 0, &params));
	wl_alloc(0, WL_GRAPH, bytes);
	return params.alloc.dptr;
}

static CUgraph captured(void)
{
	CUdeviceptr a, b;
	CUstream stream;
	CUgraph graph;

	CU(cuStreamCreate(&stream, 1));
	CU(cuStreamBeginCapture_v2(stream, 0));
	CU(cuMemAllocAsync(&a, 50 * MIB, stream));
	CU(cuMemAllocAsync_ptsz(&b, 6 * MIB, stream));
	CU(cuMemFreeAsync(a, stream));
	CU(cuMemFreeAsync(b, stream));
	wl_alloc(0, WL_GRAPH, 50 * MIB);
	wl_alloc(0, WL_GRAPH, 6 * MIB);
	wl_free(0, WL_GRAPH, 50 * MIB);
	wl_free(0, WL_GRAPH, 6 * MIB);
	CU(cuStreamEndCapture(stream, &graph));
	return graph;
}

/* What is never launched goes with the graph, or with what was made of it. */
static void never_launched(void)
{
	CUgraphExec exec;
	CUgraph graph;

	for (int i = 0; i < 10; i++) {
		CU(cuGraphCreate(&graph, 0));
		plan(graph, 64 * MIB);
		if (i % 2)
			CU(cuGraphInstantiate(&exec, graph, NULL, NULL, 0));
		CU(cuGraphDestroy(graph));
		if (i % 2)
			CU(cuGraphExecDestroy(exec));
		wl_free(0, WL_GRAPH, 64 * MIB);
	}
}

/* Memory that a launch left outlives its graph. */
static void launched_and_destroyed(void)
{
	CUdeviceptr kept, freed;
	CUgraphExec exec;
	CUgraph graph;

	CU(cuGraphCreate(&graph, 0));
	kept = plan(graph, 12 * MIB);
	freed = plan(graph, 14 * MIB);
	CU(cuGraphInstantiateWithFlags(&exec, graph, 0));
	CU(cuGraphDestroy(graph));
	CU(cuGraphLaunch(exec, NULL));
	CU(cuMemFreeAsync(freed, NULL));
	wl_free(0, WL_GRAPH, 14 * MIB);
	CU(cuGraphExecDestroy(exec));
	wl_phase("left");
	CU(cuMemFree_v2(kept));
	wl_free(0, WL_GRAPH, 12 * MIB);
}

static void captured_again(void)
{
	CUdeviceptr first, again;
	CUstream stream;
	CUgraph graph;

	CU(cuStreamCreate(&stream, 1));
	CU(cuStreamBeginCapture_v2(stream, 0));
	CU(cuMemAllocAsync(&first, 8 * MIB, stream));
	wl_alloc(0, WL_GRAPH, 8 * MIB);
	CU(cuStreamEndCapture(stream, &graph));
	for (int i = 0; i < 3; i++) {
		CU(cuStreamBeginRecaptureToGraph(stream, 0, graph, NULL, NULL));
		CU(cuMemAllocAsync(&again, 8 * MIB, stream));
		wl_mix(first == again);
		wl_free(0, WL_GRAPH, 8 * MIB);
		wl_alloc(0, WL_GRAPH, 8 * MIB);
		CU(cuStreamEndCapture(stream, &graph));
	}
	CU(cuGraphDestroy(graph));
	wl_free(0, WL_GRAPH, 8 * MIB);
}

static void child_moves(void)
{
	CUgraphNodeParams params = { .type = CU_GRAPH_NODE_TYPE_GRAPH };
	CUgraph parent, child;
	CUgraphNode node;

	CU(cuGraphCreate(&parent, 0));
	CU(cuGraphCreate(&child, 0));
	plan(child, 5 * MIB);
	params.graph.graph = child;
	params.graph.ownership = CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE;
	CU(cuGraphAddNode_v2(&node, parent, NULL, NULL, 0, &params));
	plan_generic(parent, 4 * MIB);
	CU(cuGraphDestroy(parent));
	wl_free(0, WL_GRAPH, 5 * MIB);
	wl_free(0, WL_GRAPH, 4 * MIB);
}

int main(void)
{
	CUgraphExec exec, exec2;
	CUdeviceptr kept;
	CUgraphNode node;
	CUcontext ctx;
	CUgraph graph, capture;
	uint64_t value;

	wl_start();
	CU(cuDevicePrimaryCtxRetain(&ctx, 0));
	CU(cuCtxSetCurrent(ctx));
	CU(cuGraphCreate(&graph, 0));
	kept = plan(graph, 10 * MIB);
	CU(cuGraphAddMemFreeNode(&node, graph, NULL, 0, plan_generic(graph, 20 * MIB)));
	wl_free(0, WL_GRAPH, 20 * MIB);
	capture = captured();
	wl_phase("planned");
	CU(cuGraphInstantiateWithFlags(&exec, graph, 0));
	CU(cuGraphInstantiateWithFlags(&exec2, capture, 0));
	CU(cuGraphUpload(exec, NULL));
	CU(cuGraphLaunch(exec, NULL));
	CU(cuGraphLaunch(exec2, NULL));
	wl_phase("launched");
	CU(cuDeviceGetGraphMemAttribute(0, 2, &value));
	wl_mix(value);
	CU(cuGraphExecDestroy(exec2));
	CU(cuMemFreeAsync(kept, NULL));
	wl_free(0, WL_GRAPH, 10 * MIB);
	never_launched();
	launched_and_destroyed();
	captured_again();
	child_moves();
	CU(cuDeviceGraphMemTrim(0));
	wl_mem(0, 3 * MIB);
	wl_phase("end");
	wl_report();
	return 0;
}
