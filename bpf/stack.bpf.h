/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Taking a stack: native frames by the unwinding tables, Python frames merged in at each frame of
 * CPython's eval loop, all into words that are hashed on the way. A stack is sent once; what is
 * returned, and later sent with each event, is its id. Who takes the same stack again and again does
 * not even walk it: stack_memo.bpf.h.
 *
 * Everything lies in the thread's own storage, never in one per cpu: a program can be interrupted by
 * another task's.
 */
#ifndef GMT_STACK_BPF_H
#define GMT_STACK_BPF_H

#include "unwind_task.bpf.h"

struct stack_state;
static __always_inline int stack_read64(struct stack_state *s, __u64 address, __u64 *val);
static __always_inline int stack_read_python(struct stack_state *s, void *to, __u32 size, __u64 address);
static __always_inline const __u64 *stack_table_word(__u32 slot);
static __always_inline const struct gmt_unwind_mapping *stack_mapping(struct stack_state *s, __u32 i);
static __always_inline int stack_frame(struct stack_state *s, __u64 word);
static __always_inline int stack_repair(struct stack_state *s, __u64 slot, __u64 *pc);
static __always_inline __u64 stack_other(struct stack_state *s, __u64 sp);
struct gmt_py_walk;
static __always_inline struct stack_state *stack_of_python(struct gmt_py_walk *walk);

#define UNWIND_READ64(walk, address, val) stack_read64((struct stack_state *)(walk), address, val)
#define UNWIND_WORD(walk, slot) stack_table_word(slot)
#define UNWIND_MAPPING(walk, i) stack_mapping((struct stack_state *)(walk), i)
#define UNWIND_FRAME(walk, word) stack_frame((struct stack_state *)(walk), word)
#define UNWIND_REPAIR(walk, slot, pc) stack_repair((struct stack_state *)(walk), slot, pc)
#define UNWIND_OTHER_STACK(walk, sp) stack_other((struct stack_state *)(walk), sp)
#include "unwind.bpf.h"

#define PY_READ(dst, size, addr) stack_read_python(stack_of_python(walk), dst, size, addr)
#include "python.bpf.h"

#define STACK_MEMOS 2            /* stacks a thread remembers */
#define STACK_MEMO_WORDS 384     /* what was read on the way; longer ones are not remembered */
#define STACK_WINDOW_BYTES 8192  /* of the thread's stack, compared at once */
#define STACK_PY_WINDOW_BYTES 2048
#define STACK_PAGE 4096
#define STACK_HEAD (sizeof(struct gmt_stack) / sizeof(__u64))

/* Where to begin: the thread's registers. */
struct stack_start {
	__u64 pc, sp, fp;
	__u64 bytes;             /* asked for; 0: unknown */
};

/* Words of the target's memory that a stack was found by. */
struct stack_word {
	__u64 address;
	__u64 val;
};

struct stack_memo {
	__u64 pc, sp, fp;
	__u64 high;              /* end of the words on the stack */
	__u64 py_low, py_high;   /* where Python's frames lie */
	__u32 generation;
	__u32 id;                /* 0: unused */
	__u32 count;             /* words */
	__u32 reserved;
	struct stack_word words[STACK_MEMO_WORDS];
};

enum stack_walk_state {
	STACK_NATIVE,            /* the next step is a native frame */
	STACK_PYTHON,            /* Python frames of the native frame before; then natively on */
	STACK_DRAIN,             /* the native walk is over: all Python frames that are left */
};

struct stack_state {
	struct unwind_walk walk;
	__u64 returns;           /* see unwind_repair() */
	struct unwind_stack stack, other;
	struct gmt_py_walk py;
	struct gmt_stack_space space; /* the process's, a copy */
	__u64 hash;
	__u64 sampled_bytes;
	__u32 count;             /* of words */
	__u32 state;             /* enum stack_walk_state */
	__u32 memo;              /* the one that is written */
	__u32 may_keep;          /* nothing was read that it cannot remember */
	__u32 last_python;       /* index of the newest Python frame's first word; 0: none */
	__u32 copies;            /* made of this generation */
	__u32 copies_generation;
	__u32 reserved;
	struct stack_memo memos[STACK_MEMOS];
	__u64 window[STACK_WINDOW_BYTES / 8];
	__u64 py_window[STACK_PY_WINDOW_BYTES / 8];
	__u64 record[STACK_HEAD + GMT_STACK_WORDS]; /* a struct gmt_stack under construction */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct stack_state);
} stack_states SEC(".maps");

