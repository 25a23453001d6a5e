/* SPDX-License-Identifier: BSD-2-Clause */
/* Marks: peaks and growth begin anew, everything else goes on. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "records.h"

#define A 0x7f0000000000ull
#define GPU 1   /* index of what the process calls device 0 */

static int scene(void **state)
{
	static struct records r;

	records_scene(&r, ALL_LAYERS);
	records_rm_scene(&r);
	*state = &r;
	return 0;
}

static void mark(struct records *r)
{
	static uint32_t number;
	struct gmt_mark rec = { .number = ++number };

	records_apply(r, &rec, GMT_KIND_MARK, sizeof(rec));
	assert_int_equal(r->result, 0);
}

/* Device memory, as the kernel gives it, in a segment of PyTorch's with one block of half its size. */
static uint32_t get(struct records *r, uint64_t at, uint64_t size, uint64_t *allocated)
{
	uint32_t object;

	r->cause = GMT_API_cuMemAlloc_v2;
	object = records_rm_memory(r, GPU, size);
	records_rm_map(r, GPU, at, size, object);
	CALL(r, cuMemAlloc_v2, at, size);
	*allocated += size / 2;
	records_block(r, at, size / 2, *allocated, 2 * *allocated);
	return object;
}

static void give(struct records *r, uint64_t at, uint64_t size, uint32_t object, uint64_t *allocated)
{
	*allocated -= size / 2;
	records_block(r, at, -(int64_t)(size / 2), *allocated, 2 * *allocated + size);
	RELEASE(r, cuMemFree_v2, at);
	records_rm_free(r, object);
}

static struct view_row row_of(const struct records *r)
{
	struct view_row row;

	assert_true(records_row(r, GPU, &row));
	return row;
}

static void each_peak_is(const struct records *r, uint64_t bytes, uint64_t ts_ns)
{
	struct view_class of_process = records_class(r, ANY_GPU, GMT_CLASS_DEVICE);
	struct view_row row = row_of(r);
	uint64_t of_categories = 0;
	const struct view_level *all[] = {
		&of_process.bytes, &row.by_class[GMT_CLASS_DEVICE].bytes, &row.attributed, &row.physical,
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		assert_int_equal(all[i]->peak, bytes);
		if (ts_ns)
			assert_int_equal(all[i]->peak_ts_ns, ts_ns);
	}
	assert_int_equal(row.torch.allocated.peak, bytes / 2);
	assert_int_equal(row.torch.reserved.peak, bytes);
	assert_int_equal(row.stacks.peak, bytes);
	assert_int_equal(row.torch.stacks.peak, bytes / 2);
	for (int i = 0; i < GMT_CATEGORY_COUNT; i++)
		of_categories += row.torch.training.categories[i].at_peak;
	assert_int_equal(of_categories, bytes / 2);
}

static void peaks_begin_anew(void **state)
{
	struct records *r = *state;
	uint64_t allocated = 0, marked_ns;
	uint32_t object;

	get(r, A, 20 * MiB, &allocated);
	object = get(r, A + GiB, 40 * MiB, &allocated);
	give(r, A + GiB, 40 * MiB, object, &allocated);
	each_peak_is(r, 60 * MiB, 0);
	marked_ns = r->ts_ns;
	mark(r);
	each_peak_is(r, 20 * MiB, marked_ns);
	get(r, A + GiB, 10 * MiB, &allocated);
	each_peak_is(r, 30 * MiB, 0);
	/* what is counted goes on */
	assert_int_equal(row_of(r).by_class[GMT_CLASS_DEVICE].allocs, 3);
	assert_int_equal(row_of(r).torch.allocs, 3);
	mark(r);
	each_peak_is(r, 30 * MiB, r->ts_ns - 1);
}

static const struct view_owner *only_owner(const struct view_stacks *s)
{
	assert_int_equal(s->owner_count, 1);
	return &s->owners[0];
}

static void growth_counts_from_it(void **state)
{
	struct records *r = *state;
	uint64_t allocated = 0, marked_ns;
	struct view view;

	r->stack_id = 7;
	get(r, A, 20 * MiB, &allocated);
	r->ts_ns += 100 * 1000000000ull;   /* no longer the beginning, from which all is growth */
	marked_ns = r->ts_ns;
	mark(r);
	get(r, A + GiB, 6 * MiB, &allocated);
	view_build(r->pipeline, NULL, &view);
	assert_int_equal(view.marks, 1);
	assert_int_equal(view.mark_ns, marked_ns);
	assert_int_equal(view.procs[0].window_ns, marked_ns);
	for (size_t i = 0; i < view.procs[0].row_count; i++) {
		const struct view_row *row = &view.procs[0].rows[i];

		assert_int_equal(row->stacks.since_ns, marked_ns);
		if (!row->torch.seen)
			continue;
		assert_int_equal(only_owner(&row->stacks)->held.grown, 6 * MiB);
		assert_int_equal(only_owner(&row->stacks)->held.at_peak, 26 * MiB);
		assert_int_equal(only_owner(&row->torch.stacks)->held.grown, 3 * MiB);
	}
	view_free(&view);
	/* years later it still does */
	r->ts_ns += 1000000 * 1000000000ull;
	get(r, A + 2 * GiB, 2 * MiB, &allocated);
	view_build(r->pipeline, NULL, &view);
	for (size_t i = 0; i < view.procs[0].row_count; i++)
		if (view.procs[0].rows[i].torch.seen)
			assert_int_equal(only_owner(&view.procs[0].rows[i].stacks)->held.grown, 8 * MiB);
	view_free(&view);
}

static void what_has_ended_stays(void **state)
{
	struct records *r = *state;
	uint64_t allocated = 0;
	uint32_t object = get(r, A, 20 * MiB, &allocated);
	struct view view;

	give(r, A, 20 * MiB, object, &allocated);
	records_exit(r, 0);
	mark(r);
	each_peak_is(r, 20 * MiB, 0);
	/* and who comes later has no other window than its own */
	r->tgid = r->tid = 200;
	records_attach(r, true);
	view_build(r->pipeline, NULL, &view);
	for (size_t i = 0; i < view.proc_count; i++)
		assert_int_equal(view.procs[i].window_ns, view.procs[i].attach_ts_ns);
	assert_int_equal(view.proc_count, 2);
	view_free(&view);
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, scene, records_end_scene)
	const struct CMUnitTest tests[] = {
		CASE(peaks_begin_anew), CASE(growth_counts_from_it), CASE(what_has_ended_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
