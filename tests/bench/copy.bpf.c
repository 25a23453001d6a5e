// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/* Does what a tool does that unwinds in user space: copies 64 KiB of the thread's stack into a ring buffer. */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#define BYTES 65536

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 64 << 20);
} ring SEC(".maps");

SEC("kprobe")
int copy(struct pt_regs *ctx)
{
	void *bytes = bpf_ringbuf_reserve(&ring, BYTES, 0);

	if (!bytes)
		return 0;
	if (bpf_probe_read_user(bytes, BYTES, (void *)PT_REGS_SP(ctx)))
		bpf_ringbuf_discard(bytes, BPF_RB_NO_WAKEUP);
	else
		bpf_ringbuf_submit(bytes, BPF_RB_NO_WAKEUP);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
