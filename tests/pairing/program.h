/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The calls of a program on the machine (machine.h), and a collector that knows them: each record that it gets must be
 * that of a call of the program, with the call's values, and its view of the thread's contexts must be true or empty.
 * The collector keeps contexts as user/core/ledger/context.c does.
 */
#ifndef GMT_TESTS_PAIRING_PROGRAM_H
#define GMT_TESTS_PAIRING_PROGRAM_H

#include <stdio.h>

#include "machine.h"

static uint64_t machine_seed; /* of the order that runs */

#define WRONG(...) (fprintf(stderr, "order %llu: ", (unsigned long long)machine_seed), fprintf(stderr, __VA_ARGS__), \
		    fputc('\n', stderr), abort())

/* With PAIRING_SEED=N in the environment the order's events are printed. */
#define TELL(...) (getenv("PAIRING_SEED") ? fprintf(stderr, __VA_ARGS__) : 0)

/* What a test with a model of its own hears (joint.h); each may be NULL. */
struct choices;
static struct hooks {
	bool (*is_known)(__u16 api);
	void (*begins)(struct call *call);
	void (*works)(struct thread *t, struct call *call); /* the first time, and may change the result */
	void (*ends)(struct call *call);                    /* it has returned, or was left */
	void (*is_new)(int tgid);                           /* a process, or another program in the process */
	void (*sent)(const void *record, __u32 size);
	void (*system_call)(struct thread *t, struct choices *c);
} hooks;

/* ---- choices ---- */

struct choices {
	const uint8_t *bytes;    /* NULL: random numbers from the seed */
	size_t left;
	uint64_t seed;
};

static uint32_t choose(struct choices *c, uint32_t below)
{
	if (!c->bytes) {
		c->seed ^= c->seed << 13;
		c->seed ^= c->seed >> 7;
		c->seed ^= c->seed << 17;
		return (uint32_t)(c->seed >> 32) % below;
	}
	if (!c->left)
		return 0;
	c->left--;
	return *c->bytes++ % below;
}

/* ---- the collector ---- */

static struct collector {
	struct { int tgid; struct context_stack contexts; } threads[HOST_TIDS];
	unsigned int left;       /* calls of the program that never returned, though their thread went on */
	unsigned int unclear;    /* those that look as if their thread was killed inside them */
	bool was_inside, was_hidden; /* was_inside: a thread ended inside a call, or left one */
	bool lost_context;       /* a call that changes contexts was hidden, or a creation lost: counted, but not marked */
	bool had_fault;
	__u64 range;             /* the newest record of a range */
	__u8 range_what;
} collector;

/* The call gives a context back. */
static bool is_out_context(__u16 api)
{
	return api == GMT_API_cuCtxPopCurrent_v2 || api == GMT_API_cuCtxCreate_v4;
}

static __u64 top_of(const struct context_stack *s)
{
	return s->depth ? s->list[s->depth - 1] : 0;
}

static void set_top(struct context_stack *s, __u64 context)
{
	s->depth -= s->depth > 0;
	if (context && s->depth < CONTEXTS)
		s->list[s->depth++] = context;
}

static void change_context(struct context_stack *s, __u16 api, __u64 context)
{
	if (api == GMT_API_cuCtxSetCurrent)
		set_top(s, context);
	else if (api == GMT_API_cuCtxDestroy_v2)
		s->depth -= context && top_of(s) == context;
	else if (api == GMT_API_cuCtxPopCurrent_v2)
		s->depth -= s->depth > 0;
	else if (s->depth < CONTEXTS)
		s->list[s->depth++] = context;
}

static bool is_of_context(__u16 api)
{
	return gmt.specs[api].flags & (GMT_API_CTX | GMT_API_CHANGE);
}

/* The newest call of the thread with the record's number. */
static __u64 find_by_seq(const struct gmt_call *rec)
{
	int i = machine.call_count;

	while (i-- > 0 && (machine.calls[i].tid != (int)rec->hdr.tid || machine.calls[i].seq != rec->seq))
		;
	return (__u64)i;
}

/* Each call passes its number, which a record without values does not have. */
static struct call *find_call(const struct gmt_call *rec)
{
	__u64 number = gmt.specs[rec->api % GMT_API_MAX].count ? rec->vals[1] : find_by_seq(rec);
	struct call *call = &machine.calls[number % CALLS];

	if (number >= (__u64)machine.call_count || call->api != rec->api || call->tid != (int)rec->hdr.tid ||
	    call->tgid != (int)rec->hdr.tgid)
		WRONG("a record of no call: api %u seq %u tid %u", rec->api, rec->seq, rec->hdr.tid);
	return call;
}

