// SPDX-License-Identifier: BSD-2-Clause
/* Contexts: whose an allocation is, which GPU it was asked for on, and what goes with a context. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "records.h"

#define A 0x7f0000000000ull
#define B 0x7f0010000000ull
#define C 0x7f0020000000ull
#define CTX0 0xc0ull             /* of ordinal 0, which is the GPU with index 1 */
#define CTX1 0xc1ull
#define GREEN 0x9eull

/* The GPU index that an allocation made now is charged to. */
static int gpu_now(struct records *r)
{
	int found = -3;

	CALL(r, cuMemAlloc_v2, 0xabc000, 77);
	for (int gpu = NO_GPU; gpu < 2; gpu++)
		if (records_live(r, gpu, GMT_CLASS_DEVICE) % KiB == 77)
			found = gpu;
	RELEASE(r, cuMemFree_v2, 0xabc000);
	return found;
}

static void each_thread_has_a_stack(void **state)
{
	struct records *r = *state;

	CALL(r, cuDevicePrimaryCtxRetain, CTX0, 0);
	CALL(r, cuDevicePrimaryCtxRetain, CTX1, 1);
	assert_int_equal(gpu_now(r), NO_GPU);
	CALL(r, cuCtxSetCurrent, CTX0);
	assert_int_equal(gpu_now(r), 1);
	CALL(r, cuCtxPushCurrent_v2, CTX1);
	assert_int_equal(gpu_now(r), 0);
	r->tid = 101;
	assert_int_equal(gpu_now(r), NO_GPU); /* of another thread nothing is known */
	r->tid = 100;
	CALL(r, cuCtxSetCurrent, CTX0);       /* replaces the top */
	assert_int_equal(gpu_now(r), 1);
	CALL(r, cuCtxSetCurrent, CTX1);
	CALL(r, cuCtxPopCurrent_v2, CTX1);
	assert_int_equal(gpu_now(r), 1);
	CALL(r, cuCtxSetCurrent, 0);          /* takes it off */
	assert_int_equal(gpu_now(r), NO_GPU);
	CALL(r, cuCtxPopCurrent_v2, 0);       /* one more than there are */
	CALL(r, cuCtxPushCurrent_v2, CTX1);
	assert_int_equal(gpu_now(r), 0);
}

static void a_lost_context_is_forgotten(void **state)
{
	struct records *r = *state;

	CALL(r, cuDevicePrimaryCtxRetain, CTX0, 0);
	CALL(r, cuDevicePrimaryCtxRetain, CTX1, 1);
	CALL(r, cuCtxSetCurrent, CTX0);
	CALL(r, cuCtxPushCurrent_v2, CTX1);
	assert_int_equal(gpu_now(r), 0);
	r->unread = GMT_CALL_CONTEXT_LOST;
	assert_int_equal(gpu_now(r), NO_GPU);  /* of this call, and of the calls after it */
	assert_int_equal(gpu_now(r), NO_GPU);
	CALL(r, cuCtxPushCurrent_v2, CTX0);
	assert_int_equal(gpu_now(r), 1);
	CALL(r, cuCtxPopCurrent_v2, CTX0);
	assert_int_equal(gpu_now(r), NO_GPU);  /* what is below is not known */
	r->unread = GMT_CALL_CONTEXT_LOST;
	CALL(r, cuCtxSetCurrent, CTX1);        /* forgets first */
	assert_int_equal(gpu_now(r), 0);
	r->unread = GMT_CALL_CONTEXT_LOST;     /* no value of an array counts as unread */
	CALL(r, cuArrayCreate_v2, 0xa, 4, 4, 0x20, 1);
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_SIZE_UNKNOWN), 0);
}

static void a_new_context_is_current(void **state)
{
	struct records *r = *state;

	CALL(r, cuCtxCreate_v2, CTX1, 1);
	assert_int_equal(gpu_now(r), 0);
	CALL(r, cuCtxCreate_v4, CTX0, 0);
	assert_int_equal(gpu_now(r), 1);
	RELEASE(r, cuCtxDestroy_v2, CTX0);       /* and its end takes it off */
	assert_int_equal(gpu_now(r), 0);
}

