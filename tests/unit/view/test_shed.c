// SPDX-License-Identifier: BSD-2-Clause
/* What is given up when gpumemtrace's own memory is short: the bytes stay exact, stacks, events and names go. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "by_letter.h"
#include "core/ledger/ledger_state.h"

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
	assert_int_equal(view.names_dropped, 2 + 1 + 1);
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
		cmocka_unit_test(a_step_is_not_taken_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
