/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Binds memory of cuMemCreate to multicast objects, logical endpoints and sparse arrays. The handle is released before
 * the memory is unbound, so that only the binding keeps the memory.
 */
#include "wl_common.h"

#define ENDPOINT 7

static CUmemGenericAllocationHandle create(int dev, uint64_t bytes)
{
	CUmemAllocationProp prop = wl_prop(dev);
	CUmemGenericAllocationHandle handle;

	CU(cuMemCreate(&handle, bytes, &prop, 0));
	wl_alloc(dev, WL_VMM, bytes);
	return handle;
}

static CUmemGenericAllocationHandle multicast(void)
{
	CUmulticastObjectProp prop = { .numDevices = 2, .size = 64 * MIB };
	CUmemGenericAllocationHandle handle;

	CU(cuMulticastCreate(&handle, &prop));
	return handle;
}

static void to_multicast(void)
{
	CUmemGenericAllocationHandle group = multicast(), memory[3] = { create(0, 4 * MIB), create(1, 6 * MIB),
									create(1, 8 * MIB) };

	CU(cuMulticastBindMem(group, 0, memory[0], 0, 4 * MIB, 0));
	CU(cuMulticastBindMem_v2(group, 1, 0, memory[1], 0, 6 * MIB, 0));
	CU(cuMulticastBindMem(group, 16 * MIB, memory[2], 0, 8 * MIB, 0));
	for (int i = 0; i < 3; i++)
		CU(cuMemRelease(memory[i]));
	wl_phase("bound");
	CU(cuMulticastUnbind(group, 1, 0, 6 * MIB));
	wl_free(1, WL_VMM, 6 * MIB);
	CU(cuMulticastUnbind(group, 0, 0, 4 * MIB));
	wl_free(0, WL_VMM, 4 * MIB);
	CU(cuMemRelease(group)); /* with what is bound to it */
	wl_free(1, WL_VMM, 8 * MIB);
}

static void by_address(void)
{
	CUmemGenericAllocationHandle group = multicast(), memory = create(0, 10 * MIB);
	CUdeviceptr at;

	CU(cuMemAddressReserve(&at, 10 * MIB, 0, 0, 0));
	wl_map(at, 10 * MIB, memory, 0);
	CU(cuMulticastBindAddr(group, 0, at, 2 * MIB, 0));
	CU(cuMulticastBindAddr_v2(group, 0, 2 * MIB, at + 2 * MIB, 2 * MIB, 0));
	CU(cuLogicalEndpointBindAddr(ENDPOINT, 0, 0, (void *)at, 2 * MIB, 0));
	CU(cuMemRelease(memory));
	CU(cuMemUnmap(at, 10 * MIB));
	CU(cuMulticastUnbind(group, 0, 0, 4 * MIB));
	CU(cuLogicalEndpointDestroy(ENDPOINT));
	wl_free(0, WL_VMM, 10 * MIB);
}

static void to_endpoint(void)
{
	CUmemGenericAllocationHandle memory = create(1, 12 * MIB);

	CU(cuLogicalEndpointBindMem(ENDPOINT, 1, 0, memory, 0, 6 * MIB, 0));
	CU(cuLogicalEndpointBindMem(ENDPOINT, 1, 6 * MIB, memory, 0, 6 * MIB, 0));
	CU(cuMemRelease(memory));
	CU(cuLogicalEndpointUnbind(ENDPOINT, 1, 0, 6 * MIB));
	CU(cuLogicalEndpointUnbind(ENDPOINT, 1, 6 * MIB, 6 * MIB));
	wl_free(1, WL_VMM, 12 * MIB);
}

static CUarray sparse(void)
{
	CUDA_ARRAY3D_DESCRIPTOR desc = {
		.Width = 1024, .Height = 1024, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 4, .Flags = CUDA_ARRAY3D_SPARSE,
	};
	CUarray array;

	CU(cuArray3DCreate_v2(&array, &desc));
	wl_alloc(0, WL_ARRAY, 0);
	return array;
}

static void change_tiles(CUarray array, CUmemGenericAllocationHandle memory, unsigned int count)
{
	CUarrayMapInfo list[2] = { { 0 } };

	for (unsigned int i = 0; i < count; i++) {
		list[i].resource.array = array;
		list[i].subresource[0] = i;
		list[i].memOperationType = memory ? CU_MEM_OPERATION_TYPE_MAP : CU_MEM_OPERATION_TYPE_UNMAP;
		list[i].memHandle = memory;
	}
	CU(cuMemMapArrayAsync(list, count, NULL));
}

static void to_array(void)
{
	CUmemGenericAllocationHandle first = create(0, 14 * MIB), second = create(0, 16 * MIB);
	CUarray array = sparse(), other = sparse();

	change_tiles(array, first, 2);
	change_tiles(other, second, 1);
	CU(cuMemRelease(first));
	CU(cuMemRelease(second));
	change_tiles(array, 0, 2);
	wl_free(0, WL_VMM, 14 * MIB);
	CU(cuArrayDestroy(array));
	wl_free(0, WL_ARRAY, 0);
	CU(cuArrayDestroy(other)); /* with its tile */
	wl_free(0, WL_ARRAY, 0);
	wl_free(0, WL_VMM, 16 * MIB);
}

int main(void)
{
	CUcontext ctx;

	wl_start();
	CU(cuDevicePrimaryCtxRetain(&ctx, 1));
	CU(cuDevicePrimaryCtxRetain(&ctx, 0));
	CU(cuCtxSetCurrent(ctx));
	to_multicast();
	by_address();
	to_endpoint();
	to_array();
	create(1, 2 * MIB);
	wl_phase("end");
	wl_report();
	return 0;
}
