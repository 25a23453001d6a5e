/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * torch_backends LIBC10 LIBC10_CUDA BACKEND: a program with PyTorch whose memory comes from the backend:
 *   native    a segment of the driver's, and a block that is reported
 *   uncached  cuMemAlloc for each tensor, nothing is reported
 *   async     cuMemAllocAsync for each tensor, nothing is reported
 *   idle      PyTorch is loaded, and somebody else allocates
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wl_common.h"

#define TENSORS 5

typedef void report_fn(uint64_t ptr, int64_t size, uint64_t allocated, uint64_t reserved, uint64_t device);
typedef uint64_t get_fn(uint64_t size, int is_async);

static void *find(const char *path, const char *name)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL), *found = library && name ? dlsym(library, name) : library;

	if (!found) {
		fprintf(stderr, "%s: %s\n", path, dlerror());
		exit(1);
	}
	return found;
}

int main(int argc, char **argv)
{
	const char *backend = argc > 3 ? argv[3] : "native";
	report_fn *report = NULL;
	uint64_t allocated = 0;
	CUcontext ctx;
	get_fn *get;

	if (argc < 3)
		return 2;
	wl_start();
	if (!strcmp(backend, "native"))
		report = (report_fn *)find(argv[1], "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE");
	else
		find(argv[1], NULL);
	get = (get_fn *)find(argv[2], "c10_cuda_get");
	wl_phase("loaded");
	CU(cuDevicePrimaryCtxRetain(&ctx, 0));
	CU(cuCtxSetCurrent(ctx));
	for (int i = 0; i < TENSORS; i++) {
		bool is_async = !strcmp(backend, "async");
		uint64_t at;

		if (!strcmp(backend, "idle")) {
			wl_mem(0, 2 * MIB);
			continue;
		}
		at = get(2 * MIB, is_async);
		wl_alloc(0, is_async ? WL_POOL : WL_DEVICE, 2 * MIB);
		allocated += MIB;
		if (report)
			report(at, MIB, allocated, 2 * allocated, 1);
	}
	wl_phase("end");
	wl_report();
	return 0;
}
