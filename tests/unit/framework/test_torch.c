/* SPDX-License-Identifier: BSD-2-Clause */
/* PyTorch's blocks on top of the driver's allocations: totals, segments, gaps, and what is odd. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "core/view/view.h"
#include "records.h"

#define BASE 0x7f0000000000ull
#define GPU 1   /* index of what the process calls device 0 */

/* The allocator of device 0 as PyTorch has it: totals follow from what it does. */
struct allocator {
	struct records r;
	uint64_t allocated, reserved;
};

static void report(struct allocator *a, uint64_t ptr, int64_t delta)
{
	records_block(&a->r, ptr, delta, a->allocated += delta, a->reserved);
}

static void segment(struct allocator *a, uint64_t ptr, uint64_t size)
{
	CALL(&a->r, cuMemAlloc_v2, ptr, size);
	a->reserved += size;
}

static void release(struct allocator *a, uint64_t ptr, uint64_t size)
{
	RELEASE(&a->r, cuMemFree_v2, ptr);
	a->reserved -= size;
}

static struct view_torch torch_of(const struct allocator *a, int gpu)
{
	struct view_row row;

	return records_row(&a->r, gpu, &row) ? row.torch : (struct view_torch){ 0 };
}

/* An allocator that says what it gives out and takes back, and neither on which device nor how much that makes. */
static void report_bare(struct allocator *a, uint64_t ptr, int64_t delta)
{
	records_block_report(&a->r, (struct gmt_fw_mem){
		.ptr = ptr, .delta = delta, .device_type = GMT_FW_BY_ADDRESS, .flags = GMT_FW_NO_TOTALS,
	});
	assert_int_equal(a->r.result, 0);
}

static int setup(void **state)
{
	static struct allocator a;

	memset(&a, 0, sizeof(a));
	records_scene(&a.r, API_LAYER);
	*state = &a;
	return 0;
}

static int teardown(void **state)
{
	records_fini(&((struct allocator *)*state)->r);
	return 0;
}

static uint64_t odd(const struct allocator *a)
{
	return records_anomalies(&a->r, GMT_ANOMALY_TORCH_MISSED) + records_anomalies(&a->r, GMT_ANOMALY_TORCH_RESERVED);
}

static void totals_and_peaks(void **state)
{
	struct allocator *a = *state;
	struct view_torch t;

	segment(a, BASE, 20 * MiB);
	report(a, BASE, 4 * MiB);
	report(a, BASE + 4 * MiB, 8 * MiB);
	report(a, BASE, -4 * (int64_t)MiB);
	t = torch_of(a, GPU);
	assert_true(t.seen);
	assert_int_equal(t.allocated.live, 8 * MiB);
	assert_int_equal(t.allocated.peak, 12 * MiB);
	assert_int_equal(t.reserved.live, 20 * MiB);
	assert_int_equal(t.reserved.peak, 20 * MiB);
	assert_int_equal(t.blocks, 1);
	assert_int_equal(t.block_bytes, 8 * MiB);
	assert_int_equal(t.allocs, 2);
	assert_int_equal(t.frees, 1);
	assert_int_equal(t.alloc_bytes, 12 * MiB);
	assert_int_equal(t.freed_bytes, 4 * MiB);
	assert_int_equal(t.backend, GMT_TORCH_NATIVE);
	assert_int_equal(odd(a), 0);
	/* they are no allocations of the driver */
	assert_int_equal(records_attributed(&a->r), 20 * MiB);
	assert_false(torch_of(a, 0).seen);
}

static void attached_late(void **state)
{
	struct allocator *a = *state;
	struct view_torch t;

	a->r.tgid = a->r.tid = 200;
	records_attach(&a->r, false);
	records_device(&a->r, 0, GPU);
	a->allocated = 900 * MiB;
	a->reserved = 1000 * MiB;
	report(a, BASE, -100 * (int64_t)MiB);   /* of a block that was not seen allocated */
	t = torch_of(a, GPU);
	assert_int_equal(t.allocated.live, 800 * MiB);
	assert_int_equal(t.allocated.peak, 900 * MiB);
	assert_int_equal(t.reserved.live, 1000 * MiB);
	assert_int_equal(t.blocks, 0);
	assert_false(t.gap_known);
	report(a, BASE, 50 * MiB);
	segment(a, BASE + GiB, 40 * MiB);
	report(a, BASE + GiB, 30 * MiB);
	t = torch_of(a, GPU);
	assert_int_equal(t.allocated.live, 880 * MiB);
	assert_int_equal(t.blocks, 2);
	assert_int_equal(t.segment_bytes, 40 * MiB);
	assert_false(t.gap_known);
	assert_int_equal(odd(a), 0);
}

