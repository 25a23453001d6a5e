/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Numbers the executable mappings that a process with stacks makes, and tells the collector which addresses they have.
 * A library that is unloaded, and another one that takes its addresses, have the same return addresses: a stack carries
 * the number of the newest mapping, so the collector knows whether a list of mappings is true for the stack.
 */
#ifndef GMT_MAPPED_BPF_H
#define GMT_MAPPED_BPF_H

#define MAPPED_PROT_EXEC 0x4      /* include/uapi/asm-generic/mman-common.h */
#define MAPPED_MAP_ANONYMOUS 0x20
#define MAPPED_ERRORS 4096        /* MAX_ERRNO, include/linux/err.h */

static __always_inline int mapped_send(__u64 start, __u64 size, __u32 has_file)
{
	__u32 tgid = bpf_get_current_pid_tgid() >> 32, *number = bpf_map_lookup_elem(&stack_mapped, &tgid);
	struct gmt_code_mapped rec = {};

	if (!number)
		return 0;
	rec.start = start;
	rec.end = start + (size + STACK_PAGE - 1) / STACK_PAGE * STACK_PAGE;
	rec.has_file = has_file;
	/* The number comes first: a stack that is taken meanwhile has the former one, and no frame in the new code. */
	rec.number = __sync_fetch_and_add(number, 1) + 1;
	__sync_fetch_and_add(&spaces_changed, 1);
	fill_header(&rec.hdr, GMT_KIND_CODE_MAPPED, sizeof(rec));
	/* The collector sees by the next number that a record was lost, and waits for a record that it misses. */
	bpf_ringbuf_output(&ring, &rec, sizeof(rec), BPF_RB_FORCE_WAKEUP);
	return 0;
}

/* The process has begun to map code when the system call ends: nothing runs there before. */
SEC("tp/syscalls/sys_exit_mmap")
int code_mapped(struct trace_event_raw_sys_exit *ctx)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf());
	__u64 start = ctx->ret;

	if (start >= (__u64)-MAPPED_ERRORS || !(SYSCALL_ARG3(regs) & MAPPED_PROT_EXEC))
		return 0;
	return mapped_send(start, SYSCALL_ARG2(regs), !(SYSCALL_ARG4(regs) & MAPPED_MAP_ANONYMOUS));
}

/* Memory that becomes code counts as code without a file, in the place of code with a file only: compilers make their
 * memory executable again and again. */
SEC("tp/syscalls/sys_exit_mprotect")
int code_protected(struct trace_event_raw_sys_exit *ctx)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf());

	if (ctx->ret || !(SYSCALL_ARG3(regs) & MAPPED_PROT_EXEC))
		return 0;
	return mapped_send(SYSCALL_ARG1(regs), SYSCALL_ARG2(regs), 0);
}

#endif
