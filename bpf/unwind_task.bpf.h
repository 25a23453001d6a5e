/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Tells the unwinder (unwind.bpf.h) what the kernel knows of the current thread: the end of the thread's stack, and the
 * return addresses that return probes took from the stack. Include vmlinux.h and libbpf's headers first.
 */
#ifndef GMT_UNWIND_TASK_BPF_H
#define GMT_UNWIND_TASK_BPF_H

#define UNWIND_RETURNS_MAX 64 /* MAX_URETPROBE_DEPTH, include/linux/uprobes.h */

#define UNWIND_VM_IO 0x4000        /* include/linux/mm.h */
#define UNWIND_VM_PFNMAP 0x400
#define UNWIND_VM_WRITE 0x2

/* A stack's mapping. Keep one for each thread (task storage), because bpf_find_vma() fails while another thread changes
 * the process's mappings. */
struct unwind_stack {
	__u64 start, end;
};

static long unwind_see_vma(struct task_struct *task, struct vm_area_struct *vma, void *ctx)
{
	struct unwind_stack *stack = ctx;
	unsigned long flags = vma->vm_flags;

	/* Device memory is not a stack: the walk does not follow a stack pointer that leads there. */
	if ((flags & UNWIND_VM_WRITE) && !(flags & (UNWIND_VM_IO | UNWIND_VM_PFNMAP))) {
		stack->start = vma->vm_start;
		stack->end = vma->vm_end;
	}
	return 0;
}

/* The end of the mapping that a stack pointer is in; 0: unknown. Needs Linux 5.17. */
static __always_inline __u64 unwind_stack_end(struct task_struct *task, struct unwind_stack *stack, __u64 sp)
{
	struct unwind_stack found = { 0 };

	if (sp >= stack->start && sp < stack->end)
		return stack->end;
	bpf_find_vma(task, sp, unwind_see_vma, &found, 0);
	if (found.end)
		*stack = found;
	return found.end;
}

/* The address that every return probe puts in place of the return address: the beginning of the process's [uprobes]
 * page (kernel/events/uprobes.c, uprobe_get_trampoline_vaddr). 0: the process never hit a probe. */
static __always_inline __u64 unwind_trampoline(struct task_struct *task)
{
	struct xol_area *area = BPF_CORE_READ(task, mm, uprobes_state.xol_area);

	return area ? BPF_CORE_READ(area, vaddr) : 0;
}

/* The thread's return probes that have not been hit yet, the newest first: the cursor for unwind_repair(). */
static __always_inline __u64 unwind_returns(struct task_struct *task)
{
	struct uprobe_task *utask = BPF_CORE_READ(task, utask);

	return utask ? (__u64)BPF_CORE_READ(utask, return_instances) : 0;
}

/*
 * Finds the return address that a return probe took. return_instance.stack is the stack pointer at the probed
 * function's entry (prepare_uretprobe): on x86-64 the address of the slot with the return address, on arm64 the CFA.
 * Older instances have higher addresses, as older frames do, so the cursor never goes back. An instance below belongs
 * to a call that was left by longjmp. If several instances have the same address, each has the true return address.
 */
static __always_inline int unwind_repair(__u64 *cursor, __u64 at, __u64 *pc)
{
	for (int i = 0; i < UNWIND_RETURNS_MAX; i++) {
		struct return_instance *instance = (struct return_instance *)*cursor;

		if (!instance)
			return -1;
		if (BPF_CORE_READ(instance, stack) == at) {
			*pc = BPF_CORE_READ(instance, orig_ret_vaddr);
			return 0;
		}
		if (BPF_CORE_READ(instance, stack) > at)
			return -1;
		*cursor = (__u64)BPF_CORE_READ(instance, next);
	}
	return -1;
}

#endif
