/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * train STEPS: looks like a training job from outside. Has weights and optimizer state on both GPUs, communication
 * buffers that both share, a caching allocator that grows in segments, a pool for temporaries, pinned batches, and a
 * checkpoint that does not fit and is caught. A step takes 0.1 s.
 */
#include <stdio.h>
#include <unistd.h>

#include "wl_common.h"

#define GPUS 2
#define LAYERS 12
#define LAYER_BYTES (48 * MIB)          /* weights: 576 MiB a GPU */
#define ACTIVATION_BYTES (20 * MIB)
#define BUCKET_BYTES (64 * MIB)
#define STEP_US 100000

static CUcontext ctx[GPUS];
static CUstream stream[GPUS];

static void on(int dev)
{
	CU(cuCtxSetCurrent(ctx[dev]));
}

static void load_model(int dev)
{
	static const char image[] = "kernels";
	CUmodule module;
	CUfunction f;

	CU(cuModuleLoadData(&module, image));
	CU(cuModuleGetFunction(&f, module, "gemm"));
	CU(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	for (unsigned int layer = 0; layer < LAYERS; layer++) {
		wl_mem(dev, LAYER_BYTES);          /* weights */
		usleep(STEP_US / 4);
	}
	for (unsigned int moment = 0; moment < 2; moment++)
		wl_mem(dev, LAYERS * LAYER_BYTES); /* Adam */
}

/* Memory of one GPU that both can reach. */
static void communication_buffer(int dev)
{
	CUmemAccessDesc access[GPUS] = { { { 1, 0 }, 3 }, { { 1, 1 }, 3 } };
	CUmemAllocationProp prop = wl_prop(dev);
	CUmemGenericAllocationHandle handle;
	CUdeviceptr base;

	CU(cuMemCreate(&handle, BUCKET_BYTES, &prop, 0));
	wl_alloc(dev, WL_VMM, BUCKET_BYTES);
	CU(cuMemAddressReserve(&base, BUCKET_BYTES, 0, 0, 0));
	CU(cuMemMap(base, BUCKET_BYTES, 0, handle, 0));
	CU(cuMemSetAccess(base, BUCKET_BYTES, access, GPUS));
}

static void step(int dev, unsigned int number)
{
	CUdeviceptr activation[LAYERS], temporary;
	unsigned int layers = LAYERS - number % 3; /* sequence lengths differ */

	on(dev);
	for (unsigned int i = 0; i < layers; i++) {
		activation[i] = wl_mem(dev, ACTIVATION_BYTES);
		CU(cuMemAllocAsync(&temporary, 5 * MIB, stream[dev]));
		wl_alloc(dev, WL_POOL, 5 * MIB);
		usleep(STEP_US / LAYERS / 4);
		wl_free(dev, WL_POOL, 5 * MIB);
		CU(cuMemFreeAsync(temporary, stream[dev]));
	}
	while (layers--) {
		wl_mem_free(dev, activation[layers], ACTIVATION_BYTES);
		usleep(STEP_US / LAYERS / 4);
	}
}

static void checkpoint(int dev)
{
	CUdeviceptr p;

	on(dev);
	CU_FAILS(cuMemAlloc_v2(&p, 16ULL << 30), CUDA_ERROR_OUT_OF_MEMORY);
	wl_failed(dev, WL_DEVICE);
}

int main(int argc, char **argv)
{
	unsigned int steps = (unsigned int)wl_arg(argc, argv, 1, 80);
	uint64_t forever = UINT64_MAX;
	CUmemoryPool pool;
	void *batch;

	wl_start();
	for (int dev = 0; dev < GPUS; dev++) {
		CU(cuDevicePrimaryCtxRetain(&ctx[dev], dev));
		on(dev);
		CU(cuStreamCreate(&stream[dev], 1));
		CU(cuDeviceGetDefaultMemPool(&pool, dev));
		CU(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &forever));
		load_model(dev);
		communication_buffer(dev);
	}
	CU(cuMemHostAlloc(&batch, 128 * MIB, 1));
	wl_alloc(0, WL_PINNED, 128 * MIB);
	wl_phase("training");
	for (unsigned int i = 0; i < steps; i++) {
		step((int)(i % GPUS), i);
		if (i == steps / 2)
			checkpoint(0);
	}
	wl_phase("end");
	wl_report();
	return 0;
}
