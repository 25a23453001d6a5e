/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * storm SECONDS THREADS BYTES [async]: makes pairs of an allocation and its free as fast as possible, for the benchmark
 * and for loss tests. Prints pairs and nanoseconds a pair on stderr; with PAIRS in the environment each thread makes so
 * many pairs instead, and stdout is reproducible.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "wl_common.h"

#define MAX_THREADS 64
#define BATCH 100

static struct {
	double seconds;
	unsigned long pairs, bytes;
	bool async;
	CUcontext ctx;
	unsigned long made[MAX_THREADS];
} storm;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void pair(void)
{
	CUdeviceptr p;

	if (storm.async) {
		CU(cuMemAllocAsync(&p, storm.bytes, NULL));
		CU(cuMemFreeAsync(p, NULL));
	} else {
		CU(cuMemAlloc_v2(&p, storm.bytes));
		CU(cuMemFree_v2(p));
	}
}

static void *run(void *arg)
{
	unsigned long *made = arg;
	double end = now() + storm.seconds;

	CU(cuCtxSetCurrent(storm.ctx));
	if (storm.pairs) {
		for (; *made < storm.pairs; ++*made)
			pair();
		return NULL;
	}
	while (now() < end) {
		for (unsigned int i = 0; i < BATCH; i++)
			pair();
		*made += BATCH;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	const char *pairs = getenv("PAIRS");
	unsigned long threads = wl_arg(argc, argv, 2, 1) % (MAX_THREADS + 1), total = 0;
	pthread_t thread[MAX_THREADS];
	double start;

	storm.seconds = (double)wl_arg(argc, argv, 1, 1);
	storm.bytes = wl_arg(argc, argv, 3, 1024);
	storm.async = argc > 4 && !strcmp(argv[4], "async");
	storm.pairs = pairs ? strtoul(pairs, NULL, 10) : 0;
	wl_start();
	CU(cuDevicePrimaryCtxRetain(&storm.ctx, 0));
	CU(cuCtxSetCurrent(storm.ctx));
	pair();
	wl_phase("ready");
	start = now();
	for (unsigned long i = 0; i < threads; i++)
		pthread_create(&thread[i], NULL, run, &storm.made[i]);
	for (unsigned long i = 0; i < threads; i++) {
		pthread_join(thread[i], NULL);
		total += storm.made[i];
	}
	fprintf(stderr, "pairs=%lu ns_per_pair=%.1f\n", total,
		(now() - start) * 1e9 * (double)threads / (double)total);
	if (storm.pairs)
		printf("pairs=%lu\n", total);
	wl_phase("end");
	return 0;
}
