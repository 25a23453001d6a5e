/* SPDX-License-Identifier: BSD-2-Clause */
/* The calls on things (orders_things.h): which may begin now, and what the driver does in them. */
#ifndef GPUMEMTRACE_TESTS_ORDERS_MORE_H
#define GPUMEMTRACE_TESTS_ORDERS_MORE_H

/* ---- questions ---- */

static bool runs_with(const struct process_here *p, enum thing kind, int thing)
{
	for (int i = 0; i < THREADS; i++) {
		const struct thread_here *t = &p->threads[i];

		if (t->call && rows[t->call].thing == kind && (t->thing == thing || t->other == thing))
			return true;
		/* What a call has made is nobody else's before the call returns. */
		if (t->call && ((kind == THING_EXEC && t->exec == thing) || (kind == THING_GRAPH && t->graph == thing) ||
				(kind == THING_NODE && t->node == thing)))
			return true;
	}
	return false;
}

static bool runs_call(const struct process_here *p, enum call from, enum call to)
{
	for (int i = 0; i < THREADS; i++)
		if (p->threads[i].call >= from && p->threads[i].call <= to)
			return true;
	return false;
}

static bool runs_with_life(const struct process_here *p, int life)
{
	for (int i = 0; i < GRAPHS; i++)
		if (p->things.graphs[i].live && p->things.graphs[i].life == life && runs_with(p, THING_GRAPH, i))
			return true;
	return false;
}

/* A capture in the context has planned memory, which is forgotten when a call begins that ends the context. */
static bool has_planned(const struct process_here *p, int context)
{
	for (int i = 0; i < STREAMS; i++) {
		const struct stream_here *s = &p->things.streams[i];

		if (s->live && s->captures && s->life >= 0 && s->context == context)
			return true;
	}
	return false;
}

static int captures(const struct process_here *p)
{
	int count = 0;

	for (int i = 0; i < STREAMS; i++)
		count += p->things.streams[i].live && p->things.streams[i].captures;
	return count;
}

/* ---- lives of graphs ---- */

static int new_life(struct process_here *p)
{
	for (int i = 0; i < LIVES; i++)
		if (!p->things.lives[i].holders) {
			p->things.lives[i].holders = 1;
			return i;
		}
	return -1;
}

static void release_life(struct process_here *p, int life)
{
	if (life < 0 || --p->things.lives[life].holders)
		return;
	for (int i = 0; i < NODES; i++) {
		struct node_here *n = &p->things.nodes[i];

		if (!n->live || n->life != life)
			continue;
		n->live = false;
		n->is_left = n->is_planned && !n->has_kernel;
		n->is_planned &= n->is_mapped;
	}
}

/* A node of the graph whose life is at `life`, which begins if need be. False: there is no room. */
static bool add_node(struct order *o, struct process_here *p, struct thread_here *t, int *life, int gpu)
{
	struct things *things = &p->things;

	for (int i = 0; i < NODES; i++) {
		struct node_here *n = &things->nodes[i];

		if (n->live || n->is_planned || n->is_mapped || runs_with(p, THING_NODE, i))
			continue;
		if (*life < 0)
			*life = new_life(p);
		if (*life < 0)
			return false;
		*n = (struct node_here){ .live = true, .is_planned = true, .has_kernel = o->has_kernel, .life = *life,
					 .gpu = gpu, .bytes = t->val[1], .born = ++things->born };
		t->val[0] = NODE_ARENA + (uint64_t)i * UNIT * 8;
		t->node = i;
		return true;
	}
	return false;
}

/* ---- which may begin ---- */

static bool begin_array(const struct process_here *p, struct thread_here *t)
{
	if (!begin_alloc(p, t))
		return false;
	memset(t->val, 0, sizeof(t->val));
	t->val[1] = 1024;
	t->val[2] = 256 * (1 + order_pick(6));
	t->val[3] = 1;                  /* CU_AD_FORMAT_UNSIGNED_INT8 */
	t->val[4] = 4;
	if (t->call != CALL_MIPMAP)
		return true;
	t->val[6] = order_pick(2) ? 0x40 : 0; /* CUDA_ARRAY3D_SPARSE */
	t->val[7] = 2;
	return true;
}

