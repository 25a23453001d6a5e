/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * A thread's calls that have not returned yet.
 *
 * The frames of calls lie one inside the other, so a later frame has a lower stack pointer. A call may be left without
 * a return: by longjmp, by an exception, by the end of its thread. Its frame stays, and looks as if it enclosed all
 * calls that are made deeper on the stack. Three facts tell such a frame from a call that runs. They are looked at only
 * when a call finds other frames.
 *
 *  - A frame below the stack pointer was left.
 *  - The return probe has put the address of its trampoline in place of the return address (x86-64; on arm64 this
 *    address lies in a register). Code that runs later overwrites this word, but perhaps not at once.
 *  - The library's own code, or the stub in front of the library, makes the calls that are parts of another call. Calls
 *    of other code are calls of their own: the frame was left, or runs a callback.
 *
 * A part of another call is not sent. If that other call never returns, its parts are counted as lost.
 */
#ifndef GMT_FRAMES_BPF_H
#define GMT_FRAMES_BPF_H

/* ---- frames that go ---- */

/* The collector no longer knows the contexts of the thread. */
static __always_inline void lose_context(struct thread_state *state)
{
	state->has_sent_ctx = 0;
	state->lost_context = 1;
}

static __always_inline __u16 api_flags(__u32 api)
{
	return gmt.specs[api % GMT_API_MAX].flags;
}

/* The call may have changed the thread's context, and is not sent. */
static __always_inline void miss_context(struct thread_state *state, __u32 api)
{
	if (api_flags(api) & (GMT_API_CTX | GMT_API_CHANGE))
		lose_context(state);
}

/* The same, for a call with its parts, which may not be its parts. */
static __always_inline void miss_contexts(struct thread_state *state, const struct call_frame *frame)
{
	if (frame->inside)
		lose_context(state);
	miss_context(state, frame->api);
}

/* The parts of a part are parts of the outer call, whose number of frames is `depth`. */
static __always_inline void give_inside(struct thread_state *state, const struct call_frame *part, __u32 depth)
{
	if (depth)
		state->frames[(depth - 1) % GMT_INFLIGHT_DEPTH].inside += part->inside;
}

/* Drops the innermost frame, because its return will not be seen. */
static __always_inline void drop_top(struct thread_state *state)
{
	__u32 depth = state->depth - 1;
	struct call_frame *frame = &state->frames[depth % GMT_INFLIGHT_DEPTH];

	state->depth = depth;
	miss_contexts(state, frame);
	if (frame->nested)
		give_inside(state, frame, depth);
	else
		count_losses(GMT_LOSS_RETURN_UNSEEN, 1 + frame->inside);
}

/* Drops the frames below the stack pointer: they were left. */
static __always_inline void drop_left(struct thread_state *state, __u64 sp)
{
	for (int i = 0; i < GMT_INFLIGHT_DEPTH; i++) {
		__u32 depth = state->depth;

		if (!depth || state->frames[(depth - 1) % GMT_INFLIGHT_DEPTH].sp >= sp)
			return;
		drop_top(state);
	}
}

static __always_inline void drop_frames(struct thread_state *state)
{
	drop_left(state, ~0ULL);
}

/* Forgets the calls that ended with their thread, which is no loss. */
static __always_inline void end_frames(struct thread_state *state)
{
	for (int i = 0; i < GMT_INFLIGHT_DEPTH; i++) {
		__u32 depth = state->depth;
		const struct call_frame *frame = &state->frames[(depth - 1) % GMT_INFLIGHT_DEPTH];

		if (!depth)
			return;
		count_losses(GMT_LOSS_RETURN_UNSEEN, frame->is_doubted + frame->inside);
		state->depth = depth - 1;
	}
}

static __always_inline void doubt_frame(struct thread_state *state, struct call_frame *frame)
{
	if (!frame->is_doubted)
		miss_contexts(state, frame);
	frame->is_doubted = 1;
}

/* The program has made a call of its own where the innermost call would run: that call, with the call that it is a part
 * of, was left or runs a callback. */
static __always_inline void doubt_running(struct thread_state *state, struct call_frame *innermost)
{
	doubt_frame(state, innermost);
	doubt_frame(state, &state->frames[innermost->root % GMT_INFLIGHT_DEPTH]);
}

