// SPDX-License-Identifier: BSD-2-Clause
/*
 * The unwinder over any mappings, tables and stack: it ends, reads only aligned words of the stack, and
 * asks only for mappings and words by numbers that a map can refuse.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../symbol/unwind_c.h"

#define MAPPINGS 4
#define WORDS 64
#define STACK_WORDS 256
#define STACK 0x7ffc00000000ULL
#define FRAMES 300

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The input is laid over this. */
struct world {
	__u32 mapping_count;
	__u32 has_trampoline;
	__u64 pc, fp;
	__u16 sp, end;          /* words of the stack */
	__u32 reserved;
	struct gmt_unwind_mapping mappings[MAPPINGS];
	union gmt_unwind_word words[WORDS];
	__u64 stack[STACK_WORDS];
};

struct fuzzed {
	struct unwind_walk walk;
	const struct world *world;
	unsigned int work;
};

static void work(struct unwind_walk *walk)
{
	/* By far more than frames times halvings: an endless loop. */
	if (((struct fuzzed *)walk)->work++ > 100000)
		abort();
}

static int read64(struct unwind_walk *walk, __u64 address, __u64 *val)
{
	const struct world *world = ((struct fuzzed *)walk)->world;

	work(walk);
	if (address % 8 || address < walk->stack_low || address >= walk->stack_end || address < STACK ||
	    address - STACK >= sizeof(world->stack))
		abort();
	*val = world->stack[(address - STACK) / 8];
	return *val == 0xbadbad;
}

static const __u64 *word_at(struct unwind_walk *walk, __u32 slot)
{
	work(walk);
	return slot < WORDS ? &((struct fuzzed *)walk)->world->words[slot].raw : NULL;
}

static const struct gmt_unwind_mapping *mapping_at(struct unwind_walk *walk, __u32 i)
{
	work(walk);
	if (i >= walk->mapping_count)
		abort();
	return i < MAPPINGS ? &((struct fuzzed *)walk)->world->mappings[i] : NULL;
}

static int take(struct unwind_walk *walk, __u64 word)
{
	(void)word;
	if (walk->frames >= FRAMES)
		abort();
	return 0;
}

static int repair(struct unwind_walk *walk, __u64 slot, __u64 *pc)
{
	(void)walk;
	*pc = slot;
	return slot & 8 ? -1 : 0;
}

static __u64 other_stack(struct unwind_walk *walk, __u64 sp)
{
	(void)walk;
	return sp >= STACK && sp < STACK + STACK_WORDS * 8 ? STACK + STACK_WORDS * 8 : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct world world;
	struct fuzzed fuzzed = { .world = &world };
	struct unwind_walk *walk = &fuzzed.walk;
	long ended = 0;

	memset(&world, 0, sizeof(world));
	memcpy(&world, data, size < sizeof(world) ? size : sizeof(world));
	unwind_start(walk, world.pc, STACK + world.sp % STACK_WORDS * 8, world.fp,
		     STACK + world.end % (STACK_WORDS + 1) * 8, world.has_trampoline & 1 ? 0xdead000 : 0,
		     world.mapping_count, FRAMES);
	for (__u32 i = 0; i <= FRAMES && !ended; i++)
		ended = unwind_step(i, &walk);
	if (!ended || unwind_end(walk) == GMT_UNWIND_END_NONE || unwind_end(walk) >= GMT_UNWIND_REASON_COUNT)
		abort();
	return 0;
}