static void destroying_a_context_frees_what_is_tied_to_it(void **state)
{
	struct records *r = *state;

	CALL(r, cuCtxCreate_v2, CTX0, 0);
	CALL(r, cuMemAlloc_v2, A, MiB);
	CALL(r, cuMemAllocPitch_v2, A + MiB, 512, 500, 4);
	CALL(r, cuMemAllocManaged, A + 2 * MiB, MiB, 1);
	CALL(r, cuMemAllocHost_v2, A + 3 * MiB, MiB);
	CALL(r, cuArrayCreate_v2, 0xa1, 1000, 0, 1, 1);
	CALL(r, cuImportExternalMemory, 0xe1, MiB, 1);
	CALL(r, cuIpcOpenMemHandle_v2, A + 4 * MiB, 0x1234, 1);
	CALL(r, cuMemAllocAsync, B, MiB, 0);
	CALL(r, cuMemHostRegister_v2, B + MiB, MiB, 0);
	CALL(r, cuMemCreate, 0x10, MiB, 1, 0, 1);
	CALL(r, cuCtxCreate_v2, CTX1, 1);
	CALL(r, cuMemAlloc_v2, C, MiB);
	RELEASE(r, cuCtxDestroy_v2, CTX0);
	assert_int_equal(records_live(r, 1, GMT_CLASS_DEVICE), 0);
	assert_int_equal(records_live(r, ANY_GPU, GMT_CLASS_MANAGED), 0);
	assert_int_equal(records_live(r, ANY_GPU, GMT_CLASS_PINNED), 0);
	assert_int_equal(records_live(r, 1, GMT_CLASS_ARRAY), 0);
	assert_int_equal(records_class(r, 1, GMT_CLASS_IMPORTED).live_count, 0);
	assert_int_equal(records_live(r, 0, GMT_CLASS_DEVICE), MiB);       /* another context's */
	assert_int_equal(records_live(r, 1, GMT_CLASS_POOL), MiB);         /* no context's */
	assert_int_equal(records_live(r, 1, GMT_CLASS_VMM), MiB);
	assert_int_equal(records_live(r, ANY_GPU, GMT_CLASS_REGISTERED), MiB);
	assert_int_equal(records_class(r, 1, GMT_CLASS_DEVICE).frees, 2);
	/* The same address opened anew is a new import. */
	CALL(r, cuIpcOpenMemHandle_v2, A + 4 * MiB, 0x1234, 1);
	assert_int_equal(records_class(r, ANY_GPU, GMT_CLASS_IMPORTED).live_count, 1);
	RELEASE(r, cuIpcCloseMemHandle, A + 4 * MiB);
	assert_int_equal(records_class(r, ANY_GPU, GMT_CLASS_IMPORTED).live_count, 0);
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_FREE_UNKNOWN), 0);
}

static void a_context_handle_given_out_again_owns_nothing_old(void **state)
{
	struct records *r = *state;

	CALL(r, cuCtxCreate_v2, CTX0, 0);
	CALL(r, cuMemAlloc_v2, A, MiB);
	RELEASE(r, cuCtxDestroy_v2, CTX0);
	CALL(r, cuCtxCreate_v2, CTX0, 1);
	CALL(r, cuMemAlloc_v2, A, 2 * MiB);
	assert_int_equal(records_live(r, 0, GMT_CLASS_DEVICE), 2 * MiB);
	CALL(r, cuCtxCreate_v2, CTX0, 1); /* its end was missed */
	assert_int_equal(records_attributed(r), 0);
}

/* The record of the second creation was lost. The context is still current in another thread. */
static void nobody_knows_where_a_handle_given_out_again_unseen_lies(void **state)
{
	struct records *r = *state;
	uint32_t seq;

	CALL(r, cuCtxCreate_v2, CTX0, 0);
	r->tid++;
	seq = RELEASE(r, cuCtxDestroy_v2, CTX0);
	UNDO(r, cuCtxDestroy_v2, seq, 700, CTX0);
	r->tid--;
	CALL(r, cuMemAlloc_v2, A, MiB);
	assert_int_equal(records_live(r, 1, GMT_CLASS_DEVICE), MiB);
	r->tid++;
	RELEASE(r, cuCtxDestroy_v2, CTX0);
	r->tid--;
	CALL(r, cuMemAlloc_v2, B, 2 * MiB);
	assert_int_equal(records_live(r, NO_GPU, GMT_CLASS_DEVICE), 2 * MiB);
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_GPU_UNKNOWN), 1);
}

