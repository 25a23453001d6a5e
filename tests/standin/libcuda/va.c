/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Device addresses: a private range of the process, in pages of 2 MiB, reserved so that nothing else lies there. A
 * range that was given back is the next to be given out for its size, as with the real driver: a tool that sees a free
 * after the address was allocated again is caught.
 *
 * Invariant: pages[] names the chunk of every page in use; a page without one is free or reserved.
 */
#include <stdlib.h>
#include <sys/mman.h>

#include "standin.h"

#define VA_BYTES (1ULL << 40)
#define VA_PAGES (VA_BYTES >> PAGE_SHIFT)
#define LOW_HINT 0x40000000ULL
#define LOW_BYTES (512 * STANDIN_MIB)
#define LOW_PAGES (LOW_BYTES >> PAGE_SHIFT)
#define BUCKETS 256

struct range {
	uint64_t base, size;
	struct range *next;
};

static struct {
	uint64_t base, top;             /* [base, top) was given out at least once */
	uint64_t low_base, low_top;
	struct chunk **pages;
	struct chunk *low_pages[LOW_PAGES];
	struct range *free[BUCKETS];    /* by size in pages, newest first */
	struct range *reserved;
	struct range *spare;            /* unused struct range */
} va;

static void *reserve(void *hint, uint64_t size, int flags)
{
	void *map = mmap(hint, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);

	return map == MAP_FAILED ? NULL : map;
}

int va_start(void)
{
	uint64_t base = (uint64_t)reserve(NULL, VA_BYTES + PAGE_BYTES, 0);

	va.pages = mmap(NULL, VA_PAGES * sizeof(va.pages[0]), PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (!base || va.pages == MAP_FAILED)
		return -1;
	va.base = va.top = ROUND_UP(base, PAGE_BYTES);
	return 0;
}

static struct range *range_new(uint64_t base, uint64_t size, struct range *next)
{
	struct range *range = va.spare;

	if (range)
		va.spare = range->next;
	else
		range = malloc(sizeof(*range));
	if (!range)
		abort();
	*range = (struct range){ base, size, next };
	return range;
}

static void range_delete(struct range **link)
{
	struct range *range = *link;

	*link = range->next;
	range->next = va.spare;
	va.spare = range;
}

static struct range **bucket(uint64_t size)
{
	return &va.free[(size >> PAGE_SHIFT) % BUCKETS];
}

uint64_t va_take(uint64_t size)
{
	uint64_t base;

	for (struct range **link = bucket(size); *link; link = &(*link)->next) {
		if ((*link)->size != size)
			continue;
		base = (*link)->base;
		range_delete(link);
		return base;
	}
	if (size > va.base + VA_BYTES - va.top)
		return 0;
	base = va.top;
	va.top += size;
	return base;
}

void va_give(uint64_t base, uint64_t size)
{
	if (base >= va.low_base && base < va.low_base + LOW_BYTES)
		return; /* v1 addresses are not given out twice: nothing lives long enough to run out */
	*bucket(size) = range_new(base, size, *bucket(size));
}

uint64_t va_take_low(uint64_t size)
{
	uint64_t base;

	if (!va.low_base) {
		for (uint64_t hint = LOW_HINT; hint < 0xE0000000 && !va.low_base; hint += LOW_BYTES)
			va.low_base = (uint64_t)reserve((void *)hint, LOW_BYTES, MAP_FIXED_NOREPLACE);
		va.low_top = va.low_base;
	}
	if (!va.low_base || size > va.low_base + LOW_BYTES - va.low_top)
		return 0;
	base = va.low_top;
	va.low_top += size;
	return base;
}

static struct chunk **page(uint64_t address)
{
	if (address - va.base < VA_BYTES)
		return &va.pages[(address - va.base) >> PAGE_SHIFT];
	if (va.low_base && address - va.low_base < LOW_BYTES)
		return &va.low_pages[(address - va.low_base) >> PAGE_SHIFT];
	return NULL;
}

void va_set(uint64_t base, uint64_t size, struct chunk *chunk)
{
	struct chunk **first = page(base);

	for (uint64_t i = 0; i < size >> PAGE_SHIFT; i++)
		first[i] = chunk;
}

struct chunk *va_chunk(uint64_t address)
{
	struct chunk **at = page(address);

	return at ? *at : NULL;
}

bool va_empty(uint64_t base, uint64_t size)
{
	for (uint64_t at = base; at < base + size; at += PAGE_BYTES)
		if (va_chunk(at))
			return false;
	return true;
}

bool va_reserve_note(uint64_t base, uint64_t size)
{
	va.reserved = range_new(base, size, va.reserved);
	return true;
}

bool va_reserve_drop(uint64_t base, uint64_t size)
{
	for (struct range **link = &va.reserved; *link; link = &(*link)->next) {
		if ((*link)->base != base || (*link)->size != size)
			continue;
		range_delete(link);
		return true;
	}
	return false;
}

bool va_reserve_covers(uint64_t base, uint64_t size)
{
	for (struct range *range = va.reserved; range; range = range->next)
		if (base >= range->base && size <= range->size && base - range->base <= range->size - size)
			return true;
	return false;
}
