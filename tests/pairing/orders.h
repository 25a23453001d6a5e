/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Orders of events, chosen by bytes or by a seed: calls in calls, callbacks, signal handlers, jumps, threads and processes
 * that begin and end, and faults. In each order every call of the program that ends is sent once or counted, and the
 * cause of a system call is the call that runs, or none.
 */
#ifndef GMT_TESTS_PAIRING_ORDERS_H
#define GMT_TESTS_PAIRING_ORDERS_H

#include "program.h"

#define STEPS_MOST 400
#define API_TRIES 4

static struct activation *top_activation(struct thread *t)
{
	return &t->activations[t->depth - 1];
}

static unsigned int running_calls(const struct thread *t)
{
	unsigned int count = 0;

	for (unsigned int i = 0; i < t->depth; i++)
		count += t->activations[i].is_call;
	return count;
}

static bool has_room(const struct thread *t)
{
	/* Frames of too many calls are dropped. */
	if (machine.is_exact && t->depth + 3 > GMT_INFLIGHT_DEPTH / 2)
		return false;
	return t->depth + 3 < ACTIVATIONS && machine.call_count + 3 < CALLS &&
	       t->activations[t->depth - 1].sp > stack_base(t) + 8 * 64;
}

/* The innermost call is left without a return, with everything above the activation `keep`. */
static void leave_down_to(struct thread *t, unsigned int keep, bool is_end)
{
	while (t->depth > keep) {
		struct activation *a = &t->activations[--t->depth];
		struct call *call = a->is_call ? &machine.calls[a->call] : NULL;

		if (!call)
			continue;
		TELL("%d: call %d is left\n", t->task.pid, a->call);
		if (hooks.ends)
			hooks.ends(call);
		call->is_left = !is_end;
		call->has_ended = is_end;
		collector.was_inside = true;
		if (!is_end && call->is_own && call->is_target && has_return(a->call))
			collector.left++;
	}
}

/* ---- events of a thread ---- */

static void call_of_program(struct thread *t, struct choices *c)
{
	enum code code = choose(c, 4) ? CODE_DRIVER : CODE_STUB;
	/* An unprobed function of the driver makes a call: it can be told from a part only if no call runs. */
	bool is_inner = !running_calls(t) && !choose(c, 8);
	enum code caller = is_inner ? CODE_DRIVER : choose(c, 4) ? CODE_PROGRAM : CODE_JIT;
	__u16 api;

	/* Without the caller's file, the calls of callbacks count as parts. */
	if (running_calls(t) && (host.faults.mappings_are_busy || host.faults.has_no_find_vma))
		return;
	for (int tries = 0; tries < API_TRIES; tries++) {
		api = apis[choose(c, is_inner ? APIS_OF_DRIVER : APIS)];
		if (!hooks.is_known || hooks.is_known(api))
			break;
		if (tries == API_TRIES - 1)
			return;
	}
	/* The machine would drop what the collector, which knows fewer contexts after a loss, still takes. */
	if (is_of_context(api) && t->contexts.depth + running_calls(t) >= CONTEXTS)
		return;
	begin_call(t, c, api, code, caller, -1, false);
}

/* The innermost call, or one that jumped to it, is of this function: it would run twice at one stack pointer. */
static bool has_jumped(const struct thread *t, __u16 api)
{
	const struct activation *a = &t->activations[t->depth - 1];

	while (machine.calls[a->call].api != api && a->is_jump)
		a--;
	return machine.calls[a->call].api == api;
}

static void part_of_call(struct thread *t, struct choices *c)
{
	const struct activation *a = top_activation(t);
	bool is_stub = a->code == CODE_STUB;
	__u16 api = is_stub ? machine.calls[a->call].api : apis[choose(c, APIS_OF_DRIVER)];

	begin_call(t, c, api, CODE_DRIVER, a->code, a->call, !choose(c, 3) && (is_stub || !has_jumped(t, api)));
}

/* Code of the program runs on top of what runs: a callback or a handler, perhaps on the stack for handlers. */
static void enter_program(struct thread *t, struct choices *c)
{
	__u64 sp = top_activation(t)->sp - 8 * (20 + choose(c, 20)), alternate = stack_base(t) + 8 * ALT_WORDS;
	struct call *outermost = &machine.calls[top_activation(t)->call];

	while (outermost->of >= 0)
		outermost = &machine.calls[outermost->of];
	/* A call that changes the context between two callbacks cannot be told from one that was left. */
	if (outermost->had_callback && is_of_context(outermost->api))
		return;
	outermost->had_callback = true;
	if (!choose(c, 3) && top_activation(t)->sp > alternate)
		sp = alternate;
	TELL("%d: the program at %llx\n", t->task.pid, sp);
	push_activation(t, sp, -1, CODE_PROGRAM);
}

