// SPDX-License-Identifier: BSD-2-Clause
/* Bugs that this ledger had: calls that failed late, and what is given out again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <gpumemtrace/nv.h>

#include "core/ledger/ledger_state.h"
#include "records.h"

#define A 0x7f0000000000ull
#define B 0x7f0010000000ull
#define C 0x7f0020000000ull
#define CTX0 0xc0ull             /* of ordinal 0, which is the GPU with index 1 */
#define CTX1 0xc1ull
#define STREAM 0x5000ull
#define STREAM2 0x5100ull
#define POOL 0x9000ull
#define G 0x9100ull
#define CHILD 0x9200ull
#define GRANDCHILD 0x9300ull
#define EXEC 0x9e00ull
#define H 0x51ull
#define GROUP 0x60ull
#define ARRAY 0xa1ull
#define VA 0x302000000ull
#define GRAPH_NODE 4
#define MAP 1
#define UNMAP 2

static struct records *begin(void **state, uint32_t layers)
{
	static struct records r;

	records_scene(&r, layers);
	if (layers & GMT_LAYER_KERNEL)
		records_rm_scene(&r);
	CALL(&r, cuCtxCreate_v2, CTX0, 0);
	*state = &r;
	return &r;
}

static int scene(void **state)
{
	begin(state, API_LAYER);
	return 0;
}

static int scene_with_kernel(void **state)
{
	begin(state, ALL_LAYERS);
	return 0;
}

static uint64_t planned(const struct records *r)
{
	return records_live(r, ANY_GPU, GMT_CLASS_GRAPH);
}

static const struct process *process(const struct records *r)
{
	return process_newest(&r->ledger->processes, r->tgid);
}

static void assert_no_anomaly(const struct records *r)
{
	for (int anomaly = 0; anomaly < GMT_ANOMALY_COUNT; anomaly++)
		assert_int_equal(records_anomalies(r, anomaly), 0);
}

/* ---- an end that fails around a call of a callback ---- */

static void a_failed_end_around_a_call(void **state)
{
	struct records *r = *state;

	CALL(r, cuMemAlloc_v2, A, MiB);
	uint32_t seq = RELEASE(r, cuCtxDestroy_v2, CTX0);

	CALL(r, cuStreamCreate, STREAM);
	UNDO(r, cuCtxDestroy_v2, seq, 700, CTX0);
	assert_int_equal(records_live(r, 1, GMT_CLASS_DEVICE), MiB);
	assert_no_anomaly(r);
}

static void a_failed_end_around_frees(void **state)
{
	struct records *r = *state;

	for (uint64_t i = 0; i < 8; i++)
		CALL(r, cuMemAlloc_v2, A + i * GiB, MiB);
	CALL(r, cuIpcOpenMemHandle_v2, B, 0x1234, 1);
	CALL(r, cuIpcOpenMemHandle_v2, B, 0x1234, 1);
	uint32_t seq = RELEASE(r, cuCtxDestroy_v2, CTX0);

	for (uint64_t i = 0; i < 6; i++) /* more than the undos that a thread keeps */
		RELEASE(r, cuMemFree_v2, A + i * GiB);
	uint32_t inner = RELEASE(r, cuMemFree_v2, A + 6 * GiB);

	UNDO(r, cuMemFree_v2, inner, 700, A + 6 * GiB);
	RELEASE(r, cuIpcCloseMemHandle, B);
	inner = RELEASE(r, cuIpcCloseMemHandle, B);
	UNDO(r, cuIpcCloseMemHandle, inner, 700, B);
	UNDO(r, cuCtxDestroy_v2, seq, 700, CTX0);
	assert_int_equal(records_live(r, 1, GMT_CLASS_DEVICE), 2 * MiB);
	assert_int_equal(records_class(r, 1, GMT_CLASS_IMPORTED).live_count, 1);
	RELEASE(r, cuIpcCloseMemHandle, B);
	assert_int_equal(records_class(r, 1, GMT_CLASS_IMPORTED).live_count, 0);
	assert_no_anomaly(r);
}

