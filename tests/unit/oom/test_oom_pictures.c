// SPDX-License-Identifier: BSD-2-Clause
/* Pictures of requests that could not be met: who held what. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/ledger/ledger_state.h"
#include "core/oom/oom_kept.h"
#include "oom_next.h"

static void who_held_what_at_the_last_failure(void **state)
{
	struct records *r = *state;
	struct oom *oom;

	r->stack_id = 1;
	CALL(r, cuMemAlloc_v2, A, 3 * GiB);
	r->stack_id = 2;
	CALL(r, cuMemAlloc_v2, A + 8 * GiB, GiB);
	CALL(r, cuMemHostAlloc, A + 16 * GiB, 2 * GiB, 0);
	r->tgid = r->tid = 200;
	records_device(r, 0, 1);
	CALL(r, cuDevicePrimaryCtxRetain, 0xc0, 0);
	CALL(r, cuCtxSetCurrent, 0xc0);
	CALL(r, cuMemAlloc_v2, A, 7 * GiB);
	r->tgid = r->tid = 100;
	FAIL(r, cuMemAlloc_v2, OOM, 0, GiB);
	RELEASE(r, cuMemFree_v2, A + 8 * GiB);
	FAIL(r, cuMemAlloc_v2, OOM, 0, GiB);
	RELEASE(r, cuMemFree_v2, A);           /* on its way out */
	records_exit(r, 256);
	oom = ooms_take(r->ooms);
	assert_non_null(oom);
	assert_int_equal(oom->row_count, 3);   /* on the GPU, the host, and the other process */
	assert_int_equal(oom->rows[0].attributed, 3 * GiB);
	assert_int_equal(oom->rows[0].stacks, 2);   /* what was freed, it held at the peak */
	assert_true(oom->stacks[1].live == 0 && oom->stacks[1].at_peak == GiB);
	assert_int_equal(oom->stacks[0].stack_id, 1);
	assert_int_equal(oom->stacks[0].live, 3 * GiB);
	assert_true(oom->rows[1].flags & GMT_OOM_ROW_HOST);
	assert_int_equal(oom->rows[1].class_bytes[GMT_CLASS_PINNED], 2 * GiB);
	assert_int_equal(oom->rows[2].hdr.tgid, 200);
	assert_int_equal(oom->rows[2].attributed, 7 * GiB);
	oom_free(oom);
}

/* At once: 16 have a picture, whatever the tries; later there is time for more. */
static const struct oom *kept_of(const struct records *r)
{
	const struct oom_kept *kept = ooms_kept(r->ooms, process_newest(&r->ledger->processes, r->tgid)->index);

	return kept ? kept->oom : NULL;
}

/* The newest request with a picture is there for those who show numbers, until a retry meets it. */
static void the_newest_is_kept(void **state)
{
	struct records *r = *state;

	CALL(r, cuMemAlloc_v2, A, GiB);
	FAIL(r, cuMemAlloc_v2, OOM, 0, 2 * GiB);
	wait(r, OOM_SILENCE_NS);
	assert_true(kept_of(r)->rec.number == 1 && kept_of(r)->row_count);
	CALL(r, cuMemAlloc_v2, A + GiB, 2 * GiB);
	assert_null(kept_of(r));
	for (unsigned int i = 0; i < 20; i++) {   /* too many pictures */
		FAIL(r, cuMemAlloc_v2, OOM, 0, (i + 3) * GiB);
		CALL(r, cuMemAlloc_v2, A + (i + 4) * GiB, MiB);
	}
	assert_true(kept_of(r)->row_count && kept_of(r)->rec.number > 10 && kept_of(r)->rec.number < 21);
	wait(r, S);
	FAIL(r, cuMemAlloc_v2, OOM, 0, 40 * GiB);
	raised(r, 40 * GiB);
	assert_true(kept_of(r)->rec.number == 22 && kept_of(r)->rec.outcome == GMT_OOM_RAISED);
	records_exit(r, 1 << 8);                  /* without another picture */
	assert_true(kept_of(r)->row_count && kept_of(r)->rec.outcome == GMT_OOM_FATAL);
}

