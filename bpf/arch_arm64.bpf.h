/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The BPF programs on arm64: registers, the order of memory, and where a function returns to. */
#ifndef GMT_ARCH_ARM64_BPF_H
#define GMT_ARCH_ARM64_BPF_H

#define RETURN_SP_SHIFT 0
#define STACK_ARGS_OFFSET 0
#define ARCH_PARM6(ctx) (((const struct user_pt_regs *)(ctx))->regs[5])
#define RANGE_NAME_ARG(ctx) PT_REGS_PARM1(ctx) /* the result's address is in x8 */

#define SYSCALL_ARG1(regs) ((regs)->orig_x0) /* x0 holds the result by now */
#define SYSCALL_ARG2(regs) ((regs)->regs[1])
#define SYSCALL_ARG3(regs) ((regs)->regs[2])
#define SYSCALL_ARG4(regs) ((regs)->regs[3])
#define SYSCALL_NR(regs) ((regs)->syscallno)
#define NR_ioctl 29 /* include/uapi/asm-generic/unistd.h */

static __always_inline __u64 arch_thread_pointer(struct task_struct *task)
{
	return BPF_CORE_READ(task, thread.uw.tp_value);
}

/* Reads a word in order with all other reads and writes. */
static __always_inline __u32 arch_read_ordered(__u32 *word)
{
	return __sync_fetch_and_add(word, 0);
}

/* The bits of a user address. A signed address has its signature above them. The kernel's mask for the signature comes
 * from the same power of two, mm->task_size (ptrauth_user_pac_mask(), arch/arm64/include/asm/pointer_auth.h). */
static __always_inline __u64 arch_code_mask(void)
{
	return BPF_CORE_READ(bpf_get_current_task_btf(), mm, task_size) - 1;
}

/* Struct stack_start's `ret` is x30. At a function's entry this is the return address. At a system call it may be an
 * older one, which the unwinder knows by the tables, and this bit is set. Instructions have 4 bytes. */
#define ARCH_RET_OLD 1ULL

/* Where the function that has just been entered returns to; 0: not at a function's entry. */
static __always_inline __u64 arch_caller(const __u64 *ret)
{
	return *ret & ARCH_RET_OLD ? 0 : *ret & arch_code_mask();
}

/* The same, of a program's registers. */
static __always_inline __u64 arch_return_address(struct pt_regs *ctx)
{
	return PT_REGS_RET(ctx) & arch_code_mask();
}

/* Sets `ret` at a system call. */
static __always_inline void arch_set_syscall_ret(__u64 *ret, struct pt_regs *regs)
{
	*ret = PT_REGS_RET_CORE(regs) | ARCH_RET_OLD;
}

/* Whether the return address may still be that of the return probe. It was in a register. */
static __always_inline int arch_is_hijacked(__u64 sp, __u64 trampoline)
{
	return 1;
}

/* The part of `ret` that a stack depends on. */
struct arch_link {
	__u64 ret;
};

static __always_inline struct arch_link arch_link(const __u64 *ret)
{
	return (struct arch_link){ .ret = *ret };
}

static __always_inline int arch_link_differs(const struct arch_link *link, const __u64 *ret)
{
	return link->ret != *ret;
}

static __always_inline void arch_fill_more(struct gmt_unwind_more *more, const __u64 *ret)
{
	more->link = *ret & ~ARCH_RET_OLD;
	more->code_mask = arch_code_mask();
}

/* Sends the return addresses that return probes have taken with the copy. `returns` is the newest probe's. */
static __always_inline void arch_copy_returns(struct gmt_stack_copy *copy, __u32 room, struct return_instance *returns)
{
	__u32 count = 0;

	copy->taken.trampoline = unwind_trampoline(bpf_get_current_task_btf());
	for (int i = 0; i < GMT_UNWIND_TAKEN_MAX; i++) {
		if (!returns)
			break;
		copy->taken.list[i].at = BPF_CORE_READ(returns, stack);
		copy->taken.list[i].pc = BPF_CORE_READ(returns, orig_ret_vaddr);
		returns = BPF_CORE_READ(returns, next);
		count = i + 1;
	}
	copy->taken.count = count;
}

#endif
