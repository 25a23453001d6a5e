// SPDX-License-Identifier: BSD-2-Clause
/*
 * The unwinder of arm64 (bpf/unwind_arm64.bpf.h) compiled for this machine: random stacks, which a simple machine makes by
 * calling functions that save registers in all the ways that a table can tell, and the ends of stacks that are odd.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define GMT_UNWIND_ARM64
#include "../../symbol/unwind_c.h"

#define CODE 0x400000ULL
#define JIT_CODE 0x900000ULL
#define STACK 0x7f0000000000ULL
#define OTHER_STACK 0x7e0000000000ULL
#define STACK_BYTES 0x10000u
#define FRAMES 80
#define ROWS 400
#define ROW_BYTES 0x10u
#define TASK_BITS 52             /* of addresses: signatures lie above */
#define MASK ((1ULL << TASK_BITS) - 1)
#define TRAMPOLINE (MASK & ~0xfffULL)

/* A machine with two stacks, which grow down, and a table with rows of 16 bytes of code. */
struct machine {
	struct unwind_walk walk;     /* must be first */
	__u64 memory[2][STACK_BYTES / 8];
	union gmt_unwind_word words[1 + ROWS];
	struct gmt_unwind_mapping mappings[2];
	__u32 rows;
	__u64 pc, sp, fp, link;      /* the registers */
	__u64 expected[FRAMES];      /* the outermost frame first */
	__u32 depth;
	struct {
		__u64 at, pc;
	} probed[FRAMES];            /* functions with a return probe */
	__u32 probed_count;
	__u64 frames[FRAMES];        /* what the walk found, the innermost first */
	__u64 unreadable;
	bool has_trampoline, is_on_other_stack;
};

static struct machine m;

static __u64 *word_of(__u64 address)
{
	__u64 base = address >= STACK ? STACK : OTHER_STACK;

	assert_true(address % 8 == 0 && address >= base && address + 8 <= base + STACK_BYTES);
	return &m.memory[base == STACK][(address - base) / 8];
}

static int read64(struct unwind_walk *walk, __u64 address, __u64 *val)
{
	assert_true(address >= walk->stack_low && address + 8 <= walk->stack_end);
	if (address == m.unreadable)
		return -1;
	*val = *word_of(address);
	return 0;
}

static const __u64 *word_at(struct unwind_walk *walk, __u32 slot)
{
	(void)walk;
	return slot < 1 + ROWS ? &m.words[slot].raw : NULL;
}

static const struct gmt_unwind_mapping *mapping_at(struct unwind_walk *walk, __u32 i)
{
	assert_true(i < walk->mapping_count);
	return &m.mappings[i];
}

static int take(struct unwind_walk *walk, __u64 word)
{
	assert_true(walk->frames < FRAMES);
	m.frames[walk->frames] = word;
	return 0;
}

static int repair(struct unwind_walk *walk, __u64 at, __u64 *pc)
{
	(void)walk;
	for (__u32 i = 0; i < m.probed_count; i++) {
		if (m.probed[i].at == at) {
			*pc = m.probed[i].pc;
			return 0;
		}
	}
	return -1;
}

static __u64 other_stack(struct unwind_walk *walk, __u64 sp)
{
	(void)walk;
	return sp >= STACK && sp < STACK + STACK_BYTES ? STACK + STACK_BYTES : 0;
}

/* ---- the machine ---- */

/* The address of new code that the row tells of: of its second instruction. */
static __u64 add_row(__u8 rule, __s64 cfa, __u8 fp)
{
	assert_true(m.rows < ROWS);
	m.words[1 + m.rows].row = (struct gmt_unwind_row){ m.rows * ROW_BYTES, (__s16)cfa, rule, fp };
	m.words[0].page.end = m.rows + 1;
	return CODE + ROW_BYTES * m.rows++ + 4;
}