static void a_failed_end_inside_of_a_failed_end(void **state)
{
	struct records *r = *state;

	CALL(r, cuMemAlloc_v2, A, MiB);
	CALL(r, cuCtxCreate_v2, CTX1, 1);
	CALL(r, cuMemAlloc_v2, B, 2 * MiB);
	uint32_t outer = RELEASE(r, cuCtxDestroy_v2, CTX0), inner = RELEASE(r, cuCtxDestroy_v2, CTX1);

	UNDO(r, cuCtxDestroy_v2, inner, 700, CTX1);
	UNDO(r, cuCtxDestroy_v2, outer, 700, CTX0);
	assert_int_equal(records_live(r, 1, GMT_CLASS_DEVICE), MiB);
	assert_int_equal(records_live(r, 0, GMT_CLASS_DEVICE), 2 * MiB);
	assert_no_anomaly(r);
}

/* What went with a context is not kept for ever. */
static void a_failed_end_around_many_calls_is_counted(void **state)
{
	struct records *r = *state;

	CALL(r, cuMemAlloc_v2, A, MiB);
	CALL(r, cuMemCreate, H, 4 * MiB, 1, 0, 1);
	CALL(r, cuArray3DCreate_v2, ARRAY, 64, 64, 1, 1, 0, 0x40);
	CALL(r, cuMemMapArrayAsync, MAP, ARRAY, H, 2);
	RELEASE(r, cuMemRelease, H);
	uint32_t seq = RELEASE(r, cuCtxDestroy_v2, CTX0);

	for (uint64_t i = 0; i < 1000; i++)
		CALL(r, cuStreamCreate, STREAM + i);
	UNDO(r, cuCtxDestroy_v2, seq, 700, CTX0);
	assert_int_equal(records_live(r, 1, GMT_CLASS_DEVICE), 0);
	assert_int_equal(records_live(r, 1, GMT_CLASS_VMM), 0);
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_UNDO_UNKNOWN), 1);
}

/* ---- a pid that is given out again ---- */

static void exec_at(struct records *r, uint64_t start_ns)
{
	struct gmt_proc_exec rec = { .start_ns = start_ns, .comm = "next" };

	records_apply(r, &rec, GMT_KIND_PROC_EXEC, sizeof(rec));
}

static void a_reused_pid_whose_fork_was_lost(void **state)
{
	struct records *r = *state;

	r->tgid = r->tid = 300;
	records_proc(r, 5, "first");
	CALL(r, cuMemAlloc_v2, A, MiB);
	exec_at(r, 5);                          /* an exec of the same process */
	CALL(r, cuMemAlloc_v2, A, 2 * MiB);
	exec_at(r, 99);                         /* the exit and the fork were lost */
	CALL(r, cuMemAlloc_v2, B, 4 * MiB);
	assert_int_equal(process(r)->start_ns, 99);
	assert_int_equal(process(r)->account.by_class[GMT_CLASS_DEVICE].bytes.peak, 4 * MiB);
	assert_int_equal(process(r)->account.by_class[GMT_CLASS_DEVICE].allocs, 1);
	records_exit(r, 0);
	exec_at(r, 99);                         /* the fork was lost, and the start time is cut to 10 ms */
	CALL(r, cuMemAlloc_v2, C, 8 * MiB);
	assert_int_equal(records_live(r, ANY_GPU, GMT_CLASS_DEVICE), 8 * MiB);
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_AFTER_EXIT), 0);
	assert_int_equal(r->ledger->processes.count, 4);
}

