// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/* A uprobe program that does nothing: the least that any uprobe tool has to pay. */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

SEC("kprobe")
int empty(struct pt_regs *ctx)
{
	(void)ctx;
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
