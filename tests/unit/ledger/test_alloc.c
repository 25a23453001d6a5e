// SPDX-License-Identifier: BSD-2-Clause
/* Allocations by address: what each call charges, and what gives it back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "records.h"

#define A 0x7f0000000000ull
#define B 0x7f0010000000ull
#define CTX0 0xc0ull             /* primary context of ordinal 0, which is the GPU with index 1 */

static int scene(void **state)
{
	static struct records r;

	records_scene(&r, API_LAYER);
	CALL(&r, cuDevicePrimaryCtxRetain, CTX0, 0);
	CALL(&r, cuCtxSetCurrent, CTX0);
	*state = &r;
	return 0;
}

static void alloc_and_free_balance(void **state)
{
	struct records *r = *state;

	CALL(r, cuMemAlloc_v2, A, 3 * MiB);
	struct view_class c = records_class(r, 1, GMT_CLASS_DEVICE);

	assert_int_equal(c.bytes.live, 3 * MiB);
	assert_int_equal(c.bytes.peak, 3 * MiB);
	assert_int_equal(c.live_count, 1);
	RELEASE(r, cuMemFree_v2, A);
	c = records_class(r, 1, GMT_CLASS_DEVICE);
	assert_int_equal(c.bytes.live, 0);
	assert_int_equal(c.bytes.peak, 3 * MiB);
	assert_int_equal(c.live_count, 0);
	assert_int_equal(c.allocs, 1);
	assert_int_equal(c.frees, 1);
	assert_int_equal(c.alloc_bytes, 3 * MiB);
	assert_int_equal(c.freed_bytes, 3 * MiB);
}

static void the_peak_keeps_the_time_it_was_first_reached(void **state)
{
	struct records *r = *state;

	CALL(r, cuMemAlloc_v2, A, MiB);
	uint64_t ts = r->ts_ns;

	CALL(r, cuMemAlloc_v2, B, MiB);
	RELEASE(r, cuMemFree_v2, B);
	CALL(r, cuMemAlloc_v2, B, MiB); /* the same height again */
	RELEASE(r, cuMemFree_v2, A);
	struct view_class c = records_class(r, ANY_GPU, GMT_CLASS_DEVICE);

	assert_int_equal(c.bytes.peak, 2 * MiB);
	assert_int_equal(c.bytes.peak_ts_ns, ts);
	assert_int_equal(c.bytes.live, MiB);
}

static void free_of_null_is_a_no_op(void **state)
{
	struct records *r = *state;

	RELEASE(r, cuMemFree_v2, 0);
	RELEASE(r, cuMemFreeHost, 0);
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_FREE_UNKNOWN), 0);
	assert_int_equal(records_class(r, ANY_GPU, GMT_CLASS_DEVICE).frees, 0);
}

static void the_first_versions_calls_count_like_the_second(void **state)
{
	struct records *r = *state;

	CALL(r, cuMemAlloc, 0x1000, MiB);
	CALL(r, cuMemAllocPitch, 0x200000, 512, 100, 10);
	assert_int_equal(records_live(r, 1, GMT_CLASS_DEVICE), MiB + 5120);
	RELEASE(r, cuMemFree, 0x1000);
	assert_int_equal(records_live(r, 1, GMT_CLASS_DEVICE), 5120);
}