static void the_largest_gap(void **state)
{
	struct allocator *a = *state;

	/* two segments side by side: to cuMemAlloc they are two */
	segment(a, BASE, 20 * MiB);
	report(a, BASE, 5 * MiB);
	segment(a, BASE + 20 * MiB, 20 * MiB);
	report(a, BASE + 20 * MiB, 7 * MiB);
	assert_true(torch_of(a, GPU).gap_known);
	assert_int_equal(torch_of(a, GPU).largest_free_gap, 15 * MiB);
	report(a, BASE + 20 * MiB, -7 * (int64_t)MiB);
	assert_int_equal(torch_of(a, GPU).largest_free_gap, 20 * MiB);
	report(a, BASE + 26 * MiB, 2 * MiB);
	report(a, BASE + 5 * MiB, 15 * MiB);
	assert_int_equal(torch_of(a, GPU).largest_free_gap, 12 * MiB);
	assert_int_equal(odd(a), 0);
}

static void map(struct allocator *a, uint64_t at, uint64_t handle)
{
	CALL(&a->r, cuMemCreate, handle, 20 * MiB, 1, 0, 1);
	CALL(&a->r, cuMemMap, at, 20 * MiB, 0, handle);
	a->reserved += 20 * MiB;
}

static void expandable_segments(void **state)
{
	struct allocator *a = *state;
	struct view_torch t;

	map(a, BASE, 0x100);
	map(a, BASE + 20 * MiB, 0x101);
	report(a, BASE, 30 * MiB);
	t = torch_of(a, GPU);
	assert_int_equal(t.backend, GMT_TORCH_EXPANDABLE);
	assert_int_equal(t.segments, 2);
	assert_int_equal(t.segment_bytes, 40 * MiB);
	assert_int_equal(t.largest_free_gap, 10 * MiB);
	/* the next block begins in a piece that is known and ends in one that is not */
	map(a, BASE + 40 * MiB, 0x102);
	report(a, BASE + 30 * MiB, 20 * MiB);
	assert_int_equal(torch_of(a, GPU).segments, 3);
	report(a, BASE, -30 * (int64_t)MiB);
	assert_int_equal(torch_of(a, GPU).largest_free_gap, 30 * MiB);
	/* it gives the first piece back */
	RELEASE(&a->r, cuMemUnmap, BASE, 20 * MiB);
	RELEASE(&a->r, cuMemRelease, 0x100);
	a->reserved -= 20 * MiB;
	assert_int_equal(torch_of(a, GPU).reserved.live, 40 * MiB);
	assert_int_equal(torch_of(a, GPU).largest_free_gap, 10 * MiB);
	report(a, BASE + 20 * MiB, 10 * MiB);
	assert_int_equal(odd(a), 0);
}

static void segments_given_back(void **state)
{
	struct allocator *a = *state;
	uint32_t seq;

	segment(a, BASE, 20 * MiB);
	report(a, BASE, MiB);
	report(a, BASE, -(int64_t)MiB);
	release(a, BASE, 20 * MiB);
	assert_int_equal(torch_of(a, GPU).reserved.live, 0); /* although no event has said so */
	assert_int_equal(torch_of(a, GPU).segments, 0);
	segment(a, BASE + GiB, 2 * MiB);
	report(a, BASE + GiB, 512);
	assert_int_equal(torch_of(a, GPU).reserved.live, 2 * MiB);
	report(a, BASE + GiB, -512);
	/* a free that fails takes nothing */
	seq = RELEASE(&a->r, cuMemFree_v2, BASE + GiB);
	assert_int_equal(torch_of(a, GPU).reserved.live, 0);
	UNDO(&a->r, cuMemFree_v2, seq, 700, BASE + GiB);
	assert_int_equal(torch_of(a, GPU).reserved.live, 2 * MiB);
	report(a, BASE + GiB, 1024);
	assert_int_equal(odd(a), 0);
}

