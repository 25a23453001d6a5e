// SPDX-License-Identifier: BSD-2-Clause
/*
 * The history of device memory, and the snapshots made of it, each of which is replayed as PyTorch's viewer does
 * it (viewer.h).
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <time.h>
#include <cmocka.h>

#include "core/view/oom_view.h"
#include "core/snapshot/snapshot_index.h"
#include "history_scene.h"

/* ---- what happens ---- */

static void plain_memory_is_a_segment_with_a_block(void **state)
{
	const struct snapshot *s;
	struct scene c;

	(void)state;
	setup(&c, 100);
	CALL(&c.r, cuDevicePrimaryCtxRetain, 0xc0, 0);
	CALL(&c.r, cuCtxSetCurrent, 0xc0);
	c.r.stack_id = 7;
	CALL(&c.r, cuMemAlloc_v2, BASE, 3 * MiB);
	CALL(&c.r, cuMemAlloc_v2, FAR, MiB);
	CALL(&c.r, cuMemHostAlloc, 0x5000, MiB);      /* is no device memory */
	RELEASE(&c.r, cuMemFree_v2, FAR);
	s = check(&c);
	assert_string_equal(story(s), "SaSarfF");
	assert_int_equal(s->segment_count, 1);
	assert_int_equal(s->segments[0].size, 3 * MiB);
	assert_int_equal(s->segments[0].stack_id, 7);
	assert_int_equal(s->blocks[0].stack_id, 7);
	assert_int_equal(s->events[1].stack_id, 7);
	assert_int_equal(s->events[4].why, SNAPSHOT_WHY_FREED);
	assert_int_equal(s->events[4].stack_id, 7);
	assert_int_equal(s->device_count, 1);
	teardown(&c);
}

static void blocks_lie_in_segments(void **state)
{
	const struct snapshot *s;
	struct scene c;

	(void)state;
	setup(&c, 100);
	c.reserved = 20 * MiB;
	CALL(&c.r, cuMemAlloc_v2, BASE, 20 * MiB);    /* nobody knows on which device */
	block(&c, BASE, 4 * MiB);
	block(&c, BASE + 4 * MiB, 6 * MiB);
	block(&c, BASE, -4 * (int64_t)MiB);
	s = check(&c);
	assert_string_equal(story(s), "Saarf");
	assert_int_equal(s->segment_count, 1);
	assert_int_equal(s->segments[0].active, 6 * MiB);
	assert_int_equal(s->segments[0].block_count, 3);
	assert_false(s->blocks[0].active);
	assert_true(s->blocks[1].active);
	block(&c, BASE + 4 * MiB, -6 * (int64_t)MiB);
	RELEASE(&c.r, cuMemFree_v2, BASE);
	s = check(&c);
	assert_string_equal(story(s), "SaarfrfF");
	assert_int_equal(s->segment_count, 0);
	teardown(&c);
}

static void a_repeated_event_counts_once(void **state)
{
	struct scene c;

	(void)state;
	setup(&c, 100);
	CALL(&c.r, cuMemAlloc_v2, BASE, 20 * MiB);
	block(&c, BASE, 4 * MiB);
	c.allocated -= 4 * MiB;
	block(&c, BASE, 4 * MiB);
	assert_string_equal(story(check(&c)), "Sa");
	teardown(&c);
}

static void pieces_make_one_segment(void **state)
{
	const struct snapshot *s;
	struct scene c;

	(void)state;
	setup(&c, 100);
	map(&c, 1, BASE);
	map(&c, 2, BASE + 2 * MiB);
	block(&c, BASE, 3 * MiB);
	map(&c, 3, BASE + 4 * MiB);
	block(&c, BASE + 3 * MiB, 3 * MiB);
	s = check(&c);
	assert_string_equal(story(s), "MMaMa");
	assert_int_equal(s->segment_count, 1);
	assert_int_equal(s->segments[0].size, 6 * MiB);
	assert_true(s->segments[0].is_expandable && s->is_expandable);
	block(&c, BASE, -3 * (int64_t)MiB);
	RELEASE(&c.r, cuMemUnmap, BASE, 2 * MiB);
	s = check(&c);
	assert_string_equal(story(s), "MMaMarfU");
	assert_int_equal(s->segments[0].address, BASE + 2 * MiB);
	teardown(&c);
}

