// SPDX-License-Identifier: BSD-2-Clause
#include "core/ledger/process_tables.h"

#include "base/xalloc.h"

/* ---- contexts, devices ---- */

#define CONTEXTS_MAX UINT16_MAX

unsigned int contexts_find(const struct contexts *contexts, uint64_t handle)
{
	const uint16_t *number = hash_get(&contexts->by_handle, handle);

	return number ? *number : 0;
}

static unsigned int add_context(struct contexts *contexts, struct context context)
{
	if (contexts->count > CONTEXTS_MAX)
		return 0;
	contexts->list = xreallocarray(contexts->list, contexts->count + 1, sizeof(*contexts->list));
	contexts->list[contexts->count] = context;
	return contexts->count++;
}

unsigned int contexts_get(struct contexts *contexts, uint64_t handle)
{
	unsigned int number = contexts_find(contexts, handle);

	if (number || !handle)
		return number;
	number = add_context(contexts, (struct context){ .ordinal = ORDINAL_NONE });
	if (number)
		*(uint16_t *)hash_put(&contexts->by_handle, handle, NULL) = number;
	return number;
}

unsigned int contexts_owner(struct contexts *contexts, unsigned int context)
{
	unsigned int ordinal = context_ordinal(contexts, context);
	struct device *device;

	if (contexts->list[context].kind != CONTEXT_GREEN)
		return context;
	device = context_device(contexts, ordinal);
	if (device && !device->owner)
		device->owner = add_context(contexts, (struct context){ .ordinal = ordinal, .kind = CONTEXT_PRIMARY });
	return device ? device->owner : 0;
}

unsigned int context_ordinal_of(uint64_t dev)
{
	return dev < ORDINAL_NONE ? dev : ORDINAL_NONE;
}

unsigned int context_ordinal_at(uint64_t location, uint64_t id)
{
	if (location == LOCATION_DEVICE)
		return context_ordinal_of(id);
	return location == LOCATION_DEVICE_DOMAIN ? context_ordinal_of(id & 0xff) : ORDINAL_NONE;
}

unsigned int context_ordinal(const struct contexts *contexts, unsigned int context)
{
	const struct context *c = &contexts->list[context];

	return c->green ? contexts->list[c->green].ordinal : c->ordinal;
}

int context_gpu(const struct contexts *contexts, unsigned int ordinal)
{
	return ordinal < contexts->device_count ? contexts->devices[ordinal].gpu : GPU_UNKNOWN;
}

unsigned int context_ordinal_of_gpu(const struct contexts *contexts, int gpu)
{
	for (uint32_t i = 0; gpu != GPU_UNKNOWN && i < contexts->device_count; i++)
		if (contexts->devices[i].gpu == gpu)
			return i;
	return ORDINAL_NONE;
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
