// SPDX-License-Identifier: BSD-2-Clause
/*
 * Bugs that users of tracers and of frameworks reported, or that can be seen in such tools: each is a
 * case that the ledger gets right. A name is the project and the number of its issue, where there is
 * one. HAMi's are in test_known_bugs.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "core/terms/probes.h"
#include "live_allocs.h"
#include "records.h"

#define A 0x7f0000000000ull
#define B 0x7f0010000000ull
#define C 0x7f0020000000ull
#define CTX0 0xc0ull             /* of ordinal 0, which is the GPU with index 1 */
#define CTX1 0xc1ull
#define STREAM 0x5000ull
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

/* ---- NVIDIA's own ---- */

static void test_nccl_1795_retain_release_unmap_release(void **state)
{
	struct records *r = *state;

	CALL(r, cuMemCreate, H, SIZE, 1, 0, 1);
	CALL(r, cuMemMap, VA, SIZE, 0, H);
	/* ncclMemFree */
	CALL(r, cuMemRetainAllocationHandle, H, VA);
	RELEASE(r, cuMemRelease, H);
	assert_int_equal(records_live(r, 1, GMT_CLASS_VMM), SIZE);
	RELEASE(r, cuMemUnmap, VA, SIZE);
	assert_int_equal(records_live(r, 1, GMT_CLASS_VMM), SIZE);
	RELEASE(r, cuMemRelease, H);
	assert_int_equal(records_live(r, 1, GMT_CLASS_VMM), 0);
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_FREE_UNKNOWN), 0);
}

static void test_nccl_1968_imports_that_leak_are_seen(void **state)
{
	struct records *r = *state;

	for (uint64_t i = 0; i < 10; i++) {
		CALL(r, cuMemImportFromShareableHandle, H + i, 1);
		CALL(r, cuMemMap, VA + i * SIZE, SIZE, 0, H + i);
		RELEASE(r, cuMemUnmap, VA + i * SIZE, SIZE); /* and no release */
	}
	assert_int_equal(records_class(r, ANY_GPU, GMT_CLASS_IMPORTED).live_count, 10);
	assert_int_equal(records_attributed(r), 0);
}

static void test_cuda_python_2882_a_leaked_reference_keeps_the_memory(void **state)
{
	struct records *r = *state;

	CALL(r, cuMemCreate, H, SIZE, 1, 0, 1);
	CALL(r, cuMemMap, VA, SIZE, 0, H);
	CALL(r, cuMemRetainAllocationHandle, H, VA);
	RELEASE(r, cuMemUnmap, VA, SIZE);
	RELEASE(r, cuMemRelease, H);
	struct view_class c = records_class(r, 1, GMT_CLASS_VMM);

	assert_int_equal(c.bytes.live, SIZE);
	assert_int_equal(c.live_count, 1);
	assert_int_equal(c.frees, 0);
}

static void test_warp_1157_graph_memory_is_planned_not_live(void **state)
{
	struct records *r = *state;

	CALL(r, cuStreamCreate, STREAM);
	CALL(r, cuStreamBeginCapture_v2, STREAM);
	for (uint64_t i = 0; i < 100; i++)
		CALL(r, cuMemAllocAsync, A + i * MiB, MiB, STREAM);
	CALL(r, cuStreamEndCapture, STREAM);
	assert_int_equal(records_attributed(r), 0);
	assert_int_equal(records_live(r, 1, GMT_CLASS_GRAPH), 100 * MiB);
}

static void test_pynvml_63_managed_memory_is_not_on_the_gpu(void **state)
{
	struct records *r = *state;

	CALL(r, cuMemAllocManaged, A, 60 * GiB, 1);
	records_nvml(r, 1, GMT_NVML_SAMPLE, 5 * GiB);
	struct view_row row;

	assert_true(records_row(r, 1, &row));
	assert_int_equal(row.attributed.live, 0);
	assert_int_equal(row.residual, 5 * GiB);
	assert_int_equal(records_live(r, ANY_GPU, GMT_CLASS_MANAGED), 60 * GiB);
}

/* ---- frameworks ---- */

static void test_pytorch_reservations_of_addresses_are_not_memory(void **state)
{
	(void)state;
	for (int api = 0; api < GMT_API_MAX; api++)
		if (gmt_probes[api].symbol && strcmp(gmt_probes[api].symbol, "cuMemAddressReserve") == 0)
			fail_msg("PyTorch reserves about the whole GPU for each segment");
}

