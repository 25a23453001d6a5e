// SPDX-License-Identifier: BSD-2-Clause
/*
 * Uses GPU memory as a training job does. It calls the CUDA driver API alone, so that it runs on any driver without an
 * installed CUDA, also on the stand-in. No kernel is launched.
 *
 *   train [SECONDS]
 *
 * On each GPU (two at most): weights and optimizer state that stay, activations that come and go with
 * each step, a stream-ordered workspace, pinned staging buffers, and a cache that grows by cuMemCreate.
 * The first GPU also has a leak, 8 MiB every few steps, and in the middle a request that cannot be met.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MIB (1ull << 20)
#define GPUS 2
#define LAYERS 16
#define CACHE_PARTS 64
#define CACHE_PART_BYTES (32 * MIB) /* a multiple of every GPU's granularity, 2 MiB */
#define TOO_MUCH (1ull << 46)
#define STEPS_A_SECOND 20

/* cuda.h: CUmemAllocationProp and CUmemAccessDesc of CUDA 10.2 and later. */
struct prop {
	int type, handle_types;      /* 1: pinned */
	int location_type, location; /* 1: device */
	void *win32;
	uint8_t flags[8];
};
struct access {
	int location_type, location, flags; /* 3: read and write */
};
_Static_assert(sizeof(struct prop) == 32, "CUmemAllocationProp");

/* X(member, symbol, arguments) */
#define CALLS(X)                                                                        \
	X(init, "cuInit", (unsigned int))                                               \
	X(count, "cuDeviceGetCount", (int *))                                           \
	X(retain, "cuDevicePrimaryCtxRetain", (void **, int))                           \
	X(release, "cuDevicePrimaryCtxRelease_v2", (int))                               \
	X(set_current, "cuCtxSetCurrent", (void *))                                     \
	X(alloc, "cuMemAlloc_v2", (uint64_t *, size_t))                                 \
	X(free, "cuMemFree_v2", (uint64_t))                                             \
	X(alloc_async, "cuMemAllocAsync", (uint64_t *, size_t, void *))                 \
	X(free_async, "cuMemFreeAsync", (uint64_t, void *))                             \
	X(sync, "cuCtxSynchronize", (void))                                             \
	X(host_alloc, "cuMemHostAlloc", (void **, size_t, unsigned int))                \
	X(host_free, "cuMemFreeHost", (void *))                                         \
	X(reserve, "cuMemAddressReserve", (uint64_t *, size_t, size_t, uint64_t, uint64_t)) \
	X(unreserve, "cuMemAddressFree", (uint64_t, size_t))                            \
	X(create, "cuMemCreate", (uint64_t *, size_t, const struct prop *, uint64_t))   \
	X(drop, "cuMemRelease", (uint64_t))                                             \
	X(map, "cuMemMap", (uint64_t, size_t, size_t, uint64_t, uint64_t))              \
	X(unmap, "cuMemUnmap", (uint64_t, size_t))                                      \
	X(set_access, "cuMemSetAccess", (uint64_t, size_t, const struct access *, size_t))

struct cuda {
#define X(member, symbol, arguments) int (*member) arguments;
	CALLS(X)
#undef X
};

struct job {
	int device;
	void *context, *staging;
	uint64_t weights[LAYERS][3];      /* parameters, two moments */
	uint64_t activations[LAYERS];
	uint64_t cache, cache_handles[CACHE_PARTS];
	unsigned int cache_parts;
};

static void check(int result, const char *what)
{
	if (result) {
		fprintf(stderr, "train: %s returned %d\n", what, result);
		exit(1);
	}
}

static void load(struct cuda *cu)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW), *address;

	if (!library) {
		fprintf(stderr, "train: %s\n", dlerror());
		exit(1);
	}
#define X(member, symbol, arguments)                                                    \
	address = dlsym(library, symbol);                                               \
	check(!address, symbol " is missing: dlsym");                                   \
	memcpy(&cu->member, &address, sizeof(address));
	CALLS(X)
#undef X
}

