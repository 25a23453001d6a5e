/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/ledger/alloc.h"

#include "core/terms/array_size.h"
#include "core/ledger/books.h"
#include "core/ledger/ended.h"
#include "core/ledger/operations.h"
#include "core/ledger/process.h"
#include "core/ledger/vmm_object.h"
#include "core/terms/names.h"

/* ---- booking ---- */

static inline struct delta_memory memory_of_alloc(const struct alloc *a, uint64_t address, uint64_t ts_ns)
{
	return (struct delta_memory){
		.booking = { .row = a->row, .class = a->class, .stack_id = a->stack_id, .bytes = a->size,
			     .ts_ns = ts_ns },
		.address = address,
		.born_ns = a->ts_ns,
		.ordinal = a->ordinal,
	};
}

/* The allocation lives in its context from now on, or with DELTA_FREE no longer, whether it is booked or not. */
static inline void book_alloc(struct process *p, enum delta_kind kind, const struct alloc *a, uint64_t address,
			      uint64_t ts_ns)
{
	struct delta_memory memory = memory_of_alloc(a, address, ts_ns);

	p->contexts.list[a->owner].live += kind == DELTA_FREE ? -1 : 1;
	if (alloc_is_booked(a))
		book_memory(p, kind, &memory);
}

static void count_new(struct process *p, const struct alloc_request *r, unsigned int row)
{
	p->anomalies[GMT_ANOMALY_SIZE_UNKNOWN] += r->size_unread || r->size > ALLOC_SIZE_MAX;
	p->anomalies[GMT_ANOMALY_GPU_UNKNOWN] += row == 0 && gmt_class_is_device(r->class);
}

/* The memory is given out again. So the free of the old allocation was missed, unless the old allocation was only
 * planned in a graph (which may have been captured again) or is from before the attach. */
static void displace_alloc(struct process *p, const struct alloc *old, uint64_t address, uint64_t ts_ns)
{
	if (old->class != GMT_CLASS_GRAPH && old->class != CLASS_NONE)
		p->anomalies[GMT_ANOMALY_DOUBLE_ALLOC]++;
	if (old->class == GMT_CLASS_IMPORTED)
		hash_erase(&p->allocs.opens, address);
	book_alloc(p, DELTA_FREE, old, address, ts_ns);
}

void alloc_displace(struct process *p, uint64_t address, uint64_t ts_ns)
{
	struct alloc old;

	if (hash_take(&p->allocs.by_address, address, &old))
		displace_alloc(p, &old, address, ts_ns);
}

void alloc_add(struct event *e, const struct alloc_request *r)
{
	struct process *p = e->proc;
	unsigned int row = ROW_NONE;
	bool is_new;

	if (account_has_row(r->class))
		row = process_row(p, r->address, r->address ? NULL : e->call, r->ordinal);
	e->ask = (struct delta_ask){ true, row, r->class, r->ordinal, r->size_unread ? 0 : r->size };
	if (e->call->rc) {
		book_memory(p, DELTA_FAIL, &(struct delta_memory){
			.booking = { .row = row, .class = r->class, .bytes = e->ask.bytes, .ts_ns = e->ts_ns },
			.ordinal = r->ordinal,
		});
		return;
	}
	if (!r->key) {
		/* The address was unreadable, or is the null of an allocation of 0 bytes. */
		p->anomalies[GMT_ANOMALY_SIZE_UNKNOWN] += event_unread(e, 0);
		return;
	}
	count_new(p, r, row);
	struct alloc *a = hash_put(r->table, r->key, &is_new);

	if (!is_new)
		displace_alloc(p, a, r->address, e->ts_ns);
	if (r->address && hash_count(&p->vmm.mappings))
		mapping_displace(p, r->address, e->ts_ns);
	*a = (struct alloc){
		.size = r->size_unread || r->size > ALLOC_SIZE_MAX ? 0 : r->size,
		.row = row,
		.class = r->class,
		.flags = r->flags,
		.ts_ns = e->ts_ns,
		.stack_id = e->call->stack_id,
		.owner = contexts_owner(&p->contexts, r->owner),
		.ordinal = r->ordinal,
	};
	book_alloc(p, DELTA_ALLOC, a, r->address, e->ts_ns);
}

/* ---- what an end takes along (ends.c) ---- */