/* ---- what the target's memory says ---- */

#define FILE_UNKNOWN ~0ULL
#define NO_MAPPING (-2) /* ENOENT, include/uapi/asm-generic/errno-base.h */

static long see_file(struct task_struct *task, struct vm_area_struct *vma, void *ctx)
{
	*(__u64 *)ctx = (__u64)BPF_CORE_READ(vma, vm_file, f_inode);
	return 0;
}

/* Identifies the file that is mapped at an address. 0: no file. FILE_UNKNOWN: before Linux 5.17, or while another
 * thread changes the mappings. */
static __always_inline __u64 file_at(__u64 address)
{
	__u64 file = 0;
	long err;

	if (!bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_find_vma))
		return FILE_UNKNOWN;
	err = bpf_find_vma(bpf_get_current_task_btf(), address, see_file, &file, 0);
	return err && err != NO_MAPPING ? FILE_UNKNOWN : file;
}

/* Whether code of the library of one of two functions may have made the call: the library calls its own function, or
 * the stub calls the driver. */
static __noinline int is_library_call(__u64 caller, __u64 inner, __u64 outer)
{
	__u64 file = file_at(caller), other;

	if (file == FILE_UNKNOWN)
		return 1;
	if (!file)
		return 0;
	other = file_at(inner);
	if (other == file || other == FILE_UNKNOWN)
		return 1;
	other = file_at(outer);
	return other == file || other == FILE_UNKNOWN;
}

/* ---- entry ---- */

/* A function that has just been entered. */
struct entered {
	__u64 pc, sp, caller;
	__u32 api, library;
};

/* Whether the frame, the innermost one, may still run when the function is entered. */
static __always_inline int may_run(const struct call_frame *frame, const struct entered *entered, __u64 trampoline)
{
	if (frame->sp > entered->sp)
		return arch_is_hijacked(frame->sp, trampoline);
	/* The stub has jumped to the driver, or one address has probes of two names of its file. */
	return frame->sp == entered->sp &&
	       ((entered->caller && entered->caller == trampoline) ||
		(frame->pc == entered->pc && frame->library != entered->library));
}

enum call_place {
	CALL_OWN,        /* the program's call */
	CALL_PART,       /* a part of the innermost frame's call */
	CALL_AGAIN,      /* the innermost frame's call has hit another probe */
};

/* Finds out what a call is that finds other frames, and drops frames that were left. The verifier checks a global
 * function once, not at each call. */
__noinline int find_place(struct thread_state *state, struct entered *entered)
{
	__u64 trampoline = unwind_trampoline(bpf_get_current_task_btf());
	struct call_frame *outer;
	int is_jump;

	if (!state || !entered)
		return CALL_OWN;
	outer = &state->frames[0];
	for (int i = 0; i < GMT_INFLIGHT_DEPTH; i++) {
		if (!state->depth)
			return CALL_OWN;
		outer = &state->frames[(state->depth - 1) % GMT_INFLIGHT_DEPTH];
		if (may_run(outer, entered, trampoline))
			break;
		drop_top(state);
	}
	if (!state->depth)
		return CALL_OWN;
	is_jump = outer->sp == entered->sp;
	if (is_jump && outer->api == entered->api && outer->library != entered->library)
		return CALL_AGAIN;
	/* A call that has no frame may have jumped here, too. */
	if (is_jump || entered->caller == trampoline || is_library_call(entered->caller, entered->pc, outer->pc))
		return CALL_PART;
	doubt_running(state, outer);
	/* So many calls are not inside each other: most were left. */
	if (state->depth >= GMT_INFLIGHT_DEPTH)
		drop_frames(state);
	return CALL_OWN;
}

static __always_inline int place_of(struct thread_state *state, struct pt_regs *ctx, __u32 api, __u32 library)
{
	struct entered entered = {
		.pc = PT_REGS_IP(ctx), .sp = PT_REGS_SP(ctx), .caller = arch_return_address(ctx),
		.api = api, .library = library,
	};

	return find_place(state, &entered);
}

static __always_inline void place_inside(struct call_frame *frame, struct call_frame *outer)
{
	/* The driver calls its own exports. The record of the outer call is enough. */
	frame->nested = outer->nested || !(api_flags(outer->api) & GMT_API_SCOPE);
	frame->root = outer->root;
	outer->inside += frame->nested;
}