/* By tgid. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, GMT_STACK_SPACES);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, struct gmt_stack_space);
} stack_spaces SEC(".maps");

struct stack_mappings {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_INNER_MAP); /* each as long as its process needs */
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct gmt_unwind_mapping);
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, GMT_STACK_SPACES);
	__type(key, __u32);
	__array(values, struct stack_mappings);
} stack_mappings SEC(".maps");

struct stack_shard {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, GMT_SHARD_WORDS);
	__type(key, __u32);
	__type(value, __u64);
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, GMT_SHARDS);
	__type(key, __u32);
	__array(values, struct stack_shard);
} stack_shards SEC(".maps");

/* From a stack's hash to its id. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, GMT_STACKS_KNOWN);
	__type(key, __u64);
	__type(value, __u32);
} stack_ids SEC(".maps");

__u32 stacks_sent SEC(".data.stacks") = 0;

/* ---- what the walks need ---- */

static __always_inline struct stack_state *stack_of_python(struct gmt_py_walk *walk)
{
	return (void *)((char *)walk - __builtin_offsetof(struct stack_state, py));
}

static __always_inline void memo_word(struct stack_state *s, __u64 address, __u64 val)
{
	struct stack_memo *memo = &s->memos[s->memo % STACK_MEMOS];
	__u32 at = memo->count;

	if (at >= STACK_MEMO_WORDS) {
		s->may_keep = 0;
		return;
	}
	memo->words[at].address = address;
	memo->words[at].val = val;
	memo->count = at + 1;
}

static __always_inline int stack_read64(struct stack_state *s, __u64 address, __u64 *val)
{
	struct stack_memo *memo = &s->memos[s->memo % STACK_MEMOS];

	if (bpf_probe_read_user(val, sizeof(*val), (void *)address))
		return -1;
	memo_word(s, address, *val);
	if (address + 8 > memo->high)
		memo->high = address + 8;
	return 0;
}

/* Words by themselves are remembered here, a frame's below, a code object's never: it cannot change
 * while a frame at the same place runs it. */
static __always_inline int stack_read_python(struct stack_state *s, void *to, __u32 size, __u64 address)
{
	if (bpf_probe_read_user(to, size, (void *)address))
		return -1;
	if (__builtin_constant_p(size) && size == sizeof(__u64))
		memo_word(s, address, *(__u64 *)to);
	return 0;
}

static __always_inline const __u64 *stack_table_word(__u32 slot)
{
	__u32 shard = slot / GMT_SHARD_WORDS, i = slot % GMT_SHARD_WORDS;
	void *words = bpf_map_lookup_elem(&stack_shards, &shard);

	return words ? bpf_map_lookup_elem(words, &i) : NULL;
}

static __always_inline const struct gmt_unwind_mapping *stack_mapping(struct stack_state *s, __u32 i)
{
	void *list = bpf_map_lookup_elem(&stack_mappings, &s->space.slot);

	return list ? bpf_map_lookup_elem(list, &i) : NULL;
}

static __always_inline void stack_hash(struct stack_state *s, __u64 word)
{
	__u64 hash = (s->hash ^ word) * 0x9e3779b97f4a7c15ULL; /* 2^64 / golden ratio */

	s->hash = hash ^ hash >> 29;
}

static __always_inline int stack_push(struct stack_state *s, __u64 word)
{
	__u32 at = s->count;

	if (at >= GMT_STACK_WORDS)
		return -1;
	s->record[STACK_HEAD + at] = word;
	s->count = at + 1;
	stack_hash(s, word);
	return 0;
}

static __always_inline int stack_push_python(struct stack_state *s, const struct gmt_py_frame *frame)
{
	__u64 code = frame->code | GMT_FRAME_PYTHON, where = (__u32)frame->lasti | (__u64)frame->check << 32;
	__u32 at = s->count;

	if (at > GMT_STACK_WORDS - 2)
		return -1;
	s->record[STACK_HEAD + at] = code;
	s->record[STACK_HEAD + 1 + at] = where;
	s->count = at + 2;
	s->last_python = at;
	stack_hash(s, code);
	stack_hash(s, where);
	return 0;
}

