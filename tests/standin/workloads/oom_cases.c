/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * oom_cases CASE [LIBC10]: device 0 is filled up, with pinned memory beside it; then what programs do:
 *
 *   caught    they get the error, and go on with something smaller
 *   retry     they free something, and ask again with success
 *   killed    they are killed; exit: they end with 1
 *   torch     PyTorch: a try, the cache is emptied, another try, cuMemGetInfo, its report to LIBC10, caught
 *   burst     cuDNN's search for a plan in PyTorch: 40 requests and reports in a moment; it ends with 1 after the last
 *   limit     PyTorch's own limit: the report alone
 *   context   a child, for whose context nothing is left, ends with 1
 *   module    no call for memory fails, but that of a module's, and it ends with 1
 *   stream    likewise one more stream, and it goes on
 *   launch    likewise a launch, which takes memory for its kernel; survived: the program frees, and it succeeds
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "wl_common.h"

#define STEP (256 * MIB)
#define MAX 64
#define CUDA 1

typedef void report_fn(int64_t size, size_t allocated, size_t reserved, uint64_t device);

static CUdeviceptr held[MAX];
static unsigned int count;

static void fill(void)
{
	CUresult rc;

	for (; count < MAX; count++) {
		rc = cuMemAlloc_v2(&held[count], STEP);
		if (rc)
			break;
		wl_alloc(0, WL_DEVICE, STEP);
	}
	wl_check(rc, CUDA_ERROR_OUT_OF_MEMORY, "cuMemAlloc_v2", __FILE__, __LINE__);
	wl_failed(0, WL_DEVICE);
}

static report_fn *report_of(const char *path)
{
	static const char *const names[] = {
		"_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE",
		"_ZN3c1027reportOutOfMemoryToProfilerElllNS_6DeviceE",
	};
	void *library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL, *found = NULL;

	for (int i = 0; i < 2 && library && !found; i++)
		found = dlsym(library, names[i]);
	return (report_fn *)found;
}

static void torch(report_fn *report)
{
	size_t free_bytes, total;

	fill();
	wl_mem_free(0, held[--count], STEP);
	CU_FAILS(cuMemAlloc_v2(&held[count], 2 * STEP), CUDA_ERROR_OUT_OF_MEMORY);
	wl_failed(0, WL_DEVICE);
	CU(cuMemGetInfo_v2(&free_bytes, &total));
	report(2 * STEP - 512, count * STEP, count * STEP, 0xdead0000 | CUDA);
	wl_phase("caught");
	held[count++] = wl_mem(0, MIB);
}

static void burst(report_fn *report)
{
	fill();
	for (unsigned int i = 0; i < 40; i++) {
		uint64_t size = (2 + i % 3) * STEP;

		CU_FAILS(cuMemAlloc_v2(&held[count], size), CUDA_ERROR_OUT_OF_MEMORY);
		report((int64_t)size, count * STEP, count * STEP, CUDA);
	}
	_exit(1);
}

/* In a process of its own, which has not used CUDA. */
static void context(pid_t child, const int *go)
{
	char byte = 0;
	int status;

	fill();
	if (write(go[1], &byte, 1) != 1 || waitpid(child, &status, 0) != child || status != 256)
		exit(2);
}

static pid_t fork_child(const int *go)
{
	pid_t child = fork();
	CUcontext ctx;
	char byte;

	if (child)
		return child;
	if (read(go[0], &byte, 1) != 1)
		_exit(3);
	wl_start();
	_exit(cuDevicePrimaryCtxRetain(&ctx, 0) == CUDA_ERROR_OUT_OF_MEMORY ? 1 : 0);
}

/* To the last piece, and nothing fails. The bytes of the last. */
static uint64_t fill_quietly(void)
{
	size_t free_bytes, total;
	uint64_t last = 0;

	for (; count < MAX; count++) {
		uint64_t bytes;

		CU(cuMemGetInfo_v2(&free_bytes, &total));
		bytes = free_bytes < STEP ? free_bytes / (2 * MIB) * (2 * MIB) : STEP;
		if (!bytes)
			break;
		held[count] = wl_mem(0, bytes);
		last = bytes;
	}
	return last;
}

static void module(void)
{
	CUmodule module;

	fill_quietly();
	CU_FAILS(cuModuleLoadData(&module, "image"), CUDA_ERROR_OUT_OF_MEMORY);
	_exit(1);
}

static void stream(void)
{
	CUstream stream;
	CUresult rc = CUDA_SUCCESS;

	fill_quietly();
	for (int i = 0; i < MAX && !rc; i++)
		rc = cuStreamCreate(&stream, 1);
	wl_check(rc, CUDA_ERROR_OUT_OF_MEMORY, "cuStreamCreate", __FILE__, __LINE__);
	_exit(0);
}

#define LAUNCH(function) cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL)

static void launch(bool is_survived)
{
	CUfunction function;
	CUmodule module;
	uint64_t last;

	CU(cuModuleLoadData(&module, "image"));
	CU(cuModuleGetFunction(&function, module, "kernel"));
	last = fill_quietly();
	CU_FAILS(LAUNCH(function), CUDA_ERROR_OUT_OF_MEMORY);
	if (!is_survived)
		_exit(1);
	wl_mem_free(0, held[--count], last);
	CU(LAUNCH(function));
	_exit(0);
}

static void run(const char *name, report_fn *report)
{
	if (!strcmp(name, "module"))
		module();
	if (!strcmp(name, "stream"))
		stream();
	if (!strcmp(name, "launch") || !strcmp(name, "survived"))
		launch(!strcmp(name, "survived"));
	if (!strcmp(name, "burst"))
		burst(report);
	if (!strcmp(name, "torch")) {
		torch(report);
		return;
	}
	if (!strcmp(name, "limit")) {
		report(STEP, STEP, STEP, CUDA);
		return;
	}
	fill();
	if (!strcmp(name, "killed"))
		kill(getpid(), SIGKILL);
	if (!strcmp(name, "exit"))
		_exit(1);
	if (!strcmp(name, "retry")) {
		wl_mem_free(0, held[--count], STEP);
		held[count++] = wl_mem(0, STEP);
	}
	if (!strcmp(name, "caught"))
		held[count++] = wl_mem(0, MIB);
	wl_phase("on");
}

int main(int argc, char **argv)
{
	report_fn *report = report_of(argc > 2 ? argv[2] : NULL);
	CUcontext ctx;
	void *pinned;
	pid_t child = 0;
	int go[2];

	if (argc > 1 && !strcmp(argv[1], "context")) {
		if (pipe(go))
			return 4;
		child = fork_child(go);
	}
	wl_start();
	CU(cuDevicePrimaryCtxRetain(&ctx, 0));
	CU(cuCtxSetCurrent(ctx));
	CU(cuMemHostAlloc(&pinned, 64 * MIB, 0));
	wl_alloc(0, WL_PINNED, 64 * MIB);
	wl_phase("loaded");
	if (child)
		context(child, go);
	else
		run(argc > 1 ? argv[1] : "caught", report);
	wl_phase("end");
	wl_report();
	return 0;
}