static void a_picture_for_each_but_not_for_too_many(void **state)
{
	struct records *r = *state;
	struct oom *oom;

	CALL(r, cuMemAlloc_v2, A, GiB);
	for (unsigned int i = 0; i < 20; i++) {
		for (int tries = 0; tries < 3; tries++)
			FAIL(r, cuMemAlloc_v2, OOM, 0, (i + 2) * GiB);
		CALL(r, cuMemAlloc_v2, A + (i + 1) * GiB, MiB);
		r->ts_ns += i == 18 ? S : 0;
		oom = ooms_take(r->ooms);
		assert_int_equal(oom->rec.failures, 3);
		assert_int_equal(oom->row_count, i < 16 || i == 19);
		assert_int_equal(!(oom->rec.flags & GMT_OOM_UNSEEN), i < 16 || i == 19);
		assert_true(oom->rec.hdr.tgid == r->tgid && oom->rec.hdr.ts_ns);
		oom_free(oom);
	}
}

/* cuDNN looks for a plan whose workspace fits: 27 errors in 31 ms were seen on an H200, and the program died of the last. */
static void the_last_of_a_burst_has_a_picture(void **state)
{
	struct records *r = *state;
	const struct oom *kept;

	CALL(r, cuMemAlloc_v2, A, GiB);
	for (unsigned int i = 0; i < 40; i++) {
		FAIL(r, cuMemAlloc_v2, OOM, 0, (2 + i % 3) * GiB);
		raised(r, (2 + i % 3) * GiB);
		r->ts_ns += MS;
	}
	kept = kept_of(r);
	assert_true(kept->rec.number == 40 && !(kept->rec.flags & GMT_OOM_UNSEEN));
	assert_true(kept->row_count && kept->rows[0].attributed == GiB);
	for (size_t i = 0; i < kept->row_count; i++)
		assert_true(kept->rows[i].number == 40 && kept->rows[i].hdr.ts_ns == kept->rec.hdr.ts_ns);
	for (size_t i = 0; i < kept->stack_count; i++)
		assert_true(kept->stacks[i].number == 40 && kept->stacks[i].hdr.ts_ns == kept->rec.hdr.ts_ns);
	CALL(r, cuMemAlloc_v2, A + 4 * GiB, MiB);  /* something has changed */
	FAIL(r, cuMemAlloc_v2, OOM, 0, 2 * GiB);
	raised(r, 2 * GiB);
	assert_int_equal(kept_of(r)->rec.number, 40);
}

static void what_grows_steadily(void **state)
{
	struct records *r = *state;
	struct oom *oom;
	uint64_t at = A;

	for (int i = 0; i < 100; i++) {        /* a leak, a step at the start, a cache that comes and goes */
		r->stack_id = 1;
		CALL(r, cuMemAlloc_v2, at += MiB, MiB);
		r->stack_id = 2;
		if (i < 10)
			CALL(r, cuMemAlloc_v2, at += MiB, MiB);
		r->stack_id = 3;
		CALL(r, cuMemAlloc_v2, at += MiB, MiB);
		RELEASE(r, cuMemFree_v2, at);
		r->ts_ns += S;
	}
	FAIL(r, cuMemAlloc_v2, OOM, 0, GiB);
	records_exit(r, 256);
	oom = ooms_take(r->ooms);
	assert_int_equal(oom->rows[0].stacks, 3);
	assert_true(oom->stacks[0].stack_id == 1 && oom->stacks[0].flags & GMT_OOM_STACK_STEADY);
	assert_true(oom->stacks[0].recent >= (int64_t)(10 * MiB) && oom->stacks[0].recent <= (int64_t)(20 * MiB));
	assert_true(oom->stacks[1].stack_id == 2 && !(oom->stacks[1].flags & GMT_OOM_STACK_STEADY));
	assert_int_equal(oom->stacks[1].recent, 0);
	oom_free(oom);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup_calls, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(who_held_what_at_the_last_failure),
		TEST(the_newest_is_kept),
		TEST(a_picture_for_each_but_not_for_too_many),
		TEST(the_last_of_a_burst_has_a_picture),
		TEST(what_grows_steadily),
	};

	return cmocka_run_group_tests_name("oom_pictures", tests, NULL, NULL);
}
