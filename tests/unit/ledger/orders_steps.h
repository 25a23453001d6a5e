/* SPDX-License-Identifier: BSD-2-Clause */
/* One step of a thread in orders of events: a call begins, does its work, or returns. */
#ifndef GPUMEMTRACE_TESTS_ORDERS_STEPS_H
#define GPUMEMTRACE_TESTS_ORDERS_STEPS_H

#include "orders_more.h"
#include "orders_work.h"
#include "orders_kernel.h"

static bool may_begin(struct order *o, struct process_here *p, struct thread_here *t)
{
	if (t->call >= CALL_MORE)
		return more_may_begin(o, p, t);
	switch (t->call) {
	case CALL_ALLOC:
	case CALL_MANAGED:
	case CALL_PINNED:
	case CALL_ASYNC:
	case CALL_IPC_OPEN:
		return begin_alloc(p, t);
	case CALL_IMPORT:
		t->gpu = 0;
		t->val[1] = POOL_HERE;
		return !p->contexts[0].ends;
	case CALL_FREE:
	case CALL_IPC_CLOSE:
	case CALL_IMPORT_FREE:
	case CALL_UNMAP:
		return begin_free(p, t);
	case CALL_FREE_NULL:
		return true;
	case CALL_CREATE:
		t->gpu = -1;
		t->val[1] = (1 + order_pick(6)) * UNIT;
		t->val[2] = 1;
		t->val[3] = order_pick(GPUS_HERE);
		t->val[4] = 1;
		return true;
	case CALL_HANDLE_RELEASE:
	case CALL_HANDLE_RETAIN:
	case CALL_MAP:
		return begin_object(p, t);
	default:
		return begin_context(p, t);
	}
}

/* Whether a call that fails now leaves all as it was. */
static bool may_fail(const struct process_here *p, const struct thread_here *t)
{
	if (rows[t->call].is_end && has_planned(p, t->context))
		return false;
	if (t->call == CALL_RELEASE)
		return !runs_on(p, t->gpu);
	if (t->call >= CALL_MORE)
		return more_may_fail(p, t);
	return rows[t->call].is_release || rows[t->call].is_request;
}

static void work(struct order *o, struct process_here *p, struct thread_here *t)
{
	if (rows[t->call].is_end && !t->fails)
		reopen_context(p, t);
	if (t->call >= CALL_MORE) {
		more_work(o, p, t);
		return;
	}
	switch (t->call) {
	case CALL_ALLOC:
	case CALL_MANAGED:
	case CALL_PINNED:
	case CALL_ASYNC:
		if (!t->fails)
			work_alloc(p, t);
		return;
	case CALL_IPC_OPEN:
	case CALL_IMPORT:
		work_import(p, t);
		return;
	case CALL_FREE:
	case CALL_IPC_CLOSE:
	case CALL_IMPORT_FREE:
	case CALL_UNMAP:
		work_release(p, t);
		return;
	case CALL_FREE_NULL:
		return;
	case CALL_CREATE:
		if (!t->fails)
			work_create(p, t);
		return;
	case CALL_MAP:
		work_map(p, t);
		return;
	case CALL_HANDLE_RETAIN:
		p->objects[t->object].refs++;
		return;
	case CALL_HANDLE_RELEASE:
		p->objects[t->object].refs -= !t->fails;
		drop_unused(p, t->object);
		return;
	default:
		work_context(p, t);
	}
}

/* ---- one step of a thread ---- */

/* A context that ends, or begins anew, takes along what is in it. After a loss, more may seem to be in it. */
static void forget_seen(struct process_here *p)
{
	for (int i = 0; i < MEMORIES && p->lost; i++)
		p->memories[i].seen = false;
}

/* Graphs, captures, sparse arrays and multicast objects take many calls to come to something. */
static enum call more_call(void)
{
	static const enum call first[] = { CALL_MORE, CALL_NODE, CALL_STREAM, CALL_MIPMAP, CALL_GROUP };
	static const enum call end[] = { CALL_COUNT, CALL_STREAM, CALL_GROUP, CALL_POOL_CREATE, CALL_COUNT };
	unsigned int group = order_pick(5);

