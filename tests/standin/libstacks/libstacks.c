/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A library that calls CUDA, or is called back: from threads of its own, and, with STACKS_LIBRARY in the environment,
 * while the library is being loaded (workloads/stacks.c says what the library prints then).
 */
#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define NOIPA __attribute__((noipa))
#define LOADING_SIZE 1000448  /* no other allocation's */

typedef int callback(void *arg);
void stacks_open(const char *libcuda);
int stacks_call_back(callback *function, void *arg);
int stacks_call_back_left(callback *function, void *arg);
int stacks_call_back_right(callback *function, void *arg);
void stacks_call_back_in_thread(callback *function, void *arg);
void stacks_allocate_in_thread(size_t size);

static int (*alloc)(uint64_t *address, size_t size);
static volatile int sink;

void stacks_open(const char *libcuda)
{
	void *library = dlopen(libcuda, RTLD_NOW);

	alloc = library ? (__typeof__(alloc))dlsym(library, "cuMemAlloc_v2") : NULL;
}

NOIPA int stacks_call_back(callback *function, void *arg)
{
	sink += function(arg);
	return sink;
}

/* Two that only their return addresses tell apart. */
#define ALIKE(side)                                                             \
	NOIPA int stacks_call_back_##side(callback *function, void *arg)        \
	{                                                                       \
		sink += function(arg);                                          \
		return sink;                                                    \
	}

ALIKE(left)
ALIKE(right)

struct call {
	callback *function;
	void *arg;
};

static NOIPA void *call_back(void *arg)
{
	struct call *call = arg;

	stacks_call_back(call->function, call->arg);
	sink++;
	return NULL;
}

static NOIPA void *allocate(void *arg)
{
	uint64_t address;

	sink += alloc(&address, *(size_t *)arg);
	return NULL;
}

static void in_thread(void *(*function)(void *), void *arg)
{
	pthread_t thread;

	if (!pthread_create(&thread, NULL, function, arg))
		pthread_join(thread, NULL);
}

void stacks_call_back_in_thread(callback *function, void *arg)
{
	struct call call = { function, arg };

	in_thread(call_back, &call);
}

void stacks_allocate_in_thread(size_t size)
{
	in_thread(allocate, &size);
}

static NOIPA __attribute__((constructor)) void while_loading(void)
{
	void *frames[64];
	uint64_t address;
	int count;

	if (!getenv("STACKS_LIBRARY"))
		return;
	alloc = (__typeof__(alloc))dlsym(RTLD_DEFAULT, "cuMemAlloc_v2");
	count = backtrace(frames, 64);
	alloc(&address, LOADING_SIZE);
	printf("loading=%d,0", LOADING_SIZE);
	for (int i = 1; i < count; i++)
		printf(",%lx", (unsigned long)frames[i]);
	printf("\n");
}
