// SPDX-License-Identifier: BSD-2-Clause
/* Stacks of Python that were taken or named at a bad moment say so, and no others do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "live/stacks/address_space.h"
#include "live/stacks/copies.h"
#include "live/stacks/record_list.h"
#include "live/stacks/stack_names.h"
#include "live/stacks/stack_needs.h"
#include "parse/client.h"

#define EVAL 0x7000u             /* an address in CPython's eval function */
#define OTHER 0x9000u            /* and an address elsewhere */
#define PIECE (32u << 10)        /* bytes of a piece of a copy */

static _Alignas(struct gmt_stack) unsigned char bytes[sizeof(struct gmt_stack) + 8 * sizeof(__u64)];

static struct gmt_stack *stack_of(enum gmt_unwind_reason reason, enum gmt_py_reason py_reason, uint64_t first, uint64_t second)
{
	struct gmt_stack *stack = (void *)bytes;

	*stack = (struct gmt_stack){
		.hdr = { .kind = GMT_KIND_STACK, .size = sizeof(*stack) + 3 * sizeof(__u64) },
		.id = 1, .count = 2, .reason = (uint8_t)reason, .py_reason = (uint8_t)py_reason,
	};
	stack->words[0] = first;
	stack->words[1] = second;
	stack->words[2] = 0;     /* the moment */
	return stack;
}

static struct space space_of(enum space_python python)
{
	static struct module modules[] = { { .kind = MODULE_FILE, .path = "/lib/libpython3.11.so.1.0", .name = "libpython3.11.so.1.0" } };
	struct space space = { .with_python = true, .python_state = python, .modules = { .list = modules, .count = 1 } };

	space.python.config.eval_count = 1;
	space.python.config.eval[0] = (struct gmt_py_range){ EVAL - 0x100, EVAL + 0x100 };
	return space;
}

static bool is_lacking(enum space_python python, enum gmt_unwind_reason reason, enum gmt_py_reason py_reason, uint64_t second)
{
	struct space space = space_of(python);

	return stack_lacks_python(&space, stack_of(reason, py_reason, OTHER | GMT_FRAME_EXACT, second));
}

static void frames_of_the_eval_function_lack_python(void **state)
{
	(void)state;
	assert_true(is_lacking(SPACE_PYTHON_FOUND, GMT_UNWIND_END_ROOT, GMT_PY_END_NONE, EVAL));
	/* The process ended before it answered: its tables know the eval function. */
	assert_true(is_lacking(SPACE_PYTHON_UNKNOWN, GMT_UNWIND_END_ROOT, GMT_PY_END_NONE, OTHER | GMT_FRAME_EVAL));
	assert_true(is_lacking(SPACE_PYTHON_NONE, GMT_UNWIND_END_ROOT, GMT_PY_END_NONE, OTHER | GMT_FRAME_EVAL));
	assert_false(is_lacking(SPACE_PYTHON_FOUND, GMT_UNWIND_END_ROOT, GMT_PY_END_NONE, OTHER | GMT_FRAME_PYTHON));
}

static void a_thread_without_python_lacks_none(void **state)
{
	(void)state;
	assert_false(is_lacking(SPACE_PYTHON_FOUND, GMT_UNWIND_END_ROOT, GMT_PY_END_NONE, OTHER));
	assert_false(is_lacking(SPACE_PYTHON_UNKNOWN, GMT_UNWIND_END_ROOT, GMT_PY_END_NONE, OTHER));
	/* BPF knew Python, and the thread had no state. */
	assert_false(is_lacking(SPACE_PYTHON_FOUND, GMT_UNWIND_END_NO_ROW, GMT_PY_END_NO_STATE, OTHER));
}

static void a_broken_walk_may_have_missed_python(void **state)
{
	(void)state;
	assert_true(is_lacking(SPACE_PYTHON_FOUND, GMT_UNWIND_END_NOT_WALKED, GMT_PY_END_NONE, OTHER));
	assert_true(is_lacking(SPACE_PYTHON_UNKNOWN, GMT_UNWIND_END_NO_TABLE, GMT_PY_END_NONE, OTHER));
}

static void a_process_without_python_lacks_none(void **state)
{
	struct space space = space_of(SPACE_PYTHON_UNKNOWN);

	(void)state;
	assert_false(is_lacking(SPACE_PYTHON_NONE, GMT_UNWIND_END_NOT_WALKED, GMT_PY_END_NONE, OTHER));
	assert_false(is_lacking(SPACE_PYTHON_REFUSED, GMT_UNWIND_END_ROOT, GMT_PY_END_NONE, OTHER | GMT_FRAME_EVAL));
	space.modules.count = 0;
	assert_false(stack_lacks_python(&space, stack_of(GMT_UNWIND_END_NO_TABLE, GMT_PY_END_NONE, OTHER, OTHER)));
	space = space_of(SPACE_PYTHON_FOUND);
	space.with_python = false;      /* --stacks=native */
	assert_false(stack_lacks_python(&space, stack_of(GMT_UNWIND_END_ROOT, GMT_PY_END_NONE, OTHER, EVAL)));
}

/* ---- names ---- */

static int put_reason;           /* of the last stack that was put; -1: none was */

