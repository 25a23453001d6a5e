/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Copies the memory of a stack that could not be walked because a table was missing. The collector walks the copy. */
#ifndef GMT_STACK_COPY_BPF_H
#define GMT_STACK_COPY_BPF_H

#define STACK_COPY_PAGES (GMT_STACK_COPY_PIECE / STACK_PAGE + 1)

/* Whether the walk ended because of a missing table that may still come. Two stacks that are cut off at the same place
 * may differ, so each of them gets an id of its own. */
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
	/* The ring's room is for records first: threads that begin at the same time would fill the ring with copies. */
	return bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) < 2 * gmt.config.wake_bytes;
}

/* Sends one piece, from base on. Returns the number of bytes that were copied. `room` is a constant, and unused room is
 * sent as well. */
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
	/* Page by page, because a page that was never used (an array in a frame, the gap below a main thread's
	 * arguments) cannot be read. The words of such a page are 0. */
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
	arch_fill_more(&copy->more, &start->ret);
	arch_copy_returns(copy, room, (void *)unwind_returns(bpf_get_current_task_btf()));
	/* The reader is woken at once: a process that has just begun may end soon, before its mappings are known. */
	bpf_ringbuf_submit(copy, BPF_RB_FORCE_WAKEUP);
	return at;
}

/* The next two are global functions, which the verifier checks once, not on each path that leads to them. Their loops
 * are most of the verifier's work. */
__noinline __u64 stack_copy_piece(struct stack_start *start, __u32 id, __u64 base, __u64 size)
{
	return start ? stack_copy(start, id, base, size, GMT_STACK_COPY_PIECE) : 0;
}

__noinline __u32 stack_send_with_copy(struct stack_state *s, struct stack_thread *thread, struct stack_start *start)
{
	__u64 size, done = 0, piece;
	__u32 id = stack_new_id();

	if (!id || !s || !thread || !start)
		return 0;
	size = unwind_stack_end(bpf_get_current_task_btf(), &thread->stack, start->sp) - start->sp;
	thread->copies++;
	if (size <= GMT_STACK_COPY_SMALL - STACK_PAGE) {
		stack_copy(start, id, start->sp, size, GMT_STACK_COPY_SMALL);
		return stack_send(s, id);
	}
	if (size >= 1ULL << 40) /* the end of the stack is not known */
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