bool alloc_take(struct process *p, struct hash *table, uint64_t key, struct alloc *a, uint64_t ts_ns)
{
	if (!hash_take(table, key, a))
		return false;
	book_alloc(p, DELTA_FREE, a, table == &p->allocs.by_address ? key : 0, ts_ns);
	return true;
}

bool alloc_put_back(struct process *p, struct hash *table, uint64_t key, const struct alloc *a, uint64_t ts_ns)
{
	bool is_new;
	struct alloc *to = hash_put(table, key, &is_new);

	if (!is_new)
		return false;
	*to = *a;
	book_alloc(p, DELTA_RESTORE, to, table == &p->allocs.by_address ? key : 0, ts_ns);
	return true;
}

/* ---- GPUs that become known later ---- */

static void move_alloc(struct process *p, struct alloc *a, uint64_t address, unsigned int row, uint64_t ts_ns)
{
	struct delta_memory memory = memory_of_alloc(a, address, ts_ns);

	memory.to = row;
	if (alloc_is_booked(a))
		book_memory(p, DELTA_MOVE, &memory);
	p->anomalies[GMT_ANOMALY_GPU_UNKNOWN] -= gmt_class_is_device(a->class);
	a->row = row;
}

static void resolve_table(struct process *p, struct hash *table, uint64_t ts_ns)
{
	size_t pos = 0;
	uint64_t key;
	void *value;

	while (hash_next(table, &pos, &key, &value)) {
		struct alloc *a = value;

		if (a->row)
			continue;
		if (a->ordinal == ORDINAL_NONE)
			a->ordinal = context_ordinal(&p->contexts, a->owner);
		int gpu = context_gpu(&p->contexts, a->ordinal);

		if (gpu != GPU_UNKNOWN)
			move_alloc(p, a, table == &p->allocs.by_address ? key : 0, account_row(&p->account, gpu),
				   ts_ns);
	}
}

void alloc_resolve(struct process *p, uint64_t ts_ns)
{
	resolve_table(p, &p->allocs.by_address, ts_ns);
	resolve_table(p, &p->allocs.arrays, ts_ns);
	resolve_table(p, &p->allocs.externals, ts_ns);
}

void alloc_resolve_at(struct process *p, uint64_t address, int gpu, uint64_t ts_ns)
{
	struct alloc *a = hash_get(&p->allocs.by_address, address);

	if (a && a->row == 0)
		move_alloc(p, a, address, account_row(&p->account, gpu), ts_ns);
}

/* ---- operations: memory ---- */

void alloc_in_context(struct event *e, enum gmt_class class, uint64_t size, bool size_unread)
{
	unsigned int owner = context_current(e);

	alloc_add(e, &(struct alloc_request){
		.table = &e->proc->allocs.by_address,
		.key = e->val[0],
		.address = e->val[0],
		.size = size,
		.size_unread = size_unread,
		.class = class,
		.owner = owner,
		.ordinal = context_ordinal(&e->proc->contexts, owner),
	});
}

static void alloc_sized(struct event *e)
{
	static const uint8_t classes[GMT_OP_COUNT] = {
		[GMT_OP_MEM_ALLOC] = GMT_CLASS_DEVICE,
		[GMT_OP_MEM_ALLOC_MANAGED] = GMT_CLASS_MANAGED,
		[GMT_OP_HOST_ALLOC] = GMT_CLASS_PINNED,
		[GMT_OP_HOST_REGISTER] = GMT_CLASS_REGISTERED,
	};

	alloc_in_context(e, classes[e->op], e->val[1], event_unread(e, 1));
}

static void alloc_pitch(struct event *e)
{
	uint64_t pitch = e->val[1], width = e->val[2], height = e->val[3], size;
	bool unread = event_unread(e, 1);

	/* A failed call has no pitch, and a pitch may be unreadable: then the width takes its place. */
	if (__builtin_mul_overflow(pitch ? pitch : width, height, &size))
		size = UINT64_MAX;
	if (unread && size <= ALLOC_SIZE_MAX) {
		e->proc->anomalies[GMT_ANOMALY_SIZE_UNKNOWN]++;
		unread = false;
	}
	alloc_in_context(e, GMT_CLASS_DEVICE, size, unread);
}