static struct thread *thread_of(int tid)
{
	for (int i = 0; i < THREADS; i++)
		if (machine.threads[i].is_alive && machine.threads[i].task.pid == tid)
			return &machine.threads[i];
	return NULL;
}

/* The programs do not know a call that this call is a part of. */
static bool is_orphan(const struct call *call)
{
	while (call->of >= 0) {
		call = &machine.calls[call->of];
		if (call->is_hidden)
			return true;
	}
	return false;
}

static void check_call(const struct gmt_call *rec, struct call *call)
{
	int number = (int)(call - machine.calls);

	call->sent++;
	/* Up to Linux 6.1: if the return of one call and the entry of the next at its place are hidden, the next call's
	 * return is taken for the first one's. */
	if (collector.was_hidden)
		return;
	if (!call->is_own && !is_orphan(call))
		WRONG("a part of call %d was sent", call->of);
	if (rec->rc != (rec->phase == GMT_PHASE_ENTER ? 0 : call->rc))
		WRONG("call %d: result %d, not %d", number, rec->rc, call->rc);
	if (call->is_own && call->sent > call->expected && !is_orphan(call))
		WRONG("call %d was sent %u times of %u", number, call->sent, call->expected);
	if (!rec->rc && call->api == GMT_API_cuMemAlloc_v2 && rec->vals[0] != call->result)
		WRONG("call %d has another result", number);
}

/* A context that is destroyed leaves the thread's stack when the call begins, and comes back if the call fails. */
static void see_change(const struct gmt_call *rec, struct call *call, struct context_stack *believed)
{
	unsigned int depth = believed->depth;

	if (!rec->rc)
		change_context(believed, rec->api, rec->vals[0]);
	else if (rec->phase == GMT_PHASE_UNDO && call->has_popped && believed->depth < CONTEXTS)
		believed->list[believed->depth++] = rec->vals[0];
	call->has_popped = believed->depth < depth;
}

static void see_call(const struct gmt_call *rec)
{
	struct call *call = find_call(rec);
	const struct thread *thread = thread_of(rec->hdr.tid);
	struct context_stack *believed = &collector.threads[rec->hdr.tid % HOST_TIDS].contexts;

	TELL("%d: record api %u phase %u seq %u\n", rec->hdr.tid, rec->api, rec->phase, rec->seq);
	check_call(rec, call);
	if (rec->unread & GMT_CALL_CONTEXT_LOST)
		believed->depth = 0;
	if (is_of_context(rec->api)) {
		see_change(rec, call, believed);
	} else if (is_orphan(call)) {
		/* The call around this one was hidden, which was counted. It may have changed the context already. */
	} else if (thread && !collector.lost_context && top_of(believed) && top_of(believed) != top_of(&thread->contexts)) {
		WRONG("call %d: context %llu, not %llu", (int)(call - machine.calls), top_of(believed),
		      top_of(&thread->contexts));
	}
}

static void see_range(const struct gmt_fw_range *rec)
{
	collector.range = rec->object;
	collector.range_what = rec->what;
}

static void host_sent(const void *record, __u32 size)
{
	const struct gmt_hdr *hdr = record;

	if (hdr->size != size)
		WRONG("a record of %u bytes says %u", size, hdr->size);
	if (hooks.sent)
		hooks.sent(record, size);
	if (hdr->kind == GMT_KIND_CALL)
		see_call(record);
	if (hdr->kind == GMT_KIND_FW_RANGE)
		see_range(record);
	if (hdr->kind == GMT_KIND_PROC_EXEC)
		for (int tid = 0; tid < HOST_TIDS; tid++)
			if (collector.threads[tid].tgid == (int)hdr->tgid)
				collector.threads[tid].contexts.depth = 0;
}

static void host_storage_failed(void)
{
	collector.had_fault = collector.was_hidden = true;
}

/* ---- calls ---- */

static const __u16 apis[] = {
	GMT_API_cuMemAlloc_v2, GMT_API_cuMemFree_v2, GMT_API_cuMemMap, GMT_API_cuModuleLoadData,
	GMT_API_cuGraphExecDestroy, GMT_API_cuDevicePrimaryCtxReset_v2,
	GMT_API_cuCtxSetCurrent, GMT_API_cuCtxPushCurrent_v2, GMT_API_cuCtxPopCurrent_v2,
	GMT_API_cuCtxCreate_v4, GMT_API_cuCtxDestroy_v2,
	GMT_API_cuDevicePrimaryCtxRetain, GMT_API_cuDevicePrimaryCtxRelease_v2,
	GMT_API_cuGreenCtxCreate, GMT_API_cuCtxFromGreenCtx, GMT_API_cuGreenCtxDestroy,
};
#define APIS (sizeof(apis) / sizeof(*apis))
#define APIS_OF_DRIVER 4 /* those that the driver calls itself */

