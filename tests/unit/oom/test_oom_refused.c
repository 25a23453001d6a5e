// SPDX-License-Identifier: BSD-2-Clause
/* Memory that the kernel driver refused in calls that do not say how much they take, and outside of all calls. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <string.h>

#include "oom_next.h"

#define NO_MEMORY 0x51
#define INSUFFICIENT_RESOURCES 0x1a
#define NOT_SUPPORTED 0x56
#define SYSMEM (1u << 25)
#define STACK 7
#define EXIT_1 (1 << 8)

static int setup(void **state)
{
	static struct records r;

	records_scene(&r, ALL_LAYERS);
	records_rm_scene(&r);
	records_device(&r, 0, 1);
	begin_watching(&r);
	*state = &r;
	return 0;
}

static void is(struct gmt_oom rec, enum gmt_oom_outcome outcome, enum gmt_oom_sign sign)
{
	assert_true(rec.number);
	assert_int_equal(rec.outcome, outcome);
	assert_int_equal(rec.sign, sign);
}

/* What the kernel driver says, on GPU 1. */
static void driver(struct records *r, struct gmt_rm_alloc rec)
{
	rec.client = RM_CLIENT;
	rec.parent = RM_DEVICE(1);
	rec.object = 0xdead;
	records_apply(r, &rec, GMT_KIND_RM_ALLOC, sizeof(rec));
	assert_int_equal(r->result, 0);
}

/* api: in the next call; 0: in none. */
static void refuse_as(struct records *r, unsigned int api, uint64_t size, uint32_t status, uint32_t attr)
{
	driver(r, (struct gmt_rm_alloc){
		.cause = { .api = api, .seq = api ? r->seq + 1 : 0, .stack_id = STACK },
		.class_id = 0x40, .status = status, .attr = attr, .size = size,
	});
}

static void refuse(struct records *r, unsigned int api, uint64_t size)
{
	refuse_as(r, api, size, NO_MEMORY, 0);
}

/* In no call. */
static void refuse_by(struct records *r, uint32_t stack_id, uint64_t size)
{
	driver(r, (struct gmt_rm_alloc){
		.cause.stack_id = stack_id, .class_id = 0x40, .status = NO_MEMORY, .size = size,
	});
}

static void give(struct records *r, uint32_t class_id, uint32_t attr, uint64_t size)
{
	driver(r, (struct gmt_rm_alloc){
		.cause.stack_id = STACK, .class_id = class_id, .attr = attr, .size = size,
	});
}

/* PyTorch gives out a block, or takes it back. */
static void block(struct records *r, int64_t delta, uint64_t allocated)
{
	records_block(r, A, delta, allocated, 2 * MiB);
	assert_int_equal(r->result, 0);
}

static void fails(struct records *r, unsigned int api)
{
	records_call(r, api, OOM, 0, NULL);
	assert_int_equal(r->result, 0);
}

/* ---- in a call ---- */

static void a_module(void **state)
{
	struct records *r = *state;
	uint8_t uuid[GMT_UUID_BYTES];
	struct gmt_oom rec;

	refuse(r, GMT_API_cuModuleLoadData, 4 * MiB);
	none_left(r);
	fails(r, GMT_API_cuModuleLoadData);
	none_left(r);
	CALL(r, cuMemAlloc_v2, A, MiB);
	rec = next(r);
	is(rec, GMT_OOM_RAISED, GMT_OOM_BY_WENT_ON);
	assert_int_equal(rec.api, GMT_API_cuModuleLoadData);
	assert_int_equal(rec.class_id, GMT_OOM_CLASS_NONE);
	assert_int_equal(rec.asked_bytes, 4 * MiB);
	assert_int_equal(rec.stack_id, STACK);
	assert_int_equal(rec.flags & GMT_OOM_REFUSED, 0);
	records_uuid(1, uuid);
	assert_memory_equal(rec.uuid, uuid, sizeof(uuid));
	none_left(r);
}

static void tries_of_one(void **state)
{
	struct records *r = *state;
	struct gmt_oom rec;

	for (int i = 0; i < 3; i++) {
		refuse(r, GMT_API_cuGraphInstantiateWithFlags, 64 * MiB);
		fails(r, GMT_API_cuGraphInstantiateWithFlags);
		r->ts_ns += S;
	}
	records_exit(r, EXIT_1);
	rec = next(r);
	is(rec, GMT_OOM_FATAL, GMT_OOM_BY_EXIT);
	assert_int_equal(rec.failures, 3);
	assert_int_equal(rec.asked_bytes, 64 * MiB);
	none_left(r);
}

