// SPDX-License-Identifier: BSD-2-Clause
/* The ledger's door: what it refuses, what it skips, and the lives of processes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "core/ledger/operations.h"
#include "live_allocs.h"
#include "records.h"

#define A 0x7f0000000000ull
#define CTX0 0xc0ull

static int scene(void **state)
{
	static struct records r;

	records_scene(&r, API_LAYER);
	CALL(&r, cuDevicePrimaryCtxRetain, CTX0, 0);
	CALL(&r, cuCtxSetCurrent, CTX0);
	*state = &r;
	return 0;
}

static struct view look(const struct records *r)
{
	struct view view;

	view_build(r->pipeline, NULL, &view);
	return view;
}

/* ---- malformed and unknown records ---- */

#define X(name, value, type, text) { value, sizeof(struct type) },
static const struct {
	uint16_t kind, size;
} all_kinds[] = { GMT_KINDS(X) };
#undef X

/* Records whose id or size is never 0: zeros are none (test_by_stack.c, test_phases.c, test_history_dump.c). */
static bool has_id(uint16_t kind)
{
	return kind == GMT_KIND_STACK || kind == GMT_KIND_SYMBOL || kind == GMT_KIND_STACK_FRAMES ||
	       kind == GMT_KIND_FW_RANGE || kind == GMT_KIND_HISTORY_RANGE || kind == GMT_KIND_OOM_STACK ||
	       kind == GMT_KIND_OOM_WAITING;
}

static void every_kind_is_refused_when_it_is_too_short(void **state)
{
	struct records *r = *state;
	uint64_t words[512] = { 0 };

	for (size_t i = 0; i < sizeof(all_kinds) / sizeof(all_kinds[0]); i++) {
		/* Of losses a reader takes as many as there are. */
		size_t least = all_kinds[i].kind == GMT_KIND_LOSS ? sizeof(struct gmt_hdr) : all_kinds[i].size;

		records_apply(r, words, all_kinds[i].kind, least - 8);
		assert_int_equal(r->result, -EINVAL);
		if (has_id(all_kinds[i].kind))
			continue;
		records_apply(r, words, all_kinds[i].kind, all_kinds[i].size);
		assert_int_equal(r->result, 0);
		records_apply(r, words, all_kinds[i].kind, all_kinds[i].size + 8);
		/* A newer version may append; a call must not have more values than its operation has fields. */
		assert_int_equal(r->result, 0);
		r->tgid++;
	}
	struct view view = look(r);

	assert_int_equal(view.records_malformed, sizeof(all_kinds) / sizeof(all_kinds[0]));
	assert_int_equal(view_lost(&view), view.records_malformed);
	view_free(&view);
}

static void an_operation_is_in_one_table(void **state)
{
	static const struct operation *const tables[] = {
#define X(table) table,
		OPERATION_TABLES(X)
#undef X
	};

	(void)state;
	for (unsigned int op = 0; op < GMT_OP_COUNT; op++) {
		unsigned int found = 0;

		for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
			found += tables[i][op].apply != NULL;
		assert_in_range(found, 0, 1);
	}
}

static void sizes_that_lie_are_refused(void **state)
{
	struct records *r = *state;
	struct gmt_end end = { .hdr = { .size = sizeof(end), .kind = GMT_KIND_END } };

	assert_int_equal(ledger_apply(r->ledger, &end, sizeof(end)), 0);
	assert_int_equal(ledger_apply(r->ledger, &end, sizeof(end) - 8), -EINVAL);
	assert_int_equal(ledger_apply(r->ledger, &end, 0), -EINVAL);
	assert_int_equal(ledger_apply(r->ledger, &end, 7), -EINVAL);
	end.hdr.size = 36;
	assert_int_equal(ledger_apply(r->ledger, &end, 36), -EINVAL);
	end.hdr.size = 0;
	assert_int_equal(ledger_apply(r->ledger, &end, sizeof(end)), -EINVAL);
}