/* cuMemGetAddressRange tells the size of an allocation made before attach. */
static void alloc_learn(struct event *e)
{
	uint64_t base = e->val[0], size = e->val[1];
	struct process *p = e->proc;
	bool is_new;

	if (p->from_start || !base || !size || size > ALLOC_SIZE_MAX || hash_get(&p->vmm.mappings, base))
		return;
	struct alloc *a = hash_put(&p->allocs.by_address, base, &is_new);

	if (!is_new)
		return;
	*a = (struct alloc){
		.size = size,
		.row = process_row(p, base, NULL, ORDINAL_NONE),
		.class = CLASS_NONE,
		.flags = ALLOC_BEFORE,
		.ts_ns = e->ts_ns,
		.ordinal = ORDINAL_NONE,
	};
	book_alloc(p, DELTA_ALLOC, a, base, e->ts_ns);
}

/* ---- operations: arrays ---- */

static void alloc_array(struct event *e)
{
	unsigned int owner = context_current(e);
	struct array_shape shape = {
		.width = e->val[1],
		.height = e->val[2],
		.format = e->val[3],
		.channels = e->val[4],
		.depth = e->val[5],
		.flags = e->val[6],
		.levels = e->val[7],
	};
	uint64_t size = array_size(&shape);

	alloc_add(e, &(struct alloc_request){
		.table = &e->proc->allocs.arrays,
		.key = e->val[0],
		.size = size,
		.size_unread = size == ARRAY_SIZE_UNKNOWN || (e->unread & ~1u),
		.class = GMT_CLASS_ARRAY,
		.owner = owner,
		.ordinal = context_ordinal(&e->proc->contexts, owner),
		.flags = array_has_memory(shape.flags) ? 0 : ALLOC_DEFERRED,
	});
}

/* Sets an array's exact size. An array whose memory is mapped later still has no memory of its own. */
static void alloc_array_requirements(struct event *e)
{
	struct alloc *a = hash_get(&e->proc->allocs.arrays, e->val[0]);
	uint64_t size = e->val[1];

	if (!a || (a->flags & ALLOC_DEFERRED) || !size || size > ALLOC_SIZE_MAX)
		return;
	struct delta_memory memory = memory_of_alloc(a, 0, e->ts_ns);

	memory.bytes = size;
	book_memory(e->proc, DELTA_RESIZE, &memory);
	a->size = size;
}

/* ---- operations: releases ---- */

void alloc_unplan(struct process *p, uint64_t address, uint64_t ts_ns)
{
	struct alloc *a = hash_get(&p->allocs.by_address, address);

	if (!a || a->class != GMT_CLASS_GRAPH || !alloc_is_booked(a))
		return;
	book_alloc(p, DELTA_FREE, a, address, ts_ns);
	p->contexts.list[a->owner].live++;
	a->flags |= ALLOC_UNPLANNED;
}

void alloc_drop_plan(struct process *p, uint64_t address, uint64_t ts_ns)
{
	struct alloc *a = hash_get(&p->allocs.by_address, address);

	if (!a || a->class != GMT_CLASS_GRAPH)
		return;
	bool is_left = p->rm ? rm_is_mapped(p->rm, address) : alloc_is_booked(a);

	/* Without the kernel layer nobody knows whether the graph was launched. If it was, the program will free the
	 * memory. */
	if (!p->rm || !is_left)
		alloc_unplan(p, address, ts_ns);
	if (is_left) {
		a->flags |= ALLOC_LEFT;
		return;
	}
	p->contexts.list[a->owner].live--;
	hash_erase(&p->allocs.by_address, address);
}

/* Without the kernel layer, only frees say how much of the memory from before the attach is left. */
static void lower_before(struct process *p, const struct alloc *a)
{
	uint64_t *before = &p->account.rows[a->row].nvml.before;

	if (!p->rm)
		*before -= a->size < *before ? a->size : *before;
}

static void raise_before(struct process *p, const struct alloc *a)
{
	struct row_nvml *nvml = &p->account.rows[a->row].nvml;
	uint64_t room = nvml->baseline - nvml->before - nvml->lowered;

	if (!p->rm)
		nvml->before += a->size < room ? a->size : room;
}

struct undo *alloc_release(struct event *e, struct hash *table)
{
	struct process *p = e->proc;
	uint64_t key = e->val[0];

	struct undo *u = undo_push(e, key);

	if (!key) /* the call did nothing; the sender counts unreadable values */
		return u;
	size_t slot = hash_slot(table, key);