/* Records were lost, and the thread number was given out again: the undo of a later thread's call has an older call's
 * number, and names a context that nobody has seen. */
static void a_failed_end_does_not_place_another_context(void **state)
{
	struct records *r = *state;
	uint32_t seq;

	CALL(r, cuCtxCreate_v2, CTX0, 0);
	seq = RELEASE(r, cuCtxDestroy_v2, CTX0);
	UNDO(r, cuCtxDestroy_v2, seq, 700, CTX1);
	CALL(r, cuCtxSetCurrent, CTX1);
	CALL(r, cuMemAlloc_v2, A, MiB);
	assert_int_equal(records_live(r, NO_GPU, GMT_CLASS_DEVICE), MiB);
	CALL(r, cuCtxSetCurrent, CTX0);
	CALL(r, cuMemAlloc_v2, B, 2 * MiB);
	assert_int_equal(records_live(r, 1, GMT_CLASS_DEVICE), 2 * MiB);
}

static void the_last_release_of_the_primary_context_frees(void **state)
{
	struct records *r = *state;

	CALL(r, cuDevicePrimaryCtxRetain, CTX0, 0);
	CALL(r, cuDevicePrimaryCtxRetain, CTX0, 0);
	CALL(r, cuDevicePrimaryCtxRetain, CTX1, 1);
	CALL(r, cuCtxSetCurrent, CTX0);
	CALL(r, cuMemAlloc_v2, A, MiB);
	RELEASE(r, cuDevicePrimaryCtxRelease_v2, 0);
	assert_int_equal(records_live(r, 1, GMT_CLASS_DEVICE), MiB);
	RELEASE(r, cuDevicePrimaryCtxRelease_v2, 1); /* another device's */
	assert_int_equal(records_live(r, 1, GMT_CLASS_DEVICE), MiB);
	RELEASE(r, cuDevicePrimaryCtxRelease_v2, 0);
	assert_int_equal(records_live(r, 1, GMT_CLASS_DEVICE), 0);
	RELEASE(r, cuDevicePrimaryCtxRelease_v2, 0); /* one too many */
	CALL(r, cuDevicePrimaryCtxRetain, CTX0, 0);
	CALL(r, cuMemAlloc_v2, A, MiB);
	assert_int_equal(records_live(r, 1, GMT_CLASS_DEVICE), MiB);
}

static void reset_frees_but_does_not_release(void **state)
{
	struct records *r = *state;

	CALL(r, cuDevicePrimaryCtxRetain, CTX0, 0);
	CALL(r, cuCtxSetCurrent, CTX0);
	CALL(r, cuMemAlloc_v2, A, MiB);
	CALL(r, cuMemAllocAsync, B, MiB, 0);
	RELEASE(r, cuDevicePrimaryCtxReset_v2, 0);
	assert_int_equal(records_attributed(r), 0);
	CALL(r, cuMemAlloc_v2, A, MiB);
	RELEASE(r, cuDevicePrimaryCtxRelease_v2, 0);
	assert_int_equal(records_attributed(r), 0);
}

static void reset_takes_pools_and_registrations_along(void **state)
{
	struct records *r = *state;

	CALL(r, cuDevicePrimaryCtxRetain, CTX0, 0);
	CALL(r, cuDevicePrimaryCtxRetain, CTX1, 1);
	CALL(r, cuDeviceGetDefaultMemPool, 0x9000, 0);
	CALL(r, cuDeviceGetDefaultMemPool, 0x9001, 1);
	CALL(r, cuCtxSetCurrent, CTX0);
	CALL(r, cuMemAllocAsync, A, MiB, 0);
	CALL(r, cuMemAllocFromPoolAsync, B, MiB, 0x9000, 0);
	CALL(r, cuMemAllocFromPoolAsync, C, MiB, 0x9001, 0);       /* the other device's pool */
	CALL(r, cuMemHostRegister_v2, A + MiB, MiB, 0);
	CALL(r, cuMemCreate, 0x10, MiB, 1, 0, 1);                  /* of no context */
	CALL(r, cuCtxSetCurrent, CTX1);
	CALL(r, cuMemHostRegister_v2, B + MiB, MiB, 0);
	RELEASE(r, cuDevicePrimaryCtxReset_v2, 0);
	assert_int_equal(records_live(r, 1, GMT_CLASS_POOL), 0);
	assert_int_equal(records_live(r, 0, GMT_CLASS_POOL), MiB);
	assert_int_equal(records_live(r, ANY_GPU, GMT_CLASS_REGISTERED), MiB);
	assert_int_equal(records_live(r, 1, GMT_CLASS_VMM), MiB);
}