static void managed_pinned_and_registered_are_on_no_gpu(void **state)
{
	struct records *r = *state;
	struct view_row row;

	CALL(r, cuMemAllocManaged, A, 60 * GiB, 1);
	CALL(r, cuMemHostAlloc, B, 2 * MiB, 0);
	CALL(r, cuMemAllocHost_v2, B + GiB, MiB); /* a row without flags: the missing value is 0 */
	CALL(r, cuMemHostRegister_v2, B + 2 * GiB, 4 * MiB, 0);
	assert_int_equal(records_live(r, ANY_GPU, GMT_CLASS_MANAGED), 60 * GiB);
	assert_int_equal(records_live(r, ANY_GPU, GMT_CLASS_PINNED), 3 * MiB);
	assert_int_equal(records_live(r, ANY_GPU, GMT_CLASS_REGISTERED), 4 * MiB);
	assert_int_equal(records_attributed(r), 0);
	assert_false(records_row(r, 1, &row));
	RELEASE(r, cuMemFree_v2, A);
	RELEASE(r, cuMemFreeHost, B);
	RELEASE(r, cuMemFreeHost, B + GiB);
	RELEASE(r, cuMemHostUnregister, B + 2 * GiB);
	assert_int_equal(records_live(r, ANY_GPU, GMT_CLASS_MANAGED), 0);
	assert_int_equal(records_live(r, ANY_GPU, GMT_CLASS_PINNED), 0);
	assert_int_equal(records_live(r, ANY_GPU, GMT_CLASS_REGISTERED), 0);
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_FREE_UNKNOWN), 0);
}

static void a_failed_free_is_taken_back(void **state)
{
	struct records *r = *state;

	CALL(r, cuMemAlloc_v2, A, MiB);
	uint32_t seq = RELEASE(r, cuMemFree_v2, A);

	assert_int_equal(records_live(r, 1, GMT_CLASS_DEVICE), 0);
	UNDO(r, cuMemFree_v2, seq, 700, A);
	struct view_class c = records_class(r, 1, GMT_CLASS_DEVICE);

	assert_int_equal(c.bytes.live, MiB);
	assert_int_equal(c.live_count, 1);
	assert_int_equal(c.frees, 0);
	assert_int_equal(c.freed_bytes, 0);
	RELEASE(r, cuMemFree_v2, A);
	assert_int_equal(records_live(r, 1, GMT_CLASS_DEVICE), 0);
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_UNDO_UNKNOWN), 0);
}

static void a_failed_free_of_an_unknown_address_is_no_anomaly(void **state)
{
	struct records *r = *state;
	uint32_t seq = RELEASE(r, cuMemFree_v2, A);

	assert_int_equal(records_anomalies(r, GMT_ANOMALY_FREE_UNKNOWN), 1);
	UNDO(r, cuMemFree_v2, seq, 1, A);
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_FREE_UNKNOWN), 0);
}

static void a_failed_free_of_nothing_is_no_anomaly(void **state)
{
	struct records *r = *state;
	uint32_t seq = RELEASE(r, cuMemFree_v2, 0);

	UNDO(r, cuMemFree_v2, seq, 700, 0);        /* a sticky error: every call fails from now on */
	seq = RELEASE(r, cuIpcCloseMemHandle, 0);
	UNDO(r, cuIpcCloseMemHandle, seq, 700, 0);
	seq = RELEASE(r, cuArrayDestroy, 0);
	UNDO(r, cuArrayDestroy, seq, 700, 0);
	seq = RELEASE(r, cuDestroyExternalMemory, 0);
	UNDO(r, cuDestroyExternalMemory, seq, 700, 0);
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_UNDO_UNKNOWN), 0);
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_FREE_UNKNOWN), 0);
}

static void undo_finds_its_release_by_thread_and_number(void **state)
{
	struct records *r = *state;

	CALL(r, cuMemAlloc_v2, A, MiB);
	CALL(r, cuMemAlloc_v2, B, 2 * MiB);
	uint32_t outer = RELEASE(r, cuMemFree_v2, A);

	RELEASE(r, cuMemFree_v2, B);      /* inside it */
	r->tid = 101;                     /* another thread's, with the same number */
	r->seq = outer - 1;
	CALL(r, cuCtxSetCurrent, CTX0);
	UNDO(r, cuMemFree_v2, outer, 700, A);
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_UNDO_UNKNOWN), 1);
	assert_int_equal(records_live(r, 1, GMT_CLASS_DEVICE), 0);
	r->tid = 100;
	UNDO(r, cuMemFree_v2, outer, 700, A);
	assert_int_equal(records_live(r, 1, GMT_CLASS_DEVICE), MiB);
	UNDO(r, cuMemFree_v2, outer, 700, A); /* but only once */
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_UNDO_UNKNOWN), 2);
	assert_int_equal(records_live(r, 1, GMT_CLASS_DEVICE), MiB);
}

