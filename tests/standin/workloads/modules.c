/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Takes video memory without an allocation call: modules, lazily loaded libraries, first launches, larger stacks.
 * Nothing is attributed; everything is in the physical bytes.
 */
#include "wl_common.h"

int main(void)
{
	static const char image[] = "not a cubin";
	CUmodule module, lazy;
	CUlibrary library;
	CUfunction f;
	CUcontext ctx;

	wl_start();
	CU(cuDevicePrimaryCtxRetain(&ctx, 0));
	CU(cuCtxSetCurrent(ctx));
	CU(cuModuleLoadData(&module, image));
	CU(cuModuleGetFunction(&f, module, "kernel"));
	CU(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	CU(cuLibraryLoadData(&library, image, NULL, NULL, 0, NULL, NULL, 0));
	CU(cuLibraryGetModule(&lazy, library));
	CU(cuModuleLoadDataEx(&module, image, 0, NULL, NULL));
	CU(cuModuleUnload(module));
	CU(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 2048));
	wl_mem(0, 4 * MIB);
	wl_phase("end");
	wl_report();
	return 0;
}
