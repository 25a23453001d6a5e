// SPDX-License-Identifier: BSD-2-Clause
/* Memory pools and stream-ordered allocations. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "records.h"

#define A 0x7f0000000000ull
#define B 0x7f0010000000ull
#define CTX0 0xc0ull             /* of ordinal 0, which is the GPU with index 1 */
#define CTX1 0xc1ull
#define STREAM 0x5000ull
#define POOL 0x9000ull

static int scene(void **state)
{
	static struct records r;

	records_scene(&r, API_LAYER);
	CALL(&r, cuDevicePrimaryCtxRetain, CTX0, 0);
	CALL(&r, cuDevicePrimaryCtxRetain, CTX1, 1);
	CALL(&r, cuCtxSetCurrent, CTX0);
	*state = &r;
	return 0;
}

static void used_bytes_change_at_the_call(void **state)
{
	struct records *r = *state;

	CALL(r, cuMemAllocAsync, A, MiB, 0);
	CALL(r, cuMemAllocAsync_ptsz, B, 2 * MiB, 0);
	assert_int_equal(records_live(r, 1, GMT_CLASS_POOL), 3 * MiB);
	RELEASE(r, cuMemFreeAsync, A, 0);
	RELEASE(r, cuMemFreeAsync_ptsz, B, 0);
	assert_int_equal(records_live(r, 1, GMT_CLASS_POOL), 0);
	assert_int_equal(records_class(r, 1, GMT_CLASS_POOL).bytes.peak, 3 * MiB);
}

static void the_streams_device_counts_not_the_threads(void **state)
{
	struct records *r = *state;

	CALL(r, cuStreamCreate, STREAM);
	CALL(r, cuCtxSetCurrent, CTX1);
	CALL(r, cuMemAllocAsync, A, MiB, STREAM);
	assert_int_equal(records_live(r, 1, GMT_CLASS_POOL), MiB);
	/* The values 0, 1 and 2 mean the current context's. */
	for (uint64_t stream = 0; stream < 3; stream++)
		CALL(r, cuMemAllocAsync, B + stream * GiB, MiB, stream);
	assert_int_equal(records_live(r, 0, GMT_CLASS_POOL), 3 * MiB);
}

static void a_stream_from_before_attach_is_not_guessed(void **state)
{
	struct records *r = *state;

	CALL(r, cuMemAllocAsync, A, MiB, 0x7777);
	assert_int_equal(records_live(r, NO_GPU, GMT_CLASS_POOL), MiB);
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_GPU_UNKNOWN), 1);
}

static void a_destroyed_stream_is_forgotten(void **state)
{
	struct records *r = *state;

	CALL(r, cuStreamCreate, STREAM);
	uint32_t seq = RELEASE(r, cuStreamDestroy_v2, STREAM);

	UNDO(r, cuStreamDestroy_v2, seq, 700, STREAM);
	CALL(r, cuCtxSetCurrent, CTX1);
	CALL(r, cuMemAllocAsync, A, MiB, STREAM);
	assert_int_equal(records_live(r, 1, GMT_CLASS_POOL), MiB);
	RELEASE(r, cuStreamDestroy_v2, STREAM);
	CALL(r, cuStreamCreateWithPriority, STREAM); /* the same handle, now in CTX1 */
	CALL(r, cuMemAllocAsync, B, MiB, STREAM);
	assert_int_equal(records_live(r, 0, GMT_CLASS_POOL), MiB);
}

static void the_pools_device_counts_not_the_streams(void **state)
{
	struct records *r = *state;

	CALL(r, cuMemPoolCreate, POOL, 1, 1, 1);          /* on ordinal 1 */
	CALL(r, cuDeviceGetMemPool, POOL, 0);             /* no: a pool stays where it was created */
	CALL(r, cuMemAllocFromPoolAsync, A, MiB, POOL, 0);
	CALL(r, cuMemAllocFromPoolAsync_ptsz, B, MiB, POOL, 0);
	assert_int_equal(records_live(r, 0, GMT_CLASS_POOL), 2 * MiB);
	RELEASE(r, cuMemFreeAsync, A, 0);                 /* the thread's context is on the other GPU */
	assert_int_equal(records_live(r, 0, GMT_CLASS_POOL), MiB);
}

