/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A target for late attach: allocates, waits (WL_HOLD=ready, SIGUSR1 goes on), frees half of the older memory and
 * allocates something new, waits again (WL_HOLD=changed). Its books begin after the first wait. "longrun steps" also
 * waits in the second phase; "longrun forever" ticks until it is killed.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "wl_common.h"

#define OLD 10
#define OLD_BYTES (30 * MIB)
#define NEW 4
#define NEW_BYTES (25 * MIB)

static void forever(void)
{
	for (;;) {
		CUdeviceptr p = wl_mem(0, 3 * MIB);

		usleep(20000);
		wl_mem_free(0, p, 3 * MIB);
	}
}

int main(int argc, char **argv)
{
	CUdeviceptr old[OLD], in_pool, small[3];
	CUcontext ctx;
	bool steps;

	wl_start();
	steps = argc > 1 && !strcmp(argv[1], "steps");
	CU(cuDevicePrimaryCtxRetain(&ctx, 0));
	CU(cuCtxSetCurrent(ctx));
	for (unsigned int i = 0; i < OLD; i++)
		CU(cuMemAlloc_v2(&old[i], OLD_BYTES));
	for (unsigned int i = 0; i < 3; i++)
		CU(cuMemAlloc_v2(&small[i], 1000));
	CU(cuMemAllocAsync(&in_pool, 32 * MIB, NULL));
	wl_phase("ready");
	if (argc > 1 && !strcmp(argv[1], "forever"))
		forever();
	for (unsigned int i = 0; i < OLD / 2; i++)
		CU(cuMemFree_v2(old[i])); /* addresses that a tracer has never seen */
	CU(cuMemFree_v2(small[0]));
	CU(cuMemFreeAsync(in_pool, NULL));
	CU(cuStreamSynchronize(NULL));
	for (unsigned int i = 0; i < NEW; i++)
		old[i] = wl_mem(0, NEW_BYTES);
	wl_mem(0, 1000); /* in a chunk from before */
	wl_mem_free(0, old[0], NEW_BYTES);
	if (steps)
		setenv("WL_HOLD", "changed", 1);
	wl_phase("changed");
	wl_report();
	return 0;
}
