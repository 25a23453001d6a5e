/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory of other processes: IPC handles, shared pools and their pointers, external memory. An importer duplicates the
 * exporter's RM object and maps the object: the importer gets no video memory of its own. What names the memory (a
 * 64-byte handle, a file) says all that an importer needs.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "standin.h"

#define MAGIC 0x4d475453 /* "STGM" */

struct shared_name {
	uint32_t magic, client, object, nvml;
	uint64_t chunk_bytes, offset, request, serial;
	uint32_t pid;
	uint8_t rest[12];
};
_Static_assert(sizeof(struct shared_name) == 64, "as large as CUipcMemHandle");

int handoff_new(uint32_t object, const struct device *device, uint64_t size)
{
	struct handoff handoff = {
		.magic = MAGIC, .client = rm_client(), .object = object,
		.nvml = (uint32_t)device->nvml, .size = size,
	};
	int fd = memfd_create("standin-memory", MFD_CLOEXEC);

	if (fd >= 0 && pwrite(fd, &handoff, sizeof(handoff), 0) != sizeof(handoff)) {
		close(fd);
		return -1;
	}
	return fd;
}

bool handoff_read(int fd, struct handoff *handoff)
{
	return pread(fd, handoff, sizeof(*handoff), 0) == sizeof(*handoff) && handoff->magic == MAGIC;
}

static struct chunk *foreign_map(enum chunk_kind kind, struct device *device, uint32_t client,
				 uint32_t object, uint64_t size)
{
	struct chunk *chunk = calloc(1, sizeof(*chunk));

	if (!chunk)
		abort();
	*chunk = (struct chunk){
		.kind = (uint8_t)kind, .device = device, .size = ROUND_UP(size, PAGE_BYTES), .refs = 1,
		.key = (uint64_t)client << 32 | object,
	};
	chunk->base = va_take(chunk->size);
	if (!chunk->base) {
		free(chunk);
		return NULL;
	}
	chunk->rm = rm_dup(device, client, object);
	va_set(chunk->base, chunk->size, chunk);
	uvm_create_range(chunk->base, chunk->size);
	uvm_map(device, chunk->base, chunk->size, chunk->rm);
	return chunk;
}

static struct { struct chunk *first; } foreign;

static struct chunk *foreign_find(enum chunk_kind kind, uint64_t key)
{
	for (struct chunk *chunk = foreign.first; chunk; chunk = chunk->next)
		if (chunk->kind == kind && chunk->key == key && !chunk->owner)
			return chunk;
	return NULL;
}

static struct chunk *foreign_get(enum chunk_kind kind, const struct shared_name *name)
{
	struct chunk *chunk = foreign_find(kind, (uint64_t)name->client << 32 | name->object);
	struct device *device = device_of_nvml(name->nvml);

	if (chunk) {
		chunk->refs++;
		return chunk;
	}
	chunk = device ? foreign_map(kind, device, name->client, name->object, name->chunk_bytes) : NULL;
	if (!chunk)
		return NULL;
	chunk->next = foreign.first;
	foreign.first = chunk;
	return chunk;
}

void foreign_unmap(struct chunk *chunk)
{
	struct chunk **link = &foreign.first;

	while (*link && *link != chunk)
		link = &(*link)->next;
	if (*link)
		*link = chunk->next;
	uvm_free(chunk->base, chunk->size);
	rm_free(chunk->device->rm_device, chunk->rm);
	va_set(chunk->base, chunk->size, NULL);
	va_give(chunk->base, chunk->size);
	free(chunk);
}

static bool name_of(CUdeviceptr dptr, bool of_pool, struct shared_name *name)
{
	struct chunk *chunk = va_chunk(dptr);
	uint64_t base, size;

	if (!chunk || chunk->kind > CHUNK_BLOCK || !chunk->heap || !!chunk->heap->pool != of_pool ||
	    !heap_lookup(chunk, dptr, &base, &size))
		return false;
	*name = (struct shared_name){
		.magic = MAGIC,
		.client = rm_client(),
		.object = chunk->rm,
		.nvml = (uint32_t)chunk->device->nvml,
		.chunk_bytes = chunk->size,
		.offset = base - chunk->base,
		.request = size,
		.pid = (uint32_t)getpid(),
	};
	return true;
}

static CUresult ipc_get(CUipcMemHandle *handle, CUdeviceptr dptr)
{
	struct shared_name name;

	if (!handle || !name_of(dptr, false, &name))
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(handle, &name, sizeof(name));
	return CUDA_SUCCESS;
}

