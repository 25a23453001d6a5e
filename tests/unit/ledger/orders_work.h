/* SPDX-License-Identifier: BSD-2-Clause */
/* What the driver does in the calls of orders_more.h, and what their callers know when they return. */
#ifndef GPUMEMTRACE_TESTS_ORDERS_WORK_H
#define GPUMEMTRACE_TESTS_ORDERS_WORK_H

/* ---- arrays ---- */

static void drop_held(struct process_here *p, struct array_here *a)
{
	for (int i = 0; i < OBJECTS; i++) {
		if (!a->held[i])
			continue;
		a->held[i] = false;
		p->objects[i].maps--;
		drop_unused(p, i);
	}
	a->tiles = 0;
}

static void end_arrays(struct process_here *p, int context)
{
	for (int i = 0; i < ARRAYS; i++) {
		struct array_here *a = &p->things.arrays[i];

		if (!a->live || a->context != context)
			continue;
		drop_held(p, a);
		a->live = false;
	}
}

static void work_new_array(struct process_here *p, struct thread_here *t)
{
	for (int i = 0; i < ARRAYS && !t->fails; i++) {
		uint64_t bytes = t->val[1] * t->val[2] * t->val[4];

		if (p->things.arrays[i].live)
			continue;
		p->things.arrays[i] = (struct array_here){
			.live = true, .is_sparse = t->val[6] != 0, .context = t->context, .gpu = t->gpu,
			.bytes = t->val[6] ? 0 : t->call == CALL_MIPMAP ? bytes + bytes / 4 : bytes,
		};
		t->thing = i;
		t->val[0] = ARRAY_AT(i);
		return;
	}
	t->fails = true;
}

static void work_array(struct process_here *p, struct thread_here *t)
{
	struct array_here *a = &p->things.arrays[t->thing < 0 ? 0 : t->thing];

	if (t->call == CALL_ARRAY || t->call == CALL_MIPMAP) {
		work_new_array(p, t);
	} else if (t->call == CALL_ARRAY_FREE) {
		if (!t->fails)
			drop_held(p, a);
		a->live = t->fails;
	} else if (t->call == CALL_TILE_MAP) {
		a->tiles++;
		p->objects[t->object].maps += !a->held[t->object];
		a->held[t->object] = true;
	} else if (!--a->tiles) {
		drop_held(p, a);
	}
}

/* ---- pools ---- */

static void work_pool(struct process_here *p, struct thread_here *t)
{
	struct pool_here *pool = &p->things.pools[t->thing];

	if (t->call == CALL_POOL_CREATE)
		*pool = (struct pool_here){ .live = true, .gpu = t->other };
	else if (t->call == CALL_POOL_DESTROY)
		pool->live = t->fails;
	if (t->call != CALL_POOL_ALLOC || t->fails)
		return;
	struct memory_here *m = place_memory(p, t, (int)(t->val[1] / UNIT));

	t->fails = !m;
	if (!m)
		return;
	m->class = pool->gpu < 0 ? GMT_CLASS_PINNED : GMT_CLASS_POOL;
	m->gpu = pool->gpu;
	t->val[0] = address_of(m);
}

/* ---- graphs ---- */

static void rename_children(struct process_here *p, int from, int to)
{
	for (int i = 0; i < GRAPHS; i++)
		if (p->things.graphs[i].live && p->things.graphs[i].is_child && p->things.graphs[i].life == from)
			p->things.graphs[i].life = to;
}

/* The child's nodes, and its own children, are the parent's from now on. */
static void work_child(struct process_here *p, struct thread_here *t)
{
	struct things *things = &p->things;
	struct graph_here *parent = &things->graphs[t->thing], *child = &things->graphs[t->other];
	int old = child->life;

	if (!parent->live)
		*parent = (struct graph_here){ .live = true, .life = -1 };
	if (parent->life < 0)
		parent->life = new_life(p);
	t->is_nothing = parent->life < 0;
	if (t->is_nothing)
		return;
	for (int i = 0; i < NODES; i++)
		if (things->nodes[i].live && things->nodes[i].life == old)
			things->nodes[i].life = parent->life;
	rename_children(p, old, parent->life);
	things->lives[old].holders = 0;
	*child = (struct graph_here){ .live = true, .is_child = true, .life = parent->life };
}

static void work_instantiate(struct process_here *p, struct thread_here *t)
{
	int life = p->things.graphs[t->thing].life;

	for (int i = 0; i < GRAPHS; i++) {
		if (p->things.execs[i].live)
			continue;
		p->things.execs[i] = (struct graph_here){ .live = true, .life = life };
		p->things.lives[life].holders++;
		t->val[0] = EXEC_AT(i);
		t->exec = i;
		return;
	}
	t->is_nothing = true;
}

/* A child cannot be destroyed by itself. */
static void work_graph_destroy(struct process_here *p, struct thread_here *t)
{
	struct graph_here *g = &p->things.graphs[t->thing];

	if (g->is_child)
		return;
	g->live = false;
	for (int i = 0; i < GRAPHS; i++)
		if (p->things.graphs[i].is_child && p->things.graphs[i].life == g->life)
			p->things.graphs[i].live = false;
	release_life(p, g->life);
}

