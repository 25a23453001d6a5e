/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Reads the arguments of static probes. The probe's cookie contains the place's number in usdt_places. */
#ifndef GMT_USDT_BPF_H
#define GMT_USDT_BPF_H

#include <gpumemtrace/usdt.h>

MAP(usdt_places, ARRAY, GMT_USDT_PLACES, __u32, struct gmt_usdt, 0);

static __always_inline int usdt_read(struct pt_regs *ctx, const struct gmt_usdt_arg *arg, __u64 *out)
{
	__u8 bits = 64 - 8 * arg->bytes;
	__u64 value = 0;

	if (arg->kind == GMT_USDT_CONSTANT)
		value = arg->value;
	else if (bpf_probe_read_kernel(&value, sizeof(value), (void *)ctx + arg->reg))
		return -1;
	/* Only the bytes of the argument are read, because the argument may end a page. */
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

#endif