	return (enum call)(first[group] + order_pick(end[group] - first[group]));
}

static void begin_call(struct order *o, struct process_here *p, int thread)
{
	struct thread_here *t = &p->threads[thread];
	enum call call = 1 + order_pick(CALL_MORE - 1);
	const struct call_row *row = &rows[call];
	bool fails = !order_pick(10);

	if (!order_pick(3))
		call = (enum call)(CALL_ALLOC + order_pick(5)), row = &rows[call];
	else if (order_pick(3))
		call = more_call(), row = &rows[call];
	t->context = t->memory = t->object = t->gpu = t->thing = t->other = t->exec = t->graph = t->node = t->bound = -1;
	memset(t->val, 0, sizeof(t->val));
	t->has_worked = t->fails = t->is_nothing = t->has_lost = false;
	t->call = call;
	/* While it is asked whether the call may begin, the thread runs none. What it works on is chosen a few times. */
	const struct thread_here fresh = *t;
	struct thread_here wanted;
	bool begins = false;

	t->call = CALL_NONE;
	for (int tries = 0; tries < 5 && !begins; tries++) {
		wanted = fresh;
		begins = may_begin(o, p, &wanted);
	}
	if (!begins)
		return;
	wanted.fails = fails && may_fail(p, &wanted);
	*t = wanted;
	t->begun = ++t->seq;
	if (row->is_end) {
		struct context_here *c = &p->contexts[t->context];

		t->is_last = call != CALL_RELEASE || c->refs - c->releases == 1;
		c->ends += t->is_last;
		c->releases += call == CALL_RELEASE;
	}
	if (row->is_release && !(row->is_end && o->ends_at_return))
		send_call(o, p, thread, row->api, GMT_PHASE_ENTER, row->count);
	if (row->is_end)
		forget_seen(p);
}

static void return_from(struct order *o, struct process_here *p, int thread)
{
	struct thread_here *t = &p->threads[thread];
	const struct call_row *row = &rows[t->call];
	bool is_sent = false, is_at_return = !row->is_release || (row->is_end && o->ends_at_return);

	if (row->is_end && t->fails)
		reopen_context(p, t); /* only now does the caller know that the context is there */
	if (t->is_nothing)
		;
	else if (is_at_return && (!t->fails || row->is_request))
		is_sent = send_call(o, p, thread, row->api, GMT_PHASE_DONE, row->count);
	else if (!is_at_return && t->fails)
		send_call(o, p, thread, row->api, GMT_PHASE_UNDO, row->count);
	is_sent &= !t->has_lost;
	if (!t->fails && t->memory >= 0 && !row->is_release) {
		struct memory_here *m = &p->memories[t->memory];

		m->visible = true;
		m->given += m->kind == MEMORY_IMPORT;
		m->seen |= is_sent && (m->object < 0 || p->objects[m->object].seen) && t->call != CALL_HANDLE_RETAIN;
	}
	if (t->fails && t->memory >= 0) {
		p->memories[t->memory].busy = false;
		p->memories[t->memory].closes -= p->memories[t->memory].kind == MEMORY_IMPORT;
	}
	if (!t->fails && t->call == CALL_CREATE)
		p->objects[t->object].visible = true, p->objects[t->object].seen = is_sent;
	if (t->call == CALL_CTX_CREATE)
		forget_seen(p);
	if (!t->fails && (t->call == CALL_CTX_CREATE || t->call == CALL_RETAIN))
		p->contexts[t->context].visible = true;
	more_return(p, t);
	t->call = CALL_NONE;
}

static void do_work(struct order *o, struct process_here *p, struct thread_here *t)
{
	t->has_worked = true;
	work(o, p, t);
	kernel_follow(o, p, t);
}

/* Lets the thread go on to its next moment. `only_finish`: no call begins. */
static void advance_call(struct order *o, struct process_here *p, int thread, bool only_finish)
{
	struct thread_here *t = &p->threads[thread];

	if (!t->call && !only_finish)
		begin_call(o, p, thread);
	else if (t->call && !t->has_worked)
		do_work(o, p, t);
	else if (t->call)
		return_from(o, p, thread);
}

#endif