/* A library that tries several modules is given up once; another call is another request. */
static void modules_and_a_graph(void **state)
{
	struct records *r = *state;
	struct gmt_oom rec;

	for (uint32_t i = 0; i < 2; i++) {
		refuse(r, GMT_API_cuModuleLoadData, 2 * MiB);
		fails(r, GMT_API_cuModuleLoadData);
		r->ts_ns += S;
	}
	none_left(r);
	refuse(r, GMT_API_cuGraphInstantiateWithFlags, 2 * MiB);
	fails(r, GMT_API_cuGraphInstantiateWithFlags);
	rec = next(r);
	is(rec, GMT_OOM_RAISED, GMT_OOM_BY_WENT_ON);
	assert_int_equal(rec.failures, 2);
	none_left(r);
	records_exit(r, EXIT_1);
	is(next(r), GMT_OOM_FATAL, GMT_OOM_BY_EXIT);
	none_left(r);
}

/* PyTorch gives out a block: the program goes on. */
static void a_block_after_it(void **state)
{
	struct records *r = *state;

	refuse(r, GMT_API_cuModuleLoadData, 2 * MiB);
	fails(r, GMT_API_cuModuleLoadData);
	block(r, 512, 512);
	is(next(r), GMT_OOM_RAISED, GMT_OOM_BY_WENT_ON);
	records_exit(r, EXIT_1);
	none_left(r);
}

/* It has fields of its own, which are left alone. */
static void a_stream(void **state)
{
	struct records *r = *state;
	struct gmt_oom rec;

	refuse(r, GMT_API_cuStreamCreate, 2 * MiB);
	fails(r, GMT_API_cuStreamCreate);
	records_exit(r, EXIT_1);
	rec = next(r);
	is(rec, GMT_OOM_FATAL, GMT_OOM_BY_EXIT);
	assert_int_equal(rec.api, GMT_API_cuStreamCreate);
	assert_int_equal(rec.asked_bytes, 2 * MiB);
	none_left(r);
}

/* Without the kernel layer, or where something else than memory ran out. */
static void how_much_is_not_known(void **state)
{
	struct records *r = *state;
	struct gmt_oom rec;

	refuse(r, GMT_API_cuModuleLoadData, 4 * MiB);   /* in the call before this one */
	records_call(r, GMT_API_cuMemGetInfo_v2, 0, 2, (uint64_t[]){ 0, 0 });
	fails(r, GMT_API_cuModuleLoadData);
	r->ts_ns += OOM_SILENCE_NS;
	records_gpu(r, 0, 0);
	rec = next(r);
	is(rec, GMT_OOM_RAISED, GMT_OOM_BY_SILENCE);
	assert_int_equal(rec.asked_bytes, 0);
	assert_int_equal(rec.api, GMT_API_cuModuleLoadData);
	none_left(r);
}

static void another_error(void **state)
{
	struct records *r = *state;

	refuse(r, GMT_API_cuModuleLoadData, 4 * MiB);
	records_call(r, GMT_API_cuModuleLoadData, 1, 0, NULL);
	records_exit(r, EXIT_1);
	none_left(r);
}

/* libcuda found another way: that the call succeeded nobody says. */
static void a_call_that_succeeds(void **state)
{
	struct records *r = *state;

	refuse(r, GMT_API_cuModuleLoadData, 4 * MiB);
	refuse(r, GMT_API_cuMemAlloc_v2, 4 * MiB);
	CALL(r, cuMemAlloc_v2, A, 4 * MiB);
	records_exit(r, EXIT_1);
	none_left(r);
}

/* ---- in none ---- */

static void died_of_a_launch(void **state)
{
	struct records *r = *state;
	struct gmt_oom rec;

	refuse(r, 0, 16 * MiB);
	r->ts_ns += 3 * S;
	none_left(r);
	records_exit(r, EXIT_1);
	rec = next(r);
	is(rec, GMT_OOM_FATAL, GMT_OOM_BY_EXIT);
	assert_true(rec.flags & GMT_OOM_REFUSED && rec.flags & GMT_OOM_EXITED);
	assert_int_equal(rec.api, 0);
	assert_int_equal(rec.asked_bytes, 16 * MiB);
	assert_int_equal(rec.stack_id, STACK);
	none_left(r);
}