static void undo_is_not_for_a_thread_that_had_the_same_number(void **state)
{
	struct records *r = *state;

	CALL(r, cuMemAlloc_v2, A, MiB);
	CALL(r, cuMemAlloc_v2, B, 2 * MiB);
	r->tid = 101;
	r->seq = 0;
	RELEASE(r, cuMemFree_v2, A);
	r->seq = 0;                       /* the thread has ended, and another one begins */
	UNDO(r, cuMemFree_v2, RELEASE(r, cuMemFree_v2, B), 700, B);
	assert_int_equal(records_live(r, 1, GMT_CLASS_DEVICE), 2 * MiB);
}

static void undo_after_the_address_was_given_out_again_changes_nothing(void **state)
{
	struct records *r = *state;

	CALL(r, cuMemAlloc_v2, A, MiB);
	uint32_t seq = RELEASE(r, cuMemFree_v2, A);

	CALL(r, cuMemAlloc_v2, A, 5 * MiB);
	UNDO(r, cuMemFree_v2, seq, 700, A);
	assert_int_equal(records_live(r, 1, GMT_CLASS_DEVICE), 5 * MiB);
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_UNDO_UNKNOWN), 1);
}

static void an_allocation_at_a_live_address_replaces_it_and_is_counted(void **state)
{
	struct records *r = *state;

	CALL(r, cuMemAlloc_v2, A, MiB);
	CALL(r, cuMemAlloc_v2, A, 5 * MiB);
	struct view_class c = records_class(r, 1, GMT_CLASS_DEVICE);

	assert_int_equal(c.bytes.live, 5 * MiB);
	assert_int_equal(c.live_count, 1);
	assert_int_equal(c.allocs, c.frees + c.live_count);
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_DOUBLE_ALLOC), 1);
}

static void values_that_could_not_be_read_are_counted(void **state)
{
	struct records *r = *state;

	r->unread = 1u << 1; /* the size */
	CALL(r, cuMemAlloc_v2, A, 0);
	assert_int_equal(records_class(r, 1, GMT_CLASS_DEVICE).live_count, 1);
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_SIZE_UNKNOWN), 1);
	r->unread = 1u << 0; /* the address */
	CALL(r, cuMemAlloc_v2, 0, MiB);
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_SIZE_UNKNOWN), 2);
	r->unread = 1u << 1; /* the pitch: the width is less, but better than nothing */
	CALL(r, cuMemAllocPitch_v2, B, 0, 1000, 10);
	assert_int_equal(records_live(r, 1, GMT_CLASS_DEVICE), 10000);
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_SIZE_UNKNOWN), 3);
}

static void a_size_that_no_gpu_has_is_unknown(void **state)
{
	struct records *r = *state;

	CALL(r, cuMemAlloc_v2, A, (1ull << 60) + MiB);
	assert_int_equal(records_live(r, 1, GMT_CLASS_DEVICE), 0);
	assert_int_equal(records_class(r, 1, GMT_CLASS_DEVICE).live_count, 1);
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_SIZE_UNKNOWN), 1);
}

static void failed_allocations_are_counted_where_they_were_asked_for(void **state)
{
	struct records *r = *state;

	FAIL(r, cuMemAlloc_v2, 2, 0, 500 * GiB);
	FAIL(r, cuMemAllocPitch_v2, 2, 0, 0, 1 << 30, 1 << 30);
	FAIL(r, cuMemAllocManaged, 2, 0, 500 * GiB, 1);
	FAIL(r, cuMemHostAlloc, 2, 0, 500 * GiB, 0);
	struct view_class c = records_class(r, 1, GMT_CLASS_DEVICE);

	assert_int_equal(c.failed, 2);
	assert_int_equal(c.allocs, 0);
	assert_int_equal(c.bytes.peak, 0);
	assert_int_equal(records_class(r, ANY_GPU, GMT_CLASS_MANAGED).failed, 1);
	assert_int_equal(records_class(r, ANY_GPU, GMT_CLASS_PINNED).failed, 1);
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_SIZE_UNKNOWN), 0);
}