static void reserved_that_does_not_agree(void **state)
{
	struct allocator *a = *state;

	segment(a, BASE, 20 * MiB);
	report(a, BASE, MiB);
	a->reserved += 3 * MiB;   /* of which the driver knows nothing */
	report(a, BASE + MiB, MiB);
	report(a, BASE + 2 * MiB, MiB);
	assert_int_equal(records_anomalies(&a->r, GMT_ANOMALY_TORCH_RESERVED), 1);
	a->reserved += MiB;
	report(a, BASE + 3 * MiB, MiB);
	assert_int_equal(records_anomalies(&a->r, GMT_ANOMALY_TORCH_RESERVED), 2);
	a->reserved -= 4 * MiB;
	report(a, BASE + 4 * MiB, MiB);
	assert_int_equal(records_anomalies(&a->r, GMT_ANOMALY_TORCH_RESERVED), 2);
	assert_true(torch_of(a, GPU).gap_known);
}

/* vLLM's sleep mode: the memory goes, PyTorch's totals stay. */
static void memory_taken_below_it(void **state)
{
	struct allocator *a = *state;

	map(a, BASE, 0x100);
	report(a, BASE, 10 * MiB);
	map(a, BASE + GiB, 0x101);
	report(a, BASE + GiB, 20 * MiB);
	RELEASE(&a->r, cuMemUnmap, BASE, 20 * MiB);
	assert_int_equal(torch_of(a, GPU).reserved.live, 40 * MiB);
	report(a, BASE + GiB, -20 * (int64_t)MiB);
	assert_int_equal(torch_of(a, GPU).reserved.live, 40 * MiB);
	assert_int_equal(torch_of(a, GPU).segment_bytes, 20 * MiB);
	assert_false(torch_of(a, GPU).gap_known);
	CALL(&a->r, cuMemCreate, 0x102, 20 * MiB, 1, 0, 1);
	CALL(&a->r, cuMemMap, BASE, 20 * MiB, 0, 0x102);   /* it wakes up */
	assert_int_equal(torch_of(a, GPU).segment_bytes, 40 * MiB);
	assert_true(torch_of(a, GPU).gap_known);
	assert_int_equal(odd(a), 0);
}

/* A custom allocator of a MemPool cuts its segments from larger pieces. */
static void memory_that_is_not_the_drivers(void **state)
{
	struct allocator *a = *state;

	CALL(&a->r, cuMemAlloc_v2, BASE, GiB);
	a->reserved = 20 * MiB;
	report(a, BASE + 512, MiB);
	a->reserved += 20 * MiB;
	report(a, BASE + 40 * MiB, MiB);
	assert_int_equal(torch_of(a, GPU).segments, 0);
	assert_int_equal(torch_of(a, GPU).backend, GMT_TORCH_UNKNOWN);
	assert_int_equal(odd(a), 0);
}

static void events_missed(void **state)
{
	struct allocator *a = *state;

	segment(a, BASE, 20 * MiB);
	report(a, BASE, MiB);
	a->allocated -= MiB;          /* freed unseen ... */
	report(a, BASE, 2 * MiB);     /* ... as the totals say, and the address */
	assert_int_equal(records_anomalies(&a->r, GMT_ANOMALY_TORCH_MISSED), 2);
	assert_int_equal(torch_of(a, GPU).blocks, 1);
	assert_int_equal(torch_of(a, GPU).block_bytes, 2 * MiB);
	assert_true(torch_of(a, GPU).gap_known);
	a->allocated += 4 * MiB;      /* a block that nobody saw, and its end */
	report(a, BASE + 8 * MiB, -4 * (int64_t)MiB);
	assert_int_equal(records_anomalies(&a->r, GMT_ANOMALY_TORCH_MISSED), 4);
	assert_int_equal(torch_of(a, GPU).allocated.live, 2 * MiB);
}

static void an_event_that_comes_twice(void **state)
{
	struct allocator *a = *state;

	segment(a, BASE, 20 * MiB);
	for (int i = 0; i < 3; i++) {
		report(a, BASE, MiB);
		a->allocated -= MiB;
		report(a, BASE, MiB);
		report(a, BASE, -(int64_t)MiB);
		a->allocated += MiB;
		report(a, BASE, -(int64_t)MiB);
	}
	assert_int_equal(torch_of(a, GPU).allocs, 3);
	assert_int_equal(torch_of(a, GPU).frees, 3);
	assert_int_equal(odd(a), 0);
}

static void two_devices(void **state)
{
	struct allocator *a = *state;

	segment(a, BASE, 20 * MiB);
	report(a, BASE, MiB);
	records_block_report(&a->r, (struct gmt_fw_mem){
		.ptr = BASE + GiB, .delta = 512, .total_allocated = 512, .total_reserved = 2 * MiB,
		.device_type = GMT_FW_GPU, .device_index = 1,
	});
	assert_int_equal(torch_of(a, 1).allocated.live, MiB);
	assert_int_equal(torch_of(a, 0).allocated.live, 512);
	assert_int_equal(odd(a), 0);
}

