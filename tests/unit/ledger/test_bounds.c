// SPDX-License-Identifier: BSD-2-Clause
/* Bounds of what a recording or a program may make the ledger keep: each at its bound, and with one more, which is counted. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/history/history_marks.h"
#include "core/ledger/ledger_state.h"
#include "core/oom/oom_requests.h"
#include "core/oom/oom_state.h"
#include "core/terms/module_paths.h"
#include "records.h"

#define A 0x7f0000000000ull
#define CONTEXTS_MOST 65535
#define AMOUNT_MOST (1ll << 44)   /* bytes in a picture */
#define STACKS_MOST 1000          /* of a row in a picture */
#define OPEN_MOST 65536           /* ranges */
#define READ_MOST (1u << 18)      /* records of a kind in a picture */

/* Any value may be made a thread's context. Memory of one that has no number is on an unknown GPU, which is counted. */
static void contexts(void **state)
{
	struct records *r = *state;

	for (uint64_t i = 1; i < CONTEXTS_MOST; i++)
		CALL(r, cuCtxSetCurrent, 0xc0 + 16 * i);
	for (int over = 0; over < 2; over++) {
		CALL(r, cuDevicePrimaryCtxRetain, 1 + over, 0);
		CALL(r, cuCtxSetCurrent, 1 + over);
		CALL(r, cuMemAlloc_v2, A + over * MiB, MiB);
		assert_int_equal(records_live(r, 1, GMT_CLASS_DEVICE), MiB);
		assert_int_equal(records_live(r, NO_GPU, GMT_CLASS_DEVICE), over * MiB);
		assert_int_equal(records_anomalies(r, GMT_ANOMALY_GPU_UNKNOWN), over);
	}
	RELEASE(r, cuCtxDestroy_v2, 2);
	RELEASE(r, cuMemFree_v2, A + MiB);
	RELEASE(r, cuMemFree_v2, A);
	assert_int_equal(records_attributed(r), 0);
}

static void limits(void **state)
{
	struct records *r = *state;
	struct gmt_limit rec = { .why = "a reason" };
	struct view view;

	for (int i = 0; i < LIMITS_MAX + 2; i++) {
		snprintf((char *)rec.what, sizeof(rec.what), "limit %d", i);
		records_apply(r, &rec, GMT_KIND_LIMIT, sizeof(rec));
		view_build(r->pipeline, NULL, &view);
		assert_int_equal(view.limits.count, i < LIMITS_MAX ? i + 1 : LIMITS_MAX + 1);
		if (i >= LIMITS_MAX - 1)
			assert_string_equal((char *)view.limits.list[LIMITS_MAX - 1].what, "limit 63");
		if (i >= LIMITS_MAX) {
			assert_string_equal((char *)view.limits.list[LIMITS_MAX].what, "further limits");
			assert_string_equal((char *)view.limits.list[LIMITS_MAX].why, i == LIMITS_MAX ?
					    "1 of them is left out" : "2 of them are left out");
		}
		view_free(&view);
	}
}

static void amounts(void **state)
{
	struct records *r = *state;

	for (int over = 0; over < 2; over++) {
		struct gmt_oom_row row = { .physical = AMOUNT_MOST + over, .context = -AMOUNT_MOST };
		struct gmt_oom_stack stack = { .live = 1, .grown = -AMOUNT_MOST - over };

		records_apply(r, &row, GMT_KIND_OOM_ROW, sizeof(row));
		assert_int_equal(r->result, over ? -EINVAL : 0);
		records_apply(r, &stack, GMT_KIND_OOM_STACK, sizeof(stack));
		assert_int_equal(r->result, over ? -EINVAL : 0);
	}
}

/* The smallest stacks of a row are one sum. */
static void stacks_of_a_picture(void **state)
{
	struct records *r = *state;

	CALL(r, cuDevicePrimaryCtxRetain, 0xc0, 0);
	CALL(r, cuCtxSetCurrent, 0xc0);
	for (uint32_t i = 1; i <= STACKS_MOST + 2; i++) {
		r->stack_id = i;
		CALL(r, cuMemAlloc_v2, A + i * GiB, i * KiB);
		if (i < STACKS_MOST)
			continue;
		FAIL(r, cuMemAlloc_v2, GMT_CUDA_OUT_OF_MEMORY, 0, 100 * GiB);
		r->stack_id = STACKS_MOST / 2;
		CALL(r, cuMemAlloc_v2, A + (2 * STACKS_MOST + i) * GiB, KiB); /* the program goes on */
		struct oom *oom = ooms_take(r->ooms);

		assert_non_null(oom);
		assert_int_equal(oom->rows[0].stacks, STACKS_MOST);
		assert_int_equal(oom->rows[0].rest, i - STACKS_MOST);
		assert_int_equal(oom->rows[0].rest_bytes, (i > STACKS_MOST ? KiB : 0) + (i > STACKS_MOST + 1 ? 2 * KiB : 0));
		assert_int_equal(oom->stacks[0].live, i * KiB);
		oom_free(oom);
	}
}