static void arrays_are_estimated_and_corrected(void **state)
{
	struct records *r = *state;

	CALL(r, cuArrayCreate_v2, 0xa1, 1000, 0, 0x20, 4);                  /* 1D float4 */
	CALL(r, cuArray3DCreate_v2, 0xa2, 64, 64, 1, 1, 6, 4);             /* cubemap of bytes */
	CALL(r, cuMipmappedArrayCreate, 0xa3, 4, 4, 1, 1, 0, 0, 3);        /* 16 + 4 + 1 */
	assert_int_equal(records_live(r, 1, GMT_CLASS_ARRAY), 16000 + 24576 + 21);
	CALL(r, cuArrayGetMemoryRequirements, 0xa1, 64 * KiB);
	struct view_class c = records_class(r, 1, GMT_CLASS_ARRAY);

	assert_int_equal(c.bytes.live, 64 * KiB + 24576 + 21);
	assert_int_equal(c.alloc_bytes, c.bytes.live);
	RELEASE(r, cuArrayDestroy, 0xa1);
	RELEASE(r, cuArrayDestroy, 0xa2);
	uint32_t seq = RELEASE(r, cuMipmappedArrayDestroy, 0xa3);

	assert_int_equal(records_live(r, 1, GMT_CLASS_ARRAY), 0);
	UNDO(r, cuMipmappedArrayDestroy, seq, 700, 0xa3);
	assert_int_equal(records_live(r, 1, GMT_CLASS_ARRAY), 21);
}

static void arrays_without_memory_of_their_own_cost_nothing(void **state)
{
	struct records *r = *state;

	CALL(r, cuArray3DCreate_v2, 0xa1, 4096, 4096, 1, 4, 0, 0x40);      /* sparse */
	CALL(r, cuArray3DCreate_v2, 0xa2, 4096, 4096, 1, 4, 0, 0x80);      /* mapped later */
	CALL(r, cuArrayGetMemoryRequirements, 0xa2, 64 * MiB);             /* which only such a one may ask */
	assert_int_equal(records_live(r, 1, GMT_CLASS_ARRAY), 0);
	assert_int_equal(records_class(r, 1, GMT_CLASS_ARRAY).live_count, 2);
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_SIZE_UNKNOWN), 0);
}

static void an_array_of_unknown_format_is_of_unknown_size(void **state)
{
	struct records *r = *state;

	CALL(r, cuArrayCreate_v2, 0xa1, 1000, 0, 0x7777, 4);
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_SIZE_UNKNOWN), 1);
	assert_int_equal(records_class(r, 1, GMT_CLASS_ARRAY).live_count, 1);
}

static void an_array_handle_is_no_address(void **state)
{
	struct records *r = *state;

	CALL(r, cuMemHostRegister_v2, 0xa1000, MiB, 0);
	CALL(r, cuArrayCreate_v2, 0xa1000, 100, 0, 1, 1);
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_DOUBLE_ALLOC), 0);
	RELEASE(r, cuArrayDestroy, 0xa1000);
	assert_int_equal(records_live(r, ANY_GPU, GMT_CLASS_REGISTERED), MiB);
}

static void external_memory_is_imported_and_costs_nothing(void **state)
{
	struct records *r = *state;

	CALL(r, cuImportExternalMemory, 0xe1, GiB, 1);
	CALL(r, cuExternalMemoryGetMappedBuffer, A, 0xe1, GiB);
	struct view_class c = records_class(r, 1, GMT_CLASS_IMPORTED);

	assert_int_equal(c.live_count, 1);
	assert_int_equal(c.bytes.live, 0);
	assert_int_equal(records_attributed(r), 0);
	RELEASE(r, cuMemFree_v2, A);
	RELEASE(r, cuDestroyExternalMemory, 0xe1);
	assert_int_equal(records_class(r, 1, GMT_CLASS_IMPORTED).live_count, 0);
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_FREE_UNKNOWN), 0);
}

