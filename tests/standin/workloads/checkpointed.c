/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * checkpointed [TIMES]: as a process that is checkpointed and restored so many times: its memory goes and comes back
 * without a call. Between the restores it frees and allocates. Phases: "away" and "back", each time.
 */
#include <stdbool.h>

#include "wl_common.h"

#define COUNT 3

void standin_checkpoint(bool away);

int main(int argc, char **argv)
{
	unsigned long times = wl_arg(argc, argv, 1, 1);
	CUdeviceptr held[COUNT];
	CUcontext ctx;

	wl_start();
	CU(cuDevicePrimaryCtxRetain(&ctx, 0));
	CU(cuCtxSetCurrent(ctx));
	for (int i = 0; i < COUNT; i++)
		held[i] = wl_mem(0, (4 + i) * 2 * MIB);
	for (unsigned long n = 0; n < times; n++) {
		standin_checkpoint(true);
		wl_phase("away");
		standin_checkpoint(false);
		wl_phase("back");
		wl_mem_free(0, held[n % COUNT], (4 + n % COUNT) * 2 * MIB);
		held[n % COUNT] = wl_mem(0, (4 + n % COUNT) * 2 * MIB);
	}
	wl_phase("end");
	wl_report();
	return 0;
}