/* In the function that nobody called. */
static void start(void)
{
	m = (struct machine){ 0 };
	m.mappings[0] = (struct gmt_unwind_mapping){ .start = CODE, .end = CODE + ROWS * ROW_BYTES, .base = CODE,
						     .pages = 1, .flags = GMT_UNWIND_MAP_TABLE };
	m.mappings[1] = (struct gmt_unwind_mapping){ .start = JIT_CODE, .end = JIT_CODE + 0x1000,
						     .flags = GMT_UNWIND_MAP_JIT };
	m.pc = add_row(GMT_UNWIND_STOP, 0, 0);
	m.sp = STACK + STACK_BYTES - 64;
	m.fp = 0x1234;
}

/* The function that runs is left where it is: by a call, or by a signal. */
static void leave(bool by_call)
{
	assert_true(m.depth < FRAMES);
	m.expected[m.depth++] = by_call ? m.pc + 4 : m.pc | GMT_FRAME_EXACT;
}

/* Calls a function, which has a return probe or not. The return address is signed if the function signs. */
static void call(bool is_probed, __u64 signature)
{
	leave(true);
	m.link = m.pc + 4;
	if (is_probed) {
		m.probed[m.probed_count].at = m.sp;
		m.probed[m.probed_count++].pc = m.link;
		m.link = TRAMPOLINE;
		m.has_trampoline = true;
	}
	m.link |= signature;
}

static __s64 units(__u64 bytes)
{
	return (__s64)(bytes / 8);
}

/* The ways in which a function has its frame: */
enum shape {
	NO_FRAME,        /* the CFA is sp */
	FRAME_UNSAVED,   /* a frame, and x30 still holds the return address */
	PAIR_LOW,        /* x29 and x30 at the bottom of the frame, told from the CFA */
	PAIR_LOW_UP,     /* the same, told from sp */
	PAIR_HIGH,       /* at the top of the frame */
	BY_FP,           /* the CFA comes from x29, as after alloca() */
	BY_FP_UP,
	RETURN_ALONE,    /* x30 is saved and x29 is not */
	SHAPES
};

/* Enters the function that was called, or whose code goes on: it makes its frame of `size` bytes, 16 at least. */
static void enter(enum shape shape, __u64 size)
{
	__u64 cfa = m.sp, low = cfa - size;
	bool is_low = shape == PAIR_LOW || shape == PAIR_LOW_UP || shape == BY_FP || shape == BY_FP_UP;
	__u64 slot = is_low ? low : cfa - 16;
	__u8 down = (__u8)units(cfa - slot), up = (__u8)(GMT_UNWIND_SLOT_UP | units(slot - low));

	if (shape == NO_FRAME) {
		m.pc = add_row(GMT_UNWIND_SP, 0, GMT_UNWIND_FP_SAME);
		return;
	}
	m.sp = low;
	if (shape == FRAME_UNSAVED) {
		m.pc = add_row(GMT_UNWIND_SP, units(size), GMT_UNWIND_FP_SAME);
		return;
	}
	if (shape == RETURN_ALONE) {
		m.pc = add_row(GMT_UNWIND_SP | GMT_UNWIND_RA_ALONE, units(size), down);
		*word_of(slot) = m.link;
		return;
	}
	*word_of(slot) = m.fp;
	*word_of(slot + 8) = m.link;
	if (shape == BY_FP || shape == BY_FP_UP) {
		m.fp = low;
		m.sp -= 48;      /* what alloca() took */
		m.pc = add_row(GMT_UNWIND_FP, units(size), shape == BY_FP ? down : up);
	} else {
		m.pc = add_row(GMT_UNWIND_SP, units(size), shape == PAIR_LOW_UP ? up : down);
		m.fp ^= rand() & 1 ? 0 : 0x5550;         /* x29 is any register, without frame pointers */
	}
	m.link = (__u64)rand() | 1;              /* what its own calls left there */
}

