// SPDX-License-Identifier: BSD-2-Clause
/* Another process moves the memory of this process to host memory and back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "core/ledger/checkpoint.h"
#include "records.h"

#define A 0x7f0000000000ull
#define B 0x7f0010000000ull

struct held_here {
	struct records r;
	uint32_t context, allocated, mapped;
};

/* 500 MiB of context, 2 GiB of cuMemAlloc, 20 MiB of cuMemCreate. */
static int scene(void **state)
{
	static struct held_here h;
	struct records *r = &h.r;

	records_scene(r, ALL_LAYERS);
	records_rm_scene(r);
	r->stack_id = 5;
	r->cause = GMT_API_cuDevicePrimaryCtxRetain;
	h.context = records_rm_memory(r, 1, 500 * MiB);
	CALL(r, cuDevicePrimaryCtxRetain, 0xc0, 0);
	CALL(r, cuCtxSetCurrent, 0xc0);
	r->cause = GMT_API_cuMemAlloc_v2;
	r->stack_id = 7;
	h.allocated = records_rm_memory(r, 1, 2048 * MiB);
	CALL(r, cuMemAlloc_v2, A, 2048 * MiB);
	r->cause = GMT_API_cuMemCreate;
	h.mapped = records_rm_memory(r, 1, 20 * MiB);
	CALL(r, cuMemCreate, 0x51, 20 * MiB, 1, 0, 1);
	r->cause = 0;
	r->stack_id = 0;
	*state = &h;
	return 0;
}

static int no_scene(void **state)
{
	struct held_here *h = *state;

	records_fini(&h->r);
	return 0;
}

static void park_all(struct held_here *h)
{
	records_rm_free(&h->r, h->context);
	records_rm_free(&h->r, h->allocated);
	records_rm_free(&h->r, h->mapped);
}

static struct view_row row_of(const struct held_here *h)
{
	struct view_row row;

	assert_true(records_row(&h->r, 1, &row));
	return row;
}

static void the_sum_says_what_is_in_host_memory(void **state)
{
	struct held_here *h = *state;
	struct view_row row;

	records_nvml(&h->r, 1, GMT_NVML_SAMPLE, 2568 * MiB);
	assert_int_equal(row_of(h).checkpointed, 0);
	park_all(h);
	records_nvml(&h->r, 1, GMT_NVML_SAMPLE, 0);
	row = row_of(h);
	assert_int_equal(row.checkpointed, 2568 * MiB);
	assert_int_equal(row.at_nvml.checkpointed, 2568 * MiB);
	assert_int_equal(row.at_nvml.residual, 0);
	assert_int_equal(row.physical.live, 0);
	assert_int_equal(row.attributed.live, 2068 * MiB);
	assert_int_equal(row.context, 500 * MiB);
	assert_int_equal(row.other, 0);
	assert_int_equal(row.rounding, 0);
}

static void what_comes_back_is_what_was(void **state)
{
	struct held_here *h = *state;
	struct records *r = &h->r;
	struct view_row row;

	park_all(h);
	RELEASE(r, cuMemFree_v2, B);                  /* a thread begins a call, and waits in it */
	h->context = records_rm_memory(r, 1, 500 * MiB);
	h->allocated = records_rm_memory(r, 1, 2048 * MiB);
	h->mapped = records_rm_memory(r, 1, 20 * MiB);
	row = row_of(h);
	assert_int_equal(row.checkpointed, 0);
	assert_int_equal(row.physical.live, 2568 * MiB);
	assert_int_equal(row.by_purpose[GMT_PURPOSE_CONTEXT], 500 * MiB);
	assert_int_equal(row.by_purpose[GMT_PURPOSE_ALLOC], 2048 * MiB);
	assert_int_equal(row.by_purpose[GMT_PURPOSE_VMM], 20 * MiB);
	assert_int_equal(row.other, 0);
	assert_int_equal(row.stacks.live, 2568 * MiB); /* each with its stack, once */
	assert_int_equal(row.stacks.unexplained, 0);
	records_rm_memory(r, 1, 20 * MiB);            /* one more is new */
	assert_int_equal(row_of(h).by_purpose[GMT_PURPOSE_OTHER], 20 * MiB);
}

static void what_does_not_come_back_is_forgotten_when_calls_return(void **state)
{
	struct held_here *h = *state;

	park_all(h);
	CALL(&h->r, cuMemGetInfo_v2, 1, 2);           /* had returned before; its record is late */
	assert_int_equal(row_of(h).checkpointed, 2568 * MiB);
	records_rm_memory(&h->r, 1, 500 * MiB);
	assert_int_equal(row_of(h).checkpointed, 2068 * MiB);
	CALL(&h->r, cuMemGetInfo_v2, 1, 2);
	assert_int_equal(row_of(h).checkpointed, 0);
}

