// SPDX-License-Identifier: BSD-2-Clause
/* Streams: which end with their context, and what goes with a stream. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/ledger/ledger_state.h"
#include "records.h"

#define A 0x7f0000000000ull
#define B 0x7f0010000000ull
#define CTX0 0xc0ull             /* of ordinal 0 */
#define CTX1 0xc1ull             /* of ordinal 1 */
#define GREEN 0x9eull
#define S 0x5000ull
#define S2 0x5100ull
#define S3 0x5200ull
#define OWN 2ull                 /* CU_STREAM_PER_THREAD */
#define G 0x9100ull

static const struct process *process_of(const struct records *r)
{
	return r->ledger->processes.list[0];
}

static uint64_t planned(const struct records *r)
{
	return records_live(r, ANY_GPU, GMT_CLASS_GRAPH);
}

/* So many streams are known, and so many of these capture. */
static void assert_streams(const struct records *r, size_t count, uint32_t capturing)
{
	assert_int_equal(hash_count(&process_of(r)->contexts.streams), count);
	assert_int_equal(process_of(r)->contexts.capturing, capturing);
	assert_int_equal(hash_count(&process_of(r)->graphs.captures), capturing);
}

static void capture_on(struct records *r, uint64_t stream, uint64_t address)
{
	CALL(r, cuStreamCreate, stream);
	CALL(r, cuStreamBeginCapture_v2, stream);
	CALL(r, cuMemAllocAsync, address, MiB, stream);
}

static void streams_end_with_a_destroyed_context(void **state)
{
	struct records *r = *state;

	CALL(r, cuCtxCreate_v2, CTX1, 1);
	CALL(r, cuStreamCreate, S2);
	CALL(r, cuCtxCreate_v2, CTX0, 0);
	capture_on(r, S, A);
	CALL(r, cuStreamCreate, S3);
	assert_streams(r, 3, 1);
	RELEASE(r, cuCtxDestroy_v2, CTX0);
	assert_streams(r, 1, 0);
	assert_int_equal(planned(r), 0);
	RELEASE(r, cuStreamDestroy_v2, S2);
	assert_streams(r, 0, 0);
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_UNDO_UNKNOWN), 0);
}

/* While a stream captures, memory that the kernel did not map is taken for a node of a graph (pool.c). */
static void no_capture_outlives_its_context(void **state)
{
	struct records *r = *state;

	records_fini(r);
	records_scene(r, ALL_LAYERS);
	records_rm_scene(r);
	CALL(r, cuCtxCreate_v2, CTX0, 0);
	capture_on(r, S, A);
	RELEASE(r, cuCtxDestroy_v2, CTX0);
	CALL(r, cuCtxCreate_v2, CTX1, 1);
	CALL(r, cuMemAllocAsync, B, MiB, 0);
	assert_int_equal(planned(r), 0);
	assert_int_equal(records_live(r, ANY_GPU, GMT_CLASS_POOL), MiB);
}

static void streams_end_with_the_primary_context(void **state)
{
	struct records *r = *state;

	CALL(r, cuDevicePrimaryCtxRetain, CTX0, 0);
	CALL(r, cuDevicePrimaryCtxRetain, CTX0, 0);
	CALL(r, cuDevicePrimaryCtxRetain, CTX1, 1);
	CALL(r, cuCtxSetCurrent, CTX0);
	capture_on(r, S, A);
	CALL(r, cuCtxSetCurrent, CTX1);
	CALL(r, cuStreamCreate, S2);
	RELEASE(r, cuDevicePrimaryCtxRelease_v2, 0);
	assert_streams(r, 2, 1);
	RELEASE(r, cuDevicePrimaryCtxRelease_v2, 0);
	assert_streams(r, 1, 0);
	assert_int_equal(planned(r), 0);
	RELEASE(r, cuDevicePrimaryCtxReset_v2, 1);
	assert_streams(r, 0, 0);
}

/* Each context has default streams of its own for each thread. */
static void a_threads_own_capture_ends_with_the_context(void **state)
{
	struct records *r = *state;

	CALL(r, cuCtxCreate_v2, CTX0, 0);
	CALL(r, cuCtxCreate_v2, CTX1, 1);
	CALL(r, cuStreamBeginCapture_v2, OWN);
	CALL(r, cuMemAllocAsync, A, MiB, OWN);
	r->tid = 101;
	RELEASE(r, cuCtxDestroy_v2, CTX0);
	assert_streams(r, 0, 1);
	RELEASE(r, cuCtxDestroy_v2, CTX1);
	assert_streams(r, 0, 0);
	assert_int_equal(planned(r), 0);
	r->tid = 100;
	CALL(r, cuMemAllocAsync, B, MiB, OWN);
	assert_int_equal(records_live(r, ANY_GPU, GMT_CLASS_POOL), MiB);
}