CUresult cuIpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr dptr)
{
	API(ipc_get(handle, dptr));
}

static CUresult ipc_open(CUdeviceptr *dptr, const CUipcMemHandle *handle, unsigned int flags)
{
	CUresult why = CUDA_SUCCESS;
	struct shared_name name;
	struct chunk *chunk;

	memcpy(&name, handle, sizeof(name));
	if (!ctx_current(&why))
		return why;
	if (!dptr || flags != 1 || name.magic != MAGIC)
		return CUDA_ERROR_INVALID_VALUE;
	if (name.client == rm_client())
		return CUDA_ERROR_INVALID_CONTEXT; /* its own process cannot open it */
	chunk = foreign_get(CHUNK_IMPORT, &name);
	if (!chunk)
		return CUDA_ERROR_INVALID_DEVICE;
	*dptr = chunk->base + name.offset;
	return CUDA_SUCCESS;
}

CUresult cuIpcOpenMemHandle(CUdeviceptr *dptr, CUipcMemHandle handle, unsigned int flags)
{
	API(ipc_open(dptr, &handle, flags));
}

CUresult cuIpcOpenMemHandle_v2(CUdeviceptr *dptr, CUipcMemHandle handle, unsigned int flags)
{
	API(ipc_open(dptr, &handle, flags));
}

static CUresult ipc_close(CUdeviceptr dptr)
{
	struct chunk *chunk = va_chunk(dptr);

	if (!chunk || chunk->kind != CHUNK_IMPORT || chunk->owner)
		return CUDA_ERROR_INVALID_VALUE;
	if (!--chunk->refs)
		foreign_unmap(chunk);
	return CUDA_SUCCESS;
}

CUresult cuIpcCloseMemHandle(CUdeviceptr dptr)
{
	API(ipc_close(dptr));
}

