/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shares memory between two processes: an exporter starts an importer (itself, with another argument) that opens its
 * IPC handles, imports a VMM allocation, a pool's pointer and external memory. The exporter has the bytes; the importer
 * has none, only imported allocations.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "wl_common.h"

#define FROM 60 /* the importer reads here */

struct parcel {
	CUipcMemHandle large, small;
	CUmemPoolPtrExportData pointer;
	int vmm_fd, pool_fd;
};

static int keep_open(int fd, int as)
{
	if (dup2(fd, as) != as)
		exit(71);
	return as;
}

static void run_importer(const char *self, const struct parcel *parcel)
{
	int status, ends[2];
	pid_t child;

	if (pipe(ends))
		exit(71);
	fflush(NULL);
	child = fork();
	if (!child) {
		dup2(ends[0], FROM);
		close(ends[1]);
		execl(self, "ipc", "import", (char *)NULL);
		_exit(72);
	}
	if (write(ends[1], parcel, sizeof(*parcel)) != sizeof(*parcel))
		exit(73);
	close(ends[1]);
	waitpid(child, &status, 0);
	printf("importer_status=%d\n", status);
}

static void exporter(const char *self)
{
	CUmemPoolProps props = { .allocType = 1, .handleTypes = 1, .location = { 1, 0 } };
	CUmemAllocationProp prop = wl_prop(0);
	CUmemGenericAllocationHandle handle;
	struct parcel parcel;
	CUdeviceptr in_pool;
	CUmemoryPool pool;
	CUcontext ctx;
	int fd;

	CU(cuDevicePrimaryCtxRetain(&ctx, 0));
	CU(cuCtxSetCurrent(ctx));
	CU(cuIpcGetMemHandle(&parcel.large, wl_mem(0, 50 * MIB)));
	CU(cuIpcGetMemHandle(&parcel.small, wl_mem(0, 5000)));
	CU(cuMemCreate(&handle, 20 * MIB, &prop, 0));
	wl_alloc(0, WL_VMM, 20 * MIB);
	CU(cuMemExportToShareableHandle(&fd, handle, 1, 0));
	parcel.vmm_fd = keep_open(fd, 61);
	CU(cuMemPoolCreate(&pool, &props));
	CU(cuMemAllocFromPoolAsync(&in_pool, 3 * MIB, pool, NULL));
	wl_alloc(0, WL_POOL, 3 * MIB);
	CU(cuMemPoolExportToShareableHandle(&fd, pool, 1, 0));
	parcel.pool_fd = keep_open(fd, 62);
	CU(cuMemPoolExportPointer(&parcel.pointer, in_pool));
	wl_phase("exported");
	run_importer(self, &parcel);
	wl_phase("end");
	wl_report();
}

static void import_ipc(const struct parcel *parcel)
{
	CUdeviceptr large, again, small;

	CU(cuIpcOpenMemHandle_v2(&large, parcel->large, 1));
	CU(cuIpcOpenMemHandle_v2(&again, parcel->large, 1));
	wl_mix(large == again);
	CU(cuIpcOpenMemHandle(&small, parcel->small, 1));
	CU(cuIpcCloseMemHandle(again)); /* opened twice: still open */
	CU(cuIpcCloseMemHandle(small));
}

static void import_vmm(const struct parcel *parcel)
{
	CUmemGenericAllocationHandle handle;
	CUmemAllocationProp prop;
	CUdeviceptr base;

	CU(cuMemImportFromShareableHandle(&handle, (void *)(intptr_t)parcel->vmm_fd, 1));
	CU(cuMemGetAllocationPropertiesFromHandle(&prop, handle));
	wl_mix((uint64_t)prop.location.id);
	CU(cuMemAddressReserve(&base, 20 * MIB, 0, 0, 0));
	wl_map(base, 20 * MIB, handle, 0);
	CU(cuMemRelease(handle));
	wl_phase("mapped");
	CU(cuMemUnmap(base, 20 * MIB));
}

static void import_others(const struct parcel *parcel)
{
	CUmemPoolPtrExportData pointer = parcel->pointer;
	CUDA_EXTERNAL_MEMORY_HANDLE_DESC desc = { .type = 1, .size = 8 * MIB };
	CUDA_EXTERNAL_MEMORY_BUFFER_DESC buffer = { .offset = 0, .size = 4 * MIB };
	CUmipmappedArray array;
	CUexternalMemory ext;
	CUmemoryPool pool;
	CUdeviceptr p;

	CU(cuMemPoolImportFromShareableHandle(&pool, (void *)(intptr_t)parcel->pool_fd, 1, 0));
	CU(cuMemPoolImportPointer(&p, pool, &pointer));
	CU(cuMemFreeAsync(p, NULL));
	desc.handle.fd = -1;
	CU(cuImportExternalMemory(&ext, &desc));
	CU(cuExternalMemoryGetMappedBuffer(&p, ext, &buffer));
	CU(cuMemFree_v2(p));
	CU(cuExternalMemoryGetMappedMipmappedArray(&array, ext, &buffer));
	CU(cuMipmappedArrayDestroy(array));
	CU(cuDestroyExternalMemory(ext));
}

static void importer(void)
{
	struct parcel parcel;
	CUcontext ctx;

	if (read(FROM, &parcel, sizeof(parcel)) != sizeof(parcel))
		exit(74);
	CU(cuCtxCreate_v2(&ctx, 0, 0));
	import_ipc(&parcel);
	import_vmm(&parcel);
	import_others(&parcel);
	wl_phase("imported");
}

int main(int argc, char **argv)
{
	wl_start();
	if (argc > 1 && !strcmp(argv[1], "import"))
		importer();
	else
		exporter("/proc/self/exe");
	return 0;
}
