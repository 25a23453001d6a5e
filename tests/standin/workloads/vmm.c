/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * vmm [oom]: makes expandable segments as PyTorch does: reserves a large range, creates and maps handles of 20 MiB one
 * after the other, unmaps and then releases some, releases others while mapped. With "oom" also does what PyTorch does
 * when a request cannot be met: hundreds of creates, then as many releases.
 */
#include <string.h>

#include "wl_common.h"

#define SEGMENT (20 * MIB)
#define SEGMENTS 12
#define MAX_HANDLES 1000

static CUmemGenericAllocationHandle handles[MAX_HANDLES];

static void expandable(int dev)
{
	CUmemAllocationProp prop = wl_prop(dev);
	CUdeviceptr base;

	CU(cuMemAddressReserve(&base, 9 * 1024 * MIB, 0, 0, 0));
	for (unsigned int i = 0; i < SEGMENTS; i++) {
		CU(cuMemCreate(&handles[i], SEGMENT, &prop, 0));
		wl_alloc(dev, WL_VMM, SEGMENT);
		wl_map(base + i * SEGMENT, SEGMENT, handles[i], dev);
	}
	wl_phase("mapped");
	for (unsigned int i = 0; i < 4; i++) { /* unmap, then release: PyTorch */
		CU(cuMemUnmap(base + i * SEGMENT, SEGMENT));
		wl_free(dev, WL_VMM, SEGMENT);
		CU(cuMemRelease(handles[i]));
	}
	for (unsigned int i = 4; i < SEGMENTS; i++) /* released while mapped: still there */
		CU(cuMemRelease(handles[i]));
	wl_phase("released");
	for (unsigned int i = 4; i < 8; i++)
		wl_free(dev, WL_VMM, SEGMENT);
	CU(cuMemUnmap(base + 4 * SEGMENT, 4 * SEGMENT)); /* four mappings in one call */
	CU_FAILS(cuMemUnmap(base, SEGMENT), CUDA_ERROR_INVALID_VALUE);
	CU_FAILS(cuMemUnmap(base + 8 * SEGMENT, MIB), CUDA_ERROR_INVALID_VALUE);
	CU_FAILS(cuMemRelease(handles[8]), CUDA_ERROR_INVALID_VALUE);
}

static void out_of_memory(int dev)
{
	CUmemAllocationProp prop = wl_prop(dev);
	unsigned int count = 0;
	CUresult rc;

	for (unsigned int round = 0; round < 3; round++) {
		for (count = 0; count < MAX_HANDLES; count++) {
			rc = cuMemCreate(&handles[count], SEGMENT, &prop, 0);
			if (rc)
				break;
			wl_alloc(dev, WL_VMM, SEGMENT);
		}
		wl_check(rc, CUDA_ERROR_OUT_OF_MEMORY, "cuMemCreate", __FILE__, __LINE__);
		wl_failed(dev, WL_VMM);
		wl_mix(count);
		wl_phase("full");
		while (count--) {
			wl_free(dev, WL_VMM, SEGMENT);
			CU(cuMemRelease(handles[count]));
		}
	}
}

int main(int argc, char **argv)
{
	CUcontext ctx;

	wl_start();
	CU(cuDevicePrimaryCtxRetain(&ctx, 0));
	CU(cuCtxSetCurrent(ctx));
	expandable(0);
	expandable(1); /* the other GPU, without a context on it */
	if (argc > 1 && !strcmp(argv[1], "oom"))
		out_of_memory(1);
	wl_phase("end");
	wl_report();
	return 0;
}
