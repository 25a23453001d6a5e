/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the driver does, kept flat: the model for orders.h. A call has three moments: it begins, the driver does its work,
 * it returns. Threads are preempted between any two of them. So the records of two threads may come in another order
 * than the driver worked.
 *
 * The programs keep cuda.h's rules: nobody uses memory that is being freed, or a context that is being destroyed or
 * reset, before the driver has done so. No retain of a primary context runs beside a release of the same one: which of
 * them came first in the driver is nowhere to be seen.
 */
#ifndef GPUMEMTRACE_TESTS_ORDERS_WORLD_H
#define GPUMEMTRACE_TESTS_ORDERS_WORLD_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <gpumemtrace/terms.h>

#define UNIT (1ULL << 20)         /* addresses and sizes are multiples of it */
#define ARENA 0x700000000000ULL
#define PLACES 48                 /* units of addresses: few, so that they are given out again */
#define GPUS_HERE 2
#define CONTEXTS 5                /* 0 and 1 are the primary contexts of the two GPUs */
#define THREADS 3
#define PROCESSES 3
#define MEMORIES 64
#define OBJECTS 6
#define DEPTH 4
#define POOL_HERE 0x9000ULL      /* of another process */

#include "orders_things.h"

enum call {
	CALL_NONE, CALL_CTX_CREATE, CALL_CTX_DESTROY, CALL_CTX_SET, CALL_CTX_PUSH, CALL_CTX_POP,
	CALL_RETAIN, CALL_RELEASE, CALL_RESET,
	CALL_ALLOC, CALL_MANAGED, CALL_PINNED, CALL_ASYNC, CALL_FREE, CALL_FREE_NULL,
	CALL_IPC_OPEN, CALL_IPC_CLOSE, CALL_IMPORT, CALL_IMPORT_FREE,
	CALL_CREATE, CALL_HANDLE_RELEASE, CALL_HANDLE_RETAIN, CALL_MAP, CALL_UNMAP,
	/* the calls of orders_more.h */
	CALL_MORE, CALL_ARRAY = CALL_MORE, CALL_MIPMAP, CALL_ARRAY_FREE, CALL_TILE_MAP, CALL_TILE_UNMAP,
	CALL_POOL_CREATE, CALL_POOL_SET, CALL_POOL_ALLOC, CALL_POOL_TRIM, CALL_POOL_DESTROY,
	CALL_NODE, CALL_NODE_FREE, CALL_CHILD, CALL_INSTANTIATE, CALL_GRAPH_DESTROY, CALL_EXEC_DESTROY, CALL_LAUNCH,
	CALL_PLAN_FREE, CALL_STREAM, CALL_STREAM_DESTROY, CALL_CAPTURE, CALL_CAPTURED, CALL_JOINED, CALL_CAPTURE_END,
	CALL_GROUP, CALL_BIND, CALL_BIND_ADDR, CALL_UNBIND, CALL_GROUP_RELEASE, CALL_COUNT
};

struct context_here {
	bool alive;               /* has memory; a primary context: is retained */
	bool visible;             /* the call that made it has returned: others may use it */
	int gpu;
	int refs;                 /* of a primary context */
	int users;                /* calls in it that have begun, and have not done their work */
	int ends;                 /* calls that end it, likewise */
	int releases;             /* of a primary context, likewise: releases */
};

enum memory_kind { MEMORY_PLAIN, MEMORY_MAPPING, MEMORY_IMPORT };

struct memory_here {
	bool live, visible, busy, seen;  /* busy: a call that releases it runs. seen: its record came since the last loss */
	bool before;              /* from before the attach */
	enum memory_kind kind;
	int place, size;          /* in units */
	int class, gpu;
	int context;              /* goes with it; -1: none */
	int object;               /* of a mapping */
	int opens;                /* of an import */
	int given;                /* opens whose calls have returned: the caller may close these */
	int closes;               /* calls that close it, which run or which have failed and have not returned */
};

struct object_here {
	bool live;                /* has memory */
	bool has_handle, visible, busy;
	int size, gpu, refs, maps;
	int handle;
	bool seen;
};