/* Adds the frame of a call. Null: there is no room, or the call has one already. */
static __always_inline struct call_frame *push_frame(struct thread_state *state, struct pt_regs *ctx, __u32 api,
						     __u32 library)
{
	int place = state->depth ? place_of(state, ctx, api, library) : CALL_OWN;
	__u32 depth = state->depth;
	struct call_frame *frame = &state->frames[depth % GMT_INFLIGHT_DEPTH];
	struct call_frame *outer = &state->frames[(depth - 1) % GMT_INFLIGHT_DEPTH];

	if (place == CALL_AGAIN) {
		outer->duplicates++;
		return 0;
	}
	if (depth >= GMT_INFLIGHT_DEPTH) {
		count_loss(GMT_LOSS_INFLIGHT_DEEP);
		return 0;
	}
	frame->nested = 0;
	frame->root = depth;
	if (place == CALL_PART)
		place_inside(frame, outer);
	state->depth = depth + 1;
	frame->sp = PT_REGS_SP(ctx);
	frame->pc = PT_REGS_IP(ctx);
	frame->api = api;
	frame->library = library;
	frame->seq = ++state->seq;
	state->generation = runtime.generation;
	frame->entry_read = 0;
	frame->duplicates = 0;
	frame->has_stack = 0;
	frame->stack_id = 0;
	frame->inside = 0;
	frame->is_doubted = 0;
	return frame;
}

/* ---- return ---- */

static __always_inline void end_part(struct thread_state *state, const struct call_frame *part)
{
	give_inside(state, part, state->depth);
	if (state->frames[part->root % GMT_INFLIGHT_DEPTH].is_doubted)
		miss_context(state, part->api);
}

/* Takes the frame of the call that returns now off the list. Null: no frame matches, or a further probe will report
 * the same return. */
static __always_inline struct call_frame *pop_frame(struct thread_state *state, __u64 sp, __u32 api)
{
	struct call_frame *frame;

	sp -= RETURN_SP_SHIFT;
	for (int i = 0; i < GMT_INFLIGHT_DEPTH; i++) {
		__u32 depth = state->depth;

		if (!depth)
			break;
		frame = &state->frames[(depth - 1) % GMT_INFLIGHT_DEPTH];
		if (frame->sp > sp)
			break;
		if (frame->sp == sp && frame->api == api) {
			if (frame->duplicates) {
				frame->duplicates--;
				return 0;
			}
			state->depth = depth - 1;
			if (frame->nested)
				end_part(state, frame);
			return frame;
		}
		drop_top(state);
	}
	miss_context(state, api);
	/* A thread that was inside the call when the probes were added has no entry, and nothing was lost. Probes are
	 * added one by one, so a loss is certain only if the thread has entered a call after the last one was added. */
	if (state->generation == runtime.generation && !(state->generation & 1))
		count_loss(GMT_LOSS_INFLIGHT_ORPHAN);
	return 0;
}

/* ---- in between ---- */

/* The user stack pointer of the current task in a system call; 0: unknown, before Linux 5.15. */
static __always_inline __u64 user_sp(void)
{
	struct pt_regs *regs;

	if (!bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs))
		return 0;
	regs = (struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf());
	return PT_REGS_SP_CORE(regs);
}

/* The outermost call that runs at a stack pointer; null: none, or it is not certain that the call still runs. */
static __always_inline const struct call_frame *running_call(const struct thread_state *state, __u64 sp)
{
	__u32 depth = state->depth;
	const struct call_frame *frame;
	__u64 trampoline;

	if (!depth)
		return 0;
	trampoline = unwind_trampoline(bpf_get_current_task_btf());
	for (int i = 0; i < GMT_INFLIGHT_DEPTH; i++) {
		frame = &state->frames[--depth % GMT_INFLIGHT_DEPTH];
		if (frame->sp > sp && arch_is_hijacked(frame->sp, trampoline))
			return frame->is_doubted ? 0 : &state->frames[frame->root % GMT_INFLIGHT_DEPTH];
		if (!depth)
			break;
	}
	return 0;
}

#endif