static void test_pytorch_166116_expandable_segments_unmap_then_release(void **state)
{
	struct records *r = *state;

	for (int round = 0; round < 3; round++) {
		CALL(r, cuMemCreate, H, SIZE, 1, 0, 1);
		CALL(r, cuMemMap, VA, SIZE, 0, H);
		RELEASE(r, cuMemUnmap, VA, SIZE);
		RELEASE(r, cuMemRelease, H);
	}
	assert_int_equal(records_attributed(r), 0);
	assert_int_equal(records_class(r, 1, GMT_CLASS_VMM).allocs, 3);
	assert_int_equal(records_class(r, 1, GMT_CLASS_VMM).frees, 3);
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_DOUBLE_ALLOC), 0);
}

static void test_nvshare_23_managed_memory_of_a_killed_process_is_gone(void **state)
{
	struct records *r = *state;

	CALL(r, cuMemAllocManaged, A, GiB, 1);
	records_exit(r, 9);
	assert_int_equal(live_allocs(r->ledger), 0);
	/* The pid's next life begins with nothing of it. */
	records_proc(r, 77, "next");
	CALL(r, cuMemAlloc_v2, A, MiB);
	assert_int_equal(records_live(r, ANY_GPU, GMT_CLASS_MANAGED), 0);
}

static void test_llm_d_148_a_process_of_0_bytes(void **state)
{
	struct records *r = *state;
	struct view_row row;

	r->tgid = 200;
	records_attach(r, false);
	records_nvml(r, 0, GMT_NVML_BASELINE, 0);
	records_nvml(r, 0, GMT_NVML_SAMPLE, 0);
	assert_true(records_row(r, 0, &row));
	assert_true(row.has_nvml);
	assert_int_equal(row.residual, 0);
}

/* ---- tracers ---- */

static void test_inspektor_gadget_the_end_of_a_context_frees_its_own_only(void **state)
{
	struct records *r = *state;

	CALL(r, cuMemAlloc_v2, A, MiB);
	CALL(r, cuMemCreate, H, SIZE, 1, 0, 1);
	CALL(r, cuMemAllocAsync, C, MiB, 0);
	CALL(r, cuCtxCreate_v2, CTX1, 1);
	CALL(r, cuMemAlloc_v2, B, 2 * MiB);
	CALL(r, cuCtxDestroy_v2, CTX1);
	assert_int_equal(records_live(r, 1, GMT_CLASS_DEVICE), MiB);
	assert_int_equal(records_live(r, 1, GMT_CLASS_VMM), SIZE);
	assert_int_equal(records_live(r, 1, GMT_CLASS_POOL), MiB);
	assert_int_equal(records_live(r, 0, GMT_CLASS_DEVICE), 0);
}

static void test_inspektor_gadget_calls_inside_calls_are_kept_apart(void **state)
{
	struct records *r = *state;

	CALL(r, cuMemAlloc_v2, A, MiB);
	CALL(r, cuMemAlloc_v2, B, 2 * MiB);
	uint32_t outer = RELEASE(r, cuMemFree_v2, A);
	uint32_t inner = RELEASE(r, cuMemFree_v2, B);

	UNDO(r, cuMemFree_v2, inner, 700, B);
	assert_int_equal(records_live(r, 1, GMT_CLASS_DEVICE), 2 * MiB);
	UNDO(r, cuMemFree_v2, outer, 700, A);
	assert_int_equal(records_live(r, 1, GMT_CLASS_DEVICE), 3 * MiB);
}

static void test_gpuprobe_one_thread_allocates_another_frees(void **state)
{
	struct records *r = *state;

	CALL(r, cuMemAlloc_v2, A, MiB);
	for (r->tid = 101; r->tid < 110; r->tid++)
		CALL(r, cuMemAllocAsync, B + r->tid * MiB, MiB, 0);
	RELEASE(r, cuMemFree_v2, A);
	for (uint64_t tid = 101; tid < 110; tid++)
		RELEASE(r, cuMemFreeAsync, B + tid * MiB, 0);
	assert_int_equal(records_attributed(r), 0);
}

static void test_datadog_an_unknown_device_is_not_gpu_0(void **state)
{
	struct records *r = *state;

	r->tgid = 200;
	records_attach(r, false);
	CALL(r, cuMemAlloc_v2, A, MiB);
	assert_int_equal(records_live(r, 0, GMT_CLASS_DEVICE), 0);
	assert_int_equal(records_live(r, NO_GPU, GMT_CLASS_DEVICE), MiB);
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_GPU_UNKNOWN), 1);
}

