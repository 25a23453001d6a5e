/* SPDX-License-Identifier: BSD-2-Clause */
/* The calls of orders.h: which may begin now, what the driver does in them, and which records they leave. */
#ifndef GPUMEMTRACE_TESTS_ORDERS_CALLS_H
#define GPUMEMTRACE_TESTS_ORDERS_CALLS_H

static const struct call_row {
	enum gmt_api api;
	bool is_release;          /* sent at entry, and taken back if it fails */
	bool is_end;              /* ends a context */
	bool is_request;          /* sent if it fails for want of memory */
	unsigned int count;       /* values */
	enum thing thing;         /* of orders_more.h */
} rows[CALL_COUNT] = {
	[CALL_CTX_CREATE] = { GMT_API_cuCtxCreate_v4, .is_request = true, .count = 2 },
	[CALL_CTX_DESTROY] = { GMT_API_cuCtxDestroy_v2, .is_release = true, .is_end = true, .count = 1 },
	[CALL_CTX_SET] = { GMT_API_cuCtxSetCurrent, .count = 1 },
	[CALL_CTX_PUSH] = { GMT_API_cuCtxPushCurrent_v2, .count = 1 },
	[CALL_CTX_POP] = { GMT_API_cuCtxPopCurrent_v2, .count = 1 },
	[CALL_RETAIN] = { GMT_API_cuDevicePrimaryCtxRetain, .is_request = true, .count = 2 },
	[CALL_RELEASE] = { GMT_API_cuDevicePrimaryCtxRelease_v2, .is_release = true, .is_end = true, .count = 1 },
	[CALL_RESET] = { GMT_API_cuDevicePrimaryCtxReset_v2, .is_release = true, .is_end = true, .count = 1 },
	[CALL_ALLOC] = { GMT_API_cuMemAlloc_v2, .is_request = true, .count = 2 },
	[CALL_MANAGED] = { GMT_API_cuMemAllocManaged, .is_request = true, .count = 3 },
	[CALL_PINNED] = { GMT_API_cuMemHostAlloc, .is_request = true, .count = 3 },
	[CALL_ASYNC] = { GMT_API_cuMemAllocAsync, .is_request = true, .count = 3 },
	[CALL_FREE] = { GMT_API_cuMemFree_v2, .is_release = true, .count = 1 },
	[CALL_FREE_NULL] = { GMT_API_cuMemFree_v2, .is_release = true, .count = 1 },
	[CALL_IPC_OPEN] = { GMT_API_cuIpcOpenMemHandle_v2, .count = 3 },
	[CALL_IPC_CLOSE] = { GMT_API_cuIpcCloseMemHandle, .is_release = true, .count = 1 },
	[CALL_IMPORT] = { GMT_API_cuMemPoolImportPointer, .count = 2 },
	[CALL_IMPORT_FREE] = { GMT_API_cuMemFreeAsync, .is_release = true, .count = 2 },
	[CALL_CREATE] = { GMT_API_cuMemCreate, .is_request = true, .count = 5 },
	[CALL_HANDLE_RELEASE] = { GMT_API_cuMemRelease, .is_release = true, .count = 1 },
	[CALL_HANDLE_RETAIN] = { GMT_API_cuMemRetainAllocationHandle, .count = 2 },
	[CALL_MAP] = { GMT_API_cuMemMap, .count = 4 },
	[CALL_UNMAP] = { GMT_API_cuMemUnmap, .is_release = true, .count = 2 },
#define MORE(call, kind, symbol, values, ...) \
	[CALL_##call] = { GMT_API_##symbol, .count = values, .thing = THING_##kind, ##__VA_ARGS__ }
	MORE(ARRAY, ARRAY, cuArrayCreate_v2, 5, .is_request = true),
	MORE(MIPMAP, ARRAY, cuMipmappedArrayCreate, 8, .is_request = true),
	MORE(ARRAY_FREE, ARRAY, cuArrayDestroy, 1, .is_release = true),
	MORE(TILE_MAP, ARRAY, cuMemMapArrayAsync, 4),
	MORE(TILE_UNMAP, ARRAY, cuMemMapArrayAsync, 4),
	MORE(POOL_CREATE, POOL, cuMemPoolCreate, 4),
	MORE(POOL_SET, POOL, cuDeviceSetMemPool, 2),
	MORE(POOL_ALLOC, POOL, cuMemAllocFromPoolAsync, 4, .is_request = true),
	MORE(POOL_TRIM, POOL, cuMemPoolTrimTo, 2),
	MORE(POOL_DESTROY, POOL, cuMemPoolDestroy, 1, .is_release = true),
	MORE(NODE, GRAPH, cuGraphAddMemAllocNode, 4),
	MORE(CHILD, GRAPH, cuGraphAddNode_v2, 7),
	MORE(INSTANTIATE, GRAPH, cuGraphInstantiateWithFlags, 2),
	MORE(GRAPH_DESTROY, GRAPH, cuGraphDestroy, 1, .is_release = true),
	MORE(EXEC_DESTROY, EXEC, cuGraphExecDestroy, 1, .is_release = true),
	[CALL_LAUNCH] = { .thing = THING_EXEC },
	MORE(NODE_FREE, NODE, cuGraphAddMemFreeNode, 1),
	MORE(PLAN_FREE, NODE, cuMemFreeAsync, 2, .is_release = true),
	MORE(STREAM, STREAM, cuStreamCreate, 1),
	MORE(STREAM_DESTROY, STREAM, cuStreamDestroy_v2, 1, .is_release = true),
	MORE(CAPTURE, STREAM, cuStreamBeginCapture_v2, 1),
	MORE(CAPTURED, STREAM, cuMemAllocAsync, 3, .is_request = true),
	MORE(JOINED, STREAM, cuMemAllocAsync, 3, .is_request = true),
	MORE(CAPTURE_END, STREAM, cuStreamEndCapture, 2, .is_request = true),
	MORE(GROUP, GROUP, cuMulticastCreate, 2),
	MORE(BIND, GROUP, cuMulticastBindMem, 4),
	MORE(BIND_ADDR, GROUP, cuMulticastBindAddr, 4),
	MORE(UNBIND, GROUP, cuMulticastUnbind, 4),
	MORE(GROUP_RELEASE, GROUP, cuMemRelease, 1, .is_release = true),
#undef MORE
};

#define IPC_KEYS 2                /* in each context */
#define IMPORT_PLACE 40           /* of pools' pointers; IPC's places are below it */

/* ---- which may begin ---- */

static bool runs_on(const struct process_here *p, int gpu)
{
	for (int t = 0; t < THREADS; t++)
		if (p->threads[t].call && (p->threads[t].gpu == gpu || p->threads[t].context == gpu))
			return true;
	return false;
}

/* Memory that joins a capture is asked for in one context, and goes to the capture's stream, in another one. */
static bool runs_in(const struct process_here *p, int context)
{
	for (int i = 0; i < THREADS; i++) {
		const struct thread_here *t = &p->threads[i];

		if (t->call && (t->context == context ||
				(t->call == CALL_JOINED && p->things.streams[t->thing].context == context)))
			return true;
	}
	return false;
}

static bool runs_with_object(const struct process_here *p, int object)
{
	for (int t = 0; t < THREADS; t++)
		if (p->threads[t].call && p->threads[t].object == object)
			return true;
	return false;
}

/* Until a call that ends contexts has returned, nobody knows which of their memory is left. */
static bool is_ending(const struct process_here *p, const struct memory_here *m)
{
	for (int i = 0; i < THREADS; i++) {
		const struct thread_here *t = &p->threads[i];

		if (rows[t->call].is_end && (t->context == m->context || t->gpu == m->gpu))
			return true;
	}
	return false;
}

static bool begin_end(const struct process_here *p, struct thread_here *t, int context)
{
	const struct context_here *c = &p->contexts[context];
	bool is_primary = context < GPUS_HERE, is_last = t->call != CALL_RELEASE || c->refs - c->releases == 1;

	if (is_primary && !p->from_start)
		return false; /* nobody knows what holds the context since before the attach */
	if (!c->alive || !c->visible || c->ends || (is_primary ? is_last && runs_on(p, c->gpu) : runs_in(p, context)))
		return false;
	if (t->call == CALL_RELEASE && (c->refs - c->releases < 1 || runs_on(p, c->gpu)))
		return false;
	if (!is_primary && p->contexts[c->gpu].ends)
		return false;
	t->context = context;
	t->gpu = c->gpu;
	t->val[0] = is_primary ? (uint64_t)c->gpu : context_handle(context);
	return true;
}

static bool begin_context(const struct process_here *p, struct thread_here *t)
{
	int c = (int)order_pick(CONTEXTS);

	switch (t->call) {
	case CALL_CTX_CREATE:
		t->gpu = (int)order_pick(GPUS_HERE);
		t->context = GPUS_HERE + (int)order_pick(CONTEXTS - GPUS_HERE);
		t->val[1] = (uint64_t)t->gpu;
		return t->depth < DEPTH && !p->contexts[t->gpu].ends;
	case CALL_RETAIN:
		t->gpu = t->context = (int)order_pick(GPUS_HERE);
		t->val[1] = (uint64_t)t->gpu;
		return !p->contexts[t->gpu].releases && !p->contexts[t->gpu].ends;
	case CALL_CTX_DESTROY:
		return c >= GPUS_HERE && begin_end(p, t, c);
	case CALL_RELEASE:
	case CALL_RESET:
		return c < GPUS_HERE && begin_end(p, t, c);
	case CALL_CTX_SET:
	case CALL_CTX_PUSH:
		if (t->call == CALL_CTX_SET && !order_pick(8))
			return true; /* none */
		t->context = c;
		t->val[0] = context_handle(c);
		return p->contexts[c].alive && p->contexts[c].visible && !p->contexts[c].ends &&
		       (t->depth < DEPTH) && (c >= GPUS_HERE || p->contexts[c].refs > p->contexts[c].releases);
	default:
		return t->depth > 0;
	}
}

static bool begin_alloc(const struct process_here *p, struct thread_here *t)
{
	int c = usable_context(p, t);

	if (c < 0 || (c < GPUS_HERE && p->contexts[c].refs <= p->contexts[c].releases))
		return false;
	if (p->contexts[p->contexts[c].gpu].ends)
		return false;
	t->context = c;
	t->gpu = p->contexts[c].gpu;
	t->val[1] = (1 + order_pick(6)) * UNIT;
	return true;
}

static bool begin_free(struct process_here *p, struct thread_here *t)
{
	bool is_import = t->call == CALL_IPC_CLOSE || t->call == CALL_IMPORT_FREE;
	enum memory_kind kind = is_import ? MEMORY_IMPORT : t->call == CALL_UNMAP ? MEMORY_MAPPING : MEMORY_PLAIN;
	int i = (int)order_pick(MEMORIES);
	struct memory_here *m = &p->memories[i];

	if (!m->live || !m->visible || m->busy || m->kind != kind)
		return false;
	if (is_import && (m->given - m->closes < 1 || (t->call == CALL_IPC_CLOSE) == (m->place >= IMPORT_PLACE)))
		return false;
	if (is_ending(p, m))
		return false;
	m->busy = !is_import;
	m->closes += is_import;
	t->memory = i;
	t->gpu = m->gpu;
	t->context = m->context;
	t->val[0] = address_of(m);
	if (t->call == CALL_UNMAP)
		t->val[1] = (uint64_t)m->size * UNIT;
	return true;
}

static bool begin_object(const struct process_here *p, struct thread_here *t)
{
	int i = (int)order_pick(OBJECTS), m;
	const struct object_here *o = &p->objects[i];

	if (t->call == CALL_HANDLE_RETAIN) {
		m = (int)order_pick(MEMORIES);
		if (!p->memories[m].live || !p->memories[m].visible || p->memories[m].busy ||
		    p->memories[m].kind != MEMORY_MAPPING)
			return false;
		i = p->memories[m].object;
		o = &p->objects[i];
		t->memory = m;
		t->val[1] = address_of(&p->memories[m]);
	}
	if (!o->live || !o->visible || !o->refs || runs_with_object(p, i))
		return false;
	t->object = i;
	t->val[t->call == CALL_MAP ? 3 : 0] = object_handle(o);
	return true;
}

/* ---- the work ---- */

static struct memory_here *place_memory(struct process_here *p, struct thread_here *t, int size)
{
	int place = (int)order_pick(PLACES);
	struct memory_here *m = is_free_place(p, place, size) ? new_memory(p) : NULL;

	if (!m)
		return NULL;
	m->live = true;
	m->place = place;
	m->size = size;
	t->memory = (int)(m - p->memories);
	return m;
}

static void work_alloc(struct process_here *p, struct thread_here *t)
{
	static const int classes[CALL_COUNT] = {
		[CALL_ALLOC] = GMT_CLASS_DEVICE, [CALL_MANAGED] = GMT_CLASS_MANAGED,
		[CALL_PINNED] = GMT_CLASS_PINNED, [CALL_ASYNC] = GMT_CLASS_POOL,
	};
	struct memory_here *m = place_memory(p, t, (int)(t->val[1] / UNIT));

	if (!m) {
		t->fails = true;
		return;
	}
	m->class = classes[t->call];
	m->gpu = t->call == CALL_ALLOC || t->call == CALL_ASYNC ? t->gpu : -1;
	m->context = t->call == CALL_ASYNC ? -1 : t->context;
	t->val[0] = address_of(m);
	if (t->call == CALL_MANAGED || t->call == CALL_PINNED)
		t->val[2] = 1;
}

static void work_import(struct process_here *p, struct thread_here *t)
{
	int key = (int)order_pick(IPC_KEYS), place = t->call == CALL_IMPORT ? IMPORT_PLACE + key : IPC_KEYS * t->context + key;
	struct memory_here *m = NULL;

	for (int i = 0; i < MEMORIES && !m; i++)
		if (p->memories[i].live && p->memories[i].kind == MEMORY_IMPORT && p->memories[i].place == place)
			m = &p->memories[i];
	if (!m) {
		m = new_memory(p);
		if (!m) {
			t->is_nothing = true;
			return;
		}
		*m = (struct memory_here){ .live = true, .kind = MEMORY_IMPORT, .place = place, .gpu = t->gpu,
					   .class = GMT_CLASS_IMPORTED, .object = -1,
					   .context = t->call == CALL_IMPORT ? -1 : t->context };
	}
	m->opens++;
	t->memory = (int)(m - p->memories);
	t->val[0] = address_of(m);
}

static void work_create(struct process_here *p, struct thread_here *t)
{
	for (int i = 0; i < OBJECTS; i++) {
		int handle = (int)order_pick(OBJECTS);
		bool is_taken = p->objects[i].live;

		for (int k = 0; k < OBJECTS; k++)
			is_taken |= p->objects[k].live && p->objects[k].refs && p->objects[k].handle == handle;
		if (is_taken)
			continue;
		p->objects[i] = (struct object_here){ .live = true, .size = (int)(t->val[1] / UNIT), .refs = 1,
						      .gpu = (int)t->val[3], .handle = handle };
		t->object = i;
		t->val[0] = object_handle(&p->objects[i]);
		return;
	}
	t->fails = true;
}

static void work_map(struct process_here *p, struct thread_here *t)
{
	struct object_here *o = &p->objects[t->object];
	struct memory_here *m = place_memory(p, t, o->size);

	t->is_nothing = !m;
	if (!m)
		return;
	m->kind = MEMORY_MAPPING;
	m->class = GMT_CLASS_VMM;
	m->object = t->object;
	o->maps++;
	t->val[0] = address_of(m);
	t->val[1] = (uint64_t)o->size * UNIT;
}

static void work_release(struct process_here *p, struct thread_here *t)
{
	struct memory_here *m = &p->memories[t->memory];

	if (m->kind == MEMORY_IMPORT) {
		m->closes -= !t->fails; /* until the caller knows */
		m->opens -= !t->fails;
		m->given -= !t->fails;
		m->live = m->opens > 0;
		return;
	}
	m->busy = t->fails; /* until the caller knows */
	m->live = t->fails;
	if (m->kind != MEMORY_MAPPING || t->fails)
		return;
	p->objects[m->object].maps--;
	drop_unused(p, m->object);
}

static void set_current(struct thread_here *t, int context)
{
	t->depth -= t->depth > 0;
	if (context >= 0)
		t->stack[t->depth++] = context;
}

static void work_context(struct process_here *p, struct thread_here *t)
{
	struct context_here *c = &p->contexts[t->context < 0 ? 0 : t->context];

	switch (t->call) {
	case CALL_CTX_CREATE:
		if (c->alive || t->fails) {
			t->fails = true;
			return;
		}
		*c = (struct context_here){ .alive = true, .gpu = t->gpu };
		t->val[0] = context_handle(t->context);
		t->stack[t->depth++] = t->context;
		return;
	case CALL_RETAIN:
		if (t->fails)
			return;
		c->refs++;
		c->alive = true;
		t->val[0] = context_handle(t->context);
		return;
	case CALL_CTX_DESTROY:
		if (t->fails)
			return;
		end_context(p, t->context);
		if (current_of(t) == t->context)
			t->depth--;
		return;
	case CALL_RELEASE:
		if (!t->fails && !--c->refs)
			end_context(p, t->context);
		return;
	case CALL_RESET:
		if (!t->fails)
			end_context(p, t->context);
		c->alive = c->refs > 0;
		return;
	case CALL_CTX_SET:
		set_current(t, t->context);
		return;
	case CALL_CTX_PUSH:
		t->stack[t->depth++] = t->context;
		return;
	default:
		t->val[0] = context_handle(current_of(t));
		t->depth--;
	}
}

/* The call no longer keeps others from using the context. */
static void reopen_context(struct process_here *p, struct thread_here *t)
{
	p->contexts[t->context].ends -= t->is_last;
	p->contexts[t->context].releases -= t->call == CALL_RELEASE;
}

#endif