static void pools_are_learned_from_every_call_that_tells(void **state)
{
	struct records *r = *state;

	CALL(r, cuDeviceGetDefaultMemPool, POOL, 1);
	CALL(r, cuDeviceGetMemPool, POOL + 1, 1);
	CALL(r, cuDeviceSetMemPool, 1, POOL + 2);
	CALL(r, cuMemGetDefaultMemPool, POOL + 3, 1, 1, 1);
	CALL(r, cuMemSetMemPool, 1, 1, 1, POOL + 4);
	for (uint64_t i = 0; i < 5; i++)
		CALL(r, cuMemAllocFromPoolAsync, A + i * MiB, KiB, POOL + i, 0);
	assert_int_equal(records_live(r, 0, GMT_CLASS_POOL), 5 * KiB);
	CALL(r, cuMemAllocFromPoolAsync, B, KiB, POOL + 9, 0);
	assert_int_equal(records_live(r, NO_GPU, GMT_CLASS_POOL), KiB);
}

static void pools_of_host_and_managed_memory_are_no_device_memory(void **state)
{
	struct records *r = *state;

	CALL(r, cuMemPoolCreate, POOL, 2, 0, 1);      /* host */
	CALL(r, cuMemPoolCreate, POOL + 1, 3, 1, 1);  /* host NUMA */
	CALL(r, cuMemPoolCreate, POOL + 2, 1, 0, 2);  /* managed */
	for (uint64_t i = 0; i < 3; i++)
		CALL(r, cuMemAllocFromPoolAsync, A + i * MiB, MiB, POOL + i, 0);
	assert_int_equal(records_attributed(r), 0);
	assert_int_equal(records_live(r, ANY_GPU, GMT_CLASS_PINNED), 2 * MiB);
	assert_int_equal(records_live(r, ANY_GPU, GMT_CLASS_MANAGED), MiB);
}

static void destroying_a_pool_takes_no_allocation_along(void **state)
{
	struct records *r = *state;

	CALL(r, cuMemPoolCreate, POOL, 1, 1, 1);
	CALL(r, cuMemAllocFromPoolAsync, A, MiB, POOL, 0);
	RELEASE(r, cuMemPoolDestroy, POOL);
	assert_int_equal(records_live(r, 0, GMT_CLASS_POOL), MiB);
	CALL(r, cuMemPoolCreate, POOL, 1, 0, 1);           /* the handle again, on another GPU */
	CALL(r, cuMemAllocFromPoolAsync, B, 2 * MiB, POOL, 0);
	assert_int_equal(records_live(r, 1, GMT_CLASS_POOL), 2 * MiB);
	RELEASE(r, cuMemFreeAsync, A, 0);
	assert_int_equal(records_live(r, 0, GMT_CLASS_POOL), 0);
}

static void a_failed_destruction_of_a_pool_is_taken_back(void **state)
{
	struct records *r = *state;

	CALL(r, cuMemPoolCreate, POOL, 1, 1, 1);
	uint32_t seq = RELEASE(r, cuMemPoolDestroy, POOL);

	UNDO(r, cuMemPoolDestroy, seq, 700, POOL);
	CALL(r, cuMemAllocFromPoolAsync, A, MiB, POOL, 0);
	assert_int_equal(records_live(r, 0, GMT_CLASS_POOL), MiB);
}

static void pool_memory_may_be_freed_synchronously(void **state)
{
	struct records *r = *state;

	CALL(r, cuMemAllocAsync, A, MiB, 0);
	RELEASE(r, cuMemFree_v2, A);
	assert_int_equal(records_live(r, 1, GMT_CLASS_POOL), 0);
	CALL(r, cuMemAlloc_v2, A, MiB);
	RELEASE(r, cuMemFreeAsync, A, 0);
	assert_int_equal(records_live(r, 1, GMT_CLASS_DEVICE), 0);
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_FREE_UNKNOWN), 0);
}

static void imported_pools_and_pointers_cost_nothing(void **state)
{
	struct records *r = *state;

	CALL(r, cuMemPoolImportFromShareableHandle, POOL);
	CALL(r, cuMemPoolImportPointer, A, POOL);
	CALL(r, cuMemPoolImportPointer, B, POOL);
	assert_int_equal(records_attributed(r), 0);
	assert_int_equal(records_class(r, ANY_GPU, GMT_CLASS_IMPORTED).live_count, 2);
	assert_int_equal(records_live(r, ANY_GPU, GMT_CLASS_IMPORTED), 0);
	RELEASE(r, cuMemFree_v2, A);
	RELEASE(r, cuMemFreeAsync, B, 0);
	assert_int_equal(records_class(r, ANY_GPU, GMT_CLASS_IMPORTED).live_count, 0);
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_FREE_UNKNOWN), 0);
}

