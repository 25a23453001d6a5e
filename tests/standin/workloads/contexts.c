/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Uses contexts on two GPUs: nested contexts, memory that goes with its context and memory that does not, frees while
 * another context is current, primary contexts retained, released and reset.
 */
#include "wl_common.h"

static CUdeviceptr from_other_gpu;

static void nested(void)
{
	CUcontext first, second, popped;

	CU(cuCtxCreate_v2(&first, 0, 0));
	wl_mem(0, 10 * MIB);
	CU(cuCtxCreate_v3(&second, NULL, 0, 0, 1));
	wl_phase("nested");
	from_other_gpu = wl_mem(1, 20 * MIB);
	CU(cuCtxPopCurrent_v2(&popped));
	wl_mix(popped == second);
	wl_mem(0, 30 * MIB);
	wl_mem_free(1, from_other_gpu, 20 * MIB); /* with the first GPU's context current */
	CU(cuCtxPushCurrent_v2(second));
	wl_mem(1, 40 * MIB);
	CU(cuCtxDestroy_v2(second));
	wl_free(1, WL_DEVICE, 40 * MIB);
	wl_mem(0, 5 * MIB); /* the first one is current again */
	CU(cuCtxDestroy_v2(first));
	wl_free(0, WL_DEVICE, 10 * MIB);
	wl_free(0, WL_DEVICE, 30 * MIB);
	wl_free(0, WL_DEVICE, 5 * MIB);
	CU_FAILS(cuCtxDestroy_v2(first), CUDA_ERROR_INVALID_CONTEXT);
	CU_FAILS(cuMemAlloc_v2(&from_other_gpu, 1), CUDA_ERROR_INVALID_CONTEXT);
}

/* A context that is used twice ends with the second detach. */
static void attached(void)
{
	CUcontext ctx, same;

	CU(cuGLCtxCreate_v2(&ctx, 0, 1));
	wl_mem(1, 12 * MIB);
	CU(cuCtxAttach(&same, 0));
	wl_mix(ctx == same);
	CU(cuCtxDetach(same));
	wl_mem(1, 13 * MIB);
	CU(cuCtxDetach(ctx));
	wl_free(1, WL_DEVICE, 12 * MIB);
	wl_free(1, WL_DEVICE, 13 * MIB);
	CU_FAILS(cuCtxDetach(ctx), CUDA_ERROR_INVALID_CONTEXT);
}

/* Not of the context: made in it, alive after it. */
static void outlives(void)
{
	CUmemAllocationProp prop = wl_prop(1); /* the GPU is named, whatever is current */
	CUmemGenericAllocationHandle handle;
	CUcontext ctx;
	CUdeviceptr address;

	CU(cuCtxCreate_v2(&ctx, 0, 0));
	CU(cuMemCreate(&handle, 6 * MIB, &prop, 0));
	wl_alloc(1, WL_VMM, 6 * MIB);
	CU(cuMemAllocAsync(&address, 3 * MIB, NULL));
	wl_alloc(0, WL_POOL, 3 * MIB);
	CU(cuCtxDestroy_v2(ctx));
}

static void primary(void)
{
	static char registered[2 * MIB] __attribute__((aligned(4096)));
	CUcontext ctx, again;
	CUdeviceptr pooled;

	CU(cuDevicePrimaryCtxRetain(&ctx, 1));
	CU(cuDevicePrimaryCtxRetain(&again, 1));
	wl_mix(ctx == again);
	CU(cuCtxSetCurrent(ctx));
	wl_mem(1, 7 * MIB);
	CU(cuDevicePrimaryCtxRelease_v2(1)); /* one holder left: nothing happens */
	wl_mem(1, 8 * MIB);
	CU(cuMemAllocAsync(&pooled, 64 * MIB, NULL));
	wl_alloc(1, WL_POOL, 64 * MIB);
	CU(cuMemHostRegister_v2(registered, sizeof(registered), 0));
	wl_alloc(1, WL_REGISTERED, sizeof(registered));
	wl_phase("primary");
	CU(cuDevicePrimaryCtxReset_v2(1));
	wl_free(1, WL_DEVICE, 7 * MIB);
	wl_free(1, WL_DEVICE, 8 * MIB);
	wl_free(1, WL_POOL, 64 * MIB);
	wl_free(1, WL_REGISTERED, sizeof(registered));
	CU(cuDevicePrimaryCtxRelease_v2(1));
	CU(cuCtxSetCurrent(NULL));
	CU(cuDevicePrimaryCtxRetain(&ctx, 0));
	CU(cuCtxPushCurrent_v2(ctx));
	wl_mem(0, 9 * MIB);
	CU(cuDevicePrimaryCtxRelease_v2(0)); /* the last one */
	wl_free(0, WL_DEVICE, 9 * MIB);
	wl_free(0, WL_POOL, 3 * MIB); /* of outlives(): no context of the pool's device is left */
	CU_FAILS(cuMemAlloc_v2(&from_other_gpu, 1), CUDA_ERROR_CONTEXT_IS_DESTROYED);
	wl_failed(0, WL_DEVICE); /* of its context's GPU all the same */
	CU(cuCtxPopCurrent_v2(NULL));
}

int main(void)
{
	CUcontext ctx;

	wl_start();
	nested();
	attached();
	outlives();
	primary();
	CU(cuDevicePrimaryCtxRetain(&ctx, 1));
	CU(cuCtxSetCurrent(ctx));
	wl_mem(1, 11 * MIB);
	wl_phase("end");
	wl_report();
	return 0;
}
