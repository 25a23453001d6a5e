/* SPDX-License-Identifier: BSD-2-Clause */
/* Allocates host memory: pinned, registered and managed. None of the memory is a GPU's. */
#include <stdlib.h>
#include <string.h>

#include "wl_common.h"

static void *pinned(uint64_t bytes)
{
	void *p;

	CU(cuMemHostAlloc(&p, bytes, 1));
	wl_alloc(0, WL_PINNED, bytes);
	memset(p, 1, bytes);
	return p;
}

static CUdeviceptr managed(uint64_t bytes)
{
	CUdeviceptr p;

	CU(cuMemAllocManaged(&p, bytes, 1));
	wl_alloc(0, WL_MANAGED, bytes);
	memset((void *)p, 2, bytes);
	return p;
}

static void register_one(void *p, uint64_t bytes)
{
	CU(cuMemHostRegister_v2(p, bytes, 0));
	wl_alloc(0, WL_REGISTERED, bytes);
	CU_FAILS(cuMemHostRegister_v2(p, bytes, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
	wl_failed(0, WL_REGISTERED);
}

int main(void)
{
	char *own = aligned_alloc(4096, 6 * MIB);
	CUdeviceptr m;
	CUcontext ctx;
	void *p;

	wl_start();
	CU(cuCtxCreate_v2(&ctx, 0, 1));
	p = pinned(5 * MIB);
	pinned(100 * KIB);
	wl_free(0, WL_PINNED, 5 * MIB);
	CU(cuMemFreeHost(p));
	CU(cuMemAllocHost_v2(&p, 3 * MIB));
	wl_alloc(0, WL_PINNED, 3 * MIB);
	CU(cuMemAllocHost(&p, 65536));
	wl_alloc(0, WL_PINNED, 65536);
	m = managed(10 * MIB);
	managed(20 * MIB);
	wl_free(0, WL_MANAGED, 10 * MIB);
	CU(cuMemFree_v2(m));
	register_one(own, 2 * MIB);
	register_one(own + 2 * MIB, 4 * MIB);
	wl_free(0, WL_REGISTERED, 2 * MIB);
	CU(cuMemHostUnregister(own));
	CU_FAILS(cuMemHostUnregister(own), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
	CU_FAILS(cuMemFreeHost(own), CUDA_ERROR_INVALID_VALUE);
	for (size_t i = 0; i < 6 * MIB; i += 4096)
		own[i] = (char)i;
	wl_mix((uint64_t)own[8192]);
	wl_phase("end");
	wl_report();
	return 0;
}
