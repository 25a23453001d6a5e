// SPDX-License-Identifier: BSD-2-Clause
#include "live/stacks/stack_needs.h"

bool stack_wants_tables(enum gmt_stack_mode mode, const struct gmt_stack *stack)
{
	return (mode == GMT_STACKS_FULL || mode == GMT_STACKS_NATIVE) && stack->reason < GMT_UNWIND_REASON_COUNT &&
	       GMT_UNWIND_CUT >> stack->reason & 1;
}

bool stack_is_beyond(const struct space *space, const struct gmt_stack *stack)
{
	if (space->modules.left_out) /* a reading would leave the same mappings out */
		return false;
	for (uint32_t i = 0; i < stack->count; i++) {
		if (stack->words[i] & GMT_FRAME_PYTHON)
			i++;
		else if (!modules_find(&space->modules, (stack->words[i] & GMT_FRAME_PC_MASK) - 1))
			return true;
	}
	return false;
}