static void a_failed_ipc_close_is_taken_back(void **state)
{
	struct records *r = *state;

	CALL(r, cuIpcOpenMemHandle_v2, A, 0x1234, 1);
	CALL(r, cuIpcOpenMemHandle_v2, A, 0x1234, 1);
	for (int i = 0; i < 2; i++) {
		uint32_t seq = RELEASE(r, cuIpcCloseMemHandle, A);

		UNDO(r, cuIpcCloseMemHandle, seq, 700, A);
		RELEASE(r, cuIpcCloseMemHandle, A);
		assert_int_equal(records_class(r, 1, GMT_CLASS_IMPORTED).live_count, 1 - i);
	}
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_FREE_UNKNOWN), 0);
	RELEASE(r, cuIpcCloseMemHandle, A);
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_FREE_UNKNOWN), 1);
}

static void an_array_in_external_memory_costs_nothing(void **state)
{
	struct records *r = *state;

	CALL(r, cuImportExternalMemory, 0xe1, GiB, 1);
	CALL(r, cuExternalMemoryGetMappedMipmappedArray, 0xa1, 0xe1);
	CALL(r, cuMipmappedArrayGetMemoryRequirements, 0xa1, GiB);
	assert_int_equal(records_attributed(r), 0);
	RELEASE(r, cuMipmappedArrayDestroy, 0xa1);
	RELEASE(r, cuDestroyExternalMemory, 0xe1);
	assert_int_equal(records_attributed(r), 0);
	assert_int_equal(records_live(r, ANY_GPU, GMT_CLASS_IMPORTED), 0);
	for (int anomaly = 0; anomaly < GMT_ANOMALY_COUNT; anomaly++)
		assert_int_equal(records_anomalies(r, anomaly), 0);
}

static void graph_nodes_are_a_plan(void **state)
{
	struct records *r = *state;

	CALL(r, cuGraphAddMemAllocNode, A, MiB, 0);
	CALL(r, cuGraphAddNode, 10, B, 2 * MiB, 1, 0);
	CALL(r, cuGraphAddNode, 0, 0xdead, 0xbeef, 7, 8);           /* a kernel node: garbage in the union */
	assert_int_equal(records_live(r, 1, GMT_CLASS_GRAPH), MiB); /* ordinal 0 */
	assert_int_equal(records_live(r, 0, GMT_CLASS_GRAPH), 2 * MiB);
	assert_int_equal(records_attributed(r), 0);
	CALL(r, cuGraphAddMemFreeNode, A);
	CALL(r, cuGraphAddNode_v2, 11, 0, 0, 0, B);
	assert_int_equal(records_live(r, ANY_GPU, GMT_CLASS_GRAPH), 0);
	assert_int_equal(records_class(r, ANY_GPU, GMT_CLASS_GRAPH).frees, 2);
}

static void what_a_graph_left_may_be_freed_after_every_launch(void **state)
{
	struct records *r = *state;

	CALL(r, cuGraphAddMemAllocNode, A, MiB, 0);
	RELEASE(r, cuMemFree_v2, A);          /* after the first launch */
	assert_int_equal(records_live(r, 1, GMT_CLASS_GRAPH), 0);
	uint32_t seq = RELEASE(r, cuMemFreeAsync, A, 0);   /* after the second */

	assert_int_equal(records_anomalies(r, GMT_ANOMALY_FREE_UNKNOWN), 0);
	assert_int_equal(records_class(r, 1, GMT_CLASS_GRAPH).frees, 1);
	UNDO(r, cuMemFreeAsync, seq, 1, A, 0);
	assert_int_equal(records_live(r, 1, GMT_CLASS_GRAPH), 0);
	/* The graph was destroyed, unseen: its address is anybody's. */
	CALL(r, cuMemAlloc_v2, A, 4 * MiB);
	assert_int_equal(records_live(r, 1, GMT_CLASS_DEVICE), 4 * MiB);
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_DOUBLE_ALLOC), 0);
}

