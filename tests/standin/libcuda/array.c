/* SPDX-License-Identifier: BSD-2-Clause */
/* Arrays: opaque layouts, padded to whole tiles and to 2 MiB, so that an array takes more than width x height. */
#include "standin.h"

#define TILE_ROW_BYTES 64   /* a GOB is 64 bytes by 8 rows */
#define TILE_ROWS 8

static unsigned int format_bytes(int format)
{
	switch (format) {
	case 0x01: /* unsigned and signed 8 bit */
	case 0x08:
		return 1;
	case 0x02: /* 16 bit, half */
	case 0x09:
	case 0x10:
		return 2;
	case 0x03: /* 32 bit, float */
	case 0x0a:
	case 0x20:
		return 4;
	}
	return 0;
}

static uint64_t level_bytes(const CUDA_ARRAY3D_DESCRIPTOR *desc, unsigned int level)
{
	uint64_t width = (desc->Width >> level ?: 1) * desc->NumChannels * format_bytes(desc->Format);
	uint64_t height = desc->Height >> level ?: 1, depth = desc->Depth >> level ?: 1;

	return ROUND_UP(width, TILE_ROW_BYTES) * ROUND_UP(height, TILE_ROWS) * depth;
}

static CUresult create(void *out, const CUDA_ARRAY3D_DESCRIPTOR *desc, unsigned int levels, bool mipmapped)
{
	CUresult why = CUDA_SUCCESS;
	struct ctx *ctx = ctx_current(&why);
	CUdeviceptr address = 0;
	struct array *array;
	uint64_t bytes = 0;

	if (!ctx)
		return why;
	if (!out || !desc->Width || !format_bytes(desc->Format) || !desc->NumChannels ||
	    desc->NumChannels > 4 || !levels || levels > 16)
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned int i = 0; i < levels; i++)
		bytes += level_bytes(desc, i);
	if (!(desc->Flags & (CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING))) {
		address = heap_alloc(&ctx->heap, ROUND_UP(bytes, PAGE_BYTES));
		if (!address)
			return CUDA_ERROR_OUT_OF_MEMORY;
		va_chunk(address)->is_array = true;
	}
	array = object_new(OBJECT_ARRAY);
	*array = (struct array){ .address = address, .ctx = ctx, .bytes = bytes, .mipmapped = mipmapped };
	*(struct array **)out = array;
	return CUDA_SUCCESS;
}

CUresult cuArrayCreate_v2(CUarray *array, const CUDA_ARRAY_DESCRIPTOR *desc)
{
	CUDA_ARRAY3D_DESCRIPTOR wide = { 0 };

	if (!desc)
		return CUDA_ERROR_INVALID_VALUE;
	wide.Width = desc->Width;
	wide.Height = desc->Height;
	wide.Format = desc->Format;
	wide.NumChannels = desc->NumChannels;
	API(create(array, &wide, 1, false));
}

CUresult cuArrayCreate(CUarray *array, const CUDA_ARRAY_DESCRIPTOR_v1 *desc)
{
	CUDA_ARRAY3D_DESCRIPTOR wide = { 0 };

	if (!desc)
		return CUDA_ERROR_INVALID_VALUE;
	wide.Width = desc->Width;
	wide.Height = desc->Height;
	wide.Format = desc->Format;
	wide.NumChannels = desc->NumChannels;
	API(create(array, &wide, 1, false));
}

CUresult cuArray3DCreate_v2(CUarray *array, const CUDA_ARRAY3D_DESCRIPTOR *desc)
{
	if (!desc)
		return CUDA_ERROR_INVALID_VALUE;
	API(create(array, desc, 1, false));
}

CUresult cuArray3DCreate(CUarray *array, const CUDA_ARRAY3D_DESCRIPTOR_v1 *desc)
{
	CUDA_ARRAY3D_DESCRIPTOR wide;

	if (!desc)
		return CUDA_ERROR_INVALID_VALUE;
	wide = (CUDA_ARRAY3D_DESCRIPTOR){
		.Width = desc->Width, .Height = desc->Height, .Depth = desc->Depth,
		.Format = desc->Format, .NumChannels = desc->NumChannels, .Flags = desc->Flags,
	};
	API(create(array, &wide, 1, false));
}

CUresult cuMipmappedArrayCreate(CUmipmappedArray *array, const CUDA_ARRAY3D_DESCRIPTOR *desc,
				unsigned int levels)
{
	if (!desc)
		return CUDA_ERROR_INVALID_VALUE;
	API(create(array, desc, levels, true));
}

static void array_delete(struct array *array)
{
	bind_drop(BOUND_ARRAY, (uintptr_t)array);
	if (array->address) {
		va_chunk(array->address)->is_array = false;
		heap_release(va_chunk(array->address), array->address);
	}
	object_delete(array);
}

static CUresult destroy(const void *handle, bool mipmapped)
{
	struct array *array = object_get(handle, OBJECT_ARRAY);

	if (mipmapped && ext_array_destroy(handle))
		return CUDA_SUCCESS;
	if (!array || array->mipmapped != mipmapped)
		return CUDA_ERROR_INVALID_HANDLE;
	array_delete(array);
	return CUDA_SUCCESS;
}

CUresult cuArrayDestroy(CUarray array)
{
	API(destroy(array, false));
}

CUresult cuMipmappedArrayDestroy(CUmipmappedArray array)
{
	API(destroy(array, true));
}

static CUresult requirements(CUDA_ARRAY_MEMORY_REQUIREMENTS *req, const void *handle)
{
	struct array *array = object_get(handle, OBJECT_ARRAY);

	if (!req || !array)
		return CUDA_ERROR_INVALID_VALUE;
	*req = (CUDA_ARRAY_MEMORY_REQUIREMENTS){
		.size = ROUND_UP(array->bytes, PAGE_BYTES), .alignment = PAGE_BYTES,
	};
	return CUDA_SUCCESS;
}

CUresult cuArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS *req, CUarray array, CUdevice dev)
{
	(void)dev;
	API(requirements(req, array));
}

CUresult cuMipmappedArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS *req, CUmipmappedArray array,
		CUdevice dev)
{
	(void)dev;
	API(requirements(req, array));
}

static void array_of_ctx(void *body, void *ctx)
{
	if (((struct array *)body)->ctx == ctx)
		array_delete(body);
}

void array_take_down(struct ctx *ctx)
{
	object_each(OBJECT_ARRAY, array_of_ctx, ctx);
}
