/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds out whether this kernel keeps our uprobe programs on the kernel stack, which bpf/guard.bpf.h explains. The
 * answer does not depend on versions: the functions load small programs, and check the machine code of the real
 * programs where the kernel shows the code.
 */
#ifndef GPUMEMTRACE_LIVE_BPF_GUARD_H
#define GPUMEMTRACE_LIVE_BPF_GUARD_H

#include <stdbool.h>
#include <stddef.h>

enum guard_answer {
	GUARD_SAFE,              /* no private stacks, or a tail call prevents them */
	GUARD_PRIVATE,           /* programs get private stacks in spite of the tail call */
	GUARD_UNKNOWN,           /* the kernel loads not even the smallest program */
};

/* Finds out how the kernel treats programs that are loaded for `attach_type`. Takes a millisecond. */
enum guard_answer guard_try(int attach_type);

/* The answer from three trials, true if the program was loaded: small frames; frames that share more than 512 bytes;
 * such frames with a tail call that is never reached. Pure. */
enum guard_answer guard_judge(bool small, bool large, bool large_with_tail_call);

/* Whether a loaded program's machine code shows a private stack. False also if the kernel does not show the code
 * (kernel.kptr_restrict, no CAP_SYSLOG). */
bool guard_program_is_private(int prog_fd);

/* Whether machine code of x86-64 or arm64 shows a private stack: looks for the instructions that compute the stack's
 * address from the CPU's offset. Pure. */
bool guard_code_is_private(const void *code, size_t size);

#endif