/* Between the work of a call that ends a context and the call's return, other threads go on. */
static void what_is_new_when_an_end_returns_stays(void **state)
{
	struct records *r = *state;

	CALL(r, cuCtxCreate_v2, CTX0, 0);
	CALL(r, cuMemAlloc_v2, A, KiB);
	RELEASE(r, cuCtxDestroy_v2, CTX0);
	r->tid = 101;
	CALL(r, cuCtxCreate_v2, CTX0, 1);
	CALL(r, cuMemAlloc_v2, A, MiB);
	r->tid = 100;
	CALL(r, cuMemAlloc_v2, B, MiB);
	assert_int_equal(records_live(r, 0, GMT_CLASS_DEVICE), MiB);
	assert_int_equal(records_live(r, 1, GMT_CLASS_DEVICE), 0);
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_DOUBLE_ALLOC), 0);
}

static void a_failed_end_is_taken_back(void **state)
{
	struct records *r = *state;
	uint32_t seq;

	CALL(r, cuDevicePrimaryCtxRetain, CTX0, 0);
	CALL(r, cuCtxSetCurrent, CTX0);
	CALL(r, cuMemAlloc_v2, A, MiB);
	CALL(r, cuArrayCreate_v2, 0xa1, 1000, 0, 1, 1);
	CALL(r, cuIpcOpenMemHandle_v2, B, 0x1234, 1);
	CALL(r, cuIpcOpenMemHandle_v2, B, 0x1234, 1);
	for (int i = 0; i < 3; i++) {
		seq = RELEASE(r, cuDevicePrimaryCtxReset_v2, 0);
		assert_int_equal(records_attributed(r), 0);
		UNDO(r, cuDevicePrimaryCtxReset_v2, seq, 700, 0);
		seq = RELEASE(r, cuDevicePrimaryCtxRelease_v2, 0);
		assert_int_equal(records_attributed(r), 0);
		UNDO(r, cuDevicePrimaryCtxRelease_v2, seq, 700, 0);
		assert_int_equal(records_live(r, 1, GMT_CLASS_DEVICE), MiB);
		assert_int_equal(records_live(r, 1, GMT_CLASS_ARRAY), 1000);
	}
	RELEASE(r, cuIpcCloseMemHandle, B);
	assert_int_equal(records_class(r, 1, GMT_CLASS_IMPORTED).live_count, 1); /* opened twice */
	CALL(r, cuCtxCreate_v2, CTX1, 1);
	seq = RELEASE(r, cuCtxDestroy_v2, CTX1);
	UNDO(r, cuCtxDestroy_v2, seq, 700, CTX1);
	assert_int_equal(gpu_now(r), 0);                           /* the context is still current */
	seq = RELEASE(r, cuDevicePrimaryCtxReset_v2, 0);
	r->tid = 101;
	CALL(r, cuMemAlloc_v2, A, MiB);                            /* so the reset has done its work */
	r->tid = 100;
	UNDO(r, cuDevicePrimaryCtxReset_v2, seq, 700, 0);
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_UNDO_UNKNOWN), 1);
}

