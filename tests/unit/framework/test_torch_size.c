/* SPDX-License-Identifier: BSD-2-Clause */
/* What PyTorch's blocks were asked for: sums over live blocks, whatever comes and goes; and snapshots. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "core/snapshot/snapshot.h"
#include "records.h"

#define BASE 0x7f0000000000ull
#define GPU 1   /* index of what the process calls device 0 */

static uint64_t allocated;

static int setup(void **state)
{
	static struct records r;

	allocated = 0;
	records_scene_history(&r, API_LAYER, 100);
	CALL(&r, cuMemAlloc_v2, BASE, 20 * MiB);
	*state = &r;
	return 0;
}

static int teardown(void **state)
{
	records_fini(*state);
	return 0;
}

static void block(struct records *r, uint64_t ptr, int64_t delta)
{
	records_block(r, ptr, delta, allocated += delta, 20 * MiB);
}

static void told(struct records *r, uint64_t ptr, uint64_t size, uint8_t device)
{
	struct gmt_fw_size rec = {
		.ptr = ptr, .size = size, .stream = 5, .device_type = GMT_FW_GPU, .device_index = device,
	};

	records_apply(r, &rec, GMT_KIND_FW_SIZE, sizeof(rec));
}

static void sums_are(const struct records *r, uint64_t count, uint64_t bytes, uint64_t asked)
{
	struct view_row row;

	assert_true(records_row(r, GPU, &row));
	assert_int_equal(row.torch.sized, count);
	assert_int_equal(row.torch.sized_bytes, bytes);
	assert_int_equal(row.torch.asked_bytes, asked);
}

static void live_blocks(void **state)
{
	struct records *r = *state;

	block(r, BASE, 1024);
	sums_are(r, 0, 0, 0);
	told(r, BASE, 600, 0);
	sums_are(r, 1, 1024, 600);
	told(r, BASE, 600, 0);                 /* the file is probed twice */
	sums_are(r, 1, 1024, 600);
	block(r, BASE + MiB, 2 * MiB);
	told(r, BASE + MiB, 2 * MiB, 0);
	block(r, BASE + 4 * MiB, 512);         /* nobody told */
	sums_are(r, 2, 1024 + 2 * MiB, 600 + 2 * MiB);
	block(r, BASE, -1024);
	sums_are(r, 1, 2 * MiB, 2 * MiB);
	block(r, BASE, 512);                   /* another one at its address */
	sums_are(r, 1, 2 * MiB, 2 * MiB);
	told(r, BASE, 1, 0);
	sums_are(r, 2, 512 + 2 * MiB, 1 + 2 * MiB);
	block(r, BASE, 4 * MiB);               /* the ends of both were missed */
	sums_are(r, 0, 0, 0);
}

static void what_fits_nothing(void **state)
{
	struct records *r = *state;

	told(r, BASE, 600, 0);                 /* before any block */
	assert_int_equal(r->result, 0);
	block(r, BASE, 1024);
	told(r, BASE, 1025, 0);                /* more than the block */
	told(r, BASE, 600, 1);                 /* of another device */
	told(r, BASE + 512, 100, 0);           /* inside it */
	assert_int_equal(r->result, 0);
	sums_are(r, 0, 0, 0);
	told(r, BASE, UINT64_MAX, 0);
	assert_int_equal(r->result, -EINVAL);
	told(r, BASE, 0, 0);
	sums_are(r, 1, 1024, 0);
}

static void another_program(void **state)
{
	struct records *r = *state;

	block(r, BASE, 1024);
	told(r, BASE, 600, 0);
	records_exec(r);
	allocated = 0;
	CALL(r, cuMemAlloc_v2, BASE, 20 * MiB);
	block(r, BASE, 2048);
	sums_are(r, 0, 0, 0);
	told(r, BASE, 2000, 0);
	sums_are(r, 1, 2048, 2000);
}

static void snapshots(void **state)
{
	struct records *r = *state;
	struct snapshot s;

	block(r, BASE, 1024);
	told(r, BASE, 600, 0);
	block(r, BASE + 1024, 512);
	for (int is_over = 0; is_over < 2; is_over++) {
		snapshot_build(r->history, 0, &s);
		assert_int_equal(s.segment_count, 1);
		assert_int_equal(s.segments[0].active, 1536);
		assert_int_equal(s.segments[0].asked, 600 + 512);
		assert_int_equal(s.blocks[0].size, 1024);
		assert_int_equal(s.blocks[0].asked, 600);
		assert_int_equal(s.blocks[1].asked, 512);
		assert_int_equal(s.blocks[2].asked, 0);
		snapshot_free(&s);
		if (!is_over)
			records_exit(r, 0);
	}
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(live_blocks), CASE(what_fits_nothing), CASE(another_program), CASE(snapshots),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