static void calls_with_too_many_values_or_a_wrong_phase_are_refused(void **state)
{
	struct records *r = *state;

	CALL(r, cuMemAlloc_v2, A, MiB, 7);
	assert_int_equal(r->result, -EINVAL);
	CALL(r, cuMemFree_v2, A); /* a release is entered, not done */
	assert_int_equal(r->result, -EINVAL);
	RELEASE(r, cuMemAlloc_v2, A, MiB);
	assert_int_equal(r->result, -EINVAL);
	UNDO(r, cuMemAlloc_v2, 1, 2, A, MiB);
	assert_int_equal(r->result, -EINVAL);
	struct {
		struct gmt_call call;
		uint64_t val;
	} rec = { .call = { .api = GMT_API_cuMemFree_v2, .phase = 3 } };

	records_apply(r, &rec, GMT_KIND_CALL, sizeof(rec));
	assert_int_equal(r->result, 0);   /* a phase of a newer version */
	assert_int_equal(records_live(r, ANY_GPU, GMT_CLASS_DEVICE), 0);
}

static void records_about_nobody_are_refused(void **state)
{
	struct records *r = *state;

	r->tgid = 0;
	CALL(r, cuMemAlloc_v2, A, MiB);
	assert_int_equal(r->result, -EINVAL);
	records_attach(r, true);
	assert_int_equal(r->result, -EINVAL);
}

static void unknown_kinds_and_entry_points_are_skipped_and_counted(void **state)
{
	struct records *r = *state;
	uint64_t words[8] = { 0 };

	records_apply(r, words, 77, sizeof(words));
	assert_int_equal(r->result, 0);
	records_apply(r, words, 0, sizeof(words));
	records_apply(r, words, 0x801d, sizeof(words));
	records_call(r, GMT_API_MAX, 0, 8, words);    /* an id of a newer table */
	records_call(r, 60000, 0, 0, NULL);
	assert_int_equal(r->result, 0);
	struct view view = look(r);

	assert_int_equal(view.records_unknown, 5);
	assert_int_equal(view_lost(&view), 0);
	view_free(&view);
}

static void text_without_an_end_is_cut(void **state)
{
	struct records *r = *state;
	struct gmt_session session;
	struct gmt_proc proc;
	struct gmt_gpu gpu;
	struct gmt_library library;

	memset(&session, 'x', sizeof(session));
	memset(&proc, 'x', sizeof(proc));
	memset(&gpu, 'x', sizeof(gpu));
	memset(&library, 'x', sizeof(library));
	proc.start_ns = 0;
	records_apply(r, &session, GMT_KIND_SESSION, sizeof(session));
	records_apply(r, &proc, GMT_KIND_PROC, sizeof(proc));
	records_apply(r, &gpu, GMT_KIND_GPU, sizeof(gpu));
	records_apply(r, &library, GMT_KIND_LIBRARY, sizeof(library));
	struct view view = look(r);

	assert_int_equal(strlen((const char *)view.session.why_no_nvml), sizeof(session.why_no_nvml) - 1);
	assert_int_equal(strlen((const char *)view.session.version), sizeof(session.version) - 1);
	assert_int_equal(strlen(view.procs[0].comm), GMT_COMM_BYTES);
	assert_int_equal(strlen(view.procs[0].cmdline), sizeof(view.procs[0].cmdline) - 1);
	assert_int_equal(strlen(view.gpus[2].name), sizeof(view.gpus[2].name) - 1);
	assert_int_equal(view.library_count, 1);
	assert_int_equal(strlen((const char *)view.libraries[0].path), sizeof(library.path) - 1);
	view_free(&view);
}

static void a_misaligned_record_is_read_all_the_same(void **state)
{
	struct records *r = *state;
	struct {
		struct gmt_call call;
		uint64_t val[2];
	} rec = { .call = { .hdr = { sizeof(rec), GMT_KIND_CALL, 100, 100, 0, 5000 }, .api = GMT_API_cuMemAlloc_v2 },
		  .val = { A, MiB } };
	unsigned char bytes[sizeof(rec) + 3];

	memcpy(bytes + 3, &rec, sizeof(rec));
	assert_int_equal(ledger_apply(r->ledger, bytes + 3, sizeof(rec)), 0);
	assert_int_equal(records_live(r, 1, GMT_CLASS_DEVICE), MiB);
}

