/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Copies the memory of a stack that could not be walked because a table was missing, for the collector to walk. */
#ifndef GMT_STACK_COPY_BPF_H
#define GMT_STACK_COPY_BPF_H

#define STACK_COPY_PAGES (GMT_STACK_COPY_PIECE / STACK_PAGE + 1)

/* Whether the walk ended because a table is missing that may still come. Stacks that are cut off at one place may
 * differ, so none of them gets the id of another one. */
static __always_inline int stack_wants_copy(struct stack_thread *thread, __u32 reason)
{
	if (!(GMT_UNWIND_CUT >> (reason & 31) & 1))
		return 0;
	if (gmt.config.stack_mode != GMT_STACKS_FULL && gmt.config.stack_mode != GMT_STACKS_NATIVE)
		return 0;
	if (thread->copies_generation != thread->space.generation) {
		thread->copies_generation = thread->space.generation;
		thread->copies = 0;
	}
	if (thread->copies >= GMT_STACK_COPIES)
		return 0;
	/* What the ring has room for is first of all the records: threads that begin at once fill it with copies. */
	return bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) < 2 * gmt.config.wake_bytes;
}

/* Puts the return addresses back that return probes have taken. */
static __always_inline void stack_copy_returns(struct gmt_stack_copy *copy, __u32 room)
{
	struct return_instance *instance = (void *)unwind_returns(bpf_get_current_task_btf());

	for (int i = 0; i < GMT_INFLIGHT_DEPTH; i++) {
		__u64 at;

		if (!instance)
			return;
		at = (BPF_CORE_READ(instance, stack) - copy->base) / 8;
		if (at < room / 8 - 1) /* the verifier sees bytes, not words */
			copy->words[at] = BPF_CORE_READ(instance, orig_ret_vaddr);
		instance = BPF_CORE_READ(instance, next);
	}
}

/* Sends one piece, from base on; `room` is a constant: what is not used of it is sent as well. The bytes that
 * are in it. */
static __always_inline __u64 stack_copy(const struct stack_start *start, __u32 id, __u64 base, __u64 size, __u32 room)
{
	struct gmt_stack_copy *copy = bpf_ringbuf_reserve(&ring, sizeof(*copy) + room, 0);
	__u64 at = 0;

	if (!copy)
		return 0;
	fill_header(&copy->hdr, GMT_KIND_STACK_COPY, sizeof(*copy) + room);
	copy->stack_id = id;
	copy->pc = start->pc;
	copy->sp = start->sp;
	copy->fp = start->fp;
	copy->base = base;
	if (size > room)
		size = room;
	/* Page by page: one that was never used (an array in a frame, the gap below a main thread's arguments)
	 * cannot be read; its words are 0. */
	for (int page = 0; page < STACK_COPY_PAGES; page++) {
		__u64 part = STACK_PAGE - ((base + at) & (STACK_PAGE - 1));

		if (at >= size || at > room - STACK_PAGE)
			break;
		bpf_probe_read_user((char *)copy->words + at, part, (void *)(base + at));
		at += part;
	}
	if (at > size)
		at = size;
	copy->count = at / 8;
	stack_copy_returns(copy, room);
	/* Now: a process that has only begun may end soon, and what it maps is not known yet. */
	bpf_ringbuf_submit(copy, BPF_RB_FORCE_WAKEUP);
	return at;
}

/* Checked by themselves, once, not on each way that leads to them: their loops are most of what the verifier has to
 * do. */
__noinline __u64 stack_copy_piece(struct stack_start *start, __u32 id, __u64 base, __u64 size)
{
	return start ? stack_copy(start, id, base, size, GMT_STACK_COPY_PIECE) : 0;
}

__noinline __u32 stack_send_with_copy(struct stack_state *s, struct stack_thread *thread, struct stack_start *start)
{
	__u64 size, done = 0, piece;
	__u32 id = stack_new_id();

	if (!s || !thread || !start)
		return 0;
	size = unwind_stack_end(bpf_get_current_task_btf(), &thread->stack, start->sp) - start->sp;
	thread->copies++;
	if (size <= GMT_STACK_COPY_SMALL - STACK_PAGE) {
		stack_copy(start, id, start->sp, size, GMT_STACK_COPY_SMALL);
		return stack_send(s, id);
	}
	if (size >= 1ULL << 40) /* its end is not known */
		return stack_send(s, id);
#pragma clang loop unroll(disable)
	for (int i = 0; i < GMT_STACK_COPY_PIECES && done < size; i++) {
		piece = stack_copy_piece(start, id, start->sp + done, size - done);
		if (!piece)
			break;
		done += piece;
	}
	return stack_send(s, id);
}

#endif
