/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Modules and libraries: video memory for code and globals that no allocation call shows. A library
 * is loaded lazily: its memory comes when its module is asked for, and each kernel takes some at its
 * first launch, inside a call that no one should probe.
 */
#include "standin.h"

#define PARTS 2
static const uint64_t part_bytes[PARTS] = { 4 * STANDIN_MIB, 2 * STANDIN_MIB };
#define LAUNCH_BYTES (2 * STANDIN_MIB)

static void part_free(struct ctx *ctx, uint32_t *rm, uint64_t base, uint64_t size)
{
	if (!*rm)
		return;
	uvm_free(base, size);
	rm_free_vidmem(ctx->device, *rm, size);
	va_give(base, size);
	*rm = 0;
}

static bool part_new(struct ctx *ctx, uint32_t *rm, uint64_t *base, uint64_t size)
{
	*rm = rm_vidmem_inside(ctx->device, size);
	if (!*rm)
		return false;
	*base = va_take(size);
	uvm_create_range(*base, size);
	uvm_map(ctx->device, *base, size, *rm);
	return true;
}

static void module_clear(struct module *module)
{
	for (unsigned int i = 0; i < PARTS; i++)
		part_free(module->ctx, &module->rm[i], module->base[i], part_bytes[i]);
	module->loaded = false;
}

static CUresult module_fill(struct module *module)
{
	for (unsigned int i = 0; i < PARTS && !module->loaded; i++) {
		if (part_new(module->ctx, &module->rm[i], &module->base[i], part_bytes[i]))
			continue;
		module_clear(module);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	module->loaded = true;
	return CUDA_SUCCESS;
}

static CUresult load(void *out, const void *image, bool library)
{
	CUresult rc = CUDA_SUCCESS;
	struct ctx *ctx = ctx_current(&rc);
	struct module *module;

	if (!ctx)
		return rc;
	if (!out || !image)
		return CUDA_ERROR_INVALID_VALUE;
	module = object_new(OBJECT_MODULE);
	module->ctx = ctx;
	module->is_library = library;
	rc = library ? CUDA_SUCCESS : module_fill(module);
	if (rc)
		object_delete(module);
	else
		*(struct module **)out = module;
	return rc;
}

CUresult cuModuleLoad(CUmodule *module, const char *name)
{
	API(load(module, name, false));
}

CUresult cuModuleLoadData(CUmodule *module, const void *image)
{
	API(load(module, image, false));
}

CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned int count, int *options,
			    void **values)
{
	(void)count, (void)options, (void)values;
	API(load(module, image, false));
}

CUresult cuModuleLoadFatBinary(CUmodule *module, const void *image)
{
	API(load(module, image, false));
}

CUresult cuLibraryLoadData(CUlibrary *library, const void *code, int *jit, void **jit_values,
		unsigned int jit_count, int *options, void **values, unsigned int count)
{
	(void)jit, (void)jit_values, (void)jit_count, (void)options, (void)values, (void)count;
	API(load(library, code, true));
}

CUresult cuLibraryLoadFromFile(CUlibrary *library, const char *name, int *jit, void **jit_values,
		unsigned int jit_count, int *options, void **values, unsigned int count)
{
	(void)jit, (void)jit_values, (void)jit_count, (void)options, (void)values, (void)count;
	API(load(library, name, true));
}

static void function_of_module(void *body, void *arg)
{
	struct function *function = body;

	if (function->module != arg)
		return;
	part_free(function->ctx, &function->rm, function->base, LAUNCH_BYTES);
	object_delete(function);
}

static void module_delete(struct module *module)
{
	object_each(OBJECT_FUNCTION, function_of_module, module);
	module_clear(module);
	object_delete(module);
}

static CUresult unload(const void *handle, bool library)
{
	struct module *module = object_get(handle, OBJECT_MODULE);

	if (!module || module->is_library != library)
		return CUDA_ERROR_INVALID_HANDLE;
	module_delete(module);
	return CUDA_SUCCESS;
}

CUresult cuModuleUnload(CUmodule module)
{
	API(unload(module, false));
}

CUresult cuLibraryUnload(CUlibrary library)
{
	API(unload(library, true));
}

static CUresult library_module(CUmodule *out, CUlibrary handle)
{
	struct module *library = object_get(handle, OBJECT_MODULE);
	CUresult rc;

	if (!out || !library || !library->is_library)
		return CUDA_ERROR_INVALID_HANDLE;
	rc = module_fill(library);
	if (!rc)
		*out = (CUmodule)library;
	return rc;
}

CUresult cuLibraryGetModule(CUmodule *module, CUlibrary library)
{
	API(library_module(module, library));
}

static CUresult get_function(CUfunction *out, CUmodule handle, const char *name)
{
	struct module *module = object_get(handle, OBJECT_MODULE);
	struct function *function;

	if (!module)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!out || !name)
		return CUDA_ERROR_INVALID_VALUE;
	function = object_new(OBJECT_FUNCTION);
	function->module = module;
	function->ctx = module->ctx;
	*out = (CUfunction)function;
	return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction *f, CUmodule module, const char *name)
{
	API(get_function(f, module, name));
}

static CUresult function_load(CUfunction handle)
{
	struct function *function = object_get(handle, OBJECT_FUNCTION);

	if (!function)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!function->rm && !part_new(function->ctx, &function->rm, &function->base, LAUNCH_BYTES))
		return CUDA_ERROR_OUT_OF_MEMORY;
	return CUDA_SUCCESS;
}

CUresult cuFuncLoad(CUfunction f)
{
	API(function_load(f));
}

CUresult cuLaunchKernel(CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx,
		unsigned int by, unsigned int bz, unsigned int shared, CUstream stream, void **params,
		void **extra)
{
	(void)gx, (void)gy, (void)gz, (void)bx, (void)by, (void)bz;
	(void)shared, (void)stream, (void)params, (void)extra;
	API(function_load(f));
}

static void module_of_ctx(void *body, void *ctx)
{
	if (((struct module *)body)->ctx == ctx)
		module_delete(body);
}

void module_take_down(struct ctx *ctx)
{
	object_each(OBJECT_MODULE, module_of_ctx, ctx);
}
