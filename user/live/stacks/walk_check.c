// SPDX-License-Identifier: BSD-2-Clause
#include "live/stacks/walk_check.h"

#include "live/stacks/address_space.h"
#include "symbol/elf/modules.h"

static uint64_t moments_of(const struct gmt_stack *stack)
{
	size_t words = (stack->hdr.size - sizeof(*stack)) / sizeof(stack->words[0]);

	return words > stack->count ? stack->words[stack->count] : 0;
}

uint32_t walk_moment(const struct gmt_stack *stack)
{
	return (uint32_t)moments_of(stack);
}

static uint32_t list_moment(const struct gmt_stack *stack)
{
	return (uint32_t)(moments_of(stack) >> 32);
}

/* Ends a stack behind frame `last`, whose code was other code than the walk took it for. Python's frames stay. */
static void cut_stack(struct gmt_stack *stack, uint32_t last)
{
	uint64_t moment = walk_moment(stack);
	uint32_t kept = last + 1;

	for (uint32_t i = kept; i < stack->count; i++) {
		if (!(stack->words[i] & GMT_FRAME_PYTHON) || i + 1 >= stack->count)
			continue;
		stack->words[kept++] = stack->words[i++];
		stack->words[kept++] = stack->words[i];
	}
	stack->count = (uint16_t)kept;
	stack->words[kept] = moment;
	stack->hdr.size = (uint16_t)(sizeof(*stack) + (kept + 1) * sizeof(__u64));
	stack->reason = GMT_UNWIND_END_REMAPPED;
}

/* Whether code at an address is not what a walk took it for: BPF's walk knew the mappings up to a moment, a walk of a
 * copy took the newest list. */
static bool is_misread(const struct space *space, const struct gmt_stack *stack, bool is_copy, uint64_t address)
{
	struct module_map *map = modules_find(&space->modules, address);
	bool has_file = !map || modules_of(&space->modules, map)->kind != MODULE_ANONYMOUS;
	uint32_t moment = walk_moment(stack);

	if (is_copy)
		return space_has_changed(space, moment, address);
	return code_events_changed(&space->events, list_moment(stack), moment, address, has_file);
}

static uint32_t last_native(const struct gmt_stack *stack)
{
	uint32_t last = 0;

	for (uint32_t i = 0; i < stack->count; i++) {
		if (stack->words[i] & GMT_FRAME_PYTHON)
			i++;
		else
			last = i;
	}
	return last;
}

bool walk_check(const struct space *space, struct gmt_stack *stack, bool is_copy)
{
	bool is_complete = GMT_UNWIND_COMPLETE >> (stack->reason & 31) & 1;
	uint32_t end = is_complete ? stack->count : last_native(stack); /* where no walk went on, nothing is wrong */

	for (uint32_t i = 0; i < end; i++) {
		uint64_t word = stack->words[i], address = word & GMT_FRAME_PC_MASK;

		if (word & GMT_FRAME_PYTHON) {
			i++;
		} else if (is_misread(space, stack, is_copy, address - !(word & GMT_FRAME_EXACT))) {
			cut_stack(stack, i);
			return true;
		}
	}
	return false;
}
