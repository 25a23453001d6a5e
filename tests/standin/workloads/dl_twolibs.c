/* SPDX-License-Identifier: BSD-2-Clause */
/* dl_twolibs A B: one process with two different libcudas (a container's and its host's), both used. */
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

#include "wl_common.h"

#define LOAD(name) __typeof__(name) *name##_ = (__typeof__(name) *)dlsym(library, #name)

static int use(const char *path, size_t bytes)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	CUdeviceptr p;
	CUcontext ctx;

	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	LOAD(cuInit);
	LOAD(cuDevicePrimaryCtxRetain);
	LOAD(cuCtxSetCurrent);
	LOAD(cuMemAlloc_v2);
	return cuInit_(0) || cuDevicePrimaryCtxRetain_(&ctx, 0) || cuCtxSetCurrent_(ctx) ||
	       cuMemAlloc_v2_(&p, bytes);
}

int main(int argc, char **argv)
{
	fprintf(stderr, "pid=%d\n", (int)getpid());
	if (argc < 3 || use(argv[1], 31 << 20) || use(argv[2], 32 << 20))
		return 1;
	wl_phase("end");
	printf("gpu.GPU-2c90f68e-11d4-4e77-8b42-c35d069fe822.device.live=%d\n", 63 << 20);
	printf("gpu.GPU-2c90f68e-11d4-4e77-8b42-c35d069fe822.device.allocs=2\n");
	return 0;
}
