/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The state of a thread: calls that have not returned, ranges that have begun, and data for the next walk of its stack.
 * The state lies in the task's storage, so no other task can overwrite the state, whatever the kernel's preemption
 * model is. The state of a single walk is in stack_state.bpf.h.
 */
#ifndef GMT_THREAD_BPF_H
#define GMT_THREAD_BPF_H

#include "unwind_task.bpf.h"
#if defined(__TARGET_ARCH_x86)
#include "arch_x86.bpf.h"
#else
#include "arch_arm64.bpf.h"
#endif

/* One call of a probed function that has not returned yet. */
struct call_frame {
	__u64 sp;                        /* user stack pointer at entry: finds the entry of a return */
	__u64 pc;                        /* the function's first instruction */
	__u64 args[8];                   /* 6 are used; 8 is a power of two, which bounds the index */
	__u64 entry_vals[GMT_CALL_VALS]; /* values that had to be read at entry */
	__u32 seq;
	__u16 api;
	__u8 entry_read;                 /* bit i: entry_vals[i] is valid */
	__u8 duplicates;                 /* further probes that this call has hit (one file with two names) */
	__u32 library;
	__u8 nested;                     /* not sent, because the call runs inside a call that is sent */
	__u8 has_stack;                  /* stack_id is valid: a stack was taken, or left out on purpose (0) */
	__u8 root;                       /* index of the outermost call that this call is a part of; often its own */
	__u8 is_doubted;                 /* others than the driver made calls since: a callback, or the call was left */
	__u32 stack_id;
	__u32 inside;                    /* calls that were not sent because they run inside this call */
};

/* Data that all stacks of the thread share. */
struct stack_thread {
	struct gmt_stack_space space; /* a copy of the process's space; generation 0: the process has none */
	__u32 space_changed;     /* value of spaces_changed just before the copy was made */
	__u32 mapped;            /* number of the process's newest executable mapping then; 0: not numbered */
	__u32 reserved;
	__u32 slot;              /* slot of the newest stack that was remembered; 0: none */
	__u32 copies;            /* copies of stacks that were made in copies_generation */
	__u32 copies_generation;
	__u64 sampled_bytes;
	struct unwind_stack stack, other;
};

/* The thread's open ranges. The range that began last ends first. */
struct range_thread {
	__u32 open;
	__u32 reserved;
	__u8 name[GMT_RANGE_NAME_BYTES]; /* valid while a range is sent */
};

struct thread_state {
	__u32 depth;
	__u32 seq;
	__u64 sent_ctx;   /* the context in the newest GMT_API_CHANGE record that was sent of the thread */
	__u8 has_sent_ctx;
	__u8 lost_context; /* the collector does not know the thread's contexts: the next record says so */
	__u16 is_marked;  /* the thread's bit in thread_marks is set */
	__u32 generation; /* runtime.generation at the newest entry of a call */
	struct call_frame frames[GMT_INFLIGHT_DEPTH];
	__u64 out[sizeof(struct gmt_call) / 8 + GMT_CALL_VALS]; /* a struct gmt_call under construction */
	struct stack_thread stacks;
	struct range_thread ranges;
};

/* Since 7.0 the kernel takes a task's storage from slabs of at most 8 KiB; a larger storage gives ENOMEM. 6.19.14 gave
 * 8,100 bytes at most, too. */
_Static_assert(sizeof(struct thread_state) <= 7680, "all that is kept of a thread");

MAP(threads, TASK_STORAGE, 0, int, struct thread_state, BPF_F_NO_PREALLOC);

/* One bit for each possible thread number (PID_MAX_LIMIT, include/linux/threads.h): set if the thread has state. */
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

/* The current thread's state. Null: the thread has no state, or the state is hidden (count_hidden_thread()). */
static __always_inline struct thread_state *thread_get(void)
{
	return bpf_task_storage_get(&threads, bpf_get_current_task_btf(), 0, 0);
}

/* Gets a thread's state, and makes the state if the thread has none. Null: the helper makes no state while another task
 * of the CPU is preempted inside the helper (seen up to 6.19). The first call of a new thread tries again. */
static __always_inline struct thread_state *thread_prepare(struct task_struct *task)
{
	struct thread_state *state = bpf_task_storage_get(&threads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (state && !state->is_marked) {
		thread_mark(task->pid);
		state->is_marked = 1;
		/* The collector may remember an older thread that had the same number. */
		state->lost_context = 1;
	}
	return state;
}

/* The same for the current thread. Null: the state could not be made, which is counted as a loss. */
static __always_inline struct thread_state *thread_make(void)
{
	struct thread_state *state = thread_prepare(bpf_get_current_task_btf());

	if (!state)
		count_loss(GMT_LOSS_THREAD_STATE);
	return state;
}

/*
 * Call this where thread_get() returned null. True: the thread has state that thread_get() could not find, which is
 * counted as a loss. Up to 6.1 bpf_task_storage_get() finds nothing while another task of the CPU is preempted inside
 * it (bpf_task_storage_trylock(), kernel/bpf/bpf_task_storage.c). Since 6.2 it finds every state that exists.
 */
static __always_inline int count_hidden_thread(void)
{
	int is_hidden = thread_is_marked((__u32)bpf_get_current_pid_tgid());

	if (is_hidden)
		count_loss(GMT_LOSS_THREAD_STATE);
	return is_hidden;
}

#endif