static void set_specs(void)
{
	static const struct { __u16 api, flags; bool is_out; } rows[] = {
		{ GMT_API_cuMemAlloc_v2, 0, true },
		{ GMT_API_cuMemFree_v2, GMT_API_RELEASE, false },
		{ GMT_API_cuDevicePrimaryCtxReset_v2, GMT_API_RELEASE, false },
		{ GMT_API_cuGraphExecDestroy, GMT_API_RELEASE | GMT_API_NO_RETURN, false },
		{ GMT_API_cuMemMap, GMT_API_QUIET_ERROR, false },
		{ GMT_API_cuModuleLoadData, GMT_API_SCOPE, false },
		{ GMT_API_cuCtxSetCurrent, GMT_API_QUIET_ERROR | GMT_API_CHANGE, false },
		{ GMT_API_cuCtxPushCurrent_v2, GMT_API_QUIET_ERROR | GMT_API_CTX, false },
		{ GMT_API_cuCtxPopCurrent_v2, GMT_API_QUIET_ERROR | GMT_API_CTX, true },
		{ GMT_API_cuCtxCreate_v4, GMT_API_CTX, true },
		{ GMT_API_cuCtxDestroy_v2, GMT_API_RELEASE | GMT_API_CTX, false },
		{ GMT_API_cuDevicePrimaryCtxRetain, 0, true },
		{ GMT_API_cuDevicePrimaryCtxRelease_v2, GMT_API_RELEASE, false },
		{ GMT_API_cuGreenCtxCreate, GMT_API_QUIET_ERROR, true },
		{ GMT_API_cuCtxFromGreenCtx, GMT_API_QUIET_ERROR, true },
		{ GMT_API_cuGreenCtxDestroy, GMT_API_RELEASE, false },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct gmt_spec *spec = &gmt.specs[rows[i].api];

		spec->flags = rows[i].flags;
		spec->count = rows[i].flags & GMT_API_SCOPE ? 0 : 2;
		spec->caps[0] = rows[i].is_out ? OUT(0) : ARG(0);
		spec->caps[1] = ARG(1);
	}
}

/* Parts of a scope, such as the loading of a module, are sent; parts of other calls are not. */
static bool is_sent_itself(int of)
{
	const struct call *outer = &machine.calls[of < 0 ? 0 : of], *whole = outer;

	if (outer->of >= 0 && machine.calls[outer->of].is_stub)
		whole = &machine.calls[outer->of];
	return of < 0 || (whole->is_own && !outer->is_stub && (gmt.specs[outer->api].flags & GMT_API_SCOPE));
}

static struct activation *push_activation(struct thread *t, __u64 sp, int call, enum code code)
{
	struct activation *a = &t->activations[t->depth++];

	*a = (struct activation){ .is_call = call >= 0, .sp = sp, .call = call, .code = code };
	return a;
}

static bool is_hidden_now(const struct thread *t, __u32 seq_before)
{
	return !t->task.storage || t->task.storage->seq == seq_before;
}

/* There were too many frames, and all but the newest were dropped. */
static void hide_running(struct thread *t)
{
	collector.had_fault = true;
	for (unsigned int i = 0; i + 1 < t->depth; i++)
		if (t->activations[i].is_call)
			machine.calls[t->activations[i].call].is_hidden = true;
}

