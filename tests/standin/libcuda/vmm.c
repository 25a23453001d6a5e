/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Virtual memory management. Memory is given back when it has neither handles nor mappings left, in
 * whichever order they go. The kernel hears of a mapping at cuMemSetAccess, as from libcuda 580.
 *
 * Invariant: a mapping lies wholly inside one reserved range, and is unmapped whole.
 */
#include <stdlib.h>
#include <unistd.h>

#include "standin.h"

struct vmm *vmm_get(CUmemGenericAllocationHandle handle)
{
	return object_get((const void *)(uintptr_t)handle, OBJECT_VMM);
}

static void vmm_drop_if_unused(struct vmm *vmm)
{
	if (vmm->refs || vmm->maps)
		return;
	if (vmm->rm && vmm->imported)
		rm_free(vmm->device->rm_device, vmm->rm);
	else if (vmm->rm)
		rm_free_vidmem(vmm->device, vmm->rm, vmm->size);
	if (vmm->multicast)
		bind_drop(BOUND_MULTICAST, (uintptr_t)vmm);
	object_delete(vmm);
}

void vmm_let_go(struct vmm *vmm)
{
	vmm->maps--;
	vmm_drop_if_unused(vmm);
}

static CUresult reserve(CUdeviceptr *ptr, size_t size, size_t alignment)
{
	uint64_t base;

	if (!ptr || !size || size % PAGE_BYTES || alignment & (alignment - 1))
		return CUDA_ERROR_INVALID_VALUE;
	base = va_take(size);
	if (!base)
		return CUDA_ERROR_OUT_OF_MEMORY;
	va_reserve_note(base, size);
	*ptr = base;
	return CUDA_SUCCESS;
}

CUresult cuMemAddressReserve(CUdeviceptr *ptr, size_t size, size_t alignment, CUdeviceptr addr,
		unsigned long long flags)
{
	(void)addr;
	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	API(reserve(ptr, size, alignment));
}

static CUresult unreserve(CUdeviceptr ptr, size_t size)
{
	if (!va_reserve_covers(ptr, size) || !va_empty(ptr, size) || !va_reserve_drop(ptr, size))
		return CUDA_ERROR_INVALID_VALUE;
	va_give(ptr, size);
	return CUDA_SUCCESS;
}

CUresult cuMemAddressFree(CUdeviceptr ptr, size_t size)
{
	API(unreserve(ptr, size));
}

static CUresult create(CUmemGenericAllocationHandle *handle, size_t size, const CUmemAllocationProp *prop)
{
	struct device *device = NULL;
	struct vmm *vmm;
	uint32_t rm = 0;

	if (!handle || !prop || !size || size % PAGE_BYTES || prop->type != CU_MEM_ALLOCATION_TYPE_PINNED)
		return CUDA_ERROR_INVALID_VALUE;
	if (prop->location.type == CU_MEM_LOCATION_TYPE_DEVICE) {
		device = device_of(prop->location.id);
		if (!device)
			return CUDA_ERROR_INVALID_DEVICE;
		rm = rm_vidmem(device, size, RM_ATTR_VIDMEM_VMM);
		if (!rm)
			return CUDA_ERROR_OUT_OF_MEMORY;
	}
	vmm = object_new(OBJECT_VMM);
	*vmm = (struct vmm){ .size = size, .device = device, .rm = rm, .refs = 1, .prop = *prop };
	*handle = (uintptr_t)vmm;
	return CUDA_SUCCESS;
}

CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size, const CUmemAllocationProp *prop,
		unsigned long long flags)
{
	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	API(create(handle, size, prop));
}

static CUresult release(CUmemGenericAllocationHandle handle)
{
	struct vmm *vmm = vmm_get(handle);

	if (!vmm || !vmm->refs)
		return CUDA_ERROR_INVALID_VALUE;
	vmm->refs--;
	vmm_drop_if_unused(vmm);
	return CUDA_SUCCESS;
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
	API(release(handle));
}