static void sleeping_blocks_come_back(void **state)
{
	const struct snapshot *s;
	struct scene c;

	(void)state;
	setup(&c, 100);
	map(&c, 1, BASE);
	block(&c, BASE, MiB);
	block(&c, BASE + MiB, MiB / 2);
	RELEASE(&c.r, cuMemUnmap, BASE, 2 * MiB);
	RELEASE(&c.r, cuMemRelease, 1);
	s = check(&c);
	assert_int_equal(s->segment_count, 0);
	block(&c, BASE + MiB, -(int64_t)MiB / 2);
	c.reserved -= 2 * MiB;
	map(&c, 2, BASE);
	s = check(&c);
	assert_int_equal(s->segment_count, 1);
	assert_int_equal(s->segments[0].active, MiB);
	teardown(&c);
}

static void a_failed_release_never_was(void **state)
{
	const struct snapshot *s;
	struct scene c;
	uint32_t seq;

	(void)state;
	setup(&c, 100);
	CALL(&c.r, cuMemAlloc_v2, BASE, 2 * MiB);
	seq = RELEASE(&c.r, cuMemFree_v2, BASE);
	UNDO(&c.r, cuMemFree_v2, seq, 1, BASE);
	s = check(&c);
	assert_string_equal(story(s), "Sa");
	assert_int_equal(s->segment_count, 1);
	teardown(&c);
}

static void contexts_take_memory_along(void **state)
{
	struct scene c;

	(void)state;
	setup(&c, 100);
	CALL(&c.r, cuCtxCreate_v2, 0xc0, 0);
	CALL(&c.r, cuMemAlloc_v2, BASE, 2 * MiB);
	CALL(&c.r, cuCtxDestroy_v2, 0xc0);
	assert_string_equal(story(check(&c)), "SarfF");
	teardown(&c);
}

static void the_end_of_a_process_is_no_event(void **state)
{
	const struct snapshot *s;
	struct scene c;

	(void)state;
	setup(&c, 100);
	CALL(&c.r, cuMemAlloc_v2, BASE, 20 * MiB);
	block(&c, BASE, 4 * MiB);
	records_exit(&c.r, 0);
	s = check(&c);
	assert_string_equal(story(s), "Sa");
	assert_int_equal(s->segments[0].active, 4 * MiB);
	teardown(&c);
	setup(&c, 100);
	CALL(&c.r, cuMemAlloc_v2, BASE, 20 * MiB);
	records_exec(&c.r);
	s = check(&c);
	assert_int_equal(s->event_count + s->segment_count, 0);
	teardown(&c);
}

/* ---- late, and too long ---- */

static void before_attach(void **state)
{
	const struct snapshot *s;
	struct scene c;

	(void)state;
	setup_late(&c);
	block(&c, BASE + 5 * MiB, 6 * MiB);           /* in a segment that nobody saw */
	block(&c, FAR, -10 * (int64_t)MiB);           /* likewise, and the block neither */
	s = check(&c);
	assert_string_equal(story(s), "arf");
	assert_int_equal(s->events[1].why, SNAPSHOT_WHY_BEFORE);
	assert_int_equal(s->segment_count, 3);
	assert_int_equal(s->segments[0].address, BASE + 4 * MiB);
	assert_int_equal(s->segments[0].size, 8 * MiB);
	assert_int_equal(s->segments[0].why, SNAPSHOT_WHY_GUESSED);
	/* The sums are PyTorch's own. */
	assert_int_equal(s->segments[2].why, SNAPSHOT_WHY_UNSEEN);
	assert_int_equal(s->segments[0].active + s->segments[1].active + s->segments[2].active, c.allocated);
	assert_int_equal(s->segments[0].size + s->segments[1].size + s->segments[2].size, c.reserved);
	RELEASE(&c.r, cuMemFree_v2, FAR);
	s = check(&c);
	assert_string_equal(story(s), "arfF");
	teardown(&c);
}