static bool begin_on_array(const struct process_here *p, struct thread_here *t)
{
	const struct array_here *a = &p->things.arrays[t->thing];
	const struct memory_here as = { .context = a->context, .gpu = a->gpu };
	int object = (int)order_pick(OBJECTS);
	const struct object_here *o = &p->objects[object];

	if (!a->live || !a->visible || is_ending(p, &as))
		return false;
	t->context = a->context;
	t->gpu = a->gpu;
	t->val[0] = ARRAY_AT(t->thing);
	if (t->call == CALL_ARRAY_FREE)
		return true;
	t->val[0] = t->call == CALL_TILE_MAP ? 1 : 2; /* CUmemOperationType */
	t->val[1] = ARRAY_AT(t->thing);
	t->val[3] = 1;
	if (!a->is_sparse || t->call == CALL_TILE_UNMAP)
		return a->is_sparse && a->tiles;
	t->object = object;
	t->val[2] = object_handle(o);
	return o->live && o->visible && o->refs && !runs_with_object(p, object);
}

static bool begin_pool(const struct process_here *p, struct thread_here *t)
{
	const struct pool_here *pool = &p->things.pools[t->thing];

	if (t->call == CALL_POOL_CREATE) {
		bool is_host = !order_pick(3);

		t->other = is_host ? -1 : (int)order_pick(GPUS_HERE);
		t->val[0] = POOL_AT(t->thing);
		t->val[1] = is_host ? LOCATION_OF_HOST : 1;
		t->val[2] = is_host ? 0 : (uint64_t)t->other;
		t->val[3] = 1;
		return !pool->live;
	}
	t->val[0] = POOL_AT(t->thing);
	if (t->call == CALL_POOL_SET) {
		t->val[0] = (uint64_t)pool->gpu;
		t->val[1] = POOL_AT(t->thing);
		return pool->live && pool->gpu >= 0;
	}
	if (t->call != CALL_POOL_ALLOC)
		return pool->live;
	t->gpu = pool->gpu;
	t->val[1] = (1 + order_pick(6)) * UNIT;
	t->val[2] = POOL_AT(t->thing);
	return pool->live && (pool->gpu < 0 || !p->contexts[pool->gpu].ends);
}

static bool begin_graph(const struct process_here *p, struct thread_here *t)
{
	const struct things *things = &p->things;
	const struct graph_here *g = &things->graphs[t->thing];

	switch (t->call) {
	case CALL_NODE:
		t->val[1] = (1 + order_pick(6)) * UNIT;
		t->val[2] = order_pick(GPUS_HERE);
		t->val[3] = GRAPH_AT(t->thing);
		return !g->live || g->life < 0 || !runs_with_life(p, g->life);
	case CALL_CHILD:
		t->other = (int)order_pick(GRAPHS);
		t->val[0] = 4;          /* CU_GRAPH_NODE_TYPE_GRAPH */
		t->val[4] = GRAPH_AT(t->other);
		t->val[5] = GRAPH_AT(t->thing);
		t->val[6] = 1;          /* CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE */
		g = &things->graphs[t->other];
		return t->other != t->thing && !runs_with(p, THING_GRAPH, t->other) && g->live && !g->is_child && g->life >= 0 &&
		       !things->graphs[t->thing].is_child && things->lives[g->life].holders == 1 &&
		       !runs_with_life(p, g->life) &&
		       (!things->graphs[t->thing].live || things->graphs[t->thing].life < 0 ||
			!runs_with_life(p, things->graphs[t->thing].life));
	case CALL_INSTANTIATE:
		t->val[1] = GRAPH_AT(t->thing);
		return g->live && !g->is_child && g->life >= 0 && !runs_with_life(p, g->life);
	case CALL_GRAPH_DESTROY:
		t->val[0] = GRAPH_AT(t->thing);
		return g->live && (g->life < 0 || !runs_with_life(p, g->life));
	default: /* of executables */
		t->val[0] = EXEC_AT(t->thing);
		return things->execs[t->thing].live;
	}
}

static bool begin_node(struct order *o, struct process_here *p, struct thread_here *t)
{
	struct node_here *n = &p->things.nodes[t->thing];

	t->val[0] = NODE_ARENA + (uint64_t)t->thing * UNIT * 8;
	if (t->call == CALL_NODE_FREE)
		return n->live;
	t->born = n->born;
	t->was_planned = n->is_planned;
	t->was_left = n->is_left;
	if (o->has_kernel ? !n->is_mapped : !n->is_planned && !n->is_left)
		return false;
	n->is_planned = n->is_left = false;
	return true;
}

