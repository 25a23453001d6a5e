// SPDX-License-Identifier: BSD-2-Clause
#include "live/stacks/stack_needs.h"

#include <string.h>

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

static bool is_eval(const struct space *space, uint64_t word)
{
	const struct gmt_py_config *python = &space->python.config;
	uint64_t address = (word & GMT_FRAME_PC_MASK) - !(word & GMT_FRAME_EXACT);

	if (word & GMT_FRAME_EVAL)
		return true;
	for (uint32_t i = 0; i < python->eval_count && space->python_state == SPACE_PYTHON_FOUND; i++)
		if (address >= python->eval[i].start && address < python->eval[i].end)
			return true;
	return false;
}

/* Whether the process runs Python, or was about to when it was last asked. */
static bool has_python(const struct space *space)
{
	bool is_asked = space->python_state == SPACE_PYTHON_UNKNOWN;

	for (size_t i = 0; i < space->modules.count && is_asked; i++)
		if (space->modules.list[i].kind == MODULE_FILE && strstr(space->modules.list[i].name, "python"))
			return true;
	return space->python_state == SPACE_PYTHON_FOUND;
}

bool stack_lacks_python(const struct space *space, const struct gmt_stack *stack)
{
	bool is_complete = GMT_UNWIND_COMPLETE >> (stack->reason & 31) & 1;

	/* Of a Python that is refused, a note says that all frames are missing. */
	if (!space->with_python || space->python_state == SPACE_PYTHON_REFUSED || stack->py_reason != GMT_PY_END_NONE)
		return false;
	for (uint32_t i = 0; i < stack->count; i++)
		if (stack->words[i] & GMT_FRAME_PYTHON)
			return false;
	for (uint32_t i = 0; i < stack->count; i++)
		if (is_eval(space, stack->words[i]))
			return true;
	return !is_complete && has_python(space);
}
