/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes calls that fail, and that must change nothing: bad arguments, double frees, foreign pointers, no context. */
#include "wl_common.h"

int main(void)
{
	CUmemAllocationProp prop = wl_prop(7);
	CUmemGenericAllocationHandle handle;
	CUdeviceptr p, q;
	CUcontext ctx;
	size_t pitch;

	CU_FAILS(cuMemAlloc_v2(&p, 100), CUDA_ERROR_NOT_INITIALIZED);
	wl_start();
	CU_FAILS(cuMemAlloc_v2(&p, 100), CUDA_ERROR_INVALID_CONTEXT);
	CU_FAILS(cuCtxCreate_v2(&ctx, 0, 5), CUDA_ERROR_INVALID_DEVICE);
	CU(cuCtxCreate_v2(&ctx, 0, 0));
	p = wl_mem(0, 1000);
	q = wl_mem(0, 5 * MIB);
	CU_FAILS(cuMemFree_v2(p + 8), CUDA_ERROR_INVALID_VALUE); /* the UNDO of a free */
	CU_FAILS(cuMemFree_v2(q + 4096), CUDA_ERROR_INVALID_VALUE);
	CU_FAILS(cuMemAlloc_v2(&p, 0), CUDA_ERROR_INVALID_VALUE);
	wl_failed(0, WL_DEVICE);
	CU_FAILS(cuMemAllocPitch_v2(&p, &pitch, 0, 10, 4), CUDA_ERROR_INVALID_VALUE);
	wl_failed(0, WL_DEVICE);
	CU_FAILS(cuMemCreate(&handle, 2 * MIB, &prop, 0), CUDA_ERROR_INVALID_DEVICE);
	CU_FAILS(cuMemUnmap(q, 2 * MIB), CUDA_ERROR_INVALID_VALUE);
	CU_FAILS(cuMemRelease(0x1234), CUDA_ERROR_INVALID_VALUE);
	CU_FAILS(cuIpcCloseMemHandle(q), CUDA_ERROR_INVALID_VALUE);
	wl_mem_free(0, q, 5 * MIB);
	CU_FAILS(cuMemFree_v2(q), CUDA_ERROR_INVALID_VALUE);
	wl_phase("end");
	wl_report();
	return 0;
}
