// SPDX-License-Identifier: BSD-2-Clause
/* What is left of the memory from before a late attach, as NVML's samples tell. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "records.h"

static int scene(void **state)
{
	static struct records r;

	records_scene(&r, ALL_LAYERS);
	records_rm_scene(&r);
	*state = &r;
	return 0;
}

static struct view_row row_of(const struct records *r)
{
	struct view_row row;

	assert_true(records_row(r, 1, &row));
	return row;
}

/* The first sample after a free may have been read before the kernel gave all memory back, or while memory that the
 * ledger has was not there yet. */
static void two_samples_settle_what_was_freed(void **state)
{
	struct records *r = *state;

	r->tgid = 200;
	records_attach(r, false);
	records_nvml(r, 1, GMT_NVML_BASELINE, GiB);
	records_nvml(r, 1, GMT_NVML_BASELINE, GiB);
	records_rm_free(r, 0x5c000777);
	records_nvml(r, 1, GMT_NVML_SAMPLE, GiB - 20 * MiB);
	records_nvml(r, 1, GMT_NVML_SAMPLE, GiB - 100 * MiB);
	assert_int_equal(row_of(r).before_attach, GiB - 100 * MiB);
	assert_int_equal(row_of(r).residual, 0);
	records_nvml(r, 1, GMT_NVML_SAMPLE, GiB - 60 * MiB);
	assert_int_equal(row_of(r).before_attach, GiB - 60 * MiB);
	records_nvml(r, 1, GMT_NVML_SAMPLE, GiB - 60 * MiB);
	records_nvml(r, 1, GMT_NVML_SAMPLE, GiB - 80 * MiB); /* nothing was freed since */
	assert_int_equal(row_of(r).before_attach, GiB - 60 * MiB);
	assert_int_equal(row_of(r).residual, -20 * (int64_t)MiB);
	records_rm_free(r, 0x5c000778);
	records_nvml(r, 1, GMT_NVML_SAMPLE, GiB);            /* never more than there was */
	assert_int_equal(row_of(r).before_attach, GiB - 60 * MiB);
	assert_int_equal(row_of(r).residual, 60 * MiB);
	records_nvml(r, 1, GMT_NVML_SAMPLE, GiB - 90 * MiB);
	records_exec(r);                                     /* it had nothing before */
	records_nvml(r, 1, GMT_NVML_SAMPLE, GiB);
	assert_int_equal(row_of(r).before_attach, 0);
}

static void without_such_a_free_the_difference_is_residual(void **state)
{
	struct records *r = *state;

	r->tgid = 200;
	records_attach(r, false);
	records_nvml(r, 1, GMT_NVML_BASELINE, GiB);
	records_nvml(r, 1, GMT_NVML_SAMPLE, GiB - 100 * MiB);
	struct view_row row = row_of(r);

	assert_int_equal(row.before_attach, GiB);
	assert_int_equal(row.residual, -100 * (int64_t)MiB);
	assert_false(row.before_inferred);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, scene, records_end_scene)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(two_samples_settle_what_was_freed),
		TEST(without_such_a_free_the_difference_is_residual),
	};

	return cmocka_run_group_tests_name("before", tests, NULL, NULL);
}