/* ---- pools of others ---- */
static CUresult pool_export(void *out, CUmemoryPool handle, int type)
{
	struct pool *pool = object_get(handle, OBJECT_POOL);

	if (!pool || !out || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
		return CUDA_ERROR_INVALID_VALUE;
	*(int *)out = handoff_new(0, pool->heap.device, 0);
	return *(int *)out < 0 ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

CUresult cuMemPoolExportToShareableHandle(void *handle, CUmemoryPool pool, int type, unsigned long long flags)
{
	(void)flags;
	API(pool_export(handle, pool, type));
}

static CUresult pool_import(CUmemoryPool *out, void *handle, int type)
{
	struct handoff handoff;
	struct pool *pool;

	if (!out || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ||
	    !handoff_read((int)(intptr_t)handle, &handoff) || !device_of_nvml(handoff.nvml))
		return CUDA_ERROR_INVALID_VALUE;
	pool = pool_imported(device_of_nvml(handoff.nvml));
	*out = (CUmemoryPool)pool;
	return CUDA_SUCCESS;
}

CUresult cuMemPoolImportFromShareableHandle(CUmemoryPool *pool, void *handle, int type,
					    unsigned long long flags)
{
	(void)flags;
	API(pool_import(pool, handle, type));
}

static CUresult pointer_export(CUmemPoolPtrExportData *data, CUdeviceptr ptr)
{
	struct shared_name name;

	if (!data || !name_of(ptr, true, &name))
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(data, &name, sizeof(name));
	return CUDA_SUCCESS;
}

CUresult cuMemPoolExportPointer(CUmemPoolPtrExportData *data, CUdeviceptr ptr)
{
	API(pointer_export(data, ptr));
}

static CUresult pointer_import(CUdeviceptr *ptr, CUmemoryPool handle, const CUmemPoolPtrExportData *data)
{
	struct pool *pool = object_get(handle, OBJECT_POOL);
	struct shared_name name;
	struct chunk *chunk;

	if (!ptr || !data || !pool || !pool->imported)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(&name, data, sizeof(name));
	chunk = name.magic == MAGIC ? foreign_get(CHUNK_POINTER, &name) : NULL;
	if (!chunk)
		return CUDA_ERROR_INVALID_VALUE;
	*ptr = chunk->base + name.offset;
	return CUDA_SUCCESS;
}

CUresult cuMemPoolImportPointer(CUdeviceptr *ptr, CUmemoryPool pool, CUmemPoolPtrExportData *data)
{
	API(pointer_import(ptr, pool, data));
}

/* ---- external memory ---- */
static CUresult ext_import(CUexternalMemory *out, const CUDA_EXTERNAL_MEMORY_HANDLE_DESC *desc)
{
	CUresult why = CUDA_SUCCESS;
	struct ctx *ctx = ctx_current(&why);
	struct handoff handoff = { .client = 0xc1d0fffe, .object = 0x5c000001 }; /* another API's, made up */
	struct ext *ext;

	if (!ctx)
		return why;
	if (!out || !desc || !desc->size || desc->type < 1 || desc->type > 8)
		return CUDA_ERROR_INVALID_VALUE;
	if (desc->type == 1)
		handoff_read(desc->handle.fd, &handoff);
	ext = object_new(OBJECT_EXT);
	ext->device = ctx->device;
	ext->ctx = ctx;
	ext->size = desc->size;
	ext->client = handoff.client;
	ext->object = handoff.object;
	*out = (CUexternalMemory)ext;
	return CUDA_SUCCESS;
}

CUresult cuImportExternalMemory(CUexternalMemory *ext, const CUDA_EXTERNAL_MEMORY_HANDLE_DESC *desc)
{
	API(ext_import(ext, desc));
}

static CUresult ext_map(CUdeviceptr *dptr, CUexternalMemory handle,
			const CUDA_EXTERNAL_MEMORY_BUFFER_DESC *desc)
{
	struct ext *ext = object_get(handle, OBJECT_EXT);
	struct chunk *chunk;

	if (!ext || !dptr || !desc || !desc->size || desc->offset > ext->size ||
	    desc->size > ext->size - desc->offset)
		return CUDA_ERROR_INVALID_VALUE;
	chunk = foreign_map(CHUNK_IMPORT, ext->device, ext->client, ext->object, ext->size);
	if (!chunk)
		return CUDA_ERROR_OUT_OF_MEMORY;
	chunk->owner = ext;
	*dptr = chunk->base + desc->offset;
	return CUDA_SUCCESS;
}

CUresult cuExternalMemoryGetMappedBuffer(CUdeviceptr *dptr, CUexternalMemory ext,
		const CUDA_EXTERNAL_MEMORY_BUFFER_DESC *desc)
{
	API(ext_map(dptr, ext, desc));
}

static CUresult ext_map_array(CUmipmappedArray *out, CUexternalMemory handle, const void *desc)
{
	struct ext *ext = object_get(handle, OBJECT_EXT);
	struct ext_array *array;

	if (!ext || !out || !desc)
		return CUDA_ERROR_INVALID_VALUE;
	array = object_new(OBJECT_EXT_ARRAY);
	array->ext = ext;
	*out = (CUmipmappedArray)array;
	return CUDA_SUCCESS;
}

CUresult cuExternalMemoryGetMappedMipmappedArray(CUmipmappedArray *array, CUexternalMemory ext, const void *desc)
{
	API(ext_map_array(array, ext, desc));
}

bool ext_array_destroy(const void *handle)
{
	struct ext_array *array = object_get(handle, OBJECT_EXT_ARRAY);

	if (array)
		object_delete(array);
	return array;
}

/* The file has the memory's name only: it does not keep the memory alive. */
static CUresult range_export(int *fd, CUdeviceptr dptr, size_t size, int type)
{
	struct chunk *chunk = va_chunk(dptr);

	if (!fd || !size || type != 1 || !chunk || !chunk->rm)
		return CUDA_ERROR_INVALID_VALUE;
	*fd = handoff_new(chunk->rm, chunk->device, size);
	return *fd < 0 ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

CUresult cuMemGetHandleForAddressRange(void *handle, CUdeviceptr dptr, size_t size, int type, unsigned long long flags)
{
	(void)flags;
	API(range_export(handle, dptr, size, type));
}

static CUresult ext_destroy(CUexternalMemory handle)
{
	struct ext *ext = object_get(handle, OBJECT_EXT);

	if (!ext)
		return CUDA_ERROR_INVALID_HANDLE;
	object_delete(ext);
	return CUDA_SUCCESS;
}

CUresult cuDestroyExternalMemory(CUexternalMemory ext)
{
	API(ext_destroy(ext));
}

static void ext_of_ctx(void *body, void *ctx)
{
	if (((struct ext *)body)->ctx == ctx)
		object_delete(body);
}

void ext_take_down(struct ctx *ctx)
{
	object_each(OBJECT_EXT, ext_of_ctx, ctx);
}
