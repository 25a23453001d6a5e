/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * PyTorch's static probe pytorch:malloc(void *ptr, DeviceIndex device, size_t size, StreamId stream): what was
 * asked for, which the report of the block that was given out (torch.bpf.h) does not say. It comes right
 * after that report, on the same thread.
 */
#ifndef GMT_TORCH_SIZE_BPF_H
#define GMT_TORCH_SIZE_BPF_H

#include <gpumemtrace/usdt.h>

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, GMT_USDT_PLACES);
	__type(key, __u32);
	__type(value, struct gmt_usdt);
} usdt_places SEC(".maps");

static __always_inline int usdt_read(struct pt_regs *ctx, const struct gmt_usdt_arg *arg, __u64 *out)
{
	__u8 bits = 64 - 8 * arg->bytes;
	__u64 value = 0;

	if (arg->kind == GMT_USDT_CONSTANT)
		value = arg->value;
	else if (bpf_probe_read_kernel(&value, sizeof(value), (void *)ctx + arg->reg))
		return -1;
	/* As many bytes as it has: it may end a page. */
	if (arg->kind == GMT_USDT_MEMORY) {
		__u64 at = value + arg->value;
		__u32 bytes = arg->bytes;

		value = 0;
		if (bytes > sizeof(value) || bpf_probe_read_user(&value, bytes, (void *)at))
			return -1;
	}
	value <<= bits & 63;
	*out = arg->is_signed ? (__u64)((__s64)value >> (bits & 63)) : value >> (bits & 63);
	return 0;
}

SEC("uprobe")
int torch_malloc(struct pt_regs *ctx)
{
	__u32 place = bpf_get_attach_cookie(ctx);
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
	SEND(rec, FW_SIZE);
	return 0;
}

#endif
