/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A plain model of the driver for the calls of orders.h: contexts and memory of each process. A program does what it
 * is allowed to do: it frees memory that it has, and ends a context that nobody works in.
 *
 * Sizes are numbers of calls, so that each allocation has a size of its own. The handle of a context is its place in
 * the list. The first contexts are the primary contexts of the devices; the handles of the others are soon given out
 * again.
 */
#ifndef GMT_TESTS_PAIRING_DRIVER_H
#define GMT_TESTS_PAIRING_DRIVER_H

#include "orders.h"

#define DRIVER_MEMORIES 32
#define DRIVER_DEVICES 3
#define DRIVER_CONTEXTS 7
#define DRIVER_AT(i) (0x700000000000ULL + 0x10000ULL * (i))
#define DRIVER_INNER 0x600000000000ULL  /* memory of the driver's own */
#define NO_DEVICE 100
#define NO_CONTEXT 99

struct driver_memory {
	bool live, visible, busy;    /* visible: its call has returned; busy: a call that frees it runs */
	bool is_reset;               /* went with its context */
	int doomed;                  /* the call that ends its context, and runs; -1: none */
	__u64 size, context;
};

struct driver_context {
	bool is_alive, is_visible;   /* is_visible: the call that made it has returned */
	int ending;                  /* the call that ends it, or takes a reference, and runs; -1: none */
	unsigned int refs;           /* of a primary context */
	__u64 device;
};

struct driver_process {
	struct driver_memory list[DRIVER_MEMORIES];
	struct driver_context contexts[1 + DRIVER_CONTEXTS]; /* [0] is none */
};

static struct driver {
	struct choices *choices;
	struct driver_process processes[HOST_TIDS];
	bool ends_contexts;
} driver;

/* The process has retained the primary contexts of its devices before the order's calls begin. */
static void driver_is_new(int tgid)
{
	struct driver_process *p = &driver.processes[tgid];

	memset(p, 0, sizeof(*p));
	for (__u64 i = 0; i < DRIVER_DEVICES; i++)
		p->contexts[1 + i] = (struct driver_context){
			.is_alive = true, .is_visible = true, .ending = -1, .refs = 1, .device = i,
		};
}

/* ---- questions ---- */

static bool is_end(__u16 api)
{
	return api == GMT_API_cuCtxDestroy_v2 || api == GMT_API_cuDevicePrimaryCtxReset_v2 ||
	       api == GMT_API_cuDevicePrimaryCtxRelease_v2;
}

static bool is_begin(__u16 api)
{
	return api == GMT_API_cuCtxCreate_v4 || api == GMT_API_cuDevicePrimaryCtxRetain;
}

/* Where contexts end, most calls allocate in contexts, so that a context has something to lose: of so many calls of the
 * function, one is made. */
static __u32 one_of(__u16 api)
{
	if (api == GMT_API_cuMemAlloc_v2 || api == GMT_API_cuCtxSetCurrent || api == GMT_API_cuCtxDestroy_v2 || is_begin(api))
		return 1;
	return api == GMT_API_cuDevicePrimaryCtxRelease_v2 ? 2 : 4;
}

/* The programs do not see the return of cuGraphExecDestroy, so they cannot tell its parts from calls. */
static bool driver_knows(__u16 api)
{
	if (api == GMT_API_cuGraphExecDestroy)
		return false;
	return driver.ends_contexts ? !choose(driver.choices, one_of(api)) : !is_begin(api) && !is_end(api);
}

static struct driver_memory *driver_find(const struct call *call)
{
	__u64 i = (call->address - DRIVER_AT(0)) / 0x10000;

	return call->address >= DRIVER_AT(0) && i < DRIVER_MEMORIES ? &driver.processes[call->tgid].list[i] : NULL;
}

static struct driver_context *driver_context(const struct call *call, __u64 handle)
{
	return &driver.processes[call->tgid].contexts[handle <= DRIVER_CONTEXTS ? handle : 0];
}

static bool is_usable(const struct driver_context *c)
{
	return c->is_alive && c->is_visible && c->ending < 0;
}

static bool has_memory(const struct driver_process *p, __u64 context)
{
	for (int i = 0; i < DRIVER_MEMORIES; i++)
		if (p->list[i].live && p->list[i].context == context)
			return true;
	return false;
}

