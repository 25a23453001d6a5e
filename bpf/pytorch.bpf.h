/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Sends the beginnings of PyTorch's ranges. Python's record_function, which optimizers, DDP and FSDP use too, calls
 *
 *   record_function_enter_new(name, args)            when a range begins, and, on the same thread,
 *   IValue::toCustomClass<PythonRecordFunction>()    when the range ends, for the object that stands for the range
 *
 * whether a profiler is on or not. (The Python code of 1.13 calls a function without a symbol instead, so its ranges
 * are not seen.) RecordFunction's own constructor and end() are not probed: each node of a backward makes an object,
 * some hundreds in a step. end() begins with an instruction that the kernel has to single-step for a probe, which
 * takes microseconds in a virtual machine.
 */
#ifndef GMT_PYTORCH_BPF_H
#define GMT_PYTORCH_BPF_H

/* A range whose name cannot be read begins, too: else its end would end the range around it. */
static __always_inline int begin_unnamed(void)
{
	count_loss(GMT_LOSS_UNREADABLE);
	return begin_range(GMT_FW_PYTORCH, 0, 0);
}

/* The name is a std::string. Since GCC 5 this is a pointer to the text, then the length. */
SEC("uprobe")
int torch_range_begin(struct pt_regs *ctx)
{
	__u64 string[2];

	KEEP_KERNEL_STACK(ctx);
	if (!is_target())
		return 0;
	if (bpf_probe_read_user(string, sizeof(string), (void *)RANGE_NAME_ARG(ctx)))
		return begin_unnamed();
	return begin_range(GMT_FW_PYTORCH, string[0], string[1]);
}

/* Before GCC 5, and in PyPI's PyTorch up to 2.6, this is a pointer to the text; the length lies before the text. */
SEC("uprobe")
int torch_range_begin_old(struct pt_regs *ctx)
{
	__u64 text, len;

	KEEP_KERNEL_STACK(ctx);
	if (!is_target())
		return 0;
	if (bpf_probe_read_user(&text, sizeof(text), (void *)RANGE_NAME_ARG(ctx)) ||
	    bpf_probe_read_user(&len, sizeof(len), (void *)(text - 24)))
		return begin_unnamed();
	return begin_range(GMT_FW_PYTORCH, text, len);
}

#endif