static void a_reused_pid_whose_fork_and_exec_were_lost(void **state)
{
	struct records *r = *state;
	struct gmt_loss loss = { .count = { [GMT_LOSS_RING_FULL] = 2 } };

	CALL(r, cuMemAlloc_v2, A, MiB);
	records_exit(r, 0);
	records_apply(r, &loss, GMT_KIND_LOSS, sizeof(loss));
	CALL(r, cuMemAlloc_v2, B, 2 * MiB);
	assert_int_equal(records_live(r, ANY_GPU, GMT_CLASS_DEVICE), 2 * MiB);
	assert_false(process(r)->from_start);
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_AFTER_EXIT), 0);
	assert_int_equal(r->ledger->processes.count, 2);
}

/* ---- graphs ---- */

static void adopt(struct records *r, uint64_t child, uint64_t parent)
{
	CALL(r, cuGraphAddNode_v2, GRAPH_NODE, 0, 0, 0, child, parent, 1);
}

static void the_handle_of_a_child_is_given_out_again(void **state)
{
	struct records *r = *state;

	CALL(r, cuGraphAddMemAllocNode, A, MiB, 0, GRANDCHILD);
	CALL(r, cuGraphAddMemAllocNode, A + GiB, MiB, 0, CHILD);
	adopt(r, GRANDCHILD, CHILD);
	adopt(r, CHILD, G);
	CALL(r, cuGraphAddMemAllocNode, A + 2 * GiB, MiB, 0, GRANDCHILD); /* which is a part of G now */
	RELEASE(r, cuGraphDestroy, CHILD);                                /* fails, because it has a parent */
	assert_int_equal(planned(r), 3 * MiB);
	CALL(r, cuGraphInstantiateWithFlags, EXEC, G);
	RELEASE(r, cuGraphDestroy, G);
	assert_int_equal(planned(r), 3 * MiB);                            /* the executable's */
	CALL(r, cuGraphAddMemAllocNode, B, 8 * MiB, 0, CHILD);
	CALL(r, cuGraphAddMemAllocNode, C, 16 * MiB, 0, GRANDCHILD);
	RELEASE(r, cuGraphDestroy, CHILD);
	assert_int_equal(planned(r), 19 * MiB);
	RELEASE(r, cuGraphExecDestroy, EXEC);
	assert_int_equal(planned(r), 16 * MiB);
	RELEASE(r, cuGraphDestroy, GRANDCHILD);
	assert_int_equal(planned(r), 0);
	assert_int_equal(hash_count(&process(r)->graphs.by_handle), 0);
	assert_no_anomaly(r);
}

/* The number of the free, whose thread goes on later. */
static uint32_t free_before_graphs_end(struct records *r)
{
	CALL(r, cuGraphAddMemAllocNode, A, MiB, 0, G);
	uint32_t seq = RELEASE(r, cuMemFree_v2, A);

	r->tid = 101;
	RELEASE(r, cuGraphDestroy, G);
	return seq;
}

static void a_free_that_failed_after_its_graphs_end(void **state)
{
	struct records *r = *state;

	uint32_t seq = free_before_graphs_end(r);

	r->tid = 100;
	UNDO(r, cuMemFree_v2, seq, 700, A);
	assert_int_equal(planned(r), 0);        /* no graph plans it any longer */
	RELEASE(r, cuMemFreeAsync, A, 0);       /* but nobody knows whether it was there */
	assert_int_equal(hash_count(&process(r)->allocs.by_address), 0);
	assert_no_anomaly(r);
}