/* A free in a callback inside of the end looks like one that follows the end. */
static void frees_soon_after_an_end(void **state)
{
	struct records *r = *state;
	uint32_t seq;

	CALL(r, cuCtxCreate_v2, CTX0, 0);
	CALL(r, cuMemAlloc_v2, A, MiB);
	CALL(r, cuMemAlloc_v2, B, MiB);
	CALL(r, cuMemAlloc_v2, C, MiB);
	seq = RELEASE(r, cuCtxDestroy_v2, CTX0);
	for (int i = 0; i < 2; i++)
		UNDO(r, cuMemFree_v2, RELEASE(r, cuMemFree_v2, A), 1, A);    /* the driver refuses */
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_FREE_UNKNOWN), 0);
	RELEASE(r, cuMemFree_v2, A);
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_FREE_UNKNOWN), 0); /* that was inside */
	RELEASE(r, cuMemFree_v2, A);
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_FREE_UNKNOWN), 1); /* and this was not */
	r->tid = 101;
	CALL(r, cuMemAlloc_v2, B, KiB);                                      /* so the end has done its work there */
	r->tid = 100;
	RELEASE(r, cuMemFree_v2, B);
	RELEASE(r, cuMemFree_v2, B);
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_FREE_UNKNOWN), 2);
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_UNDO_UNKNOWN), 0);
	UNDO(r, cuCtxDestroy_v2, seq, 700, CTX0);
	assert_int_equal(records_live(r, ANY_GPU, GMT_CLASS_DEVICE), MiB);   /* C alone: what replaced B is freed, too */
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_UNDO_UNKNOWN), 1);
}

static void older_recordings_have_ends_at_their_return(void **state)
{
	struct records *r = *state;

	CALL(r, cuCtxCreate_v2, CTX0, 0);
	CALL(r, cuMemAlloc_v2, A, MiB);
	FAIL(r, cuCtxDestroy_v2, 2, CTX0);
	assert_int_equal(records_attributed(r), MiB);
	CALL(r, cuCtxDestroy_v2, CTX0);
	assert_int_equal(r->result, 0);
	assert_int_equal(records_attributed(r), 0);
	assert_int_equal(gpu_now(r), NO_GPU);
}

static void other_contexts_on_the_device_are_not_the_primary_one(void **state)
{
	struct records *r = *state;

	CALL(r, cuDevicePrimaryCtxRetain, CTX0, 0);
	CALL(r, cuCtxCreate_v2, CTX1, 0);
	CALL(r, cuMemAlloc_v2, A, MiB);
	RELEASE(r, cuDevicePrimaryCtxReset_v2, 0);
	assert_int_equal(records_live(r, 1, GMT_CLASS_DEVICE), MiB);
}

static void attached_late_nobody_knows_which_release_is_the_last(void **state)
{
	struct records *r = *state;

	r->tgid = 200;
	records_attach(r, false);
	CALL(r, cuDevicePrimaryCtxRetain, CTX0, 0);
	CALL(r, cuCtxSetCurrent, CTX0);
	CALL(r, cuMemAlloc_v2, A, MiB);
	RELEASE(r, cuDevicePrimaryCtxRelease_v2, 0);
	assert_int_equal(records_attributed(r), MiB);
	RELEASE(r, cuDevicePrimaryCtxReset_v2, 0);
	assert_int_equal(records_attributed(r), 0);
}

/* Beside a reference to the primary context: the memory is at A. */
static void allocate_in_green_context(struct records *r)
{
	CALL(r, cuDevicePrimaryCtxRetain, CTX0, 0);
	CALL(r, cuGreenCtxCreate, GREEN, 0);
	CALL(r, cuCtxFromGreenCtx, 0xc9, GREEN);
	CALL(r, cuCtxSetCurrent, 0xc9);
	CALL(r, cuMemAlloc_v2, A, MiB);
}

static void green_contexts_share_the_primary_contexts_memory(void **state)
{
	struct records *r = *state;

	allocate_in_green_context(r);
	CALL(r, cuGreenCtxStreamCreate, 0x5000, GREEN);
	r->tid = 101;
	CALL(r, cuMemAllocAsync, B, MiB, 0x5000);
	r->tid = 100;
	assert_int_equal(records_live(r, 1, GMT_CLASS_DEVICE), MiB);
	assert_int_equal(records_live(r, 1, GMT_CLASS_POOL), MiB);
	RELEASE(r, cuGreenCtxDestroy, GREEN);
	assert_int_equal(records_live(r, 1, GMT_CLASS_DEVICE), MiB);
	RELEASE(r, cuDevicePrimaryCtxRelease_v2, 0);
	assert_int_equal(records_attributed(r), 0);
}

