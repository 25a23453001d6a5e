/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which parts of the BPF programs are loaded. A plan begins with everything that the user asks for. If the kernel's
 * verifier refuses a program, the plan loses the part that costs least. Each loss is a limit that the user sees.
 */
#ifndef GPUMEMTRACE_LIVE_BPF_PLAN_H
#define GPUMEMTRACE_LIVE_BPF_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gpumemtrace/stackmap.h>
#include <gpumemtrace/wire.h>

#define GMT_UNNOTICED "stack traces do not notice code that takes the place of other code"

/* X(program, what is lost without the program; "": nothing), in the order of the object */
#define PLAN_OPTIONAL(X)                                                                     \
	X(fw_block, "frameworks' blocks are not seen")                                           \
	X(fw_oom, "errors from memory limits of frameworks' own are not seen")                   \
	X(torch_range_begin, "the phases of a training are not seen")                            \
	X(torch_range_begin_old, "the phases of a training are not seen")                        \
	X(fw_range_end, "the phases of a training are not seen")                                 \
	X(fw_backward, "the backward phase of a training is not seen")                           \
	X(fw_size, "the requested sizes of frameworks' blocks are not seen")                      \
	X(ioctl_tracepoint, "")                                                                  \
	X(ioctl_sys_exit, "")                                                                    \
	X(proc_fork, "children of traced processes are not followed")                            \
	X(proc_exec, "a traced process that runs another program is not followed")               \
	X(code_mapped, GMT_UNNOTICED)                                                            \
	X(code_protected, GMT_UNNOTICED)

#define X(program, text) + 1
enum { PLAN_OPTIONAL_COUNT = PLAN_OPTIONAL(X) };
#undef X

struct plan {
	enum gmt_stack_mode stack_mode;
	bool block_stacks;
	bool ioctl_stacks;           /* of memory that the driver takes by itself */
	uint32_t left_out;           /* bit i: row i of PLAN_OPTIONAL */
};

#define PLAN_LIMITS_MAX 32

struct plan_limits {
	size_t count;
	struct gmt_limit list[PLAN_LIMITS_MAX];
};

/* For a program that the kernel refused: removes the part that costs least from the plan, and fills the limit.
 * False: the program is needed, or is not in the plan. Pure. */
bool plan_lower(struct plan *plan, const char *program, struct gmt_limit *limit);

/* Sets the plan to frame pointers, and fills the limit: the kernel lacks bpf_loop() or bpf_find_vma(), which walks of
 * whole stacks need. */
void plan_without_walk(struct plan *plan, struct gmt_limit *limit);

bool plan_leaves_out(const struct plan *plan, const char *program);

#endif
