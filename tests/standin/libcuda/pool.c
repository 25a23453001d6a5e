/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stream-ordered memory: cuMemAllocAsync and pools. What is freed stays reserved by the pool until
 * a synchronisation finds more than the release threshold, or until it is trimmed. Pools belong to a
 * device, not to a context.
 */
#include <string.h>

#include "standin.h"

#define POOL_ROUND (32 * STANDIN_MIB) /* how cudaMallocAsync grows on an H100: 32 MiB steps */

static struct { struct pool *first; } pools;

static struct pool *pool_new(struct device *device, CUmemLocation location, int alloc_type)
{
	struct pool *pool = object_new(OBJECT_POOL);

	pool->location = location;
	pool->alloc_type = alloc_type;
	heap_init(&pool->heap, device, pool, POOL_ROUND);
	pool->next = pools.first;
	pools.first = pool;
	return pool;
}

static void pool_delete(struct pool *pool)
{
	struct pool **link = &pools.first;

	while (*link != pool)
		link = &(*link)->next;
	*link = pool->next;
	heap_fini(&pool->heap);
	object_delete(pool);
}

struct pool *pool_default(struct device *device)
{
	CUmemLocation location = { CU_MEM_LOCATION_TYPE_DEVICE, device->ordinal };

	if (!device->default_pool) {
		device->default_pool = pool_new(device, location, CU_MEM_ALLOCATION_TYPE_PINNED);
		device->default_pool->is_default = true;
	}
	return device->default_pool;
}

struct pool *pool_imported(struct device *device)
{
	CUmemLocation location = { CU_MEM_LOCATION_TYPE_DEVICE, device->ordinal };
	struct pool *pool = pool_new(device, location, CU_MEM_ALLOCATION_TYPE_PINNED);

	pool->imported = true;
	return pool;
}

static struct pool *pool_current(struct device *device)
{
	return device->current_pool ? device->current_pool : pool_default(device);
}

void pool_take_down(struct device *device)
{
	for (struct pool *pool = pools.first, *next; pool; pool = next) {
		next = pool->next;
		if (pool->heap.device != device)
			continue;
		if (pool->destroyed)
			pool_delete(pool);
		else
			heap_fini(&pool->heap);
	}
}

void pool_sync(struct device *device)
{
	for (struct pool *pool = pools.first; pool; pool = pool->next)
		if (pool->heap.device == device && pool->heap.reserved > pool->threshold)
			heap_trim(&pool->heap, pool->threshold);
}

static CUresult alloc_from(struct pool *pool, struct ctx *ctx, CUdeviceptr *dptr, size_t bytes)
{
	if (pool->imported || pool->destroyed)
		return CUDA_ERROR_INVALID_VALUE;
	if (pool->location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
	    pool->alloc_type == CU_MEM_ALLOCATION_TYPE_MANAGED)
		*dptr = managed_alloc(ctx, bytes);
	else
		*dptr = heap_alloc(&pool->heap, bytes);
	return *dptr ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult alloc_async(CUdeviceptr *dptr, size_t bytes, CUmemoryPool handle, CUstream stream,
			    bool from_pool)
{
	CUresult why = CUDA_SUCCESS;
	struct ctx *ctx = ctx_of_stream(stream, &why);
	struct pool *pool = from_pool ? object_get(handle, OBJECT_POOL) : NULL;
	struct stream *known = stream_get(stream);

	if (!ctx)
		return why;
	if (!dptr || !bytes || (from_pool && !pool))
		return CUDA_ERROR_INVALID_VALUE;
	if (known && known->capture)
		return graph_capture_alloc(known, dptr, bytes);
	return alloc_from(pool ? pool : pool_current(ctx->device), ctx, dptr, bytes);
}

CUresult cuMemAllocAsync(CUdeviceptr *dptr, size_t bytes, CUstream stream)
{
	API(alloc_async(dptr, bytes, NULL, stream, false));
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr *dptr, size_t bytes, CUmemoryPool pool, CUstream stream)
{
	API(alloc_async(dptr, bytes, pool, stream, true));
}

CUresult pool_release(struct chunk *chunk, CUdeviceptr address)
{
	struct pool *pool = chunk->heap->pool;

	if (!heap_release(chunk, address))
		return CUDA_ERROR_INVALID_VALUE;
	if (pool->destroyed && !pool->heap.used)
		pool_delete(pool);
	return CUDA_SUCCESS;
}

static CUresult free_async(CUdeviceptr dptr, CUstream stream)
{
	CUresult why = CUDA_SUCCESS;
	struct stream *known = stream_get(stream);

	if (!ctx_of_stream(stream, &why))
		return why;
	if (known && known->capture && graph_capture_free(known, dptr))
		return CUDA_SUCCESS;
	return dptr ? mem_free(dptr) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemFreeAsync(CUdeviceptr dptr, CUstream stream)
{
	API(free_async(dptr, stream));
}

static CUresult create(CUmemoryPool *out, const CUmemPoolProps *props)
{
	struct device *device;

	if (!out || !props || !g.device_count)
		return CUDA_ERROR_INVALID_VALUE;
	device = props->location.type == CU_MEM_LOCATION_TYPE_DEVICE ? device_of(props->location.id)
								     : &g.devices[0];
	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	*out = (CUmemoryPool)pool_new(device, props->location, props->allocType);
	return CUDA_SUCCESS;
}

CUresult cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *props)
{
	API(create(pool, props));
}

static CUresult destroy(CUmemoryPool handle)
{
	struct pool *pool = object_get(handle, OBJECT_POOL);

	if (!pool || pool->is_default || pool->destroyed)
		return CUDA_ERROR_INVALID_VALUE;
	for (int i = 0; i < g.device_count; i++)
		if (g.devices[i].current_pool == pool)
			g.devices[i].current_pool = NULL;
	pool->destroyed = true;
	if (!pool->heap.used)
		pool_delete(pool);
	else
		heap_trim(&pool->heap, 0);
	return CUDA_SUCCESS;
}

CUresult cuMemPoolDestroy(CUmemoryPool pool)
{
	API(destroy(pool));
}

static CUresult trim(CUmemoryPool handle, size_t keep)
{
	struct pool *pool = object_get(handle, OBJECT_POOL);

	if (!pool)
		return CUDA_ERROR_INVALID_VALUE;
	heap_trim(&pool->heap, keep);
	return CUDA_SUCCESS;
}

CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t keep)
{
	API(trim(pool, keep));
}