static void what_a_green_context_leaves_is_not_the_next_contexts(void **state)
{
	struct records *r = *state;

	allocate_in_green_context(r);
	RELEASE(r, cuGreenCtxDestroy, GREEN);
	CALL(r, cuCtxCreate_v4, 0xc9, 0);
	assert_int_equal(records_live(r, 1, GMT_CLASS_DEVICE), MiB);
	CALL(r, cuMemAlloc_v2, B, MiB);
	RELEASE(r, cuCtxDestroy_v2, 0xc9);
	assert_int_equal(records_live(r, 1, GMT_CLASS_DEVICE), MiB);

	CALL(r, cuGreenCtxCreate, GREEN, 1);
	CALL(r, cuCtxFromGreenCtx, 0xc9, GREEN);
	RELEASE(r, cuGreenCtxDestroy, GREEN);
	assert_int_equal(records_live(r, 1, GMT_CLASS_DEVICE), MiB);
	RELEASE(r, cuDevicePrimaryCtxRelease_v2, 0);
	assert_int_equal(records_attributed(r), 0);
}

/* The record of the creation was lost: who uses the handle next is on an unknown GPU. */
static void a_destroyed_green_contexts_gpu_is_forgotten(void **state)
{
	struct records *r = *state;

	allocate_in_green_context(r);
	RELEASE(r, cuGreenCtxDestroy, GREEN);
	CALL(r, cuCtxFromGreenCtx, 0xc9, GREEN);
	CALL(r, cuMemAlloc_v2, B, MiB);
	assert_int_equal(records_live(r, 1, GMT_CLASS_DEVICE), MiB);
	assert_int_equal(records_live(r, NO_GPU, GMT_CLASS_DEVICE), MiB);

	CALL(r, cuGreenCtxCreate, GREEN, 1);
	CALL(r, cuCtxFromGreenCtx, 0xc9, GREEN);
	CALL(r, cuMemAlloc_v2, C, MiB);
	assert_int_equal(records_live(r, 0, GMT_CLASS_DEVICE), MiB);
	assert_int_equal(records_live(r, NO_GPU, GMT_CLASS_DEVICE), MiB);
}

static void a_green_context_that_was_not_destroyed_has_its_gpu(void **state)
{
	struct records *r = *state;

	allocate_in_green_context(r);
	UNDO(r, cuGreenCtxDestroy, RELEASE(r, cuGreenCtxDestroy, GREEN), 700, GREEN);
	CALL(r, cuMemAlloc_v2, B, MiB);
	assert_int_equal(records_live(r, 1, GMT_CLASS_DEVICE), 2 * MiB);
}

static void a_late_attach_learns_the_device_of_a_context(void **state)
{
	struct records *r = *state;

	r->tgid = 200;
	records_attach(r, false);
	CALL(r, cuCtxSetCurrent, CTX0);
	CALL(r, cuMemAlloc_v2, A, MiB);
	CALL(r, cuMemAllocAsync, B, MiB, 0);
	CALL(r, cuArrayCreate_v2, 0xa1, 1000, 0, 1, 1);
	CALL(r, cuMemCreate, 0x10, MiB, 1, 0, 1);
	assert_int_equal(records_live(r, NO_GPU, GMT_CLASS_DEVICE), MiB);
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_GPU_UNKNOWN), 4);
	CALL(r, cuDevicePrimaryCtxRetain, CTX0, 0);
	assert_int_equal(records_live(r, NO_GPU, GMT_CLASS_DEVICE), MiB); /* ordinal 0 of this process is no GPU yet */
	records_device(r, 0, 1);
	struct view_row row;

	assert_false(records_row(r, NO_GPU, &row));
	assert_true(records_row(r, 1, &row));
	assert_int_equal(row.attributed.live, 3 * MiB + 1000);
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_GPU_UNKNOWN), 0);
	RELEASE(r, cuMemFree_v2, A);
	RELEASE(r, cuMemFreeAsync, B, 0);
	RELEASE(r, cuArrayDestroy, 0xa1);
	RELEASE(r, cuMemRelease, 0x10);
	assert_int_equal(records_attributed(r), 0);
}

