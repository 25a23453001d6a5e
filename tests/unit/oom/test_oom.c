// SPDX-License-Identifier: BSD-2-Clause
/* What becomes of requests that could not be met: each framework's way of trying again, and the end. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "oom_next.h"

#define SEGMENT (20 * MiB)

static void is(struct gmt_oom rec, enum gmt_oom_outcome outcome, enum gmt_oom_sign sign, uint32_t failures)
{
	assert_true(rec.number);
	assert_int_equal(rec.outcome, outcome);
	assert_int_equal(rec.sign, sign);
	assert_int_equal(rec.failures, failures);
}

static void block(struct records *r, uint64_t ptr, int64_t delta)
{
	records_block(r, ptr, delta, (uint64_t)delta, (uint64_t)delta);
}

/* ---- plain CUDA ---- */

static void caught_and_on_with_something_else(void **state)
{
	struct records *r = *state;
	struct gmt_oom rec;

	r->stack_id = 7;
	FAIL(r, cuMemAlloc_v2, OOM, 0, 2 * GiB);
	none_left(r);
	CALL(r, cuMemAlloc_v2, A, MiB);
	rec = next(r);
	is(rec, GMT_OOM_RAISED, GMT_OOM_BY_WENT_ON, 1);
	assert_int_equal(rec.asked_bytes, 2 * GiB);
	assert_int_equal(rec.api, GMT_API_cuMemAlloc_v2);
	assert_int_equal(rec.class_id, GMT_CLASS_DEVICE);
	assert_int_equal(rec.stack_id, 7);
	assert_true(rec.hdr.tgid == 100 && rec.hdr.tid == 100);
	uint8_t uuid[GMT_UUID_BYTES];

	records_uuid(1, uuid);
	assert_memory_equal(rec.uuid, uuid, sizeof(uuid));
	wait(r, 60 * S);
	records_exit(r, 256);
	none_left(r);      /* exactly one */
}

static void caught_and_silence(void **state)
{
	struct records *r = *state;

	FAIL(r, cuMemAlloc_v2, OOM, 0, 2 * GiB);
	wait(r, OOM_SILENCE_NS / 2);
	none_left(r);
	wait(r, OOM_SILENCE_NS);
	is(next(r), GMT_OOM_RAISED, GMT_OOM_BY_SILENCE, 1);
	wait(r, OOM_FATAL_NS);
	records_exit(r, 256);
	none_left(r);
}

static void frees_keep_it_open(void **state)
{
	struct records *r = *state;

	for (int i = 0; i < 4; i++)
		CALL(r, cuMemAlloc_v2, A + i * GiB, GiB);
	FAIL(r, cuMemAlloc_v2, OOM, 0, 2 * GiB);
	for (int i = 0; i < 3; i++) {
		r->ts_ns += OOM_SILENCE_NS - S;   /* each waits for the GPU */
		RELEASE(r, cuMemFree_v2, A + i * GiB);
	}
	CALL(r, cuMemAlloc_v2, A, 2 * GiB);
	struct gmt_oom rec = next(r);

	is(rec, GMT_OOM_RETRY, GMT_OOM_BY_GIVEN, 1);
	assert_int_equal(rec.freed_bytes, 3 * GiB);
	assert_int_equal(rec.given_bytes, 2 * GiB);
	none_left(r);
}

static void killed_soon_after(void **state)
{
	struct records *r = *state;
	struct gmt_oom rec;

	FAIL(r, cuMemAlloc_v2, OOM, 0, 2 * GiB);
	r->ts_ns += S;
	records_exit(r, SIGKILL);
	rec = next(r);
	is(rec, GMT_OOM_FATAL, GMT_OOM_BY_EXIT, 1);
	assert_true(rec.flags & GMT_OOM_EXITED);
	assert_int_equal(rec.exit_code, SIGKILL);
	none_left(r);
}

