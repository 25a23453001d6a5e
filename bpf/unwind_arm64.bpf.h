/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The unwinder (unwind.bpf.h) on arm64: the kernel's signal frame, and the way to a caller. A call puts the return
 * address into x30, and a function that calls others saves x30. So the return address is still in x30 only where no
 * call has been made: where the walk begins, and in the code that a signal interrupted. The address may be signed.
 */
#ifndef GMT_UNWIND_ARM64_BPF_H
#define GMT_UNWIND_ARM64_BPF_H

/* Offsets from the stack pointer in __kernel_rt_sigreturn, where struct rt_sigframe lies: a siginfo of 128 bytes, then
 * struct ucontext, whose uc_mcontext begins at 176 because it is aligned to 16 bytes: a fault address, then x0 to x30,
 * sp and pc (arch/arm64/kernel/signal.c, arch/arm64/include/uapi/asm/ucontext.h and sigcontext.h of Linux 6.12). */
#define UNWIND_SIGNAL_REGISTER(n) (128 + 176 + 8 + 8 * (n))
#define UNWIND_SIGNAL_FP UNWIND_SIGNAL_REGISTER(29)
#define UNWIND_SIGNAL_LINK UNWIND_SIGNAL_REGISTER(30)
#define UNWIND_SIGNAL_SP UNWIND_SIGNAL_REGISTER(31)
#define UNWIND_SIGNAL_PC UNWIND_SIGNAL_REGISTER(32)

/* Reads the x30 of the code that a signal interrupted. */
UNWIND_INLINE __u32 unwind_signal_more(struct unwind_walk *walk)
{
	__u64 link = 0;
	__u32 reason = unwind_read(walk, walk->sp + UNWIND_SIGNAL_LINK, &link);

	walk->more.link = link;
	return reason;
}

/* The slot that a row names (GMT_UNWIND_SLOT_UP). */
UNWIND_INLINE __u64 unwind_slot(const struct gmt_unwind_row *row, __u64 cfa)
{
	if (row->fp & GMT_UNWIND_SLOT_UP)
		return cfa - (__s64)row->cfa * 8 + (__u64)(row->fp & ~GMT_UNWIND_SLOT_UP) * 8;
	return cfa - (__u64)row->fp * 8;
}

/* Reads the return address that the function has saved, with its caller's frame pointer or alone. */
UNWIND_INLINE __u32 unwind_saved_return(struct unwind_walk *walk, const struct gmt_unwind_row *row, __u64 cfa,
					__u64 *pc)
{
	__u64 slot = unwind_slot(row, cfa);
	int is_alone = row->rule & GMT_UNWIND_RA_ALONE;
	__u32 reason;

	if (cfa <= walk->sp)
		return GMT_UNWIND_END_NO_PROGRESS;
	reason = unwind_read_return(walk, is_alone ? slot : slot + 8, pc);
	if (!reason && !is_alone) {
		walk->fp_slot = slot;
		walk->fp_lost = 0;
	}
	return reason;
}

/* The return address in x30. The frame may be empty: then the caller has the same stack pointer. */
UNWIND_INLINE __u32 unwind_link(const struct unwind_walk *walk, __u64 cfa, __u64 *pc)
{
	if (!walk->is_exact)
		return GMT_UNWIND_END_UNSUPPORTED;
	if (cfa < walk->sp)
		return GMT_UNWIND_END_NO_PROGRESS;
	*pc = walk->more.link;
	return GMT_UNWIND_END_NONE;
}

/* Goes to the caller. A return probe notes the stack pointer at the function's entry, which is the CFA. */
UNWIND_INLINE __u32 unwind_apply(struct unwind_walk *walk, const struct gmt_unwind_row *row)
{
	__u64 cfa = 0, pc = 0;
	__u32 reason = unwind_cfa(walk, row, &cfa);

	if (!reason)
		reason = row->fp == GMT_UNWIND_FP_SAME ? unwind_link(walk, cfa, &pc) :
							 unwind_saved_return(walk, row, cfa, &pc);
	if (reason)
		return reason;
	pc &= walk->more.code_mask;
	if (walk->trampoline && pc == walk->trampoline && UNWIND_REPAIR(walk, cfa, &pc))
		return GMT_UNWIND_END_TRAMPOLINE;
	walk->sp = cfa;
	walk->pc = pc;
	walk->is_exact = 0;
	return pc ? GMT_UNWIND_END_NONE : GMT_UNWIND_END_ZERO;
}

#endif
