// SPDX-License-Identifier: BSD-2-Clause
/*
 * Bugs that users of HAMi reported, or that can be seen in it: each is a case that the ledger gets
 * right. A name says the number of the issue (Project-HAMi/HAMi-core, HAMi), where there is one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "live_allocs.h"
#include "records.h"

#define A 0x7f0000000000ull
#define B 0x7f0010000000ull
#define C 0x7f0020000000ull
#define CTX0 0xc0ull             /* of ordinal 0, which is the GPU with index 1 */
#define CTX1 0xc1ull
#define POOL 0x9000ull
#define H 0x10ull
#define VA 0x302000000ull
#define SIZE (20 * MiB)

static int scene(void **state)
{
	static struct records r;

	records_scene(&r, API_LAYER);
	CALL(&r, cuDevicePrimaryCtxRetain, CTX0, 0);
	CALL(&r, cuCtxSetCurrent, CTX0);
	*state = &r;
	return 0;
}

/* ---- Project-HAMi/HAMi-core and HAMi ---- */

static void test_hami_93_from_pool_is_tracked(void **state)
{
	struct records *r = *state;

	CALL(r, cuDeviceGetDefaultMemPool, POOL, 0);
	CALL(r, cuMemAllocFromPoolAsync, A, MiB, POOL, 0);
	assert_int_equal(records_live(r, 1, GMT_CLASS_POOL), MiB);
}

static void test_hami_217_free_of_memory_from_a_pool_gives_it_back(void **state)
{
	struct records *r = *state;

	CALL(r, cuMemAllocFromPoolAsync, A, MiB, POOL, 0);
	RELEASE(r, cuMemFreeAsync, A, 0);
	assert_int_equal(records_attributed(r), 0);
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_FREE_UNKNOWN), 0);
}

static void test_hami_306_a_failed_allocation_leaks_nothing(void **state)
{
	struct records *r = *state;

	for (int i = 0; i < 1000; i++) {
		FAIL(r, cuMemAlloc_v2, 2, 0, GiB);
		FAIL(r, cuMemAllocAsync, 2, 0, GiB, 0);
		FAIL(r, cuMemCreate, 2, 0, GiB, 1, 0, 1);
	}
	assert_int_equal(records_attributed(r), 0);
	assert_int_equal(live_allocs(r->ledger), 0);
	assert_int_equal(records_class(r, 1, GMT_CLASS_DEVICE).failed, 1000);
}

static void test_hami_310_free_charges_the_allocating_device(void **state)
{
	struct records *r = *state;

	CALL(r, cuMemAllocAsync, A, MiB, 0);
	CALL(r, cuDevicePrimaryCtxRetain, CTX1, 1);
	CALL(r, cuCtxSetCurrent, CTX1);
	CALL(r, cuMemAllocAsync, B, 5 * MiB, 0);
	RELEASE(r, cuMemFreeAsync, A, 0);
	assert_int_equal(records_live(r, 1, GMT_CLASS_POOL), 0);
	assert_int_equal(records_live(r, 0, GMT_CLASS_POOL), 5 * MiB);
}

static void test_hami_311_free_from_a_thread_without_a_context(void **state)
{
	struct records *r = *state;

	CALL(r, cuMemAlloc_v2, A, MiB);
	r->tid = 101;
	RELEASE(r, cuMemFree_v2, A);
	assert_int_equal(records_live(r, 1, GMT_CLASS_DEVICE), 0);
}

static void test_hami_187_host_locations_are_no_video_memory(void **state)
{
	struct records *r = *state;

	CALL(r, cuMemCreate, H, SIZE, 3, 0xffffffff, 1);
	assert_int_equal(records_attributed(r), 0);
	assert_int_equal(records_live(r, ANY_GPU, GMT_CLASS_PINNED), SIZE);
}

static void test_hami_192_cu_mem_create_charges_its_location(void **state)
{
	struct records *r = *state;

	CALL(r, cuMemCreate, H, SIZE, 1, 1, 1); /* the current context is on the other GPU */
	assert_int_equal(records_live(r, 0, GMT_CLASS_VMM), SIZE);
	assert_int_equal(records_live(r, 1, GMT_CLASS_VMM), 0);
}