/* The kernel layer knows that a launch has brought the memory. */
static void a_free_that_failed_after_its_graphs_end_and_a_launch(void **state)
{
	struct records *r = *state;

	CALL(r, cuGraphAddMemAllocNode, A, MiB, 0, G);
	CALL(r, cuGraphAddMemAllocNode, B, 2 * MiB, 0, G);
	CALL(r, cuGraphAddMemAllocNode, C, 4 * MiB, 0, G);
	records_rm_map(r, 1, A, MiB, records_rm_memory(r, 1, MiB));
	records_rm_map(r, 1, B, 2 * MiB, records_rm_memory(r, 1, 2 * MiB));
	uint32_t of_a = RELEASE(r, cuMemFree_v2, A), of_c = RELEASE(r, cuMemFree_v2, C);

	r->tid = 101;
	RELEASE(r, cuGraphDestroy, G);
	r->tid = 100;
	UNDO(r, cuMemFree_v2, of_a, 700, A);
	UNDO(r, cuMemFree_v2, of_c, 700, C);    /* was never launched */
	assert_int_equal(planned(r), 3 * MiB);
	uint32_t seq = RELEASE(r, cuMemFreeAsync, B, 0);

	assert_int_equal(planned(r), MiB);
	UNDO(r, cuMemFreeAsync, seq, 700, B, 0);
	assert_int_equal(planned(r), 3 * MiB);
	RELEASE(r, cuMemFreeAsync, B, 0);
	RELEASE(r, cuMemFreeAsync, A, 0);
	assert_int_equal(planned(r), 0);
	assert_int_equal(hash_count(&process(r)->allocs.by_address), 0);
	assert_no_anomaly(r);
}

/* The second launch brings again what was freed after the first one. */
static void memory_of_a_second_launch_is_freed_after_its_graphs_end(void **state)
{
	struct records *r = *state;

	CALL(r, cuGraphAddMemAllocNode, A, MiB, 0, G);
	RELEASE(r, cuMemFreeAsync, A, 0);
	records_rm_map(r, 1, A, MiB, records_rm_memory(r, 1, MiB));
	RELEASE(r, cuGraphDestroy, G);
	RELEASE(r, cuMemFreeAsync, A, 0);
	assert_int_equal(hash_count(&process(r)->allocs.by_address), 0);
	assert_no_anomaly(r);
}

static void a_free_that_failed_is_not_another_nodes(void **state)
{
	struct records *r = *state;

	uint32_t seq = free_before_graphs_end(r);

	CALL(r, cuGraphAddMemAllocNode, A, 2 * MiB, 0, CHILD);
	CALL(r, cuGraphAddMemFreeNode, A);
	r->tid = 100;
	UNDO(r, cuMemFree_v2, seq, 700, A);
	assert_int_equal(planned(r), 0);
}

/* ---- captures ---- */

static void pools_of_other_memory_during_a_capture(void **state)
{
	struct records *r = *state;

	CALL(r, cuMemPoolCreate, POOL, 2, 0, 1);            /* of host memory */
	CALL(r, cuMemPoolCreate, POOL + 1, 1, 0, 2);        /* of managed memory */
	CALL(r, cuMemPoolImportFromShareableHandle, POOL + 2);
	CALL(r, cuStreamCreate, STREAM);
	CALL(r, cuStreamCreate, STREAM2);
	CALL(r, cuStreamBeginCapture_v2, STREAM);
	struct gmt_uvm_map host = { .base = A, .length = MiB };

	records_apply(r, &host, GMT_KIND_UVM_MAP, sizeof(host)); /* which lies on no GPU */
	CALL(r, cuMemAllocFromPoolAsync, A, MiB, POOL, STREAM2);
	CALL(r, cuMemAllocFromPoolAsync, B, 2 * MiB, POOL + 1, STREAM2);
	CALL(r, cuMemAllocFromPoolAsync, B + GiB, MiB, POOL, STREAM2); /* or is not mapped by the kernel at all */
	CALL(r, cuMemAllocAsync, C, 4 * MiB, STREAM2);  /* was not mapped: the stream joined the capture */
	assert_int_equal(records_live(r, ANY_GPU, GMT_CLASS_PINNED), 2 * MiB);
	assert_int_equal(records_live(r, ANY_GPU, GMT_CLASS_MANAGED), 2 * MiB);
	assert_int_equal(planned(r), 4 * MiB);
	assert_int_equal(records_live(r, ANY_GPU, GMT_CLASS_POOL), 0);
	CALL(r, cuStreamEndCapture, STREAM, G);
	RELEASE(r, cuGraphDestroy, G);
	assert_int_equal(planned(r), 0);
}