static const struct {
	const char *what;
	uint32_t status, attr;
	uint64_t wait_ns;
	int code;
	enum gmt_oom_outcome first, then;  /* what is told; OPEN: nothing more */
} ends[] = {
	{ "aborted", NO_MEMORY, 0, S, SIGABRT | 0x80, GMT_OOM_FATAL, 0 },
	{ "another word for it", INSUFFICIENT_RESOURCES, 0, S, EXIT_1, GMT_OOM_FATAL, 0 },
	{ "ended well", NO_MEMORY, 0, S, 0, GMT_OOM_RAISED, 0 },
	{ "interrupted", NO_MEMORY, 0, S, SIGINT, GMT_OOM_FATAL, 0 },
	{ "told to end", NO_MEMORY, 0, S, SIGTERM, GMT_OOM_FATAL, 0 },
	{ "killed", NO_MEMORY, 0, S, SIGKILL, GMT_OOM_FATAL, 0 },
	{ "nobody saw how", NO_MEMORY, 0, S, GMT_EXIT_CODE_UNKNOWN, GMT_OOM_FATAL, 0 },
	{ "later", NO_MEMORY, 0, OOM_SILENCE_NS + S, EXIT_1, GMT_OOM_RAISED, GMT_OOM_FATAL },
	{ "not for memory", NOT_SUPPORTED, 0, S, EXIT_1, 0, 0 },
	{ "the host's memory", NO_MEMORY, SYSMEM, S, EXIT_1, 0, 0 },
};

static void each_end(void **state)
{
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		struct records *r = *state;

		refuse_as(r, 0, MiB, ends[i].status, ends[i].attr);
		r->ts_ns += ends[i].wait_ns;
		records_gpu(r, 0, 0);
		records_exit(r, ends[i].code);
		if (next(r).outcome != ends[i].first || next(r).outcome != ends[i].then)
			fail_msg("%s", ends[i].what);
		none_left(r);
		teardown(state);
		setup(state);
	}
}

/* Raised long ago: the end is another matter. */
static void much_later(void **state)
{
	struct records *r = *state;

	refuse(r, 0, MiB);
	r->ts_ns += OOM_SILENCE_NS;
	records_gpu(r, 0, 0);
	is(next(r), GMT_OOM_RAISED, GMT_OOM_BY_SILENCE);
	r->ts_ns += OOM_FATAL_NS + S;
	records_exit(r, EXIT_1);
	none_left(r);
}

/* libcuda asks twice; the next launch is another request, and so is one of another size. */
static void launches_are_kept_apart(void **state)
{
	static const struct {
		uint64_t wait_ns, bytes;
		uint32_t stack_id;
	} refusals[] = {
		{ 0, 2 * MiB, 7 }, { 50000, 2 * MiB, 7 }, { S, 2 * MiB, 8 }, { 50000, 2 * MiB, 9 }, { S, 2 * MiB, 8 },
		{ 50000, 4 * MiB, 8 }, { S, 4 * MiB, 0 }, { S, 4 * MiB, 0 },
	};
	static const uint32_t failures[] = { 2, 3, 1, 1, 1 };
	struct records *r = *state;

	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		r->ts_ns += refusals[i].wait_ns;
		refuse_by(r, refusals[i].stack_id, refusals[i].bytes);
	}
	records_exit(r, 0);
	for (size_t i = 0; i < sizeof(failures) / sizeof(failures[0]); i++) {
		struct gmt_oom rec = next(r);

		assert_int_equal(rec.outcome, GMT_OOM_RAISED);
		assert_int_equal(rec.failures, failures[i]);
	}
	none_left(r);
}

static void got_in_the_same_launch(void **state)
{
	struct records *r = *state;
	struct gmt_oom rec;

	refuse(r, 0, 4 * MiB);
	give(r, 0x40, 0, 4 * MiB);
	rec = next(r);
	is(rec, GMT_OOM_RETRY, GMT_OOM_BY_GIVEN);
	assert_int_equal(rec.given_bytes, 4 * MiB);
	refuse(r, 0, 4 * MiB);
	give(r, 0x40, 0, 2 * MiB);             /* less will do */
	is(next(r), GMT_OOM_RETRY, GMT_OOM_BY_SMALLER);
	refuse(r, 0, 4 * MiB);
	give(r, 0x3e, SYSMEM, MiB);            /* for itself */
	none_left(r);
	give(r, 0x3e, SYSMEM, 4 * MiB);        /* the host's instead */
	is(next(r), GMT_OOM_RETRY, GMT_OOM_BY_GIVEN);
	records_exit(r, EXIT_1);
	none_left(r);
}

