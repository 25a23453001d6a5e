/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Takes a stack: native frames by the unwinding tables, and Python frames at each frame of CPython's eval loop. The
 * frames are words that are hashed during the walk. A stack is sent once, and its id is sent with each event. Stacks
 * that a thread has again and again are not even walked: stack_memo.bpf.h.
 */
#ifndef GMT_STACK_BPF_H
#define GMT_STACK_BPF_H

#include "stack_state.bpf.h"
#include "stack_memo.bpf.h"

/* ---- the walk ---- */

/* Whether a frame that called others waits for C code. Then the shim of the eval call inside this C code follows from
 * the frame, and need not be compared. (The shim lies on the thread's stack, which would have to be read up to the
 * outermost shim.) A frame that waits for Python code may wait for a generator, whose frame lies elsewhere and leaves
 * no gap. The word with stacktop is compared, so a remembered frame waits for C code still. */
static __always_inline int stack_waits_for_c(const struct gmt_py_config *py, const struct gmt_py_walk *walk)
{
	__u32 top = py->frame_stacktop;

	return top && !gmt_py_owner(py, walk) && (__s32)(gmt_py_word(walk, top) >> (top & 7) * 8) == -1;
}

static __always_inline void stack_keep_python(struct stack_state *s, __u64 at, int is_shim)
{
	struct stack_memo *memo = &s->memo;
	const struct gmt_py_config *py = &s->space.python;

	/* Since 3.11 all frames lie in one block, and the newest frame has the highest address. */
	if (!memo->py_base)
		memo->py_base = at + GMT_PY_FRAME_BYTES - STACK_PY_WORDS * sizeof(__u64);
	if (is_shim || !stack_waits_for_c(py, &s->py))
		stack_keep_shim(s);
	s->shim_val = 0;
	if (is_shim) {
		s->shim_at = at + (py->frame_previous & ~7u);
		s->shim_val = gmt_py_word(&s->py, py->frame_previous);
		return;
	}
	/* If the frame stores the instruction's address, that word tells the code object, too. */
	if (py->instr_kind != GMT_PY_INSTR_POINTER)
		memo_word(s, at + (py->frame_code & ~7u), gmt_py_word(&s->py, py->frame_code));
	memo_word(s, at + (py->frame_previous & ~7u), gmt_py_word(&s->py, py->frame_previous));
	memo_word(s, at + (py->frame_instr & ~7u), gmt_py_word(&s->py, py->frame_instr));
	if (py->boundary != GMT_PY_EACH)
		memo_word(s, at + (py->frame_owner & ~7u), gmt_py_word(&s->py, py->frame_owner));
}

/* Marks the newest Python frame as the outermost frame of its eval call. */
static __always_inline void stack_mark_last(struct stack_state *s)
{
	__u32 at = s->last_python;

	if (!at)
		return;
	/* Without the barrier, clang makes one comparison of at - 1, and the verifier does not know the bound of at. */
	asm volatile("" : "+r"(at));
	if (at < GMT_STACK_WORDS)
		s->record[STACK_HEAD + at] |= GMT_FRAME_LAST;
}

/* Walks one Python frame. True: the walk is over. */
__noinline int stack_python(struct stack_state *s)
{
	struct gmt_py_frame frame = {};
	__u64 at;
	int answer;

	if (!s)
		return 1;
	at = s->py.next;
	answer = gmt_py_step(&s->space.python, &s->py, &frame);
	if (answer != GMT_PY_OVER)
		stack_keep_python(s, at, answer == GMT_PY_NOTHING);
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

/* Walks one native frame. Returns the reason why the walk ends, or GMT_UNWIND_END_NONE. */
__noinline int stack_native(struct stack_state *s)
{
	/* The verifier checks this function by itself, even on kernels without the helpers. */
	if (!s || !bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_find_vma))
		return GMT_UNWIND_END_NOT_WALKED;
	return unwind_one(&s->walk);
}