static void a_failed_free_of_graph_memory_is_taken_back(void **state)
{
	struct records *r = *state;

	CALL(r, cuGraphAddMemAllocNode, A, MiB, 0);
	uint32_t seq = RELEASE(r, cuMemFree_v2, A);

	UNDO(r, cuMemFree_v2, seq, 1, A);
	struct view_class c = records_class(r, 1, GMT_CLASS_GRAPH);

	assert_int_equal(c.bytes.live, MiB);
	assert_int_equal(c.live_count, 1);
	assert_int_equal(c.frees, 0);
}

static void address_ranges_teach_a_late_attach_sizes(void **state)
{
	struct records *r = *state;

	r->tgid = 200; /* a process that was there before */
	records_attach(r, false);
	records_nvml(r, 1, GMT_NVML_BASELINE, 10 * GiB);
	r->unread = 0;
	CALL(r, cuMemGetAddressRange_v2, A, GiB, A + 5);
	assert_int_equal(records_live(r, ANY_GPU, GMT_CLASS_DEVICE), 0); /* part of what was there */
	uint32_t seq = RELEASE(r, cuMemFree_v2, A);
	struct view_row row;

	assert_int_equal(records_anomalies(r, GMT_ANOMALY_FREE_UNKNOWN), 0);
	assert_true(records_row(r, 1, &row));
	assert_int_equal(row.before_attach, 9 * GiB);
	UNDO(r, cuMemFree_v2, seq, 700, A);
	records_row(r, 1, &row);
	assert_int_equal(row.before_attach, 10 * GiB);
	RELEASE(r, cuMemFree_v2, B);
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_FREE_UNKNOWN), 1);
}

static void address_ranges_of_other_things_are_no_allocations(void **state)
{
	struct records *r = *state;

	CALL(r, cuMemGetAddressRange_v2, A, GiB, A + 5); /* from the start all is known: a module's variable */
	RELEASE(r, cuMemFree_v2, A);
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_FREE_UNKNOWN), 1);
	r->tgid = 200;
	records_attach(r, false);
	CALL(r, cuMemCreate, 0x10, MiB, 1, 0, 1);
	CALL(r, cuMemMap, B, MiB, 0, 0x10);
	CALL(r, cuMemGetAddressRange_v2, B, MiB, B + 5); /* a mapping */
	RELEASE(r, cuMemFree_v2, B);
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_FREE_UNKNOWN), 2);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, scene, records_end_scene)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(alloc_and_free_balance),
		TEST(the_peak_keeps_the_time_it_was_first_reached),
		TEST(free_of_null_is_a_no_op),
		TEST(the_first_versions_calls_count_like_the_second),
		TEST(managed_pinned_and_registered_are_on_no_gpu),
		TEST(a_failed_free_is_taken_back),
		TEST(a_failed_free_of_an_unknown_address_is_no_anomaly),
		TEST(a_failed_free_of_nothing_is_no_anomaly),
		TEST(undo_finds_its_release_by_thread_and_number),
		TEST(undo_is_not_for_a_thread_that_had_the_same_number),
		TEST(undo_after_the_address_was_given_out_again_changes_nothing),
		TEST(an_allocation_at_a_live_address_replaces_it_and_is_counted),
		TEST(values_that_could_not_be_read_are_counted),
		TEST(a_size_that_no_gpu_has_is_unknown),
		TEST(failed_allocations_are_counted_where_they_were_asked_for),
		TEST(arrays_are_estimated_and_corrected),
		TEST(arrays_without_memory_of_their_own_cost_nothing),
		TEST(an_array_of_unknown_format_is_of_unknown_size),
		TEST(an_array_handle_is_no_address),
		TEST(external_memory_is_imported_and_costs_nothing),
		TEST(a_failed_ipc_close_is_taken_back),
		TEST(an_array_in_external_memory_costs_nothing),
		TEST(graph_nodes_are_a_plan),
		TEST(what_a_graph_left_may_be_freed_after_every_launch),
		TEST(a_failed_free_of_graph_memory_is_taken_back),
		TEST(address_ranges_teach_a_late_attach_sizes),
		TEST(address_ranges_of_other_things_are_no_allocations),
	};

	return cmocka_run_group_tests_name("alloc", tests, NULL, NULL);
}
