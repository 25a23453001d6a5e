// SPDX-License-Identifier: BSD-2-Clause
/*
 * The unwinder compiled as C: walks this process's own stacks and finds what libgcc's unwinder finds;
 * and by small tables made up here, each reason why a walk ends.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "../../symbol/selfmaps.h"
#include "../../symbol/stacks.h"
#include "../../symbol/unwind_c.h"

#define FRAMES 300

struct my_walk {
	struct unwind_walk walk;
	const union gmt_unwind_word *words;
	__u32 word_count;
	const struct gmt_unwind_mapping *mappings;
	const __u64 *memory;     /* NULL: the process's own */
	__u64 memory_at;         /* address of memory[0] */
	__u64 faults_at;         /* this word cannot be read */
	__u64 repaired;          /* 0: it fails */
	__u64 other_end;
	__u64 frames[FRAMES];
};

static int read64(struct unwind_walk *walk, __u64 address, __u64 *val)
{
	struct my_walk *my = (struct my_walk *)walk;

	assert_true(address >= walk->stack_low && address + 8 <= walk->stack_end && address % 8 == 0);
	if (address == my->faults_at)
		return -1;
	*val = my->memory ? my->memory[(address - my->memory_at) / 8] : *(const __u64 *)(uintptr_t)address;
	return 0;
}

static const __u64 *word_at(struct unwind_walk *walk, __u32 slot)
{
	struct my_walk *my = (struct my_walk *)walk;

	return slot < my->word_count ? &my->words[slot].raw : NULL;
}

static const struct gmt_unwind_mapping *mapping_at(struct unwind_walk *walk, __u32 i)
{
	assert_true(i < walk->mapping_count);
	return &((struct my_walk *)walk)->mappings[i];
}

static int take(struct unwind_walk *walk, __u64 word)
{
	if (walk->frames >= FRAMES)
		return -1;
	((struct my_walk *)walk)->frames[walk->frames] = word;
	return 0;
}

static int repair(struct unwind_walk *walk, __u64 slot, __u64 *pc)
{
	(void)slot;
	*pc = ((struct my_walk *)walk)->repaired;
	return *pc ? 0 : -1;
}

/* The end of the mapping of this process that an address is in. */
static __u64 mapping_end(__u64 address)
{
	FILE *file = fopen("/proc/self/maps", "re");
	unsigned long start, end, found = 0;
	char line[512];

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "%lx-%lx", &start, &end) == 2 && address >= start && address < end)
			found = end;
	if (file)
		fclose(file);
	return found;
}

static __u64 other_stack(struct unwind_walk *walk, __u64 sp)
{
	struct my_walk *my = (struct my_walk *)walk;

	return my->memory ? my->other_end : mapping_end(sp);
}

static void run(struct my_walk *my)
{
	struct unwind_walk *walk = &my->walk;

	for (__u32 i = 0; i <= walk->max_frames && !unwind_step(i, &walk); i++)
		;
}

/* ---- this process's own stacks -------------------------------------------------------------------- */

static struct self_tables self;
static struct my_walk own;

static void on_target(int id, uint64_t pc, uint64_t sp, uint64_t fp)
{
	const struct stacks_expected *expected = &stacks_expected[id];

	self_tables_build(&self);
	own = (struct my_walk){ .words = self.words, .word_count = self.word_count, .mappings = self.mappings };
	unwind_start(&own.walk, pc, sp, fp, mapping_end(sp), 0, self.count, FRAMES);
	own.walk.more = stacks_more();
	run(&own);
	if (unwind_end(&own.walk) != GMT_UNWIND_END_ROOT || (int)own.walk.frames != expected->count)
		fprintf(stderr, "%s: reason %u, %u frames, %d expected\n", stacks_text[id], unwind_end(&own.walk),
			own.walk.frames, expected->count);
	assert_int_equal(unwind_end(&own.walk), GMT_UNWIND_END_ROOT);
	assert_int_equal(own.walk.frames, expected->count);
	for (int i = 1; i < expected->count; i++)
		if (expected->frames[i])
			assert_int_equal(own.frames[i] & GMT_FRAME_PC_MASK, expected->frames[i]);
	assert_int_equal(!!(own.frames[1] & GMT_FRAME_GUESSED), 0);
	assert_int_equal(!!(own.frames[2] & GMT_FRAME_GUESSED), id == STACK_JIT);
}

