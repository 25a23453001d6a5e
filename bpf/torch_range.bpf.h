/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * What PyTorch is doing: entries of three of libtorch_cpu's functions. Python's record_function, and what is
 * made of it (optimizers, DDP, FSDP), calls
 *
 *   record_function_enter_new(name, args)   which constructs, on the same thread,
 *   RecordFunction(this, scope),            whose life is the range's, and
 *   RecordFunction::end(this)               ends it; the destructor calls it once more
 *
 * whether a profiler is on or not. (The Python of 1.13 calls a function without a symbol instead: its ranges are
 * not seen. The operators' own RecordFunctions are made by another constructor.) Nothing here returns through a
 * probe: C++ exceptions may pass.
 */
#ifndef GMT_TORCH_RANGE_BPF_H
#define GMT_TORCH_RANGE_BPF_H

/* The name of the range that a thread is about to make. */
struct range_name {
	__u8 text[GMT_RANGE_NAME_BYTES];
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct range_name);
} range_names SEC(".maps");

/* A range that has begun. */
struct range_key {
	__u64 object;
	__u32 tgid;
	__u32 reserved;
};

/* LRU: the end of one may never come. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct range_key);
	__type(value, __u32);
} ranges SEC(".maps");

static __always_inline void send_range(__u64 object, __u8 what, const struct range_name *name)
{
	struct gmt_fw_range rec = { .object = object, .what = what };

	if (name)
		__builtin_memcpy(rec.name, name->text, sizeof(rec.name));
	SEND(rec, FW_RANGE);
}

static __always_inline int take_name(__u64 text, __u64 len)
{
	struct range_name *name;

	name = bpf_task_storage_get(&range_names, bpf_get_current_task_btf(), 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!name)
		return 0;
	__builtin_memset(name, 0, sizeof(*name));
	if (len > GMT_RANGE_NAME_BYTES - 1)
		len = GMT_RANGE_NAME_BYTES - 1;
	if (len && bpf_probe_read_user(name->text, len, (void *)text))
		count_loss(GMT_LOSS_UNREADABLE);
	return 0;
}

#if defined(__TARGET_ARCH_x86)
#define RANGE_NAME_ARG(ctx) PT_REGS_PARM2(ctx) /* the first one is where the result goes */
#else
#define RANGE_NAME_ARG(ctx) PT_REGS_PARM1(ctx) /* that is in x8 */
#endif

/* std::string since GCC 5: its text, its length. */
SEC("uprobe")
int torch_range_name(struct pt_regs *ctx)
{
	__u64 string[2];

	if (!is_target())
		return 0;
	if (bpf_probe_read_user(string, sizeof(string), (void *)RANGE_NAME_ARG(ctx))) {
		count_loss(GMT_LOSS_UNREADABLE);
		return 0;
	}
	return take_name(string[0], string[1]);
}

/* ... and before it, as PyPI's PyTorch was built up to 2.6: its text, before which its length lies. */
SEC("uprobe")
int torch_range_name_old(struct pt_regs *ctx)
{
	__u64 text, len;

	if (!is_target())
		return 0;
	if (bpf_probe_read_user(&text, sizeof(text), (void *)RANGE_NAME_ARG(ctx)) ||
	    bpf_probe_read_user(&len, sizeof(len), (void *)(text - 24))) {
		count_loss(GMT_LOSS_UNREADABLE);
		return 0;
	}
	return take_name(text, len);
}

SEC("uprobe")
int torch_range_begin(struct pt_regs *ctx)
{
	struct range_key key = { .object = PT_REGS_PARM1(ctx), .tgid = bpf_get_current_pid_tgid() >> 32 };
	struct range_name *name;
	__u32 one = 1;

	/* Whose thread has not just said a name makes something else. */
	name = bpf_task_storage_get(&range_names, bpf_get_current_task_btf(), 0, 0);
	if (!name || !name->text[0])
		return 0;
	if (bpf_map_update_elem(&ranges, &key, &one, BPF_ANY))
		return 0;
	send_range(key.object, GMT_RANGE_BEGIN, name);
	name->text[0] = 0;
	return 0;
}

SEC("uprobe")
int torch_range_end(struct pt_regs *ctx)
{
	struct range_key key = { .object = PT_REGS_PARM1(ctx), .tgid = bpf_get_current_pid_tgid() >> 32 };

	if (!bpf_map_delete_elem(&ranges, &key))
		send_range(key.object, GMT_RANGE_END, 0);
	return 0;
}

/* torch::autograd::Engine::execute(roots, inputs, ...). */
SEC("uprobe")
int torch_backward(struct pt_regs *ctx)
{
	if (is_target())
		send_range(0, GMT_RANGE_BACKWARD, 0);
	return 0;
}

#endif
