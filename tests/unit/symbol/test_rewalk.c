// SPDX-License-Identifier: BSD-2-Clause
/*
 * Stacks walked a second time, from a copy of their memory: this process's own, which libgcc's unwinder knows too, and
 * made-up ones: where Python's frames go, and what is left of a stack that is damaged.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "../../symbol/selfmaps.h"
#include "../../symbol/stacks.h"
#include "symbol/unwind/rewalk.h"

#define COPY_WORDS (GMT_STACK_COPY_PIECE / 8)

/* A record with room for its words, and what lies behind it: nothing may be written there. */
struct big_stack {
	struct gmt_stack stack;
	__u64 words[GMT_STACK_WORDS];
	__u64 guard;
};

struct big_copy {
	struct gmt_stack_copy copy;
	__u64 words[COPY_WORDS];
};

static struct big_stack taken, walked;
static struct big_copy copy;

static void start(void)
{
	memset(&taken, 0, sizeof(taken));
	memset(&copy, 0, sizeof(copy));
	memset(&walked, 0xa5, sizeof(walked));
	taken.stack = (struct gmt_stack){ .id = 7, .reason = GMT_UNWIND_END_NO_TABLE, .py_reason = 1,
					  .hdr = { .kind = GMT_KIND_STACK, .tgid = 12, .tid = 13, .ts_ns = 14 } };
}

static void walk(const struct rewalk *rewalk)
{
	const struct gmt_stack_copy *const pieces[] = { &copy.copy };

	copy.copy.base = copy.copy.sp;
	rewalk_stack(rewalk, &taken.stack, pieces, 1, &walked.stack);
	assert_true(walked.guard == 0xa5a5a5a5a5a5a5a5ULL);
	assert_in_range(walked.stack.count, 0, GMT_STACK_WORDS);
	assert_int_equal(walked.stack.hdr.size, sizeof(walked.stack) + walked.stack.count * 8);
	assert_int_equal(walked.stack.id, 7);
	assert_int_equal(walked.stack.hdr.tgid, 12);
	assert_int_equal(walked.stack.hdr.tid, 13);
}

/* ---- this process's own stacks ------------------------------------------------------------------------------ */

static struct self_tables self;
static int walks;

static const __u64 *self_word(void *arg, uint32_t slot)
{
	(void)arg;
	return slot < self.word_count ? &self.words[slot].raw : NULL;
}

static uint32_t words_to_end(uint64_t sp)
{
	FILE *file = fopen("/proc/self/maps", "re");
	unsigned long from, to, end = 0;
	char line[512];

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "%lx-%lx", &from, &to) == 2 && sp >= from && sp < to)
			end = to;
	if (file)
		fclose(file);
	end = (end - sp) / 8;
	return end < COPY_WORDS ? (uint32_t)end : COPY_WORDS;
}

/* A tracer reads what lies between variables, too, which is what AddressSanitizer is there to refuse. */
__attribute__((no_sanitize("address"))) static void copy_stack(uint64_t sp, uint32_t count)
{
	const volatile uint64_t *from = (const volatile uint64_t *)(uintptr_t)sp;

	for (uint32_t i = 0; i < count; i++)
		copy.words[i] = from[i];
}

static void on_target(int id, uint64_t pc, uint64_t sp, uint64_t fp)
{
	const struct stacks_expected *expected = &stacks_expected[id];

	self_tables_build(&self);
	start();
	copy.copy.pc = pc;
	copy.copy.sp = sp;
	copy.copy.fp = fp;
	copy.copy.more = stacks_more();
	copy.copy.count = words_to_end(sp);
	copy_stack(sp, copy.copy.count);
	walk(&(struct rewalk){ .mappings = self.mappings, .mapping_count = self.count, .word = self_word,
				.depth = GMT_UNWIND_FRAMES_MAX });
	walks++;
	if (id == STACK_ALTSTACK) { /* a copy is of one stack: the other one's frames are not in it */
		assert_int_equal(walked.stack.reason, GMT_UNWIND_END_OUTSIDE);
		assert_in_range(walked.stack.count, 3, expected->count - 1);
	} else {
		assert_int_equal(walked.stack.reason, GMT_UNWIND_END_ROOT);
		assert_int_equal(walked.stack.count, expected->count);
	}
	for (int i = 1; i < walked.stack.count; i++)
		if (expected->frames[i])
			assert_int_equal(walked.words[i] & GMT_FRAME_PC_MASK, expected->frames[i]);
}

