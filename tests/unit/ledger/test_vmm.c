// SPDX-License-Identifier: BSD-2-Clause
/* Virtual memory management: physical memory goes when references and mappings are both gone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "records.h"

#define H 0x10ull
#define H2 0x20ull
#define VA 0x302000000ull
#define SIZE (20 * MiB)
#define DEVICE_AT(ordinal) 1, ordinal, 1   /* location type, id; allocation type: pinned */

static void the_place_is_in_the_call(void **state)
{
	struct records *r = *state;

	CALL(r, cuMemCreate, H, SIZE, DEVICE_AT(0));
	CALL(r, cuMemCreate, H2, SIZE, DEVICE_AT(1));
	assert_int_equal(records_live(r, 1, GMT_CLASS_VMM), SIZE);
	assert_int_equal(records_live(r, 0, GMT_CLASS_VMM), SIZE);
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_GPU_UNKNOWN), 0);
}

static void memory_on_the_host_is_pinned(void **state)
{
	struct records *r = *state;

	CALL(r, cuMemCreate, H, SIZE, 2, 0, 1);
	CALL(r, cuMemCreate, H2, SIZE, 3, 1, 1);
	CALL(r, cuMemCreate, H2 + 1, SIZE, 4, 0, 1);
	assert_int_equal(records_live(r, ANY_GPU, GMT_CLASS_PINNED), 3 * SIZE);
	assert_int_equal(records_attributed(r), 0);
	RELEASE(r, cuMemRelease, H);
	assert_int_equal(records_live(r, ANY_GPU, GMT_CLASS_PINNED), 2 * SIZE);
}

static void release_then_unmap(void **state)
{
	struct records *r = *state;

	CALL(r, cuMemCreate, H, SIZE, DEVICE_AT(0));
	CALL(r, cuMemMap, VA, SIZE, 0, H);
	RELEASE(r, cuMemRelease, H);
	assert_int_equal(records_live(r, 1, GMT_CLASS_VMM), SIZE); /* still mapped */
	RELEASE(r, cuMemUnmap, VA, SIZE);
	assert_int_equal(records_live(r, 1, GMT_CLASS_VMM), 0);
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_FREE_UNKNOWN), 0);
}

static void unmap_then_release(void **state)
{
	struct records *r = *state;

	CALL(r, cuMemCreate, H, SIZE, DEVICE_AT(0));
	CALL(r, cuMemMap, VA, SIZE, 0, H);
	RELEASE(r, cuMemUnmap, VA, SIZE);
	assert_int_equal(records_live(r, 1, GMT_CLASS_VMM), SIZE);
	RELEASE(r, cuMemRelease, H);
	assert_int_equal(records_live(r, 1, GMT_CLASS_VMM), 0);
	assert_int_equal(records_class(r, 1, GMT_CLASS_VMM).frees, 1);
}

static void one_unmap_takes_several_mappings(void **state)
{
	struct records *r = *state;

	for (uint64_t i = 0; i < 3; i++) {
		CALL(r, cuMemCreate, H + i, SIZE, DEVICE_AT(0));
		CALL(r, cuMemMap, VA + i * SIZE, SIZE, 0, H + i);
		RELEASE(r, cuMemRelease, H + i);
	}
	RELEASE(r, cuMemUnmap, VA, 2 * SIZE);
	assert_int_equal(records_live(r, 1, GMT_CLASS_VMM), SIZE);
	RELEASE(r, cuMemUnmap, VA + 2 * SIZE, SIZE);
	assert_int_equal(records_live(r, 1, GMT_CLASS_VMM), 0);
}

