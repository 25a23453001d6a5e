/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Sends driver API calls: one program serves all entries, another program all returns. The uprobe's cookie is
 * api | library << 32. gmt.specs[api] says which values are read. frames.bpf.h has the calls that have not returned.
 */
#ifndef GMT_CALL_BPF_H
#define GMT_CALL_BPF_H

#include "frames.bpf.h"

/* Saves the first six arguments. */
static __always_inline void save_args(__u64 *args, struct pt_regs *ctx)
{
	args[0] = PT_REGS_PARM1(ctx);
	args[1] = PT_REGS_PARM2(ctx);
	args[2] = PT_REGS_PARM3(ctx);
	args[3] = PT_REGS_PARM4(ctx);
	args[4] = PT_REGS_PARM5(ctx);
	args[5] = ARCH_PARM6(ctx);
}

/* Hashes a 64-byte handle. The hash identifies the handle. */
static __always_inline int hash64(__u64 address, __u64 *val)
{
	__u64 words[8], h = 0xcbf29ce484222325ULL; /* FNV-1a's offset basis and prime */

	if (bpf_probe_read_user(words, sizeof(words), (void *)address))
		return -1;
#pragma unroll
	for (int i = 0; i < 8; i++)
		h = (h ^ words[i]) * 0x100000001b3ULL;
	*val = h;
	return 0;
}

static __always_inline int read32(__u64 address, __u64 *val)
{
	__u32 v = 0;

	if (bpf_probe_read_user(&v, sizeof(v), (void *)address))
		return -1;
	*val = v;
	return 0;
}

/* Reads one value of a call. Returns 0, or -1 if memory could not be read. */
static __always_inline int read_cap(const struct call_frame *frame, __u32 cap, __u64 *val)
{
	__u64 arg = frame->args[cap >> 16 & 7];
	__u64 address = arg + (cap & 0xffff);

	switch (cap >> 24) {
	case GMT_CAP_ARG64:
		*val = arg;
		return 0;
	case GMT_CAP_ARG32:
		*val = (__u32)arg;
		return 0;
	case GMT_CAP_IN32:
	case GMT_CAP_OUT32:
		return read32(address, val);
	case GMT_CAP_IN64:
	case GMT_CAP_OUT64:
		return bpf_probe_read_user(val, sizeof(*val), (void *)address) ? -1 : 0;
	case GMT_CAP_INHASH:
	case GMT_CAP_OUTHASH:
		return hash64(address, val);
	case GMT_CAP_STKHASH:
		return hash64(frame->sp + STACK_ARGS_OFFSET, val);
	}
	return -1;
}

static __always_inline void begin_record(struct thread_state *state, const struct call_frame *frame,
					 __u32 count, __u8 phase, __s32 rc)
{
	struct gmt_call *call = (void *)state->out;

	fill_header(&call->hdr, GMT_KIND_CALL, sizeof(*call) + count * sizeof(__u64));
	call->api = frame->api;
	call->phase = phase;
	call->unread = state->lost_context ? GMT_CALL_CONTEXT_LOST : 0;
	call->rc = rc;
	call->seq = frame->seq;
	call->stack_id = frame->stack_id;
}

/* Keeps what the collector knows of the thread's context after a record was sent, or lost. */
static __always_inline void keep_context(struct thread_state *state, __u16 flags, int is_lost)
{
	const struct gmt_call *call = (void *)state->out;

	if (!is_lost)
		state->lost_context = 0;
	/* A failed call changes nothing. An UNDO takes a change back. */
	if (!(flags & (GMT_API_CTX | GMT_API_CHANGE)) || (call->rc && call->phase != GMT_PHASE_UNDO))
		return;
	state->has_sent_ctx = 0;
	if (is_lost) {
		state->lost_context = 1;
	} else if (flags & GMT_API_CHANGE) {
		state->has_sent_ctx = 1;
		state->sent_ctx = call->vals[0];
	}
}

/* Whether the collector knows already that the thread has this context. A null context is none: each such call takes
 * one more context off the thread's stack (cuda.h, cuCtxSetCurrent). */
static __always_inline int is_unchanged(const struct thread_state *state, __u16 flags)
{
	const struct gmt_call *call = (void *)state->out;

	return (flags & GMT_API_CHANGE) && !call->rc && call->vals[0] && state->has_sent_ctx &&
	       state->sent_ctx == call->vals[0];
}

static __always_inline void send_record(struct thread_state *state, const volatile struct gmt_spec *spec)
{
	__u32 size = sizeof(struct gmt_call) + spec->count * sizeof(__u64);
	__u16 flags = spec->flags;

	if (size <= sizeof(state->out) && !is_unchanged(state, flags))
		keep_context(state, flags, send(state->out, size));
}

/* Whether the callee writes the value. A failed call has no such value. */
static __always_inline int is_out(__u32 cap)
{
	__u32 kind = cap >> 24;

	return kind == GMT_CAP_OUT64 || kind == GMT_CAP_OUT32 || kind == GMT_CAP_OUTHASH;
}

static __always_inline void read_vals(struct thread_state *state, const struct call_frame *frame,
				      const volatile struct gmt_spec *spec, int failed)
{
	struct gmt_call *call = (void *)state->out;

	for (__u32 i = 0; i < GMT_CALL_VALS; i++) {
		__u64 val = 0;
		__u32 cap;

		if (i >= spec->count)
			break;
		cap = spec->caps[i];
		if (frame->entry_read & (1 << i)) {
			val = frame->entry_vals[i];
		} else if (failed && is_out(cap)) {
			;
		} else if (read_cap(frame, cap, &val)) {
			val = 0;
			call->unread |= 1 << i;
			/* A null pointer is no loss: the caller chose it (cuCtxPopCurrent). */
			if (frame->args[cap >> 16 & 7])
				count_loss(GMT_LOSS_UNREADABLE);
		}
		call->vals[i] = val;
	}
}

