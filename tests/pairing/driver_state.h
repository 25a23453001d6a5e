/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the model of the driver (driver.h) knows of each process: its contexts and its memory.
 *
 * Sizes are numbers of calls, so that each allocation has a size of its own. The handle of a context is its place in
 * the list. The first contexts are the primary contexts of the devices; the handles of the others are soon given out
 * again, to contexts of any kind. A green context (green.h) has a second handle, and its memory is the primary context's.
 */
#ifndef GMT_TESTS_PAIRING_DRIVER_STATE_H
#define GMT_TESTS_PAIRING_DRIVER_STATE_H

#include "orders.h"

#define DRIVER_MEMORIES 32
#define DRIVER_DEVICES 3
#define DRIVER_CONTEXTS 8
#define DRIVER_AT(i) (0x700000000000ULL + 0x10000ULL * (i))
#define DRIVER_INNER 0x600000000000ULL  /* memory of the driver's own */
#define NO_DEVICE 100
#define NO_CONTEXT 99
#define GREEN_HANDLE(context) (0x900000ULL + (context)) /* CUgreenCtx */

struct driver_memory {
	bool live, visible, busy;    /* visible: its call has returned; busy: a call that frees it runs */
	bool is_reset;               /* went with its context */
	int doomed;                  /* the call that ends its context, and runs; -1: none */
	__u64 size, context;         /* context: never a green one */
};

struct driver_context {
	bool is_alive, is_visible;   /* is_visible: the call that made it has returned */
	bool is_green, is_converted; /* is_converted: a green context whose context the program has asked for */
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
	bool ends_contexts, has_greens;
} driver;

/* The process has retained the primary contexts of its devices before the order's calls begin, unless green contexts are
 * to be the first that hold them. */
static void driver_is_new(int tgid)
{
	struct driver_process *p = &driver.processes[tgid];

	memset(p, 0, sizeof(*p));
	for (__u64 i = 0; i < DRIVER_DEVICES; i++)
		p->contexts[1 + i] = (struct driver_context){
			.is_alive = !driver.has_greens, .is_visible = !driver.has_greens, .ending = -1,
			.refs = !driver.has_greens, .device = i,
		};
}

/* ---- questions ---- */

static bool is_end(__u16 api)
{
	return api == GMT_API_cuCtxDestroy_v2 || api == GMT_API_cuDevicePrimaryCtxReset_v2 ||
	       api == GMT_API_cuDevicePrimaryCtxRelease_v2 || api == GMT_API_cuGreenCtxDestroy;
}

static bool is_begin(__u16 api)
{
	return api == GMT_API_cuCtxCreate_v4 || api == GMT_API_cuDevicePrimaryCtxRetain ||
	       api == GMT_API_cuGreenCtxCreate || api == GMT_API_cuCtxFromGreenCtx;
}

static bool is_of_green(__u16 api)
{
	return api == GMT_API_cuGreenCtxCreate || api == GMT_API_cuCtxFromGreenCtx || api == GMT_API_cuGreenCtxDestroy;
}

/* Where contexts end, most calls allocate in contexts, so that a context has something to lose: of so many calls of the
 * function, one is made. */
static __u32 one_of(__u16 api)
{
	if (api == GMT_API_cuMemAlloc_v2 || api == GMT_API_cuCtxSetCurrent || is_of_green(api))
		return 1;
	if (api == GMT_API_cuCtxDestroy_v2 || is_begin(api))
		return driver.has_greens ? 2 : 1;
	return driver.has_greens ? 8 : api == GMT_API_cuDevicePrimaryCtxRelease_v2 ? 2 : 4;
}

/* The programs do not see the return of cuGraphExecDestroy, so they cannot tell its parts from calls. */
static bool driver_knows(__u16 api)
{
	if (api == GMT_API_cuGraphExecDestroy || (is_of_green(api) && !driver.has_greens))
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
	return c->is_alive && c->is_visible && c->ending < 0 && (!c->is_green || c->is_converted);
}

/* The context that has the memory which is made in a context. */
static __u64 home_of(const struct driver_process *p, __u64 context)
{
	return context <= DRIVER_CONTEXTS && p->contexts[context].is_green ? 1 + p->contexts[context].device : context;
}

static bool has_memory(const struct driver_process *p, __u64 context)
{
	for (int i = 0; i < DRIVER_MEMORIES; i++)
		if (p->list[i].live && p->list[i].context == context)
			return true;
	return false;
}

static bool is_or_has(const struct driver_process *p, __u64 context, __u64 used)
{
	return used == context || home_of(p, used) == context;
}

static bool calls_with(const struct thread *t, __u64 context)
{
	const struct driver_process *p = &driver.processes[t->task.tgid];
	bool calls = running_calls(t) && is_or_has(p, context, top_of(&t->contexts));

	for (unsigned int i = 0; i < t->depth; i++) {
		const struct activation *a = &t->activations[i];

		calls |= a->is_call && machine.calls[a->call].has_context &&
			 is_or_has(p, context, machine.calls[a->call].context);
	}
	return calls;
}

/* Another thread of the process is inside of a call that uses the context, or a green context that it has. */
static bool is_used(const struct call *call, __u64 context)
{
	for (int i = 0; i < THREADS; i++) {
		const struct thread *t = &machine.threads[i];

		if (t->is_alive && t->task.tgid == call->tgid && t->task.pid != call->tid && calls_with(t, context))
			return true;
	}
	return false;
}

/* Nobody else uses the context, and no unfinished call has to do with its memory. */
static bool is_idle(const struct call *call, __u64 context)
{
	const struct driver_process *p = &driver.processes[call->tgid];

	if (is_used(call, context))
		return false;
	for (int i = 0; i < DRIVER_MEMORIES; i++) {
		const struct driver_memory *m = &p->list[i];

		if (m->live && m->context == context && (m->busy || m->doomed >= 0 || !m->visible))
			return false;
	}
	return true;
}

#endif