static void only_the_newest_events_are_kept(void **state)
{
	const struct snapshot *s;
	struct scene c;

	(void)state;
	setup(&c, 3);
	c.r.stack_id = 9;
	CALL(&c.r, cuMemAlloc_v2, BASE, 20 * MiB);
	block(&c, BASE, MiB);
	block(&c, BASE + MiB, MiB);
	c.r.stack_id = 0;
	block(&c, BASE + 2 * MiB, MiB);
	block(&c, BASE + MiB, -(int64_t)MiB);
	block(&c, BASE + 2 * MiB, -(int64_t)MiB);
	s = check(&c);
	assert_string_equal(story(s), "arfrf");
	assert_int_equal(s->dropped, 3);
	assert_int_equal(s->events[1].why, SNAPSHOT_WHY_EARLIER);
	assert_int_equal(s->events[1].stack_id, 9);
	assert_int_equal(s->events[3].why, SNAPSHOT_WHY_NO_STACK);
	assert_int_equal(s->segments[0].active, MiB);
	assert_int_equal(s->blocks[0].stack_id, 9);
	teardown(&c);
}

static void what_was_lost_is_said_to_be(void **state)
{
	const struct snapshot *s;
	struct scene c;

	(void)state;
	setup(&c, 100);
	CALL(&c.r, cuMemAlloc_v2, BASE, 2 * MiB);
	RELEASE(&c.r, cuMemFree_v2, BASE);
	block(&c, BASE, MiB);                         /* in a segment whose allocation was lost */
	s = check(&c);
	assert_string_equal(story(s), "SarfFMa");
	assert_int_equal(s->events[5].why, SNAPSHOT_WHY_MISSED);
	teardown(&c);
}

/* ---- out of memory ---- */

static void a_retry_that_works_is_nothing(void **state)
{
	struct scene c;

	(void)state;
	setup(&c, 100);
	CALL(&c.r, cuMemAlloc_v2, BASE, 2 * MiB);
	FAIL(&c.r, cuMemAlloc_v2, 2, 0, 8 * MiB);
	RELEASE(&c.r, cuMemFree_v2, BASE);
	CALL(&c.r, cuMemAlloc_v2, FAR, 8 * MiB);
	assert_string_equal(story(check(&c)), "SarfFSa");
	teardown(&c);
}

static void a_retry_that_fails_is_one_event(void **state)
{
	const struct snapshot *s;
	struct scene c;

	(void)state;
	setup(&c, 100);
	CALL(&c.r, cuCtxCreate_v2, 0xc0, 1);
	c.r.stack_id = 5;
	FAIL(&c.r, cuMemAlloc_v2, 2, 0, 8 * MiB);
	FAIL(&c.r, cuMemAlloc_v2, 2, 0, 8 * MiB);
	FAIL(&c.r, cuMemAlloc_v2, 1, 0, 8 * MiB);     /* another error */
	c.r.stack_id = 0;
	CALL(&c.r, cuMemAlloc_v2, FAR, MiB);          /* caught; something else */
	s = check(&c);
	assert_string_equal(story(s), "OSa");
	assert_int_equal(s->events[0].size, 8 * MiB);
	assert_int_equal(s->events[0].device, 1);
	assert_int_equal(s->events[0].stack_id, 5);
	teardown(&c);
}

static void pieces_that_come_before_the_failure_do_not_hide_it(void **state)
{
	struct scene c;

	(void)state;
	setup(&c, 100);
	for (int i = 0; i < 2; i++) {
		CALL(&c.r, cuMemCreate, 1, 2 * MiB, 1, 0, 1);
		CALL(&c.r, cuMemCreate, 2, 2 * MiB, 1, 0, 1);
		FAIL(&c.r, cuMemCreate, 2, 0, 2 * MiB, 1, 0, 1);
		RELEASE(&c.r, cuMemRelease, 1);
		RELEASE(&c.r, cuMemRelease, 2);
	}
	assert_string_equal(story(check(&c)), "O");
	teardown(&c);
}

