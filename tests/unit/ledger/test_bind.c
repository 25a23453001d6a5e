// SPDX-License-Identifier: BSD-2-Clause
/* Memory of cuMemCreate lives as long as a multicast object, an endpoint or a sparse array has it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/ledger/ledger_state.h"
#include "records.h"

#define H 0x51ull
#define H2 0x52ull
#define GROUP 0x60ull
#define GROUP2 0x61ull
#define ARRAY 0xa1ull
#define ARRAY2 0xa2ull
#define VA 0x302000000ull
#define LE 3
#define MAP 1
#define UNMAP 2

static int scene(void **state)
{
	static struct records r;

	records_scene(&r, API_LAYER);
	CALL(&r, cuDevicePrimaryCtxRetain, 0xc1, 0);
	CALL(&r, cuCtxSetCurrent, 0xc1);
	CALL(&r, cuMulticastCreate, GROUP, 64 * MiB);
	CALL(&r, cuMemCreate, H, 4 * MiB, 1, 0, 1);
	*state = &r;
	return 0;
}

static int no_scene(void **state)
{
	struct records *r = *state;

	for (int anomaly = 0; anomaly < GMT_ANOMALY_COUNT; anomaly++)
		assert_int_equal(records_anomalies(r, anomaly), 0);
	records_fini(r);
	return 0;
}

static uint64_t live(const struct records *r)
{
	return records_live(r, ANY_GPU, GMT_CLASS_VMM);
}

static size_t bindings(const struct records *r)
{
	return hash_count(&r->ledger->processes.list[0]->vmm.bindings);
}

static void a_multicast_object_keeps_what_is_bound_to_it(void **state)
{
	struct records *r = *state;

	CALL(r, cuMulticastBindMem, GROUP, 0, 4 * MiB, H);
	RELEASE(r, cuMemRelease, H);
	assert_int_equal(live(r), 4 * MiB);
	CALL(r, cuMulticastUnbind, GROUP, 0, 4 * MiB, 1);       /* another device */
	CALL(r, cuMulticastUnbind, GROUP, 4 * MiB, 4 * MiB, 0); /* another place */
	CALL(r, cuMulticastUnbind, GROUP2, 0, 4 * MiB, 0);      /* another object */
	CALL(r, cuLogicalEndpointUnbind, GROUP, 0, 4 * MiB, 0);
	CALL(r, cuLogicalEndpointDestroy, GROUP);
	assert_int_equal(live(r), 4 * MiB);
	CALL(r, cuMulticastUnbind, GROUP, 0, 4 * MiB, 0);
	assert_int_equal(live(r), 0);
	assert_int_equal(bindings(r), 0);
}

static void unbound_before_its_handle_is_released(void **state)
{
	struct records *r = *state;

	CALL(r, cuMulticastBindMem_v2, GROUP, 0, 4 * MiB, H, 0);
	CALL(r, cuMulticastBindMem_v2, GROUP, 0, 4 * MiB, H, 0); /* the unbinding in between was lost */
	CALL(r, cuMulticastUnbind, GROUP, 0, 4 * MiB, 0);
	assert_int_equal(live(r), 4 * MiB);
	RELEASE(r, cuMemRelease, H);
	assert_int_equal(live(r), 0);
}

static void one_unbinding_ends_all_bindings_in_its_range(void **state)
{
	struct records *r = *state;

	CALL(r, cuMemCreate, H2, 2 * MiB, 1, 1, 1);
	CALL(r, cuLogicalEndpointBindMem, LE, 0, 2 * MiB, H, 0);
	CALL(r, cuLogicalEndpointBindMem, LE, 2 * MiB, 2 * MiB, H, 0);
	CALL(r, cuLogicalEndpointBindMem, LE, 0, 2 * MiB, H2, 1);
	RELEASE(r, cuMemRelease, H);
	RELEASE(r, cuMemRelease, H2);
	assert_int_equal(live(r), 6 * MiB);
	CALL(r, cuLogicalEndpointUnbind, LE, 0, 4 * MiB, 0);
	assert_int_equal(live(r), 2 * MiB);
	CALL(r, cuLogicalEndpointDestroy, LE);
	assert_int_equal(live(r), 0);
}

static void the_end_of_a_multicast_object_ends_its_bindings(void **state)
{
	struct records *r = *state;

	CALL(r, cuMulticastBindMem, GROUP, 0, 4 * MiB, H);
	RELEASE(r, cuMemRelease, H);
	CALL(r, cuMemMap, VA, 64 * MiB, 0, GROUP);
	RELEASE(r, cuMemRelease, GROUP);
	CALL(r, cuMulticastCreate, GROUP, 64 * MiB);            /* the handle is given out again */
	CALL(r, cuMulticastUnbind, GROUP, 0, 4 * MiB, 0);
	RELEASE(r, cuMemRelease, GROUP);
	assert_int_equal(live(r), 4 * MiB);
	RELEASE(r, cuMemUnmap, VA, 64 * MiB);
	assert_int_equal(live(r), 0);
	assert_int_equal(bindings(r), 0);
}