static void frees_outside_of_calls_are_no_checkpoint(void **state)
{
	struct held_here *h = *state;
	struct records *r = &h->r;
	uint32_t pool;

	r->cause = GMT_API_cuMemAllocAsync;
	pool = records_rm_memory(r, 1, 32 * MiB);
	r->cause = 0;
	records_rm_free(r, pool);                     /* a synchronization trims the pool */
	assert_int_equal(row_of(h).checkpointed, 0);
	records_rm_memory(r, 1, 32 * MiB);
	assert_int_equal(row_of(h).by_purpose[GMT_PURPOSE_POOL], 0);
	CALL(r, cuMemGetInfo_v2, 1, 2);
	r->cause = GMT_API_cuMemFree_v2;
	RELEASE(r, cuMemFree_v2, A);
	records_rm_free(r, h->allocated);
	assert_int_equal(row_of(h).checkpointed, 0);
}

static void the_end_of_a_process_is_no_checkpoint(void **state)
{
	struct held_here *h = *state;

	park_all(h);
	records_exit(&h->r, 0);
	assert_int_equal(row_of(h).checkpointed, 0);
}

/* Any process can name any pid in cuCheckpointProcess*, of any pid namespace: only the kernel layer is believed. */
static void a_call_that_names_the_process_changes_nothing(void **state)
{
	struct held_here *h = *state;
	struct view_row row;

	CALL(&h->r, cuCheckpointProcessLock, 1000);
	CALL(&h->r, cuCheckpointProcessCheckpoint, 1000);
	row = row_of(h);
	assert_int_equal(row.checkpointed, 0);
	assert_int_equal(row.physical.live, 2568 * MiB);
	assert_int_equal(row.attributed.live, 2068 * MiB);
	park_all(h);
	CALL(&h->r, cuCheckpointProcessRestore, 1000);
	CALL(&h->r, cuCheckpointProcessUnlock, 1000);
	assert_int_equal(row_of(h).physical.live, 0);
}

static void equal_sizes_come_back_in_their_order(void **state)
{
	const struct rm_freed list[] = {
		{ .bytes = 5, .purpose = GMT_PURPOSE_ALLOC, .stack_id = 1 },
		{ .bytes = 7, .purpose = GMT_PURPOSE_ALLOC, .stack_id = 2 },
		{ .bytes = 5, .purpose = GMT_PURPOSE_ALLOC, .stack_id = 3 },
	};
	static const uint64_t sizes[] = { 5, 5, 7 };
	static const uint32_t stacks[] = { 1, 3, 2 };
	struct checkpoint *c = NULL;
	struct rm_freed was;

	(void)state;
	checkpoint_park(&c, list, 3);
	for (size_t i = 0; i < 3; i++) {
		const struct gmt_rm_alloc rec = { .size = sizes[i] };

		assert_false(checkpoint_unpark(&c, &(struct gmt_rm_alloc){ .size = 6 }, &was));
		assert_true(checkpoint_unpark(&c, &rec, &was));
		assert_int_equal(was.stack_id, stacks[i]);
	}
	assert_null(c);
}

#define MANY 65536

/* A search through all for each would take 16 times 65,536 times 65,536 steps. */
static void many_sizes_cost_little(void **state)
{
	struct rm_freed *list = calloc(MANY, sizeof(*list)), was;
	struct checkpoint *c = NULL;
	clock_t start = clock();

	(void)state;
	for (size_t i = 0; i < MANY; i++)
		list[i] = (struct rm_freed){ .bytes = 2 * i + 2, .purpose = GMT_PURPOSE_ALLOC };
	assert_int_equal(checkpoint_park(&c, list, MANY), 0);
	assert_int_equal(checkpoint_park(&c, list, 3), 3); /* which are counted */
	for (size_t i = 0; i < 16 * MANY; i++) {
		const struct gmt_rm_alloc rec = { .size = 2 * i + 1 };

		assert_false(checkpoint_unpark(&c, &rec, &was));
	}
	assert_true((clock() - start) / CLOCKS_PER_SEC < 10);
	checkpoint_free(c);
	free(list);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, scene, no_scene)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_sum_says_what_is_in_host_memory),
		TEST(what_comes_back_is_what_was),
		TEST(what_does_not_come_back_is_forgotten_when_calls_return),
		TEST(frees_outside_of_calls_are_no_checkpoint),
		TEST(the_end_of_a_process_is_no_checkpoint),
		TEST(a_call_that_names_the_process_changes_nothing),
		cmocka_unit_test(equal_sizes_come_back_in_their_order),
		cmocka_unit_test(many_sizes_cost_little),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
