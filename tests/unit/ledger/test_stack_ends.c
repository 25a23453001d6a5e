// SPDX-License-Identifier: BSD-2-Clause
/* Stack ids of processes that ended long ago are forgotten, with their names; no other id is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "records.h"

#include "core/ledger/ledger_state.h"

#define STACKS 20                       /* of a process */
#define MANY (4 * PROCESSES_ENDED)

static int scene(void **state)
{
	static struct records r;

	records_scene(&r, ALL_LAYERS);
	records_symbol(&r, 1, "first", "/lib/a.so", "", 0);
	*state = &r;
	return 0;
}

/* A process with stacks from `first` on, of two symbols, the first of which has memory; it ends if it has to. */
static void live_in(struct records *r, uint32_t tgid, uint32_t first, bool ends, uint32_t inner, uint32_t outer)
{
	r->tgid = r->tid = tgid;
	records_proc(r, tgid, "program");
	for (uint32_t id = first; id < first + STACKS; id++) {
		records_stack(r, id, GMT_UNWIND_END_ROOT);
		FRAMES(r, id, inner, outer);
	}
	r->stack_id = first;
	CALL(r, cuMemHostAlloc, 0x7f0000000000, 4096, 0);
	r->stack_id = 0;
	if (ends)
		records_exit(r, 0);
}

static void live(struct records *r, uint32_t tgid, uint32_t first, bool ends)
{
	live_in(r, tgid, first, ends, 1, 1);
}

static bool is_named(const struct records *r, uint32_t id)
{
	return frames_of(&r->ledger->frames, id) >= FRAMES_FIRST;
}

static void ids_of_the_dead_are_forgotten(void **state)
{
	struct records *r = *state;
	uint32_t last = 1 + STACKS * (MANY + 1);

	live(r, 5000, 1, false);
	for (uint32_t i = 1; i <= MANY; i++)
		live(r, 10000 + i, 1 + STACKS * i, true);
	assert_true(r->ledger->processes.ended_count <= PROCESSES_ENDED);
	/* those of the processes that are kept, and less than as many again */
	assert_true(hash_count(&r->ledger->stack_ends.by_id) < 2 * STACKS * (PROCESSES_ENDED + 1) + STACKS);
	assert_true(hash_count(&r->ledger->frames.stack_ids) == hash_count(&r->ledger->stack_ends.by_id));
	for (uint32_t id = 1; id <= STACKS; id++)
		assert_true(is_named(r, id)); /* the process runs */
	for (uint32_t id = last - STACKS * PROCESSES_ENDED; id < last; id++)
		assert_true(is_named(r, id)); /* the process is shown */
	assert_false(is_named(r, 1 + STACKS));
}

static void an_id_that_two_processes_use_stays(void **state)
{
	struct records *r = *state;

	live(r, 5000, 1, true);
	r->tgid = r->tid = 5001;
	records_proc(r, 5001, "forked");
	r->stack_id = 7;
	CALL(r, cuMemHostAlloc, 0x7f0000000000, 4096, 0);
	r->stack_id = 0;
	for (uint32_t i = 1; i <= MANY; i++)
		live(r, 10000 + i, 1 + STACKS * i, true);
	assert_false(is_named(r, 1));
	assert_true(is_named(r, 7));
}

static const struct frames_symbol *symbol_of(const struct records *r, uint32_t stack_id, uint32_t frame)
{
	const struct frames *f = &r->ledger->frames;
	uint32_t count;
	const uint32_t *list = frames_list(f, frames_of(f, stack_id), &count);

	assert_int_equal(count, 2);
	return &f->symbols[list[frame]];
}

#define PERIOD 500                      /* processes, after which symbols get new ids */

/* Each process has a symbol of its own, and one that all have. */
static void symbols_of_the_dead_are_forgotten(void **state)
{
	struct records *r = *state;
	uint32_t id = 1, common = 1, first = 1 + STACKS * MANY;
	const struct frames *f = &r->ledger->frames;
	char name[16];

	live(r, 5000, 1, false);
	for (uint32_t i = 1; i <= MANY; i++) {
		if (i % PERIOD == 0) {
			struct gmt_symbols_end rec = { .last_id = id };

			records_apply(r, &rec, GMT_KIND_SYMBOLS_END, sizeof(rec));
			common = ++id;
			records_symbol(r, common, "first", "/lib/a.so", "", 0);
		}
		snprintf(name, sizeof(name), "of %u", i);
		records_symbol(r, ++id, name, "", "", 0);
		live_in(r, 10000 + i, 1 + STACKS * i, true, id, common);
	}
	assert_int_equal(r->ledger->records_malformed, 0);
	assert_true(f->symbol_count < 2 * PROCESSES_ENDED + 2 * PERIOD);
	assert_true(f->stack_count < 2 * PROCESSES_ENDED + 2 * PERIOD);
	assert_true(hash_count(&f->symbol_ids) < 2 * PROCESSES_ENDED + 2 * PERIOD);
	assert_true(f->list_count == 2 * (f->stack_count - FRAMES_FIRST));
	assert_string_equal(symbol_of(r, 1, 0)->function, "first");
	for (uint32_t i = MANY - PROCESSES_ENDED + 1; i <= MANY; i++) {
		snprintf(name, sizeof(name), "of %u", i);
		assert_string_equal(symbol_of(r, 1 + STACKS * i, 0)->function, name);
	}
	assert_ptr_equal(symbol_of(r, first, 1), symbol_of(r, 1, 1)); /* equal, so one */
	assert_int_equal(f->dropped, 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, scene, records_end_scene)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(ids_of_the_dead_are_forgotten),
		TEST(an_id_that_two_processes_use_stays),
		TEST(symbols_of_the_dead_are_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