/* Other functions use the stack below. */
static void scribble(struct thread *t, struct choices *c)
{
	__u64 sp = top_activation(t)->sp;
	__u32 words = 1 + choose(c, 40);

	TELL("%d: %u words below %llx\n", t->task.pid, words, sp);
	for (__u32 i = 1; i <= words && sp - 8 * i >= stack_base(t); i++)
		if (choose(c, 4))
			*stack_word(t, sp - 8 * i) = i;
}

static void jump_out(struct thread *t, struct choices *c)
{
	unsigned int keep = 1 + choose(c, t->depth);

	if (machine.is_exact)
		return;
	while (keep < t->depth && t->activations[keep - 1].is_call)
		keep--;
	TELL("%d: jump out to %u\n", t->task.pid, keep);
	leave_down_to(t, keep, false);
}

/* The call that the programs say runs must be the outermost one that does. */
static void check_cause(struct thread *t)
{
	const struct call_frame *frame;
	unsigned int i = t->depth;
	const struct call *call;

	if (!t->task.storage)
		return;
	host.current = &t->task;
	t->task.regs.sp = top_activation(t)->sp - 16;
	frame = running_call(t->task.storage, user_sp());
	while (i && t->activations[i - 1].is_call)
		i--;
	if (!frame || i == t->depth)
		return;
	call = &machine.calls[t->activations[i].call];
	if (call->is_hidden || call->looks_inner || collector.had_fault || host.faults.has_no_find_vma)
		return;
	if (frame->seq != call->seq)
		WRONG("cause: call with seq %u, not %u", frame->seq, call->seq);
}

static bool is_running_at(const struct thread *t, __u64 sp)
{
	for (unsigned int i = 0; i < t->depth; i++)
		if (t->activations[i].is_call && t->activations[i].sp == sp)
			return true;
	return false;
}

/* Whether the stack still looks as if a call of this root ran. */
static bool has_trampoline(struct thread *t, __u32 root)
{
	const struct thread_state *state = t->task.storage;

	for (__u32 i = root; i < state->depth; i++)
		if (state->frames[i].root == root && *stack_word(t, state->frames[i].sp) == TRAMPOLINE)
			return true;
	return false;
}

/* The program makes a system call, from deeper on the stack. A call that was left is no cause once its return address has
 * been overwritten. */
static void check_no_cause(struct thread *t)
{
	const struct call_frame *frame;

	if (!t->task.storage)
		return;
	host.current = &t->task;
	t->task.regs.sp = stack_base(t);
	frame = running_call(t->task.storage, user_sp());
	if (frame && !is_running_at(t, frame->sp) && !has_trampoline(t, frame->root))
		WRONG("cause: call with seq %u, which was left", frame->seq);
}

/* ---- threads and processes ---- */

static struct thread *make_thread(int tid, int tgid, struct thread *leader)
{
	for (int i = 0; i < THREADS; i++) {
		struct thread *t = &machine.threads[i];

		if (t->is_alive)
			continue;
		free(t->task.storage);
		*t = (struct thread){ .is_alive = true };
		t->task = (struct task_struct){ .pid = tid, .tgid = tgid, .mm = &machine.mm, .utask = &t->utask };
		t->task.signal = leader ? leader->task.signal : &machine.signals[tgid];
		t->task.group_leader = leader ? &leader->task : &t->task;
		/* A thread's own value is never read; it is kept for an exec (de_thread() of fs/exec.c). */
		t->task.start_boottime = leader ? leader->task.start_boottime : ++machine.starts * GMT_START_UNIT_NS;
		if (!leader)
			*t->task.signal = (struct signal_struct){ 0 };
		t->task.signal->live.counter++;
		push_activation(t, stack_base(t) + 8 * (STACK_WORDS - 2), -1, CODE_PROGRAM);
		return t;
	}
	return NULL;
}