/* A call begins: at stack pointer sp if it was reached by a jump, else below sp. `of`: the call that it is a part of. */
static void begin_call(struct thread *t, struct choices *c, __u16 api, enum code code, enum code caller, int of,
		       bool is_jump)
{
	struct activation *below = &t->activations[t->depth - 1];
	__u64 sp = is_jump ? below->sp : below->sp - 8 * (2 + choose(c, 12));
	int number = machine.call_count++;
	struct call *call = &machine.calls[number];
	struct thread_state *state = t->task.storage;
	__u32 seq = state ? state->seq : 0, depth = state ? state->depth : 0;
	struct activation *a;

	*call = (struct call){ .tid = t->task.pid, .tgid = t->task.tgid, .api = api, .is_own = is_sent_itself(of), .of = of,
			       .same = number, .is_stub = code == CODE_STUB, .looks_inner = of < 0 && caller == CODE_DRIVER,
			       .is_target = state || host_target(t->task.tgid) };
	if (of >= 0 && machine.calls[of].is_stub)
		call->same = machine.calls[of].same;
	call->has_context = is_of_context(api) && !is_out_context(api);
	call->context = choose(c, 4);
	if (api == GMT_API_cuCtxDestroy_v2 && choose(c, 2))
		call->context = top_of(&t->contexts);
	if (call->same != number)
		call->context = machine.calls[call->same].context;
	call->rc = (__s32[]){ 0, 0, 0, 0, 0, 0, 2, 1 }[choose(c, 8)];
	call->result = 1000 + (__u64)number;
	if (hooks.begins)
		hooks.begins(call);
	call->expected = call->is_target && (gmt.specs[api].flags & GMT_API_RELEASE);
	call->seq = seq + 1;
	if (!is_jump)
		*stack_word(t, sp) = CALLER(caller);
	a = push_activation(t, sp, number, code);
	a->is_jump = is_jump;
	TELL("%d: call %d api %u in %d from %d at %llx%s, part of %d\n", t->task.pid, number, api, code, caller, sp,
	     is_jump ? " by a jump" : "", of);
	run_programs(t, call_enter, code, api, sp, call, number);
	state = t->task.storage;
	call->is_hidden = is_hidden_now(t, seq) && !(is_jump && call->same != number);
	collector.lost_context |= call->is_hidden && is_of_context(api);
	/* Without a return probe the programs do not know which calls are parts of this one. */
	if (!has_return(number) || !hijack_return(t, code, api, sp))
		call->is_hidden = true;
	if (state && depth == GMT_INFLIGHT_DEPTH && state->depth <= 1)
		hide_running(t);
}

static void do_work(struct thread *t, struct call *call)
{
	struct call *real = &machine.calls[call->same];

	if (hooks.works && !real->has_worked)
		hooks.works(t, real);
	call->rc = real->rc;
	if (hooks.works)
		call->result = real->result;
	if (real->has_worked)
		return;
	real->has_worked = true;
	if (!is_of_context(real->api) || real->rc)
		return;
	if (real->api == GMT_API_cuCtxPopCurrent_v2)
		real->result = top_of(&t->contexts);
	change_context(&t->contexts, real->api, is_out_context(real->api) ? real->result : real->context);
}

static __u32 expected_at_return(const struct call *call)
{
	__u16 flags = gmt.specs[call->api].flags;

	if (flags & GMT_API_SCOPE)
		return call->rc == GMT_CUDA_OUT_OF_MEMORY && call->of < 0;
	if (flags & GMT_API_RELEASE)
		return call->rc && !(flags & GMT_API_NO_RETURN);
	return !(call->rc && call->rc != GMT_CUDA_OUT_OF_MEMORY && (flags & GMT_API_QUIET_ERROR));
}

/* A context that the collector knows already is not sent again. */
static void expect_no_change(struct call *call)
{
	if (call->api == GMT_API_cuCtxSetCurrent && !call->sent && call->expected &&
	    call->context && top_of(&collector.threads[call->tid].contexts) == call->context)
		call->expected = 0;
}

/* A call ends, and all calls below it that reached it by jumps. */
static void return_call(struct thread *t)
{
	struct activation *top = &t->activations[t->depth - 1], *first = top;
	__u64 sp = top->sp + 8;

	for (;; first--) {
		struct call *call = &machine.calls[first->call];

		do_work(t, call);
		TELL("%d: call %d returns %d\n", t->task.pid, first->call, call->rc);
		call->has_returned = true;
		call->expected += call->is_target ? expected_at_return(call) : 0;
		if (!first->is_jump)
			break;
	}
	if (*stack_word(t, top->sp) == TRAMPOLINE)
		handle_trampoline(t, sp, top);
	for (struct activation *a = first; a <= top; a++) {
		__u16 api = machine.calls[a->call].api;

		/* Its return was hidden. Calls further up the stack, such as a callback's, may have told of other contexts. */
		collector.lost_context |= host.faults.storage_is_hidden && is_of_context(api);
		/* The new context may have the handle of a context whose end was lost, too, and that is current elsewhere. */
		collector.lost_context |= host.faults.ring_is_full && api == GMT_API_cuCtxCreate_v4;
		expect_no_change(&machine.calls[a->call]);
		if (hooks.ends)
			hooks.ends(&machine.calls[a->call]);
	}
	t->depth = (unsigned int)(first - t->activations);
}

#endif