static CUresult set_attribute(CUmemoryPool handle, int attr, void *value)
{
	struct pool *pool = object_get(handle, OBJECT_POOL);

	if (!pool || !value || attr < 1 || attr > CU_MEMPOOL_ATTR_USED_MEM_HIGH)
		return CUDA_ERROR_INVALID_VALUE;
	if (attr == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD)
		memcpy(&pool->threshold, value, sizeof(pool->threshold));
	if (attr == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH)
		pool->heap.reserved_high = pool->heap.reserved;
	if (attr == CU_MEMPOOL_ATTR_USED_MEM_HIGH)
		pool->heap.used_high = pool->heap.used;
	return CUDA_SUCCESS;
}

CUresult cuMemPoolSetAttribute(CUmemoryPool pool, int attr, void *value)
{
	API(set_attribute(pool, attr, value));
}

static CUresult get_attribute(CUmemoryPool handle, int attr, void *value)
{
	struct pool *pool = object_get(handle, OBJECT_POOL);
	const int one = 1;

	if (!pool || !value || attr < 1 || attr > CU_MEMPOOL_ATTR_USED_MEM_HIGH)
		return CUDA_ERROR_INVALID_VALUE;
	if (attr < CU_MEMPOOL_ATTR_RELEASE_THRESHOLD)
		memcpy(value, &one, sizeof(one));
	else
		memcpy(value, (const uint64_t *[]){ &pool->threshold, &pool->heap.reserved,
		       &pool->heap.reserved_high, &pool->heap.used,
		       &pool->heap.used_high }[attr - CU_MEMPOOL_ATTR_RELEASE_THRESHOLD], sizeof(uint64_t));
	return CUDA_SUCCESS;
}

CUresult cuMemPoolGetAttribute(CUmemoryPool pool, int attr, void *value)
{
	API(get_attribute(pool, attr, value));
}

CUresult cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *map, size_t count)
{
	(void)map, (void)count;
	API(object_get(pool, OBJECT_POOL) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

static CUresult device_pool(CUmemoryPool *out, CUdevice dev, bool of_default)
{
	struct device *device = device_of(dev);

	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	*out = (CUmemoryPool)(of_default ? pool_default(device) : pool_current(device));
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *pool, CUdevice dev)
{
	API(device_pool(pool, dev, true));
}

CUresult cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice dev)
{
	API(device_pool(pool, dev, false));
}

static CUresult set_device_pool(CUdevice dev, CUmemoryPool handle)
{
	struct pool *pool = object_get(handle, OBJECT_POOL);

	if (!device_of(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	if (!pool || pool->heap.device != device_of(dev))
		return CUDA_ERROR_INVALID_VALUE;
	device_of(dev)->current_pool = pool;
	return CUDA_SUCCESS;
}

CUresult cuDeviceSetMemPool(CUdevice dev, CUmemoryPool pool)
{
	API(set_device_pool(dev, pool));
}

#ifndef STANDIN_OLD_EXPORTS
static CUresult location_pool(CUmemoryPool *out, CUmemLocation *location, int type, bool of_default)
{
	if (!location || type != CU_MEM_ALLOCATION_TYPE_PINNED ||
	    location->type != CU_MEM_LOCATION_TYPE_DEVICE)
		return CUDA_ERROR_NOT_SUPPORTED;
	return device_pool(out, location->id, of_default);
}

CUresult cuMemGetDefaultMemPool(CUmemoryPool *pool, CUmemLocation *location, int type)
{
	API(location_pool(pool, location, type, true));
}

CUresult cuMemGetMemPool(CUmemoryPool *pool, CUmemLocation *location, int type)
{
	API(location_pool(pool, location, type, false));
}

static CUresult set_location_pool(CUmemLocation *location, int type, CUmemoryPool pool)
{
	if (!location || type != CU_MEM_ALLOCATION_TYPE_PINNED ||
	    location->type != CU_MEM_LOCATION_TYPE_DEVICE)
		return CUDA_ERROR_NOT_SUPPORTED;
	return set_device_pool(location->id, pool);
}

CUresult cuMemSetMemPool(CUmemLocation *location, int type, CUmemoryPool pool)
{
	API(set_location_pool(location, type, pool));
}
#endif