/* A signal interrupts the code that runs; the frame is on the same stack or on the other one. Runs the kernel's stub. */
static void signal_comes(bool on_other)
{
	__u64 frame = (on_other ? OTHER_STACK + STACK_BYTES - 64 : m.sp) - 0x1250;
	__u64 context = frame + 128 + 176;

	assert_true(frame % 8 == 0);
	leave(false);
	for (__u64 at = frame; at < context; at += 8)
		*word_of(at) = ~0ULL;
	*word_of(context + 8 + 29 * 8) = m.fp;
	*word_of(context + 8 + 30 * 8) = m.link;
	*word_of(context + 8 + 31 * 8) = m.sp;
	*word_of(context + 8 + 32 * 8) = m.pc;
	m.sp = frame;
	m.is_on_other_stack |= on_other;
	m.pc = add_row(GMT_UNWIND_SIGNAL, 0, 0);
}

/* Runs the handler instead, which returns to the stub. */
static void handler_runs(void)
{
	m.expected[m.depth++] = m.link = m.pc;
	enter(PAIR_LOW, 16 * (1 + (__u64)(rand() % 60)));
}

static __u32 walk(void)
{
	struct unwind_walk *walk = &m.walk;
	__u64 base = m.is_on_other_stack ? OTHER_STACK : STACK;

	unwind_start(walk, m.pc, m.sp, m.fp, base + STACK_BYTES, m.has_trampoline ? TRAMPOLINE : 0, 2, FRAMES);
	walk->more = (struct gmt_unwind_more){ .link = m.link, .code_mask = MASK };
	for (__u32 i = 0; i <= FRAMES && !unwind_step(i, &walk); i++)
		;
	return unwind_end(walk);
}

static void check_stack(void)
{
	leave(false);
	assert_int_equal(walk(), GMT_UNWIND_END_ROOT);
	assert_int_equal(m.walk.frames, m.depth);
	for (__u32 i = 0; i < m.depth; i++)
		assert_int_equal(m.frames[i], m.expected[m.depth - 1 - i]);
}

/* ---- stacks ---- */

static __u64 random_size(enum shape shape)
{
	bool is_large = rand() % 8 == 0;

	/* A slot has 7 bits of words: at the bottom of a large frame it is told from sp, at the top from the CFA. */
	if (shape == PAIR_LOW || shape == BY_FP)
		is_large = false;
	return 16 * (1 + (__u64)(rand() % (is_large ? 150 : 60)));
}

static __u64 random_signature(void)
{
	return rand() % 2 ? 0 : ((__u64)rand() << 53 | 1ULL << TASK_BITS) & ~(1ULL << 55);
}

static void random_stacks(void **state)
{
	(void)state;
	for (unsigned int seed = 1; seed <= 20000; seed++) {
		int calls = (int)(seed % 20);

		srand(seed);
		start();
		while (calls--) {
			enum shape shape = PAIR_LOW + (unsigned int)rand() % (SHAPES - PAIR_LOW);

			call(rand() % 6 == 0, random_signature());
			enter(shape, random_size(shape));
			if (rand() % 10 == 0 && m.sp - STACK > 0x3000 && !m.is_on_other_stack) {
				signal_comes(rand() % 3 == 0);
				handler_runs();
			}
			if (m.is_on_other_stack && m.sp - OTHER_STACK < 0x2000)
				break;
		}
		if (rand() % 2) {        /* the walk begins, or the signal comes, where x30 was not saved */
			call(rand() % 4 == 0, 0);
			enter(rand() % 2 ? NO_FRAME : FRAME_UNSAVED, 32);
		}
		if (rand() % 4 == 0 && !m.is_on_other_stack && m.sp - STACK > 0x3000) {
			signal_comes(rand() % 2);
			if (rand() % 2)
				handler_runs();
		}
		check_stack();
	}
}

