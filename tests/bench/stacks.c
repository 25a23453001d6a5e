// SPDX-License-Identifier: BSD-2-Clause
/*
 * The native process whose stacks are measured: makes pairs of cuMemAlloc_v2 and cuMemFree_v2 calls at the end of a
 * deep recursion.
 *
 *   stacks LIBCUDA       then for each line on standard input "same N": N pairs with one stack, "turns N":
 *                        with each of 16 in turn, "new N": each with one that never was before, or "keep N": as
 *                        new, and the memory stays; prints "NS N" as pairs.c does
 *   stacks LIBCUDA ROOM    likewise, with so many bytes on the stack between the recursion and the pairs
 *
 * A bit for each call of the recursion says which of two functions is called. The newest bit decides the
 * outermost one, so a new stack differs from the one before where it is found last: the worst case.
 */
#include <alloca.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DEPTH 40
#define TURNS 16

struct cuda {
	int (*init)(unsigned int flags);
	int (*retain)(void **context, int device);
	int (*set)(void *context);
	int (*alloc)(uint64_t *address, size_t size);
	int (*release)(uint64_t address);
	uint64_t pairs;          /* to be made at the end of the recursion */
	size_t room;
	bool keeps;
};

static int left(const struct cuda *cuda, uint64_t path, unsigned int depth);
static int right(const struct cuda *cuda, uint64_t path, unsigned int depth);

static int make_pairs(const struct cuda *cuda)
{
	char *room = alloca(cuda->room + 1);
	uint64_t address = 0;

	__asm__ volatile("" : : "r"(room) : "memory");
	for (uint64_t i = 0; i < cuda->pairs; i++)
		if (cuda->alloc(&address, 4096) || (!cuda->keeps && cuda->release(address)))
			return -1;
	return 0;
}

/* The two must stay two, and frames: no tail calls, not merged, not inlined. */
#define SIDE(name)                                                                                                 \
	static __attribute__((noipa)) int name(const struct cuda *cuda, uint64_t path, unsigned int depth)        \
	{                                                                                                         \
		int failed = depth ? (path & 1 ? right : left)(cuda, path >> 1, depth - 1) : make_pairs(cuda);    \
		__asm__ volatile("" : "+r"(failed));                                                              \
		return failed;                                                                                    \
	}
SIDE(left)
SIDE(right)

static void *symbol(void *library, const char *name)
{
	void *address = dlsym(library, name);

	if (!address) {
		fprintf(stderr, "stacks: %s\n", dlerror());
		exit(1);
	}
	return address;
}

static void start(struct cuda *cuda, const char *path)
{
	void *library = dlopen(path, RTLD_NOW), *context = NULL;

	if (!library) {
		fprintf(stderr, "stacks: %s\n", dlerror());
		exit(1);
	}
	*(void **)&cuda->init = symbol(library, "cuInit");
	*(void **)&cuda->retain = symbol(library, "cuDevicePrimaryCtxRetain");
	*(void **)&cuda->set = symbol(library, "cuCtxSetCurrent");
	*(void **)&cuda->alloc = symbol(library, "cuMemAlloc_v2");
	*(void **)&cuda->release = symbol(library, "cuMemFree_v2");
	if (cuda->init(0) || cuda->retain(&context, 0) || cuda->set(context)) {
		fprintf(stderr, "stacks: no context\n");
		exit(1);
	}
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

int main(int argc, char **argv)
{
	struct cuda cuda = { 0 };
	uint64_t path = TURNS;
	char line[64];

	cuda.room = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
	start(&cuda, argc > 1 ? argv[1] : "libcuda.so.1");
	setvbuf(stdout, NULL, _IOLBF, 0);
	while (fgets(line, sizeof(line), stdin)) {
		uint64_t count = strchr(line, ' ') ? strtoull(strchr(line, ' '), NULL, 10) : 0, started = now_ns();
		uint64_t rounds = line[0] == 's' ? 1 : count;
		int failed = 0;

		cuda.pairs = count / rounds;
		cuda.keeps = line[0] == 'k';
		for (uint64_t i = 0; i < rounds && !failed; i++)
			failed = left(&cuda, line[0] == 'n' || line[0] == 'k' ? ++path : i % TURNS, DEPTH);
		if (failed) {
			fprintf(stderr, "stacks: a call failed\n");
			return 1;
		}
		printf("%llu %llu\n", (unsigned long long)(now_ns() - started), (unsigned long long)count);
	}
	return 0;
}
