/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Chunks of device memory and the heaps of contexts and pools. Small requests share chunks of 2 MiB by power-of-two
 * size class, large requests have a block of their own. A small allocation and its free touch one chunk and walk no
 * list: the benchmark measures probes against this pair.
 *
 * Invariant: a slab is in its class's partial list exactly while it has both used and free slots, or
 * is the empty one that is kept.
 */
#include <stdlib.h>

#include "standin.h"

struct chunk *chunk_new(struct device *device, enum chunk_kind kind, uint64_t size)
{
	struct chunk *chunk = calloc(1, sizeof(*chunk));
	uint32_t rm = chunk ? rm_vidmem(device, size, RM_ATTR_VIDMEM) : 0;

	if (!rm) {
		free(chunk);
		return NULL;
	}
	*chunk = (struct chunk){ .size = size, .device = device, .kind = (uint8_t)kind, .rm = rm };
	return chunk;
}

static bool chunk_place(struct chunk *chunk, uint64_t base)
{
	if (!base)
		return false;
	chunk->base = base;
	va_set(base, chunk->size, chunk);
	uvm_create_range(base, chunk->size);
	uvm_map(chunk->device, base, chunk->size, chunk->rm);
	chunk->mapped = true;
	return true;
}

/* The order of the driver: the range first, then the memory. */
void chunk_free(struct chunk *chunk)
{
	if (chunk->mapped)
		uvm_free(chunk->base, chunk->size);
	if (chunk->rm)
		rm_free_vidmem(chunk->device, chunk->rm, chunk->size);
	if (chunk->base) {
		va_set(chunk->base, chunk->size, NULL);
		va_give(chunk->base, chunk->size);
	}
	free(chunk->free_stack);
	free(chunk->requests);
	free(chunk);
}

void heap_init(struct heap *heap, struct device *device, struct pool *pool, uint64_t round)
{
	*heap = (struct heap){ .device = device, .pool = pool, .round = round };
}

static void heap_account(struct heap *heap, int64_t used, int64_t reserved)
{
	heap->used += (uint64_t)used;
	heap->reserved += (uint64_t)reserved;
	if (heap->used > heap->used_high)
		heap->used_high = heap->used;
	if (heap->reserved > heap->reserved_high)
		heap->reserved_high = heap->reserved;
}

static struct chunk *heap_chunk(struct heap *heap, enum chunk_kind kind, uint64_t size, uint64_t base)
{
	struct chunk *chunk = chunk_new(heap->device, kind, size);

	if (!chunk)
		return NULL;
	if (!chunk_place(chunk, base ? base : va_take(size))) {
		chunk_free(chunk);
		return NULL;
	}
	chunk->heap = heap;
	chunk->next = heap->all;
	if (heap->all)
		heap->all->prev = chunk;
	heap->all = chunk;
	heap_account(heap, 0, (int64_t)size);
	return chunk;
}

static void heap_drop(struct heap *heap, struct chunk *chunk)
{
	if (chunk->prev)
		chunk->prev->next = chunk->next;
	else
		heap->all = chunk->next;
	if (chunk->next)
		chunk->next->prev = chunk->prev;
	heap_account(heap, 0, -(int64_t)chunk->size);
	chunk_free(chunk);
}

static void partial_link(struct heap *heap, struct chunk *slab)
{
	struct chunk **head = &heap->partial[slab->shift - SLAB_MIN_SHIFT];

	slab->partial_prev = NULL;
	slab->partial_next = *head;
	if (*head)
		(*head)->partial_prev = slab;
	*head = slab;
}

static void partial_unlink(struct heap *heap, struct chunk *slab)
{
	if (slab->partial_prev)
		slab->partial_prev->partial_next = slab->partial_next;
	else
		heap->partial[slab->shift - SLAB_MIN_SHIFT] = slab->partial_next;
	if (slab->partial_next)
		slab->partial_next->partial_prev = slab->partial_prev;
}

static struct chunk *slab_new(struct heap *heap, unsigned int shift, uint64_t base)
{
	struct chunk *slab = heap_chunk(heap, CHUNK_SLAB, PAGE_BYTES, base);

	if (!slab)
		return NULL;
	slab->shift = (uint8_t)shift;
	slab->slots = slab->free_slots = (uint16_t)(PAGE_BYTES >> shift);
	slab->free_stack = malloc(slab->slots * sizeof(slab->free_stack[0]));
	slab->requests = calloc(slab->slots, sizeof(slab->requests[0]));
	if (!slab->free_stack || !slab->requests)
		abort();
	for (unsigned int i = 0; i < slab->slots; i++)
		slab->free_stack[i] = (uint16_t)(slab->slots - 1 - i);
	partial_link(heap, slab);
	return slab;
}

static CUdeviceptr slab_take(struct heap *heap, struct chunk *slab, uint64_t size)
{
	unsigned int slot = slab->free_stack[--slab->free_slots];

	slab->requests[slot] = (uint32_t)size;
	if (!slab->free_slots)
		partial_unlink(heap, slab);
	heap_account(heap, (int64_t)size, 0);
	return slab->base + ((uint64_t)slot << slab->shift);
}