static void pytorch_says_what_it_was_asked_for(void **state)
{
	struct gmt_fw_oom report = { .size = 30 * MiB, .device_type = GMT_FW_GPU, .device_index = 1 };
	const struct snapshot *s;
	struct scene c;

	(void)state;
	setup(&c, 100);
	CALL(&c.r, cuMemAlloc_v2, BASE, 2 * MiB);
	FAIL(&c.r, cuMemAlloc_v2, 2, 0, 32 * MiB);
	RELEASE(&c.r, cuMemFree_v2, BASE);
	FAIL(&c.r, cuMemAlloc_v2, 2, 0, 32 * MiB);
	CALL(&c.r, cuMemGetInfo_v2, 5 * MiB, GiB);
	records_apply(&c.r, &report, GMT_KIND_FW_OOM, sizeof(report));
	s = check(&c);
	assert_string_equal(story(s), "SarfFO");      /* where it was raised */
	assert_int_equal(s->events[5].size, 30 * MiB);
	assert_int_equal(s->events[5].device, 1);
	assert_int_equal(s->events[5].address, 5 * MiB);
	/* A limit of its own: no call fails. */
	CALL(&c.r, cuMemAlloc_v2, BASE, 2 * MiB);
	report.size = 7 * MiB;
	records_apply(&c.r, &report, GMT_KIND_FW_OOM, sizeof(report));
	assert_string_equal(story(check(&c)), "SarfFOSaO");
	teardown(&c);
}

/* Of a later version's recording. */
static void nothing_of_a_framework_that_nobody_knows(void **state)
{
	struct gmt_fw_mem block = {
		.delta = MiB, .total_reserved = 2 * MiB, .device_type = GMT_FW_GPU, .framework = GMT_FW_COUNT,
	};
	struct scene c;

	(void)state;
	setup(&c, 100);
	CALL(&c.r, cuMemAlloc_v2, BASE, 2 * MiB);
	for (block.ptr = BASE; block.ptr < BASE + 2 * MiB; block.ptr += MiB) {
		block.total_allocated += MiB;
		records_block_report(&c.r, block);
	}
	assert_string_equal(story(check(&c)), "Sa");
	teardown(&c);
}

static void what_is_met_by_less_is_nothing(void **state)
{
	struct scene c;

	(void)state;
	setup(&c, 100);
	FAIL(&c.r, cuMemAlloc_v2, 2, 0, 100 * MiB);
	CALL(&c.r, cuMemAlloc_v2, BASE, 90 * MiB);    /* XLA's next size */
	FAIL(&c.r, cuMemHostAlloc, 2, 0, 100 * MiB);
	assert_string_equal(story(check(&c)), "Sa");
	teardown(&c);
}

/* ---- anything ---- */

static void what_changed_of_late(void **state)
{
	struct history_changes changes;
	const struct history *h;
	struct scene c;

	(void)state;
	setup(&c, 100);
	h = c.r.history;
	CALL(&c.r, cuMemAlloc_v2, BASE, 20 * MiB);
	c.r.ts_ns += 1000;
	block(&c, BASE, 4 * MiB);
	block(&c, BASE + 4 * MiB, MiB);
	block(&c, BASE, -4 * (int64_t)MiB);
	c.r.tgid = 101;
	records_seen(&c.r, 7);
	CALL(&c.r, cuMemAlloc_v2, FAR, 2 * MiB);
	history_changes(h, 100, h->next, c.r.ts_ns, 500, &changes);
	assert_int_equal(changes.blocks.allocs, 2);
	assert_int_equal(changes.blocks.alloc_bytes, 5 * MiB);
	assert_int_equal(changes.blocks.frees, 1);
	assert_int_equal(changes.blocks.freed_bytes, 4 * MiB);
	assert_int_equal(changes.segments.allocs, 0);         /* longer ago, and the other's */
	assert_int_equal(changes.until_ns, c.r.ts_ns);
	history_changes(h, 0, h->next, c.r.ts_ns, 5000, &changes);
	assert_int_equal(changes.segments.allocs, 2);
	assert_int_equal(changes.segments.alloc_bytes, 22 * MiB);
	history_changes(h, 0, h->next, c.r.ts_ns + 9000, 5000, &changes);
	assert_int_equal(changes.since_ns, 0);
	teardown(&c);
}

