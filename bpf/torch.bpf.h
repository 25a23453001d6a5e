/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The probe on c10::reportMemoryUsageToProfiler(), to which PyTorch's caching allocator reports each block, profiler or
 * not. Its parameters: void *ptr, int64_t size, size_t total_allocated, size_t total_reserved, Device device.
 *
 * Entry only: C++ exceptions may cross the function, and a return probe would end the process then. It is
 * called up to 200,000 times a second inside the allocator's lock, so nothing is done that need not be:
 * stacks only where they are asked for, and of blocks that are given out.
 */
#ifndef GMT_TORCH_BPF_H
#define GMT_TORCH_BPF_H

static __always_inline __u32 torch_stack(struct pt_regs *ctx, __u64 bytes, __u64 now_ns)
{
	struct stack_start start = {
		.pc = PT_REGS_IP(ctx), .sp = PT_REGS_SP(ctx), .fp = PT_REGS_FP(ctx), .ret = PT_REGS_RET(ctx),
		.bytes = bytes, .now_ns = now_ns,
	};
	struct thread_state *state = thread_make();

	return state ? stack_take(&state->stacks, &start) : 0;
}

SEC("uprobe")
int torch_memory(struct pt_regs *ctx)
{
	/* Two bytes passed by value, type and index: the register's upper bits are anything. */
	__u16 device = PT_REGS_PARM5(ctx);
	struct gmt_fw_mem rec = {};

	KEEP_KERNEL_STACK(ctx);
	if ((__u8)device != GMT_FW_GPU || !is_target())
		return 0;
	rec.ptr = PT_REGS_PARM1(ctx);
	rec.delta = PT_REGS_PARM2(ctx);
	rec.total_allocated = PT_REGS_PARM3(ctx);
	rec.total_reserved = PT_REGS_PARM4(ctx);
	rec.device_type = GMT_FW_GPU;
	rec.device_index = device >> 8;
	fill_header(&rec.hdr, GMT_KIND_FW_MEM, sizeof(rec));
	if (gmt.config.block_stacks && gmt.config.stack_mode && rec.delta > 0)
		rec.stack_id = torch_stack(ctx, rec.delta, rec.hdr.ts_ns);
	send(&rec, sizeof(rec));
	return 0;
}

/* c10::reportOutOfMemoryToProfiler(int64_t size, size_t total_allocated, size_t total_reserved, Device device):
 * the allocator has given up, and throws when this has returned. */
SEC("uprobe")
int torch_oom(struct pt_regs *ctx)
{
	__u16 device = PT_REGS_PARM4(ctx);
	struct gmt_fw_oom rec = {};

	KEEP_KERNEL_STACK(ctx);
	if ((__u8)device != GMT_FW_GPU || !is_target())
		return 0;
	rec.size = PT_REGS_PARM1(ctx);
	rec.total_allocated = PT_REGS_PARM2(ctx);
	rec.total_reserved = PT_REGS_PARM3(ctx);
	rec.device_type = GMT_FW_GPU;
	rec.device_index = device >> 8;
	/* It happens seldom: always with a stack. */
	if (gmt.config.stack_mode)
		rec.stack_id = torch_stack(ctx, ~0ULL, 0);
	SEND(rec, FW_OOM);
	return 0;
}

#endif