static void start(const struct cuda *cu, struct job *job, int device)
{
	job->device = device;
	check(cu->retain(&job->context, device), "cuDevicePrimaryCtxRetain");
	check(cu->set_current(job->context), "cuCtxSetCurrent");
	for (int layer = 0; layer < LAYERS; layer++)
		for (int part = 0; part < 3; part++)
			check(cu->alloc(&job->weights[layer][part], (12 + device) * MIB), "cuMemAlloc");
	check(cu->host_alloc(&job->staging, 64 * MIB, 0), "cuMemHostAlloc");
	check(cu->reserve(&job->cache, CACHE_PARTS * CACHE_PART_BYTES, 0, 0, 0), "cuMemAddressReserve");
}

static void grow_cache(const struct cuda *cu, struct job *job)
{
	struct prop prop = { .type = 1, .location_type = 1, .location = job->device };
	struct access access = { .location_type = 1, .location = job->device, .flags = 3 };
	uint64_t at = job->cache + job->cache_parts * CACHE_PART_BYTES;

	if (job->cache_parts == CACHE_PARTS)
		return;
	check(cu->create(&job->cache_handles[job->cache_parts++], CACHE_PART_BYTES, &prop, 0), "cuMemCreate");
	check(cu->map(at, CACHE_PART_BYTES, 0, job->cache_handles[job->cache_parts - 1], 0), "cuMemMap");
	check(cu->set_access(at, CACHE_PART_BYTES, &access, 1), "cuMemSetAccess");
}

static void step(const struct cuda *cu, struct job *job, int number)
{
	uint64_t workspace;

	check(cu->set_current(job->context), "cuCtxSetCurrent");
	check(cu->alloc_async(&workspace, 48 * MIB, NULL), "cuMemAllocAsync");
	for (int layer = 0; layer < LAYERS; layer++)
		check(cu->alloc(&job->activations[layer], (4 + (layer + number) % 5) * MIB), "cuMemAlloc");
	for (int layer = LAYERS; layer-- > 0;)
		check(cu->free(job->activations[layer]), "cuMemFree");
	check(cu->free_async(workspace, NULL), "cuMemFreeAsync");
	check(cu->sync(), "cuCtxSynchronize");
}

static void finish(const struct cuda *cu, struct job *job)
{
	check(cu->set_current(job->context), "cuCtxSetCurrent");
	for (unsigned int part = 0; part < job->cache_parts; part++) {
		check(cu->unmap(job->cache + part * CACHE_PART_BYTES, CACHE_PART_BYTES), "cuMemUnmap");
		check(cu->drop(job->cache_handles[part]), "cuMemRelease");
	}
	check(cu->unreserve(job->cache, CACHE_PARTS * CACHE_PART_BYTES), "cuMemAddressFree");
	check(cu->host_free(job->staging), "cuMemFreeHost");
}

int main(int argc, char **argv)
{
	int gpus = 0, steps = (argc > 1 ? (int)strtol(argv[1], NULL, 10) : 6) * STEPS_A_SECOND;
	struct job jobs[GPUS] = { 0 };
	struct cuda cu;
	uint64_t leak;

	load(&cu);
	check(cu.init(0), "cuInit");
	check(cu.count(&gpus), "cuDeviceGetCount");
	gpus = gpus < GPUS ? gpus : GPUS;
	for (int i = 0; i < gpus; i++)
		start(&cu, &jobs[i], i);
	for (int number = 0; number < steps; number++) {
		for (int i = 0; i < gpus; i++)
			step(&cu, &jobs[i], number);
		check(cu.set_current(jobs[0].context), "cuCtxSetCurrent");
		if (number % 10 == 5)
			grow_cache(&cu, &jobs[gpus - 1]);
		if (number % 8 == 3)
			check(cu.alloc(&leak, 8 * MIB), "cuMemAlloc");
		if (number == steps / 2 && cu.alloc(&leak, TOO_MUCH) != 0)
			fprintf(stderr, "train: out of memory in step %d, going on with a smaller batch\n", number);
		nanosleep(&(struct timespec){ .tv_nsec = 1000000000 / STEPS_A_SECOND }, NULL);
	}
	for (int i = 0; i < gpus; i++)
		finish(&cu, &jobs[i]);
	return 0;
}