static unsigned int size_shift(uint64_t size)
{
	unsigned int shift = size <= 1 ? 0 : 64 - (unsigned int)__builtin_clzll(size - 1);

	return shift < SLAB_MIN_SHIFT ? SLAB_MIN_SHIFT : shift;
}

/* A pool keeps blocks it has no use for; one that is not more than twice too large will do. */
static struct chunk *cached_block(struct heap *heap, uint64_t size)
{
	struct chunk *best = NULL;

	for (struct chunk *chunk = heap->pool ? heap->all : NULL; chunk; chunk = chunk->next)
		if (chunk->kind == CHUNK_BLOCK && !chunk->request && chunk->size >= size &&
		    chunk->size <= 2 * size && (!best || chunk->size < best->size))
			best = chunk;
	return best;
}

CUdeviceptr heap_alloc(struct heap *heap, uint64_t size)
{
	unsigned int shift = size_shift(size);
	struct chunk *chunk;

	if (shift < SLAB_MIN_SHIFT + SLAB_CLASSES) {
		chunk = heap->partial[shift - SLAB_MIN_SHIFT];
		if (!chunk)
			chunk = slab_new(heap, shift, 0);
		return chunk ? slab_take(heap, chunk, size) : 0;
	}
	/* Keeps the rounding from wrapping around, too. */
	if (size > share_total(g.share, heap->device->nvml))
		size = share_total(g.share, heap->device->nvml) + PAGE_BYTES;
	chunk = cached_block(heap, ROUND_UP(size, heap->round));
	if (!chunk)
		chunk = heap_chunk(heap, CHUNK_BLOCK, ROUND_UP(size, heap->round), 0);
	if (!chunk)
		return 0;
	chunk->request = size;
	heap_account(heap, (int64_t)size, 0);
	return chunk->base;
}

CUdeviceptr heap_alloc_low(struct heap *heap, uint64_t size)
{
	uint64_t bytes = ROUND_UP(size, PAGE_BYTES), base = va_take_low(bytes);
	struct chunk *chunk = base ? heap_chunk(heap, CHUNK_BLOCK, bytes, base) : NULL;

	if (!chunk)
		return 0;
	chunk->request = size;
	heap_account(heap, (int64_t)size, 0);
	return chunk->base;
}

static bool slab_release(struct heap *heap, struct chunk *slab, CUdeviceptr address)
{
	uint64_t offset = address - slab->base;
	unsigned int slot = (unsigned int)(offset >> slab->shift);

	if (offset & ((1ULL << slab->shift) - 1) || !slab->requests[slot])
		return false;
	heap_account(heap, -(int64_t)slab->requests[slot], 0);
	slab->requests[slot] = 0;
	if (!slab->free_slots)
		partial_link(heap, slab);
	slab->free_stack[slab->free_slots++] = (uint16_t)slot;
	/* One empty slab a class stays, lest a pair at the edge cost two system calls each time. */
	if (slab->free_slots == slab->slots && !heap->pool && (slab->partial_prev || slab->partial_next)) {
		partial_unlink(heap, slab);
		heap_drop(heap, slab);
	}
	return true;
}

bool heap_release(struct chunk *chunk, CUdeviceptr address)
{
	struct heap *heap = chunk->heap;

	if (chunk->kind == CHUNK_SLAB)
		return slab_release(heap, chunk, address);
	if (address != chunk->base || !chunk->request)
		return false;
	heap_account(heap, -(int64_t)chunk->request, 0);
	chunk->request = 0;
	if (!heap->pool)
		heap_drop(heap, chunk);
	return true;
}

bool heap_lookup(struct chunk *chunk, uint64_t address, uint64_t *base, uint64_t *size)
{
	if (chunk->kind == CHUNK_SLAB) {
		uint64_t slot = (address - chunk->base) >> chunk->shift;

		*base = chunk->base + (slot << chunk->shift);
		*size = chunk->requests[slot];
	} else {
		*base = chunk->base;
		*size = chunk->request;
	}
	return *size && address - *base < *size;
}

/* Gives back chunks that hold no allocation, newest first, down to `keep` reserved bytes. */
void heap_trim(struct heap *heap, uint64_t keep)
{
	struct chunk *chunk = heap->all, *next;

	for (; chunk && heap->reserved > keep; chunk = next) {
		next = chunk->next;
		if (chunk->kind == CHUNK_SLAB) {
			if (chunk->free_slots < chunk->slots)
				continue;
			partial_unlink(heap, chunk);
		} else if (chunk->request) {
			continue;
		}
		heap_drop(heap, chunk);
	}
}

void heap_fini(struct heap *heap)
{
	while (heap->all)
		heap_drop(heap, heap->all);
	heap_init(heap, heap->device, heap->pool, heap->round);
}