static void records_of_a_picture(void **state)
{
	struct records *r = *state;
	struct gmt_oom oom = { .hdr = { .kind = GMT_KIND_OOM, .size = sizeof(oom) }, .number = 1 };
	struct gmt_oom_waiting waiting = { .hdr = { .kind = GMT_KIND_OOM_WAITING, .size = sizeof(waiting) },
					   .number = 1, .stack_id = 1, .waiting_id = 2 };

	assert_int_equal(ooms_read(r->ooms, &oom.hdr), 0);
	for (uint32_t i = 0; i < READ_MOST; i++)
		assert_int_equal(ooms_read(r->ooms, &waiting.hdr), 0);
	assert_int_equal(ooms_read(r->ooms, &waiting.hdr), -EINVAL); /* counted as malformed */
}

static uint64_t dropped(struct records *r, enum view_drop drop)
{
	struct view view;
	uint64_t count;

	view_build(r->pipeline, NULL, &view);
	count = view.dropped[drop];
	view_free(&view);
	return count;
}

static void ends_of_stacks(void **state)
{
	struct records *r = *state;
	struct gmt_stack rec = { .id = FRAMES_IDS_MAX, .reason = GMT_UNWIND_END_ROOT };

	CALL(r, cuDevicePrimaryCtxRetain, 0xc0, 0); /* a process */
	for (uint32_t id = 1; id < FRAMES_IDS_MAX; id++)
		hash_put(&r->ledger->stack_ends.by_id, id, NULL);
	for (int over = 0; over < 2; over++) {
		records_apply(r, &rec, GMT_KIND_STACK, sizeof(rec));
		records_apply(r, &rec, GMT_KIND_STACK, sizeof(rec)); /* which comes again */
		assert_int_equal(dropped(r, VIEW_DROP_STACK_ENDS), 2 * over);
		rec.id++;
	}
	hash_clear(&r->ledger->stack_ends.by_id); /* they are of no process */
}

/* Ranges that a program begins and never ends, and such with ever new names. */
static void marks(void **state)
{
	struct gmt_fw_range rec = { .what = GMT_RANGE_BEGIN, .name = "a" };
	struct history_marks m;

	(void)state;
	history_marks_init(&m);
	for (uint32_t i = 0; i <= OPEN_MOST; i++) {
		rec.object = i;
		assert_int_equal(m.dropped, 0);
		history_marks_see(&m, 0, i, &rec);
	}
	assert_int_equal(m.dropped, OPEN_MOST);
	for (uint32_t i = 1; i < HISTORY_MARK_NAMES + 2; i++) {
		snprintf((char *)rec.name, sizeof(rec.name), "%u", i);
		history_marks_see(&m, 0, i, &rec);
	}
	assert_int_equal(m.dropped, OPEN_MOST + 2);
	history_marks_fini(&m);
}

static void paths_of_modules(void **state)
{
	char (*names)[8] = calloc(MODULE_PATHS_MAX + 1, sizeof(*names));
	struct module_paths paths;
	uint32_t last = 0;

	(void)state;
	module_paths_init(&paths);
	for (uint32_t i = 1; i < MODULE_PATHS_MAX; i++) {
		snprintf(names[i], sizeof(names[i]), "%u", i);
		last = module_paths_step(&paths, MODULE_PATHS_NONE, names[i], strlen(names[i]));
	}
	assert_int_equal(last, MODULE_PATHS_MAX - 1);
	assert_int_equal(paths.dropped, 0);
	assert_int_equal(module_paths_step(&paths, last, "x", 1), last);
	assert_int_equal(paths.dropped, 1);
	assert_int_equal(module_paths_step(&paths, MODULE_PATHS_NONE, names[7], 1), 7); /* which is known */
	assert_int_equal(paths.dropped, 1);
	module_paths_fini(&paths);
	free(names);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, records_api_scene, records_end_scene)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(contexts),
		TEST(limits),
		TEST(amounts),
		TEST(stacks_of_a_picture),
		TEST(records_of_a_picture),
		TEST(ends_of_stacks),
		cmocka_unit_test(marks),
		cmocka_unit_test(paths_of_modules),
	};

	return cmocka_run_group_tests_name("bounds", tests, NULL, NULL);
}
