/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether a return probe kills who runs into it, tried on a child of ours before anything else is probed.
 *
 * A return probe replaces the return address by that of a trampoline. On x86-64 the trampoline is a system call
 * from Linux 6.11 on (uretprobe, ff474a78cef5), which a seccomp filter may refuse until cf6cb56ef244 lets it pass;
 * and the processor ends a thread whose shadow stack says another return address, until 1713b63a07a2 changes that,
 * too. Stable and distributions' kernels have these commits under other versions, so versions decide nothing here.
 */
#ifndef GPUMEMTRACE_LIVE_PROBE_TRIAL_H
#define GPUMEMTRACE_LIVE_PROBE_TRIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum trial_result {
	TRIAL_UNKNOWN,           /* could not be tried: taken as if it killed */
	TRIAL_KILLS,
	TRIAL_SAFE,
	TRIAL_ABSENT,            /* the kernel or processor has no such thing: nobody can be hurt */
};

struct trial {
	enum trial_result seccomp, shadow_stack;
	char why[96];            /* why something is unknown; "" if nothing is */
};

/* `multi`: how probes are attached (uprobe.h). Takes some milliseconds, at most ten seconds if a child hangs; leaves no
 * child, no probe and no program behind. */
void trial_run(struct trial *trial, bool multi);

/* The result that a test wants to see: "seccomp" or "shstk" kills, anything else is unknown. */
void trial_assume(struct trial *trial, const char *wanted);

/* What a child's end says: `err` of letting the child go (0 or -errno), its wait(2) status, how often the probe ran.
 * `why` gets a sentence if the result is unknown. Pure, for tests. */
#define TRIAL_CHILD_LIVED 42    /* the exit status of a child that survived */
enum trial_result trial_judge(int err, int status, uint64_t runs, char *why, size_t why_size);

/* Whether a return probe may hurt, as far as this result knows. */
bool trial_harms(enum trial_result result);

#endif