static void put_record(void *arg, const void *record, size_t size)
{
	const struct gmt_stack *stack = record;

	(void)arg, (void)size;
	if (stack->hdr.kind == GMT_KIND_STACK)
		put_reason = stack->py_reason;
}

/* Names a stack of a Python frame whose code object cannot be read. */
static int reason_of_unreadable(enum gmt_py_reason reason, uint64_t first)
{
	struct space space = { .tgid = 0, .with_python = true };
	struct naming *naming = naming_new(NULL, put_record, NULL, NULL);

	put_reason = -1;
	naming_stack(naming, &space, stack_of(GMT_UNWIND_END_ROOT, reason, first, 0), false);
	naming_free(naming);
	return put_reason;
}

static void code_without_a_name_is_told(void **state)
{
	(void)state;
	assert_int_equal(reason_of_unreadable(GMT_PY_END_ROOT, OTHER | GMT_FRAME_PYTHON), GMT_PY_END_UNNAMED);
	assert_int_equal(reason_of_unreadable(GMT_PY_END_NONE, OTHER | GMT_FRAME_PYTHON), GMT_PY_END_UNNAMED);
	/* What is said already stays, and a stack that has not changed is not put. */
	assert_int_equal(reason_of_unreadable(GMT_PY_END_DEPTH, OTHER | GMT_FRAME_PYTHON), -1);
}

/* Dots show that a text was cut, and no character is. */
static void long_texts_end_with_dots(void **state)
{
	char from[NAMING_TEXT_MAX + 2] = "";
	unsigned char to[NAMING_TEXT_MAX + 1];

	(void)state;
	memset(from, 'a', NAMING_TEXT_MAX);
	assert_int_equal(naming_text(to, from), NAMING_TEXT_MAX);
	assert_string_equal((char *)to, from);
	from[NAMING_TEXT_MAX] = 'a';
	memcpy(from + NAMING_TEXT_MAX - 5, "\xe2\x82\xac", 3); /* a euro sign */
	assert_int_equal(naming_text(to, from), NAMING_TEXT_MAX - 2);
	assert_string_equal((char *)to + NAMING_TEXT_MAX - 7, "aa...");
	assert_int_equal(naming_text(to, NULL), 0);
}

static bool admit(struct copies_room *room, uint32_t stack_id, size_t size)
{
	return copies_admit(room, &(struct gmt_stack_copy){ .hdr.size = (uint16_t)size, .stack_id = stack_id });
}

/* Copies of stacks that wait for tables: the stacks of those that find no room are counted. */
static void as_many_copies_as_fit(void **state)
{
	struct copies_room room = { 0 };
	uint32_t id = 0;

	(void)state;
	while (room.bytes < COPIES_MOST)
		assert_true(admit(&room, ++id, PIECE));
	assert_int_equal(id, COPIES_MOST / PIECE);
	assert_int_equal(room.cut, 0);
	assert_false(admit(&room, 0, 1));        /* counted whatever its number */
	assert_int_equal(room.cut, 1);
	assert_false(admit(&room, ++id, 1));
	assert_false(admit(&room, id, PIECE));   /* another piece of this stack */
	assert_int_equal(room.cut, 2);
	assert_int_equal(room.bytes, COPIES_MOST);
	room.bytes -= PIECE;
	assert_true(admit(&room, ++id, PIECE));
	assert_false(admit(&room, ++id, PIECE));
	assert_int_equal(room.cut, 3);
	for (uint32_t piece = 0; piece < 4; piece++) /* of two threads at a time */
		assert_false(admit(&room, id + 1 + piece % 2, PIECE));
	assert_int_equal(room.cut, 5);
}

/* A list keeps the words of a copy, not the unused room behind them; other records stay whole. */
static void unused_room_of_a_copy_is_not_kept(void **state)
{
	struct gmt_stack_copy *copy = calloc(1, sizeof(*copy) + GMT_STACK_COPY_SMALL), *kept;
	struct gmt_hdr ended = { .kind = GMT_KIND_PROC_EXIT, .size = sizeof(ended) };
	struct records list = { 0 };
	size_t at = 0;

	(void)state;
	copy->hdr.kind = GMT_KIND_STACK_COPY;
	copy->hdr.size = sizeof(*copy) + GMT_STACK_COPY_SMALL;
	copy->count = 3;
	copy->words[2] = 7;
	records_add(&list, copy, copies_used(&copy->hdr));
	records_add(&list, &ended, copies_used(&ended));
	assert_int_equal(list.used, sizeof(*copy) + 3 * sizeof(*copy->words) + sizeof(ended));
	kept = records_next(&list, &at);
	assert_int_equal(kept->count, 3);
	assert_int_equal(kept->words[2], 7);
	assert_memory_equal(records_next(&list, &at), &ended, sizeof(ended));
	assert_null(records_next(&list, &at));
	free(list.bytes);
	free(copy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_of_the_eval_function_lack_python),
		cmocka_unit_test(a_thread_without_python_lacks_none),
		cmocka_unit_test(a_broken_walk_may_have_missed_python),
		cmocka_unit_test(a_process_without_python_lacks_none),
		cmocka_unit_test(code_without_a_name_is_told),
		cmocka_unit_test(long_texts_end_with_dots),
		cmocka_unit_test(as_many_copies_as_fit),
		cmocka_unit_test(unused_room_of_a_copy_is_not_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
