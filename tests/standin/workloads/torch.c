/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * torch LIBC10 [STEPS]: a caching allocator like PyTorch's on both GPUs, which opens a libc10 while running and reports
 * its blocks to this library. Device 0 has segments of cuMemAlloc, device 1 has an expandable segment. Prints what
 * torch.cuda.memory_stats() would, as torch.<UUID>.<what>=N lines, and since_half lines as if reset_peak_memory_stats()
 * had been called in the middle.
 *
 * torch LIBC10 storm PAIRS: only reports, as fast as they go; nanoseconds for each go to stderr.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "wl_common.h"

#define GPUS 2
#define SLOTS 64
#define SLOT_BYTES (5 * MIB)
#define SEGMENT_BYTES (20 * MIB)
#define SLOTS_EACH (SEGMENT_BYTES / SLOT_BYTES)
#define CPU 0
#define CUDA 1

/* The device is two bytes in a register; what is above them is whatever was there. */
typedef void report_fn(uint64_t ptr, int64_t size, uint64_t allocated, uint64_t reserved, uint64_t device);

static report_fn *report;

struct allocator {
	CUcontext ctx;
	CUdeviceptr base;                  /* device 1: of its expandable segment */
	CUdeviceptr segment[SLOTS / SLOTS_EACH];
	CUmemGenericAllocationHandle handle[SLOTS / SLOTS_EACH];
	uint64_t size[SLOTS];              /* of the block in a slot, 0: free */
	uint64_t allocated, allocated_peak, reserved, reserved_peak, blocks, allocs, frees;
	uint64_t since_half[2];            /* peaks of the two */
};

static struct allocator allocators[GPUS];

static void load(const char *path)
{
	static const char *const names[] = {
		"_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE",
		"_ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE",
	};
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	for (int i = 0; i < 2 && library && !report; i++)
		report = (report_fn *)dlsym(library, names[i]);
	if (!report) {
		fprintf(stderr, "%s: %s\n", path, dlerror());
		exit(1);
	}
}

static void tell(int dev, uint64_t ptr, int64_t size, int type)
{
	struct allocator *a = &allocators[dev];

	report(ptr, size, a->allocated, a->reserved, 0xdeadbeef5aa50000u | (unsigned)dev << 8 | (unsigned)type);
}

static void raise_to(uint64_t *peak, uint64_t value)
{
	*peak = value > *peak ? value : *peak;
}

static void grow(int dev, int i)
{
	struct allocator *a = &allocators[dev];

	if (!dev) {
		a->segment[i] = wl_mem(dev, SEGMENT_BYTES);
	} else {
		CUmemAllocationProp prop = wl_prop(dev);

		if (!a->base)
			CU(cuMemAddressReserve(&a->base, SLOTS * SLOT_BYTES, 0, 0, 0));
		a->segment[i] = a->base + (uint64_t)i * SEGMENT_BYTES;
		CU(cuMemCreate(&a->handle[i], SEGMENT_BYTES, &prop, 0));
		wl_alloc(dev, WL_VMM, SEGMENT_BYTES);
		wl_map(a->segment[i], SEGMENT_BYTES, a->handle[i], dev);
	}
	a->reserved += SEGMENT_BYTES;
	raise_to(&a->reserved_peak, a->reserved);
	raise_to(&a->since_half[1], a->reserved);
}

static void shrink(int dev, int i)
{
	struct allocator *a = &allocators[dev];

	if (!dev) {
		wl_mem_free(dev, a->segment[i], SEGMENT_BYTES);
	} else {
		wl_free(dev, WL_VMM, SEGMENT_BYTES);
		CU(cuMemUnmap(a->segment[i], SEGMENT_BYTES));
		CU(cuMemRelease(a->handle[i]));
	}
	a->segment[i] = 0;
	a->reserved -= SEGMENT_BYTES;
}

static void put(int dev, int slot, uint64_t size)
{
	struct allocator *a = &allocators[dev];
	int i = slot / (int)SLOTS_EACH;

	if (!a->segment[i])
		grow(dev, i);
	a->size[slot] = size;
	a->allocated += size;
	raise_to(&a->allocated_peak, a->allocated);
	raise_to(&a->since_half[0], a->allocated);
	a->blocks++;
	a->allocs++;
	tell(dev, a->segment[i] + slot % SLOTS_EACH * SLOT_BYTES, (int64_t)size, CUDA);
}

static void take(int dev, int slot)
{
	struct allocator *a = &allocators[dev];
	uint64_t size = a->size[slot];

	a->size[slot] = 0;
	a->allocated -= size;
	a->blocks--;
	a->frees++;
	tell(dev, a->segment[slot / (int)SLOTS_EACH] + slot % SLOTS_EACH * SLOT_BYTES, -(int64_t)size, CUDA);
}