static __always_inline int stack_frame(struct stack_state *s, __u64 word)
{
	if ((word & GMT_FRAME_EVAL) && s->py.next && s->state == STACK_NATIVE)
		s->state = STACK_PYTHON;
	return stack_push(s, word);
}

static __always_inline int stack_repair(struct stack_state *s, __u64 slot, __u64 *pc)
{
	s->may_keep = 0; /* the word in the slot says nothing */
	return unwind_repair(&s->returns, slot, pc);
}

static __always_inline __u64 stack_other(struct stack_state *s, __u64 sp)
{
	s->may_keep = 0; /* words of two stacks */
	return unwind_stack_end(bpf_get_current_task_btf(), &s->other, sp);
}

#include "stack_memo.bpf.h"

/* ---- the walk ---- */

static __always_inline void stack_keep_python(struct stack_state *s, __u64 at)
{
	struct stack_memo *memo = &s->memos[s->memo % STACK_MEMOS];
	const struct gmt_py_config *py = &s->space.python;

	if (!memo->py_low || at < memo->py_low)
		memo->py_low = at;
	if (at + GMT_PY_FRAME_BYTES > memo->py_high)
		memo->py_high = at + GMT_PY_FRAME_BYTES;
	memo_word(s, at + (py->frame_code & ~7u), gmt_py_word(&s->py, py->frame_code));
	memo_word(s, at + (py->frame_previous & ~7u), gmt_py_word(&s->py, py->frame_previous));
	memo_word(s, at + (py->frame_instr & ~7u), gmt_py_word(&s->py, py->frame_instr));
	if (py->boundary != GMT_PY_EACH)
		memo_word(s, at + (py->frame_owner & ~7u), gmt_py_word(&s->py, py->frame_owner));
}

/* The newest Python frame is its eval call's outermost. */
static __always_inline void stack_mark_last(struct stack_state *s)
{
	__u32 at = s->last_python;

	if (at && at < GMT_STACK_WORDS)
		s->record[STACK_HEAD + at] |= GMT_FRAME_LAST;
}

/* One Python frame. True: the walk is over. */
static __always_inline long stack_python(struct stack_state *s)
{
	struct gmt_py_frame frame = {};
	__u64 at = s->py.next;
	int answer = gmt_py_step(&s->space.python, &s->py, &frame);

	if (answer != GMT_PY_OVER)
		stack_keep_python(s, at);
	if ((answer == GMT_PY_MORE || answer == GMT_PY_LAST) && stack_push_python(s, &frame))
		return 1;
	if (answer == GMT_PY_LAST || answer == GMT_PY_NOTHING)
		stack_mark_last(s);
	if (s->state == STACK_DRAIN)
		return answer == GMT_PY_OVER;
	if (answer == GMT_PY_MORE)
		return 0;
	s->state = STACK_NATIVE;
	return 0;
}

static long stack_step(__u32 i, void *ctx)
{
	struct stack_state *s = *(struct stack_state **)ctx;

	if (s->state != STACK_NATIVE)
		return stack_python(s);
	if (!s->walk.reason)
		s->walk.reason = unwind_one(&s->walk);
	if (!s->walk.reason || s->state == STACK_PYTHON)
		return 0;
	/* Where the native walk broke off, Python's frames go on to the last one. */
	if (!s->py.next)
		return 1;
	s->state = STACK_DRAIN;
	return 0;
}

static __always_inline __u64 stack_thread_pointer(struct task_struct *task)
{
#if defined(__TARGET_ARCH_x86)
	return BPF_CORE_READ(task, thread.fsbase);
#else
	return BPF_CORE_READ(task, thread.uw.tp_value);
#endif
}