static void test_bcc_memleak_a_free_that_fails_frees_nothing(void **state)
{
	struct records *r = *state;

	CALL(r, cuMemAlloc_v2, A, MiB);
	for (int i = 0; i < 10; i++) {
		uint32_t seq = RELEASE(r, cuMemFree_v2, A);

		UNDO(r, cuMemFree_v2, seq, 700, A); /* a sticky error: every free fails from now on */
	}
	assert_int_equal(records_live(r, 1, GMT_CLASS_DEVICE), MiB);
	records_exit(r, 1);
	assert_int_equal(live_allocs(r->ledger), 0);
}

static void test_obi_3482_an_address_given_out_again_before_the_free_returns(void **state)
{
	struct records *r = *state;

	CALL(r, cuMemAlloc_v2, A, MiB);
	RELEASE(r, cuMemFree_v2, A); /* entered by this thread ... */
	r->tid = 101;
	CALL(r, cuMemAlloc_v2, A, 3 * MiB); /* ... another gets the address, then the free returns */
	assert_int_equal(records_attributed(r), 3 * MiB);
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_DOUBLE_ALLOC), 0);
}

static void test_peers_mapped_on_two_gpus_is_memory_of_one(void **state)
{
	struct records *r = *state;
	struct view_row row;

	records_rm_scene(r);
	uint32_t object = records_rm_memory(r, 1, MiB);
	struct gmt_uvm_map map = { .base = A, .length = MiB, .client = RM_CLIENT, .memory = object, .gpu_count = 2 };

	records_uuid(1, map.uuid);
	records_apply(r, &map, GMT_KIND_UVM_MAP, sizeof(map));
	CALL(r, cuMemAlloc_v2, A, MiB);
	records_row(r, 1, &row);
	assert_int_equal(row.by_class[GMT_CLASS_DEVICE].bytes.live, MiB);
	assert_false(records_row(r, 0, &row));
}

static void test_peers_an_ipc_handle_opened_twice_is_closed_twice(void **state)
{
	struct records *r = *state;

	CALL(r, cuIpcOpenMemHandle_v2, A, 0x1234, 1);
	CALL(r, cuIpcOpenMemHandle_v2, A, 0x1234, 1); /* gives the same address */
	assert_int_equal(records_class(r, 1, GMT_CLASS_IMPORTED).live_count, 1);
	assert_int_equal(records_attributed(r), 0);
	RELEASE(r, cuIpcCloseMemHandle, A);
	assert_int_equal(records_class(r, 1, GMT_CLASS_IMPORTED).live_count, 1);
	RELEASE(r, cuIpcCloseMemHandle, A);
	assert_int_equal(records_class(r, 1, GMT_CLASS_IMPORTED).live_count, 0);
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_FREE_UNKNOWN), 0);
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_DOUBLE_ALLOC), 0);
}

static void test_peers_a_multicast_object_is_no_memory(void **state)
{
	struct records *r = *state;

	CALL(r, cuMulticastCreate, H, 512 * MiB);
	assert_int_equal(records_attributed(r), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, scene, records_end_scene)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_nccl_1795_retain_release_unmap_release),
		TEST(test_nccl_1968_imports_that_leak_are_seen),
		TEST(test_cuda_python_2882_a_leaked_reference_keeps_the_memory),
		TEST(test_warp_1157_graph_memory_is_planned_not_live),
		TEST(test_pynvml_63_managed_memory_is_not_on_the_gpu),
		TEST(test_pytorch_reservations_of_addresses_are_not_memory),
		TEST(test_pytorch_166116_expandable_segments_unmap_then_release),
		TEST(test_nvshare_23_managed_memory_of_a_killed_process_is_gone),
		TEST(test_llm_d_148_a_process_of_0_bytes),
		TEST(test_inspektor_gadget_the_end_of_a_context_frees_its_own_only),
		TEST(test_inspektor_gadget_calls_inside_calls_are_kept_apart),
		TEST(test_gpuprobe_one_thread_allocates_another_frees),
		TEST(test_datadog_an_unknown_device_is_not_gpu_0),
		TEST(test_bcc_memleak_a_free_that_fails_frees_nothing),
		TEST(test_obi_3482_an_address_given_out_again_before_the_free_returns),
		TEST(test_peers_mapped_on_two_gpus_is_memory_of_one),
		TEST(test_peers_an_ipc_handle_opened_twice_is_closed_twice),
		TEST(test_peers_a_multicast_object_is_no_memory),
	};

	return cmocka_run_group_tests_name("known_bugs_others", tests, NULL, NULL);
}
