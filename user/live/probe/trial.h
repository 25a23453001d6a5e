/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tries on a child, before anything else is probed, whether a return probe kills the process that runs into the probe.
 *
 * A return probe replaces the return address by that of a trampoline. On x86-64 the trampoline is a system call
 * from Linux 6.11 on (uretprobe, ff474a78cef5), which a seccomp filter may refuse until cf6cb56ef244 lets it pass;
 * and the processor ends a thread whose shadow stack has another return address, until 1713b63a07a2 changes this,
 * too. Stable and distributions' kernels have these commits under other versions, so versions decide nothing here.
 */
#ifndef GPUMEMTRACE_LIVE_PROBE_TRIAL_H
#define GPUMEMTRACE_LIVE_PROBE_TRIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum trial_result {
	TRIAL_UNKNOWN,           /* could not be tried: counts as deadly */
	TRIAL_KILLS,
	TRIAL_SAFE,
	TRIAL_ABSENT,            /* the kernel or processor has no shadow stacks: no process can be hurt */
};

struct trial {
	enum trial_result seccomp, shadow_stack;
	char why[96];            /* why something is unknown; "" if nothing is */
};

/* `multi`: how probes are attached (uprobe.h). Takes some milliseconds, at most ten seconds if a child hangs. No child,
 * probe or program is left behind. */
void trial_run(struct trial *trial, bool multi);

/* Gives the result that a test asks for: "seccomp" or "shstk" names the place that kills; other words mean unknown. */
void trial_assume(struct trial *trial, const char *wanted);

/* The result of one child: `err` of starting it (0 or -errno), its wait(2) status, how often the probe ran. `why` gets
 * a sentence if the result is unknown. Pure, for tests. */
#define TRIAL_CHILD_LIVED 42    /* the exit status of a child that survived */
enum trial_result trial_judge(int err, int status, uint64_t runs, char *why, size_t why_size);

/* Whether a return probe may do harm, by this result. */
bool trial_harms(enum trial_result result);

#endif