static void own_stack(void **state)
{
	int id = (int)(intptr_t)*state;

	stacks_hook = on_target;
	own.walk.frames = 0;
	stacks_run(id);
	assert_true(own.walk.frames > 2);
}

/* ---- made-up tables and memory -------------------------------------------------------------------- */

#define CODE 0x400000ULL
#define STACK 0x7000ULL
#define JIT_CODE 0x900000ULL

/* Row i covers [CODE + 0x10 * i, + 0x10); the stack has 16 words. */
struct made {
	struct my_walk my;
	union gmt_unwind_word words[32];
	struct gmt_unwind_mapping mappings[2];
	__u64 memory[16];
	__u32 rows;
};

static __u64 add_row(struct made *m, __u8 rule, __s16 cfa, __u8 fp)
{
	m->words[1 + m->rows].row = (struct gmt_unwind_row){ m->rows * 0x10, cfa, rule, fp };
	m->words[0].page.end = m->rows + 1;
	return CODE + 0x10 * m->rows++ + 8;
}

static __u64 made_init(struct made *m)
{
	*m = (struct made){ 0 };
	m->mappings[0] = (struct gmt_unwind_mapping){ .start = CODE, .end = CODE + 0x1000, .base = CODE, .pages = 1,
						      .flags = GMT_UNWIND_MAP_TABLE };
	m->mappings[1] = (struct gmt_unwind_mapping){ .start = JIT_CODE, .end = JIT_CODE + 0x1000,
						      .flags = GMT_UNWIND_MAP_JIT };
	m->my.words = m->words;
	m->my.word_count = 32;
	m->my.mappings = m->mappings;
	m->my.memory = m->memory;
	m->my.memory_at = STACK;
	return add_row(m, GMT_UNWIND_STOP, 0, 0);
}

static __u32 made_run(struct made *m, __u64 pc, __u64 fp)
{
	unwind_start(&m->my.walk, pc, STACK, fp, STACK + sizeof(m->memory), 0xdead000, 2, 8);
	run(&m->my);
	return unwind_end(&m->my.walk);
}

static void ends_that_are_complete(void **state)
{
	struct made m;
	__u64 root = made_init(&m), leaf = add_row(&m, GMT_UNWIND_SP, 1, 0);

	(void)state;
	m.memory[0] = root;
	assert_int_equal(made_run(&m, leaf, 0), GMT_UNWIND_END_ROOT);
	assert_int_equal(m.my.walk.frames, 2);
	assert_int_equal(m.my.frames[0], leaf | GMT_FRAME_EXACT);
	assert_int_equal(m.my.frames[1], root);
	m.memory[0] = 0;
	assert_int_equal(made_run(&m, leaf, 0), GMT_UNWIND_END_ZERO);
	assert_int_equal(m.my.walk.frames, 1);
	assert_true(GMT_UNWIND_COMPLETE >> GMT_UNWIND_END_ROOT & GMT_UNWIND_COMPLETE >> GMT_UNWIND_END_ZERO & 1);
	assert_false(GMT_UNWIND_COMPLETE >> GMT_UNWIND_END_DEPTH & 1);
}

