// SPDX-License-Identifier: BSD-2-Clause
/* Memory that overlaps older memory: the release of the older memory was missed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "records.h"

#define A 0x200000ull
#define H 0x51ull

static int scene(void **state)
{
	static struct records r;

	records_scene(&r, API_LAYER);
	CALL(&r, cuDevicePrimaryCtxRetain, 0xc0, 0);
	CALL(&r, cuCtxSetCurrent, 0xc0);
	*state = &r;
	return 0;
}

static void end(struct records *r)
{
	struct gmt_end rec = { 0 };

	records_apply(r, &rec, GMT_KIND_END, sizeof(rec));
}

static void loss(struct records *r)
{
	struct gmt_loss rec = { .count = { 1 } };

	records_apply(r, &rec, GMT_KIND_LOSS, sizeof(rec));
}

static void an_allocation_inside_an_older_one(void **state)
{
	struct records *r = *state;

	CALL(r, cuMemAlloc_v2, A, 4 * MiB);
	CALL(r, cuMemAlloc_v2, A + MiB, MiB);
	end(r);
	assert_int_equal(records_live(r, 1, GMT_CLASS_DEVICE), MiB);
	assert_int_equal(records_class(r, 1, GMT_CLASS_DEVICE).live_count, 1);
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_DOUBLE_ALLOC), 1);
}

static void an_allocation_over_older_ones(void **state)
{
	struct records *r = *state;

	for (uint64_t i = 0; i < 10; i++)
		CALL(r, cuMemAlloc_v2, A + i * MiB, MiB);
	CALL(r, cuMemAlloc_v2, A + MiB / 2, 8 * MiB);      /* over the first nine */
	end(r);
	assert_int_equal(records_live(r, 1, GMT_CLASS_DEVICE), 9 * MiB);
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_DOUBLE_ALLOC), 9);
}

static void the_newest_stays_whatever_it_overlaps(void **state)
{
	struct records *r = *state;

	CALL(r, cuMemAlloc_v2, A + 2 * MiB, MiB);
	CALL(r, cuMemAlloc_v2, A, 10 * MiB);               /* over the first */
	CALL(r, cuMemAlloc_v2, A + 5 * MiB, MiB);          /* inside the second */
	end(r);
	assert_int_equal(records_live(r, 1, GMT_CLASS_DEVICE), MiB);
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_DOUBLE_ALLOC), 2);
}

static void mappings_and_allocations_displace_each_other(void **state)
{
	struct records *r = *state;

	CALL(r, cuMemAlloc_v2, A, MiB);
	CALL(r, cuMemCreate, H, 2 * MiB, 1, 0, 1);
	CALL(r, cuMemMap, A, 2 * MiB, 0, H);               /* at once: it begins at the same address */
	assert_int_equal(records_live(r, 1, GMT_CLASS_DEVICE), 0);
	RELEASE(r, cuMemRelease, H);
	CALL(r, cuMemCreate, H + 1, 4 * MiB, 1, 0, 1);
	CALL(r, cuMemMap, A - MiB, 4 * MiB, 0, H + 1);
	end(r);
	assert_int_equal(records_live(r, 1, GMT_CLASS_VMM), 4 * MiB);
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_DOUBLE_ALLOC), 2);
	RELEASE(r, cuMemRelease, H + 1);
	CALL(r, cuMemAlloc_v2, A - MiB, MiB);
	assert_int_equal(records_attributed(r), MiB);
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_DOUBLE_ALLOC), 3);
}

static void what_only_touches_stays(void **state)
{
	struct records *r = *state;

	CALL(r, cuMemAlloc_v2, A, MiB);
	CALL(r, cuMemAlloc_v2, A + MiB, MiB);
	CALL(r, cuMemAlloc_v2, A - MiB, MiB);
	CALL(r, cuIpcOpenMemHandle_v2, A + 512, 0x1234, 1); /* of 0 bytes */
	CALL(r, cuGraphAddMemAllocNode, A + 4096, MiB, 0);  /* only planned */
	end(r);
	assert_int_equal(records_live(r, 1, GMT_CLASS_DEVICE), 3 * MiB);
	assert_int_equal(records_live(r, 1, GMT_CLASS_GRAPH), MiB);
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_DOUBLE_ALLOC), 0);
}

static void a_search_follows_a_loss_and_ends_a_life(void **state)
{
	struct records *r = *state;

	CALL(r, cuMemAlloc_v2, A, 4 * MiB);
	CALL(r, cuMemAlloc_v2, A + MiB, MiB);
	r->ts_ns += 20000000000;
	CALL(r, cuMemAlloc_v2, A + 8 * MiB, MiB);
	assert_int_equal(records_live(r, 1, GMT_CLASS_DEVICE), 6 * MiB); /* nothing says that a record was lost */
	loss(r);
	r->ts_ns += 20000000000;
	CALL(r, cuMemAlloc_v2, A + 9 * MiB, MiB);
	assert_int_equal(records_live(r, 1, GMT_CLASS_DEVICE), 3 * MiB);
	CALL(r, cuMemAlloc_v2, A + MiB / 2, MiB);
	records_exit(r, 0);
	assert_int_equal(records_live(r, 1, GMT_CLASS_DEVICE), 3 * MiB);
}

static void a_pointer_imported_twice_is_released_twice(void **state)
{
	struct records *r = *state;
	uint32_t seq;

	CALL(r, cuMemPoolImportFromShareableHandle, 0x9000);
	CALL(r, cuMemPoolImportPointer, A, 0x9000);
	CALL(r, cuMemPoolImportPointer, A, 0x9000);
	assert_int_equal(records_class(r, ANY_GPU, GMT_CLASS_IMPORTED).live_count, 1);
	CALL(r, cuMemAlloc_v2, A + MiB, MiB);
	seq = RELEASE(r, cuMemFree_v2, A + MiB);           /* of something else */
	UNDO(r, cuMemFree_v2, seq, 700, A + MiB);
	RELEASE(r, cuMemFree_v2, A + MiB);
	RELEASE(r, cuMemFreeAsync, A, 0);
	assert_int_equal(records_class(r, ANY_GPU, GMT_CLASS_IMPORTED).live_count, 1);
	seq = RELEASE(r, cuMemFree_v2, A);
	assert_int_equal(records_class(r, ANY_GPU, GMT_CLASS_IMPORTED).live_count, 0);
	UNDO(r, cuMemFree_v2, seq, 700, A);
	assert_int_equal(records_class(r, ANY_GPU, GMT_CLASS_IMPORTED).live_count, 1);
	RELEASE(r, cuMemFree_v2, A);
	assert_int_equal(records_class(r, ANY_GPU, GMT_CLASS_IMPORTED).live_count, 0);
	CALL(r, cuMemAlloc_v2, A, MiB);
	RELEASE(r, cuMemFree_v2, A);
	assert_int_equal(records_attributed(r), 0);
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_DOUBLE_ALLOC), 0);
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_FREE_UNKNOWN), 0);
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_UNDO_UNKNOWN), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, scene, records_end_scene)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_allocation_inside_an_older_one),
		TEST(an_allocation_over_older_ones),
		TEST(the_newest_stays_whatever_it_overlaps),
		TEST(mappings_and_allocations_displace_each_other),
		TEST(what_only_touches_stays),
		TEST(a_search_follows_a_loss_and_ends_a_life),
		TEST(a_pointer_imported_twice_is_released_twice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
