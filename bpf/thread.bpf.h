/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The state of a thread between its calls: the calls that have not returned, the ranges that have begun, and data for
 * the next walk of its stack. The state lies in the task's storage, where no other task can overwrite it, whatever the
 * kernel's preemption model. The state of a single walk is in stack_state.bpf.h.
 */
#ifndef GMT_THREAD_BPF_H
#define GMT_THREAD_BPF_H

#include "unwind_task.bpf.h"

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

/* What the thread's stacks have in common. */
struct stack_thread {
	struct gmt_stack_space space; /* the process's, a copy; generation 0: nothing is known of it */
	__u32 space_changed;     /* spaces_changed, before it was copied */
	__u32 slot;              /* of the newest stack that was remembered; 0: none */
	__u32 copies;            /* made of this generation */
	__u32 copies_generation;
	__u64 sampled_bytes;
	struct unwind_stack stack, other;
};

/* Open ranges end in the opposite order. */
struct range_thread {
	__u32 open;
	__u32 reserved;
	__u8 name[GMT_RANGE_NAME_BYTES]; /* while it is sent */
};

struct thread_state {
	__u32 depth;
	__u32 seq;
	__u64 sent_ctx;   /* the context the thread's newest GMT_API_CHANGE record named */
	__u16 has_sent_ctx;
	__u16 is_marked;  /* in thread_marks */
	__u32 generation; /* runtime.generation at the newest entry */
	struct call_frame frames[GMT_INFLIGHT_DEPTH];
	__u64 out[sizeof(struct gmt_call) / 8 + GMT_CALL_VALS]; /* a struct gmt_call under construction */
	struct stack_thread stacks;
	struct range_thread ranges;
};

/* Since 7.0 the kernel takes a storage's memory from slabs, which end at 8 KiB (seen on 6.19.14, too: 8,100 bytes
 * were the most): more gives ENOMEM. */
_Static_assert(sizeof(struct thread_state) <= 7680, "all that is kept of a thread");

MAP(threads, TASK_STORAGE, 0, int, struct thread_state, BPF_F_NO_PREALLOC);

/* Which threads have state: a bit for each number that a thread can have (PID_MAX_LIMIT, include/linux/threads.h). */
MAP(thread_marks, ARRAY, 4194304 / 64 + 1, __u32, __u64, 0);

static __always_inline __u64 *thread_mark_word(__u32 tid)
{
	__u32 i = tid / 64;

	return bpf_map_lookup_elem(&thread_marks, &i);
}

static __always_inline int thread_is_marked(__u32 tid)
{
	volatile __u64 *word = thread_mark_word(tid);

	return word && *word >> (tid & 63) & 1;
}

static __always_inline void thread_mark(__u32 tid)
{
	__u64 *word = thread_mark_word(tid);

	if (word)
		__sync_fetch_and_or(word, 1ULL << (tid & 63));
}

static __always_inline void thread_unmark(__u32 tid)
{
	__u64 *word = thread_is_marked(tid) ? thread_mark_word(tid) : NULL;

	if (word)
		__sync_fetch_and_and(word, ~(1ULL << (tid & 63)));
}

/* The current thread's state; null: none, or see count_hidden_thread(). */
static __always_inline struct thread_state *thread_get(void)
{
	return bpf_task_storage_get(&threads, bpf_get_current_task_btf(), 0, 0);
}

/* A thread's state, made if it is missing. Null: the helper makes nothing while another task of the CPU is preempted
 * inside it (seen up to 6.19). For a new thread its first call tries again. */
static __always_inline struct thread_state *thread_prepare(struct task_struct *task)
{
	struct thread_state *state = bpf_task_storage_get(&threads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (state && !state->is_marked) {
		thread_mark(task->pid);
		state->is_marked = 1;
	}
	return state;
}

/* The current thread's state, made if it is missing. Null: it could not be made, which is counted. */
static __always_inline struct thread_state *thread_make(void)
{
	struct thread_state *state = thread_prepare(bpf_get_current_task_btf());

	if (!state)
		count_loss(GMT_LOSS_THREAD_STATE);
	return state;
}

/*
 * Where thread_get() found nothing: whether the thread does have state, which is counted as lost. Up to 6.1
 * bpf_task_storage_get() finds nothing while another task of the CPU was preempted inside of it
 * (bpf_task_storage_trylock(), kernel/bpf/bpf_task_storage.c); since 6.2 it finds what exists.
 */
static __always_inline int count_hidden_thread(void)
{
	int is_hidden = thread_is_marked((__u32)bpf_get_current_pid_tgid());

	if (is_hidden)
		count_loss(GMT_LOSS_THREAD_STATE);
	return is_hidden;
}

#endif