/* One frame, whose caller cannot be found. */
static void ends_that_are_not(void **state)
{
	struct made m;
	__u64 root = made_init(&m), none = add_row(&m, GMT_UNWIND_NONE, 0, 0), leaf = add_row(&m, GMT_UNWIND_SP, 1, 0);
	__u64 huge = add_row(&m, GMT_UNWIND_SP, 100, 0), empty = add_row(&m, GMT_UNWIND_SP, 0, 0);
	__u64 by_fp = add_row(&m, GMT_UNWIND_FP, 2, 2), lost = add_row(&m, GMT_UNWIND_SP, 1, GMT_UNWIND_FP_LOST);
	__u64 deref = add_row(&m, GMT_UNWIND_DEREF, -1, GMT_UNWIND_FP_AT_FP);
	__u64 unsupported = add_row(&m, GMT_UNWIND_UNSUPPORTED, 0, 0), unknown = add_row(&m, 9, 0, 0);

	(void)state;
	m.memory[0] = root;
	assert_int_equal(made_run(&m, unsupported, 0), GMT_UNWIND_END_UNSUPPORTED);
	assert_int_equal(made_run(&m, unknown, 0), GMT_UNWIND_END_UNSUPPORTED);
	assert_int_equal(made_run(&m, huge, 0), GMT_UNWIND_END_OUTSIDE);
	assert_int_equal(made_run(&m, empty, 0), GMT_UNWIND_END_NO_PROGRESS);
	assert_int_equal(made_run(&m, by_fp, STACK - 0x10), GMT_UNWIND_END_NO_PROGRESS);
	assert_int_equal(made_run(&m, by_fp, 0), GMT_UNWIND_END_NO_PROGRESS);
	assert_int_equal(made_run(&m, by_fp, ~0ULL), GMT_UNWIND_END_NO_PROGRESS);
	assert_int_equal(made_run(&m, by_fp, STACK + 4), GMT_UNWIND_END_MISALIGNED);
	assert_int_equal(made_run(&m, by_fp, -0x100ULL), GMT_UNWIND_END_OUTSIDE);
	assert_int_equal(made_run(&m, deref, STACK), GMT_UNWIND_END_OUTSIDE);   /* the slot is below sp */
	assert_int_equal(made_run(&m, deref, 0), GMT_UNWIND_END_OUTSIDE);
	assert_int_equal(made_run(&m, none, 0), GMT_UNWIND_END_NO_ROW);
	assert_int_equal(made_run(&m, CODE + 0x10000, 0), GMT_UNWIND_END_NO_MAPPING);
	m.memory[0] = by_fp;
	assert_int_equal(made_run(&m, lost, STACK + 16), GMT_UNWIND_END_FP_LOST);
	m.memory[0] = 0x12345;
	assert_int_equal(made_run(&m, leaf, 0), GMT_UNWIND_END_NO_MAPPING);
	assert_int_equal(m.my.walk.frames, 2);   /* the address shows which module is not known */
	m.my.faults_at = STACK;
	assert_int_equal(made_run(&m, leaf, 0), GMT_UNWIND_END_FAULT);
	m.mappings[0].flags = 0;
	assert_int_equal(made_run(&m, leaf, 0), GMT_UNWIND_END_NO_TABLE);
	m.mappings[0].flags = GMT_UNWIND_MAP_TABLE;
	m.my.word_count = 2;
	assert_int_equal(made_run(&m, leaf, 0), GMT_UNWIND_END_BAD_TABLE);
	m.words[0].page.end = m.words[0].page.first = 0;
	assert_int_equal(made_run(&m, leaf, 0), GMT_UNWIND_END_BAD_TABLE);
}

static void depth_is_bounded(void **state)
{
	struct made m;
	__u64 leaf;

	(void)state;
	made_init(&m);
	leaf = add_row(&m, GMT_UNWIND_SP, 1, 0);
	for (int i = 0; i < 16; i++)
		m.memory[i] = leaf;
	assert_int_equal(made_run(&m, leaf, 0), GMT_UNWIND_END_DEPTH);
	assert_int_equal(m.my.walk.frames, 8);
}

static void return_probe(void **state)
{
	struct made m;
	__u64 root = made_init(&m), leaf = add_row(&m, GMT_UNWIND_SP, 1, 0);

	(void)state;
	m.memory[0] = 0xdead000;
	assert_int_equal(made_run(&m, leaf, 0), GMT_UNWIND_END_TRAMPOLINE);
	m.my.repaired = root;
	assert_int_equal(made_run(&m, leaf, 0), GMT_UNWIND_END_ROOT);
	assert_int_equal(m.my.frames[1], root);
}

