/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Handles buffers as NCCL does: creates them, maps them for both GPUs, finds them again by address with a retain,
 * exports them; frees them by retain, release, release, unmap in an order that only counting gets right. One buffer
 * leaks by a retain without its release.
 */
#include <unistd.h>

#include "wl_common.h"

#define BYTES (32 * MIB)

static CUdeviceptr buffer(int dev, CUmemGenericAllocationHandle *handle)
{
	CUmemAccessDesc access[2] = { { { 1, 0 }, 3 }, { { 1, 1 }, 3 } };
	CUmemAllocationProp prop = wl_prop(dev);
	CUdeviceptr base;

	CU(cuMemCreate(handle, BYTES, &prop, 0));
	wl_alloc(dev, WL_VMM, BYTES);
	CU(cuMemAddressReserve(&base, BYTES, 0, 0, 0));
	CU(cuMemMap(base, BYTES, 0, *handle, 0));
	CU(cuMemSetAccess(base, BYTES, access, 2));
	return base;
}

int main(void)
{
	CUmemGenericAllocationHandle handle, again;
	CUdeviceptr base, leaked;
	CUcontext ctx[2];
	int fd;

	wl_start();
	for (int dev = 0; dev < 2; dev++)
		CU(cuDevicePrimaryCtxRetain(&ctx[dev], dev));
	CU(cuCtxSetCurrent(ctx[0]));

	base = buffer(1, &handle);
	CU(cuMemExportToShareableHandle(&fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
	close(fd);
	CU(cuMemRetainAllocationHandle(&again, (void *)base));
	wl_mix(again == handle);
	CU(cuMemRelease(handle));
	CU(cuMemRelease(again));
	wl_phase("mapped");
	wl_free(1, WL_VMM, BYTES);
	CU(cuMemUnmap(base, BYTES));
	CU(cuMemAddressFree(base, BYTES));

	leaked = buffer(0, &handle);
	CU(cuMemRetainAllocationHandle(&again, (void *)leaked));
	CU(cuMemUnmap(leaked, BYTES));
	CU(cuMemRelease(handle)); /* one handle left: the memory stays */
	wl_phase("end");
	wl_report();
	return 0;
}
