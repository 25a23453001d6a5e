/* SPDX-License-Identifier: BSD-2-Clause */
/* Fills a GPU, catches the failure, frees something and goes on, as PyTorch does. */
#include "wl_common.h"

#define STEP (256 * MIB)
#define MAX 64

int main(void)
{
	CUdeviceptr held[MAX];
	unsigned int count = 0;
	size_t free, total;
	CUcontext ctx;
	CUresult rc;

	wl_start();
	CU(cuDevicePrimaryCtxRetain(&ctx, 0));
	CU(cuCtxSetCurrent(ctx));
	for (;; count++) {
		rc = cuMemAlloc_v2(&held[count], STEP);
		if (rc || count == MAX - 1)
			break;
		wl_alloc(0, WL_DEVICE, STEP);
	}
	wl_check(rc, CUDA_ERROR_OUT_OF_MEMORY, "cuMemAlloc_v2", __FILE__, __LINE__);
	wl_failed(0, WL_DEVICE);
	wl_mix(count);
	wl_phase("full");
	wl_mem_free(0, held[--count], STEP);
	CU_FAILS(cuMemAlloc_v2(&held[count], 2 * STEP), CUDA_ERROR_OUT_OF_MEMORY);
	wl_failed(0, WL_DEVICE);
	CU(cuMemGetInfo_v2(&free, &total));
	wl_mix(total);
	held[count++] = wl_mem(0, STEP);
	CU_FAILS(cuMemAlloc_v2(&held[count], 500ULL << 30), CUDA_ERROR_OUT_OF_MEMORY);
	wl_failed(0, WL_DEVICE);
	while (count > 3)
		wl_mem_free(0, held[--count], STEP);
	wl_phase("end");
	wl_report();
	return 0;
}