struct thread_here {
	enum call call;           /* CALL_NONE: idle */
	bool has_worked, fails;
	bool is_nothing;          /* no room for it: it leaves no record */
	bool is_last;             /* it ends a context, and is not just one release of several */
	uint32_t seq, begun;      /* begun: the number of the call that runs */
	int context, memory, object, gpu;
	int thing, other;         /* what a call of orders_more.h works on; -1: none */
	int slot, exec, graph, node;
	int bound;                /* the mapping whose memory is bound; -1: none */
	bool was_planned, was_left, has_lost;
	uint64_t born;
	uint64_t val[8];
	int stack[DEPTH], depth;
};

/* What the kernel driver has given (orders_kernel.h). */
struct kernel_object {
	uint32_t handle;          /* 0: none */
	uint64_t bytes, address, length; /* address 0: mapped nowhere */
	int gpu;
};
#define KERNEL_OBJECTS (MEMORIES + OBJECTS + ARRAYS + NODES)
struct kernel_here {
	struct kernel_object list[KERNEL_OBJECTS];
	uint32_t last;
};

struct process_here {
	bool alive, from_start;
	bool was_late;            /* attached late, maybe before an exec */
	bool was_here;            /* an older life of the pid has ended */
	uint32_t pid;
	uint64_t lost;            /* records, in this life */
	struct thread_here threads[THREADS];
	struct context_here contexts[CONTEXTS];
	struct memory_here memories[MEMORIES];
	struct object_here objects[OBJECTS];
	struct things things;
	struct kernel_here kernel;
};

struct world {
	struct process_here processes[PROCESSES];
};

/* ---- questions ---- */

static uint64_t address_of(const struct memory_here *m)
{
	return m->kind == MEMORY_IMPORT ? ARENA * 2 + (uint64_t)m->place * UNIT : ARENA + (uint64_t)m->place * UNIT;
}

static uint64_t context_handle(int context)
{
	return 0xc000 + 0x100 * (uint64_t)context;
}

static uint64_t object_handle(const struct object_here *o)
{
	return 0x500 + (uint64_t)o->handle;
}

static int current_of(const struct thread_here *t)
{
	return t->depth ? t->stack[t->depth - 1] : -1;
}

/* The context that the thread may make a call in; -1: none. */
static int usable_context(const struct process_here *p, const struct thread_here *t)
{
	int c = current_of(t);

	return c >= 0 && p->contexts[c].alive && p->contexts[c].visible && !p->contexts[c].ends ? c : -1;
}

static bool is_idle(const struct process_here *p)
{
	for (int t = 0; t < THREADS; t++)
		if (p->threads[t].call)
			return false;
	return true;
}

static bool is_free_place(const struct process_here *p, int place, int size)
{
	if (place < 0 || place + size > PLACES)
		return false;
	for (int i = 0; i < MEMORIES; i++) {
		const struct memory_here *m = &p->memories[i];

		if (m->live && m->kind != MEMORY_IMPORT && m->place < place + size && place < m->place + m->size)
			return false;
	}
	return true;
}

static struct memory_here *new_memory(struct process_here *p)
{
	for (int i = 0; i < MEMORIES; i++)
		if (!p->memories[i].live) {
			p->memories[i] = (struct memory_here){ .context = -1, .object = -1, .gpu = -1 };
			return &p->memories[i];
		}
	return NULL;
}

static bool has_made_context(const struct process_here *p, int gpu)
{
	for (int c = GPUS_HERE; c < CONTEXTS; c++)
		if (p->contexts[c].alive && p->contexts[c].gpu == gpu)
			return true;
	return false;
}

/* ---- what ends ---- */

static void end_arrays(struct process_here *p, int context);
static void end_streams(struct process_here *p, int context);
static void drop_unused(struct process_here *p, int object);

static void end_context(struct process_here *p, int context)
{
	for (int i = 0; i < MEMORIES; i++) {
		struct memory_here *m = &p->memories[i];
		bool is_pooled = m->class == GMT_CLASS_POOL && context < GPUS_HERE && m->gpu == context &&
				 !has_made_context(p, context);

		if (m->live && (m->context == context || is_pooled))
			m->live = false;
	}
	end_arrays(p, context);
	end_streams(p, context);
	p->contexts[context].alive = false;
}

static void drop_unused(struct process_here *p, int object)
{
	struct object_here *o = &p->objects[object];

	if (!o->refs && !o->maps)
		o->live = false;
}

#endif
