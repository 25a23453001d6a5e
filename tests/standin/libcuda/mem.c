/* SPDX-License-Identifier: BSD-2-Clause */
/* Synchronous device memory: cuMemAlloc, its relatives, and the calls that free their memory. */
#include "standin.h"

#define PITCH_BYTES 512

static CUresult mem_alloc(CUdeviceptr *dptr, size_t bytes, bool low)
{
	CUresult why = CUDA_SUCCESS;
	struct ctx *ctx = ctx_current(&why);
	CUdeviceptr address;

	if (!ctx)
		return why;
	if (!dptr || !bytes)
		return CUDA_ERROR_INVALID_VALUE;
	address = low ? heap_alloc_low(&ctx->heap, bytes) : heap_alloc(&ctx->heap, bytes);
	if (!address)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*dptr = address;
	return CUDA_SUCCESS;
}

CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytes)
{
	API(mem_alloc(dptr, bytes, false));
}

static CUresult mem_alloc_v1(CUdeviceptr_v1 *dptr, unsigned int bytes)
{
	CUdeviceptr wide = 0;
	CUresult rc = mem_alloc(&wide, bytes, true);

	if (!rc)
		*dptr = (CUdeviceptr_v1)wide;
	return rc;
}

CUresult cuMemAlloc(CUdeviceptr_v1 *dptr, unsigned int bytes)
{
	if (!dptr)
		return CUDA_ERROR_INVALID_VALUE;
	API(mem_alloc_v1(dptr, bytes));
}

static CUresult mem_pitch(CUdeviceptr *dptr, size_t *pitch, size_t width, size_t height, bool low)
{
	size_t row = ROUND_UP(width, PITCH_BYTES);
	CUresult rc;

	if (!pitch || !width || !height || row < width || height > SIZE_MAX / row)
		return CUDA_ERROR_INVALID_VALUE;
	rc = mem_alloc(dptr, row * height, low);
	if (!rc)
		*pitch = row;
	return rc;
}

CUresult cuMemAllocPitch_v2(CUdeviceptr *dptr, size_t *pitch, size_t width, size_t height,
			    unsigned int element)
{
	(void)element;
	API(mem_pitch(dptr, pitch, width, height, false));
}

static CUresult mem_pitch_v1(CUdeviceptr_v1 *dptr, unsigned int *pitch, size_t width, size_t height)
{
	CUdeviceptr wide;
	size_t row;
	CUresult rc = mem_pitch(&wide, &row, width, height, true);

	if (!rc) {
		*dptr = (CUdeviceptr_v1)wide;
		*pitch = (unsigned int)row;
	}
	return rc;
}

CUresult cuMemAllocPitch(CUdeviceptr_v1 *dptr, unsigned int *pitch, unsigned int width, unsigned int height,
		unsigned int element)
{
	(void)element;
	if (!dptr || !pitch)
		return CUDA_ERROR_INVALID_VALUE;
	API(mem_pitch_v1(dptr, pitch, width, height));
}

static CUresult foreign_free(struct chunk *chunk)
{
	if (--chunk->refs)
		return CUDA_SUCCESS;
	foreign_unmap(chunk);
	return CUDA_SUCCESS;
}

CUresult mem_free(CUdeviceptr address)
{
	struct chunk *chunk = va_chunk(address);

	if (!address)
		return CUDA_SUCCESS;
	if (!chunk)
		return managed_free(address);
	switch (chunk->kind) {
	case CHUNK_SLAB:
	case CHUNK_BLOCK:
		if (chunk->is_array)
			break;
		if (chunk->heap->pool)
			return pool_release(chunk, address);
		return heap_release(chunk, address) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
	case CHUNK_GRAPH:
		return graph_free(chunk);
	case CHUNK_POINTER:
		return foreign_free(chunk);
	case CHUNK_IMPORT:
		return chunk->owner ? foreign_free(chunk) : CUDA_ERROR_INVALID_VALUE;
	}
	return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemFree_v2(CUdeviceptr dptr)
{
	API(mem_free(dptr));
}

CUresult cuMemFree(CUdeviceptr_v1 dptr)
{
	API(mem_free(dptr));
}

static CUresult address_range(CUdeviceptr *base, size_t *size, CUdeviceptr dptr)
{
	struct chunk *chunk = va_chunk(dptr);
	uint64_t start, length;

	if (!chunk || chunk->kind > CHUNK_BLOCK || !heap_lookup(chunk, dptr, &start, &length))
		return CUDA_ERROR_NOT_FOUND;
	if (base)
		*base = start;
	if (size)
		*size = length;
	return CUDA_SUCCESS;
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *size, CUdeviceptr dptr)
{
	API(address_range(base, size, dptr));
}

static CUresult mem_info(size_t *free, size_t *total)
{
	CUresult why = CUDA_SUCCESS;
	struct ctx *ctx = ctx_current(&why);

	if (!ctx)
		return why;
	if (!free || !total)
		return CUDA_ERROR_INVALID_VALUE;
	*total = share_total(g.share, ctx->device->nvml);
	*free = *total - STANDIN_DEVICE_BASE_BYTES -
		share_used(g.share_fd, g.share, ctx->device->nvml, g.slot);
	return CUDA_SUCCESS;
}

CUresult cuMemGetInfo_v2(size_t *free, size_t *total)
{
	API(mem_info(free, total));
}