/* Each shows that the launch is over. */
static void the_thread_left_it(void **state)
{
	struct records *r = *state;
	uint32_t number;

	refuse(r, 0, MiB);
	RELEASE(r, cuMemFree_v2, A);
	is(next(r), GMT_OOM_RAISED, GMT_OOM_BY_RETURN);
	refuse(r, 0, MiB);
	block(r, -512, 512);
	is(next(r), GMT_OOM_RAISED, GMT_OOM_BY_RETURN);
	refuse(r, 0, MiB);
	block(r, 1024, 1024);
	is(next(r), GMT_OOM_RAISED, GMT_OOM_BY_RETURN);
	records_exit(r, EXIT_1);               /* not of it: a block was got since */
	none_left(r);
	teardown(state);
	setup(state);
	refuse(r, 0, MiB);
	RELEASE(r, cuMemFree_v2, A);           /* on its way out */
	number = next(r).number;
	records_exit(r, EXIT_1);
	assert_int_equal(next(r).number, number);
	none_left(r);
}

static void went_on(void **state)
{
	struct records *r = *state;

	refuse(r, 0, MiB);
	CALL(r, cuMemAlloc_v2, A, MiB);
	is(next(r), GMT_OOM_RAISED, GMT_OOM_BY_RETURN);
	records_exit(r, EXIT_1);
	none_left(r);
}

static void another_thread_goes_on(void **state)
{
	struct records *r = *state;

	refuse(r, 0, MiB);
	RELEASE(r, cuMemFree_v2, A);
	is(next(r), GMT_OOM_RAISED, GMT_OOM_BY_RETURN);
	r->tid = 101;
	r->ts_ns += 2 * S;
	CALL(r, cuCtxSetCurrent, 0xc0);
	CALL(r, cuMemAlloc_v2, A, MiB);
	records_exit(r, EXIT_1);
	none_left(r);
}

static void then_a_call_fails(void **state)
{
	struct records *r = *state;
	struct gmt_oom rec;

	refuse(r, 0, MiB);
	FAIL(r, cuMemAlloc_v2, OOM, 0, GiB);
	records_exit(r, EXIT_1);
	is(next(r), GMT_OOM_RAISED, GMT_OOM_BY_RETURN);
	rec = next(r);
	is(rec, GMT_OOM_FATAL, GMT_OOM_BY_EXIT);
	assert_int_equal(rec.asked_bytes, GiB);
	assert_int_equal(rec.flags & GMT_OOM_REFUSED, 0);
	none_left(r);
}

static void then_pytorch_reports(void **state)
{
	struct records *r = *state;
	struct gmt_fw_oom report = { .size = GiB, .device_type = GMT_FW_GPU };
	struct gmt_oom rec;

	refuse(r, 0, MiB);
	records_apply(r, &report, GMT_KIND_FW_OOM, sizeof(report));
	is(next(r), GMT_OOM_RAISED, GMT_OOM_BY_RETURN);
	rec = next(r);
	is(rec, GMT_OOM_RAISED, GMT_OOM_BY_REPORTED);
	assert_int_equal(rec.framework_bytes, GiB);
	assert_int_equal(rec.flags & GMT_OOM_REFUSED, 0);
	none_left(r);
}

/* Its error was caught, and a launch came next. */
static void after_a_call_that_failed(void **state)
{
	struct records *r = *state;

	FAIL(r, cuMemAlloc_v2, OOM, 0, GiB);
	refuse(r, 0, MiB);
	is(next(r), GMT_OOM_RAISED, GMT_OOM_BY_WENT_ON);
	CALL(r, cuMemAlloc_v2, A, GiB);
	is(next(r), GMT_OOM_RAISED, GMT_OOM_BY_RETURN);
	records_exit(r, EXIT_1);
	none_left(r);
}

static void the_end_of_the_stream(void **state)
{
	struct records *r = *state;

	refuse(r, 0, MiB);
	ooms_finish(r->ooms);
	is(next(r), GMT_OOM_OPEN, GMT_OOM_BY_NOTHING);
	none_left(r);
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(a_module), CASE(tries_of_one), CASE(modules_and_a_graph), CASE(a_block_after_it), CASE(a_stream),
		CASE(how_much_is_not_known), CASE(another_error), CASE(a_call_that_succeeds), CASE(died_of_a_launch),
		CASE(each_end), CASE(much_later), CASE(launches_are_kept_apart), CASE(got_in_the_same_launch), CASE(the_thread_left_it),
		CASE(went_on), CASE(another_thread_goes_on), CASE(then_a_call_fails), CASE(then_pytorch_reports),
		CASE(after_a_call_that_failed), CASE(the_end_of_the_stream),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