static void a_failed_unmap_of_several_is_taken_back(void **state)
{
	struct records *r = *state;

	CALL(r, cuMemCreate, H, SIZE, DEVICE_AT(0));
	CALL(r, cuMemMap, VA, SIZE, 0, H);
	CALL(r, cuMemMap, VA + SIZE, SIZE, 0, H); /* twice the same memory */
	CALL(r, cuMemCreate, H2, SIZE, DEVICE_AT(0));
	CALL(r, cuMemMap, VA + 2 * SIZE, SIZE, 0, H2);
	RELEASE(r, cuMemRelease, H);
	uint32_t seq = RELEASE(r, cuMemUnmap, VA, 3 * SIZE);

	assert_int_equal(records_live(r, 1, GMT_CLASS_VMM), SIZE); /* H2 has its reference */
	UNDO(r, cuMemUnmap, seq, 700, VA, 3 * SIZE);
	struct view_class c = records_class(r, 1, GMT_CLASS_VMM);

	assert_int_equal(c.bytes.live, 2 * SIZE);
	assert_int_equal(c.live_count, 2);
	assert_int_equal(c.frees, 0);
	RELEASE(r, cuMemUnmap, VA, SIZE);
	assert_int_equal(records_live(r, 1, GMT_CLASS_VMM), 2 * SIZE); /* H is mapped once more */
	RELEASE(r, cuMemUnmap, VA + SIZE, SIZE);
	assert_int_equal(records_live(r, 1, GMT_CLASS_VMM), SIZE);
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_UNDO_UNKNOWN), 0);
}

static void a_failed_release_is_taken_back(void **state)
{
	struct records *r = *state;

	CALL(r, cuMemCreate, H, SIZE, DEVICE_AT(0));
	uint32_t seq = RELEASE(r, cuMemRelease, H);

	UNDO(r, cuMemRelease, seq, 700, H);
	UNDO(r, cuMemRelease, seq, 700, H); /* but only once */
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_UNDO_UNKNOWN), 1);
	assert_int_equal(records_live(r, 1, GMT_CLASS_VMM), SIZE);
	CALL(r, cuMemMap, VA, SIZE, 0, H);       /* the handle is good */
	RELEASE(r, cuMemRelease, H);
	assert_int_equal(records_live(r, 1, GMT_CLASS_VMM), SIZE);
	RELEASE(r, cuMemUnmap, VA, SIZE);
	assert_int_equal(records_live(r, 1, GMT_CLASS_VMM), 0);
	seq = RELEASE(r, cuMemRelease, 0x999);
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_FREE_UNKNOWN), 1);
	UNDO(r, cuMemRelease, seq, 1, 0x999);
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_FREE_UNKNOWN), 0);
}

static void retain_gives_the_same_handle_once_more(void **state)
{
	struct records *r = *state;

	CALL(r, cuMemCreate, H, SIZE, DEVICE_AT(0));
	CALL(r, cuMemMap, VA, SIZE, 0, H);
	CALL(r, cuMemRetainAllocationHandle, H, VA);
	RELEASE(r, cuMemUnmap, VA, SIZE);
	RELEASE(r, cuMemRelease, H);
	assert_int_equal(records_live(r, 1, GMT_CLASS_VMM), SIZE);
	RELEASE(r, cuMemRelease, H);
	assert_int_equal(records_live(r, 1, GMT_CLASS_VMM), 0);
	assert_int_equal(records_class(r, 1, GMT_CLASS_VMM).allocs, 1);
}

static void retain_may_name_what_is_mapped_by_another_handle(void **state)
{
	struct records *r = *state;

	CALL(r, cuMemCreate, H, SIZE, DEVICE_AT(0));
	CALL(r, cuMemMap, VA, SIZE, 0, H);
	CALL(r, cuMemRetainAllocationHandle, H2, VA);
	RELEASE(r, cuMemRelease, H);
	RELEASE(r, cuMemUnmap, VA, SIZE);
	assert_int_equal(records_live(r, 1, GMT_CLASS_VMM), SIZE);
	RELEASE(r, cuMemRelease, H2);
	assert_int_equal(records_live(r, 1, GMT_CLASS_VMM), 0);
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_FREE_UNKNOWN), 0);
}

