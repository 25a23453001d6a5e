/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory of cuMemCreate that is bound to a multicast object, to a logical endpoint or to a sparse array. An endpoint is
 * its number here: nobody creates it.
 */
#include "standin.h"

struct range {
	int kind, dev;
	uint64_t holder, offset, size;
};

static CUresult bind(int kind, uint64_t holder, int dev, uint64_t offset, struct vmm *vmm)
{
	struct binding *binding;

	if (!vmm || vmm->multicast || (!vmm->refs && !vmm->maps))
		return CUDA_ERROR_INVALID_VALUE;
	binding = object_new(OBJECT_BINDING);
	*binding = (struct binding){ .kind = kind, .holder = holder, .dev = dev, .offset = offset, .vmm = vmm };
	vmm->maps++;
	return CUDA_SUCCESS;
}

static void end_one(void *body, void *arg)
{
	const struct range *range = arg;
	struct binding *binding = body;
	struct vmm *vmm = binding->vmm;

	if ((int)binding->kind != range->kind || binding->holder != range->holder ||
	    (range->dev >= 0 && binding->dev != range->dev) || binding->offset < range->offset ||
	    binding->offset - range->offset >= range->size)
		return;
	object_delete(binding);
	vmm_let_go(vmm);
}

static CUresult unbind(int kind, uint64_t holder, int dev, uint64_t offset, uint64_t size)
{
	object_each(OBJECT_BINDING, end_one, &(struct range){ kind, dev, holder, offset, size });
	return CUDA_SUCCESS;
}

void bind_drop(int kind, uint64_t holder)
{
	unbind(kind, holder, -1, 0, UINT64_MAX);
}

static struct vmm *vmm_at(CUdeviceptr ptr)
{
	struct chunk *chunk = va_chunk(ptr);

	return chunk && chunk->kind == CHUNK_MAPPING ? chunk->owner : NULL;
}

static CUresult multicast(CUmemGenericAllocationHandle handle, int dev, uint64_t offset, struct vmm *vmm)
{
	struct vmm *holder = vmm_get(handle);

	if (!holder || !holder->multicast || !vmm || !vmm->device)
		return CUDA_ERROR_INVALID_VALUE;
	return bind(BOUND_MULTICAST, handle, dev < 0 ? vmm->device->ordinal : dev, offset, vmm);
}

CUresult cuMulticastBindMem(CUmemGenericAllocationHandle handle, size_t offset, CUmemGenericAllocationHandle memory,
			    size_t at, size_t size, unsigned long long flags)
{
	(void)at, (void)size, (void)flags;
	API(multicast(handle, -1, offset, vmm_get(memory)));
}

CUresult cuMulticastBindAddr(CUmemGenericAllocationHandle handle, size_t offset, CUdeviceptr ptr, size_t size,
			     unsigned long long flags)
{
	(void)size, (void)flags;
	API(multicast(handle, -1, offset, vmm_at(ptr)));
}

#ifndef STANDIN_OLD_EXPORTS
CUresult cuMulticastBindMem_v2(CUmemGenericAllocationHandle handle, CUdevice dev, size_t offset,
			       CUmemGenericAllocationHandle memory, size_t at, size_t size, unsigned long long flags)
{
	(void)at, (void)size, (void)flags;
	API(multicast(handle, dev, offset, vmm_get(memory)));
}

CUresult cuMulticastBindAddr_v2(CUmemGenericAllocationHandle handle, CUdevice dev, size_t offset, CUdeviceptr ptr,
				size_t size, unsigned long long flags)
{
	(void)size, (void)flags;
	API(multicast(handle, dev, offset, vmm_at(ptr)));
}
#endif

CUresult cuMulticastUnbind(CUmemGenericAllocationHandle handle, CUdevice dev, size_t offset, size_t size)
{
	API(unbind(BOUND_MULTICAST, handle, dev, offset, size));
}

CUresult cuLogicalEndpointBindMem(CUlogicalEndpointId endpoint, CUdevice dev, uint64_t offset,
				  CUmemGenericAllocationHandle handle, uint64_t at, uint64_t size,
				  unsigned long long flags)
{
	(void)at, (void)size, (void)flags;
	API(bind(BOUND_ENDPOINT, endpoint, dev, offset, vmm_get(handle)));
}

CUresult cuLogicalEndpointBindAddr(CUlogicalEndpointId endpoint, CUdevice dev, uint64_t offset, void *ptr,
				   uint64_t size, unsigned long long flags)
{
	(void)size, (void)flags;
	API(bind(BOUND_ENDPOINT, endpoint, dev, offset, vmm_at((uint64_t)ptr)));
}

CUresult cuLogicalEndpointUnbind(CUlogicalEndpointId endpoint, CUdevice dev, uint64_t offset, uint64_t size)
{
	API(unbind(BOUND_ENDPOINT, endpoint, dev, offset, size));
}

static CUresult endpoint_destroy(CUlogicalEndpointId endpoint)
{
	bind_drop(BOUND_ENDPOINT, endpoint);
	return CUDA_SUCCESS;
}

CUresult cuLogicalEndpointDestroy(CUlogicalEndpointId endpoint)
{
	API(endpoint_destroy(endpoint));
}

/* Each tile lies at the first word of its place. */
static CUresult map_array(const CUarrayMapInfo *list, unsigned int count)
{
	CUresult rc = CUDA_SUCCESS;

	for (unsigned int i = 0; i < count && !rc; i++) {
		uint64_t array = (uintptr_t)list[i].resource.array;

		if (!object_get((void *)(uintptr_t)array, OBJECT_ARRAY))
			rc = CUDA_ERROR_INVALID_HANDLE;
		else if (list[i].memOperationType == CU_MEM_OPERATION_TYPE_MAP)
			rc = bind(BOUND_ARRAY, array, 0, list[i].subresource[0], vmm_get(list[i].memHandle));
		else
			rc = unbind(BOUND_ARRAY, array, -1, list[i].subresource[0], 1);
	}
	return rc;
}

CUresult cuMemMapArrayAsync(CUarrayMapInfo *list, unsigned int count, CUstream stream)
{
	(void)stream;
	if (!list || !count)
		return CUDA_ERROR_INVALID_VALUE;
	API(map_array(list, count));
}
