/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * torch_backends LIBC10 LIBC10_CUDA BACKEND: a program with PyTorch whose memory comes from the backend:
 *   native    segments of the driver's, and blocks that are reported
 *   uncached  cuMemAlloc for each tensor, nothing is reported
 *   async     cuMemAllocAsync for each tensor, nothing is reported
 *   idle      PyTorch is loaded, and somebody else allocates
 * Says what tensors that live asked for, and at the end how many want to be told that.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wl_common.h"

#define TENSORS 5
#define STREAM 0x30

typedef void report_fn(uint64_t ptr, int64_t size, uint64_t allocated, uint64_t reserved, uint64_t device);
typedef void told_fn(uint64_t ptr, int8_t device, uint64_t size, uint64_t stream);
typedef uint64_t get_fn(uint64_t size, int is_async);
typedef uint16_t wanted_fn(void);

static struct {
	report_fn *report;       /* NULL: nothing is reported */
	told_fn *told;           /* NULL: this backend does not tell; or it is another machine's library */
	wanted_fn *wanted;
	get_fn *get;
} torch;

static void *open_library(const char *path)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	if (!library) {
		fprintf(stderr, "%s: %s\n", path, dlerror());
		exit(1);
	}
	return library;
}

static void load(char **argv, const char *backend)
{
	void *c10 = open_library(argv[1]), *cuda = open_library(argv[2]);

	torch.get = (get_fn *)dlsym(cuda, "c10_cuda_get");
	torch.wanted = (wanted_fn *)dlsym(cuda, "c10_cuda_wanted");
	if (strcmp(backend, "async"))
		torch.told = (told_fn *)dlsym(cuda, "c10_cuda_told");
	if (!strcmp(backend, "native"))
		torch.report = (report_fn *)dlsym(c10, "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE");
}

static void allocate(bool is_async)
{
	uint64_t at[TENSORS], size = MIB - 300, asked = 0;

	for (unsigned int i = 0; i < TENSORS; i++, size -= 1000, asked += size + 1000) {
		at[i] = torch.get(2 * MIB, is_async);
		wl_alloc(0, is_async ? WL_POOL : WL_DEVICE, 2 * MIB);
		if (torch.report)
			torch.report(at[i], MIB, (i + 1) * MIB, 2 * (i + 1) * MIB, 1);
		if (torch.told)
			torch.told(at[i], 0, size, STREAM + i);
	}
	if (torch.report) {
		torch.report(at[0], -(int64_t)MIB, (TENSORS - 1) * MIB, 2 * TENSORS * MIB, 1);
		asked -= MIB - 300;
	}
	printf("asked=%llu\n", (unsigned long long)asked);
}

int main(int argc, char **argv)
{
	const char *backend = argc > 3 ? argv[3] : "native";
	CUcontext ctx;

	if (argc < 3)
		return 2;
	wl_start();
	load(argv, backend);
	wl_phase("loaded");
	CU(cuDevicePrimaryCtxRetain(&ctx, 0));
	CU(cuCtxSetCurrent(ctx));
	if (strcmp(backend, "idle"))
		allocate(!strcmp(backend, "async"));
	for (int i = 0; i < TENSORS && !strcmp(backend, "idle"); i++)
		wl_mem(0, 2 * MIB);
	wl_phase("end");
	if (torch.wanted)
		printf("wanted=%u\n", torch.wanted());
	wl_report();
	return 0;
}
