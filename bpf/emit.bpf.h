/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Sends records, and counts those that could not be sent. */
#ifndef GMT_EMIT_BPF_H
#define GMT_EMIT_BPF_H

static __always_inline void count_losses(__u32 cause, __u32 count)
{
	__u64 *n = bpf_map_lookup_elem(&loss, &cause);

	if (n)
		__sync_fetch_and_add(n, count);
}

static __always_inline void count_loss(__u32 cause)
{
	count_losses(cause, 1);
}

/* A record does not wake the reader, because a wakeup costs ten times the record itself. The reader looks every few
 * milliseconds, and is woken early when the ring fills up. */
static __always_inline __u64 wake_flags(void)
{
	if (bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) >= gmt.config.wake_bytes)
		return BPF_RB_FORCE_WAKEUP;
	return BPF_RB_NO_WAKEUP;
}

static __always_inline void fill_header(struct gmt_hdr *hdr, __u16 kind, __u16 size)
{
	__u64 id = bpf_get_current_pid_tgid();

	hdr->size = size;
	hdr->kind = kind;
	hdr->tgid = id >> 32;
	hdr->tid = (__u32)id;
	hdr->cpu = bpf_get_smp_processor_id();
	hdr->ts_ns = bpf_ktime_get_ns();
}

/* Returns whether the record was lost. */
static __always_inline int send(void *record, __u32 size)
{
	if (!bpf_ringbuf_output(&ring, record, size, wake_flags()))
		return 0;
	count_loss(GMT_LOSS_RING_FULL);
	return 1;
}

#define SEND(record, KIND)                                                        \
	do {                                                                      \
		fill_header(&(record).hdr, GMT_KIND_##KIND, sizeof(record));      \
		send(&(record), sizeof(record));                                  \
	} while (0)

static __always_inline __u64 cut_start(__u64 start_ns)
{
	return start_ns - start_ns % GMT_START_UNIT_NS;
}

/* Sends the start and the name of the current process: before the collector reads /proc, the pid may get reused. */
static __noinline int announce(void)
{
	struct gmt_proc_exec rec = {};
	struct task_struct *task = bpf_get_current_task_btf();

	rec.start_ns = cut_start(BPF_CORE_READ(task, group_leader, start_boottime));
	bpf_get_current_comm(rec.comm, sizeof(rec.comm));
	SEND(rec, PROC_SEEN);
	return 0;
}

/* Whether a process is a target. The current process is not gone, because target_gone() runs in its last thread. */
static __always_inline int target_known(__u32 tgid)
{
	volatile __u32 *near = &targets_near[tgid % GMT_TARGETS_NEAR];

	if (*near == tgid)
		return 1;
	if (!bpf_map_lookup_elem(&targets, &tgid))
		return 0;
	if (!*near)
		*near = tgid;
	return 1;
}

static __always_inline void target_gone(__u32 tgid)
{
	volatile __u32 *near = &targets_near[tgid % GMT_TARGETS_NEAR];
	struct gmt_target *target = bpf_map_lookup_elem(&targets, &tgid);

	if (target) {
		user_return_process(target->user);
		user_return_stacks(target->user, target->stacks);
	}
	bpf_map_delete_elem(&targets, &tgid);
	if (*near == tgid)
		*near = 0;
}

/* Makes a process a target, from the current user's share. False: the user has its share. A function of its own, so
 * that the ioctl program's chain of calls stays within 512 bytes of stack. */
static __noinline int target_add(__u32 tgid)
{
	struct gmt_target target = { .user = user_key() };
	long err;

	if (!user_take_process(target.user)) {
		count_loss(GMT_LOSS_TARGET_MAP_FULL);
		return 0;
	}
	err = bpf_map_update_elem(&targets, &tgid, &target, BPF_NOEXIST);
	if (err)
		user_return_process(target.user);
	if (err && err != -EEXIST) /* else another thread was faster */
		count_loss(GMT_LOSS_TARGET_MAP_FULL);
	return 1;
}

/* Whether the current process is traced. With trace_all, the first CUDA call or NVIDIA ioctl of a process makes the
 * process a target. */
static __always_inline int is_target(void)
{
	__u32 tgid = bpf_get_current_pid_tgid() >> 32;

	if (target_known(tgid))
		return 1;
	if (!gmt.config.trace_all || !runtime.armed || tgid == gmt.config.self_tgid)
		return 0;
	if (!target_add(tgid))
		return 0;
	announce();
	return 1;
}

#endif
