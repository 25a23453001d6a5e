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
	return params.dptr;
}

static CUdeviceptr plan_generic(CUgraph graph, uint64_t bytes)
{
	CUgraphNodeParams params = { .type = CU_GRAPH_NODE_TYPE_MEM_ALLOC };
	CUgraphNode node;

	params.alloc.poolProps.location = (CUmemLocation){ CU_MEM_LOCATION_TYPE_DEVICE, 0 };
	params.alloc.bytesize = bytes;
	CU(cuGraphAddNode(&node, graph, NULL, 0, &params));
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
	CU(cuStreamEndCapture(stream, &graph));
	return graph;
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
	CU(cuDeviceGraphMemTrim(0));
	wl_mem(0, 3 * MIB);
	wl_phase("end");
	wl_report();
	return 0;
}