static void the_end_of_a_process(void **state)
{
	struct allocator *a = *state;
	struct view_torch t;

	segment(a, BASE, 20 * MiB);
	report(a, BASE, 5 * MiB);
	records_exit(&a->r, 0);
	t = torch_of(a, GPU);
	assert_int_equal(t.allocated.live, 5 * MiB);
	assert_int_equal(t.reserved.live, 20 * MiB);
	assert_int_equal(t.blocks, 1);
	assert_true(t.gap_known);
	assert_int_equal(t.largest_free_gap, 15 * MiB);
}

static void another_program(void **state)
{
	struct allocator *a = *state;
	struct view_torch t;

	segment(a, BASE, 20 * MiB);
	report(a, BASE, 5 * MiB);
	records_exec(&a->r);
	t = torch_of(a, GPU);
	assert_int_equal(t.allocated.live, 0);
	assert_int_equal(t.allocated.peak, 5 * MiB);
	assert_int_equal(t.blocks, 0);
	a->allocated = a->reserved = 0;
	records_device(&a->r, 0, GPU);
	segment(a, BASE, 2 * MiB);
	report(a, BASE, 1 * MiB);
	t = torch_of(a, GPU);
	assert_int_equal(t.allocated.live, MiB);
	assert_int_equal(t.allocated.peak, 5 * MiB);
	assert_int_equal(odd(a), 0);
}

static void malformed(void **state)
{
	static const struct gmt_fw_mem bad[] = {
		{ .ptr = BASE, .delta = 0, .total_allocated = 512, .device_type = GMT_FW_GPU },
		{ .ptr = BASE, .delta = 1024, .total_allocated = 512, .device_type = GMT_FW_GPU },
		{ .ptr = BASE, .delta = INT64_MIN, .total_allocated = 512, .device_type = GMT_FW_GPU },
		{ .ptr = BASE, .delta = 512, .total_allocated = UINT64_MAX, .device_type = GMT_FW_GPU },
		{ .ptr = BASE, .delta = 512, .total_allocated = 512, .total_reserved = UINT64_MAX,
		  .device_type = GMT_FW_GPU },
		{ .ptr = BASE, .delta = 512, .total_allocated = 512, .device_type = GMT_FW_GPU,
		  .device_index = 255 },
	};
	struct allocator *a = *state;

	records_block_report(&a->r, (struct gmt_fw_mem){ .ptr = BASE, .delta = 512, .total_allocated = 512 });
	assert_int_equal(a->r.result, 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		records_block_report(&a->r, bad[i]);
		assert_int_equal(a->r.result, -EINVAL);
	}
	assert_false(torch_of(a, GPU).seen);
	report(a, UINT64_MAX - 100, 512); /* no place for a block: the totals count all the same */
	assert_int_equal(a->r.result, 0);
	assert_int_equal(torch_of(a, GPU).allocated.live, 512);
	assert_int_equal(torch_of(a, GPU).blocks, 0);
}

static void device_by_address_and_totals_by_sums(void **state)
{
	struct allocator *a = *state;
	struct view_torch t;

	CALL(&a->r, cuDevicePrimaryCtxRetain, 0x77, 0);
	CALL(&a->r, cuCtxSetCurrent, 0x77);
	segment(a, BASE, 16 * MiB);
	CALL(&a->r, cuMemHostAlloc, 0x5000000, MiB, 0);
	report_bare(a, BASE, 3 * MiB);
	report_bare(a, BASE + 3 * MiB, 2 * MiB);
	report_bare(a, 0x5000000, 512);                 /* host memory has blocks, too */
	report_bare(a, BASE, -3 * (int64_t)MiB);
	report_bare(a, BASE, -3 * (int64_t)MiB);        /* the file is probed twice */
	t = torch_of(a, GPU);
	assert_true(t.seen);
	assert_int_equal(t.allocated.live, 2 * MiB);
	assert_int_equal(t.allocated.peak, 5 * MiB);
	assert_int_equal(t.blocks, 1);
	assert_int_equal(t.reserved.live, 16 * MiB);
	assert_int_equal(t.segments, 1);
	assert_true(t.gap_known);
	assert_int_equal(t.largest_free_gap, 11 * MiB);
	report_bare(a, BASE + 3 * MiB, -2 * (int64_t)MiB);
	release(a, BASE, 16 * MiB);
	t = torch_of(a, GPU);
	assert_int_equal(t.allocated.live, 0);
	assert_int_equal(t.reserved.live, 0);
	assert_int_equal(odd(a), 0);
}