/* rbp is used as a frame pointer above frames that saved it, and above one that did not touch it. */
static void frame_pointer_is_followed(void **state)
{
	struct made m;
	__u64 root = made_init(&m), saves = add_row(&m, GMT_UNWIND_SP, 3, 2), leaf = add_row(&m, GMT_UNWIND_SP, 1, 0);
	__u64 by_fp = add_row(&m, GMT_UNWIND_FP | GMT_UNWIND_EVAL, 2, 2);
	__u64 deref = add_row(&m, GMT_UNWIND_DEREF, -1, GMT_UNWIND_FP_AT_FP);

	(void)state;
	m.memory[0] = saves;
	m.memory[2] = STACK + 6 * 8;   /* rbp, saved by `saves` */
	m.memory[3] = by_fp;
	m.memory[7] = root;
	assert_int_equal(made_run(&m, leaf, 0x999), GMT_UNWIND_END_ROOT);
	assert_int_equal(m.my.walk.frames, 4);
	assert_int_equal(m.my.frames[2], by_fp | GMT_FRAME_EVAL);
	assert_int_equal(m.my.walk.start_fp_used, 0);   /* it was read from the stack: 0x999 said nothing */
	m.memory[3] = deref;   /* ... and is asked for twice */
	m.memory[5] = STACK + 8 * 8;
	assert_int_equal(made_run(&m, leaf, 0x999), GMT_UNWIND_END_ROOT);
	assert_int_equal(m.my.walk.frames, 4);
	assert_int_equal(m.my.walk.start_fp_used, 0);
	m.memory[0] = by_fp;   /* rbp as it was at the start */
	assert_int_equal(made_run(&m, leaf, STACK + 6 * 8), GMT_UNWIND_END_ROOT);
	assert_int_equal(m.my.walk.frames, 3);
	assert_int_equal(m.my.walk.start_fp_used, 1);
}

/* A call was the last thing in its function: the return address is the next one's, whose rule is another. */
static void call_at_the_end(void **state)
{
	struct made m;
	__u64 root = made_init(&m), leaf = add_row(&m, GMT_UNWIND_SP, 1, 0), caller = add_row(&m, GMT_UNWIND_SP, 2, 0);
	__u64 next = add_row(&m, GMT_UNWIND_UNSUPPORTED, 0, 0) - 8;

	(void)state;
	m.memory[0] = next;
	m.memory[2] = root;
	assert_int_equal(made_run(&m, leaf, 0), GMT_UNWIND_END_ROOT);
	assert_int_equal(m.my.frames[1], next);
	assert_int_equal(made_run(&m, next, 0), GMT_UNWIND_END_UNSUPPORTED);   /* but not where the walk begins */
	assert_int_equal(made_run(&m, caller, 0), GMT_UNWIND_END_ZERO);
}

static void guess_needs_code(void **state)
{
	struct made m;
	__u64 root = made_init(&m);

	(void)state;
	m.memory[5] = root;
	assert_int_equal(made_run(&m, JIT_CODE + 8, STACK + 4 * 8), GMT_UNWIND_END_ROOT);
	assert_int_equal(m.my.frames[1], root | GMT_FRAME_GUESSED);
	m.memory[5] = 0x1234;   /* no code: no frame */
	assert_int_equal(made_run(&m, JIT_CODE + 8, STACK + 4 * 8), GMT_UNWIND_END_NO_ROW);
	assert_int_equal(m.my.walk.frames, 1);
	m.memory[5] = 0;
	assert_int_equal(made_run(&m, JIT_CODE + 8, STACK + 4 * 8), GMT_UNWIND_END_NO_ROW);
	assert_int_equal(made_run(&m, JIT_CODE + 8, 7), GMT_UNWIND_END_NO_ROW);
}

static void plt_by_address(void **state)
{
	struct made m;
	__u64 root = made_init(&m), plt = add_row(&m, GMT_UNWIND_PLT, 11, 0) & ~15ULL;

	(void)state;
	m.memory[0] = m.memory[1] = 0x1234;
	m.memory[0] = root;
	assert_int_equal(made_run(&m, plt + 10, 0), GMT_UNWIND_END_ROOT);
	m.memory[0] = 0x1234;
	m.memory[1] = root;
	assert_int_equal(made_run(&m, plt + 11, 0), GMT_UNWIND_END_ROOT);
	assert_int_equal(m.my.walk.frames, 2);
}

int main(void)
{
#define X(name, text) { text, own_stack, NULL, NULL, (void *)(intptr_t)STACK_##name },
	const struct CMUnitTest tests[] = {
		STACKS(X)
		cmocka_unit_test(ends_that_are_complete),
		cmocka_unit_test(ends_that_are_not),
		cmocka_unit_test(depth_is_bounded),
		cmocka_unit_test(return_probe),
		cmocka_unit_test(frame_pointer_is_followed),
		cmocka_unit_test(call_at_the_end),
		cmocka_unit_test(guess_needs_code),
		cmocka_unit_test(plt_by_address),
	};
#undef X
	return cmocka_run_group_tests_name("unwind", tests, NULL, NULL);
}