	u->table = table;
	u->found = slot != HASH_NONE;
	if (!u->found) {
		u->was_ended = ended_free(e, table, key);
		p->anomalies[GMT_ANOMALY_FREE_UNKNOWN] += !u->was_ended;
		return u;
	}
	ended_replace(e, table, key);
	u->alloc = *(struct alloc *)hash_value(table, slot);
	if (u->alloc.class == GMT_CLASS_GRAPH && !(u->alloc.flags & ALLOC_LEFT)) {
		/* The node is still there: the next launch allocates it again. */
		alloc_unplan(p, key, e->ts_ns);
		return u;
	}
	if (u->alloc.flags & ALLOC_BEFORE)
		lower_before(p, &u->alloc);
	hash_erase_slot(table, slot);
	book_alloc(p, DELTA_FREE, &u->alloc, table == &p->allocs.by_address ? key : 0, e->ts_ns);
	return u;
}

static void release_unknown_undo(struct event *e, struct undo *u)
{
	if (u->was_ended)
		ended_free_undo(e, u->table, u->key);
	else
		e->proc->anomalies[GMT_ANOMALY_FREE_UNKNOWN]--;
}

/* Whether the entry that is there now is the node that was released. */
static bool is_same_node(const struct alloc *a, const struct undo *u)
{
	return (a->flags & ALLOC_UNPLANNED) && a->ts_ns == u->alloc.ts_ns;
}

void alloc_release_undo(struct event *e, struct undo *u)
{
	struct process *p = e->proc;
	bool is_new;

	if (!u->key)
		return;
	if (!u->found) {
		release_unknown_undo(e, u);
		return;
	}
	struct alloc *a = hash_put(u->table, u->key, &is_new);

	if (is_new || is_same_node(a, u)) {
		unsigned int left = is_new ? 0 : a->flags & ALLOC_LEFT;

		p->contexts.list[u->alloc.owner].live -= !is_new;
		*a = u->alloc;
		a->flags |= left;
		book_alloc(p, DELTA_RESTORE, a, u->table == &p->allocs.by_address ? u->key : 0, e->ts_ns);
		if (a->flags & ALLOC_BEFORE)
			raise_before(p, a);
		/* The graph ended meanwhile, without the memory. */
		if (is_new && a->class == GMT_CLASS_GRAPH && !(a->flags & ALLOC_LEFT))
			alloc_drop_plan(p, u->key, e->ts_ns);
	} else if (a->class != GMT_CLASS_GRAPH) {
		/* The address was given out again meanwhile: so the memory was freed after all. */
		p->anomalies[GMT_ANOMALY_UNDO_UNKNOWN]++;
		binding_forget(u, u->key);
	}
}

static void alloc_array_destroy(struct event *e)
{
	struct undo *u = alloc_release(e, &e->proc->allocs.arrays);

	binding_end_all(e->proc, BINDING_ARRAY, e->val[0], e->ts_ns, u);
}

static void alloc_array_destroy_undo(struct event *e, struct undo *u)
{
	alloc_release_undo(e, u);
	binding_restore(e, u);
}

const struct operation alloc_operations[GMT_OP_COUNT] = {
	[GMT_OP_MEM_ALLOC] = OPERATION_REQUEST(alloc_sized),
	[GMT_OP_MEM_ALLOC_PITCH] = OPERATION_REQUEST(alloc_pitch),
	[GMT_OP_MEM_ALLOC_MANAGED] = OPERATION_REQUEST(alloc_sized),
	[GMT_OP_MEM_RANGE] = OPERATION_CALL(alloc_learn),
	[GMT_OP_HOST_ALLOC] = OPERATION_REQUEST(alloc_sized),
	[GMT_OP_HOST_REGISTER] = OPERATION_REQUEST(alloc_sized),
	[GMT_OP_ARRAY_CREATE] = OPERATION_REQUEST(alloc_array),
	[GMT_OP_ARRAY3D_CREATE] = OPERATION_REQUEST(alloc_array),
	[GMT_OP_MIPMAP_CREATE] = OPERATION_REQUEST(alloc_array),
	[GMT_OP_ARRAY_DESTROY] = OPERATION_RELEASE(alloc_array_destroy, alloc_array_destroy_undo),
	[GMT_OP_ARRAY_REQUIREMENTS] = OPERATION_CALL(alloc_array_requirements),
};
