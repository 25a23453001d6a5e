/* SPDX-License-Identifier: BSD-2-Clause */
/* The unused cache: what tensors have not used in the recent time, and not what is free between two iterations. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "core/framework/recent.h"
#include "core/view/finding.h"
#include "core/view/view.h"
#include "records.h"

#define BASE 0x7f0000000000ull
#define GPU 1   /* index of what the process calls device 0 */
#define MS 1000000ull
#define S (1000 * MS)

struct allocator {
	struct records r;
	uint64_t allocated, reserved;
};

static void segment(struct allocator *a, uint64_t ptr, uint64_t size)
{
	CALL(&a->r, cuMemAlloc_v2, ptr, size);
	a->reserved += size;
}

static void block(struct allocator *a, uint64_t ptr, int64_t delta)
{
	records_block(&a->r, ptr, delta, a->allocated += delta, a->reserved);
}

/* Time goes on, up to a record that says nothing of blocks. */
static void pass(struct allocator *a, uint64_t ns)
{
	a->r.ts_ns += ns;
	records_device(&a->r, 0, GPU);
}

/* The bytes and the part of the finding about the cache; 0: there is none. */
static uint64_t unused(const struct allocator *a, uint64_t *part)
{
	uint64_t bytes = 0;
	struct view view;

	view_build(a->r.pipeline, NULL, &view);
	for (size_t i = 0; i < view.finding_count; i++) {
		if (view.findings[i].kind != FINDING_OF_CACHED)
			continue;
		assert_int_equal(bytes, 0);
		bytes = view.findings[i].bytes;
		*part = view.findings[i].part;
	}
	view_free(&view);
	return bytes;
}

static void check(const struct allocator *a, uint64_t bytes, uint64_t part)
{
	uint64_t of = 0;

	assert_int_equal(unused(a, &of), bytes);
	assert_int_equal(of, bytes ? part : 0);
}

static int setup(void **state)
{
	static struct allocator a;

	memset(&a, 0, sizeof(a));
	records_scene(&a.r, API_LAYER);
	a.r.ts_ns = 3 * S;
	*state = &a;
	return 0;
}

static int teardown(void **state)
{
	records_fini(&((struct allocator *)*state)->r);
	return 0;
}

/* ---- what a view finds ---- */

/* Iterations of any length below the recent time: at each moment, nearly all may be free, and nothing is unused. */
static void iterations_that_reach_the_reserve(void **state)
{
	static const uint64_t lengths_ms[] = { 10, 330, 2000, 9900 };
	struct allocator *a = *state;

	segment(a, BASE, 6 * GiB);
	block(a, BASE, GiB / 2);
	for (size_t i = 0; i < sizeof(lengths_ms) / sizeof(lengths_ms[0]); i++) {
		uint64_t third = lengths_ms[i] * MS / 3;

		for (uint64_t ns = 0; ns < 41 * S; ns += 3 * third) {
			block(a, BASE + GiB, 5 * GiB);
			pass(a, third);
			check(a, 0, 0);
			block(a, BASE + GiB, -5 * (int64_t)GiB);
			pass(a, third);
			check(a, 0, 0);
			pass(a, third);
			check(a, 0, 0);
		}
	}
	assert_int_equal(a->allocated, GiB / 2);
}

static void a_cache_that_no_tensor_uses(void **state)
{
	struct allocator *a = *state;

	segment(a, BASE, 6 * GiB);
	block(a, BASE, GiB);
	block(a, BASE + GiB, 5 * GiB);
	pass(a, 30 * S);
	check(a, 0, 0);
	block(a, BASE + GiB, -5 * (int64_t)GiB);
	pass(a, 9900 * MS);
	check(a, 0, 0);
	pass(a, 10100 * MS);              /* without an event */
	check(a, 5 * GiB, 6 * GiB);
	for (int i = 0; i < 300; i++) {   /* small iterations beside the cache */
		block(a, BASE + 2 * GiB, GiB);
		pass(a, 50 * MS);
		block(a, BASE + 2 * GiB, -(int64_t)GiB);
		pass(a, 50 * MS);
		check(a, 4 * GiB, 6 * GiB);
	}
	block(a, BASE + GiB, 3 * GiB);    /* a large one, once */
	block(a, BASE + GiB, -3 * (int64_t)GiB);
	check(a, 0, 0);
	pass(a, 20 * S);
	check(a, 5 * GiB, 6 * GiB);
	RELEASE(&a->r, cuMemFree_v2, BASE + 10 * GiB);
	a->reserved -= 5 * GiB;           /* torch.cuda.empty_cache() */
	block(a, BASE + GiB / 2, 512);
	check(a, 0, 0);
}

