/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The BPF programs on x86-64: registers, the order of memory, and where a function returns to. */
#ifndef GMT_ARCH_X86_BPF_H
#define GMT_ARCH_X86_BPF_H

#define RETURN_SP_SHIFT 8    /* the return address has been popped */
#define STACK_ARGS_OFFSET 8  /* above the return address */
#define ARCH_PARM6(ctx) ((ctx)->r9)
#define RANGE_NAME_ARG(ctx) PT_REGS_PARM2(ctx) /* the first argument is the result's address */

#define SYSCALL_ARG1(regs) ((regs)->di)
#define SYSCALL_ARG2(regs) ((regs)->si)
#define SYSCALL_ARG3(regs) ((regs)->dx)
#define SYSCALL_ARG4(regs) ((regs)->r10)
#define SYSCALL_NR(regs) ((regs)->orig_ax)
#define NR_ioctl 16 /* arch/x86/entry/syscalls/syscall_64.tbl */

static __always_inline __u64 arch_thread_pointer(struct task_struct *task)
{
	return BPF_CORE_READ(task, thread.fsbase);
}

/* Reads a word in order with all other reads and writes. x86 keeps the order of reads by itself. */
static __always_inline __u32 arch_read_ordered(__u32 *word)
{
	__u32 val;

	asm volatile("" ::: "memory");
	val = *(volatile __u32 *)word;
	asm volatile("" ::: "memory");
	return val;
}

/* Where the function that has just been entered returns to; 0: unknown. */
static __always_inline __u64 arch_return_address(struct pt_regs *ctx)
{
	__u64 pc = 0;

	bpf_probe_read_user(&pc, sizeof(pc), (void *)PT_REGS_SP(ctx));
	return pc;
}

/* The same, by struct stack_start's `ret`; 0: not at a function's entry. */
static __always_inline __u64 arch_caller(const __u64 *ret)
{
	__u64 pc = 0;

	if (*ret)
		bpf_probe_read_user(&pc, sizeof(pc), (void *)*ret);
	return pc;
}

/* Sets `ret` at a system call, where nothing tells which function runs: `ret` stays 0. */
static __always_inline void arch_set_syscall_ret(__u64 *ret, struct pt_regs *regs)
{
}

/* Whether the return address may still be that of the return probe; sp: at the function's entry. */
static __always_inline int arch_is_hijacked(__u64 sp, __u64 trampoline)
{
	__u64 word;

	return !trampoline || bpf_probe_read_user(&word, sizeof(word), (void *)sp) || word == trampoline;
}

/* The part of `ret` that a stack depends on: on x86-64 the word at this address is compared like other words. */
struct arch_link { };

static __always_inline struct arch_link arch_link(const __u64 *ret)
{
	return (struct arch_link){ };
}

static __always_inline int arch_link_differs(const struct arch_link *link, const __u64 *ret)
{
	return 0;
}

static __always_inline void arch_fill_more(struct gmt_unwind_more *more, const __u64 *ret)
{
}

/* Puts the return addresses that return probes have taken back into the copy. `returns` is the newest probe's. */
static __always_inline void arch_copy_returns(struct gmt_stack_copy *copy, __u32 room, struct return_instance *returns)
{
	for (int i = 0; i < GMT_INFLIGHT_DEPTH; i++) {
		__u64 at;

		if (!returns)
			return;
		at = (BPF_CORE_READ(returns, stack) - copy->base) / 8;
		if (at < room / 8 - 1) /* the verifier sees bytes, not words */
			copy->words[at] = BPF_CORE_READ(returns, orig_ret_vaddr);
		returns = BPF_CORE_READ(returns, next);
	}
}

#endif
