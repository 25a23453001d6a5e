/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Contexts: primary contexts are counted by reference, others are created and destroyed; each thread has a stack of
 * current contexts. A context costs video memory that no allocation call shows. The end of a context frees what was
 * allocated in it.
 *
 * Invariant: a struct ctx is never given back to malloc, so a stale handle is seen as destroyed.
 */
#include <stdlib.h>

#include "standin.h"

/* Of the first context on an H200, driver 580: sizes in MiB, in order; the last one is the memory of
 * the kernels' stacks and takes up what STANDIN_CONTEXT_MIB leaves. */
static const uint16_t context_mib[] = { 6, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 70, 2, 414 };
#define CONTEXT_PARTS (sizeof(context_mib) / sizeof(context_mib[0]))

static _Thread_local struct {
	struct ctx *top[CTX_STACK];
	unsigned int depth;
} stack __attribute__((tls_model("initial-exec")));

struct ctx *ctx_current(CUresult *why)
{
	struct ctx *ctx = stack.depth ? stack.top[stack.depth - 1] : NULL;

	if (ctx && ctx->alive)
		return ctx;
	*why = ctx ? CUDA_ERROR_CONTEXT_IS_DESTROYED : CUDA_ERROR_INVALID_CONTEXT;
	return NULL;
}

struct ctx *ctx_get(CUcontext handle)
{
	for (struct ctx *ctx = g.contexts; ctx; ctx = ctx->next)
		if ((CUcontext)ctx == handle)
			return ctx->alive ? ctx : NULL;
	return NULL;
}

struct ctx *ctx_of_stream(CUstream stream, CUresult *why)
{
	struct stream *known;

	if ((uintptr_t)stream <= CU_STREAM_PER_THREAD)
		return ctx_current(why);
	known = stream_get(stream);
	if (known && known->ctx->alive)
		return known->ctx;
	*why = CUDA_ERROR_INVALID_HANDLE;
	return NULL;
}

void ctx_push(struct ctx *ctx)
{
	if (stack.depth < CTX_STACK)
		stack.top[stack.depth++] = ctx;
}

static bool ctx_part(struct ctx *ctx, uint64_t size)
{
	unsigned int i = ctx->rm_count;
	uint32_t handle = rm_vidmem(ctx->device, size, RM_ATTR_VIDMEM);

	if (!handle)
		return false;
	ctx->rm[i] = handle;
	ctx->rm_size[i] = size;
	ctx->rm_base[i] = va_take(size);
	ctx->rm_count++;
	uvm_create_range(ctx->rm_base[i], size);
	uvm_map(ctx->device, ctx->rm_base[i], size, handle);
	return true;
}

static void ctx_sysmem(struct ctx *ctx)
{
	uint64_t base = va_take(PAGE_BYTES);
	uint32_t handle = rm_sysmem(ctx->device, PAGE_BYTES);

	ctx->sysmem[ctx->sysmem_count++] = handle;
	uvm_create_range(base, PAGE_BYTES);
	uvm_map(ctx->device, base, PAGE_BYTES, handle);
}

/* A channel group and its channels: objects whose memory the kernel owns, none of it counted. */
static void ctx_channels(struct ctx *ctx)
{
	uint32_t group = rm_object(ctx->device->rm_device, 0xa06c);

	for (int i = 0; i < 4; i++) {
		uint32_t channel = rm_object(group, 0xc86f);

		rm_object(channel, 0xcbc0);
		rm_object(channel, 0xc8b5);
	}
}

static bool ctx_bring_up(struct ctx *ctx)
{
	uint64_t fixed = 0, last;

	if (!ctx->device->vaspace_registered) {
		uvm_register_vaspace(ctx->device);
		ctx->device->vaspace_registered = true;
	}
	for (unsigned int i = 0; i + 1 < CONTEXT_PARTS; i++) {
		if (fixed && fixed + context_mib[i] * STANDIN_MIB >= g.context_bytes)
			break; /* a smaller context was asked for */
		if (!ctx_part(ctx, context_mib[i] * STANDIN_MIB))
			return false;
		fixed += context_mib[i] * STANDIN_MIB;
		if (i == 4)
			ctx_channels(ctx);
		if (i % 6 == 5)
			ctx_sysmem(ctx);
	}
	last = g.context_bytes > fixed ? ROUND_UP(g.context_bytes - fixed, PAGE_BYTES) : PAGE_BYTES;
	ctx->stack_slot = (int)ctx->rm_count;
	return ctx_part(ctx, last);
}

