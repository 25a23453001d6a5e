/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Sends events of frameworks: the blocks that their allocators give out, and the phases of their work. There is one
 * program for each kind of event. A probe's cookie has the framework and the arguments' meaning (struct gmt_fw_layout).
 *
 * Only entries are probed: C++ exceptions may cross the functions, and a return probe would then end the process. An
 * allocator reports up to 200,000 blocks a second while it holds its lock, so the programs do as little as possible:
 * they take stacks only on request, and only of blocks that are given out.
 */
#ifndef GMT_FRAMEWORK_BPF_H
#define GMT_FRAMEWORK_BPF_H

/* ---- the arguments ---- */

struct fw_args {
	struct gmt_fw_layout at;
	__u64 list[1 << GMT_FW_ARG_BITS]; /* by number, which is always in bounds; an argument not passed is 0 */
};

static __always_inline struct gmt_fw_layout fw_layout(struct pt_regs *ctx)
{
	union {
		__u64 cookie;
		struct gmt_fw_layout layout;
	} as = { .cookie = bpf_get_attach_cookie(ctx) };

	return as.layout;
}

static __always_inline void fw_read(struct fw_args *args, struct pt_regs *ctx)
{
	args->at = fw_layout(ctx);
	args->list[0] = args->list[7] = 0;
	save_args(args->list + 1, ctx);
}

/* A device is passed by value: its type is the lowest byte, its ordinal is the next byte, and the rest of the register
 * is undefined. A function without a device argument has type 0 here and in its layout. */
static __always_inline int fw_is_on_gpu(const struct fw_args *args)
{
	return (__u8)args->list[args->at.device] == args->at.gpu_type;
}

static __always_inline __u8 fw_device(const struct fw_args *args)
{
	return args->at.device ? GMT_FW_GPU : GMT_FW_BY_ADDRESS;
}

static __always_inline __s64 fw_delta(const struct fw_args *args)
{
	__s64 bytes = args->list[args->at.bytes];

	return args->at.release && (__u8)args->list[args->at.release] == args->at.release_value ? -bytes : bytes;
}

static __always_inline __u8 fw_ordinal(const struct fw_args *args)
{
	return args->list[args->at.device] >> 8;
}

/* ---- blocks ---- */

static __always_inline __u32 fw_stack(struct pt_regs *ctx, __u64 bytes, __u64 now_ns)
{
	struct stack_start start = {
		.pc = PT_REGS_IP(ctx), .sp = PT_REGS_SP(ctx), .fp = PT_REGS_FP(ctx), .ret = PT_REGS_RET(ctx),
		.bytes = bytes, .now_ns = now_ns,
	};
	struct thread_state *state = thread_make();

	return state ? stack_take(&state->stacks, &start) : 0;
}

/* A block was given out, or taken back. */
SEC("uprobe")
int fw_block(struct pt_regs *ctx)
{
	struct gmt_fw_mem rec = {};
	struct fw_args args;

	KEEP_KERNEL_STACK(ctx);
	fw_read(&args, ctx);
	if (!fw_is_on_gpu(&args) || !is_target())
		return 0;
	rec.ptr = args.list[args.at.ptr];
	rec.delta = fw_delta(&args);
	rec.total_allocated = args.list[args.at.total_allocated];
	rec.total_reserved = args.list[args.at.total_reserved];
	rec.device_type = fw_device(&args);
	rec.device_index = fw_ordinal(&args);
	rec.framework = args.at.framework;
	rec.flags = args.at.total_allocated ? 0 : GMT_FW_NO_TOTALS;
	fill_header(&rec.hdr, GMT_KIND_FW_MEM, sizeof(rec));
	if (gmt.config.block_stacks && gmt.config.stack_mode && rec.delta > 0)
		rec.stack_id = fw_stack(ctx, rec.delta, rec.hdr.ts_ns);
	send(&rec, sizeof(rec));
	return 0;
}