static bool is_tid_free(int tid)
{
	for (int i = 0; i < THREADS; i++)
		if (machine.threads[i].is_alive && machine.threads[i].task.tgid == tid)
			return false;
	return !thread_of(tid);
}

/* Numbers are few, so they are soon given out again. */
static int free_tid(struct choices *c)
{
	int tid = 100 + (int)choose(c, 8);

	while (!is_tid_free(tid))
		tid++;
	return tid;
}

static void add_thread(struct thread *parent, struct choices *c, bool is_process)
{
	int tid = free_tid(c);
	struct thread *t = make_thread(tid, is_process ? tid : parent->task.tgid, is_process ? NULL : parent);

	if (!t)
		return;
	host.current = &parent->task;
	if (is_process)
		collector.threads[tid].contexts.depth = 0; /* the collector forgets an old process of this number */
	collector.threads[tid].tgid = t->task.tgid;
	if (is_process && hooks.is_new)
		hooks.is_new(tid);
	proc_fork(&parent->task, &t->task);
}

/* Before its next call, a call that was left cannot be told from the call that a killed thread was inside. A hidden state
 * is counted, but not how many calls it had. */
static void count_unclear(const struct thread *t)
{
	const struct thread_state *state = t->task.storage;

	for (__u32 i = 0; state && i < state->depth; i++) {
		if (host.faults.storage_is_hidden)
			collector.unclear += state->frames[i].inside;
		for (int n = 0; n < machine.call_count; n++)
			if (machine.calls[n].is_left && machine.calls[n].tid == t->task.pid &&
			    machine.calls[n].seq == state->frames[i].seq &&
			    (!state->frames[i].is_doubted || host.faults.storage_is_hidden))
				collector.unclear++;
	}
}

static void end_thread(struct thread *t, bool is_killed)
{
	TELL("%d: %s\n", t->task.pid, is_killed ? "is killed" : "ends");
	host.current = &t->task;
	t->task.regs.sp = top_activation(t)->sp - 16;
	t->task.exit_code = is_killed ? 9 : 0;
	t->task.signal->live.counter--;
	leave_down_to(t, 0, is_killed);
	if (is_killed || host.faults.storage_is_hidden)
		count_unclear(t);
	proc_exit(&t->task);
	t->is_alive = false;
}

static void end_process(struct thread *t)
{
	int tgid = t->task.tgid;

	t->task.signal->flags |= SIGNAL_GROUP_EXIT;
	for (int i = 0; i < THREADS; i++)
		if (machine.threads[i].is_alive && machine.threads[i].task.tgid == tgid)
			end_thread(&machine.threads[i], true);
}

/* The thread keeps its state if that is hidden at the exec, and a later record may be of a call from before. */
static void renumber_calls(int old, int new)
{
	for (int n = 0; n < machine.call_count; n++)
		if (machine.calls[n].tid == old)
			machine.calls[n].tid = new;
}

static void exec_program(struct thread *t)
{
	int old = t->task.pid, tgid = t->task.tgid;

	TELL("%d: exec as %d\n", old, tgid);
	for (int i = 0; i < THREADS; i++)
		if (&machine.threads[i] != t && machine.threads[i].is_alive && machine.threads[i].task.tgid == tgid)
			end_thread(&machine.threads[i], true);
	leave_down_to(t, 1, false);
	if (host.faults.storage_is_hidden) {
		count_unclear(t);
		renumber_calls(old, tgid);
		/* The programs cannot mark the state, and the collector does not hear of the exec: both are counted. */
		collector.lost_context |= host.faults.ring_is_full;
	}
	t->returns = 0;
	t->utask.return_instances = NULL;
	t->contexts.depth = 0;
	t->task.pid = tgid;
	t->task.group_leader = &t->task;
	collector.threads[tgid].tgid = tgid;
	host.current = &t->task;
	if (hooks.is_new)
		hooks.is_new(tgid);
	proc_exec(&t->task, old);
}

/* ---- orders ---- */

static void change_faults(struct choices *c)
{
	struct host_faults *f = &host.faults;

	if (machine.is_exact)
		return;
	TELL("a fault changes\n");
	switch (choose(c, 6)) {
	case 0: f->ring_is_full = !f->ring_is_full; break;
	case 1: f->storage_is_hidden = !f->storage_is_hidden; break;
	case 2: f->targets_are_full = !f->targets_are_full; break;
	case 3: f->mappings_are_busy = !f->mappings_are_busy; break;
	default: *f = (struct host_faults){ .has_no_find_vma = f->has_no_find_vma };
	}
	collector.had_fault = true;
}

