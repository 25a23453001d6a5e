/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What of the BPF programs is loaded. A plan begins as all that is asked for; where this kernel's verifier refuses a
 * program, the plan gets smaller by what costs least, never the whole. What is left out is told as limits.
 */
#ifndef GPUMEMTRACE_LIVE_BPF_PLAN_H
#define GPUMEMTRACE_LIVE_BPF_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gpumemtrace/stackmap.h>
#include <gpumemtrace/wire.h>

/* One list, in the order of the object. X(program, what goes without it; "" where nothing does) */
#define PLAN_OPTIONAL(X)                                                                     \
	X(fw_block, "frameworks' blocks are not seen")                                           \
	X(fw_oom, "errors from memory limits of frameworks' own are not seen")                   \
	X(torch_range_begin, "the phases of a training are not seen")                            \
	X(torch_range_begin_old, "the phases of a training are not seen")                        \
	X(fw_range_end, "the phases of a training are not seen")                              \
	X(fw_backward, "the backward phase of a training is not seen")                        \
	X(fw_size, "the requested sizes of frameworks' blocks are not seen")                      \
	X(ioctl_tracepoint, "")                                                                  \
	X(ioctl_sys_exit, "")                                                                    \
	X(proc_fork, "children of traced processes are not followed")                            \
	X(proc_exec, "a traced process that runs another program is not followed")

enum plan_optional {
#define X(program, text) PLAN_##program,
	PLAN_OPTIONAL(X)
#undef X
	PLAN_OPTIONAL_COUNT
};

/* What is loaded: begins as what is asked for, and gets smaller. */
struct plan {
	enum gmt_stack_mode stack_mode;
	bool block_stacks;
	bool ioctl_stacks;           /* of memory that the driver takes by itself */
	uint32_t left_out;           /* bit i: enum plan_optional */
};

#define PLAN_LIMITS_MAX 32

struct plan_limits {
	size_t count;
	struct gmt_limit list[PLAN_LIMITS_MAX];
};

/* Makes the plan smaller by what a program's refusal costs least, and says what is gone. False: the program is needed,
 * or is not one that takes part in the plan. Pure. */
bool plan_lower(struct plan *plan, const char *program, struct gmt_limit *limit);

/* The same for what the kernel lacks for stacks with all their frames: bpf_loop() or bpf_find_vma(). */
void plan_without_walk(struct plan *plan, struct gmt_limit *limit);

/* The same where unwinding tables are not read: GMT_STACKS_DEFAULT is POINTERS. */
void plan_without_tables(struct plan *plan, struct gmt_limit *limit);

bool plan_leaves_out(const struct plan *plan, const char *program);

#endif