static bool calls_with(const struct thread *t, __u64 context)
{
	bool calls = running_calls(t) && top_of(&t->contexts) == context;

	for (unsigned int i = 0; i < t->depth; i++) {
		const struct activation *a = &t->activations[i];

		calls |= a->is_call && machine.calls[a->call].has_context && machine.calls[a->call].context == context;
	}
	return calls;
}

/* Another thread of the process is inside of a call that uses the context. */
static bool is_used(const struct call *call, __u64 context)
{
	for (int i = 0; i < THREADS; i++) {
		const struct thread *t = &machine.threads[i];

		if (t->is_alive && t->task.tgid == call->tgid && t->task.pid != call->tid && calls_with(t, context))
			return true;
	}
	return false;
}

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

/* Nobody else uses a context that ends, and no unfinished call has to do with its memory. */
static bool may_end(const struct call *call, __u64 context)
{
	const struct driver_process *p = &driver.processes[call->tgid];

	if (!is_usable(&p->contexts[context]) || is_used(call, context))
		return false;
	for (int i = 0; i < DRIVER_MEMORIES; i++) {
		const struct driver_memory *m = &p->list[i];

		if (m->live && m->context == context && (m->busy || m->doomed >= 0 || !m->visible))
			return false;
	}
	return true;
}

/* A context that may end, and mostly has something to lose; 0: there is none. */
static __u64 context_to_end(const struct call *call, __u64 first, __u64 end)
{
	const struct driver_process *p = &driver.processes[call->tgid];
	bool is_any = !choose(driver.choices, 16);
	__u32 start = choose(driver.choices, (__u32)(end - first));

	for (__u64 i = 0; i < end - first; i++) {
		__u64 context = first + (start + i) % (end - first);

		if ((is_any || has_memory(p, context)) && may_end(call, context))
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
	for (int i = 0; i < DRIVER_MEMORIES; i++)
		if (p->list[i].live && p->list[i].context == context &&
		    (call->api != GMT_API_cuDevicePrimaryCtxRelease_v2 || p->contexts[context].refs == 1))
			p->list[i].doomed = number;
}

/* A reference that a thread gets is not another thread's to give back before the call has returned. */
static void begin_begin(struct call *call, int number)
{
	struct driver_context *c;

	call->address = choose(driver.choices, DRIVER_DEVICES);
	if (call->api != GMT_API_cuDevicePrimaryCtxRetain)
		return;
	c = driver_context(call, 1 + call->address);
	if (c->ending >= 0)
		call->address = NO_DEVICE;
	else
		c->ending = number;
}

static void begin_use(struct call *call)
{
	call->context = 0;
	for (int tries = 0; tries < 4; tries++) {
		__u64 context = choose(driver.choices, 1 + DRIVER_CONTEXTS);

		if (!context || is_usable(driver_context(call, context))) {
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
	__u64 context = top_of(&t->contexts);

	if (context && !is_usable(&p->contexts[context])) {
		call->rc = 709; /* CUDA_ERROR_CONTEXT_IS_DESTROYED */
		return;
	}
	for (int i = 0; i < DRIVER_MEMORIES; i++) {
		if (p->list[i].live)
			continue;
		p->list[i] = (struct driver_memory){
			.live = true, .doomed = -1, .size = (__u64)(call - machine.calls), .context = context,
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
	for (int i = 0; i < DRIVER_MEMORIES; i++)
		if (p->list[i].doomed == number)
			p->list[i].is_reset = p->list[i].live, p->list[i].live = false;
	c->refs -= call->api == GMT_API_cuDevicePrimaryCtxRelease_v2;
	if (call->api == GMT_API_cuDevicePrimaryCtxReset_v2)
		return;
	c->is_alive = c->refs > 0;
}

static void work_create(struct call *call)
{
	struct driver_process *p = &driver.processes[call->tgid];

	for (__u64 i = 1 + DRIVER_DEVICES; i <= DRIVER_CONTEXTS; i++) {
		if (p->contexts[i].is_alive || has_memory(p, i))
			continue;
		p->contexts[i] = (struct driver_context){ .is_alive = true, .ending = -1, .device = call->address };
		call->result = i;
		return;
	}
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
	m->context = t ? top_of(&t->contexts) : m->context;
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
	if (call->api == GMT_API_cuCtxCreate_v4 && call->has_worked && !call->rc)
		p->contexts[call->result].is_visible = true;
}

static const struct hooks driver_hooks = {
	.is_known = driver_knows, .begins = driver_begins, .works = driver_works, .ends = driver_ends,
	.is_new = driver_is_new,
};

#endif