static __always_inline void stack_walk_start(struct stack_state *s, const struct stack_start *start)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 mode = gmt.config.stack_mode;

	s->count = 0;
	s->last_python = 0;
	s->hash = (__u64)s->space.generation << 32 | mode;
	s->state = STACK_NATIVE;
	s->may_keep = 1;
	s->returns = unwind_returns(task);
	unwind_start(&s->walk, start->pc, start->sp, start->fp, unwind_stack_end(task, &s->stack, start->sp),
		     unwind_trampoline(task), s->space.mapping_count, gmt.config.stack_depth);
	s->py.next = 0;
	s->py.reason = GMT_PY_END_NO_STATE;
	if (mode != GMT_STACKS_NATIVE && s->space.python.boundary)
		gmt_py_start(&s->space.python, &s->py, stack_thread_pointer(task));
	if (mode == GMT_STACKS_PYTHON) {
		stack_push(s, start->pc | GMT_FRAME_EXACT);
		s->walk.reason = GMT_UNWIND_END_NOT_WALKED;
	}
}

/* The kernel's own walk, in the order and with the flags of ours: its frames are return addresses. */
static __always_inline void stack_walk_pointers(struct stack_state *s)
{
	long bytes = bpf_get_task_stack(bpf_get_current_task_btf(), s->window, sizeof(s->window) / 8,
					BPF_F_USER_STACK);
	__u32 count = bytes > 0 ? (__u64)bytes / 8 : 0;

	s->count = 0;
	s->hash = s->space.generation;
	s->may_keep = 0;
	s->walk.reason = GMT_UNWIND_END_NOT_WALKED;
	s->py.reason = GMT_PY_END_NONE;
	for (__u32 i = 0; i < STACK_WINDOW_BYTES / 64; i++) {
		if (i >= count)
			break;
		stack_push(s, s->window[i] | (i ? 0 : GMT_FRAME_EXACT));
	}
}

/* ---- ids ---- */

static __always_inline __u32 stack_new_id(void)
{
	return __sync_fetch_and_add(&stacks_sent, 1) + 1;
}

static __always_inline __u32 stack_send(struct stack_state *s, __u32 id)
{
	__u32 count = s->count;
	__u32 size = sizeof(struct gmt_stack) + count * sizeof(__u64);
	struct gmt_stack *stack = (void *)s->record;

	if (count > GMT_STACK_WORDS)
		return 0;
	fill_header(&stack->hdr, GMT_KIND_STACK, size);
	stack->id = id;
	stack->count = count;
	stack->reason = unwind_end(&s->walk);
	stack->py_reason = s->py.reason;
	if (bpf_ringbuf_output(&ring, stack, size, wake_flags())) {
		count_loss(GMT_LOSS_STACK_LOST);
		return 0;
	}
	return id;
}

static __always_inline __u32 stack_id(struct stack_state *s)
{
	__u64 key = s->hash ^ (__u64)unwind_end(&s->walk) << 56;
	__u32 *known = bpf_map_lookup_elem(&stack_ids, &key), id;

	if (known)
		return *known;
	id = stack_send(s, stack_new_id());
	if (id)
		bpf_map_update_elem(&stack_ids, &key, &id, BPF_ANY);
	return id;
}

/* Whether the walk ended for want of a table that may come yet. A stack that is cut off there is not the
 * same as another one cut off there: none of them gets the other's id. */
static __always_inline int stack_wants_copy(struct stack_state *s, __u32 reason)
{
	if (reason != GMT_UNWIND_END_NO_TABLE && reason != GMT_UNWIND_END_NO_MAPPING &&
	    reason != GMT_UNWIND_END_NOT_WALKED)
		return 0;
	if (gmt.config.stack_mode != GMT_STACKS_FULL && gmt.config.stack_mode != GMT_STACKS_NATIVE)
		return 0;
	if (s->copies_generation != s->space.generation) {
		s->copies_generation = s->space.generation;
		s->copies = 0;
	}
	return s->copies < GMT_STACK_COPIES;
}

/* Puts the return addresses back that return probes have taken. */
static __always_inline void stack_copy_returns(struct gmt_stack_copy *copy, __u32 room)
{
	struct return_instance *instance = (void *)unwind_returns(bpf_get_current_task_btf());

	for (int i = 0; i < GMT_INFLIGHT_DEPTH; i++) {
		__u64 at;

		if (!instance)
			return;
		at = (BPF_CORE_READ(instance, stack) - copy->sp) / 8;
		if (at < room / 8 - 1) /* the verifier sees bytes, not words */
			copy->words[at] = BPF_CORE_READ(instance, orig_ret_vaddr);
		instance = BPF_CORE_READ(instance, next);
	}
}

