/* SPDX-License-Identifier: BSD-2-Clause */
/* The main thread ends and another thread goes on: ps then shows a zombie, although the process still runs. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "wl_common.h"

static bool main_has_ended(void)
{
	FILE *file = fopen("/proc/self/stat", "re");
	char state = 0;
	int got = file ? fscanf(file, "%*d (%*[^)]) %c", &state) : 0;

	if (file)
		fclose(file);
	return got == 1 && state == 'Z';
}

static void *run(void *arg)
{
	CUcontext ctx;

	while (!main_has_ended())
		usleep(1000);
	CU(cuDevicePrimaryCtxRetain(&ctx, 0));
	CU(cuCtxSetCurrent(ctx));
	wl_mem(0, 3 * MIB);
	usleep(500000); /* a tracer looks after its processes a few times */
	wl_mem(0, 5 * MIB);
	wl_phase("end");
	wl_report();
	exit(0);
	return arg;
}

int main(void)
{
	pthread_t thread;

	wl_start();
	if (pthread_create(&thread, NULL, run, NULL))
		return 1;
	pthread_exit(NULL);
}