static void own_stack(void **state)
{
	int before = walks;

	stacks_hook = on_target;
	stacks_run((int)(intptr_t)*state);
	assert_true(walks > before);
}

/* ---- made-up ones ------------------------------------------------------------------------------------------- */

#define CODE 0x400000ULL
#define STACK 0x7000ULL

/* Rows of 16 bytes of code each. */
enum { ROOT, LEAF, EVAL, PLT, ROWS };
static union gmt_unwind_word table[1 + ROWS] = {
	{ .page = { 0, ROWS } },
	{ .row = { ROOT * 0x10, 0, GMT_UNWIND_STOP, 0 } },
	{ .row = { LEAF * 0x10, 1, GMT_UNWIND_SP, 0 } },
	{ .row = { EVAL * 0x10, 1, GMT_UNWIND_SP | GMT_UNWIND_EVAL, 0 } },
	{ .row = { PLT * 0x10, 11, GMT_UNWIND_PLT, 0 } },
};
static const struct gmt_unwind_mapping mapping = {
	.start = CODE, .end = CODE + 0x1000, .base = CODE, .pages = 1, .flags = GMT_UNWIND_MAP_TABLE,
};

static const __u64 *made_word(void *arg, uint32_t slot)
{
	(void)arg;
	return slot < 1 + ROWS ? &table[slot].raw : NULL;
}

static const struct rewalk made = {
	.mappings = &mapping, .mapping_count = 1, .word = made_word, .depth = GMT_UNWIND_FRAMES_MAX,
};

static __u64 in(int row)
{
	return CODE + 0x10 * (unsigned int)row + 8;
}

/* The memory of a stack: each frame has its return address and nothing else. */
static void frame(int row)
{
	if (!copy.copy.pc) {
		copy.copy.pc = in(row);
		copy.copy.sp = STACK;
	} else {
		copy.words[copy.copy.count++] = in(row);
	}
}

static void took_python(unsigned int code, bool is_last)
{
	taken.words[taken.stack.count++] = GMT_FRAME_PYTHON | (is_last ? GMT_FRAME_LAST : 0) | code;
	taken.words[taken.stack.count++] = 0x1000 + code;
}

static void expect(const char *wanted)
{
	char got[256] = "";

	for (uint32_t i = 0; i < walked.stack.count; i++) {
		__u64 word = walked.words[i];

		if (word & GMT_FRAME_PYTHON) {
			assert_true(i + 1 < walked.stack.count);
			assert_int_equal(walked.words[i + 1], 0x1000 + (word & 0xff));
			snprintf(got + strlen(got), sizeof(got) - strlen(got), " %u", (unsigned int)(word & 0xff));
			i++;
		} else {
			snprintf(got + strlen(got), sizeof(got) - strlen(got), " %c",
				 "rlep"[((word & GMT_FRAME_PC_MASK) - CODE) / 0x10]);
			assert_int_equal(!!(word & GMT_FRAME_EVAL), ((word & GMT_FRAME_PC_MASK) - CODE) / 0x10 == EVAL);
		}
	}
	assert_string_equal(got, wanted);
}