static void test_hami_186_cu_mem_create_needs_no_context(void **state)
{
	struct records *r = *state;

	r->tid = 101;
	CALL(r, cuMemCreate, H, SIZE, 1, 0, 1);
	assert_int_equal(records_live(r, 1, GMT_CLASS_VMM), SIZE);
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_GPU_UNKNOWN), 0);
}

static void test_hami_98_virtual_memory_is_counted(void **state)
{
	struct records *r = *state;

	for (uint64_t i = 0; i < 100; i++) {
		CALL(r, cuMemCreate, H + i, SIZE, 1, 0, 1);
		CALL(r, cuMemMap, VA + i * SIZE, SIZE, 0, H + i);
	}
	assert_int_equal(records_live(r, 1, GMT_CLASS_VMM), 100 * SIZE);
}

static void test_hami_128_nccl_buffers_are_counted_once_among_peers(void **state)
{
	struct records *r = *state;

	/* The owner creates and exports; the peer process imports and maps. */
	CALL(r, cuMemCreate, H, SIZE, 1, 0, 1);
	CALL(r, cuMemExportToShareableHandle, H, 1);
	r->tgid = r->tid = 200;
	records_device(r, 0, 1);
	CALL(r, cuMemImportFromShareableHandle, H, 1);
	CALL(r, cuMemMap, VA, SIZE, 0, H);
	assert_int_equal(records_attributed(r), 0);
	r->tgid = 100;
	assert_int_equal(records_attributed(r), SIZE);
}

static void test_hami_304_nested_retains_are_one_context(void **state)
{
	struct records *r = *state;

	CALL(r, cuDevicePrimaryCtxRetain, CTX0, 0);
	CALL(r, cuDevicePrimaryCtxRetain, CTX0, 0);
	CALL(r, cuMemAlloc_v2, A, MiB);
	CALL(r, cuDevicePrimaryCtxRelease_v2, 0);
	CALL(r, cuDevicePrimaryCtxRelease_v2, 0);
	assert_int_equal(records_live(r, 1, GMT_CLASS_DEVICE), MiB);
	CALL(r, cuDevicePrimaryCtxRelease_v2, 0);
	assert_int_equal(records_live(r, 1, GMT_CLASS_DEVICE), 0);
}

static void test_hami_304_the_contexts_bytes_are_counted_once(void **state)
{
	struct records *r = *state;
	struct view_row row;

	r->tgid = r->tid = 200;
	records_attach(r, true);
	r->cause = GMT_API_cuDevicePrimaryCtxRetain;
	records_rm_scene(r);
	records_rm_memory(r, 1, 500 * MiB);
	for (int i = 0; i < 3; i++)
		CALL(r, cuDevicePrimaryCtxRetain, CTX0, 0);
	assert_true(records_row(r, 1, &row));
	assert_int_equal(row.physical.live, 500 * MiB);
	assert_int_equal(row.by_purpose[GMT_PURPOSE_CONTEXT], 500 * MiB);
}

static void test_hami_304_reset_gives_everything_back(void **state)
{
	struct records *r = *state;

	CALL(r, cuMemAlloc_v2, A, MiB);
	CALL(r, cuMemAllocPitch_v2, B, 512, 500, 10);
	CALL(r, cuDevicePrimaryCtxReset_v2, 0);
	assert_int_equal(records_attributed(r), 0);
	CALL(r, cuMemAlloc_v2, A, MiB); /* the same address, no double */
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_DOUBLE_ALLOC), 0);
}

static void test_hami_304_a_forked_child_has_no_context(void **state)
{
	struct records *r = *state;

	CALL(r, cuMemAlloc_v2, A, MiB);
	records_fork(r, 300, 77);
	r->tgid = r->tid = 300;
	RELEASE(r, cuMemFree_v2, A); /* atexit handlers of the parent's runtime run in the child */
	assert_int_equal(records_attributed(r), 0);
	r->tgid = r->tid = 100;
	assert_int_equal(records_attributed(r), MiB);
}