/* Nobody knows what tensors used before the first event. */
static void attached_between_two_iterations(void **state)
{
	struct allocator *a = *state;

	a->r.tgid = a->r.tid = 200;
	records_attach(&a->r, false);
	records_device(&a->r, 0, GPU);
	pass(a, 30 * S);
	a->allocated = GiB;
	a->reserved = 6 * GiB;
	block(a, BASE, 512);
	block(a, BASE, -512);
	check(a, 0, 0);
	pass(a, 9900 * MS);
	check(a, 0, 0);
	pass(a, 100 * MS);
	check(a, 5 * GiB - 512, 6 * GiB);
}

/* What was allocated before an event whose predecessors were missed counts, too. */
static void a_peak_that_was_missed(void **state)
{
	struct allocator *a = *state;

	segment(a, BASE, 6 * GiB);
	block(a, BASE, GiB);
	pass(a, 30 * S);
	check(a, 5 * GiB, 6 * GiB);
	a->allocated += 5 * GiB;
	block(a, BASE + GiB, -5 * (int64_t)GiB);
	check(a, 0, 0);
}

static void another_program_begins_anew(void **state)
{
	struct allocator *a = *state;

	segment(a, BASE, 6 * GiB);
	block(a, BASE, 6 * GiB);
	pass(a, S);
	records_exec(&a->r);
	a->allocated = a->reserved = 0;
	records_device(&a->r, 0, GPU);
	check(a, 0, 0);
	segment(a, BASE, 4 * GiB);
	block(a, BASE, GiB);
	pass(a, 9 * S);
	check(a, 0, 0);
	pass(a, S);
	check(a, 3 * GiB, 4 * GiB);
}

/* ---- the peak ---- */

#define VALUES 4000

/* The greatest value that held at some time from a moment until now. */
static uint64_t greatest_since(const uint64_t *bytes, const uint64_t *times, size_t count, uint64_t since_ns)
{
	uint64_t greatest = 0;

	for (size_t i = 0; i < count; i++)
		if ((i + 1 == count || times[i + 1] > since_ns) && bytes[i] > greatest)
			greatest = bytes[i];
	return greatest;
}

/* At any moment the peak is that of the last 10 s at least, and of the last 20 s at most. */
static void the_peak_is_of_the_recent_time(void **state)
{
	static uint64_t bytes[VALUES], times[VALUES];
	uint64_t rng = 88172645463325252ull, now = 7 * S;
	struct recent r = { 0 };

	(void)state;
	assert_int_equal(recent_peak(&r, now), 0);
	assert_false(recent_is_known(&r, now));
	for (size_t i = 0; i < VALUES; i++) {
		uint64_t later;

		rng ^= rng << 13, rng ^= rng >> 7, rng ^= rng << 17;
		now += rng >> 40 & 7 ? (rng >> 20) % (2 * S) : (rng >> 20) % (45 * S);
		times[i] = now;
		bytes[i] = rng % 1000;
		recent_set(&r, bytes[i], now);
		later = now + (rng >> 8) % (25 * S);
		assert_true(recent_peak(&r, later) >= greatest_since(bytes, times, i + 1, later - 10 * S));
		assert_true(recent_peak(&r, later) <= greatest_since(bytes, times, i + 1,
								     later > 20 * S ? later - 20 * S : 0));
		assert_int_equal(recent_is_known(&r, later), later - times[0] >= 10 * S);
	}
	recent_set(&r, 5000, now - 30 * S);     /* records of several processors may be out of order */
	assert_int_equal(recent_peak(&r, now), 5000);
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(iterations_that_reach_the_reserve), CASE(a_cache_that_no_tensor_uses),
		CASE(attached_between_two_iterations), CASE(a_peak_that_was_missed), CASE(another_program_begins_anew),
		cmocka_unit_test(the_peak_is_of_the_recent_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
