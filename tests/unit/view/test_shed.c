// SPDX-License-Identifier: BSD-2-Clause
/* What is given up when gpumemtrace's own memory is short: the bytes stay exact; stacks, events, single
 * lives and names go. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "by_letter.h"
#include "core/ledger/ledger_state.h"
#include "core/lives/kept_lives.h"
#include "core/lives/lives.h"

#define A 0x7f0000000000ull

static void shed(struct records *r, uint32_t step)
{
	struct gmt_memory rec = { .tracer_bytes = 90 * MiB, .most_bytes = 95 * MiB, .bound_bytes = 100 * MiB, .shed = step };

	records_apply(r, &rec, GMT_KIND_MEMORY, sizeof(rec));
}

static void allocate(struct records *r, uint64_t address, uint64_t bytes, uint32_t stack_id)
{
	r->stack_id = stack_id;
	CALL(r, cuMemAlloc_v2, address, bytes);
	r->stack_id = 0;
}

static void name_stacks(struct records *r)
{
	records_symbol(r, 1, "anna_alloc", "/opt/libanna.so", "anna.c", 12);
	records_symbol(r, 2, "bert", "", "/src/bert.py", 7);
	FRAMES(r, 11, 1);
	FRAMES(r, 12, 2);
}

static uint64_t owned(const struct records *r, const char *owner)
{
	const struct view_stacks *s;
	struct view view;
	uint64_t live = 0;

	view = look(r);
	s = &view.procs[0].rows[0].stacks;
	for (size_t i = 0; i < s->owner_count; i++)
		if (!strcmp(view.owners[s->owners[i].owner].text, owner))
			live = s->owners[i].held.live;
	view_free(&view);
	return live;
}

static void new_stacks_are_none(void **state)
{
	struct records r;
	struct view view;

	(void)state;
	records_scene(&r, API_LAYER);
	name_stacks(&r);
	allocate(&r, A, MiB, 11);
	shed(&r, GMT_SHED_STACKS);
	allocate(&r, A + GiB, 2 * MiB, 11);     /* known before */
	allocate(&r, A + 2 * GiB, 4 * MiB, 12);
	assert_int_equal(owned(&r, "Anna"), 3 * MiB);
	assert_int_equal(owned(&r, "Bert"), 0);
	view = look(&r);
	assert_int_equal(held_by(&view, &view.procs[0].rows[0].stacks, VIEW_BY_LIVE, "anna_alloc").live_count, 2);
	view_free(&view);
	assert_int_equal(owned(&r, "(without a stack)"), 4 * MiB);
	RELEASE(&r, cuMemFree_v2, A + 2 * GiB);
	assert_int_equal(owned(&r, "(without a stack)"), 0);
	assert_int_equal(records_attributed(&r), 3 * MiB);
	r.tgid = r.tid = 200;                   /* a process that comes later */
	records_attach(&r, true);
	allocate(&r, A, 8 * MiB, 13);
	assert_int_equal(process_newest(&r.ledger->processes, 200)->account.rows[0].stacks.list[0].id, 0);
	records_fini(&r);
}

static void names_go(void **state)
{
	struct records r;
	struct view view;

	(void)state;
	records_scene(&r, API_LAYER);
	name_stacks(&r);
	allocate(&r, A, MiB, 11);
	shed(&r, GMT_SHED_NAMES);
	assert_int_equal(owned(&r, "Anna"), 0);
	assert_int_equal(owned(&r, "(not named)"), MiB);
	records_symbol(&r, 3, "anna_again", "/opt/libanna.so", "anna.c", 13);
	FRAMES(&r, 11, 3);
	assert_int_equal(owned(&r, "(not named)"), MiB);
	view_build(r.pipeline, NULL, &view);
	assert_int_equal(view.dropped[VIEW_DROP_NAMES], 2 + 1 + 1);
	assert_int_equal(view.memory.shed, GMT_SHED_NAMES);
	assert_int_equal(view.memory.most_bytes, 95 * MiB);
	view_free(&view);
	records_fini(&r);
}

static void events_go(void **state)
{
	struct records r;

	(void)state;
	records_scene_history(&r, API_LAYER, 5000);
	for (uint64_t i = 0; i < 3000; i++)
		allocate(&r, A + i * MiB, MiB, 0);
	assert_true(r.history->next - r.history->first >= 3000);
	shed(&r, GMT_SHED_STACKS);
	assert_true(r.history->next - r.history->first >= 3000);
	shed(&r, GMT_SHED_EVENTS);
	assert_true(r.history->next == r.history->first && !r.history->events);
	for (uint64_t i = 0; i < 3000; i++)
		RELEASE(&r, cuMemFree_v2, A + i * MiB);
	assert_true(r.history->next - r.history->first == r.history->capacity);
	assert_int_equal(r.history->capacity, 1024);
	records_fini(&r);
}

/* ---- single lives ---- */

#define LIVES 3000
#define LATER 10000          /* more than may go on once memory was short */