static void silence_then_the_end(void **state)
{
	struct records *r = *state;
	struct gmt_oom first, second;

	FAIL(r, cuMemAlloc_v2, OOM, 0, 2 * GiB);
	wait(r, OOM_SILENCE_NS);
	first = next(r);
	is(first, GMT_OOM_RAISED, GMT_OOM_BY_SILENCE, 1);
	r->ts_ns += S;
	records_exit(r, 1 << 8);
	second = next(r);
	is(second, GMT_OOM_FATAL, GMT_OOM_BY_EXIT, 1);
	assert_int_equal(first.number, second.number);
	none_left(r);
}

static void an_end_without_error(void **state)
{
	struct records *r = *state;

	FAIL(r, cuMemAlloc_v2, OOM, 0, 2 * GiB);
	records_exit(r, 0);
	is(next(r), GMT_OOM_RAISED, GMT_OOM_BY_EXIT, 1);
	none_left(r);
}

static void other_errors_are_none(void **state)
{
	struct records *r = *state;

	FAIL(r, cuMemAlloc_v2, 1, 0, 2 * GiB);
	FAIL(r, cuMemAlloc_v2, 700, 0, 2 * GiB);
	records_exit(r, SIGKILL);
	none_left(r);
}

static void threads_are_kept_apart(void **state)
{
	struct records *r = *state;

	FAIL(r, cuMemAlloc_v2, OOM, 0, 2 * GiB);
	r->tid = 101;
	CALL(r, cuMemAlloc_v2, A, 2 * GiB);        /* another's success */
	none_left(r);
	FAIL(r, cuMemAlloc_v2, OOM, 0, 3 * GiB);
	r->tid = 100;
	CALL(r, cuMemAlloc_v2, A + 4 * GiB, 2 * GiB);
	is(next(r), GMT_OOM_RETRY, GMT_OOM_BY_GIVEN, 1);
	none_left(r);
	records_exit(r, SIGSEGV);
	is(next(r), GMT_OOM_FATAL, GMT_OOM_BY_EXIT, 1);
	none_left(r);
}

static void another_kind_of_memory_is_another_request(void **state)
{
	struct records *r = *state;

	FAIL(r, cuMemAlloc_v2, OOM, 0, 2 * GiB);
	CALL(r, cuMemHostAlloc, A, 2 * GiB, 0);    /* says nothing about the first */
	none_left(r);
	FAIL(r, cuMemHostAlloc, OOM, 0, GiB, 0);
	is(next(r), GMT_OOM_RAISED, GMT_OOM_BY_WENT_ON, 1);
	records_exit(r, 0);
	struct gmt_oom rec = next(r);

	is(rec, GMT_OOM_RAISED, GMT_OOM_BY_EXIT, 1);
	assert_int_equal(rec.class_id, GMT_CLASS_PINNED);
}

static void another_gpu_is_another_request(void **state)
{
	struct records *r = *state;

	FAIL(r, cuMemAlloc_v2, OOM, 0, 2 * GiB);
	CALL(r, cuDevicePrimaryCtxRetain, 0xc1, 1);
	CALL(r, cuCtxSetCurrent, 0xc1);
	CALL(r, cuMemAlloc_v2, A, 2 * GiB);
	none_left(r);
	wait(r, OOM_SILENCE_NS);
	is(next(r), GMT_OOM_RAISED, GMT_OOM_BY_SILENCE, 1);
}

static void the_stream_ends(void **state)
{
	struct records *r = *state;

	FAIL(r, cuMemAlloc_v2, OOM, 0, 2 * GiB);
	ooms_finish(r->ooms);
	is(next(r), GMT_OOM_OPEN, GMT_OOM_BY_NOTHING, 1);
	none_left(r);
}

static void a_context(void **state)
{
	struct records *r = *state;
	struct gmt_oom rec;

	FAIL(r, cuDevicePrimaryCtxRetain, OOM, 0, 1);
	none_left(r);
	CALL(r, cuDevicePrimaryCtxRetain, 0xc1, 1);
	rec = next(r);
	is(rec, GMT_OOM_RETRY, GMT_OOM_BY_GIVEN, 1);
	assert_int_equal(rec.class_id, GMT_OOM_CLASS_NONE);
	FAIL(r, cuCtxCreate_v4, OOM, 0, 0);
	records_exit(r, 256);
	is(next(r), GMT_OOM_FATAL, GMT_OOM_BY_EXIT, 1);
	none_left(r);
}