static void a_handle_given_out_again_is_another_object(void **state)
{
	struct records *r = *state;

	CALL(r, cuMemCreate, H, SIZE, DEVICE_AT(0));
	CALL(r, cuMemMap, VA, SIZE, 0, H);
	RELEASE(r, cuMemRelease, H);
	CALL(r, cuMemCreate, H, MiB, DEVICE_AT(1));
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_DOUBLE_ALLOC), 0);
	RELEASE(r, cuMemRelease, H);
	assert_int_equal(records_live(r, 0, GMT_CLASS_VMM), 0);
	assert_int_equal(records_live(r, 1, GMT_CLASS_VMM), SIZE); /* the mapped one lives on */
	RELEASE(r, cuMemUnmap, VA, SIZE);
	assert_int_equal(records_live(r, 1, GMT_CLASS_VMM), 0);
}

static void the_end_of_the_old_object_leaves_the_handle_to_the_new_one(void **state)
{
	struct records *r = *state;

	CALL(r, cuMemCreate, H, SIZE, DEVICE_AT(0));
	CALL(r, cuMemMap, VA, SIZE, 0, H);
	RELEASE(r, cuMemRelease, H);
	CALL(r, cuMemCreate, H, MiB, DEVICE_AT(0));
	RELEASE(r, cuMemUnmap, VA, SIZE);
	assert_int_equal(records_live(r, 1, GMT_CLASS_VMM), MiB);
	RELEASE(r, cuMemRelease, H);
	assert_int_equal(records_live(r, 1, GMT_CLASS_VMM), 0);
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_FREE_UNKNOWN), 0);
}

static void a_handle_that_is_live_is_not_created(void **state)
{
	struct records *r = *state;

	CALL(r, cuMemCreate, H, SIZE, DEVICE_AT(0));
	CALL(r, cuMemMap, VA, SIZE, 0, H);
	CALL(r, cuMemCreate, H, MiB, DEVICE_AT(0)); /* its release and unmap were missed */
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_DOUBLE_ALLOC), 1);
	assert_int_equal(records_live(r, 1, GMT_CLASS_VMM), MiB);
	RELEASE(r, cuMemUnmap, VA, SIZE);
	assert_int_equal(records_live(r, 1, GMT_CLASS_VMM), MiB);
}

static void a_mapping_over_a_mapping_replaces_it(void **state)
{
	struct records *r = *state;

	CALL(r, cuMemCreate, H, SIZE, DEVICE_AT(0));
	CALL(r, cuMemCreate, H2, SIZE, DEVICE_AT(0));
	CALL(r, cuMemMap, VA, SIZE, 0, H);
	RELEASE(r, cuMemRelease, H);
	CALL(r, cuMemMap, VA, SIZE, 0, H2); /* the unmap was missed: H is gone */
	assert_int_equal(records_live(r, 1, GMT_CLASS_VMM), SIZE);
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_DOUBLE_ALLOC), 1);
}

static void imports_cost_nothing(void **state)
{
	struct records *r = *state;

	CALL(r, cuMemImportFromShareableHandle, H, 1);
	CALL(r, cuMemMap, VA, SIZE, 0, H);
	assert_int_equal(records_class(r, ANY_GPU, GMT_CLASS_IMPORTED).live_count, 1);
	assert_int_equal(records_live(r, ANY_GPU, GMT_CLASS_IMPORTED), 0);
	assert_int_equal(records_attributed(r), 0);
	RELEASE(r, cuMemRelease, H);
	RELEASE(r, cuMemUnmap, VA, SIZE);
	assert_int_equal(records_class(r, ANY_GPU, GMT_CLASS_IMPORTED).live_count, 0);
}

