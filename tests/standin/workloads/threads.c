/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * threads N ROUNDS: many threads allocate and free at once, each on a GPU of its own choice, and
 * hand some allocations to the next thread to free. Addresses are reused by others at once.
 */
#include <pthread.h>
#include <stdlib.h>

#include "wl_common.h"

#define MAX_THREADS 64
#define HELD 32

static struct {
	unsigned long threads, rounds;
	CUcontext ctx[2];
	pthread_mutex_t lock;
	CUdeviceptr handed[MAX_THREADS];        /* freed by another thread than the one that allocated */
	uint64_t handed_bytes[MAX_THREADS];
	int handed_dev[MAX_THREADS];
} shared = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void take_over(unsigned long slot, int dev, CUdeviceptr address, uint64_t bytes)
{
	CUdeviceptr old;
	uint64_t old_bytes;
	int old_dev;

	pthread_mutex_lock(&shared.lock);
	old = shared.handed[slot];
	old_bytes = shared.handed_bytes[slot];
	old_dev = shared.handed_dev[slot];
	shared.handed[slot] = address;
	shared.handed_bytes[slot] = bytes;
	shared.handed_dev[slot] = dev;
	pthread_mutex_unlock(&shared.lock);
	if (old)
		wl_mem_free(old_dev, old, old_bytes);
}

static void *run(void *arg)
{
	unsigned long me = (unsigned long)arg;
	unsigned int seed = (unsigned int)me + 1;
	CUdeviceptr held[HELD] = { 0 };
	uint64_t bytes[HELD] = { 0 };
	int dev = (int)(me % 2);

	CU(cuCtxSetCurrent(shared.ctx[dev]));
	for (unsigned long round = 0; round < shared.rounds; round++) {
		unsigned int i = (unsigned int)rand_r(&seed) % HELD;

		if (held[i]) {
			wl_mem_free(dev, held[i], bytes[i]);
			held[i] = 0;
			continue;
		}
		bytes[i] = 1 + (uint64_t)rand_r(&seed) % (round % 50 ? 64 * KIB : 4 * MIB);
		held[i] = wl_mem(dev, bytes[i]);
		wl_mix(bytes[i]);
		if (round % 8 == 0) {
			take_over((me + 1) % shared.threads, dev, held[i], bytes[i]);
			held[i] = 0;
		}
	}
	for (unsigned int i = 0; i < HELD; i++)
		if (held[i] && i % 2)
			wl_mem_free(dev, held[i], bytes[i]);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread[MAX_THREADS];

	shared.threads = wl_arg(argc, argv, 1, 8) % (MAX_THREADS + 1);
	shared.rounds = wl_arg(argc, argv, 2, 5000);
	wl_no_peaks();
	wl_start();
	for (int dev = 0; dev < 2; dev++)
		CU(cuDevicePrimaryCtxRetain(&shared.ctx[dev], dev));
	for (unsigned long i = 0; i < shared.threads; i++)
		pthread_create(&thread[i], NULL, run, (void *)i);
	for (unsigned long i = 0; i < shared.threads; i++)
		pthread_join(thread[i], NULL);
	for (unsigned long i = 0; i < shared.threads; i++)
		take_over(i, 0, 0, 0);
	wl_phase("end");
	wl_report();
	return 0;
}
