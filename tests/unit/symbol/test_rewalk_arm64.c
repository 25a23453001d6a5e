// SPDX-License-Identifier: BSD-2-Clause
/* Stacks of arm64 that are walked from a copy of their memory: x30 and the return addresses that return probes took come
 * in the copy's record. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#define GMT_UNWIND_ARM64
#include "../../../user/symbol/unwind/rewalk.c"

#define CODE 0x400000ULL
#define STACK 0x7000ULL
#define MASK ((1ULL << 48) - 1)
#define SIGNATURE (0x5aULL << 48)
#define TRAMPOLINE (MASK & ~0xfffULL)
#define WORDS 16

/* Rows of 16 bytes of code each. */
enum { ROOT, LEAF, PAIR, ROWS };
static const union gmt_unwind_word table[1 + ROWS] = {
	{ .page = { 0, ROWS } },
	{ .row = { ROOT * 0x10, 0, GMT_UNWIND_STOP, 0 } },
	{ .row = { LEAF * 0x10, 0, GMT_UNWIND_SP, 0 } },
	{ .row = { PAIR * 0x10, 4, GMT_UNWIND_SP, 4 } },
};
static const struct gmt_unwind_mapping mapping = {
	.start = CODE, .end = CODE + 0x1000, .base = CODE, .pages = 1, .flags = GMT_UNWIND_MAP_TABLE,
};

static struct {
	struct gmt_stack_copy copy;
	__u64 words[WORDS];
} piece;
static struct {
	struct gmt_stack stack;
	__u64 words[GMT_STACK_WORDS];
} found;

static __u64 code_of(int row)
{
	return CODE + 0x10 * (unsigned int)row + 4;
}

static const __u64 *table_word(void *arg, uint32_t slot)
{
	(void)arg;
	return slot < 1 + ROWS ? &table[slot].raw : NULL;
}

/* A leaf that `PAIR` called, twice, the outer one from the root. */
static void start(void)
{
	memset(&piece, 0, sizeof(piece));
	piece.copy.pc = code_of(LEAF);
	piece.copy.sp = piece.copy.base = STACK;
	piece.copy.count = WORDS;
	piece.copy.more = (struct gmt_unwind_more){ .link = code_of(PAIR), .code_mask = MASK };
	piece.words[1] = code_of(PAIR) | SIGNATURE;
	piece.words[5] = code_of(ROOT) | SIGNATURE;
}

static __u32 walk(void)
{
	const struct rewalk rewalk = { .mappings = &mapping, .mapping_count = 1, .word = table_word, .depth = 8 };
	const struct gmt_stack taken = { .reason = GMT_UNWIND_END_NO_TABLE };

	rewalk_stack(&rewalk, &taken, (const struct gmt_stack_copy *const[]){ &piece.copy }, 1, &found.stack);
	return found.stack.reason;
}

static void link_and_signatures(void **state)
{
	(void)state;
	start();
	assert_int_equal(walk(), GMT_UNWIND_END_ROOT);
	assert_int_equal(found.stack.count, 4);
	assert_int_equal(found.words[0], code_of(LEAF) | GMT_FRAME_EXACT);
	assert_int_equal(found.words[1], code_of(PAIR));
	assert_int_equal(found.words[2], code_of(PAIR));
	assert_int_equal(found.words[3], code_of(ROOT));
}

static void return_probes(void **state)
{
	(void)state;
	start();
	piece.words[5] = TRAMPOLINE | SIGNATURE;
	assert_int_equal(walk(), GMT_UNWIND_END_NO_MAPPING);     /* without the trampoline's address it is any address */
	piece.copy.taken.trampoline = TRAMPOLINE;
	assert_int_equal(walk(), GMT_UNWIND_END_TRAMPOLINE);
	piece.copy.taken.count = 2;
	piece.copy.taken.list[0].at = STACK + 4 * 8;
	piece.copy.taken.list[0].pc = code_of(PAIR);
	piece.copy.taken.list[1].at = STACK + 8 * 8;
	piece.copy.taken.list[1].pc = code_of(ROOT);
	assert_int_equal(walk(), GMT_UNWIND_END_ROOT);
	assert_int_equal(found.words[3], code_of(ROOT));
	piece.copy.taken.count = ~0ULL;  /* no more than there is room for */
	piece.copy.taken.list[1].at = 0;
	assert_int_equal(walk(), GMT_UNWIND_END_TRAMPOLINE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(link_and_signatures),
		cmocka_unit_test(return_probes),
	};
	return cmocka_run_group_tests_name("rewalk_arm64", tests, NULL, NULL);
}