static void what_stays_unknown_keeps_its_own_peak_only(void **state)
{
	struct records *r = *state;
	struct view_row row;

	r->tgid = 200;
	records_attach(r, false);
	records_device(r, 0, 1);
	CALL(r, cuCtxSetCurrent, CTX0);
	CALL(r, cuMemAlloc_v2, A, MiB);
	r->tid = 101;
	CALL(r, cuMemAllocAsync, B, KiB, 0);
	r->tid = 100;
	CALL(r, cuDevicePrimaryCtxRetain, CTX0, 0); /* this is what tells where A lies */
	assert_int_equal(records_live(r, 1, GMT_CLASS_DEVICE), MiB);
	assert_true(records_row(r, NO_GPU, &row));
	assert_int_equal(row.by_class[GMT_CLASS_DEVICE].bytes.peak, 0);
	assert_int_equal(row.by_class[GMT_CLASS_POOL].bytes.peak, KiB);
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_GPU_UNKNOWN), 1);
}

static void the_kernels_word_comes_first(void **state)
{
	struct records *r = *state;

	records_rm_scene(r);
	CALL(r, cuDevicePrimaryCtxRetain, CTX0, 0);
	CALL(r, cuCtxSetCurrent, CTX0); /* would be the GPU with index 1 */
	records_rm_map(r, 0, A, 2 * MiB, records_rm_memory(r, 0, 2 * MiB));
	CALL(r, cuMemAlloc_v2, A, MiB);
	CALL(r, cuMemAlloc_v2, A + MiB, KiB);
	CALL(r, cuMemAlloc_v2, B, KiB);     /* nothing is mapped there */
	assert_int_equal(records_live(r, 0, GMT_CLASS_DEVICE), MiB + KiB);
	assert_int_equal(records_live(r, 1, GMT_CLASS_DEVICE), KiB);
}

static void a_mapping_tells_the_gpu_of_what_begins_there(void **state)
{
	struct records *r = *state;

	records_rm_scene(r);
	CALL(r, cuMemAlloc_v2, A, MiB);
	assert_int_equal(records_live(r, NO_GPU, GMT_CLASS_DEVICE), MiB);
	records_rm_map(r, 0, A, 2 * MiB, records_rm_memory(r, 0, 2 * MiB));
	assert_int_equal(records_live(r, 0, GMT_CLASS_DEVICE), MiB);
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_GPU_UNKNOWN), 0);
}

static int ledger_only(void **state)
{
	static struct records r;

	records_init(&r);
	records_session(&r, API_LAYER);
	*state = &r;
	return 0;
}

static void the_only_gpu_there_is(void **state)
{
	struct records *r = *state;

	records_gpu(r, 4, 0);
	records_attach(r, false);
	assert_int_equal(gpu_now(r), -3);
	CALL(r, cuMemAlloc_v2, A, MiB);
	assert_int_equal(records_live(r, 4, GMT_CLASS_DEVICE), MiB);
}

static void a_gpu_in_mig_mode_is_not_used_its_instance_is(void **state)
{
	struct records *r = *state;

	records_gpu(r, 0, GMT_GPU_MIG_PARENT);
	records_gpu(r, 5, GMT_GPU_MIG);
	CALL(r, cuMemAlloc_v2, A, MiB);
	assert_int_equal(records_live(r, 5, GMT_CLASS_DEVICE), MiB);
}

static void the_only_gpu_that_nvml_names(void **state)
{
	struct records *r = *state;

	records_gpu(r, 0, 0);
	records_gpu(r, 1, 0);
	records_attach(r, false);
	records_nvml(r, 1, GMT_NVML_BASELINE, GiB);
	assert_int_equal(gpu_now(r), 1);
	records_nvml(r, 0, GMT_NVML_SAMPLE, GiB);
	assert_int_equal(gpu_now(r), NO_GPU); /* two: not a guess */
}

static void mig_instances_have_another_uuid_for_uvm(void **state)
{
	struct records *r = *state;
	struct view_row row;

	records_gpu(r, 0, GMT_GPU_MIG_PARENT);
	records_gpu(r, 5, GMT_GPU_MIG);
	records_gpu(r, 6, GMT_GPU_MIG);
	records_attach(r, true);
	records_device(r, 0, 6);
	r->cause = GMT_API_cuDevicePrimaryCtxRetain;
	records_rm_scene(r); /* names UUIDs of GPUs 0 and 1: 1 is in no inventory, like a GPU instance */
	records_rm_memory(r, 1, MiB);
	assert_true(records_row(r, 6, &row));
	assert_int_equal(row.physical.live, MiB);
}