/* Its plan goes with the stream, and later captures do not take it for theirs. */
static void a_stream_that_ends_while_it_captures(void **state)
{
	struct records *r = *state;

	for (int i = 0; i < 2; i++) {
		CALL(r, cuStreamCreate, STREAM);
		CALL(r, cuStreamBeginCapture_v2, STREAM);
		CALL(r, cuMemAllocAsync, A, MiB, STREAM);
		assert_int_equal(planned(r), MiB);
		if (i)
			RELEASE(r, cuStreamDestroy_v2, STREAM);
	}
	assert_int_equal(planned(r), 0);
	assert_int_equal(hash_count(&process(r)->graphs.captures), 0);
	assert_int_equal(process(r)->contexts.capturing, 0);
	CALL(r, cuStreamCreate, STREAM);
	CALL(r, cuStreamBeginCapture_v2, STREAM);
	CALL(r, cuMemAllocAsync, A, MiB, STREAM);
	uint32_t seq = RELEASE(r, cuStreamDestroy_v2, STREAM);

	UNDO(r, cuStreamDestroy_v2, seq, 1, STREAM);
	assert_int_equal(process(r)->contexts.capturing, 1);
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_UNDO_UNKNOWN), 1); /* the plan is forgotten, and counted */
}

/* ---- a GPU without a row ---- */

static void memory_that_turns_out_to_lie_on_a_gpu_without_a_row(void **state)
{
	struct records *r = *state;
	struct gmt_rm_alloc memory = {
		.cause.api = GMT_API_cuMemAlloc_v2, .client = 0xc1d00002, .parent = 0x100, .object = 0x200,
		.class_id = NV01_MEMORY_LOCAL_USER, .size = 2 * MiB,
	};
	struct gmt_rm_alloc device = {
		.client = 0xc1d00002, .parent = 0xc1d00002, .object = 0x100, .class_id = NV01_DEVICE_0,
		.device_id = RM_DEVICE(0) & 0xff,
	};
	struct view_row row;

	assert_false(records_row(r, 0, &row));
	records_apply(r, &memory, GMT_KIND_RM_ALLOC, sizeof(memory)); /* below a device whose record was lost */
	records_apply(r, &device, GMT_KIND_RM_ALLOC, sizeof(device));
	assert_true(records_row(r, 0, &row));
	assert_int_equal(row.physical.live, 2 * MiB);
}

/* ---- what memory was bound to ---- */

static void a_failed_end_of_an_array(void **state)
{
	struct records *r = *state;

	CALL(r, cuMemCreate, H, 4 * MiB, 1, 0, 1);
	CALL(r, cuArray3DCreate_v2, ARRAY, 64, 64, 1, 1, 0, 0x40);
	CALL(r, cuMemMapArrayAsync, MAP, ARRAY, H, 2);
	RELEASE(r, cuMemRelease, H);
	uint32_t seq = RELEASE(r, cuArrayDestroy, ARRAY);

	assert_int_equal(records_live(r, 1, GMT_CLASS_VMM), 0);
	UNDO(r, cuArrayDestroy, seq, 700, ARRAY);
	assert_int_equal(records_live(r, 1, GMT_CLASS_VMM), 4 * MiB);
	seq = RELEASE(r, cuCtxDestroy_v2, CTX0);
	assert_int_equal(records_live(r, 1, GMT_CLASS_VMM), 0);
	UNDO(r, cuCtxDestroy_v2, seq, 700, CTX0);
	assert_int_equal(records_live(r, 1, GMT_CLASS_VMM), 4 * MiB);
	CALL(r, cuMemMapArrayAsync, UNMAP, ARRAY, 0, 1);
	assert_int_equal(records_live(r, 1, GMT_CLASS_VMM), 4 * MiB); /* the other tile has it */
	CALL(r, cuMemMapArrayAsync, UNMAP, ARRAY, 0, 1);
	assert_int_equal(records_live(r, 1, GMT_CLASS_VMM), 0);
	assert_no_anomaly(r);
}