/* Segments without a block go, and nobody is told. */
static void empty_cache(int dev)
{
	struct allocator *a = &allocators[dev];

	for (int i = 0; i < SLOTS / (int)SLOTS_EACH; i++) {
		uint64_t used = 0;

		for (int slot = 0; slot < (int)SLOTS_EACH; slot++)
			used += a->size[i * (int)SLOTS_EACH + slot];
		if (a->segment[i] && !used)
			shrink(dev, i);
	}
}

static void step(int dev, unsigned int number)
{
	struct allocator *a = &allocators[dev];

	CU(cuCtxSetCurrent(a->ctx));
	for (int i = 0; i < SLOTS; i++) {
		int slot = (int)(number + (unsigned)i) % SLOTS;

		if (a->size[slot])
			take(dev, slot);
		else if ((number * 7 + (unsigned)i) % 3)
			/* a fresh piece of a segment is met at its beginning, as PyTorch cuts it */
			put(dev, a->segment[slot / (int)SLOTS_EACH] ? slot : slot - slot % (int)SLOTS_EACH,
			    512 * (1 + (number + (unsigned)i) % 9000));
		tell(dev, 0x5500000000, 64, CPU);
	}
	empty_cache(dev);
}

/* For a moment every slot is in use. */
static void fill(int dev)
{
	struct allocator *a = &allocators[dev];
	bool added[SLOTS] = { false };

	CU(cuCtxSetCurrent(a->ctx));
	for (int slot = 0; slot < SLOTS; slot++) {
		added[slot] = !a->size[slot];
		if (added[slot])
			put(dev, slot, SLOT_BYTES);
	}
	for (int slot = 0; slot < SLOTS; slot++)
		if (added[slot])
			take(dev, slot);
	empty_cache(dev);
}

static void print_truth(void)
{
	static const char *const uuids[GPUS] = {
		"GPU-2c90f68e-11d4-4e77-8b42-c35d069fe822", "GPU-b71e4d02-6f53-4c1a-9d30-27a8e45b9011",
	};

	for (int dev = 0; dev < GPUS; dev++) {
		const struct allocator *a = &allocators[dev];
		const struct { const char *name; uint64_t value; } facts[] = {
			{ "allocated.live", a->allocated }, { "allocated.peak", a->allocated_peak },
			{ "reserved.live", a->reserved }, { "reserved.peak", a->reserved_peak },
			{ "blocks", a->blocks }, { "allocs", a->allocs }, { "frees", a->frees },
		};

		printf("since_half.%s.allocated.peak=%llu\n", uuids[dev], (unsigned long long)a->since_half[0]);
		printf("since_half.%s.reserved.peak=%llu\n", uuids[dev], (unsigned long long)a->since_half[1]);
		for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++)
			printf("torch.%s.%s=%llu\n", uuids[dev], facts[i].name, (unsigned long long)facts[i].value);
	}
}

static void storm(unsigned long pairs)
{
	struct timespec start, end;

	clock_gettime(CLOCK_MONOTONIC, &start);
	for (unsigned long i = 0; i < pairs; i++) {
		uint64_t at = 0x7f0000000000 + i % 1000 * 4096;

		report(at, 4096, 8192, 20 << 20, CUDA);
		report(at, -4096, 4096, 20 << 20, CUDA);
	}
	clock_gettime(CLOCK_MONOTONIC, &end);
	fprintf(stderr, "report_ns=%.1f\n", ((double)(end.tv_sec - start.tv_sec) * 1e9 +
					     (double)(end.tv_nsec - start.tv_nsec)) / (double)pairs / 2);
}

int main(int argc, char **argv)
{
	bool is_storm = argc > 2 && !strcmp(argv[2], "storm");
	unsigned long steps = wl_arg(argc, argv, is_storm ? 3 : 2, 20);

	wl_start();
	load(argc > 1 ? argv[1] : "libc10.so");
	wl_phase("loaded");
	if (is_storm) {
		storm(steps);
		return 0;
	}
	for (int dev = 0; dev < GPUS; dev++)
		CU(cuDevicePrimaryCtxRetain(&allocators[dev].ctx, dev));
	for (unsigned int i = 0; i < steps; i++) {
		step((int)(i % GPUS), i);
		if (i == steps / 4)
			fill(0);
		if (i != steps / 2)
			continue;
		wl_phase("half");
		for (int dev = 0; dev < GPUS; dev++) {
			allocators[dev].since_half[0] = allocators[dev].allocated;
			allocators[dev].since_half[1] = allocators[dev].reserved;
		}
	}
	wl_phase("end");
	print_truth();
	wl_report();
	return 0;
}
