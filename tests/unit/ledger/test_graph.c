// SPDX-License-Identifier: BSD-2-Clause
/* Graphs that allocate: what is planned goes with the last that can launch it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/ledger/ledger_state.h"
#include "live_allocs.h"
#include "records.h"

#define A 0x7f0000000000ull
#define B 0x7f0010000000ull
#define C 0x7f0020000000ull
#define G 0x9100ull
#define G2 0x9200ull
#define EXEC 0x9e00ull
#define STREAM 0x5000ull
#define STREAM2 0x5100ull
#define ALLOC_NODE 10
#define FREE_NODE 11
#define GRAPH_NODE 4

static struct records *begin(void **state, uint32_t layers)
{
	static struct records r;

	records_scene(&r, layers);
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
	struct records *r = begin(state, ALL_LAYERS);

	records_rm_scene(r);
	return 0;
}

/* Nothing was contradicted in any test, whatever it was about. */
static int no_scene(void **state)
{
	struct records *r = *state;

	for (int anomaly = 0; anomaly < GMT_ANOMALY_COUNT; anomaly++)
		if (anomaly != GMT_ANOMALY_GPU_UNKNOWN && anomaly != GMT_ANOMALY_UNDO_UNKNOWN)
			assert_int_equal(records_anomalies(r, anomaly), 0);
	records_fini(r);
	return 0;
}

static uint64_t planned(const struct records *r)
{
	return records_live(r, ANY_GPU, GMT_CLASS_GRAPH);
}

/* Nothing is kept of graphs that are gone. */
static void assert_forgotten(const struct records *r)
{
	const struct graphs *graphs = &r->ledger->processes.list[0]->graphs;

	assert_int_equal(planned(r), 0);
	assert_int_equal(hash_count(&graphs->by_number), 0);
	assert_int_equal(hash_count(&graphs->nodes), 0);
}

static void a_destroyed_graph_plans_nothing(void **state)
{
	struct records *r = *state;

	for (uint64_t i = 0; i < 10; i++) {
		CALL(r, cuGraphAddMemAllocNode, A + i * GiB, 64 * MiB, 0, G + i);
		CALL(r, cuGraphAddNode_v2, ALLOC_NODE, B + i * GiB, MiB, 1, 0, G + i, 0);
		assert_int_equal(planned(r), 65 * MiB);
		RELEASE(r, cuGraphDestroy, G + i);
		assert_forgotten(r);
	}
}

static void an_executable_keeps_the_plan(void **state)
{
	struct records *r = *state;

	CALL(r, cuGraphAddNode_v3, ALLOC_NODE, A, MiB, 0, 0, G, 0);
	CALL(r, cuGraphInstantiateWithFlags, EXEC, G);
	RELEASE(r, cuGraphDestroy, G);
	assert_int_equal(planned(r), MiB);
	CALL(r, cuGraphAddMemAllocNode, B, 2 * MiB, 0, G);     /* another graph gets the handle */
	RELEASE(r, cuGraphExecDestroy, EXEC);
	assert_int_equal(planned(r), 2 * MiB);
	CALL(r, cuGraphInstantiate_v2, EXEC, G);
	CALL(r, cuGraphInstantiate, EXEC, G);                  /* the one calls the other */
	RELEASE(r, cuGraphExecDestroy, EXEC);
	assert_int_equal(planned(r), 2 * MiB);
	CALL(r, cuGraphInstantiate, EXEC, G);
	RELEASE(r, cuGraphDestroy, G);
	CALL(r, cuGraphAddMemAllocNode, A, 4 * MiB, 0, G);
	CALL(r, cuGraphInstantiate, EXEC, G);                  /* the old one's end was lost */
	assert_int_equal(planned(r), 4 * MiB);
	RELEASE(r, cuGraphExecDestroy, EXEC);
	RELEASE(r, cuGraphDestroy, G);
	assert_forgotten(r);
	RELEASE(r, cuGraphDestroy, G2);                         /* graphs without such nodes are not known */
	CALL(r, cuGraphInstantiateWithFlags, EXEC + 1, G2);
	RELEASE(r, cuGraphExecDestroy, EXEC + 1);
}