/* ---- PyTorch ---- */

static void torch_retry(struct records *r)
{
	FAIL(r, cuMemAlloc_v2, OOM, 0, 2 * GiB);
	r->ts_ns += 5 * MS;
	RELEASE(r, cuMemFree_v2, A);
	r->ts_ns += 30 * MS;
}

static void a_retry_is_a_retry(void **state)
{
	struct records *r = *state;

	CALL(r, cuMemAlloc_v2, A, 3 * GiB);
	torch_retry(r);
	CALL(r, cuMemAlloc_v2, A, 2 * GiB);
	block(r, A, 2 * GiB);
	struct gmt_oom rec = next(r);

	is(rec, GMT_OOM_RETRY, GMT_OOM_BY_GIVEN, 1);
	assert_int_equal(rec.freed_bytes, 3 * GiB);
	assert_true(rec.decided_ns - rec.first_ns >= 35 * MS);
	wait(r, S);
	records_exit(r, SIGKILL);
	none_left(r);
}

static void raised_and_caught_is_one(void **state)
{
	struct records *r = *state;

	CALL(r, cuMemAlloc_v2, A, 3 * GiB);
	torch_retry(r);
	FAIL(r, cuMemAlloc_v2, OOM, 0, 2 * GiB);
	CALL(r, cuMemGetInfo_v2, 5 * GiB, 80 * GiB);
	raised(r, 2 * GiB - 512);
	struct gmt_oom rec = next(r);

	is(rec, GMT_OOM_RAISED, GMT_OOM_BY_REPORTED, 2);
	assert_int_equal(rec.framework_bytes, 2 * GiB - 512);
	assert_int_equal(rec.asked_bytes, 2 * GiB);
	assert_true(rec.flags & GMT_OOM_HAS_FREE);
	assert_int_equal(rec.free_bytes, 5 * GiB);
	block(r, A + 4 * GiB, 512);            /* it was caught */
	wait(r, S);
	CALL(r, cuMemAlloc_v2, A, 2 * GiB);    /* and asks anew: no retry */
	records_exit(r, 256);
	none_left(r);
}

static void raised_and_died_of(void **state)
{
	struct records *r = *state;

	FAIL(r, cuMemAlloc_v2, OOM, 0, 2 * GiB);
	FAIL(r, cuMemAlloc_v2, OOM, 0, 2 * GiB);
	raised(r, 2 * GiB);
	is(next(r), GMT_OOM_RAISED, GMT_OOM_BY_REPORTED, 2);
	block(r, A, -512);                     /* what the stack of the exception held */
	wait(r, 2 * S);
	records_exit(r, 256);
	is(next(r), GMT_OOM_FATAL, GMT_OOM_BY_EXIT, 2);
	none_left(r);
}

static void another_thread_goes_on(void **state)
{
	struct records *r = *state;

	r->tid = 200;   /* pt_autograd_0 */
	FAIL(r, cuMemAlloc_v2, OOM, 0, 2 * GiB);
	raised(r, 2 * GiB);
	is(next(r), GMT_OOM_RAISED, GMT_OOM_BY_REPORTED, 1);
	r->tid = 100;
	wait(r, 2 * S);
	block(r, A, MiB);
	records_exit(r, SIGTERM);
	none_left(r);
}

static void each_raised_one_counts(void **state)
{
	struct records *r = *state;

	for (int i = 0; i < 3; i++) {
		FAIL(r, cuMemAlloc_v2, OOM, 0, 2 * GiB);
		raised(r, 2 * GiB);
		raised(r, 2 * GiB);   /* the library is probed twice */
		r->ts_ns += MS / 2;   /* cuDNN tries its next algorithm */
		is(next(r), GMT_OOM_RAISED, GMT_OOM_BY_REPORTED, 1);
		none_left(r);
	}
}

