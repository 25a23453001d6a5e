/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A plain model of the driver for the calls of orders.h: contexts and memory of each process. A program does what it
 * is allowed to do: it frees memory that it has, and ends a context that nobody works in.
 */
#ifndef GMT_TESTS_PAIRING_DRIVER_H
#define GMT_TESTS_PAIRING_DRIVER_H

#include "green.h"

/* ---- a call begins ---- */

static bool is_doomed_by_other(const struct driver_memory *m, int tid)
{
	return m->doomed >= 0 && machine.calls[m->doomed].tid != tid;
}

static void begin_free(struct call *call)
{
	struct driver_process *p = &driver.processes[call->tgid];

	call->has_address = true;
	for (int tries = 0; tries < 4; tries++) {
		__u32 i = choose(driver.choices, DRIVER_MEMORIES);
		struct driver_memory *m = &p->list[i];

		if (!m->live || !m->visible || m->busy || is_doomed_by_other(m, call->tid))
			continue;
		m->busy = true;
		call->address = DRIVER_AT(i);
		return;
	}
}

/* A context that may end, and mostly has something to lose; 0: there is none. */
static __u64 context_to_end(const struct call *call, __u64 first, __u64 end)
{
	const struct driver_process *p = &driver.processes[call->tgid];
	bool is_any = !choose(driver.choices, 16);
	__u32 start = choose(driver.choices, (__u32)(end - first));

	for (__u64 i = 0; i < end - first; i++) {
		__u64 context = first + (start + i) % (end - first);

		if (p->contexts[context].is_green || (call->api == GMT_API_cuDevicePrimaryCtxRelease_v2 && is_held(p, context)))
			continue;
		if ((is_any || has_memory(p, context)) && is_usable(&p->contexts[context]) && is_idle(call, context))
			return context;
	}
	return 0;
}

static void begin_end(struct call *call, int number)
{
	struct driver_process *p = &driver.processes[call->tgid];
	bool is_made = call->api == GMT_API_cuCtxDestroy_v2;
	__u64 made = 1 + DRIVER_DEVICES;
	__u64 context = is_made ? context_to_end(call, made, 1 + DRIVER_CONTEXTS) : context_to_end(call, 1, made);

	call->rc = choose(driver.choices, 3) ? 0 : 700; /* CUDA_ERROR_ILLEGAL_ADDRESS */
	call->context = context ?: NO_CONTEXT;
	call->address = context ? context - 1 : NO_DEVICE;
	call->has_address = !is_made;
	if (!context)
		return;
	p->contexts[context].ending = number;
	if (call->api != GMT_API_cuDevicePrimaryCtxRelease_v2 || p->contexts[context].refs == 1)
		doom_memory(p, context, number);
}

/* A reference that a thread gets is not another thread's to give back before the call has returned. */
static void begin_begin(struct call *call, int number)
{
	struct driver_context *c;

	call->address = choose(driver.choices, driver.has_greens ? 2 : DRIVER_DEVICES);
	if (call->api == GMT_API_cuCtxCreate_v4)
		return;
	c = driver_context(call, 1 + call->address);
	if (c->ending >= 0)
		call->address = NO_DEVICE;
	else
		c->ending = number;
}

static void begin_use(struct call *call)
{
	bool is_green = driver.has_greens && choose(driver.choices, 2);

	call->context = 0;
	for (int tries = 0; tries < 8; tries++) {
		__u64 context = choose(driver.choices, 1 + DRIVER_CONTEXTS);
		const struct driver_context *c = driver_context(call, context);

		if (is_green ? c->is_green && is_usable(c) : !context || is_usable(c)) {
			call->context = context;
			return;
		}
	}
}

static void driver_begins(struct call *call)
{
	int number = (int)(call - machine.calls);

	if (call->same != number) {
		call->has_address = machine.calls[call->same].has_address;
		call->address = machine.calls[call->same].address;
		call->context = machine.calls[call->same].context;
	} else if (call->api == GMT_API_cuMemFree_v2 && call->is_own) {
		begin_free(call);
	} else if (call->api == GMT_API_cuGreenCtxDestroy) {
		begin_green_end(call, number);
	} else if (call->api == GMT_API_cuCtxFromGreenCtx) {
		begin_convert(call, number);
	} else if (is_end(call->api)) {
		begin_end(call, number);
	} else if (is_begin(call->api)) {
		begin_begin(call, number);
	} else if (call->has_context) {
		begin_use(call);
	} else if (call->api == GMT_API_cuMemFree_v2) {
		call->has_address = true;
		call->address = DRIVER_INNER;
	}
}

/* ---- the work of a call ---- */