static void leaf_of_a_leaf(void **state)
{
	(void)state;
	start();
	call(false, 0);
	enter(PAIR_LOW, 32);
	call(false, 0);
	enter(NO_FRAME, 0);
	leave(false);
	assert_int_equal(walk(), GMT_UNWIND_END_ROOT);
	assert_int_equal(m.walk.frames, 3);
	/* A function that called another cannot have its return address in x30. */
	m.link = m.pc;
	assert_int_equal(walk(), GMT_UNWIND_END_UNSUPPORTED);
	assert_int_equal(m.walk.frames, 2);
	m.link = 0;
	assert_int_equal(walk(), GMT_UNWIND_END_ZERO);
	m.link = 0x123450;
	assert_int_equal(walk(), GMT_UNWIND_END_NO_MAPPING);
}

static void frame_pointer_of_the_start(void **state)
{
	(void)state;
	start();
	call(false, 0);
	enter(BY_FP, 32);
	call(false, 0);
	enter(RETURN_ALONE, 32);
	check_stack();
	assert_int_equal(m.walk.start_fp_used, 1);
	m.fp += 4;
	assert_int_equal(walk(), GMT_UNWIND_END_MISALIGNED);
	m.fp = STACK;                    /* below the frames before */
	assert_int_equal(walk(), GMT_UNWIND_END_NO_PROGRESS);
	m.fp = STACK + STACK_BYTES - 8;
	assert_int_equal(walk(), GMT_UNWIND_END_OUTSIDE);
}

static void ends(void **state)
{
	(void)state;
	start();
	call(true, 1ULL << 54);
	enter(PAIR_HIGH, 48);
	check_stack();
	m.unreadable = m.sp + 40;
	assert_int_equal(walk(), GMT_UNWIND_END_FAULT);
	m.unreadable = 0;
	m.probed_count = 0;
	assert_int_equal(walk(), GMT_UNWIND_END_TRAMPOLINE);
	m.pc = add_row(GMT_UNWIND_SP, -2, GMT_UNWIND_FP_SAME);
	assert_int_equal(walk(), GMT_UNWIND_END_NO_PROGRESS);
	m.pc = add_row(GMT_UNWIND_SP, 0, 2);
	assert_int_equal(walk(), GMT_UNWIND_END_NO_PROGRESS);
	m.pc = add_row(GMT_UNWIND_SP, 2, 0x7d);  /* below sp */
	assert_int_equal(walk(), GMT_UNWIND_END_OUTSIDE);
	m.pc = add_row(GMT_UNWIND_SIGNAL, 0, 0); /* its registers would lie above the stack */
	assert_int_equal(walk(), GMT_UNWIND_END_OUTSIDE);
	assert_int_equal(m.walk.frames, 1);
}

static void signal_on_a_stack_of_its_own(void **state)
{
	(void)state;
	start();
	call(false, 0);
	enter(PAIR_LOW, 32);
	signal_comes(true);
	handler_runs();
	check_stack();
	assert_in_range(m.walk.stack_low, STACK, STACK + STACK_BYTES);   /* the walk ended on the first stack */
}

static void guess_by_frame_pointer(void **state)
{
	(void)state;
	start();
	call(false, 1ULL << 53);
	enter(BY_FP, 16);
	m.pc = JIT_CODE + 8;
	leave(false);
	assert_int_equal(walk(), GMT_UNWIND_END_ROOT);
	assert_int_equal(m.walk.frames, 2);
	assert_int_equal(m.frames[0], m.pc | GMT_FRAME_EXACT);
	assert_int_equal(m.frames[1], m.expected[0] | GMT_FRAME_GUESSED);
	*word_of(m.fp + 8) = 0x123450;
	assert_int_equal(walk(), GMT_UNWIND_END_NO_ROW);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_stacks),
		cmocka_unit_test(leaf_of_a_leaf),
		cmocka_unit_test(frame_pointer_of_the_start),
		cmocka_unit_test(ends),
		cmocka_unit_test(signal_on_a_stack_of_its_own),
		cmocka_unit_test(guess_by_frame_pointer),
	};
	return cmocka_run_group_tests_name("unwind_arm64", tests, NULL, NULL);
}
