// SPDX-License-Identifier: BSD-2-Clause
/* Whether an address has been the same code at two moments: by the mappings between them, and where some are not known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "live/stacks/code_events.h"

#define CODE 0x7000
#define SIZE 0x1000

static void map_code(struct code_events *events, uint32_t number, uint64_t start, bool has_file)
{
	code_events_add(events, &(struct gmt_code_mapped){
		.start = start, .end = start + SIZE, .number = number, .has_file = has_file,
	});
}

static void between_moments(void **state)
{
	struct code_events events = { 0 };

	(void)state;
	assert_false(code_events_changed(&events, 1, 1, CODE, true));
	map_code(&events, 2, CODE, true);
	map_code(&events, 3, CODE + SIZE, true);
	map_code(&events, 4, CODE, true);
	for (uint32_t from = 1; from <= 4; from++) {
		for (uint32_t to = from; to <= 4; to++) {
			bool is_new = (from < 2 && to >= 2) || (from < 4 && to >= 4);

			assert_int_equal(code_events_changed(&events, from, to, CODE, true), is_new);
			assert_int_equal(code_events_changed(&events, from, to, CODE + SIZE - 1, true), is_new);
			assert_int_equal(code_events_changed(&events, from, to, CODE + SIZE, true),
					 from < 3 && to >= 3);
			assert_false(code_events_changed(&events, from, to, CODE - 1, true));
		}
	}
	assert_false(code_events_changed(&events, 0, 4, CODE, true)); /* nothing is known of the moment */
	code_events_fini(&events);
}

/* A compiler that works at run time writes its code again and again, and is no other code. */
static void without_a_file(void **state)
{
	struct code_events events = { 0 };

	(void)state;
	map_code(&events, 2, CODE, false);
	assert_false(code_events_changed(&events, 1, 2, CODE, false));
	assert_true(code_events_changed(&events, 1, 2, CODE, true));
	map_code(&events, 3, CODE, true);
	assert_true(code_events_changed(&events, 2, 3, CODE, false));
	code_events_fini(&events);
}

static void what_is_not_known(void **state)
{
	struct code_events events = { 0 };

	(void)state;
	assert_true(code_events_reach(&events, 1));
	assert_false(code_events_reach(&events, 2));
	assert_true(code_events_changed(&events, 1, 2, CODE, true)); /* it has not come */
	map_code(&events, 2, CODE + SIZE, true);
	assert_true(code_events_reach(&events, 2));
	assert_false(code_events_changed(&events, 1, 2, CODE, true));
	map_code(&events, 4, CODE + SIZE, true); /* 3 was lost */
	assert_true(code_events_changed(&events, 2, 4, CODE, true));
	assert_true(code_events_changed(&events, 1, 2, CODE, true));
	assert_false(code_events_changed(&events, 3, 4, CODE, true));
	for (uint32_t number = 5; number < 5 + 2 * CODE_EVENTS_MAX; number++)
		map_code(&events, number, CODE + SIZE, true);
	assert_true(events.count <= CODE_EVENTS_MAX);
	assert_true(code_events_changed(&events, 5, 6, CODE, true)); /* forgotten */
	assert_false(code_events_changed(&events, events.last - 100, events.last, CODE, true));
	code_events_fini(&events);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(between_moments), cmocka_unit_test(without_a_file), cmocka_unit_test(what_is_not_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