static void importing_ones_own_memory_adds_a_reference(void **state)
{
	struct records *r = *state;

	CALL(r, cuMemCreate, H, SIZE, DEVICE_AT(0));
	CALL(r, cuMemExportToShareableHandle, H, 1);
	CALL(r, cuMemImportFromShareableHandle, H, 1);
	RELEASE(r, cuMemRelease, H);
	assert_int_equal(records_live(r, 1, GMT_CLASS_VMM), SIZE);
	RELEASE(r, cuMemRelease, H);
	assert_int_equal(records_live(r, 1, GMT_CLASS_VMM), 0);
}

static void a_multicast_object_costs_nothing(void **state)
{
	struct records *r = *state;

	CALL(r, cuMulticastCreate, H, 512 * MiB);
	for (int class = 0; class < GMT_CLASS_COUNT; class++)
		assert_int_equal(records_class(r, ANY_GPU, class).live_count, 0);
	RELEASE(r, cuMemRelease, H);
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_FREE_UNKNOWN), 0);
}

static void handles_from_before_attach(void **state)
{
	struct records *r = *state;

	r->tgid = 200;
	records_attach(r, false);
	CALL(r, cuMemRetainAllocationHandle, H, VA);
	RELEASE(r, cuMemRelease, H);
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_FREE_UNKNOWN), 0);
	RELEASE(r, cuMemUnmap, VA, SIZE);
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_FREE_UNKNOWN), 0);
	RELEASE(r, cuMemRelease, H);
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_FREE_UNKNOWN), 1);
	assert_int_equal(records_live(r, ANY_GPU, GMT_CLASS_VMM), 0);
}

static void one_unmap_over_mappings_from_before_attach(void **state)
{
	struct records *r = *state;

	r->tgid = 200;
	records_attach(r, false);
	CALL(r, cuMemCreate, H, SIZE, DEVICE_AT(0));
	CALL(r, cuMemMap, VA + SIZE, SIZE, 0, H); /* behind one that nobody saw */
	RELEASE(r, cuMemRelease, H);
	RELEASE(r, cuMemUnmap, VA, 2 * SIZE);
	assert_int_equal(records_live(r, ANY_GPU, GMT_CLASS_VMM), 0);
}

/* CUDA 13.5: location type 6, the device in the low byte, the domain above. */
static void a_locality_domain_is_a_part_of_its_device(void **state)
{
	struct records *r = *state;

	CALL(r, cuMemCreate, 0x51, 2 * MiB, 6, 0x0001, 1);
	CALL(r, cuMemCreate, 0x52, 4 * MiB, 6, 0x0300, 1);
	CALL(r, cuMemPoolCreate, 0x900, 6, 0x0101, 1);
	CALL(r, cuMemAllocFromPoolAsync, 0x7f0000000000, 8 * MiB, 0x900, 0);
	CALL(r, cuGraphAddMemAllocNode, 0x7f1000000000, 16 * MiB, 0x0201, 0x990);
	assert_int_equal(records_live(r, 0, GMT_CLASS_VMM), 2 * MiB);      /* ordinal 1 */
	assert_int_equal(records_live(r, 1, GMT_CLASS_VMM), 4 * MiB);
	assert_int_equal(records_live(r, 0, GMT_CLASS_POOL), 8 * MiB);
	assert_int_equal(records_live(r, 0, GMT_CLASS_GRAPH), 16 * MiB);
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_GPU_UNKNOWN), 0);
}

static void the_properties_of_a_handle_tell_its_gpu(void **state)
{
	struct records *r = *state;

	r->unread = 1u << 2 | 1u << 3 | 1u << 4;
	CALL(r, cuMemCreate, H, SIZE, 0, 0, 0);
	assert_int_equal(records_live(r, NO_GPU, GMT_CLASS_VMM), SIZE);
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_GPU_UNKNOWN), 1);
	CALL(r, cuMemGetAllocationPropertiesFromHandle, H, 1ull << 32 | 1);
	assert_int_equal(records_live(r, 0, GMT_CLASS_VMM), SIZE);
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_GPU_UNKNOWN), 0);
	struct view_row row;

	assert_false(records_row(r, NO_GPU, &row)); /* nothing unknown is left */
}