static void memory_that_a_launch_left_stays(void **state)
{
	struct records *r = *state;

	CALL(r, cuGraphAddMemAllocNode, A, 2 * MiB, 0, G);
	CALL(r, cuGraphAddMemAllocNode, B, 4 * MiB, 0, G);
	CALL(r, cuGraphAddMemAllocNode, C, 8 * MiB, 0, G);
	CALL(r, cuGraphInstantiateWithFlags, EXEC, G);
	records_rm_map(r, 1, A, 2 * MiB, records_rm_memory(r, 1, 2 * MiB)); /* the launch needs two of them */
	records_rm_map(r, 1, B, 4 * MiB, records_rm_memory(r, 1, 4 * MiB));
	RELEASE(r, cuMemFreeAsync, B, 0);
	RELEASE(r, cuGraphExecDestroy, EXEC);
	RELEASE(r, cuGraphDestroy, G);
	assert_int_equal(planned(r), 2 * MiB);
	RELEASE(r, cuMemFree_v2, A);
	assert_forgotten(r);
}

/* Without the kernel layer nobody knows whether there was a launch. */
static void memory_of_a_graph_may_be_freed_after_its_end(void **state)
{
	struct records *r = *state;

	CALL(r, cuGraphAddMemAllocNode, A, MiB, 0, G);
	RELEASE(r, cuGraphDestroy, G);
	assert_forgotten(r);
	RELEASE(r, cuMemFreeAsync, A, 0);
	CALL(r, cuMemAlloc_v2, A, 3 * MiB);
	assert_int_equal(records_attributed(r), 3 * MiB);
}

static void a_captured_graph_goes_as_well(void **state)
{
	struct records *r = *state;

	CALL(r, cuStreamBeginCapture_v2, STREAM);
	CALL(r, cuMemAllocAsync, A, MiB, STREAM);
	CALL(r, cuMemAllocAsync, B, 2 * MiB, STREAM);
	CALL(r, cuStreamEndCapture, STREAM, G);
	assert_int_equal(planned(r), 3 * MiB);
	RELEASE(r, cuGraphDestroy, G);
	assert_forgotten(r);
	CALL(r, cuStreamBeginCapture_v2_ptsz, 2);      /* the thread's own stream, and a capture that fails */
	CALL(r, cuMemAllocAsync_ptsz, A, MiB, 0);
	assert_int_equal(planned(r), MiB);
	FAIL(r, cuStreamEndCapture_ptsz, 900, 2, 0);
	assert_forgotten(r);
	CALL(r, cuStreamBeginCapture_v2, STREAM);      /* a capture without memory */
	CALL(r, cuStreamEndCapture, STREAM, G);
	RELEASE(r, cuGraphDestroy, G);
	assert_forgotten(r);
}

static void two_captures_at_once_are_two_graphs(void **state)
{
	struct records *r = *state;

	CALL(r, cuStreamBeginCapture_v2, STREAM);
	CALL(r, cuStreamBeginCapture_v2, STREAM2);
	CALL(r, cuMemAllocAsync, A, MiB, STREAM);
	CALL(r, cuMemAllocAsync, B, 2 * MiB, STREAM2);
	CALL(r, cuStreamEndCapture, STREAM2, G2);
	CALL(r, cuStreamEndCapture, STREAM, G);
	RELEASE(r, cuGraphDestroy, G2);
	assert_int_equal(planned(r), MiB);
	RELEASE(r, cuGraphDestroy, G);
	assert_forgotten(r);
}

static void a_recapture_plans_the_same_memory(void **state)
{
	struct records *r = *state;

	CALL(r, cuStreamBeginCaptureToGraph, STREAM, G);
	CALL(r, cuMemAllocAsync, A, GiB, STREAM);
	CALL(r, cuStreamEndCapture, STREAM, G);
	for (int i = 0; i < 3; i++) {
		CALL(r, cuStreamBeginRecaptureToGraph, STREAM, G);
		CALL(r, cuMemAllocAsync, A, GiB, STREAM);
		CALL(r, cuStreamEndCapture, STREAM, G);
	}
	assert_int_equal(planned(r), GiB);
	assert_int_equal(records_attributed(r), 0);
	CALL(r, cuStreamBeginRecaptureToGraph, STREAM, G);
	FAIL(r, cuStreamEndCapture, 901, STREAM, 0);   /* the graph has to be destroyed, but is there */
	assert_int_equal(planned(r), GiB);
	RELEASE(r, cuGraphDestroy, G);
	assert_forgotten(r);
}