static void a_limit_of_its_own(void **state)
{
	struct records *r = *state;

	CALL(r, cuMemAlloc_v2, A, 3 * GiB);
	raised(r, 2 * GiB);
	struct gmt_oom rec = next(r);

	is(rec, GMT_OOM_RAISED, GMT_OOM_BY_REPORTED, 0);
	assert_int_equal(rec.api, 0);
	assert_int_equal(rec.asked_bytes, 2 * GiB);
}

/* Pieces of an expandable segment until one fails; those that it got go again. */
static void create(struct records *r, int get, bool fails)
{
	for (int i = 0; i < get; i++)
		CALL(r, cuMemCreate, 100 + i, SEGMENT, 1, 0, 1);
	if (!fails)
		return;
	FAIL(r, cuMemCreate, OOM, 0, SEGMENT, 1, 0, 1);
	for (int i = 0; i < get; i++)
		RELEASE(r, cuMemRelease, 100 + i);
}

static void expandable_segments_retry(void **state)
{
	struct records *r = *state;

	create(r, 1000, true);
	none_left(r);
	RELEASE(r, cuMemFree_v2, A);
	r->ts_ns += 30 * MS;
	create(r, 1500, true);                 /* got further, still in vain */
	none_left(r);
	r->ts_ns += 30 * MS;
	create(r, 2000, false);
	none_left(r);                          /* handles alone are nothing */
	for (int i = 0; i < 2000; i++)
		CALL(r, cuMemMap, A + i * SEGMENT, SEGMENT, 0, 100 + i);
	struct gmt_oom rec = next(r);

	is(rec, GMT_OOM_RETRY, GMT_OOM_BY_GIVEN, 2);
	assert_int_equal(rec.asked_bytes, 1501 * SEGMENT);
	assert_int_equal(rec.pieces, 1500);
	assert_int_equal(rec.given_bytes, 2000 * SEGMENT);
	none_left(r);
}

static void expandable_segments_raised(void **state)
{
	struct records *r = *state;

	create(r, 30, true);
	r->ts_ns += 30 * MS;
	create(r, 30, true);
	raised(r, 50 * SEGMENT);
	struct gmt_oom rec = next(r);

	is(rec, GMT_OOM_RAISED, GMT_OOM_BY_REPORTED, 2);
	assert_int_equal(rec.asked_bytes, 31 * SEGMENT);
	assert_int_equal(rec.framework_bytes, 50 * SEGMENT);
	none_left(r);
}

static void fewer_pieces_are_something_else(void **state)
{
	struct records *r = *state;

	create(r, 30, true);
	create(r, 2, false);
	CALL(r, cuMemMap, A, SEGMENT, 0, 100);
	is(next(r), GMT_OOM_RAISED, GMT_OOM_BY_WENT_ON, 1);
	CALL(r, cuMemMap, A + SEGMENT, SEGMENT, 0, 101);
	none_left(r);
}

/* ---- others ---- */

static void cupy_tries_three_times(void **state)
{
	struct records *r = *state;

	for (int i = 0; i < 3; i++) {
		FAIL(r, cuMemAlloc_v2, OOM, 0, GiB);
		r->ts_ns += 100 * MS;
	}
	records_exit(r, 256);
	is(next(r), GMT_OOM_FATAL, GMT_OOM_BY_EXIT, 3);
	none_left(r);
}

static void cupy_third_try_works(void **state)
{
	struct records *r = *state;

	for (int i = 0; i < 2; i++) {
		FAIL(r, cuMemAlloc_v2, OOM, 0, GiB);
		r->ts_ns += 100 * MS;
	}
	CALL(r, cuMemAlloc_v2, A, GiB);
	is(next(r), GMT_OOM_RETRY, GMT_OOM_BY_GIVEN, 2);
	none_left(r);
}

static void xla_asks_for_less_and_less(void **state)
{
	struct records *r = *state;
	uint64_t size = 60 * GiB;

	for (int i = 0; i < 5; i++) {
		FAIL(r, cuMemAlloc_v2, OOM, 0, size);
		size = size / 10 * 9;
	}
	CALL(r, cuMemAlloc_v2, A, size);
	struct gmt_oom rec = next(r);

	is(rec, GMT_OOM_RETRY, GMT_OOM_BY_SMALLER, 5);
	assert_int_equal(rec.asked_bytes, 60 * GiB);
	assert_int_equal(rec.given_bytes, size);
	none_left(r);
}