static void count_life(void *count, const struct life *life)
{
	++*(uint64_t *)count;
	assert_int_equal(life->bytes, MiB);
}

static uint64_t alive_of(const struct records *r)
{
	uint64_t count = 0;
	const struct life_taker taker = { .arg = &count, .allocation = count_life, .block = count_life };

	lives_each_alive(r->pipeline->lives, &taker);
	return count;
}

static void allocate_many(struct records *r, uint64_t first, uint64_t count)
{
	for (uint64_t i = first; i < first + count; i++)
		allocate(r, A + i * MiB, MiB, 0);
}

static void check_lives(const struct records *r, size_t least, uint64_t all, bool is_short)
{
	struct kept_shown shown;
	uint64_t seen;

	kept_lives_show(r->pipeline->kept_lives, r->pipeline->lives, &shown);
	seen = shown.unseen;
	for (size_t i = 0; i < shown.seen_count; i++)
		seen += shown.seen[i].lives;
	assert_int_equal(seen, all);
	assert_true(shown.count >= least && shown.count <= seen);
	assert_int_equal(shown.shed_ns != 0, is_short);
	kept_shown_free(&shown);
}

static void single_lives_go(void **state)
{
	struct kept_shown shown;
	struct records r;

	(void)state;
	records_scene_with(&r, API_LAYER, &(struct pipeline_options){ .keeps_lives = true });
	allocate_many(&r, 0, LIVES);
	for (uint64_t i = 0; i < LIVES / 2; i++)
		RELEASE(&r, cuMemFree_v2, A + i * MiB);
	shed(&r, GMT_SHED_STACKS);
	assert_int_equal(alive_of(&r), LIVES / 2);
	check_lives(&r, 1000, LIVES, false);
	shed(&r, GMT_SHED_EVENTS);
	assert_int_equal(alive_of(&r), 0);
	kept_lives_show(r.pipeline->kept_lives, r.pipeline->lives, &shown);
	assert_true(!shown.count && !shown.moment_count && shown.moments_left_out);
	kept_shown_free(&shown);
	for (uint64_t i = LIVES / 2; i < LIVES; i++)
		RELEASE(&r, cuMemFree_v2, A + i * MiB);
	check_lives(&r, 0, LIVES, true);
	allocate_many(&r, 0, LATER);
	assert_in_range(alive_of(&r), 1, LATER / 2);
	check_lives(&r, 100, LIVES + LATER, true);
	for (uint64_t i = 0; i < LATER; i++)
		RELEASE(&r, cuMemFree_v2, A + i * MiB);
	check_lives(&r, 100, LIVES + LATER, true);
	assert_int_equal(records_attributed(&r), 0);
	records_fini(&r);
}

/* Another taker writes each life down: what is alive stays, and what is shown goes. */
static void lives_that_are_needed_stay(void **state)
{
	uint64_t told = 0;
	const struct life_taker taker = { .arg = &told, .allocation = count_life, .block = count_life };
	struct records r;

	(void)state;
	records_scene_with(&r, API_LAYER, &(struct pipeline_options){ .keeps_lives = true });
	pipeline_tell(r.pipeline, &taker);
	allocate_many(&r, 0, LIVES);
	shed(&r, GMT_SHED_EVENTS);
	assert_int_equal(alive_of(&r), LIVES);
	for (uint64_t i = 0; i < LIVES; i++)
		RELEASE(&r, cuMemFree_v2, A + i * MiB);
	assert_int_equal(told, LIVES);
	check_lives(&r, 100, LIVES, true);
	records_fini(&r);
}

static void all_lives_stay(void **state)
{
	struct records r;

	(void)state;
	records_scene_with(&r, API_LAYER, &(struct pipeline_options){ .keeps_lives = true, .keeps_all_lives = true });
	allocate_many(&r, 0, LIVES);
	shed(&r, GMT_SHED_EVENTS);
	assert_int_equal(alive_of(&r), LIVES);
	RELEASE(&r, cuMemFree_v2, A);
	check_lives(&r, LIVES, LIVES, false);
	records_fini(&r);
}

static void a_step_is_not_taken_back(void **state)
{
	struct records r;

	(void)state;
	records_scene(&r, API_LAYER);
	shed(&r, GMT_SHED_STACKS);
	shed(&r, GMT_SHED_READERS);
	assert_int_equal(r.result, 0);
	assert_int_equal(r.ledger->memory.shed, GMT_SHED_STACKS);
	shed(&r, GMT_SHED_COUNT);
	assert_int_equal(r.result, -EINVAL);
	assert_int_equal(r.ledger->memory.shed, GMT_SHED_STACKS);
	records_fini(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(new_stacks_are_none),
		cmocka_unit_test(names_go),
		cmocka_unit_test(events_go),
		cmocka_unit_test(single_lives_go),
		cmocka_unit_test(lives_that_are_needed_stay),
		cmocka_unit_test(all_lives_stay),
		cmocka_unit_test(a_step_is_not_taken_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
