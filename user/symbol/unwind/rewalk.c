// SPDX-License-Identifier: BSD-2-Clause
#include "symbol/unwind/rewalk.h"

#include <stdbool.h>

struct unwind_walk;
static int copy_read(struct unwind_walk *walk, __u64 address, __u64 *val);
static const __u64 *copied_word(struct unwind_walk *walk, __u32 slot);
static const struct gmt_unwind_mapping *mapping_at(struct unwind_walk *walk, __u32 i);
static int take_walked_word(struct unwind_walk *walk, __u64 word);
static int repair_taken(struct unwind_walk *walk, __u64 at, __u64 *pc);

/* Other stacks are not in the copy. */
#define UNWIND_READ64(walk, address, val) copy_read(walk, address, val)
#define UNWIND_WORD(walk, slot) copied_word(walk, slot)
#define UNWIND_MAPPING(walk, i) mapping_at(walk, i)
#define UNWIND_FRAME(walk, word) take_walked_word(walk, word)
#define UNWIND_REPAIR(walk, at, pc) repair_taken(walk, at, pc)
#include "../../../bpf/unwind.bpf.h"

struct copy_walk {
	struct unwind_walk walk;     /* must be first: the unwinder hands back its address */
	const struct rewalk *rewalk;
	const struct gmt_stack *stack;
	const struct gmt_stack_copy *const *pieces;
	size_t piece_count;
	struct gmt_stack *out;
	uint32_t next_python;        /* in the stack's words */
};

static int copy_read(struct unwind_walk *walk, __u64 address, __u64 *val)
{
	const struct copy_walk *copy = (const struct copy_walk *)walk;

	for (size_t p = 0; p < copy->piece_count; p++) {
		const struct gmt_stack_copy *piece = copy->pieces[p];
		uint64_t i = (address - piece->base) / sizeof(__u64);

		if (address < piece->base || i >= piece->count)
			continue;
		*val = piece->words[i];
		return 0;
	}
	return -1;
}

static const __u64 *copied_word(struct unwind_walk *walk, __u32 slot)
{
	const struct rewalk *rewalk = ((struct copy_walk *)walk)->rewalk;

	return rewalk->word(rewalk->arg, slot);
}

static const struct gmt_unwind_mapping *mapping_at(struct unwind_walk *walk, __u32 i)
{
	const struct rewalk *rewalk = ((struct copy_walk *)walk)->rewalk;

	return i < rewalk->mapping_count ? &rewalk->mappings[i] : NULL;
}

static bool push_word(struct gmt_stack *out, uint64_t word)
{
	if (out->count >= GMT_STACK_WORDS)
		return false;
	out->words[out->count++] = word;
	return true;
}

/* Copies the next Python frame. True: there was a frame, and its call of the eval function has more frames. */
static bool push_python(struct copy_walk *copy)
{
	const struct gmt_stack *stack = copy->stack;
	uint32_t i = copy->next_python;

	while (i + 1 < stack->count && !(stack->words[i] & GMT_FRAME_PYTHON))
		i++;
	if (i + 1 >= stack->count || !push_word(copy->out, stack->words[i]) ||
	    !push_word(copy->out, stack->words[i + 1])) {
		copy->next_python = stack->count;
		return false;
	}
	copy->next_python = i + 2;
	return !(stack->words[i] & GMT_FRAME_LAST);
}

static int take_walked_word(struct unwind_walk *walk, __u64 word)
{
	struct copy_walk *copy = (struct copy_walk *)walk;

	if (!push_word(copy->out, word))
		return -1;
	if (word & GMT_FRAME_EVAL)
		while (push_python(copy))
			;
	return 0;
}

#ifdef GMT_UNWIND_ARM64

static int repair_taken(struct unwind_walk *walk, __u64 at, __u64 *pc)
{
	const struct gmt_unwind_taken *taken = &((struct copy_walk *)walk)->pieces[0]->taken;

	for (__u64 i = 0; i < taken->count && i < GMT_UNWIND_TAKEN_MAX; i++) {
		if (taken->list[i].at != at)
			continue;
		*pc = taken->list[i].pc;
		return 0;
	}
	return -1;
}

static uint64_t trampoline_of(const struct gmt_stack_copy *copy)
{
	return copy->taken.trampoline;
}

#else

/* BPF has put the return addresses back. */
static int repair_taken(struct unwind_walk *walk, __u64 at, __u64 *pc)
{
	(void)walk;
	(void)at;
	(void)pc;
	return -1;
}

static uint64_t trampoline_of(const struct gmt_stack_copy *copy)
{
	(void)copy;
	return 0;
}

#endif

void rewalk_stack(const struct rewalk *rewalk, const struct gmt_stack *stack,
		  const struct gmt_stack_copy *const *pieces, size_t count, struct gmt_stack *out)
{
	struct copy_walk walk = {
		.rewalk = rewalk, .stack = stack, .pieces = pieces, .piece_count = count, .out = out,
	};
	const struct gmt_stack_copy *first = pieces[0], *last = pieces[count - 1];
	struct unwind_walk *start = &walk.walk;

	*out = *stack;
	out->count = 0;
	unwind_start(start, first->pc, first->sp, first->fp, last->base + (uint64_t)last->count * sizeof(__u64),
		     trampoline_of(first), rewalk->mapping_count, rewalk->depth);
	start->more = first->more;
	for (uint32_t i = 0; i <= GMT_UNWIND_FRAMES_MAX && !unwind_step(i, &start); i++)
		;
	while (walk.next_python < stack->count)
		push_python(&walk);
	out->reason = (uint8_t)unwind_end(start);
	out->hdr.size = (uint16_t)(sizeof(*out) + out->count * sizeof(__u64));
}