static void work_alloc(struct thread *t, struct call *call)
{
	struct driver_process *p = &driver.processes[call->tgid];
	__u64 context = top_of(&t->contexts), home = home_of(p, context);

	if (context && !is_usable(&p->contexts[context])) {
		call->rc = 709; /* CUDA_ERROR_CONTEXT_IS_DESTROYED */
		return;
	}
	for (int i = 0; i < DRIVER_MEMORIES; i++) {
		if (p->list[i].live)
			continue;
		p->list[i] = (struct driver_memory){
			.live = true, .doomed = -1, .size = (__u64)(call - machine.calls), .context = home,
		};
		call->result = call->address = DRIVER_AT(i);
		return;
	}
	call->rc = GMT_CUDA_OUT_OF_MEMORY;
}

static void work_free(struct call *call, struct driver_memory *m)
{
	if (!m->live)
		call->rc = 1; /* CUDA_ERROR_INVALID_VALUE */
	m->live = false;
}

static void work_end(struct call *call)
{
	struct driver_process *p = &driver.processes[call->tgid];
	int number = (int)(call - machine.calls);
	struct driver_context *c = driver_context(call, call->context);

	if (call->context == NO_CONTEXT) {
		call->rc = call->api == GMT_API_cuCtxDestroy_v2 ? 201 : 101; /* CUDA_ERROR_INVALID_CONTEXT, _DEVICE */
		return;
	}
	take_memory(p, number);
	c->refs -= call->api == GMT_API_cuDevicePrimaryCtxRelease_v2;
	if (call->api == GMT_API_cuDevicePrimaryCtxReset_v2)
		return;
	c->is_alive = c->refs > 0;
}

static void work_create(struct call *call)
{
	struct driver_process *p = &driver.processes[call->tgid];

	call->result = free_context(p);
	if (call->result)
		p->contexts[call->result] = (struct driver_context){ .is_alive = true, .ending = -1, .device = call->address };
	else
		call->rc = GMT_CUDA_OUT_OF_MEMORY;
}

static void work_retain(struct call *call)
{
	struct driver_context *c = driver_context(call, 1 + call->address);

	if (call->address == NO_DEVICE) {
		call->rc = 101; /* CUDA_ERROR_INVALID_DEVICE */
		return;
	}
	c->refs++;
	c->is_alive = true;
	call->result = 1 + call->address;
}

static void driver_works(struct thread *t, struct call *call)
{
	struct driver_memory *m = driver_find(call);

	if (!call->is_own)
		call->result = DRIVER_INNER;
	else if (call->rc)
		;
	else if (call->api == GMT_API_cuMemAlloc_v2)
		work_alloc(t, call);
	else if (call->api == GMT_API_cuMemFree_v2 && m)
		work_free(call, m);
	else if (call->api == GMT_API_cuGreenCtxDestroy)
		work_green_end(call);
	else if (call->api == GMT_API_cuGreenCtxCreate)
		work_green_create(call);
	else if (call->api == GMT_API_cuCtxFromGreenCtx)
		work_convert(call);
	else if (is_end(call->api))
		work_end(call);
	else if (call->api == GMT_API_cuCtxCreate_v4)
		work_create(call);
	else if (call->api == GMT_API_cuDevicePrimaryCtxRetain)
		work_retain(call);
}

/* ---- a call ends ---- */

static void end_alloc(struct call *call, struct driver_memory *m)
{
	const struct thread *t = thread_of(call->tid);

	m->visible = true;
	/* Only a callback that leaves another context behind makes a difference. No driver runs one there. */
	m->context = t ? home_of(&driver.processes[call->tgid], top_of(&t->contexts)) : m->context;
}

static void driver_ends(struct call *call)
{
	struct driver_process *p = &driver.processes[call->tgid];
	struct driver_memory *m = driver_find(call);
	int number = (int)(call - machine.calls);

	if (call->same != number || !call->is_own)
		return;
	if (m && call->api == GMT_API_cuMemAlloc_v2 && m->size == (__u64)number)
		end_alloc(call, m);
	if (m && call->api == GMT_API_cuMemFree_v2)
		m->busy = false;
	for (int i = 0; i < DRIVER_MEMORIES; i++)
		if (p->list[i].doomed == number)
			p->list[i].doomed = -1;
	for (int i = 1; i <= DRIVER_CONTEXTS; i++)
		if (p->contexts[i].ending == number)
			p->contexts[i].ending = -1;
	if (!call->has_worked || call->rc)
		return;
	if (call->api == GMT_API_cuCtxCreate_v4 || call->api == GMT_API_cuDevicePrimaryCtxRetain)
		p->contexts[call->result].is_visible = true;
	if (call->api == GMT_API_cuGreenCtxCreate)
		p->contexts[call->result - GREEN_HANDLE(0)].is_visible = true;
	if (call->api == GMT_API_cuCtxFromGreenCtx)
		p->contexts[call->result].is_converted = true;
}

static const struct hooks driver_hooks = {
	.is_known = driver_knows, .begins = driver_begins, .works = driver_works, .ends = driver_ends,
};

#endif