static void thread_event(struct thread *t, struct choices *c)
{
	bool is_call = top_activation(t)->is_call;
	uint32_t what = choose(c, 16);

	if (what < 7 && !is_call && has_room(t))
		call_of_program(t, c);
	else if (what < 2 && is_call && has_room(t))
		part_of_call(t, c);
	else if (what < 4 && is_call)
		check_cause(t);
	else if (what == 4 && is_call)
		do_work(t, &machine.calls[top_activation(t)->call]);
	else if (what == 5 && is_call && has_room(t))
		enter_program(t, c);
	else if (what < 11 && is_call)
		return_call(t);
	else if (what < 11)
		check_no_cause(t);
	else if (what == 11)
		scribble(t, c);
	else if (what < 14 && !is_call && t->depth > 1 && choose(c, 2))
		t->depth--;
	else if (what == 14 && !is_call)
		jump_out(t, c);
	else if (hooks.system_call)
		hooks.system_call(t, c);
}

static void process_event(struct thread *t, struct choices *c)
{
	switch (choose(c, 8)) {
	case 0: case 1: case 2: add_thread(t, c, false); break;
	case 3: add_thread(t, c, true); break;
	case 4:
		if (!machine.is_exact || t->depth == 1)
			end_thread(t, false);
		break;
	case 5: end_process(t); break;
	case 6: exec_program(t); break;
	case 7: change_faults(c); break;
	}
}

static bool take_step(struct choices *c, bool may_fail)
{
	struct thread *t = &machine.threads[choose(c, THREADS)];

	if (!t->is_alive)
		return true;
	if (choose(c, 24))
		thread_event(t, c);
	else if (may_fail || !t->depth)
		process_event(t, c);
	return !c->bytes || c->left;
}

static void begin_order(struct choices *c)
{
	for (int i = 0; i < THREADS; i++)
		free(machine.threads[i].task.storage);
	memset(&machine, 0, sizeof(machine));
	memset(&host, 0, sizeof(host));
	memset(&collector, 0, sizeof(collector));
	memset((void *)targets_near, 0, sizeof(targets_near));
	machine.area.vaddr = TRAMPOLINE;
	machine.mm.uprobes_state.xol_area = &machine.area;
	machine.mm.task_size = ~0UL;
	machine.has_alias = choose(c, 4) == 0;
	gmt.config.follow_children = 1;
	host.faults.has_no_find_vma = choose(c, 4) == 0;
	host.targets[0] = 50;
	host.values[0] = (struct gmt_target){ .user = GMT_USER_OTHERS };
	gmt.config.user_processes = gmt.config.user_stacks = GMT_TARGETS;
	set_specs();
	make_thread(50, 50, NULL);
}

/* Everything that has not been sent has been counted. */
static void check_counts(void)
{
	unsigned int missing = 0, counted = 0;

	for (int i = 0; i < machine.call_count; i++) {
		const struct call *call = &machine.calls[i];

		missing += call->is_own && call->is_target && !call->is_left && call->sent < call->expected;
		/* A later call, whose entry is missing, was sent for the one that was left at its place. */
		collector.unclear += call->is_left && call->sent > call->expected;
	}
	for (int i = 0; i < GMT_LOSS_COUNT; i++)
		counted += (unsigned int)host.losses[i];
	/* A call that was nested too deep may hide the call around it. */
	collector.had_fault |= host.losses[GMT_LOSS_INFLIGHT_DEEP] > 0;
	if (counted + collector.unclear < missing + collector.left)
		WRONG("%u calls are missing, %u were left, and %u were counted", missing, collector.left, counted);
	if (missing && !collector.had_fault && !collector.was_inside && !host.faults.has_no_find_vma)
		WRONG("%u calls are missing without a fault", missing);
	if (counted && !collector.had_fault && !collector.was_inside)
		WRONG("%u were counted without a fault", counted);
}

static inline void run_order(struct choices *c, unsigned int steps)
{
	begin_order(c);
	for (unsigned int i = 0; i < steps && take_step(c, true); i++)
		;
	for (int i = 0; i < THREADS; i++)
		if (machine.threads[i].is_alive)
			end_process(&machine.threads[i]);
	check_counts();
}

#endif