static void what_is_captured_is_planned(void **state)
{
	struct records *r = *state;

	CALL(r, cuStreamCreate, STREAM);
	CALL(r, cuStreamBeginCapture_v2, STREAM);
	CALL(r, cuMemAllocAsync, A, MiB, STREAM);
	CALL(r, cuMemAllocAsync, B, MiB, STREAM + 8); /* another stream, not captured */
	assert_int_equal(records_live(r, ANY_GPU, GMT_CLASS_GRAPH), MiB);
	assert_int_equal(records_live(r, ANY_GPU, GMT_CLASS_POOL), MiB);
	RELEASE(r, cuMemFreeAsync, A, STREAM);
	assert_int_equal(records_live(r, ANY_GPU, GMT_CLASS_GRAPH), 0);
	FAIL(r, cuStreamEndCapture, 901, STREAM);     /* invalidated: over all the same */
	CALL(r, cuMemAllocAsync, A + GiB, MiB, STREAM);
	assert_int_equal(records_live(r, ANY_GPU, GMT_CLASS_POOL), 2 * MiB);
}

static void a_stream_handle_given_out_again_is_not_capturing(void **state)
{
	struct records *r = *state;

	records_rm_scene(r);
	CALL(r, cuStreamBeginCapture_v2, STREAM);
	CALL(r, cuStreamCreate, STREAM); /* its end was missed */
	CALL(r, cuMemAllocAsync, A, MiB, STREAM);
	CALL(r, cuMemAllocAsync, B, MiB, STREAM + 8);
	assert_int_equal(records_live(r, ANY_GPU, GMT_CLASS_POOL), 2 * MiB);
}

static void the_per_thread_stream_captures_for_its_thread(void **state)
{
	struct records *r = *state;

	CALL(r, cuStreamBeginCapture_v2_ptsz, 2);
	r->tid = 101;
	CALL(r, cuMemAllocAsync_ptsz, A, MiB, 2);
	assert_int_equal(records_live(r, ANY_GPU, GMT_CLASS_POOL), MiB);
	r->tid = 100;
	CALL(r, cuMemAllocAsync_ptsz, B, MiB, 2);
	assert_int_equal(records_live(r, ANY_GPU, GMT_CLASS_GRAPH), MiB);
}

/* Streams join a capture through events; what the kernel did not map is no memory then. */
static void a_stream_that_joined_a_capture_is_told_by_the_kernel(void **state)
{
	struct records *r = *state;

	records_rm_scene(r);
	records_rm_map(r, 1, B, 32 * MiB, records_rm_memory(r, 1, 32 * MiB));
	CALL(r, cuMemAllocAsync, A + GiB, KiB, STREAM + 8); /* no capture: its mapping is from before attach */
	assert_int_equal(records_live(r, ANY_GPU, GMT_CLASS_POOL), KiB);
	CALL(r, cuStreamBeginCapture_v2, STREAM);
	CALL(r, cuMemAllocAsync, A, MiB, STREAM + 8);
	CALL(r, cuMemAllocAsync, B, MiB, STREAM + 16);
	assert_int_equal(records_live(r, ANY_GPU, GMT_CLASS_GRAPH), MiB);
	assert_int_equal(records_live(r, 1, GMT_CLASS_POOL), MiB);
}

static void failures_are_counted_on_the_pools_gpu(void **state)
{
	struct records *r = *state;

	CALL(r, cuMemPoolCreate, POOL, 1, 1, 1);
	FAIL(r, cuMemAllocFromPoolAsync, 2, 0, GiB, POOL, 0);
	FAIL(r, cuMemAllocAsync, 2, 0, GiB, 0);
	assert_int_equal(records_class(r, 0, GMT_CLASS_POOL).failed, 1);
	assert_int_equal(records_class(r, 1, GMT_CLASS_POOL).failed, 1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, scene, records_end_scene)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(used_bytes_change_at_the_call),
		TEST(the_streams_device_counts_not_the_threads),
		TEST(a_stream_from_before_attach_is_not_guessed),
		TEST(a_destroyed_stream_is_forgotten),
		TEST(the_pools_device_counts_not_the_streams),
		TEST(pools_are_learned_from_every_call_that_tells),
		TEST(pools_of_host_and_managed_memory_are_no_device_memory),
		TEST(destroying_a_pool_takes_no_allocation_along),
		TEST(a_failed_destruction_of_a_pool_is_taken_back),
		TEST(pool_memory_may_be_freed_synchronously),
		TEST(imported_pools_and_pointers_cost_nothing),
		TEST(what_is_captured_is_planned),
		TEST(a_stream_handle_given_out_again_is_not_capturing),
		TEST(the_per_thread_stream_captures_for_its_thread),
		TEST(a_stream_that_joined_a_capture_is_told_by_the_kernel),
		TEST(failures_are_counted_on_the_pools_gpu),
	};

	return cmocka_run_group_tests_name("pool", tests, NULL, NULL);
}