/* Which call of the eval loop a Python frame belongs to is known by the last one of each call. */
static void python_goes_to_its_eval_loop(void **state)
{
	(void)state;
	start();
	frame(LEAF), frame(EVAL), frame(LEAF), frame(EVAL), frame(LEAF), frame(ROOT);
	taken.words[taken.stack.count++] = in(LEAF) | GMT_FRAME_EXACT; /* what BPF had of native ones */
	took_python(1, false), took_python(2, true), took_python(3, true);
	walk(&made);
	expect(" l e 1 2 l e 3 l r");
	assert_int_equal(walked.stack.reason, GMT_UNWIND_END_ROOT);
}

static void more_python_than_eval_loops(void **state)
{
	(void)state;
	start();
	frame(LEAF), frame(EVAL), frame(ROOT);
	took_python(1, true), took_python(2, true), took_python(3, false), took_python(4, false);
	walk(&made);
	expect(" l e 1 r 2 3 4");
	start();
	frame(LEAF), frame(EVAL), frame(EVAL), frame(EVAL), frame(ROOT);
	took_python(1, false), took_python(2, true);
	walk(&made);
	expect(" l e 1 2 e e r");
}

static void plt_by_address(void **state)
{
	(void)state;
	start();
	copy.copy.pc = CODE + 0x10 * PLT + 10;
	copy.copy.sp = STACK;
	copy.words[copy.copy.count++] = in(ROOT);
	walk(&made);
	expect(" p r");
	start();
	copy.copy.pc = CODE + 0x10 * PLT + 11;
	copy.copy.sp = STACK;
	copy.copy.count = 2;
	copy.words[1] = in(ROOT);
	walk(&made);
	expect(" p r");
}

static void depth_is_bounded(void **state)
{
	struct rewalk shallow = made;

	(void)state;
	start();
	frame(LEAF), frame(LEAF), frame(LEAF), frame(LEAF), frame(ROOT);
	shallow.depth = 3;
	walk(&shallow);
	expect(" l l l");
	assert_int_equal(walked.stack.reason, GMT_UNWIND_END_DEPTH);
}

/* Never more than the words that there are, and nothing from outside of them. */
static void damaged(void **state)
{
	(void)state;
	start();
	frame(LEAF);
	walk(&made);
	expect(" l");
	assert_int_equal(walked.stack.reason, GMT_UNWIND_END_OUTSIDE);
	walk(&(struct rewalk){ .word = made_word, .depth = 10 });
	assert_int_equal(walked.stack.reason, GMT_UNWIND_END_NO_MAPPING);
	start(); /* its last word is half a Python frame */
	frame(LEAF), frame(EVAL), frame(ROOT);
	took_python(1, false);
	taken.words[taken.stack.count++] = GMT_FRAME_PYTHON | 2;
	walk(&made);
	expect(" l e 1 r");
	start(); /* odd addresses */
	frame(LEAF), frame(ROOT);
	copy.copy.sp += 4;
	walk(&made);
	assert_int_equal(walked.stack.reason, GMT_UNWIND_END_MISALIGNED);
}

static void too_long(void **state)
{
	(void)state;
	start();
	frame(EVAL), frame(ROOT);
	while (taken.stack.count < GMT_STACK_WORDS)
		took_python(1, false);
	walk(&made);
	assert_in_range(walked.stack.count, GMT_STACK_WORDS - 1, GMT_STACK_WORDS);
	start();
	for (int i = 0; i < GMT_STACK_WORDS + 10; i++)
		frame(LEAF);
	walk(&made);
	assert_int_equal(walked.stack.reason, GMT_UNWIND_END_DEPTH);
}

int main(void)
{
#define X(name, text) { text, own_stack, NULL, NULL, (void *)(intptr_t)STACK_##name },
	const struct CMUnitTest tests[] = {
		STACKS(X)
		cmocka_unit_test(python_goes_to_its_eval_loop),
		cmocka_unit_test(more_python_than_eval_loops),
		cmocka_unit_test(plt_by_address),
		cmocka_unit_test(depth_is_bounded),
		cmocka_unit_test(damaged),
		cmocka_unit_test(too_long),
	};
#undef X
	return cmocka_run_group_tests_name("rewalk", tests, NULL, NULL);
}
