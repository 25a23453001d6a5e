// SPDX-License-Identifier: BSD-2-Clause
/* PyTorch: its libraries, what is probed in them, and its allocator's settings. */
#include "live/framework/library_kinds.h"

#include "base/count.h"

#define C10_CUDA 1 /* c10::DeviceType::CUDA, c10/core/DeviceType.h; c10::Device: type and ordinal, a byte each */

/* In PyTorch 1.10 to 2.x the caching allocator reports each block, with or without a profiler. The letters of
 * integers in the names differ between releases, the registers do not. PyTorch 1.9 and older pass no totals. */
static const struct library_hook c10_hooks[] = {
	/* (void *ptr, int64_t size, size_t total_allocated, size_t total_reserved, Device) */
	{ "_ZN3c1027reportMemoryUsageToProfilerEPv[lx][lmxy][lmxy]NS_6DeviceE", FRAMEWORK_BLOCKS, .layout = {
		.ptr = 1, .bytes = 2, .total_allocated = 3, .total_reserved = 4, .device = 5, .gpu_type = C10_CUDA,
	} },
	/* (int64_t size, size_t total_allocated, size_t total_reserved, Device) */
	{ "_ZN3c1027reportOutOfMemoryToProfilerE[lmxy][lmxy][lmxy]NS_6DeviceE", "fw_oom", .layout = {
		.bytes = 1, .total_allocated = 2, .total_reserved = 3, .device = 4, .gpu_type = C10_CUDA,
	} },
};

/* The end of a range takes the range's object out of an IValue by this function. Both libraries have a copy of the
 * function; both call the copy that the process loads first. */
#define RANGE_END "_ZNO3c106IValue13toCustomClassIN5torch8autograd8profiler20PythonRecordFunctionEEE*"

/* PyTorch 1.10 to 2.11, built with either ABI of libstdc++'s strings (Ss marks the old ABI). */
static const struct library_hook torch_cpu_hooks[] = {
	{ "_ZN5torch8autograd8profiler25record_function_enter_newERKNSt7__cxx1112basic_string*", "torch_range_begin",
	  .is_variant = true },
	{ "_ZN5torch8autograd8profiler25record_function_enter_newERKSs*", "torch_range_begin_old", .is_variant = true },
	{ .pattern = RANGE_END, .program = "fw_range_end" },
	/* torch::autograd::Engine::execute(roots, inputs, ...) */
	{ .pattern = "_ZN5torch8autograd6Engine7executeERKSt6vector*", .program = "fw_backward" },
};

static const struct library_hook torch_python_hooks[] = {
	{ .pattern = RANGE_END, .program = "fw_range_end" },
};

/* (void *ptr, DeviceIndex device, size_t size, StreamId stream), right after the block's report, on the same thread. */
static const struct library_point sizes = { "pytorch", "malloc", "fw_size", 4 };

static const struct library_kind libraries[] = {
	{
		.stem = "libc10.so",
		.framework = &framework_pytorch,
		.hook_count = COUNT(c10_hooks),
		.hooks = c10_hooks,
	},
	{
		.stem = "libtorch_cpu.so",
		.framework = &framework_pytorch,
		.hook_count = COUNT(torch_cpu_hooks),
		.hooks = torch_cpu_hooks,
	},
	{
		.stem = "libc10_cuda.so",
		.framework = &framework_pytorch,
		.is_for_gpus = true,
		.point = &sizes,
	},
	{
		.stem = "libtorch_python.so",
		.framework = &framework_pytorch,
		.hook_count = COUNT(torch_python_hooks),
		.hooks = torch_python_hooks,
	},
};

/* Settings that other frameworks have under their own names are not PyTorch's. */
static const struct framework_setting settings[] = {
	{ "PYTORCH_CUDA_ALLOC_CONF", "backend:cudaMallocAsync", GMT_FRAMEWORK_ASYNC },
	{ "PYTORCH_ALLOC_CONF", "backend:cudaMallocAsync", GMT_FRAMEWORK_ASYNC },
	{ "PYTORCH_NO_CUDA_MEMORY_CACHING", NULL, GMT_FRAMEWORK_UNCACHED },
};

const struct framework framework_pytorch = {
	.id = GMT_FW_PYTORCH,
	.library_count = COUNT(libraries),
	.libraries = libraries,
	.setting_count = COUNT(settings),
	.settings = settings,
};