static void a_child_that_moves_goes_with_its_parent(void **state)
{
	struct records *r = *state;

	CALL(r, cuGraphAddMemAllocNode, A, MiB, 0, G2);
	CALL(r, cuGraphAddMemAllocNode, B, 2 * MiB, 0, G2);
	CALL(r, cuGraphAddNode_v2, GRAPH_NODE, 0, 0, 0, G2, G, 1);
	CALL(r, cuGraphAddMemAllocNode, C, 4 * MiB, 0, G);
	CALL(r, cuGraphAddNode_v2, FREE_NODE, 0, 0, 0, A, G, 0);
	assert_int_equal(planned(r), 6 * MiB);
	CALL(r, cuGraphAddNode_v2, GRAPH_NODE, 0, 0, 0, 0x9300, G, 1);  /* a child without memory */
	CALL(r, cuGraphAddNode_v2, GRAPH_NODE, 0, 0, 0, G, G, 1);       /* nonsense */
	RELEASE(r, cuGraphDestroy, G);
	assert_forgotten(r);
	CALL(r, cuGraphAddMemAllocNode, A, MiB, 0, G2);
	CALL(r, cuGraphAddNode_v2, GRAPH_NODE, 0, 0, 0, G2, G, 0);      /* cloned: the driver would refuse */
	RELEASE(r, cuGraphDestroy, G);
	assert_int_equal(planned(r), MiB);
	RELEASE(r, cuGraphDestroy, G2);
	assert_forgotten(r);
}

static void an_address_given_out_again_is_the_new_owners(void **state)
{
	struct records *r = *state;

	CALL(r, cuGraphAddMemAllocNode, A, MiB, 0, G);
	CALL(r, cuGraphAddMemAllocNode, B, 2 * MiB, 0, G);
	CALL(r, cuGraphAddMemAllocNode, C, 4 * MiB, 0, G);
	CALL(r, cuGraphAddMemAllocNode, B, 8 * MiB, 0, G2);    /* the end of the old node was lost */
	CALL(r, cuMemAlloc_v2, A, 16 * MiB);
	RELEASE(r, cuGraphDestroy, G);
	assert_int_equal(planned(r), 8 * MiB);
	assert_int_equal(records_attributed(r), 16 * MiB);
	RELEASE(r, cuGraphDestroy, G2);
	assert_forgotten(r);
}

static void a_destroy_that_failed(void **state)
{
	struct records *r = *state;

	CALL(r, cuGraphAddMemAllocNode, A, MiB, 0, G);
	CALL(r, cuGraphInstantiateWithFlags, EXEC, G);
	uint32_t seq = RELEASE(r, cuGraphExecDestroy, EXEC);

	UNDO(r, cuGraphExecDestroy, seq, 1, EXEC);
	RELEASE(r, cuGraphDestroy, G);
	assert_int_equal(planned(r), MiB);                     /* the executable is there after all */
	seq = RELEASE(r, cuGraphExecDestroy, EXEC);
	UNDO(r, cuGraphExecDestroy, seq, 1, EXEC);
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_UNDO_UNKNOWN), 1); /* what it planned is forgotten, and counted */
	seq = RELEASE(r, cuGraphDestroy, G2);
	UNDO(r, cuGraphDestroy, seq, 1, G2);
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_UNDO_UNKNOWN), 1);
	assert_forgotten(r);
}

/* Older recordings do not say the graph. */
static void without_a_graph_the_plan_stays(void **state)
{
	struct records *r = *state;

	CALL(r, cuGraphAddMemAllocNode, A, MiB, 0);
	CALL(r, cuStreamBeginCaptureToGraph, STREAM);
	CALL(r, cuMemAllocAsync, B, MiB, STREAM);
	CALL(r, cuStreamEndCapture, STREAM);
	RELEASE(r, cuGraphDestroy, G);
	assert_int_equal(planned(r), 2 * MiB);
	records_exec(r);
	assert_forgotten(r);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, scene, no_scene)
#define KERNEL(f) cmocka_unit_test_setup_teardown(f, scene_with_kernel, no_scene)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_destroyed_graph_plans_nothing),
		TEST(an_executable_keeps_the_plan),
		KERNEL(memory_that_a_launch_left_stays),
		TEST(memory_of_a_graph_may_be_freed_after_its_end),
		TEST(a_captured_graph_goes_as_well),
		TEST(two_captures_at_once_are_two_graphs),
		TEST(a_recapture_plans_the_same_memory),
		TEST(a_child_that_moves_goes_with_its_parent),
		TEST(an_address_given_out_again_is_the_new_owners),
		TEST(a_destroy_that_failed),
		TEST(without_a_graph_the_plan_stays),
	};

	return cmocka_run_group_tests_name("graph", tests, NULL, NULL);
}
