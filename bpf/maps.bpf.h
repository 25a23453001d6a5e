/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Every map and every constant the collector sets. BPF keeps calls in flight, configuration and loss
 * counters; it never keeps memory totals. */
#ifndef GMT_MAPS_BPF_H
#define GMT_MAPS_BPF_H

/* Set by the collector before loading. A section of its own, so that it is found by name. */
const volatile struct gmt_rodata gmt SEC(".rodata.gmt");

volatile struct gmt_runtime runtime SEC(".data.gmt") = {};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 16 << 20); /* bytes; the collector sets the real size */
} ring SEC(".maps");

/* Traced processes by tgid (initial pid namespace). */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, __u32);
} targets SEC(".maps");

/* Some of them, by tgid % TARGETS_NEAR: where one is here, nothing has to be hashed. */
#define TARGETS_NEAR 64
volatile __u32 targets_near[TARGETS_NEAR] SEC(".data.targets") = {};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, GMT_LOSS_COUNT);
	__type(key, __u32);
	__type(value, __u64);
} loss SEC(".maps");

/* One call of a probed function that has not returned yet. */
struct call_frame {
	__u64 sp;                        /* user stack pointer at entry: matches entry and return */
	__u64 args[8];                   /* 6 are used; a power of two bounds the index */
	__u64 entry_vals[GMT_CALL_VALS]; /* what had to be read at entry */
	__u32 seq;
	__u16 api;
	__u8 entry_read;                 /* bit i: entry_vals[i] is valid */
	__u8 duplicates;                 /* further probes on this very call (one file, two names) */
	__u32 library;
	__u8 nested;                     /* inside a call that is sent itself: not sent */
	__u8 has_stack;                  /* one was taken, or left out on purpose: stack_id */
	__u8 reserved[2];
	__u32 stack_id;
	__u32 reserved2;
};

/* Per thread, so that no other task can overwrite it, whatever the kernel's preemption model. */
struct thread_state {
	__u32 depth;
	__u32 seq;
	__u64 sent_ctx;   /* the context the thread's newest GMT_API_CHANGE record named */
	__u32 has_sent_ctx;
	__u32 generation; /* runtime.generation at the newest entry */
	struct call_frame frames[GMT_INFLIGHT_DEPTH];
	__u64 out[sizeof(struct gmt_call) / 8 + GMT_CALL_VALS]; /* a struct gmt_call under construction */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread_state);
} threads SEC(".maps");

#endif