static void ctx_give_back(struct ctx *ctx)
{
	for (unsigned int i = 0; i < ctx->rm_count; i++) {
		uvm_free(ctx->rm_base[i], ctx->rm_size[i]);
		rm_free_vidmem(ctx->device, ctx->rm[i], ctx->rm_size[i]);
		va_give(ctx->rm_base[i], ctx->rm_size[i]);
	}
	for (unsigned int i = 0; i < ctx->sysmem_count; i++)
		rm_free(ctx->device->rm_device, ctx->sysmem[i]);
	ctx->rm_count = 0;
	ctx->sysmem_count = 0;
}

static bool ctx_activate(struct ctx *ctx)
{
	heap_init(&ctx->heap, ctx->device, NULL, PAGE_BYTES);
	if (!ctx_bring_up(ctx)) {
		ctx_give_back(ctx);
		return false;
	}
	ctx->alive = true;
	return true;
}

CUresult ctx_new(struct device *device, bool primary, struct ctx **out)
{
	struct ctx *ctx = calloc(1, sizeof(*ctx));

	if (!ctx)
		abort();
	ctx->device = device;
	ctx->primary = primary;
	if (!ctx_activate(ctx)) {
		free(ctx);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	ctx->next = g.contexts;
	g.contexts = ctx;
	*out = ctx;
	return CUDA_SUCCESS;
}

/* Not cuMemCreate's memory and not the pools': they belong to no context. */
void ctx_take_down(struct ctx *ctx)
{
	module_take_down(ctx);
	array_take_down(ctx);
	ext_take_down(ctx);
	host_take_down(ctx);
	stream_take_down(ctx);
	heap_fini(&ctx->heap);
	ctx_give_back(ctx);
	ctx->alive = false;
}

CUresult primary_retain(struct device *device, struct ctx **out)
{
	CUresult rc = CUDA_SUCCESS;

	if (!device->primary)
		rc = ctx_new(device, true, &device->primary);
	else if (!device->primary->alive && !ctx_activate(device->primary))
		rc = CUDA_ERROR_OUT_OF_MEMORY;
	if (rc)
		return rc;
	device->primary_refs++;
	*out = device->primary;
	return CUDA_SUCCESS;
}

static CUresult ctx_create(CUcontext *pctx, CUdevice dev)
{
	struct ctx *ctx;
	CUresult rc;

	if (!pctx)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device_of(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	rc = ctx_new(device_of(dev), false, &ctx);
	if (rc)
		return rc;
	ctx->made = true;
	ctx_push(ctx);
	*pctx = (CUcontext)ctx;
	return CUDA_SUCCESS;
}

CUresult cuCtxCreate(CUcontext *pctx, unsigned int flags, CUdevice dev)
{
	(void)flags;
	API(ctx_create(pctx, dev));
}

CUresult cuCtxCreate_v2(CUcontext *pctx, unsigned int flags, CUdevice dev)
{
	(void)flags;
	API(ctx_create(pctx, dev));
}

CUresult cuCtxCreate_v3(CUcontext *pctx, void *params, int count, unsigned int flags, CUdevice dev)
{
	(void)params, (void)count, (void)flags;
	API(ctx_create(pctx, dev));
}

#ifndef STANDIN_OLD_EXPORTS
CUresult cuCtxCreate_v4(CUcontext *pctx, void *params, unsigned int flags, CUdevice dev)
{
	(void)params, (void)flags;
	API(ctx_create(pctx, dev));
}
#endif

static CUresult ctx_destroy(CUcontext handle)
{
	struct ctx *ctx = ctx_get(handle);

	if (!ctx || ctx->primary)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (stack.depth && stack.top[stack.depth - 1] == ctx)
		stack.depth--;
	ctx_take_down(ctx);
	return CUDA_SUCCESS;
}

CUresult cuCtxDestroy(CUcontext ctx)
{
	API(ctx_destroy(ctx));
}

CUresult cuCtxDestroy_v2(CUcontext ctx)
{
	API(ctx_destroy(ctx));
}

static CUresult ctx_attach(CUcontext *pctx, unsigned int flags)
{
	CUresult why = CUDA_SUCCESS;
	struct ctx *ctx = ctx_current(&why);

	if (!ctx)
		return why;
	if (!pctx || flags || ctx->primary)
		return CUDA_ERROR_INVALID_VALUE;
	ctx->attached++;
	*pctx = (CUcontext)ctx;
	return CUDA_SUCCESS;
}

CUresult cuCtxAttach(CUcontext *pctx, unsigned int flags)
{
	API(ctx_attach(pctx, flags));
}

static CUresult ctx_detach(CUcontext handle)
{
	struct ctx *ctx = ctx_get(handle);

	if (!ctx || !ctx->attached)
		return ctx_destroy(handle);
	ctx->attached--;
	return CUDA_SUCCESS;
}

CUresult cuCtxDetach(CUcontext ctx)
{
	API(ctx_detach(ctx));
}

static CUresult ctx_set(CUcontext handle)
{
	struct ctx *ctx = handle ? ctx_get(handle) : NULL;

	if (handle && !ctx)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (stack.depth)
		stack.depth--;
	if (ctx)
		ctx_push(ctx);
	return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext ctx)
{
	API(ctx_set(ctx));
}

CUresult cuCtxGetCurrent(CUcontext *pctx)
{
	if (!pctx)
		return CUDA_ERROR_INVALID_VALUE;
	*pctx = (CUcontext)(stack.depth ? stack.top[stack.depth - 1] : NULL);
	return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice *dev)
{
	CUresult why = CUDA_SUCCESS;
	struct ctx *ctx = ctx_current(&why);

	if (ctx && dev)
		*dev = ctx->device->ordinal;
	return why;
}

static CUresult ctx_push_checked(CUcontext handle)
{
	struct ctx *ctx = ctx_get(handle);

	if (!ctx)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (stack.depth == CTX_STACK)
		return CUDA_ERROR_INVALID_VALUE;
	ctx_push(ctx);
	return CUDA_SUCCESS;
}

CUresult cuCtxPushCurrent_v2(CUcontext ctx)
{
	API(ctx_push_checked(ctx));
}

static CUresult ctx_pop(CUcontext *pctx)
{
	if (!stack.depth)
		return CUDA_ERROR_INVALID_CONTEXT;
	stack.depth--;
	if (pctx)
		*pctx = (CUcontext)stack.top[stack.depth];
	return CUDA_SUCCESS;
}

CUresult cuCtxPopCurrent_v2(CUcontext *pctx)
{
	API(ctx_pop(pctx));
}

static CUresult ctx_sync(void)
{
	CUresult why = CUDA_SUCCESS;
	struct ctx *ctx = ctx_current(&why);

	if (ctx)
		pool_sync(ctx->device);
	return why;
}

CUresult cuCtxSynchronize(void)
{
	API(ctx_sync());
}

/* A larger stack for kernels: the old memory goes, then larger memory comes. */
static CUresult ctx_limit(int limit, size_t value)
{
	CUresult why = CUDA_SUCCESS;
	struct ctx *ctx = ctx_current(&why);
	uint64_t size = ROUND_UP(value * 2048 * 128, PAGE_BYTES); /* bytes x threads x processors */
	int i;

	if (!ctx)
		return why;
	i = ctx->stack_slot;
	if (limit != CU_LIMIT_STACK_SIZE || size <= ctx->rm_size[i])
		return CUDA_SUCCESS;
	uvm_free(ctx->rm_base[i], ctx->rm_size[i]);
	rm_free_vidmem(ctx->device, ctx->rm[i], ctx->rm_size[i]);
	va_give(ctx->rm_base[i], ctx->rm_size[i]);
	ctx->rm_count--;
	return ctx_part(ctx, size) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuCtxSetLimit(int limit, size_t value)
{
	API(ctx_limit(limit, value));
}

CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned int flags)
{
	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	API(ctx_get(peer) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT);
}
