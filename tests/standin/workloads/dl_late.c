/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dl_late LIBCUDA: a program without a link to libcuda, which opens libcuda while running (WL_HOLD is not known here:
 * the program first waits for a line on stdin), uses libcuda, and closes nothing.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../cuda_min.h"

#define LOAD(name) __typeof__(name) *name##_ = (__typeof__(name) *)dlsym(library, #name)

int main(int argc, char **argv)
{
	void *library;
	CUdeviceptr p;
	CUcontext ctx;

	fprintf(stderr, "pid=%d\nphase=start\n", (int)getpid());
	while (getchar() != '\n')
		;
	library = dlopen(argc > 1 ? argv[1] : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	LOAD(cuInit);
	LOAD(cuDevicePrimaryCtxRetain);
	LOAD(cuCtxSetCurrent);
	LOAD(cuMemAlloc_v2);
	LOAD(cuMemFree_v2);
	if (cuInit_(0) || cuDevicePrimaryCtxRetain_(&ctx, 0) || cuCtxSetCurrent_(ctx))
		return 2;
	if (cuMemAlloc_v2_(&p, 21 << 20) || cuMemAlloc_v2_(&p, 22 << 20) || cuMemFree_v2_(p))
		return 3;
	fprintf(stderr, "phase=allocated\n");
	while (getchar() != '\n')
		;
	printf("gpu.GPU-2c90f68e-11d4-4e77-8b42-c35d069fe822.device.live=%d\n", 21 << 20);
	printf("gpu.GPU-2c90f68e-11d4-4e77-8b42-c35d069fe822.device.allocs=2\n");
	return 0;
}