static bool begin_stream(const struct order *o, const struct process_here *p, struct thread_here *t)
{
	const struct stream_here *s = &p->things.streams[t->thing];
	const struct memory_here as = { .context = s->context, .gpu = p->contexts[s->context].gpu };
	int c = usable_context(p, t);

	t->val[0] = STREAM_AT(t->thing);
	if (t->call != CALL_STREAM && s->live && is_ending(p, &as))
		return false;
	t->context = s->context;
	t->gpu = as.gpu;
	switch (t->call) {
	case CALL_STREAM:
		t->context = c;
		return c >= 0 && !s->live && begin_alloc(p, t) && !(t->val[1] = 0);
	case CALL_STREAM_DESTROY:
		return s->live;
	case CALL_CAPTURE:
		return s->live && !s->captures && !runs_call(p, CALL_JOINED, CALL_JOINED);
	case CALL_CAPTURED:
	case CALL_JOINED:
		t->val[1] = (1 + order_pick(6)) * UNIT;
		t->val[2] = STREAM_AT(t->thing);
		if (t->call == CALL_CAPTURED)
			return s->live && s->captures;
		/* A stream that joined the capture, which can be told while there is no other. */
		t->val[2] = 0;
		t->context = c;
		return o->has_kernel && c >= 0 && s->live && s->captures && captures(p) == 1 &&
		       !runs_call(p, CALL_STREAM_DESTROY, CALL_CAPTURE) &&
		       !runs_call(p, CALL_CAPTURE_END, CALL_CAPTURE_END) && begin_alloc(p, t);
	default:
		return s->live && s->captures;
	}
}

/* The memory that is mapped somewhere, whether it has a handle or not. Nobody unmaps it meanwhile. */
static bool begin_bind_address(struct process_here *p, struct thread_here *t)
{
	int first = (int)order_pick(MEMORIES);

	for (int i = 0; i < MEMORIES; i++) {
		struct memory_here *m = &p->memories[(first + i) % MEMORIES];

		if (m->kind != MEMORY_MAPPING || !m->live || !m->visible || m->busy || runs_with_object(p, m->object))
			continue;
		m->busy = true;
		t->bound = (int)(m - p->memories);
		t->object = m->object;
		t->val[3] = address_of(m);
		return true;
	}
	return false;
}

static bool begin_group(struct process_here *p, struct thread_here *t)
{
	const struct group_here *g = &p->things.groups[t->thing];
	int object = (int)order_pick(OBJECTS), slot = (int)order_pick(SLOTS);
	const struct object_here *o = &p->objects[object];

	t->val[0] = GROUP_AT(t->thing);
	t->val[1] = t->call == CALL_GROUP ? 64 * UNIT : (uint64_t)slot * 8 * UNIT;
	if (t->call == CALL_GROUP)
		return !g->live;
	if (t->call == CALL_GROUP_RELEASE || !g->live)
		return g->live;
	t->slot = slot;
	t->val[2] = 8 * UNIT;
	if (t->call == CALL_UNBIND) {
		t->val[3] = g->objects[slot] < 0 ? 0 : (uint64_t)p->objects[g->objects[slot]].gpu;
		return g->objects[slot] >= 0;
	}
	if (g->objects[slot] >= 0)
		return false;
	if (t->call == CALL_BIND_ADDR)
		return begin_bind_address(p, t);
	t->object = object;
	t->val[3] = object_handle(o);
	return o->live && o->visible && o->refs && !runs_with_object(p, object);
}

static bool more_may_begin(struct order *o, struct process_here *p, struct thread_here *t)
{
	static const int counts[] = {
		[THING_ARRAY] = ARRAYS, [THING_POOL] = POOLS, [THING_GRAPH] = GRAPHS, [THING_EXEC] = GRAPHS,
		[THING_NODE] = NODES, [THING_STREAM] = STREAMS, [THING_GROUP] = GROUPS,
	};
	enum thing kind = rows[t->call].thing;

	if (t->call == CALL_ARRAY || t->call == CALL_MIPMAP)
		return begin_array(p, t);
	t->thing = (int)order_pick((unsigned int)counts[kind]);
	if (runs_with(p, kind, t->thing))
		return false;
	switch (kind) {
	case THING_ARRAY:
		return begin_on_array(p, t);
	case THING_POOL:
		return begin_pool(p, t);
	case THING_NODE:
		return begin_node(o, p, t);
	case THING_STREAM:
		return begin_stream(o, p, t);
	case THING_GROUP:
		return begin_group(p, t);
	default:
		return begin_graph(p, t);
	}
}

static bool more_may_fail(const struct process_here *p, const struct thread_here *t)
{
	if (t->call == CALL_GRAPH_DESTROY || t->call == CALL_EXEC_DESTROY)
		return false; /* nobody would see it */
	if (t->call == CALL_STREAM_DESTROY)
		return !p->things.streams[t->thing].captures || p->things.streams[t->thing].life < 0;
	return rows[t->call].is_release || rows[t->call].is_request;
}

#endif
