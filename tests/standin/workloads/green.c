/* SPDX-License-Identifier: BSD-2-Clause */
/* Uses green contexts, host and managed pools, and the entry points that only drivers from 570 on have. */
#include "wl_common.h"

static void pools_by_location(void)
{
	CUmemLocation second = { CU_MEM_LOCATION_TYPE_DEVICE, 1 };
	CUmemPoolProps props = { .allocType = 1, .location = { CU_MEM_LOCATION_TYPE_DEVICE, 1 } };
	CUmemPoolProps host = { .allocType = 1, .location = { CU_MEM_LOCATION_TYPE_HOST, 0 } };
	CUmemoryPool pool, current;
	CUdeviceptr p;

	CU(cuMemPoolCreate(&pool, &props));
	CU(cuMemSetMemPool(&second, 1, pool));
	CU(cuMemGetMemPool(&current, &second, 1));
	wl_mix(pool == current);
	CU(cuMemAllocFromPoolAsync(&p, 6 * MIB, current, NULL));
	wl_alloc(1, WL_POOL, 6 * MIB);
	CU(cuMemPoolCreate(&pool, &host));
	CU(cuMemAllocFromPoolAsync(&p, 7 * MIB, pool, NULL)); /* memory of the host: none of a GPU's */
	CU(cuMemFreeAsync(p, NULL));
}

int main(void)
{
	CUgreenCtx green;
	CUstream stream;
	CUcontext ctx, four;
	CUdeviceptr p;

	wl_start();
	CU(cuGreenCtxCreate(&green, NULL, 1, 1));
	CU(cuCtxFromGreenCtx(&ctx, green));
	CU(cuCtxSetCurrent(ctx));
	wl_mem(1, 9 * MIB);
	CU(cuGreenCtxStreamCreate(&stream, green, 1, 0));
	CU(cuCtxCreate_v4(&four, NULL, 0, 0));
	CU(cuMemAllocAsync(&p, 5 * MIB, stream)); /* of the green context's GPU */
	wl_alloc(1, WL_POOL, 5 * MIB);
	wl_mem(0, 4 * MIB);
	pools_by_location();
	CU(cuGreenCtxDestroy(green));
	wl_free(1, WL_DEVICE, 9 * MIB);
	wl_free(1, WL_POOL, 5 * MIB); /* the pools go with the GPU's last context */
	wl_free(1, WL_POOL, 6 * MIB);
	wl_phase("end");
	wl_report();
	return 0;
}
