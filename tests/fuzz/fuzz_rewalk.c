// SPDX-License-Identifier: BSD-2-Clause
/*
 * Any stack with any copy of its memory: a second walk ends, writes only where there is room, and gives each Python
 * frame once, in order.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/unwind/rewalk.h"

#define MAPPINGS 4
#define TABLE_WORDS 64
#define MEMORY_WORDS 256
#define STACK_WORDS 128

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The input is laid over this. */
struct world {
	__u32 mapping_count, depth;
	__u64 pc, sp, fp;
	__u16 memory_count, stack_count;
	__u32 reserved;
	struct gmt_unwind_mapping mappings[MAPPINGS];
	union gmt_unwind_word words[TABLE_WORDS];
	__u64 memory[MEMORY_WORDS], stack[STACK_WORDS];
};

static const __u64 *word_at(void *arg, uint32_t slot)
{
	return slot < TABLE_WORDS ? &((const struct world *)arg)->words[slot].raw : NULL;
}

/* Allocated to the word, so that the sanitizer sees what is read behind them. */
static void *record(size_t head, const __u64 *words, size_t count)
{
	char *bytes = calloc(1, head + count * sizeof(*words));

	memcpy(bytes + head, words, count * sizeof(*words));
	return bytes;
}

static uint32_t next_python(const struct gmt_stack *stack, uint32_t i)
{
	while (i < stack->count && !(stack->words[i] & GMT_FRAME_PYTHON))
		i++;
	return i;
}

static void check(const struct gmt_stack *stack, const struct gmt_stack *out)
{
	uint32_t from = 0, to = 0;

	if (out->count > GMT_STACK_WORDS || out->reason >= GMT_UNWIND_REASON_COUNT ||
	    out->reason == GMT_UNWIND_END_NONE)
		abort();
	for (;;) {
		from = next_python(stack, from);
		to = next_python(out, to);
		if (to >= out->count)
			return;
		if (from >= stack->count || out->words[to] != stack->words[from])
			abort();
		/* a record that was cut in the middle of a frame ends there */
		if (to + 1 < out->count && (from + 1 >= stack->count || out->words[to + 1] != stack->words[from + 1]))
			abort();
		from += 2;
		to += 2;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct world world;
	struct rewalk rewalk = { .mappings = world.mappings, .word = word_at, .arg = &world };
	struct gmt_stack *stack, *out;
	struct gmt_stack_copy *copy;

	memset(&world, 0, sizeof(world));
	memcpy(&world, data, size < sizeof(world) ? size : sizeof(world));
	world.memory_count %= MEMORY_WORDS + 1;
	world.stack_count %= STACK_WORDS + 1;
	/* The kernel gives no address of its own; and what is not Python's is none of the flags but these. */
	for (int i = 0; i < STACK_WORDS; i++)
		world.stack[i] &= ~(GMT_FRAME_EVAL | GMT_FRAME_EXACT);
	rewalk.mapping_count = world.mapping_count % (MAPPINGS + 1);
	rewalk.depth = world.depth % (GMT_UNWIND_FRAMES_MAX + 1);
	stack = record(sizeof(*stack), world.stack, world.stack_count);
	stack->count = world.stack_count;
	copy = record(sizeof(*copy), world.memory, world.memory_count);
	copy->count = world.memory_count;
	copy->pc = world.pc;
	copy->sp = world.sp;
	copy->fp = world.fp;
	out = malloc(sizeof(*out) + GMT_STACK_WORDS * sizeof(__u64));
	copy->base = copy->sp;
	rewalk_stack(&rewalk, stack, (const struct gmt_stack_copy *const[]){ copy }, 1, out);
	check(stack, out);
	free(out);
	free(copy);
	free(stack);
	return 0;
}