static void work_graph(struct order *o, struct process_here *p, struct thread_here *t)
{
	struct things *things = &p->things;
	struct graph_here *g = &things->graphs[t->thing];

	switch (t->call) {
	case CALL_NODE:
		if (!g->live)
			*g = (struct graph_here){ .live = true, .life = -1 };
		t->is_nothing = !add_node(o, p, t, &g->life, (int)t->val[2]);
		return;
	case CALL_CHILD:
		work_child(p, t);
		return;
	case CALL_INSTANTIATE:
		work_instantiate(p, t);
		return;
	case CALL_GRAPH_DESTROY:
		work_graph_destroy(p, t);
		return;
	case CALL_EXEC_DESTROY:
		things->execs[t->thing].live = false;
		release_life(p, things->execs[t->thing].life);
		return;
	default: /* a launch, which is not probed */
		t->is_nothing = true;
		for (int i = 0; i < NODES; i++)
			if (things->nodes[i].live && things->nodes[i].life == things->execs[t->thing].life)
				things->nodes[i].is_mapped = o->has_kernel;
	}
}

static void work_node(struct process_here *p, struct thread_here *t)
{
	struct node_here *n = &p->things.nodes[t->thing];

	if (t->call == CALL_NODE_FREE)
		n->is_planned = false;
	else if (!t->fails)
		n->is_mapped = false;
}

/* ---- streams and captures ---- */

static void end_capture(struct process_here *p, struct thread_here *t)
{
	struct stream_here *s = &p->things.streams[t->thing];

	s->captures = false;
	for (int i = 0; i < GRAPHS && !t->fails; i++) {
		if (p->things.graphs[i].live || runs_with(p, THING_GRAPH, i))
			continue;
		p->things.graphs[i] = (struct graph_here){ .live = true, .life = s->life };
		t->graph = i;
		t->val[1] = GRAPH_AT(i);
		return;
	}
	t->fails = true;
	release_life(p, s->life);
}

static void drop_stream(struct process_here *p, struct stream_here *s)
{
	s->live = false;
	if (s->captures)
		release_life(p, s->life);
}

static void end_streams(struct process_here *p, int context)
{
	for (int i = 0; i < STREAMS; i++)
		if (p->things.streams[i].live && p->things.streams[i].context == context)
			drop_stream(p, &p->things.streams[i]);
}

static void work_stream(struct order *o, struct process_here *p, struct thread_here *t)
{
	struct stream_here *s = &p->things.streams[t->thing];

	switch (t->call) {
	case CALL_STREAM:
		*s = (struct stream_here){ .live = true, .context = t->context, .life = -1 };
		return;
	case CALL_STREAM_DESTROY:
		if (!t->fails)
			drop_stream(p, s);
		return;
	case CALL_CAPTURE:
		s->captures = true;
		s->life = -1;
		return;
	case CALL_CAPTURED:
	case CALL_JOINED:
		if (!t->fails)
			t->fails = !add_node(o, p, t, &s->life,
					     p->contexts[t->call == CALL_JOINED ? t->context : s->context].gpu);
		return;
	default:
		end_capture(p, t);
	}
}

/* ---- multicast objects ---- */

static void unbind(struct process_here *p, struct group_here *g, int slot)
{
	int object = g->objects[slot];

	g->objects[slot] = -1;
	if (object < 0)
		return;
	p->objects[object].maps--;
	drop_unused(p, object);
}

static void work_group(struct process_here *p, struct thread_here *t)
{
	struct group_here *g = &p->things.groups[t->thing];

	if (t->call == CALL_GROUP) {
		*g = (struct group_here){ .live = true, .objects = { -1, -1, -1 } };
	} else if (t->call == CALL_BIND || t->call == CALL_BIND_ADDR) {
		g->objects[t->slot] = t->object;
		p->objects[t->object].maps++;
	} else if (t->call == CALL_UNBIND) {
		unbind(p, g, t->slot);
	} else if (!t->fails) {
		for (int i = 0; i < SLOTS; i++)
			unbind(p, g, i);
		g->live = false;
	}
}

/* ---- all ---- */

static void more_work(struct order *o, struct process_here *p, struct thread_here *t)
{
	switch (rows[t->call].thing) {
	case THING_ARRAY:
		work_array(p, t);
		return;
	case THING_POOL:
		work_pool(p, t);
		return;
	case THING_NODE:
		work_node(p, t);
		return;
	case THING_STREAM:
		work_stream(o, p, t);
		return;
	case THING_GROUP:
		work_group(p, t);
		return;
	default:
		work_graph(o, p, t);
	}
}

/* A free of planned memory has failed: what the graph, or the launch, has left of it is there again. */
static void plan_free_failed(struct node_here *n, const struct thread_here *t)
{
	if (n->born != t->born)
		return;
	if (n->live || n->has_kernel)
		n->is_planned = t->was_planned && (n->live || n->is_mapped);
	else
		n->is_left = t->was_planned || t->was_left;
}

static void more_return(struct process_here *p, struct thread_here *t)
{
	if (t->call == CALL_BIND_ADDR)
		p->memories[t->bound].busy = false;
	if (!t->fails && (t->call == CALL_ARRAY || t->call == CALL_MIPMAP))
		p->things.arrays[t->thing].visible = true;
	if (t->fails && t->call == CALL_PLAN_FREE)
		plan_free_failed(&p->things.nodes[t->thing], t);
}

static void more_sums(const struct process_here *p, struct sums *s)
{
	for (int i = 0; i < ARRAYS; i++)
		if (p->things.arrays[i].live)
			add_sum(s, p->things.arrays[i].gpu, GMT_CLASS_ARRAY, p->things.arrays[i].bytes);
	for (int i = 0; i < NODES; i++)
		if (p->things.nodes[i].is_planned)
			add_sum(s, p->things.nodes[i].gpu, GMT_CLASS_GRAPH, p->things.nodes[i].bytes);
}

#endif
