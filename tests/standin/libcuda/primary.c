/* SPDX-License-Identifier: BSD-2-Clause */
/* Primary contexts and green contexts. The last release of a primary context is a reset. */
#include "standin.h"

static CUresult retain(CUcontext *pctx, CUdevice dev)
{
	struct ctx *ctx;
	CUresult rc;

	if (!pctx)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device_of(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	rc = primary_retain(device_of(dev), &ctx);
	if (!rc)
		*pctx = (CUcontext)ctx;
	return rc;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *pctx, CUdevice dev)
{
	API(retain(pctx, dev));
}

/* The memory of the device's pools goes, too, unless another context is there. */
static void primary_take_down(struct device *device)
{
	ctx_take_down(device->primary);
	for (const struct ctx *ctx = g.contexts; ctx; ctx = ctx->next)
		if (ctx->made && ctx->alive && ctx->device == device)
			return;
	pool_take_down(device);
}

static CUresult release(CUdevice dev)
{
	struct device *device = device_of(dev);

	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	if (!device->primary_refs)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!--device->primary_refs && device->primary->alive)
		primary_take_down(device);
	return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice dev)
{
	API(release(dev));
}

static CUresult reset(CUdevice dev)
{
	struct device *device = device_of(dev);

	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	if (device->primary && device->primary->alive)
		primary_take_down(device);
	return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxReset_v2(CUdevice dev)
{
	API(reset(dev));
}

CUresult cuDevicePrimaryCtxGetState(CUdevice dev, unsigned int *flags, int *active)
{
	struct device *device = device_of(dev);

	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	if (flags)
		*flags = 0;
	if (active)
		*active = device->primary && device->primary->alive;
	return CUDA_SUCCESS;
}

#ifndef STANDIN_OLD_EXPORTS
static CUresult green_create(CUgreenCtx *out, CUdevice dev)
{
	struct green *green;
	struct ctx *ctx;
	CUresult rc;

	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device_of(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	rc = primary_retain(device_of(dev), &ctx);
	if (rc)
		return rc;
	green = object_new(OBJECT_GREEN);
	rc = ctx_new(device_of(dev), false, &green->ctx);
	if (rc) {
		object_delete(green);
		device_of(dev)->primary_refs--;
		return rc;
	}
	*out = (CUgreenCtx)green;
	return CUDA_SUCCESS;
}

CUresult cuGreenCtxCreate(CUgreenCtx *pctx, CUdevResourceDesc desc, CUdevice dev, unsigned int flags)
{
	(void)desc, (void)flags;
	API(green_create(pctx, dev));
}

static CUresult green_destroy(CUgreenCtx handle)
{
	struct green *green = object_get(handle, OBJECT_GREEN);
	CUdevice dev;

	if (!green)
		return CUDA_ERROR_INVALID_CONTEXT;
	dev = green->ctx->device->ordinal;
	ctx_take_down(green->ctx);
	object_delete(green);
	return release(dev);
}

CUresult cuGreenCtxDestroy(CUgreenCtx ctx)
{
	API(green_destroy(ctx));
}

static CUresult from_green(CUcontext *pctx, CUgreenCtx handle)
{
	struct green *green = object_get(handle, OBJECT_GREEN);

	if (!green || !pctx)
		return CUDA_ERROR_INVALID_VALUE;
	*pctx = (CUcontext)green->ctx;
	return CUDA_SUCCESS;
}

CUresult cuCtxFromGreenCtx(CUcontext *pctx, CUgreenCtx green)
{
	API(from_green(pctx, green));
}

static CUresult green_stream(CUstream *out, CUgreenCtx handle)
{
	struct green *green = object_get(handle, OBJECT_GREEN);
	struct stream *stream;

	if (!green || !out)
		return CUDA_ERROR_INVALID_VALUE;
	stream = object_new(OBJECT_STREAM);
	stream->ctx = green->ctx;
	*out = (CUstream)stream;
	return CUDA_SUCCESS;
}

CUresult cuGreenCtxStreamCreate(CUstream *stream, CUgreenCtx green, unsigned int flags, int priority)
{
	(void)flags, (void)priority;
	API(green_stream(stream, green));
}
#endif