static void missing_values_are_zero(void **state)
{
	struct records *r = *state;

	CALL(r, cuMemHostAlloc, A, MiB);                 /* no flags */
	records_call(r, GMT_API_cuMemAlloc_v2, 0, 0, NULL); /* nothing at all */
	assert_int_equal(r->result, 0);
	assert_int_equal(records_live(r, ANY_GPU, GMT_CLASS_PINNED), MiB);
	assert_int_equal(records_class(r, ANY_GPU, GMT_CLASS_DEVICE).allocs, 0);
}

static void losses_are_totals_that_only_grow(void **state)
{
	struct records *r = *state;
	struct gmt_loss loss = { .count = { [GMT_LOSS_RING_FULL] = 7, [GMT_LOSS_UNREADABLE] = 2 } };

	records_apply(r, &loss, GMT_KIND_LOSS, sizeof(loss));
	records_apply(r, &loss, GMT_KIND_LOSS, sizeof(loss));
	struct gmt_loss fewer = { .count = { [GMT_LOSS_RING_FULL] = 9 } };

	records_apply(r, &fewer, GMT_KIND_LOSS, sizeof(struct gmt_hdr) + 8); /* an older version's */
	struct view view = look(r);

	assert_int_equal(view.loss[GMT_LOSS_RING_FULL], 9);
	assert_int_equal(view.loss[GMT_LOSS_UNREADABLE], 2);
	assert_int_equal(view_lost(&view), 11);
	view_free(&view);
}

static void a_later_limit_replaces_an_earlier_one(void **state)
{
	struct records *r = *state;
	struct gmt_limit limits[] = { { .what = "stacks", .why = "1" }, { .what = "names" }, { .what = "stacks", .why = "2" } };

	for (int i = 0; i < 3; i++)
		records_apply(r, &limits[i], GMT_KIND_LIMIT, sizeof(limits[i]));
	struct view view = look(r);

	assert_int_equal(view.limits.count, 2);
	assert_string_equal((const char *)view.limits.list[0].why, "2");
	view_free(&view);
}

/* ---- processes ---- */

static void exit_frees_everything_and_keeps_what_was(void **state)
{
	struct records *r = *state;

	CALL(r, cuMemAlloc_v2, A, MiB);
	CALL(r, cuMemCreate, 0x10, MiB, 1, 0, 1);
	CALL(r, cuMemHostAlloc, A + MiB, MiB, 0);
	records_exit(r, 9);
	struct view view = look(r);
	const struct view_proc *p = &view.procs[0];

	assert_true(p->exited);
	assert_int_equal(p->exit_code, 9);
	/* Nobody freed them: that is what a leak looks like, so the report can tell. */
	assert_int_equal(live_allocs(r->ledger), 0);
	assert_int_equal(p->rows[0].attributed.live, 2 * MiB);
	assert_int_equal(p->rows[0].attributed.peak, 2 * MiB);
	assert_int_equal(p->by_class[GMT_CLASS_PINNED].bytes.live, MiB);
	assert_int_equal(p->by_class[GMT_CLASS_DEVICE].frees, 0);
	assert_int_equal(p->by_class[GMT_CLASS_DEVICE].live_count, 1);
	view_free(&view);
	assert_int_equal(live_allocs(r->ledger), 0);
}

static void what_comes_after_the_exit_is_counted(void **state)
{
	struct records *r = *state;

	records_exit(r, 0);
	CALL(r, cuMemAlloc_v2, A, MiB);
	records_nvml(r, 0, GMT_NVML_SAMPLE, GiB); /* the collector's words are no riddle */
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_AFTER_EXIT), 1);
	assert_int_equal(records_attributed(r), 0);
	struct view view = look(r);

	assert_int_equal(view.proc_count, 1);
	view_free(&view);
}