static void ordinals_out_of_range_are_unknown(void **state)
{
	struct records *r = *state;

	CALL(r, cuDevicePrimaryCtxRetain, CTX0, 0xffffffff);
	RELEASE(r, cuDevicePrimaryCtxRelease_v2, 0xffffffff);
	RELEASE(r, cuDevicePrimaryCtxReset_v2, 300);
	CALL(r, cuDeviceGetUuid_v2, 1, 2, 255);
	CALL(r, cuCtxSetCurrent, CTX0);
	assert_int_equal(gpu_now(r), NO_GPU);
}

static void a_context_lives_until_its_last_detach(void **state)
{
	struct records *r = *state;

	CALL(r, cuGLCtxCreate_v2, CTX0, 0);
	CALL(r, cuMemAlloc_v2, A, MiB);
	CALL(r, cuCtxAttach, CTX0);
	CALL(r, cuCtxAttach, CTX0);
	CALL(r, cuCtxDetach, CTX0);
	CALL(r, cuCtxDetach, CTX0);
	assert_int_equal(records_live(r, 1, GMT_CLASS_DEVICE), MiB);
	assert_int_equal(gpu_now(r), 1);
	CALL(r, cuCtxDetach, CTX0);
	assert_int_equal(records_live(r, 1, GMT_CLASS_DEVICE), 0);
	assert_int_equal(gpu_now(r), NO_GPU);
	CALL(r, cuCtxDetach, CTX1);           /* never seen */
	/* The handle is given out again: the new context has no use of the old one's. */
	CALL(r, cuCtxCreate_v2, CTX0, 0);
	CALL(r, cuCtxAttach, CTX0);
	CALL(r, cuMemAlloc_v2, A, MiB);
	CALL(r, cuCtxDestroy_v2, CTX0);       /* whatever the count of uses is */
	assert_int_equal(records_live(r, 1, GMT_CLASS_DEVICE), 0);
	CALL(r, cuVDPAUCtxCreate_v2, CTX0, 0);
	CALL(r, cuMemAlloc_v2, A, MiB);
	CALL(r, cuCtxDetach, CTX0);
	assert_int_equal(records_live(r, 1, GMT_CLASS_DEVICE), 0);
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_DOUBLE_ALLOC), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, records_api_scene, records_end_scene)
#define BARE(f) cmocka_unit_test_setup_teardown(f, ledger_only, records_end_scene)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_thread_has_a_stack),
		TEST(a_lost_context_is_forgotten),
		TEST(a_new_context_is_current),
		TEST(destroying_a_context_frees_what_is_tied_to_it),
		TEST(a_context_handle_given_out_again_owns_nothing_old),
		TEST(nobody_knows_where_a_handle_given_out_again_unseen_lies),
		TEST(a_failed_end_does_not_place_another_context),
		TEST(a_context_lives_until_its_last_detach),
		TEST(the_last_release_of_the_primary_context_frees),
		TEST(reset_frees_but_does_not_release),
		TEST(reset_takes_pools_and_registrations_along),
		TEST(what_is_new_when_an_end_returns_stays),
		TEST(a_failed_end_is_taken_back),
		TEST(frees_soon_after_an_end),
		TEST(older_recordings_have_ends_at_their_return),
		TEST(other_contexts_on_the_device_are_not_the_primary_one),
		TEST(attached_late_nobody_knows_which_release_is_the_last),
		TEST(green_contexts_share_the_primary_contexts_memory),
		TEST(what_a_green_context_leaves_is_not_the_next_contexts),
		TEST(a_destroyed_green_contexts_gpu_is_forgotten),
		TEST(a_green_context_that_was_not_destroyed_has_its_gpu),
		TEST(a_late_attach_learns_the_device_of_a_context),
		TEST(what_stays_unknown_keeps_its_own_peak_only),
		TEST(the_kernels_word_comes_first),
		TEST(a_mapping_tells_the_gpu_of_what_begins_there),
		BARE(the_only_gpu_there_is),
		BARE(a_gpu_in_mig_mode_is_not_used_its_instance_is),
		BARE(the_only_gpu_that_nvml_names),
		BARE(mig_instances_have_another_uuid_for_uvm),
		BARE(ordinals_out_of_range_are_unknown),
	};

	return cmocka_run_group_tests_name("context", tests, NULL, NULL);
}