/* The allocator has given up, and reports the error after this function. */
SEC("uprobe")
int fw_oom(struct pt_regs *ctx)
{
	struct gmt_fw_oom rec = {};
	struct fw_args args;

	KEEP_KERNEL_STACK(ctx);
	fw_read(&args, ctx);
	if (!fw_is_on_gpu(&args) || !is_target())
		return 0;
	rec.size = args.list[args.at.bytes];
	rec.total_allocated = args.list[args.at.total_allocated];
	rec.total_reserved = args.list[args.at.total_reserved];
	rec.device_type = fw_device(&args);
	rec.device_index = fw_ordinal(&args);
	rec.framework = args.at.framework;
	/* This happens seldom, so the stack is always taken. */
	if (gmt.config.stack_mode)
		rec.stack_id = fw_stack(ctx, ~0ULL, 0);
	SEND(rec, FW_OOM);
	return 0;
}

/* Sends the size that the program asked for when it got its newest block. The arguments of this static probe are the
 * block's address, its device's ordinal, the size and the stream. */
SEC("uprobe")
int fw_size(struct pt_regs *ctx)
{
	__u64 cookie = bpf_get_attach_cookie(ctx);
	__u32 place = cookie;
	const struct gmt_usdt *usdt = bpf_map_lookup_elem(&usdt_places, &place);
	struct gmt_fw_size rec = {};
	__u64 device = 0;

	KEEP_KERNEL_STACK(ctx);
	if (!usdt || !is_target())
		return 0;
	if (usdt_read(ctx, &usdt->args[0], &rec.ptr) || usdt_read(ctx, &usdt->args[1], &device) ||
	    usdt_read(ctx, &usdt->args[2], &rec.size) || usdt_read(ctx, &usdt->args[3], &rec.stream)) {
		count_loss(GMT_LOSS_UNREADABLE);
		return 0;
	}
	rec.device_type = GMT_FW_GPU;
	rec.device_index = device;
	rec.framework = cookie >> 32;
	SEND(rec, FW_SIZE);
	return 0;
}

/* ---- ranges ---- */

static __always_inline void send_range(__u8 framework, __u64 object, __u8 what, __u32 stack_id,
				       const struct range_thread *ranges)
{
	struct gmt_fw_range rec = { .object = object, .what = what, .framework = framework, .stack_id = stack_id };

	if (ranges)
		__builtin_memcpy(rec.name, ranges->name, sizeof(rec.name));
	SEND(rec, FW_RANGE);
}

/* The number of a range, unique among the open ranges of all threads. */
static __always_inline __u64 range_object(__u32 open)
{
	return bpf_get_current_pid_tgid() << 32 | open;
}

/* A range begins. Each framework passes the name in its own way, so each has its own program, which calls this. */
static __always_inline int begin_range(__u8 framework, __u64 text, __u64 len)
{
	struct thread_state *state = thread_make();
	struct range_thread *ranges;

	if (!state)
		return 0;
	ranges = &state->ranges;
	__builtin_memset(ranges->name, 0, sizeof(ranges->name));
	if (len > GMT_RANGE_NAME_BYTES - 1)
		len = GMT_RANGE_NAME_BYTES - 1;
	if (len && bpf_probe_read_user(ranges->name, len, (void *)text))
		count_loss(GMT_LOSS_UNREADABLE);
	send_range(framework, range_object(++ranges->open), GMT_RANGE_BEGIN, 0, ranges);
	return 0;
}

/* The thread's innermost range ends. */
SEC("uprobe")
int fw_range_end(struct pt_regs *ctx)
{
	struct thread_state *state = thread_get();

	KEEP_KERNEL_STACK(ctx);
	if (!state)
		count_hidden_thread();
	/* A range that began before the attach is not reported. */
	if (state && state->ranges.open)
		send_range(fw_layout(ctx).framework, range_object(state->ranges.open--), GMT_RANGE_END, 0, 0);
	return 0;
}

/* The thread begins to compute gradients. Another thread does the work and has no Python frames, so the stack of this
 * thread is the only one that says which line of the program the work is for. */
SEC("uprobe")
int fw_backward(struct pt_regs *ctx)
{
	__u32 stack_id = 0;

	KEEP_KERNEL_STACK(ctx);
	if (!is_target())
		return 0;
	/* This happens once or a few times in an iteration, so the stack is always taken. */
	if (gmt.config.stack_mode)
		stack_id = fw_stack(ctx, ~0ULL, 0);
	send_range(fw_layout(ctx).framework, 0, GMT_RANGE_BACKWARD, stack_id, 0);
	return 0;
}

#endif