static void a_search_by_halves(void **state)
{
	struct records *r = *state;
	uint64_t size = 16 * GiB;

	r->stack_id = 5;
	for (int i = 0; i < 3; i++, size /= 2)
		FAIL(r, cuMemAllocAsync, OOM, 0, size, 0);
	CALL(r, cuMemAllocAsync, A, size, 0);
	is(next(r), GMT_OOM_RETRY, GMT_OOM_BY_SMALLER, 3);
	none_left(r);
}

static void more_than_before_is_a_new_request(void **state)
{
	struct records *r = *state;

	FAIL(r, cuMemAlloc_v2, OOM, 0, GiB);
	FAIL(r, cuMemAlloc_v2, OOM, 0, 2 * GiB);
	is(next(r), GMT_OOM_RAISED, GMT_OOM_BY_WENT_ON, 1);
	records_exit(r, 256);
	is(next(r), GMT_OOM_FATAL, GMT_OOM_BY_EXIT, 1);
	none_left(r);
}

static void a_slow_retry_is_told_late(void **state)
{
	struct records *r = *state;

	FAIL(r, cuMemAlloc_v2, OOM, 0, GiB);
	wait(r, OOM_SILENCE_NS + S);
	struct gmt_oom first = next(r);

	is(first, GMT_OOM_RAISED, GMT_OOM_BY_SILENCE, 1);
	FAIL(r, cuMemAlloc_v2, OOM, 0, GiB);
	none_left(r);
	CALL(r, cuMemAlloc_v2, A, GiB);
	struct gmt_oom second = next(r);

	is(second, GMT_OOM_RETRY, GMT_OOM_BY_GIVEN, 2);
	assert_int_equal(first.number, second.number);
	none_left(r);
}

static void exec_is_no_death(void **state)
{
	struct records *r = *state;

	FAIL(r, cuMemAlloc_v2, OOM, 0, GiB);
	records_exec(r);
	is(next(r), GMT_OOM_RAISED, GMT_OOM_BY_EXIT, 1);
	none_left(r);
}

static void failures_without_end_are_bounded(void **state)
{
	struct records *r = *state;
	uint32_t seen = 0;

	for (uint32_t i = 0; i < 2000; i++) {
		r->tid = 1000 + i;
		FAIL(r, cuMemAlloc_v2, OOM, 0, GiB);
	}
	records_exit(r, SIGABRT);
	while (next(r).number)
		seen++;
	assert_int_equal(seen, OOM_QUEUE);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup_calls, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(caught_and_on_with_something_else),
		TEST(caught_and_silence),
		TEST(frees_keep_it_open),
		TEST(killed_soon_after),
		TEST(silence_then_the_end),
		TEST(an_end_without_error),
		TEST(other_errors_are_none),
		TEST(threads_are_kept_apart),
		TEST(another_kind_of_memory_is_another_request),
		TEST(another_gpu_is_another_request),
		TEST(the_stream_ends),
		TEST(a_context),
		TEST(a_retry_is_a_retry),
		TEST(raised_and_caught_is_one),
		TEST(raised_and_died_of),
		TEST(another_thread_goes_on),
		TEST(each_raised_one_counts),
		TEST(a_limit_of_its_own),
		TEST(expandable_segments_retry),
		TEST(expandable_segments_raised),
		TEST(fewer_pieces_are_something_else),
		TEST(cupy_tries_three_times),
		TEST(cupy_third_try_works),
		TEST(xla_asks_for_less_and_less),
		TEST(a_search_by_halves),
		TEST(more_than_before_is_a_new_request),
		TEST(a_slow_retry_is_told_late),
		TEST(exec_is_no_death),
		TEST(failures_without_end_are_bounded),
	};

	return cmocka_run_group_tests_name("oom", tests, NULL, NULL);
}