static void test_hami_199_exit_of_a_child_leaves_the_parent_alone(void **state)
{
	struct records *r = *state;

	CALL(r, cuMemAlloc_v2, A, MiB);
	records_fork(r, 300, 77);
	r->tgid = r->tid = 300;
	records_exit(r, 0);
	r->tgid = r->tid = 100;
	assert_int_equal(records_attributed(r), MiB);
}

static void test_hami_318_cuda_ordinals_are_not_nvml_indices(void **state)
{
	struct records *r = *state;

	CALL(r, cuMemAlloc_v2, A, MiB); /* ordinal 0 */
	assert_int_equal(records_live(r, 1, GMT_CLASS_DEVICE), MiB);
	assert_int_equal(records_live(r, 0, GMT_CLASS_DEVICE), 0);
}

static void test_hami_191_the_dead_hold_nothing(void **state)
{
	struct records *r = *state;

	records_proc(r, 5, "first");
	CALL(r, cuMemAlloc_v2, A, MiB);
	records_exit(r, 9);
	records_fork(r, 100, 99); /* its pid, given out again */
	CALL(r, cuMemAllocAsync, B, KiB, 0);
	assert_int_equal(records_attributed(r), KiB);
}

static void test_hami_233_entry_points_of_cuda_13(void **state)
{
	struct records *r = *state;

	CALL(r, cuCtxCreate_v4, CTX1, 1);
	CALL(r, cuMemAlloc_v2, A, MiB);
	CALL(r, cuMemGetMemPool, POOL, 1, 1, 1);
	CALL(r, cuMemAllocFromPoolAsync, B, MiB, POOL, 0);
	CALL(r, cuGraphAddNode_v2, 10, C, MiB, 1, 0);
	assert_int_equal(records_live(r, 0, GMT_CLASS_DEVICE), MiB);
	assert_int_equal(records_live(r, 0, GMT_CLASS_POOL), MiB);
	assert_int_equal(records_live(r, 0, GMT_CLASS_GRAPH), MiB);
}

static void test_hami_257_async_memory_freed_synchronously(void **state)
{
	struct records *r = *state;

	CALL(r, cuMemAllocAsync, A, MiB, 0);
	RELEASE(r, cuMemFree_v2, A);
	assert_int_equal(records_attributed(r), 0);
}

static void test_hami_257_free_of_memory_from_before_attach(void **state)
{
	struct records *r = *state;

	r->tgid = r->tid = 200;
	records_attach(r, false);
	CALL(r, cuMemAlloc_v2, B, MiB);
	RELEASE(r, cuMemFree_v2, A);
	assert_int_equal(records_attributed(r), MiB);
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_FREE_UNKNOWN), 1);
}

static void test_hami_1181_never_below_zero(void **state)
{
	struct records *r = *state;

	CALL(r, cuMemAlloc_v2, A, MiB);
	for (int i = 0; i < 3; i++)
		RELEASE(r, cuMemFree_v2, A);
	struct view_class c = records_class(r, 1, GMT_CLASS_DEVICE);

	assert_int_equal(c.bytes.live, 0);
	assert_int_equal(c.live_count, 0);
	assert_int_equal(c.frees, 1);
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_FREE_UNKNOWN), 2);
}

static void test_hami_2865_a_context_that_failed_is_none(void **state)
{
	struct records *r = *state;

	CALL(r, cuMemAlloc_v2, A, MiB);
	FAIL(r, cuDevicePrimaryCtxRetain, 2, 0, 0);
	FAIL(r, cuCtxCreate_v2, 2, CTX1, 1);
	CALL(r, cuMemAlloc_v2, B, MiB); /* the failed one is not current */
	assert_int_equal(records_live(r, 1, GMT_CLASS_DEVICE), 2 * MiB);
	CALL(r, cuDevicePrimaryCtxRelease_v2, 0); /* the one retain that succeeded */
	assert_int_equal(records_live(r, 1, GMT_CLASS_DEVICE), 0);
}

