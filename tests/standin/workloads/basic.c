/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls cuMemAlloc and its relatives on both GPUs: small, large and pitched memory, the 32-bit first versions, and
 * memory that is still held at the end.
 */
#include "wl_common.h"

static void pitched(int dev)
{
	CUdeviceptr address;
	size_t pitch;

	CU(cuMemAllocPitch_v2(&address, &pitch, 1000, 300, 4));
	wl_alloc(dev, WL_DEVICE, pitch * 300);
	wl_mix(pitch);
	CU(cuMemAllocPitch_v2(&address, &pitch, 5000, 1000, 16));
	wl_alloc(dev, WL_DEVICE, pitch * 1000);
	wl_mem_free(dev, address, pitch * 1000);
}

static void first_versions(int dev)
{
	CUdeviceptr_v1 address;
	unsigned int pitch;

	CU(cuMemAlloc(&address, 70000));
	wl_alloc(dev, WL_DEVICE, 70000);
	wl_free(dev, WL_DEVICE, 70000);
	CU(cuMemFree(address));
	CU(cuMemAllocPitch(&address, &pitch, 100, 100, 4));
	wl_alloc(dev, WL_DEVICE, pitch * 100);
}

static void one_gpu(int dev)
{
	CUcontext ctx;
	CUdeviceptr small[100], large;
	CUdeviceptr base;
	size_t size;

	CU(cuDevicePrimaryCtxRetain(&ctx, dev));
	CU(cuCtxSetCurrent(ctx));
	wl_phase("context");
	for (unsigned int i = 0; i < 100; i++)
		small[i] = wl_mem(dev, 1000 + 8 * i);
	for (unsigned int i = 0; i < 100; i += 2)
		wl_mem_free(dev, small[i], 1000 + 8 * i);
	large = wl_mem(dev, 300 * MIB + 12345);
	wl_mem(dev, (dev + 1) * 100 * MIB);
	CU(cuMemGetAddressRange_v2(&base, &size, large + 4096));
	wl_mix(base == large);
	wl_mix(size);
	wl_mem_free(dev, large, 300 * MIB + 12345);
	CU(cuMemFree_v2(0));
	pitched(dev);
	first_versions(dev);
}

int main(int argc, char **argv)
{
	unsigned int gpus = (unsigned int)wl_arg(argc, argv, 1, 2);

	wl_start();
	for (unsigned int dev = 0; dev < gpus; dev++)
		one_gpu((int)dev);
	wl_phase("end");
	wl_report();
	return 0;
}