static void memory_is_bound_by_its_address(void **state)
{
	struct records *r = *state;

	CALL(r, cuMemMap, VA, 4 * MiB, 0, H);
	RELEASE(r, cuMemRelease, H);
	CALL(r, cuMulticastBindAddr, GROUP, 0, 2 * MiB, VA);
	CALL(r, cuMulticastBindAddr_v2, GROUP, 2 * MiB, 2 * MiB, VA + 2 * MiB, 0);
	CALL(r, cuLogicalEndpointBindAddr, LE, 0, 2 * MiB, VA, 0);
	CALL(r, cuMulticastBindAddr, GROUP, 8 * MiB, 2 * MiB, VA + 4 * MiB);    /* not there */
	RELEASE(r, cuMemUnmap, VA, 4 * MiB);
	CALL(r, cuMulticastUnbind, GROUP, 0, 64 * MiB, 0);
	assert_int_equal(live(r), 4 * MiB);
	CALL(r, cuLogicalEndpointUnbind, LE, 0, 2 * MiB, 0);
	assert_int_equal(live(r), 0);
}

static void a_multicast_object_from_before_the_attach(void **state)
{
	struct records *r = *state;

	CALL(r, cuMulticastBindMem, GROUP2, 0, 4 * MiB, H);
	RELEASE(r, cuMemRelease, H);
	assert_int_equal(live(r), 4 * MiB);
	CALL(r, cuMulticastUnbind, GROUP2, 0, 4 * MiB, 0);
	assert_int_equal(live(r), 0);
	CALL(r, cuMulticastBindMem, GROUP, 0, 4 * MiB, H2);     /* memory from before */
	CALL(r, cuMulticastBindMem, GROUP, 0, 4 * MiB, GROUP);  /* nonsense */
	assert_int_equal(bindings(r), 0);
}

static void a_sparse_array_keeps_the_memory_of_its_tiles(void **state)
{
	struct records *r = *state;

	CALL(r, cuMemCreate, H2, 2 * MiB, 1, 0, 1);
	CALL(r, cuMemMapArrayAsync, MAP, ARRAY, H, 2);
	CALL(r, cuMemMapArrayAsync_ptsz, MAP, ARRAY, H, 1);
	CALL(r, cuMemMapArrayAsync, MAP, ARRAY2, H2, 1);
	RELEASE(r, cuMemRelease, H);
	RELEASE(r, cuMemRelease, H2);
	CALL(r, cuMemMapArrayAsync, UNMAP, ARRAY, 0, 2);
	assert_int_equal(live(r), 6 * MiB);
	CALL(r, cuMemMapArrayAsync, UNMAP, ARRAY, 0, 1);
	assert_int_equal(live(r), 2 * MiB);
	CALL(r, cuMemMapArrayAsync, UNMAP, ARRAY, 0, 1);        /* of memory from before the attach */
	CALL(r, cuArray3DCreate_v2, ARRAY2, 64, 64, 1, 1, 0, 0x40);
	RELEASE(r, cuArrayDestroy, ARRAY2);
	assert_int_equal(live(r), 0);
	assert_int_equal(bindings(r), 0);
}

static void an_array_that_goes_with_its_context(void **state)
{
	struct records *r = *state;

	CALL(r, cuCtxCreate_v2, 0xc0, 0);
	CALL(r, cuArray3DCreate_v2, ARRAY, 64, 64, 1, 1, 0, 0x40);
	CALL(r, cuMemMapArrayAsync, MAP, ARRAY, H, 1);
	RELEASE(r, cuMemRelease, H);
	assert_int_equal(live(r), 4 * MiB);
	CALL(r, cuCtxDestroy_v2, 0xc0);
	assert_int_equal(live(r), 0);
}

/* In a callback inside of the end, which then fails. */
static void an_array_that_is_freed_inside_of_a_failed_end(void **state)
{
	struct records *r = *state;

	CALL(r, cuCtxCreate_v2, 0xc0, 0);
	CALL(r, cuArray3DCreate_v2, ARRAY, 64, 64, 1, 1, 0, 0x40);
	CALL(r, cuMemMapArrayAsync, MAP, ARRAY, H, 1);
	RELEASE(r, cuMemRelease, H);
	uint32_t seq = RELEASE(r, cuCtxDestroy_v2, 0xc0);

	RELEASE(r, cuArrayDestroy, ARRAY);
	UNDO(r, cuCtxDestroy_v2, seq, 700, 0xc0);
	assert_int_equal(live(r), 0);
	assert_int_equal(bindings(r), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, scene, no_scene)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_multicast_object_keeps_what_is_bound_to_it),
		TEST(unbound_before_its_handle_is_released),
		TEST(one_unbinding_ends_all_bindings_in_its_range),
		TEST(the_end_of_a_multicast_object_ends_its_bindings),
		TEST(memory_is_bound_by_its_address),
		TEST(a_multicast_object_from_before_the_attach),
		TEST(a_sparse_array_keeps_the_memory_of_its_tiles),
		TEST(an_array_that_goes_with_its_context),
		TEST(an_array_that_is_freed_inside_of_a_failed_end),
	};

	return cmocka_run_group_tests_name("bind", tests, NULL, NULL);
}
