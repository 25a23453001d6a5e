// SPDX-License-Identifier: BSD-2-Clause
/*
 * The measured process: makes pairs of cuMemAlloc_v2 and cuMemFree_v2 calls to a libcuda, on demand.
 *
 *   pairs LIBCUDA        then for each line N on standard input, runs N pairs and prints "NS PAIRS":
 *                        the time they took in all, and N
 *
 * It is paused between the lines, so that tracers come and go around the same process.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef int (*init_fn)(unsigned int flags);
typedef int (*retain_fn)(void **context, int device);
typedef int (*set_fn)(void *context);
typedef int (*alloc_fn)(uint64_t *address, size_t size);
typedef int (*free_fn)(uint64_t address);

static void *symbol(void *library, const char *name)
{
	void *address = dlsym(library, name);

	if (!address) {
		fprintf(stderr, "pairs: %s\n", dlerror());
		exit(1);
	}
	return address;
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

int main(int argc, char **argv)
{
	void *library = dlopen(argc > 1 ? argv[1] : "libcuda.so.1", RTLD_NOW), *context = NULL;
	alloc_fn alloc;
	free_fn release;
	char line[64];

	if (!library) {
		fprintf(stderr, "pairs: %s\n", dlerror());
		return 1;
	}
	alloc = (alloc_fn)symbol(library, "cuMemAlloc_v2");
	release = (free_fn)symbol(library, "cuMemFree_v2");
	if (((init_fn)symbol(library, "cuInit"))(0) ||
	    ((retain_fn)symbol(library, "cuDevicePrimaryCtxRetain"))(&context, 0) ||
	    ((set_fn)symbol(library, "cuCtxSetCurrent"))(context)) {
		fprintf(stderr, "pairs: no context\n");
		return 1;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	while (fgets(line, sizeof(line), stdin)) {
		uint64_t count = strtoull(line, NULL, 10), started = now_ns(), address = 0;

		for (uint64_t i = 0; i < count; i++)
			if (alloc(&address, 4096) || release(address)) {
				fprintf(stderr, "pairs: a call failed\n");
				return 1;
			}
		printf("%llu %llu\n", (unsigned long long)(now_ns() - started), (unsigned long long)count);
	}
	return 0;
}
