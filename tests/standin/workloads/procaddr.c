/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls as libcudart does: each function through a pointer of cuGetProcAddress, for the legacy and the per-thread
 * default stream, and through dlsym.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "wl_common.h"

static void *get(const char *name, int version, unsigned long long flags)
{
	void *pfn = NULL;
	int status;

	CU(cuGetProcAddress_v2(name, &pfn, version, flags, &status));
	if (!pfn) {
		fprintf(stderr, "no %s\n", name);
		exit(75);
	}
	return pfn;
}

static void round_of(unsigned long long flags)
{
	CUresult (*alloc)(CUdeviceptr *, size_t) = get("cuMemAlloc", 3020, flags);
	CUresult (*alloc_async)(CUdeviceptr *, size_t, CUstream) = get("cuMemAllocAsync", 11020, flags);
	CUresult (*release)(CUdeviceptr) = get("cuMemFree", 3020, flags);
	CUresult (*release_async)(CUdeviceptr, CUstream) = get("cuMemFreeAsync", 11020, flags);
	CUresult (*host)(void **, size_t, unsigned int) = get("cuMemHostAlloc", 2020, flags);
	CUdeviceptr p;
	void *h;

	CU(alloc(&p, 10000));
	wl_alloc(0, WL_DEVICE, 10000);
	CU(alloc(&p, 20000));
	wl_alloc(0, WL_DEVICE, 20000);
	wl_free(0, WL_DEVICE, 20000);
	CU(release(p));
	CU(alloc_async(&p, 30000, NULL));
	wl_alloc(0, WL_POOL, 30000);
	CU(alloc_async(&p, 40000, NULL));
	wl_alloc(0, WL_POOL, 40000);
	wl_free(0, WL_POOL, 40000);
	CU(release_async(p, NULL));
	CU(host(&h, 50000, 0));
	wl_alloc(0, WL_PINNED, 50000);
}

int main(void)
{
	CUresult (*by_name)(CUdeviceptr *, size_t) = dlsym(RTLD_DEFAULT, "cuMemAlloc_v2");
	CUresult (*retain)(CUcontext *, CUdevice);
	CUdeviceptr p;
	CUcontext ctx;

	wl_start();
	retain = get("cuDevicePrimaryCtxRetain", 7000, 0);
	CU(retain(&ctx, 0));
	CU(cuCtxSetCurrent(ctx));
	round_of(0);
	round_of(2);
	CU(by_name(&p, 60000));
	wl_alloc(0, WL_DEVICE, 60000);
	wl_phase("end");
	wl_report();
	return 0;
}