static __always_inline void read_at_entry(struct call_frame *frame, const volatile struct gmt_spec *spec)
{
	for (__u32 i = 0; i < GMT_CALL_VALS; i++) {
		if (!(spec->entry_reads & (1 << i)))
			continue;
		/* If the memory is not resident now, the return reads it: the callee has read it by then. */
		if (!read_cap(frame, spec->caps[i], &frame->entry_vals[i]))
			frame->entry_read |= 1 << i;
	}
}

/* Takes the stack at entry, while the return address is still on the stack. The return probe replaces that address. */
static __always_inline void take_stack(struct thread_state *state, struct call_frame *frame,
				       const volatile struct gmt_spec *spec, struct pt_regs *ctx)
{
	struct stack_start start = {
		.pc = PT_REGS_IP(ctx), .sp = PT_REGS_SP(ctx), .fp = PT_REGS_FP(ctx), .ret = PT_REGS_RET(ctx),
	};

	if (spec->size_cap && gmt.config.stack_sample_bytes &&
	    read_cap(frame, spec->size_cap, &start.bytes))
		start.bytes = 0;
	frame->has_stack = 1;
	frame->stack_id = stack_take(&state->stacks, &start);
}

/* Whether a call without a return probe has just been sent, and now hits the driver behind the stub, or a second probe.
 * The frame of such a call is taken off at once, but stays where it was. */
static __always_inline int is_sent_already(const struct thread_state *state, struct pt_regs *ctx, __u32 api,
					   __u32 library)
{
	const struct call_frame *last = &state->frames[state->depth % GMT_INFLIGHT_DEPTH];

	return last->seq == state->seq && last->api == api && last->library != library &&
	       last->args[0] == PT_REGS_PARM1(ctx);
}

SEC("uprobe")
int call_enter(struct pt_regs *ctx)
{
	__u64 cookie = bpf_get_attach_cookie(ctx);
	__u32 api = (__u32)cookie % GMT_API_MAX;
	const volatile struct gmt_spec *spec = &gmt.specs[api];
	struct thread_state *state;
	struct call_frame *frame;

	KEEP_KERNEL_STACK(ctx);
	state = thread_get();
	if (!state) {
		if (!is_target())
			return 0;
		state = thread_make();
		if (!state)
			return 0;
	}
	if ((spec->flags & GMT_API_NO_RETURN) && is_sent_already(state, ctx, api, cookie >> 32))
		return 0;
	frame = push_frame(state, ctx, api, cookie >> 32);
	if (!frame)
		return 0;
	save_args(frame->args, ctx);
	if (spec->entry_reads)
		read_at_entry(frame, spec);
	if (spec->takes_stack && gmt.config.stack_mode && !frame->nested)
		take_stack(state, frame, spec, ctx);
	if ((spec->flags & GMT_API_RELEASE) && !frame->nested) {
		begin_record(state, frame, spec->count, GMT_PHASE_ENTER, 0);
		read_vals(state, frame, spec, 0);
		send_record(state, spec);
	}
	if (spec->flags & GMT_API_NO_RETURN)
		state->depth--;
	return 0;
}

/* A callback inside the call may have changed the context before or after the call did. */
static __always_inline void doubt_context(struct thread_state *state, const struct call_frame *frame)
{
	if (frame->is_doubted)
		miss_context(state, frame->api);
}

SEC("uretprobe")
int call_return(struct pt_regs *ctx)
{
	__u32 api = (__u32)bpf_get_attach_cookie(ctx) % GMT_API_MAX;
	const volatile struct gmt_spec *spec = &gmt.specs[api];
	struct thread_state *state = thread_get();
	__s32 rc = (__s32)PT_REGS_RC(ctx);
	struct call_frame *frame;
	__u16 flags = spec->flags;
	int is_silent = (flags & GMT_API_SCOPE) && !spec->count;

	KEEP_KERNEL_STACK(ctx);
	if (!state) {
		count_hidden_thread();
		return 0;
	}
	frame = pop_frame(state, PT_REGS_SP(ctx), api);
	if (!frame || frame->nested)
		return 0;
	/* A scope without values is sent only if there was no memory; of nested scopes, only the outermost scope. */
	if (is_silent && rc != GMT_CUDA_OUT_OF_MEMORY)
		return 0;
	if (is_silent && frame->root != state->depth) {
		state->frames[frame->root % GMT_INFLIGHT_DEPTH].inside++;
		return 0;
	}
	if (flags & GMT_API_RELEASE) {
		if (!rc) { /* sent at entry */
			doubt_context(state, frame);
			return 0;
		}
		begin_record(state, frame, spec->count, GMT_PHASE_UNDO, rc);
	} else {
		if (rc && rc != GMT_CUDA_OUT_OF_MEMORY && (flags & GMT_API_QUIET_ERROR))
			return 0;
		begin_record(state, frame, spec->count, GMT_PHASE_DONE, rc);
	}
	read_vals(state, frame, spec, rc != 0);
	send_record(state, spec);
	doubt_context(state, frame);
	return 0;
}

#endif