static void test_hami_409_what_a_pool_keeps_is_named(void **state)
{
	struct records *r = *state;
	struct view_row row;

	records_session(r, ALL_LAYERS);
	records_rm_scene(r);
	r->cause = GMT_API_cuMemAllocAsync;
	records_rm_map(r, 1, A, 32 * MiB, records_rm_memory(r, 1, 32 * MiB));
	CALL(r, cuMemAllocAsync, A, 20 * MiB, 0);
	RELEASE(r, cuMemFreeAsync, A, 0);
	records_nvml(r, 1, GMT_NVML_SAMPLE, 32 * MiB);
	assert_true(records_row(r, 1, &row));
	assert_int_equal(row.attributed.live, 0);
	assert_int_equal(row.pool_reserve, 32 * MiB);
	assert_int_equal(row.residual, 0);
}

static void test_hami_pitch_is_the_drivers_not_the_width(void **state)
{
	struct records *r = *state;

	CALL(r, cuMemAllocPitch_v2, A, 512, 100, 1000);
	assert_int_equal(records_live(r, 1, GMT_CLASS_DEVICE), 512000);
}

static void test_hami_release_of_mapped_memory_frees_nothing(void **state)
{
	struct records *r = *state;

	CALL(r, cuMemCreate, H, SIZE, 1, 0, 1);
	CALL(r, cuMemMap, VA, SIZE, 0, H);
	RELEASE(r, cuMemRelease, H); /* ggml's pool does it right after the map */
	assert_int_equal(records_live(r, 1, GMT_CLASS_VMM), SIZE);
}

static void test_hami_arrays_are_charged(void **state)
{
	struct records *r = *state;

	CALL(r, cuArray3DCreate_v2, 0xa1, 256, 256, 0x20, 4, 256, 0);
	assert_int_equal(records_attributed(r), 256 * MiB);
}

static void test_hami_per_thread_stream_variants_count(void **state)
{
	struct records *r = *state;

	CALL(r, cuMemAllocAsync_ptsz, A, MiB, 0);
	CALL(r, cuMemAllocFromPoolAsync_ptsz, B, MiB, POOL, 0);
	assert_int_equal(records_attributed(r), 2 * MiB);
	RELEASE(r, cuMemFreeAsync_ptsz, A, 0);
	RELEASE(r, cuMemFreeAsync_ptsz, B, 0);
	assert_int_equal(records_attributed(r), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, scene, records_end_scene)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_hami_93_from_pool_is_tracked),
		TEST(test_hami_217_free_of_memory_from_a_pool_gives_it_back),
		TEST(test_hami_306_a_failed_allocation_leaks_nothing),
		TEST(test_hami_310_free_charges_the_allocating_device),
		TEST(test_hami_311_free_from_a_thread_without_a_context),
		TEST(test_hami_187_host_locations_are_no_video_memory),
		TEST(test_hami_192_cu_mem_create_charges_its_location),
		TEST(test_hami_186_cu_mem_create_needs_no_context),
		TEST(test_hami_98_virtual_memory_is_counted),
		TEST(test_hami_128_nccl_buffers_are_counted_once_among_peers),
		TEST(test_hami_304_nested_retains_are_one_context),
		TEST(test_hami_304_the_contexts_bytes_are_counted_once),
		TEST(test_hami_304_reset_gives_everything_back),
		TEST(test_hami_304_a_forked_child_has_no_context),
		TEST(test_hami_199_exit_of_a_child_leaves_the_parent_alone),
		TEST(test_hami_318_cuda_ordinals_are_not_nvml_indices),
		TEST(test_hami_191_the_dead_hold_nothing),
		TEST(test_hami_233_entry_points_of_cuda_13),
		TEST(test_hami_257_async_memory_freed_synchronously),
		TEST(test_hami_257_free_of_memory_from_before_attach),
		TEST(test_hami_1181_never_below_zero),
		TEST(test_hami_2865_a_context_that_failed_is_none),
		TEST(test_hami_409_what_a_pool_keeps_is_named),
		TEST(test_hami_pitch_is_the_drivers_not_the_width),
		TEST(test_hami_release_of_mapped_memory_frees_nothing),
		TEST(test_hami_arrays_are_charged),
		TEST(test_hami_per_thread_stream_variants_count),
	};

	return cmocka_run_group_tests_name("known_bugs", tests, NULL, NULL);
}
