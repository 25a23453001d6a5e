/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The unwinder (unwind.bpf.h) on x86-64: the kernel's signal frame, and the way to a caller. */
#ifndef GMT_UNWIND_X86_BPF_H
#define GMT_UNWIND_X86_BPF_H

/* Offsets from the stack pointer in rt_sigreturn's stub, where struct ucontext lies. Its uc_mcontext begins at 40
 * (include/uapi/asm-generic/ucontext.h, arch/x86/include/uapi/asm/sigcontext.h sigcontext_64). */
#define UNWIND_SIGNAL_FP 120
#define UNWIND_SIGNAL_SP 160
#define UNWIND_SIGNAL_PC 168

UNWIND_INLINE __u32 unwind_signal_more(struct unwind_walk *walk)
{
	(void)walk;
	return GMT_UNWIND_END_NONE;
}

/* Goes to the caller. */
UNWIND_INLINE __u32 unwind_apply(struct unwind_walk *walk, const struct gmt_unwind_row *row)
{
	__u64 cfa = 0, pc = 0;
	__u32 reason = unwind_cfa(walk, row, &cfa);

	if (reason)
		return reason;
	if (cfa <= walk->sp)
		return GMT_UNWIND_END_NO_PROGRESS;
	reason = unwind_read_return(walk, cfa - 8, &pc);
	if (reason)
		return reason;
	if (walk->trampoline && pc == walk->trampoline && UNWIND_REPAIR(walk, cfa - 8, &pc))
		return GMT_UNWIND_END_TRAMPOLINE;
	if (row->fp == GMT_UNWIND_FP_LOST) {
		walk->fp_lost = 1;
	} else if (row->fp == GMT_UNWIND_FP_AT_FP) {
		reason = unwind_get_fp(walk);
		if (reason)
			return reason;
		walk->fp_slot = walk->fp;
	} else if (row->fp != GMT_UNWIND_FP_SAME) {
		walk->fp_slot = cfa - (__u64)row->fp * 8;
		walk->fp_lost = 0;
	}
	walk->sp = cfa;
	walk->pc = pc;
	walk->is_exact = 0;
	return pc ? GMT_UNWIND_END_NONE : GMT_UNWIND_END_ZERO;
}

#endif
