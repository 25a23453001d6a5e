// SPDX-License-Identifier: BSD-2-Clause
/* See process_tables.h. */
#include "core/ledger/process_tables.h"

#include <stdlib.h>

#include "base/xalloc.h"

/* ---- allocations ---- */

void allocs_init(struct allocs *allocs)
{
	hash_init(&allocs->by_address, sizeof(struct alloc));
	hash_init(&allocs->arrays, sizeof(struct alloc));
	hash_init(&allocs->externals, sizeof(struct alloc));
	hash_init(&allocs->opens, sizeof(uint32_t));
}

void allocs_fini(struct allocs *allocs)
{
	hash_fini(&allocs->by_address);
	hash_fini(&allocs->arrays);
	hash_fini(&allocs->externals);
	hash_fini(&allocs->opens);
}

uint64_t allocs_count(const struct allocs *allocs)
{
	return hash_count(&allocs->by_address) + hash_count(&allocs->arrays) + hash_count(&allocs->externals);
}

uint64_t allocs_bytes(const struct allocs *allocs)
{
	return hash_bytes(&allocs->by_address) + hash_bytes(&allocs->arrays) + hash_bytes(&allocs->externals) +
	       hash_bytes(&allocs->opens);
}

/* ---- virtual memory management ---- */

void vmm_init(struct vmm *vmm)
{
	hash_init(&vmm->handles, sizeof(uint64_t));
	hash_init(&vmm->objects, sizeof(struct vmm_object));
	hash_init(&vmm->mappings, sizeof(struct vmm_mapping));
	vmm->last = 0;
}

void vmm_fini(struct vmm *vmm)
{
	hash_fini(&vmm->handles);
	hash_fini(&vmm->objects);
	hash_fini(&vmm->mappings);
}

uint64_t vmm_bytes(const struct vmm *vmm)
{
	return hash_bytes(&vmm->handles) + hash_bytes(&vmm->objects) + hash_bytes(&vmm->mappings);
}

/* ---- contexts, streams, devices ---- */

#define CONTEXTS_MAX UINT16_MAX

void contexts_init(struct contexts *contexts)
{
	*contexts = (struct contexts){ .list = xcalloc(1, sizeof(*contexts->list)), .count = 1 };
	contexts->list[0].ordinal = ORDINAL_NONE;
	hash_init(&contexts->by_handle, sizeof(uint16_t));
	hash_init(&contexts->streams, sizeof(struct stream));
}

void contexts_fini(struct contexts *contexts)
{
	free(contexts->list);
	free(contexts->devices);
	hash_fini(&contexts->by_handle);
	hash_fini(&contexts->streams);
}

uint64_t contexts_bytes(const struct contexts *contexts)
{
	return contexts->count * sizeof(*contexts->list) + contexts->device_count * sizeof(*contexts->devices) +
	       hash_bytes(&contexts->by_handle) + hash_bytes(&contexts->streams);
}

unsigned int contexts_find(const struct contexts *contexts, uint64_t handle)
{
	const uint16_t *number = hash_get(&contexts->by_handle, handle);

	return number ? *number : 0;
}

unsigned int contexts_get(struct contexts *contexts, uint64_t handle)
{
	unsigned int number = contexts_find(contexts, handle);

	if (number || !handle || contexts->count > CONTEXTS_MAX)
		return number;
	contexts->list = xreallocarray(contexts->list, contexts->count + 1, sizeof(*contexts->list));
	contexts->list[contexts->count] = (struct context){ .ordinal = ORDINAL_NONE };
	*(uint16_t *)hash_put(&contexts->by_handle, handle, NULL) = contexts->count;
	return contexts->count++;
}

unsigned int context_ordinal_of(uint64_t dev)
{
	return dev < ORDINAL_NONE ? dev : ORDINAL_NONE;
}

unsigned int context_ordinal(const struct contexts *contexts, unsigned int context)
{
	return contexts->list[context].ordinal;
}

int context_gpu(const struct contexts *contexts, unsigned int ordinal)
{
	return ordinal < contexts->device_count ? contexts->devices[ordinal].gpu : GPU_UNKNOWN;
}

struct device *context_device(struct contexts *contexts, unsigned int ordinal)
{
	if (ordinal >= ORDINAL_NONE)
		return NULL;
	if (ordinal >= contexts->device_count) {
		contexts->devices = xreallocarray(contexts->devices, ordinal + 1, sizeof(*contexts->devices));
		for (; contexts->device_count <= ordinal; contexts->device_count++)
			contexts->devices[contexts->device_count] = (struct device){ .gpu = GPU_UNKNOWN };
	}
	return &contexts->devices[ordinal];
}

void context_learn_gpu(struct contexts *contexts, unsigned int ordinal, int gpu)
{
	struct device *device = context_device(contexts, ordinal);

	if (device && device->gpu == GPU_UNKNOWN)
		device->gpu = gpu;
}

/* ---- pools ---- */

/* CUmemLocationType and CUmemAllocationType of cuda.h. */
#define LOCATION_HOST 2
#define LOCATION_HOST_NUMA_CURRENT 4
#define TYPE_MANAGED 2

unsigned int pool_class_at(unsigned int location, unsigned int type, unsigned int device)
{
	if (location >= LOCATION_HOST && location <= LOCATION_HOST_NUMA_CURRENT)
		return GMT_CLASS_PINNED;
	return type == TYPE_MANAGED ? GMT_CLASS_MANAGED : device;
}