static CUresult retain(CUmemGenericAllocationHandle *handle, uint64_t address)
{
	struct chunk *chunk = va_chunk(address);
	struct vmm *vmm;

	if (!handle || !chunk || chunk->kind != CHUNK_MAPPING)
		return CUDA_ERROR_INVALID_VALUE;
	vmm = chunk->owner;
	vmm->refs++;
	*handle = (uintptr_t)vmm;
	return CUDA_SUCCESS;
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *addr)
{
	API(retain(handle, (uint64_t)addr));
}

static CUresult map(uint64_t base, size_t size, size_t offset, CUmemGenericAllocationHandle handle)
{
	struct vmm *vmm = vmm_get(handle);
	struct chunk *chunk;

	if (!vmm || !vmm->refs || vmm->multicast || offset || !size || size > vmm->size ||
	    size % PAGE_BYTES || base % PAGE_BYTES || !va_reserve_covers(base, size) || !va_empty(base, size))
		return CUDA_ERROR_INVALID_VALUE;
	chunk = calloc(1, sizeof(*chunk));
	if (!chunk)
		abort();
	*chunk = (struct chunk){
		.base = base, .size = size, .device = vmm->device, .owner = vmm, .kind = CHUNK_MAPPING,
	};
	va_set(base, size, chunk);
	vmm->maps++;
	return CUDA_SUCCESS;
}

CUresult cuMemMap(CUdeviceptr ptr, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
		unsigned long long flags)
{
	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	API(map(ptr, size, offset, handle));
}

/* Walks the mappings of a range; CUDA_ERROR_INVALID_VALUE if it cuts one or holds a hole. */
static CUresult each_mapping(uint64_t base, uint64_t size, void (*fn)(struct chunk *chunk, const void *arg),
			     const void *arg)
{
	struct chunk *chunk;

	for (uint64_t at = base; at < base + size; at += chunk->size) {
		chunk = va_chunk(at);
		if (!chunk || chunk->kind != CHUNK_MAPPING || chunk->base != at ||
		    chunk->size > base + size - at)
			return CUDA_ERROR_INVALID_VALUE;
	}
	for (uint64_t at = base; fn && at < base + size;) {
		chunk = va_chunk(at);
		at += chunk->size;
		fn(chunk, arg);
	}
	return CUDA_SUCCESS;
}

static void unmap_one(struct chunk *chunk, const void *arg)
{
	struct vmm *vmm = chunk->owner;

	(void)arg;
	if (chunk->mapped)
		uvm_free(chunk->base, chunk->size);
	if (chunk->peer_rm)
		rm_free(g.devices[1 - vmm->device->ordinal].rm_device, chunk->peer_rm);
	va_set(chunk->base, chunk->size, NULL);
	free(chunk);
	vmm->maps--;
	vmm_drop_if_unused(vmm);
}

static CUresult unmap(uint64_t base, uint64_t size)
{
	if (!size || base % PAGE_BYTES || size % PAGE_BYTES || !va_reserve_covers(base, size))
		return CUDA_ERROR_INVALID_VALUE;
	return each_mapping(base, size, NULL, NULL) ?: each_mapping(base, size, unmap_one, NULL);
}

CUresult cuMemUnmap(CUdeviceptr ptr, size_t size)
{
	API(unmap(ptr, size));
}

static void access_one(struct chunk *chunk, const void *arg)
{
	const CUmemAccessDesc *desc = arg;
	struct device *device =
		desc->location.type == CU_MEM_LOCATION_TYPE_DEVICE ? device_of(desc->location.id) : NULL;
	struct vmm *vmm = chunk->owner;

	if (!device || !vmm->rm)
		return;
	if (!chunk->mapped) {
		uvm_create_range(chunk->base, chunk->size);
		uvm_map(vmm->device, chunk->base, chunk->size, vmm->rm);
		chunk->mapped = true;
	}
	if (device != vmm->device && !chunk->peer_rm) {
		chunk->peer_rm = rm_dup(device, rm_client(), vmm->rm);
		uvm_map(device, chunk->base, chunk->size, chunk->peer_rm);
	}
}

