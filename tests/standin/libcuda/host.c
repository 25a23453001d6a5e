/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Host memory: pinned, registered and managed. The program can really use the memory; none of it counts as video
 * memory. Managed memory is freed with cuMemFree.
 */
#include <stdlib.h>
#include <sys/mman.h>

#include "standin.h"

static struct host **bucket(uint64_t address)
{
	return &g.hosts[(address >> 12) % HOST_BUCKETS];
}

static struct host **find(uint64_t address, enum host_kind kind)
{
	struct host **link = bucket(address);

	while (*link && ((*link)->address != address || (*link)->kind != kind))
		link = &(*link)->next;
	return *link ? link : NULL;
}

static struct host *note(struct ctx *ctx, enum host_kind kind, uint64_t address, uint64_t size)
{
	struct host *host = calloc(1, sizeof(*host));

	if (!host)
		abort();
	*host = (struct host){
		.address = address, .size = size, .kind = kind, .ctx = ctx, .device = ctx->device,
		.next = *bucket(address),
	};
	*bucket(address) = host;
	return host;
}

static void drop(struct host **link)
{
	struct host *host = *link;

	*link = host->next;
	if (host->rm) {
		uvm_free(host->address, ROUND_UP(host->size, 4096));
		rm_free(host->device->rm_device, host->rm);
	}
	if (host->mapped)
		munmap((void *)host->address, host->mapped);
	free(host);
}

static struct host *host_alloc(struct ctx *ctx, enum host_kind kind, size_t bytes)
{
	uint64_t mapped = ROUND_UP(bytes, 4096);
	void *map;
	struct host *host;

	if (mapped < bytes)
		return NULL;
	map = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (map == MAP_FAILED)
		return NULL;
	host = note(ctx, kind, (uint64_t)map, bytes);
	host->mapped = mapped;
	if (kind == HOST_PINNED) {
		host->rm = rm_sysmem(ctx->device, mapped);
		uvm_create_range(host->address, mapped);
		uvm_map(ctx->device, host->address, mapped, host->rm);
	}
	return host;
}

CUdeviceptr managed_alloc(struct ctx *ctx, size_t bytes)
{
	struct host *host = host_alloc(ctx, HOST_MANAGED, bytes);

	return host ? host->address : 0;
}

static CUresult pinned(void **pp, size_t bytes)
{
	CUresult why = CUDA_SUCCESS;
	struct ctx *ctx = ctx_current(&why);
	struct host *host;

	if (!ctx)
		return why;
	if (!pp || !bytes)
		return CUDA_ERROR_INVALID_VALUE;
	host = host_alloc(ctx, HOST_PINNED, bytes);
	if (!host)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*pp = (void *)host->address;
	return CUDA_SUCCESS;
}

CUresult cuMemHostAlloc(void **pp, size_t bytes, unsigned int flags)
{
	if (flags & ~7u)
		return CUDA_ERROR_INVALID_VALUE;
	API(pinned(pp, bytes));
}

CUresult cuMemAllocHost(void **pp, unsigned int bytes)
{
	API(pinned(pp, bytes));
}

CUresult cuMemAllocHost_v2(void **pp, size_t bytes)
{
	API(pinned(pp, bytes));
}

static CUresult forget(uint64_t address, enum host_kind kind, CUresult missing)
{
	struct host **link = find(address, kind);

	if (!link)
		return missing;
	drop(link);
	return CUDA_SUCCESS;
}

CUresult cuMemFreeHost(void *p)
{
	API(forget((uint64_t)p, HOST_PINNED, CUDA_ERROR_INVALID_VALUE));
}

CUresult managed_free(CUdeviceptr address)
{
	return forget(address, HOST_MANAGED, CUDA_ERROR_INVALID_VALUE);
}

static CUresult host_register(void *p, size_t bytes)
{
	CUresult why = CUDA_SUCCESS;
	struct ctx *ctx = ctx_current(&why);
	struct host *host;

	if (!ctx)
		return why;
	if (!p || !bytes)
		return CUDA_ERROR_INVALID_VALUE;
	if (find((uint64_t)p, HOST_REGISTERED) || find((uint64_t)p, HOST_PINNED))
		return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
	host = note(ctx, HOST_REGISTERED, (uint64_t)p, bytes);
	host->rm = rm_os_memory(ctx->device, p, ROUND_UP(bytes, 4096));
	uvm_create_range(host->address, ROUND_UP(bytes, 4096));
	uvm_map(ctx->device, host->address, ROUND_UP(bytes, 4096), host->rm);
	return CUDA_SUCCESS;
}

CUresult cuMemHostRegister(void *p, size_t bytes, unsigned int flags)
{
	(void)flags;
	API(host_register(p, bytes));
}

CUresult cuMemHostRegister_v2(void *p, size_t bytes, unsigned int flags)
{
	(void)flags;
	API(host_register(p, bytes));
}

CUresult cuMemHostUnregister(void *p)
{
	API(forget((uint64_t)p, HOST_REGISTERED, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED));
}

static CUresult managed(CUdeviceptr *dptr, size_t bytes, unsigned int flags)
{
	CUresult why = CUDA_SUCCESS;
	struct ctx *ctx = ctx_current(&why);

	if (!ctx)
		return why;
	if (!dptr || !bytes || flags < 1 || flags > 2)
		return CUDA_ERROR_INVALID_VALUE;
	*dptr = managed_alloc(ctx, bytes);
	return *dptr ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuMemAllocManaged(CUdeviceptr *dptr, size_t bytes, unsigned int flags)
{
	API(managed(dptr, bytes, flags));
}

void host_take_down(struct ctx *ctx)
{
	for (unsigned int i = 0; i < HOST_BUCKETS; i++) {
		struct host **link = &g.hosts[i];

		while (*link) {
			if ((*link)->ctx == ctx)
				drop(link);
			else
				link = &(*link)->next;
		}
	}
}