static void exec_drops_everything_and_starts_anew(void **state)
{
	struct records *r = *state;

	r->tgid = 200;
	records_attach(r, false);
	records_nvml(r, 0, GMT_NVML_BASELINE, GiB);
	CALL(r, cuMemAlloc_v2, A, MiB);
	records_exec(r);
	struct view view = look(r);
	const struct view_proc *p = &view.procs[1];

	assert_int_equal(view.proc_count, 2);
	assert_false(p->exited);
	assert_true(p->from_start); /* of the new program nothing was missed */
	assert_string_equal(p->comm, "next");
	assert_int_equal(p->by_class[GMT_CLASS_DEVICE].bytes.live, 0);
	assert_int_equal(p->rows[0].before_attach, 0);
	view_free(&view);
	RELEASE(r, cuMemFree_v2, A);
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_FREE_UNKNOWN), 1);
}

static void a_child_inherits_nothing(void **state)
{
	struct records *r = *state;

	records_proc(r, 5, "parent");
	CALL(r, cuMemAlloc_v2, A, MiB);
	records_fork(r, 300, 77);
	struct view view = look(r);

	assert_int_equal(view.proc_count, 1); /* it has done nothing with a GPU */
	view_free(&view);
	r->tgid = r->tid = 300;
	CALL(r, cuMemAlloc_v2, A, KiB);
	view = look(r);
	assert_int_equal(view.proc_count, 2);
	assert_true(view.procs[1].from_start);
	assert_int_equal(view.procs[1].start_ns, 77);
	assert_string_equal(view.procs[1].comm, "parent");
	assert_int_equal(view.procs[1].by_class[GMT_CLASS_DEVICE].bytes.live, KiB);
	assert_int_equal(view.procs[0].by_class[GMT_CLASS_DEVICE].bytes.live, MiB);
	view_free(&view);
}

static void a_reused_pid_is_a_second_process(void **state)
{
	struct records *r = *state;

	records_proc(r, 5, "first");
	CALL(r, cuMemAlloc_v2, A, MiB);
	records_exit(r, 0);
	records_fork(r, 100, 99);
	CALL(r, cuMemAlloc_v2, A, 2 * MiB);
	assert_int_equal(records_anomalies(r, GMT_ANOMALY_DOUBLE_ALLOC), 0);
	/* Also where the exit was missed: another start time, another process. */
	records_proc(r, 200, "third");
	CALL(r, cuMemAlloc_v2, A, 4 * MiB);
	struct view view = look(r);

	assert_int_equal(view.proc_count, 3);
	assert_true(view.procs[1].exited);
	assert_int_equal(view.procs[0].by_class[GMT_CLASS_DEVICE].bytes.peak, MiB);
	assert_int_equal(view.procs[1].by_class[GMT_CLASS_DEVICE].bytes.peak, 2 * MiB);
	assert_int_equal(view.procs[2].by_class[GMT_CLASS_DEVICE].bytes.live, 4 * MiB);
	assert_int_equal(view.procs[2].start_ns, 200);
	view_free(&view);
}

/* A start time is cut to 10 ms: a short process and the next of its pid may have the same. */
static void a_reused_pid_with_the_same_start_time(void **state)
{
	struct records *r = *state;

	for (uint64_t i = 0; i < 4; i++) {
		if (i % 2)
			records_fork(r, 100, 5);
		else
			records_seen(r, 5);
		records_proc(r, 5, "short");
		records_attach(r, true);
		CALL(r, cuMemAlloc_v2, A, MiB << i);
		records_exit(r, (int)i << 8);
		records_proc(r, 5, "short"); /* words about the dead */
	}
	struct view view = look(r);

	assert_int_equal(view.proc_count, 4);
	for (int i = 0; i < 4; i++) {
		assert_true(view.procs[i].exited);
		assert_int_equal(view.procs[i].exit_code, i << 8);
		assert_int_equal(view.procs[i].by_class[GMT_CLASS_DEVICE].bytes.peak, (uint64_t)MiB << i);
	}
	assert_int_equal(view.anomalies[GMT_ANOMALY_AFTER_EXIT], 0);
	assert_int_equal(view.anomalies[GMT_ANOMALY_DOUBLE_ALLOC], 0);
	view_free(&view);
}