static void an_array_that_was_given_out_again_has_nothing_of_the_old_one(void **state)
{
	struct records *r = *state;

	CALL(r, cuMemCreate, H, 4 * MiB, 1, 0, 1);
	CALL(r, cuArray3DCreate_v2, ARRAY, 64, 64, 1, 1, 0, 0x40);
	CALL(r, cuMemMapArrayAsync, MAP, ARRAY, H, 2);
	RELEASE(r, cuMemRelease, H);
	uint32_t seq = RELEASE(r, cuArrayDestroy, ARRAY);

	r->tid = 101;
	CALL(r, cuArray3DCreate_v2, ARRAY, 64, 64, 1, 1, 0, 0x40);
	r->tid = 100;
	UNDO(r, cuArrayDestroy, seq, 700, ARRAY);
	assert_int_equal(records_live(r, 1, GMT_CLASS_VMM), 0);
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_UNDO_UNKNOWN), 1);
}

static void a_failed_end_of_a_multicast_object(void **state)
{
	struct records *r = *state;

	CALL(r, cuMemCreate, H, 4 * MiB, 1, 0, 1);
	CALL(r, cuMulticastCreate, GROUP, 64 * MiB);
	CALL(r, cuMulticastBindMem, GROUP, 0, 4 * MiB, H);
	RELEASE(r, cuMemRelease, H);
	uint32_t seq = RELEASE(r, cuMemRelease, GROUP);

	assert_int_equal(records_live(r, 1, GMT_CLASS_VMM), 0);
	UNDO(r, cuMemRelease, seq, 700, GROUP);
	assert_int_equal(records_live(r, 1, GMT_CLASS_VMM), 4 * MiB);
	CALL(r, cuMemMap, VA, 64 * MiB, 0, GROUP);
	RELEASE(r, cuMemRelease, GROUP);
	assert_int_equal(records_live(r, 1, GMT_CLASS_VMM), 4 * MiB); /* the mapping keeps the object */
	seq = RELEASE(r, cuMemUnmap, VA, 64 * MiB);
	assert_int_equal(records_live(r, 1, GMT_CLASS_VMM), 0);
	UNDO(r, cuMemUnmap, seq, 700, VA, 64 * MiB);
	assert_int_equal(records_live(r, 1, GMT_CLASS_VMM), 4 * MiB);
	RELEASE(r, cuMemUnmap, VA, 64 * MiB);
	assert_int_equal(records_live(r, 1, GMT_CLASS_VMM), 0);
	assert_no_anomaly(r);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, scene, records_end_scene)
#define KERNEL(f) cmocka_unit_test_setup_teardown(f, scene_with_kernel, records_end_scene)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_failed_end_around_a_call),
		TEST(a_failed_end_around_frees),
		TEST(a_failed_end_inside_of_a_failed_end),
		TEST(a_failed_end_around_many_calls_is_counted),
		TEST(a_reused_pid_whose_fork_was_lost),
		TEST(a_reused_pid_whose_fork_and_exec_were_lost),
		TEST(the_handle_of_a_child_is_given_out_again),
		TEST(a_free_that_failed_after_its_graphs_end),
		KERNEL(a_free_that_failed_after_its_graphs_end_and_a_launch),
		KERNEL(memory_of_a_second_launch_is_freed_after_its_graphs_end),
		TEST(a_free_that_failed_is_not_another_nodes),
		KERNEL(pools_of_other_memory_during_a_capture),
		TEST(a_stream_that_ends_while_it_captures),
		KERNEL(memory_that_turns_out_to_lie_on_a_gpu_without_a_row),
		TEST(a_failed_end_of_an_array),
		TEST(an_array_that_was_given_out_again_has_nothing_of_the_old_one),
		TEST(a_failed_end_of_a_multicast_object),
	};

	return cmocka_run_group_tests_name("known_bugs_own", tests, NULL, NULL);
}
