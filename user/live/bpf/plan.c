// SPDX-License-Identifier: BSD-2-Clause
#include "live/bpf/plan.h"

#include <stdio.h>
#include <string.h>

static const struct {
	const char *name, *without;
} optional[] = {
#define X(program, text) { #program, text },
	PLAN_OPTIONAL(X)
#undef X
};
_Static_assert(PLAN_OPTIONAL_COUNT <= 32, "plan.left_out has a bit for each");

#define KERNELS_WALK "stack traces follow frame pointers, and most of them are incomplete"
#define UPGRADE "A newer kernel or a newer gpumemtrace may accept the program; all other numbers stay exact"

/* Fills the limit and returns true. */
static bool say_limit(struct gmt_limit *limit, const char *what, const char *remedy, const char *why)
{
	*limit = (struct gmt_limit){ 0 };
	snprintf((char *)limit->what, sizeof(limit->what), "%s", what);
	snprintf((char *)limit->remedy, sizeof(limit->remedy), "%s", *what ? remedy : "");
	snprintf((char *)limit->why, sizeof(limit->why), "%s", why);
	return true;
}

static bool leave_out(struct plan *plan, const char *program, struct gmt_limit *limit)
{
	for (size_t i = 0; i < PLAN_OPTIONAL_COUNT; i++) {
		if (strcmp(program, optional[i].name) || plan->left_out >> i & 1)
			continue;
		plan->left_out |= 1u << i;
		return say_limit(limit, optional[i].without, UPGRADE, "");
	}
	return false;
}

bool plan_lower(struct plan *plan, const char *program, struct gmt_limit *limit)
{
	bool has_stacks = plan->stack_mode != GMT_STACKS_OFF;

	if (!strcmp(program, "fw_block") && has_stacks && plan->block_stacks) {
		plan->block_stacks = false;
		return say_limit(limit, "frameworks' blocks have no stack traces", UPGRADE, "");
	}
	if (!strncmp(program, "ioctl_", 6) && has_stacks && plan->ioctl_stacks) {
		plan->ioctl_stacks = false;
		return say_limit(limit, "memory that the driver takes by itself has no stack traces", UPGRADE, "");
	}
	if (!strcmp(program, "call_enter") && has_stacks) {
		bool has_own = plan->stack_mode != GMT_STACKS_POINTERS;

		plan->stack_mode = has_own ? GMT_STACKS_POINTERS : GMT_STACKS_OFF;
		return say_limit(limit, has_own ? KERNELS_WALK : "there are no stack traces", UPGRADE, "");
	}
	return leave_out(plan, program, limit);
}

void plan_without_walk(struct plan *plan, struct gmt_limit *limit)
{
	plan->stack_mode = GMT_STACKS_POINTERS;
	say_limit(limit, KERNELS_WALK, "Boot Linux 5.17 or newer, which has both, for complete stack traces",
		  "the kernel lacks bpf_loop() or bpf_find_vma()");
}

bool plan_leaves_out(const struct plan *plan, const char *program)
{
	for (size_t i = 0; i < PLAN_OPTIONAL_COUNT; i++)
		if (!strcmp(program, optional[i].name))
			return plan->left_out >> i & 1;
	return false;
}
