/* SPDX-License-Identifier: BSD-2-Clause */
/* Allocates arrays: gpumemtrace's estimates (elements) are less than what the arrays take. */
#include "wl_common.h"

int main(void)
{
	CUDA_ARRAY_DESCRIPTOR two = { 1000, 500, CU_AD_FORMAT_FLOAT, 4 };
	CUDA_ARRAY_DESCRIPTOR_v1 old = { 64, 0, CU_AD_FORMAT_UNSIGNED_INT8, 1 };
	CUDA_ARRAY3D_DESCRIPTOR three = { 100, 100, 100, CU_AD_FORMAT_UNSIGNED_INT8, 2, 0 };
	CUDA_ARRAY3D_DESCRIPTOR sparse = { 4096, 4096, 0, CU_AD_FORMAT_FLOAT, 4, CUDA_ARRAY3D_SPARSE };
	CUDA_ARRAY3D_DESCRIPTOR mip = { 1024, 1024, 0, CU_AD_FORMAT_FLOAT, 1, 0 };
	CUDA_ARRAY3D_DESCRIPTOR_v1 old3 = { 32, 32, 32, CU_AD_FORMAT_FLOAT, 1, 0 };
	CUDA_ARRAY_MEMORY_REQUIREMENTS req;
	CUmipmappedArray levels;
	CUarray a, b, c;
	CUcontext ctx;

	wl_start();
	CU(cuCtxCreate_v2(&ctx, 0, 0));
	CU(cuArrayCreate_v2(&a, &two));
	wl_alloc(0, WL_ARRAY, 1000 * 500 * 16);
	CU(cuArrayCreate(&b, &old));
	wl_alloc(0, WL_ARRAY, 64);
	CU(cuArray3DCreate_v2(&c, &three));
	wl_alloc(0, WL_ARRAY, 100 * 100 * 100 * 2);
	wl_free(0, WL_ARRAY, 100 * 100 * 100 * 2);
	CU(cuArrayDestroy(c));
	CU(cuArray3DCreate_v2(&c, &sparse));
	wl_alloc(0, WL_ARRAY, 0);
	CU(cuArray3DCreate(&c, &old3));
	wl_alloc(0, WL_ARRAY, 32 * 32 * 32 * 4);
	CU(cuMipmappedArrayCreate(&levels, &mip, 3));
	wl_alloc(0, WL_ARRAY, 4 * (1024 * 1024 + 512 * 512 + 256 * 256));
	wl_free(0, WL_ARRAY, 4 * (1024 * 1024 + 512 * 512 + 256 * 256));
	CU(cuMipmappedArrayDestroy(levels));
	wl_phase("end");
	wl_report();
	wl_phase("reported");
	CU(cuArrayGetMemoryRequirements(&req, a, 0)); /* from here on the true size is known */
	return req.size == 8 * MIB ? 0 : 1;
}
