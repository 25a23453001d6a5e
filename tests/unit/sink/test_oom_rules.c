// SPDX-License-Identifier: BSD-2-Clause
/* What a verdict may not say: numbers from which a cause or its opposite does not follow. */
#include "oom_says.h"

#define A SCENE_AT
#define OOM GMT_CUDA_OUT_OF_MEMORY

/* Enough was free, so the size was no cause. */
static void test_room_for_a_large_request(void **state)
{
	struct records r;

	(void)state;
	begin(&r);
	CALL(&r, cuMemAlloc_v2, A, 20 * GiB);
	FAIL(&r, cuMemAlloc_v2, OOM, 0, 41 * GiB);
	CALL(&r, cuMemGetInfo_v2, 50 * GiB, 80 * GiB);
	records_exit(&r, 256);
	SAYS(&r, "one request", "WHY    a limit other than the GPU's memory: 50 GiB of 80 GiB were free");
}

static void hold_beside(struct records *r, uint64_t size)
{
	r->tgid = r->tid = 200;
	records_device(r, 0, 1);
	CALL(r, cuDevicePrimaryCtxRetain, 0xc0, 0);
	CALL(r, cuCtxSetCurrent, 0xc0);
	CALL(r, cuMemAlloc_v2, A, size);
	r->tgid = r->tid = 100;
}

/* As much as was requested was free: 4 KiB more would not have helped. */
static void test_a_tiny_neighbour(void **state)
{
	struct records r;

	(void)state;
	begin(&r);
	CALL(&r, cuMemAlloc_v2, A, 77 * GiB);
	hold_beside(&r, 4096);
	FAIL(&r, cuMemAlloc_v2, OOM, 0, 2 * GiB);
	CALL(&r, cuMemGetInfo_v2, 2 * GiB + 2 * MiB, 80 * GiB);
	records_exit(&r, 256);
	SAYS(&r, "another process: pid", "WHY    GPU 1 is full");
}

/* A context has no size: a process that holds little is not in the way, and a GPU with much free memory is not full. */
static void test_much_room_for_a_context(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 2; i++) {
		struct records r;

		begin(&r);
		CALL(&r, cuMemAlloc_v2, A, 64 * MiB);
		r.tgid = r.tid = 200;
		records_device(&r, 0, 1);
		FAIL(&r, cuDevicePrimaryCtxRetain, OOM, 0, 0);
		if (i)
			CALL(&r, cuMemGetInfo_v2, 70 * GiB, 80 * GiB);
		records_exit(&r, 256);
		SAYS(&r, "another process: pid", i ? "WHY    a limit other than the GPU's memory: 70 GiB of 80 GiB were free (guess)"
		     : "WHY    not known: the traced processes hold 64 MiB of 80 GiB, which leaves at most 79.9 GiB");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_room_for_a_large_request),
		cmocka_unit_test(test_a_tiny_neighbour),
		cmocka_unit_test(test_much_room_for_a_context),
	};

	return cmocka_run_group_tests_name("oom_rules", tests, NULL, NULL);
}
