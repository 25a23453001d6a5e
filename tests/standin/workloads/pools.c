/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Uses stream-ordered memory on both GPUs: default pools, own pools, a pool of another GPU than the stream's, both
 * flavours of each call, memory that stays reserved after a free, trims and thresholds.
 */
#include "wl_common.h"

static CUcontext ctx[2];

static void set_current(int dev)
{
	CU(cuCtxSetCurrent(ctx[dev]));
}

static CUdeviceptr async(int dev, uint64_t bytes, CUstream stream)
{
	CUdeviceptr address;

	CU(cuMemAllocAsync(&address, bytes, stream));
	wl_alloc(dev, WL_POOL, bytes);
	return address;
}

static void async_free(int dev, CUdeviceptr address, uint64_t bytes, CUstream stream)
{
	wl_free(dev, WL_POOL, bytes);
	CU(cuMemFreeAsync(address, stream));
}

static uint64_t pool_value(CUmemoryPool pool, int attr)
{
	uint64_t value = 0;

	CU(cuMemPoolGetAttribute(pool, attr, &value));
	return value;
}

static void default_pools(void)
{
	CUdeviceptr a, b, c;
	CUstream stream;

	set_current(1);
	CU(cuStreamCreate(&stream, 1));
	set_current(0);
	a = async(0, 5 * MIB, NULL);
	b = async(1, 7 * MIB, stream); /* of the stream's GPU, not of the current context's */
	CU(cuMemAllocAsync_ptsz(&c, 3000, (CUstream)CU_STREAM_PER_THREAD));
	wl_alloc(0, WL_POOL, 3000);
	async_free(1, b, 7 * MIB, NULL); /* still the second GPU's memory */
	wl_free(0, WL_POOL, 5 * MIB);
	CU(cuMemFree_v2(a)); /* the synchronous free works on it too */
	wl_free(0, WL_POOL, 3000);
	CU(cuMemFreeAsync_ptsz(c, NULL));
	CU(cuStreamSynchronize(NULL)); /* threshold 0: the pool gives back what it does not need */
	CU(cuStreamDestroy_v2(stream));
}

static void own_pool(void)
{
	CUmemPoolProps props = { .allocType = 1, .location = { CU_MEM_LOCATION_TYPE_DEVICE, 1 } };
	uint64_t forever = UINT64_MAX;
	CUmemoryPool pool, of_device;
	CUdeviceptr kept, freed, last;

	set_current(0);
	CU(cuMemPoolCreate(&pool, &props));
	CU(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &forever));
	CU(cuMemAllocFromPoolAsync(&kept, 40 * MIB, pool, NULL));
	wl_alloc(1, WL_POOL, 40 * MIB);
	CU(cuMemAllocFromPoolAsync_ptsz(&freed, 100 * MIB, pool, NULL));
	wl_alloc(1, WL_POOL, 100 * MIB);
	async_free(1, freed, 100 * MIB, NULL);
	CU(cuCtxSynchronize());
	wl_mix(pool_value(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT));
	wl_mix(pool_value(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT));
	wl_phase("reserved");
	CU(cuMemPoolTrimTo(pool, 0));
	wl_mix(pool_value(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT));
	CU(cuDeviceSetMemPool(1, pool));
	set_current(1);
	last = async(1, 2 * MIB, NULL);
	CU(cuDeviceGetDefaultMemPool(&of_device, 1));
	wl_mix(of_device != pool);
	CU(cuMemPoolDestroy(pool)); /* goes when its last allocation is freed */
	async_free(1, last, 2 * MIB, NULL);
	async_free(1, kept, 40 * MIB, NULL);
}

static void failures(void)
{
	CUdeviceptr address;

	CU_FAILS(cuMemAllocAsync(&address, 1ULL << 40, NULL), CUDA_ERROR_OUT_OF_MEMORY);
	wl_failed(1, WL_POOL);
	CU_FAILS(cuMemFreeAsync(0x1234000, NULL), CUDA_ERROR_INVALID_VALUE);
	CU_FAILS(cuMemPoolDestroy(NULL), CUDA_ERROR_INVALID_VALUE);
}

int main(void)
{
	wl_start();
	for (int dev = 0; dev < 2; dev++)
		CU(cuDevicePrimaryCtxRetain(&ctx[dev], dev));
	default_pools();
	own_pool();
	failures();
	set_current(0);
	async(0, 64 * MIB, NULL);
	async(0, 1000, NULL);
	wl_phase("end");
	wl_report();
	return 0;
}