static void facts_that_come_again_are_the_same_process(void **state)
{
	struct records *r = *state;

	CALL(r, cuMemAlloc_v2, A, MiB);
	records_proc(r, 5, "first");
	records_proc(r, 5, "renamed");
	struct view view = look(r);

	assert_int_equal(view.proc_count, 1);
	assert_string_equal(view.procs[0].comm, "renamed");
	assert_int_equal(view.procs[0].ns_pid, 7);
	assert_int_equal(view.procs[0].uid, 1000);
	assert_int_equal(view.procs[0].by_class[GMT_CLASS_DEVICE].bytes.live, MiB);
	view_free(&view);
}

static void a_process_that_nobody_could_ask_has_its_pid_only(void **state)
{
	struct records *r = *state;

	records_proc(r, 5, "first");
	records_proc(r, 0, "");
	records_exit(r, 0);
	records_proc(r, 5, "first"); /* words about the dead */
	records_proc(r, 0, "");      /* the next one of its pid, gone before it was asked */
	records_attach(r, true);
	CALL(r, cuMemAlloc_v2, A, MiB);
	struct view view = look(r);

	assert_int_equal(view.proc_count, 2);
	assert_string_equal(view.procs[0].comm, "first");
	assert_string_equal(view.procs[1].comm, "");
	assert_int_equal(view.procs[1].by_class[GMT_CLASS_DEVICE].bytes.live, MiB);
	assert_int_equal(view.anomalies[GMT_ANOMALY_AFTER_EXIT], 0);
	view_free(&view);
}

static void processes_are_kept_apart(void **state)
{
	struct records *r = *state;

	CALL(r, cuMemAlloc_v2, A, MiB);
	r->tgid = r->tid = 101;
	CALL(r, cuMemAlloc_v2, A, 2 * MiB);
	RELEASE(r, cuMemFree_v2, A);
	assert_int_equal(records_live(r, ANY_GPU, GMT_CLASS_DEVICE), 0);
	r->tgid = 100;
	assert_int_equal(records_live(r, ANY_GPU, GMT_CLASS_DEVICE), MiB);
}

static void many_processes(void **state)
{
	struct records *r = *state;

	for (uint32_t i = 0; i < 3000; i++) {
		r->tgid = r->tid = 1000 + i % 1000;
		CALL(r, cuMemAlloc_v2, A + i * MiB, KiB);
	}
	for (uint32_t i = 0; i < 1000; i += 111) {
		r->tgid = 1000 + i;
		assert_int_equal(records_live(r, ANY_GPU, GMT_CLASS_DEVICE), 3 * KiB);
	}
	assert_int_equal(live_allocs(r->ledger), 3000);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, scene, records_end_scene)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(every_kind_is_refused_when_it_is_too_short),
		TEST(an_operation_is_in_one_table),
		TEST(sizes_that_lie_are_refused),
		TEST(calls_with_too_many_values_or_a_wrong_phase_are_refused),
		TEST(records_about_nobody_are_refused),
		TEST(unknown_kinds_and_entry_points_are_skipped_and_counted),
		TEST(text_without_an_end_is_cut),
		TEST(a_misaligned_record_is_read_all_the_same),
		TEST(missing_values_are_zero),
		TEST(losses_are_totals_that_only_grow),
		TEST(a_later_limit_replaces_an_earlier_one),
		TEST(exit_frees_everything_and_keeps_what_was),
		TEST(what_comes_after_the_exit_is_counted),
		TEST(exec_drops_everything_and_starts_anew),
		TEST(a_child_inherits_nothing),
		TEST(a_reused_pid_is_a_second_process),
		TEST(a_reused_pid_with_the_same_start_time),
		TEST(facts_that_come_again_are_the_same_process),
		TEST(a_process_that_nobody_could_ask_has_its_pid_only),
		TEST(processes_are_kept_apart),
		TEST(many_processes),
	};

	return cmocka_run_group_tests_name("ledger", tests, NULL, NULL);
}