static uint64_t cpu_time_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* The CPU time of the snapshots of so many processes, with so many events together. */
static uint64_t time_of_snapshots(uint32_t processes, uint32_t events)
{
	struct snapshot_index x;
	struct scene c;
	uint64_t begin;

	setup(&c, events);
	for (uint32_t i = 0; i < processes; i++) {
		c.r.tgid = c.r.tid = 10000 + i;
		for (uint32_t n = 0; n < events / processes; n += 2) {
			CALL(&c.r, cuMemAlloc_v2, BASE, MiB);
			RELEASE(&c.r, cuMemFree_v2, BASE);
		}
	}
	begin = cpu_time_ns();
	snapshot_index_init(&x, c.r.history);
	for (uint32_t i = 0; i < processes; i++) {
		snapshot_free(&c.s);
		snapshot_build_from(&x, i, &c.s);
		assert_int_equal(c.s.event_count, events / processes / 2 * 5);
		assert_int_equal(c.s.events[0].ts_ns, history_event(c.r.history, (uint64_t)i * (events / processes))->ts_ns);
	}
	snapshot_index_fini(&x);
	begin = cpu_time_ns() - begin;
	teardown(&c);
	return begin;
}

/* The time depends on the events, not on the number of processes times the events. */
static void many_processes(void **state)
{
	uint64_t few = time_of_snapshots(200, 80000), many = time_of_snapshots(20000, 80000);

	(void)state;
	print_message("# CPU time of the snapshots of 200 and of 20,000 processes: %.3f s, %.3f s\n", few / 1e9, many / 1e9);
	assert_true(many < few * 20);
}

/* Records without sense, as if most had been lost: no snapshot is ever wrong in itself. */
static void nonsense(void **state)
{
	struct scene c;

	(void)state;
	for (uint32_t round = 0; round < 400; round++) {
		seed = round;
		setup(&c, 20 + below(200));
		c.allocated = c.reserved = GiB;
		for (int i = 0; i < 150; i++)
			one_record(&c);
		if (c.r.history->process_count)
			check(&c);
		teardown(&c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_memory_is_a_segment_with_a_block),
		cmocka_unit_test(blocks_lie_in_segments),
		cmocka_unit_test(a_repeated_event_counts_once),
		cmocka_unit_test(pieces_make_one_segment),
		cmocka_unit_test(sleeping_blocks_come_back),
		cmocka_unit_test(a_failed_release_never_was),
		cmocka_unit_test(contexts_take_memory_along),
		cmocka_unit_test(the_end_of_a_process_is_no_event),
		cmocka_unit_test(before_attach),
		cmocka_unit_test(only_the_newest_events_are_kept),
		cmocka_unit_test(what_was_lost_is_said_to_be),
		cmocka_unit_test(a_retry_that_works_is_nothing),
		cmocka_unit_test(a_retry_that_fails_is_one_event),
		cmocka_unit_test(pieces_that_come_before_the_failure_do_not_hide_it),
		cmocka_unit_test(pytorch_says_what_it_was_asked_for),
		cmocka_unit_test(nothing_of_a_framework_that_nobody_knows),
		cmocka_unit_test(what_is_met_by_less_is_nothing),
		cmocka_unit_test(what_changed_of_late),
		cmocka_unit_test(many_processes),
		cmocka_unit_test(nonsense),
	};

	return cmocka_run_group_tests_name("history", tests, NULL, NULL);
}