static long stack_step(__u32 i, void *ctx)
{
	struct stack_state *s = *(struct stack_state **)ctx;

	if (s->state != STACK_NATIVE) {
		int over = stack_python(s);

		asm volatile("" : "+r"(over)); /* clang 17 knows that `over` is 0 or 1, the verifier does not */
		return over != 0;
	}
	if (!s->walk.reason)
		s->walk.reason = stack_native(s);
	if (!s->walk.reason || s->state == STACK_PYTHON)
		return 0;
	/* If the native walk broke off, all Python frames that are left are taken. */
	if (!s->py.next)
		return 1;
	s->state = STACK_DRAIN;
	return 0;
}

/* The same addresses are other code in other mappings. A process without a list of mappings shares no stack with other
 * processes; the complement of its number is no generation. */
static __always_inline __u64 stack_first_hash(const struct stack_state *s, __u32 mode)
{
	__u32 space = s->space.generation;

	if (!space)
		space = ~(__u32)(bpf_get_current_pid_tgid() >> 32);
	return ((__u64)space << 32 | mode) ^ s->mapped * STACK_MIX;
}

static __always_inline void stack_walk_start(struct stack_state *s, struct stack_thread *thread,
					     const struct stack_start *start)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 mode = gmt.config.stack_mode;

	s->count = 0;
	s->last_python = 0;
	s->in_python = 0;
	s->return_at = 0;
	s->shim_val = 0;
	s->hash = stack_first_hash(s, mode);
	s->state = STACK_NATIVE;
	s->may_keep = 1;
	s->returns = unwind_returns(task);
	unwind_start(&s->walk, start->pc, start->sp, start->fp, unwind_stack_end(task, &thread->stack, start->sp),
		     unwind_trampoline(task), s->space.mapping_count, gmt.config.stack_depth);
	arch_fill_more(&s->walk.more, &start->ret);
	s->py.next = 0;
	/* Not begun: the collector may learn later that the process runs Python. */
	s->py.reason = GMT_PY_END_NONE;
	if (mode != GMT_STACKS_NATIVE && s->space.python.boundary)
		gmt_py_start(&s->space.python, &s->py, arch_thread_pointer(task));
	if (mode == GMT_STACKS_PYTHON) {
		stack_push(s, start->pc | GMT_FRAME_EXACT);
		s->walk.reason = GMT_UNWIND_END_NOT_WALKED;
	}
}

/* The kernel goes wherever frame pointers lead. Where code uses the register for something else, there come words that
 * are no address of a user's code: no process may map what is below, and the flags of our frames are above. */
static __always_inline int stack_is_address(__u64 word)
{
	return word >= STACK_ADDRESS_LEAST && word <= GMT_FRAME_PC_MASK;
}

/* Takes the frames of the kernel's own walk, with the order and the flags of our frames. The kernel's frames are return
 * addresses. A function that has just been entered has no frame of its own yet, so the kernel misses its caller (newer
 * kernels of x86 find the caller by the first instruction). Then all callers would have the same stack, so the caller
 * is put in. The kernel's frames are read one place further behind, which makes room for the caller. */
static __always_inline void stack_walk_pointers(struct stack_state *s, const struct stack_start *start)
{
	__u64 *words = s->record + STACK_HEAD + 1, caller = arch_caller(&start->ret);
	long bytes = bpf_get_task_stack(bpf_get_current_task_btf(), words, STACK_POINTERS_MAX * sizeof(*words),
					BPF_F_USER_STACK);
	__u32 count = bytes > 0 ? (__u64)bytes / 8 : 0;

	s->count = 0;
	s->hash = stack_first_hash(s, 0);
	s->may_keep = 0;
	s->walk.reason = GMT_UNWIND_END_NOT_WALKED;
	s->py.reason = GMT_PY_END_NONE;
	for (__u32 i = 0; i < STACK_POINTERS_MAX; i++) {
		if (i >= count || !stack_is_address(words[i]))
			break;
		stack_push(s, words[i] | (i ? 0 : GMT_FRAME_EXACT));
		if (!i && stack_is_address(caller) && (count < 2 || words[1] != caller))
			stack_push(s, caller);
	}
}

/* ---- ids ---- */

/* 0: the user has its share of stacks. */
static __always_inline __u32 stack_new_id(void)
{
	if (!user_take_stack()) {
		count_loss(GMT_LOSS_STACK_LOST);
		return 0;
	}
	return __sync_fetch_and_add(&stacks_sent, 1) + 1;
}