/* Of a recording that a later version made: like a record of an unknown kind. */
/* The memory below a block goes first: the block still says where its free counts. */
static void device_of_a_lost_block(void **state)
{
	struct allocator *a = *state;
	struct view_torch t;

	CALL(&a->r, cuDevicePrimaryCtxRetain, 0x77, 0);
	CALL(&a->r, cuCtxSetCurrent, 0x77);
	segment(a, BASE, 16 * MiB);
	report_bare(a, BASE, 3 * MiB);
	release(a, BASE, 16 * MiB);
	report_bare(a, BASE, -3 * (int64_t)MiB);
	segment(a, BASE, 16 * MiB);
	t = torch_of(a, GPU);
	assert_int_equal(t.allocated.live, 0);
	assert_int_equal(t.blocks, 0);
	assert_int_equal(t.frees, 1);
	assert_int_equal(t.segments, 0);
}

/* The stacks of a process that has ended have the purposes of the peak, though the program has freed all. */
static void purposes_at_the_peak(void **state)
{
	struct allocator *a = *state;
	uint64_t sizes[] = { 100, 700, 30 };
	struct view view;

	for (uint32_t i = 0; i < 3; i++) {     /* the second makes the last peak, when the first is gone */
		a->r.stack_id = 21 + i;
		report(a, BASE + i * MiB, (int64_t)sizes[i]);
		report(a, BASE + i * MiB, -(int64_t)sizes[i]);
	}
	records_exit(&a->r, 0);
	view_build(a->r.pipeline, NULL, &view);
	const struct view_training *t = &view.procs[0].rows[0].torch.training;

	assert_int_equal(t->purpose_count, 1);
	assert_int_equal(t->purposes[0].stack_id, 22);
	assert_int_equal(t->purposes[0].at_peak, 700);
	assert_int_equal(t->purposes[0].category, GMT_CATEGORY_UNKNOWN);
	assert_int_equal(t->categories[GMT_CATEGORY_UNKNOWN].at_peak, 700);   /* there was no training */
	view_free(&view);
}

static void a_framework_that_nobody_knows(void **state)
{
	struct gmt_fw_oom oom = { .size = MiB, .device_type = GMT_FW_GPU, .framework = 255 };
	struct gmt_fw_range range = { .what = GMT_RANGE_BACKWARD, .framework = GMT_FW_COUNT };
	struct gmt_fw_size size = { .ptr = BASE, .size = 1, .device_type = GMT_FW_GPU, .framework = GMT_FW_COUNT };
	struct gmt_framework loaded = { .flags = GMT_FRAMEWORK_ASYNC, .framework = GMT_FW_COUNT };
	struct allocator *a = *state;
	struct view_torch t;
	struct view view;

	records_block_report(&a->r, (struct gmt_fw_mem){
		.ptr = BASE, .delta = 512, .total_allocated = 512, .device_type = GMT_FW_GPU, .framework = GMT_FW_COUNT,
	});
	records_apply(&a->r, &oom, GMT_KIND_FW_OOM, sizeof(oom));
	records_apply(&a->r, &range, GMT_KIND_FW_RANGE, sizeof(range));
	records_apply(&a->r, &size, GMT_KIND_FW_SIZE, sizeof(size));
	records_apply(&a->r, &loaded, GMT_KIND_FRAMEWORK, sizeof(loaded));
	assert_int_equal(a->r.result, 0);
	t = torch_of(a, GPU);
	assert_false(t.seen);
	view_build(a->r.pipeline, NULL, &view);
	assert_int_equal(view.records_unknown, 5);
	view_free(&view);
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(totals_and_peaks), CASE(attached_late), CASE(the_largest_gap), CASE(expandable_segments),
		CASE(segments_given_back), CASE(reserved_that_does_not_agree), CASE(memory_taken_below_it),
		CASE(memory_that_is_not_the_drivers), CASE(events_missed), CASE(an_event_that_comes_twice),
		CASE(two_devices), CASE(the_end_of_a_process), CASE(another_program), CASE(malformed),
		CASE(device_by_address_and_totals_by_sums), CASE(device_of_a_lost_block), CASE(a_framework_that_nobody_knows),
		CASE(purposes_at_the_peak),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