/* `room` is a constant: what is not used of it is sent as well. */
static __always_inline void stack_copy(struct stack_state *s, const struct stack_start *start, __u32 id,
				       __u64 size, __u32 room)
{
	struct gmt_stack_copy *copy = bpf_ringbuf_reserve(&ring, sizeof(*copy) + room, 0);

	if (!copy)
		return;
	fill_header(&copy->hdr, GMT_KIND_STACK_COPY, sizeof(*copy) + room);
	copy->stack_id = id;
	copy->pc = start->pc;
	copy->sp = start->sp;
	copy->fp = start->fp;
	copy->count = 0;
	/* By pages: between a main thread's first frame and its arguments one may never have been used. */
	for (__u32 at = 0; at + STACK_PAGE <= room; at += STACK_PAGE) {
		__u64 part = size - at;

		if (at >= size)
			break;
		if (part > STACK_PAGE)
			part = STACK_PAGE;
		if (bpf_probe_read_user((char *)copy->words + at, part, (void *)(start->sp + at)))
			break;
		copy->count = (at + part) / 8;
	}
	stack_copy_returns(copy, room);
	/* Now: a process that has only begun may end soon, and what it maps is not known yet. */
	bpf_ringbuf_submit(copy, BPF_RB_FORCE_WAKEUP);
}

static __always_inline __u32 stack_send_with_copy(struct stack_state *s, const struct stack_start *start)
{
	__u64 size = unwind_stack_end(bpf_get_current_task_btf(), &s->stack, start->sp) - start->sp;
	__u32 id = stack_new_id();

	s->copies++;
	if (size <= GMT_STACK_COPY_SMALL)
		stack_copy(s, start, id, size, GMT_STACK_COPY_SMALL);
	else if (size < 1ULL << 40) /* else its end is not known */
		stack_copy(s, start, id, size, GMT_STACK_COPY_MAX);
	return stack_send(s, id);
}

/* Makes s->space the process's as it is now. False: nothing is known of it. */
static __always_inline int stack_find_space(struct stack_state *s)
{
	__u32 tgid = bpf_get_current_pid_tgid() >> 32;
	struct gmt_stack_space *space = bpf_map_lookup_elem(&stack_spaces, &tgid);

	if (!space) {
		s->space.generation = 0;
		return 0;
	}
	if (space->generation != s->space.generation)
		s->space = *space;
	return 1;
}

/* Whether this call's stack is one of those that are taken. */
static __always_inline int stack_is_sampled(struct stack_state *s, __u64 bytes)
{
	__u64 period = gmt.config.stack_sample_bytes;

	if (!period || !bytes)
		return 1;
	s->sampled_bytes += bytes;
	if (s->sampled_bytes < period)
		return 0;
	s->sampled_bytes %= period;
	return 1;
}

/* The id of the stack that the thread has now; 0: none. */
static __noinline __u32 stack_take(struct stack_start *start)
{
	struct stack_state *s = bpf_task_storage_get(&stack_states, bpf_get_current_task_btf(), NULL,
						     BPF_LOCAL_STORAGE_GET_F_CREATE);
	__u32 id;

	if (!s) {
		count_loss(GMT_LOSS_STACK_LOST);
		return 0;
	}
	if (!stack_is_sampled(s, start->bytes))
		return 0;
	if (!stack_find_space(s) || gmt.config.stack_mode == GMT_STACKS_POINTERS ||
	    !bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_loop)) {
		stack_walk_pointers(s);
		return stack_wants_copy(s, GMT_UNWIND_END_NOT_WALKED) ? stack_send_with_copy(s, start) :
									stack_id(s);
	}
	id = memo_find(s, start);
	if (id)
		return id;
	memo_begin(s, start);
	stack_walk_start(s, start);
	bpf_loop(2 * GMT_STACK_WORDS, stack_step, &s, 0);
	if (stack_wants_copy(s, unwind_end(&s->walk)))
		return stack_send_with_copy(s, start);
	id = stack_id(s);
	memo_end(s, id);
	return id;
}

#endif