static CUresult set_access(uint64_t base, size_t size, const CUmemAccessDesc *desc, size_t count)
{
	CUresult rc = desc && count ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;

	for (size_t i = 0; i < count && !rc; i++)
		rc = each_mapping(base, size, access_one, &desc[i]);
	return rc;
}

CUresult cuMemSetAccess(CUdeviceptr ptr, size_t size, const CUmemAccessDesc *desc, size_t count)
{
	API(set_access(ptr, size, desc, count));
}

CUresult cuMemGetAllocationGranularity(size_t *granularity, const CUmemAllocationProp *prop, int option)
{
	(void)option;
	if (!granularity || !prop)
		return CUDA_ERROR_INVALID_VALUE;
	*granularity = PAGE_BYTES;
	return CUDA_SUCCESS;
}

static CUresult properties(CUmemAllocationProp *prop, CUmemGenericAllocationHandle handle)
{
	struct vmm *vmm = vmm_get(handle);

	if (!prop || !vmm)
		return CUDA_ERROR_INVALID_VALUE;
	*prop = vmm->prop;
	return CUDA_SUCCESS;
}

CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *prop,
						CUmemGenericAllocationHandle handle)
{
	API(properties(prop, handle));
}

static CUresult export_fd(void *out, CUmemGenericAllocationHandle handle, int type)
{
	struct vmm *vmm = vmm_get(handle);
	int fd;

	if (!out || !vmm || !vmm->rm || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
		return CUDA_ERROR_INVALID_VALUE;
	fd = handoff_new(vmm->rm, vmm->device, vmm->size);
	if (fd < 0)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*(int *)out = fd;
	return CUDA_SUCCESS;
}

CUresult cuMemExportToShareableHandle(void *out, CUmemGenericAllocationHandle handle, int type,
		unsigned long long flags)
{
	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	API(export_fd(out, handle, type));
}

static CUresult import_fd(CUmemGenericAllocationHandle *handle, int fd, int type)
{
	struct handoff handoff;
	struct device *device;
	struct vmm *vmm;

	if (!handle || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR || !handoff_read(fd, &handoff) ||
	    !handoff.object)
		return CUDA_ERROR_INVALID_VALUE;
	device = device_of_nvml(handoff.nvml);
	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	vmm = object_new(OBJECT_VMM);
	*vmm = (struct vmm){
		.size = handoff.size, .device = device, .refs = 1, .imported = true,
		.rm = rm_dup(device, handoff.client, handoff.object),
		.prop = {
			.type = CU_MEM_ALLOCATION_TYPE_PINNED,
			.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
			.location = { CU_MEM_LOCATION_TYPE_DEVICE, device->ordinal },
		},
	};
	*handle = (uintptr_t)vmm;
	return CUDA_SUCCESS;
}

CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *handle, void *os_handle, int type)
{
	API(import_fd(handle, (int)(intptr_t)os_handle, type));
}

static CUresult multicast(CUmemGenericAllocationHandle *handle, const CUmulticastObjectProp *prop)
{
	struct vmm *vmm;

	if (!handle || !prop || !prop->size || prop->size % PAGE_BYTES)
		return CUDA_ERROR_INVALID_VALUE;
	vmm = object_new(OBJECT_VMM);
	*vmm = (struct vmm){ .size = prop->size, .refs = 1, .multicast = true };
	rm_object(rm_client(), 0xfd); /* NV_MEMORY_MULTICAST_FABRIC: in the switch, not in a GPU */
	*handle = (uintptr_t)vmm;
	return CUDA_SUCCESS;
}

CUresult cuMulticastCreate(CUmemGenericAllocationHandle *handle, const CUmulticastObjectProp *prop)
{
	API(multicast(handle, prop));
}