static __always_inline __u32 stack_send(struct stack_state *s, __u32 id)
{
	__u32 count = s->count;
	__u32 size = sizeof(struct gmt_stack) + (count + 1) * sizeof(__u64);
	struct gmt_stack *stack = (void *)s->record;

	if (!id || count > GMT_STACK_WORDS)
		return 0;
	s->record[STACK_HEAD + count] = (__u64)(s->space.generation ? s->space.number : 0) << 32 | s->mapped;
	fill_header(&stack->hdr, GMT_KIND_STACK, size);
	stack->id = id;
	stack->count = count;
	stack->reason = unwind_end(&s->walk);
	stack->py_reason = s->py.reason;
	if (bpf_ringbuf_output(&ring, stack, size, wake_flags())) {
		count_loss(GMT_LOSS_STACK_LOST);
		user_return_stack();
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

#include "stack_copy.bpf.h"

/* The number of the process's newest executable mapping. From the first stack on, mappings are numbered. 0: there are
 * too many processes. */
static __always_inline __u32 stack_newest_mapped(__u32 tgid)
{
	__u32 *number = bpf_map_lookup_elem(&stack_mapped, &tgid), first = 1;

	if (number)
		return *number;
	bpf_map_update_elem(&stack_mapped, &tgid, &first, BPF_NOEXIST);
	number = bpf_map_lookup_elem(&stack_mapped, &tgid);
	return number ? *number : 0;
}

/* Copies the process's current space to thread->space. False: the process has no space. */
static __always_inline int stack_find_space(struct stack_thread *thread)
{
	__u32 tgid = bpf_get_current_pid_tgid() >> 32, changed = spaces_changed;
	struct gmt_stack_space *space;

	if (thread->space.generation && thread->space_changed == changed)
		return 1;
	thread->space_changed = changed;
	thread->mapped = stack_newest_mapped(tgid);
	space = bpf_map_lookup_elem(&stack_spaces, &tgid);
	if (!space) {
		thread->space.generation = 0;
		return 0;
	}
	if (space->generation != thread->space.generation)
		thread->space = *space;
	return 1;
}

/* Whether the sampling takes the stack of this call. */
static __always_inline int stack_is_sampled(struct stack_thread *thread, __u64 bytes)
{
	__u64 period = gmt.config.stack_sample_bytes;

	if (!period || !bytes)
		return 1;
	thread->sampled_bytes += bytes;
	if (thread->sampled_bytes < period)
		return 0;
	thread->sampled_bytes %= period;
	return 1;
}

/* The id of the stack that the thread has now; 0: none. */
static __always_inline __u32 stack_find(struct stack_state *s, struct stack_thread *thread, struct stack_start *start)
{
	__u32 id;

	int has_space = stack_find_space(thread);

	s->space.generation = 0;
	s->mapped = thread->mapped;
	/* The verifier knows this condition at load, and drops the code below on kernels without bpf_loop(). */
	if (gmt.config.stack_mode == GMT_STACKS_POINTERS ||
	    !bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_loop)) {
		stack_walk_pointers(s, start);
		return stack_id(s);
	}
	if (!has_space) {
		stack_walk_pointers(s, start);
		return stack_wants_copy(thread, GMT_UNWIND_END_NOT_WALKED) ? stack_send_with_copy(s, thread, start) :
									     stack_id(s);
	}
	id = memo_find(s, thread, start);
	if (id)
		return id;
	s->space = thread->space;
	s->other = thread->other;
	memo_begin(s, start);
	stack_walk_start(s, thread, start);
	bpf_loop(2 * GMT_STACK_WORDS, stack_step, &s, 0);
	thread->other = s->other;
	if (stack_wants_copy(thread, unwind_end(&s->walk)))
		return stack_send_with_copy(s, thread, start);
	id = stack_id(s);
	memo_end(s, thread, start, id);
	return id;
}

__noinline __u32 stack_take(struct stack_thread *thread, struct stack_start *start)
{
	struct stack_state *s;
	__u32 id;

	if (!thread || !start || !stack_is_sampled(thread, start->bytes))
		return 0;
	s = stack_begin();
	if (!s) {
		count_loss(GMT_LOSS_STACK_LOST);
		return 0;
	}
	id = stack_find(s, thread, start);
	stack_end(s);
	return id;
}

#endif