static void the_kernel_says_where_it_lies(void **state)
{
	struct records *r = *state;

	records_rm_scene(r);
	r->cause = GMT_API_cuMemCreate;
	uint32_t object = records_rm_memory(r, 1, SIZE); /* inside the next call */

	r->unread = 1u << 2 | 1u << 3 | 1u << 4;
	CALL(r, cuMemCreate, H, SIZE, 0, 0, 0);
	assert_int_equal(records_live(r, 1, GMT_CLASS_VMM), SIZE);
	/* An import is known by its mapping, once it is made accessible. */
	CALL(r, cuMemImportFromShareableHandle, H2, 1);
	CALL(r, cuMemMap, VA, SIZE, 0, H2);
	assert_int_equal(records_class(r, NO_GPU, GMT_CLASS_IMPORTED).live_count, 1);
	records_rm_map(r, 1, VA, SIZE, object);
	assert_int_equal(records_class(r, 1, GMT_CLASS_IMPORTED).live_count, 1);
	assert_int_equal(records_class(r, NO_GPU, GMT_CLASS_IMPORTED).live_count, 0);
	/* Or by the mapping that is there before cuMemMap returns. */
	records_rm_map(r, 1, VA + GiB, SIZE, object);
	CALL(r, cuMemImportFromShareableHandle, H2 + 1, 1);
	CALL(r, cuMemMap, VA + GiB, SIZE, 0, H2 + 1);
	assert_int_equal(records_class(r, 1, GMT_CLASS_IMPORTED).live_count, 2);
}

static void the_kernel_knows_better_than_the_call(void **state)
{
	struct records *r = *state;

	records_rm_scene(r);
	r->cause = GMT_API_cuMemCreate;
	records_rm_memory(r, 0, SIZE);
	CALL(r, cuMemCreate, H, SIZE, DEVICE_AT(0)); /* ordinal 0 would be the GPU with index 1 */
	assert_int_equal(records_live(r, 0, GMT_CLASS_VMM), SIZE);
}

static void failed_creations_are_counted(void **state)
{
	struct records *r = *state;

	FAIL(r, cuMemCreate, 2, 0, SIZE, DEVICE_AT(0));
	FAIL(r, cuMemCreate, 2, 0, SIZE, DEVICE_AT(0));
	assert_int_equal(records_class(r, 1, GMT_CLASS_VMM).failed, 2);
	assert_int_equal(records_class(r, 1, GMT_CLASS_VMM).live_count, 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, records_api_scene, records_end_scene)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_place_is_in_the_call),
		TEST(memory_on_the_host_is_pinned),
		TEST(release_then_unmap),
		TEST(unmap_then_release),
		TEST(one_unmap_takes_several_mappings),
		TEST(a_failed_unmap_of_several_is_taken_back),
		TEST(a_failed_release_is_taken_back),
		TEST(retain_gives_the_same_handle_once_more),
		TEST(retain_may_name_what_is_mapped_by_another_handle),
		TEST(a_handle_given_out_again_is_another_object),
		TEST(the_end_of_the_old_object_leaves_the_handle_to_the_new_one),
		TEST(a_handle_that_is_live_is_not_created),
		TEST(a_mapping_over_a_mapping_replaces_it),
		TEST(imports_cost_nothing),
		TEST(importing_ones_own_memory_adds_a_reference),
		TEST(a_multicast_object_costs_nothing),
		TEST(handles_from_before_attach),
		TEST(one_unmap_over_mappings_from_before_attach),
		TEST(a_locality_domain_is_a_part_of_its_device),
		TEST(the_properties_of_a_handle_tell_its_gpu),
		TEST(the_kernel_says_where_it_lies),
		TEST(the_kernel_knows_better_than_the_call),
		TEST(failed_creations_are_counted),
	};

	return cmocka_run_group_tests_name("vmm", tests, NULL, NULL);
}