/* "The API does not destroy streams", but their captures end, and no call but cuStreamDestroy takes them any longer
 * (cuda.h, cuGreenCtxDestroy). */
static void captures_end_with_a_green_context(void **state)
{
	struct records *r = *state;
	uint32_t seq;

	CALL(r, cuDevicePrimaryCtxRetain, CTX0, 0);
	CALL(r, cuGreenCtxCreate, GREEN, 0);
	CALL(r, cuGreenCtxStreamCreate, S, GREEN);
	CALL(r, cuStreamBeginCapture_v2, S);
	seq = RELEASE(r, cuGreenCtxDestroy, GREEN);
	assert_streams(r, 0, 0);
	UNDO(r, cuGreenCtxDestroy, seq, 700, GREEN);
	assert_int_equal(process_of(r)->contexts.capturing, 1);
	RELEASE(r, cuGreenCtxDestroy, GREEN);
	assert_streams(r, 0, 0);
	RELEASE(r, cuStreamDestroy_v2, S);
	for (int anomaly = 0; anomaly < GMT_ANOMALY_COUNT; anomaly++)
		assert_int_equal(records_anomalies(r, anomaly), 0);
}

static void a_failed_end_brings_streams_back(void **state)
{
	struct records *r = *state;
	uint32_t seq;

	CALL(r, cuCtxCreate_v2, CTX0, 0);
	CALL(r, cuStreamCreate, S);
	CALL(r, cuStreamCreate, S2);
	CALL(r, cuStreamCreate, S3);
	CALL(r, cuStreamBeginCapture_v2, S3);
	seq = RELEASE(r, cuCtxDestroy_v2, CTX0);
	RELEASE(r, cuStreamDestroy_v2, S);             /* in a callback */
	r->tid = 101;
	CALL(r, cuCtxCreate_v2, CTX1, 1);
	CALL(r, cuStreamCreate, S2);                   /* the handle is given out again */
	r->tid = 100;
	assert_streams(r, 1, 0);
	UNDO(r, cuCtxDestroy_v2, seq, 700, CTX0);
	assert_int_equal(hash_count(&process_of(r)->contexts.streams), 2);
	assert_int_equal(process_of(r)->contexts.capturing, 1);
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_UNDO_UNKNOWN), 0);
	CALL(r, cuMemAllocAsync, A, KiB, S2);          /* in the new stream's context, of the GPU with index 0 */
	CALL(r, cuMemAllocAsync, B, MiB, S3);
	assert_int_equal(records_live(r, 0, GMT_CLASS_POOL), KiB);
	assert_int_equal(planned(r), MiB);
	CALL(r, cuStreamEndCapture, S3, G);
	RELEASE(r, cuGraphDestroy, G);
	assert_int_equal(planned(r), 0);
}

/* What was captured is forgotten when the call begins, so a failure leaves a difference, which is counted. */
static void a_capture_that_a_failed_end_dropped_is_counted(void **state)
{
	struct records *r = *state;
	uint32_t seq;

	CALL(r, cuCtxCreate_v2, CTX0, 0);
	capture_on(r, S, A);
	seq = RELEASE(r, cuCtxDestroy_v2, CTX0);
	UNDO(r, cuCtxDestroy_v2, seq, 700, CTX0);
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_UNDO_UNKNOWN), 1);
	CALL(r, cuStreamBeginCapture_v2, OWN);
	CALL(r, cuMemAllocAsync, B, MiB, OWN);
	seq = RELEASE(r, cuCtxDestroy_v2, CTX0);
	UNDO(r, cuCtxDestroy_v2, seq, 700, CTX0);
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_UNDO_UNKNOWN), 2);
	CALL(r, cuStreamEndCapture, S, G);
	assert_int_equal(planned(r), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, records_api_scene, records_end_scene)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(streams_end_with_a_destroyed_context),
		TEST(no_capture_outlives_its_context),
		TEST(streams_end_with_the_primary_context),
		TEST(a_threads_own_capture_ends_with_the_context),
		TEST(captures_end_with_a_green_context),
		TEST(a_failed_end_brings_streams_back),
		TEST(a_capture_that_a_failed_end_dropped_is_counted),
	};

	return cmocka_run_group_tests_name("streams", tests, NULL, NULL);
}
