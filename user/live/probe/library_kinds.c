// SPDX-License-Identifier: BSD-2-Clause
#include "live/probe/library_kinds.h"

#include <string.h>

#include <gpumemtrace/wire.h>

/* PyTorch 1.10 to 2.x: (void *ptr, int64_t size, size_t total_allocated, size_t total_reserved, Device). The
 * letters of the integers differ from release to release, the registers do not. 1.9 and older pass no totals. */
static const struct library_hook c10_hooks[] = {
	{ "_ZN3c1027reportMemoryUsageToProfilerEPv[lx][lmxy][lmxy]NS_6DeviceE", "torch_memory", false },
	/* (int64_t size, size_t total_allocated, size_t total_reserved, Device) */
	{ "_ZN3c1027reportOutOfMemoryToProfilerE[lmxy][lmxy][lmxy]NS_6DeviceE", "torch_oom", false },
};

/* What ends a range takes its object out of an IValue. Both libraries have this function; whichever the process
 * loads first is called by both. */
#define RANGE_END "_ZNO3c106IValue13toCustomClassIN5torch8autograd8profiler20PythonRecordFunctionEEE*"

/* PyTorch 1.10 to 2.11; libraries of either ABI of libstdc++'s strings (Ss is the old one). */
static const struct library_hook torch_cpu_hooks[] = {
	{ "_ZN5torch8autograd8profiler25record_function_enter_newERKNSt7__cxx1112basic_string*", "torch_range_begin",
	  true },
	{ "_ZN5torch8autograd8profiler25record_function_enter_newERKSs*", "torch_range_begin_old", true },
	{ RANGE_END, "torch_range_end", false },
	{ "_ZN5torch8autograd6Engine7executeERKSt6vector*", "torch_backward", false },
};

static const struct library_hook torch_python_hooks[] = {
	{ RANGE_END, "torch_range_end", false },
};

static const struct library_kind_info kinds[LIBRARY_KIND_COUNT] = {
	[LIBRARY_CUDA] = {
		.stem = "libcuda.so",
		.layer = GMT_LAYER_API,
	},
	[LIBRARY_C10] = {
		.stem = "libc10.so",
		.layer = GMT_LAYER_FRAMEWORK,
		.hook_count = sizeof(c10_hooks) / sizeof(c10_hooks[0]),
		.hooks = c10_hooks,
	},
	[LIBRARY_TORCH_CPU] = {
		.stem = "libtorch_cpu.so",
		.layer = GMT_LAYER_FRAMEWORK,
		.hook_count = sizeof(torch_cpu_hooks) / sizeof(torch_cpu_hooks[0]),
		.hooks = torch_cpu_hooks,
	},
	[LIBRARY_C10_CUDA] = {
		.stem = "libc10_cuda.so",
		.layer = GMT_LAYER_FRAMEWORK,
	},
	[LIBRARY_TORCH_PYTHON] = {
		.stem = "libtorch_python.so",
		.layer = GMT_LAYER_FRAMEWORK,
		.hook_count = sizeof(torch_python_hooks) / sizeof(torch_python_hooks[0]),
		.hooks = torch_python_hooks,
	},
};

const struct library_kind_info *library_kind_info(enum library_kind kind)
{
	return &kinds[kind];
}

bool library_is_probed(enum library_kind kind)
{
	return kind == LIBRARY_CUDA || kinds[kind].hook_count;
}

/* The stem alone or with a version, not libcudart.so, libcudadebugger.so, libcuda_loader.so. */
static bool is_named(const char *base, size_t len, const char *stem)
{
	size_t stem_len = strlen(stem);

	return len >= stem_len && !memcmp(base, stem, stem_len) && (len == stem_len || base[stem_len] == '.');
}

enum library_kind library_kind_of(const char *path, size_t len)
{
	const char *slash = memrchr(path, '/', len);
	const char *base = slash ? slash + 1 : path;

	for (int kind = 0; kind < LIBRARY_KIND_COUNT; kind++) {
		if (is_named(base, len - (size_t)(base - path), kinds[kind].stem))
			return (enum library_kind)kind;
	}
	return LIBRARY_NONE;
}
