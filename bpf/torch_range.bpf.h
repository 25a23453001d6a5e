/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * What PyTorch is doing: entries of functions of libtorch_cpu and libtorch_python. Python's record_function, and
 * what is made of it (optimizers, DDP, FSDP), calls
 *
 *   record_function_enter_new(name, args)            when a range begins, and, on the same thread,
 *   IValue::toCustomClass<PythonRecordFunction>()    when it ends, for the object that stands for it
 *
 * whether a profiler is on or not. (The Python of 1.13 calls a function without a symbol instead: its ranges are
 * not seen.) RecordFunction's own constructor and end() are not for this: each node of a backward makes one, some
 * hundreds in a step, and end() begins with an instruction that the kernel has to single-step for a probe, which
 * takes microseconds in a virtual machine. Nothing here returns through a probe: C++ exceptions may pass.
 */
#ifndef GMT_TORCH_RANGE_BPF_H
#define GMT_TORCH_RANGE_BPF_H

static __always_inline void send_range(__u64 object, __u8 what, const struct range_thread *ranges)
{
	struct gmt_fw_range rec = { .object = object, .what = what };

	if (ranges)
		__builtin_memcpy(rec.name, ranges->name, sizeof(rec.name));
	SEND(rec, FW_RANGE);
}

/* Of all threads' ranges. */
static __always_inline __u64 range_object(__u32 open)
{
	return bpf_get_current_pid_tgid() << 32 | open;
}

static __always_inline int begin_range(__u64 text, __u64 len)
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
	send_range(range_object(++ranges->open), GMT_RANGE_BEGIN, ranges);
	return 0;
}

#if defined(__TARGET_ARCH_x86)
#define RANGE_NAME_ARG(ctx) PT_REGS_PARM2(ctx) /* the first one is where the result goes */
#else
#define RANGE_NAME_ARG(ctx) PT_REGS_PARM1(ctx) /* that is in x8 */
#endif

/* std::string since GCC 5: its text, its length. */
SEC("uprobe")
int torch_range_begin(struct pt_regs *ctx)
{
	__u64 string[2];

	KEEP_KERNEL_STACK(ctx);
	if (!is_target())
		return 0;
	if (bpf_probe_read_user(string, sizeof(string), (void *)RANGE_NAME_ARG(ctx))) {
		count_loss(GMT_LOSS_UNREADABLE);
		return 0;
	}
	return begin_range(string[0], string[1]);
}

/* ... and before it, as PyPI's PyTorch was built up to 2.6: its text, before which its length lies. */
SEC("uprobe")
int torch_range_begin_old(struct pt_regs *ctx)
{
	__u64 text, len;

	KEEP_KERNEL_STACK(ctx);
	if (!is_target())
		return 0;
	if (bpf_probe_read_user(&text, sizeof(text), (void *)RANGE_NAME_ARG(ctx)) ||
	    bpf_probe_read_user(&len, sizeof(len), (void *)(text - 24))) {
		count_loss(GMT_LOSS_UNREADABLE);
		return 0;
	}
	return begin_range(text, len);
}

SEC("uprobe")
int torch_range_end(struct pt_regs *ctx)
{
	struct thread_state *state = thread_get();

	KEEP_KERNEL_STACK(ctx);
	if (!state)
		count_hidden_thread();
	/* One that began before the attach is of no use. */
	if (state && state->ranges.open)
		send_range(range_object(state->ranges.open--), GMT_RANGE_END, 0);
	return 0;
}

/* torch::autograd::Engine::execute(roots, inputs, ...). */
SEC("uprobe")
int torch_backward(struct pt_regs *ctx)
{
	KEEP_KERNEL_STACK(ctx);
	if (is_target())
		send_range(0, GMT_RANGE_BACKWARD, 0);
	return 0;
}

#endif
