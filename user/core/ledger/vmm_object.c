// SPDX-License-Identifier: BSD-2-Clause
#include "core/ledger/vmm_object.h"

#include <stdlib.h>

#include "base/xalloc.h"
#include "core/ledger/books.h"
#include "core/ledger/process.h"

struct booking vmm_booking(const struct vmm_object *o, uint64_t ts_ns)
{
	return (struct booking){
		.row = o->row,
		.class = o->class,
		.stack_id = o->stack_id,
		.bytes = o->size,
		.ts_ns = ts_ns,
	};
}

static void book_object(struct process *p, enum delta_kind kind, const struct vmm_object *o, uint64_t ts_ns)
{
	book_memory(p, kind, &(struct delta_memory){
		.booking = vmm_booking(o, ts_ns), .born_ns = o->ts_ns, .ordinal = o->ordinal,
	});
}

struct vmm_object *vmm_find(struct vmm *vmm, uint64_t handle, uint64_t *number)
{
	const uint64_t *found = hash_get(&vmm->handles, handle);

	if (!found)
		return NULL;
	if (number)
		*number = *found;
	return hash_get(&vmm->objects, *found);
}

void vmm_name(struct vmm *vmm, uint64_t handle, uint64_t number)
{
	*(uint64_t *)hash_put(&vmm->handles, handle, NULL) = number;
}

static void drop_object(struct process *p, uint64_t number, uint64_t ts_ns, struct undo *u)
{
	struct vmm_object o;

	if (!hash_take(&p->vmm.objects, number, &o))
		return;
	const uint64_t *named = hash_get(&p->vmm.handles, o.handle);

	if (named && *named == number)
		hash_erase(&p->vmm.handles, o.handle);
	book_object(p, DELTA_FREE, &o, ts_ns);
	if (o.class == CLASS_NONE || o.class == GMT_CLASS_IMPORTED)
		binding_end_all(p, BINDING_MULTICAST, number, ts_ns, u);
}

void vmm_drop_if_unused(struct process *p, uint64_t number, uint64_t ts_ns, struct undo *u)
{
	const struct vmm_object *o = hash_get(&p->vmm.objects, number);

	if (o && !o->refs && !o->maps)
		drop_object(p, number, ts_ns, u);
}

struct vmm_object *vmm_find_at(struct process *p, uint64_t address, uint64_t *number)
{
	const struct vmm_mapping *exact = hash_get(&p->vmm.mappings, address), *found = exact;
	uint64_t start, nearest = 0;
	size_t pos = 0;
	void *value;

	/* Mappings that overlap are a lost record or a lie. The nearest start decides: a replay says the same. */
	while (!exact && hash_next(&p->vmm.mappings, &pos, &start, &value)) {
		const struct vmm_mapping *m = value;

		if (address < start || address - start >= m->size || (found && start < nearest))
			continue;
		found = m;
		nearest = start;
	}
	if (!found)
		return NULL;
	*number = found->object;
	return hash_get(&p->vmm.objects, found->object);
}

struct vmm_object *vmm_revive(struct event *e, uint64_t number, const struct vmm_object *before)
{
	struct vmm_object *o = hash_put(&e->proc->vmm.objects, number, NULL);

	*o = *before;
	o->refs = o->maps = 0;
	if (!hash_get(&e->proc->vmm.handles, o->handle))
		vmm_name(&e->proc->vmm, o->handle, number);
	book_object(e->proc, DELTA_RESTORE, o, e->ts_ns);
	return o;
}

void vmm_add(struct event *e, uint64_t size, unsigned int class, unsigned int ordinal)
{
	struct process *p = e->proc;
	uint64_t handle = e->val[0], old = 0;
	const struct vmm_object *same = vmm_find(&p->vmm, handle, &old);
	unsigned int row = account_has_row(class) ? process_row(p, 0, e->call, ordinal) : ROW_NONE;

	e->ask = (struct delta_ask){ true, row, class, ordinal, size };
	if (e->call->rc) {
		book_memory(p, DELTA_FAIL, &(struct delta_memory){
			.booking = { .row = row, .class = class, .bytes = size, .ts_ns = e->ts_ns }, .ordinal = ordinal,
		});
		return;
	}
	if (same && same->refs) {
		p->anomalies[GMT_ANOMALY_DOUBLE_ALLOC]++;
		drop_object(p, old, e->ts_ns, NULL);
	}
	p->anomalies[GMT_ANOMALY_GPU_UNKNOWN] += row == 0 && class == GMT_CLASS_VMM;
	struct vmm_object *o = hash_put(&p->vmm.objects, ++p->vmm.last, NULL);

	*o = (struct vmm_object){
		.handle = handle,
		.size = size,
		.ts_ns = e->ts_ns,
		.stack_id = e->call->stack_id,
		.refs = 1,
		.row = row,
		.class = class,
		.ordinal = ordinal,
	};
	book_object(p, DELTA_ALLOC, o, e->ts_ns);
	vmm_name(&p->vmm, handle, p->vmm.last);
}

void vmm_place(struct process *p, struct vmm_object *o, int gpu, uint64_t ts_ns)
{
	unsigned int row;

	if (o->row || gpu == GPU_UNKNOWN)
		return;
	row = account_row(&p->account, gpu);
	book_memory(p, DELTA_MOVE, &(struct delta_memory){
		.booking = vmm_booking(o, ts_ns), .born_ns = o->ts_ns, .to = row, .ordinal = o->ordinal,
	});
	p->anomalies[GMT_ANOMALY_GPU_UNKNOWN] -= o->class == GMT_CLASS_VMM;
	o->row = row;
}

/* ---- mappings ---- */

void mapping_book(const struct process *p, enum delta_kind kind, uint64_t address, uint64_t size,
		  const struct vmm_object *o, uint64_t ts_ns)
{
	struct delta_place place = { .address = address, .length = size, .ordinal = ORDINAL_NONE };

	place.booking = (struct booking){ .class = CLASS_NONE, .ts_ns = ts_ns };
	if (o) {
		place.booking = vmm_booking(o, ts_ns);
		place.born_ns = o->ts_ns;
		place.ordinal = o->ordinal;
	}
	book_place(p, kind, &place);
}

void mapping_remove(struct process *p, uint64_t address, const struct vmm_mapping *m, uint64_t ts_ns, struct undo *u)
{
	struct vmm_object *o = hash_get(&p->vmm.objects, m->object);

	hash_erase(&p->vmm.mappings, address);
	mapping_book(p, DELTA_UNMAP, address, m->size, o, ts_ns);
	if (!o)
		return;
	o->maps--;
	vmm_drop_if_unused(p, m->object, ts_ns, u);
}

void mapping_displace(struct process *p, uint64_t address, uint64_t ts_ns)
{
	const struct vmm_mapping *found = hash_get(&p->vmm.mappings, address);

	if (!found)
		return;
	struct vmm_mapping missed = *found;

	p->anomalies[GMT_ANOMALY_DOUBLE_ALLOC]++;
	mapping_remove(p, address, &missed, ts_ns, NULL);
}

/* ---- bindings ---- */

static void hold_object(struct process *p, uint64_t number)
{
	struct vmm_object *o = hash_get(&p->vmm.objects, number);

	o->maps++;
}

static void let_go(struct process *p, uint64_t number, uint64_t ts_ns)
{
	struct vmm_object *o = hash_get(&p->vmm.objects, number);

	if (!o)
		return;
	o->maps--;
	vmm_drop_if_unused(p, number, ts_ns, NULL); /* what is bound holds nothing itself */
}

static uint64_t binding_key(struct hash *bindings, const struct binding *b)
{
	uint64_t object = b->kind == BINDING_ARRAY ? b->object : 0;
	const uint64_t words[] = { b->kind, b->holder, b->offset, b->ordinal, object };

	return hash_of_bytes(hash_seed(bindings), words, sizeof(words));
}

void binding_add(struct process *p, const struct binding *b, uint64_t ts_ns)
{
	bool is_new;
	struct binding *place = hash_put(&p->vmm.bindings, binding_key(&p->vmm.bindings, b), &is_new);
	uint64_t old = place->object;

	*place = *b;
	hold_object(p, b->object);
	if (!is_new)
		let_go(p, old, ts_ns);
}

struct binding_test {
	bool (*is_doomed)(const struct binding *b, const struct binding *range);
	const struct binding *range;
};

static bool passes_test(uint64_t key, const void *value, const void *arg)
{
	const struct binding_test *test = arg;

	(void)key;
	return test->is_doomed(value, test->range);
}

/* A binding that an unfinished call has ended, and its object as it was before. */
struct unbound {
	struct binding binding;
	struct vmm_object before;
	uint64_t tiles;      /* of the array */
};

static void keep_unbound(const struct process *p, struct undo *u, const struct binding *b, uint64_t tiles)
{
	const struct vmm_object *o = hash_get(&p->vmm.objects, b->object);

	u->unbound = xgrow(u->unbound, u->unbound_count, sizeof(*u->unbound));
	u->unbound[u->unbound_count++] = (struct unbound){
		.binding = *b, .before = o ? *o : (struct vmm_object){ 0 }, .tiles = tiles,
	};
}

static void end_bindings(struct process *p, const struct binding *range, uint64_t ts_ns,
			 bool (*is_doomed)(const struct binding *b, const struct binding *range), uint64_t tiles,
			 struct undo *u)
{
	const struct binding_test test = { is_doomed, range };
	uint64_t *keys, *numbers;
	struct hash objects;
	size_t count;

	if (!hash_count(&p->vmm.bindings))
		return;
	hash_init(&objects, sizeof(uint32_t)); /* number -> bindings that end */
	keys = hash_sorted_keys_of(&p->vmm.bindings, passes_test, &test, &count);
	for (size_t i = 0; i < count; i++) {
		struct binding b;

		hash_take(&p->vmm.bindings, keys[i], &b);
		if (u)
			keep_unbound(p, u, &b, tiles);
		++*(uint32_t *)hash_put(&objects, b.object, NULL);
	}
	free(keys);
	numbers = hash_sorted_keys(&objects, &count); /* the order is seen in the history */
	for (size_t i = 0; i < count; i++)
		for (uint32_t n = *(uint32_t *)hash_get(&objects, numbers[i]); n; n--)
			let_go(p, numbers[i], ts_ns);
	free(numbers);
	hash_fini(&objects);
}

static bool is_held(const struct binding *b, const struct binding *range)
{
	return b->kind == range->kind && b->holder == range->holder;
}

/* Where the device of a binding is not known, the place alone decides. */
static bool is_inside(const struct binding *b, const struct binding *range)
{
	return is_held(b, range) && (b->ordinal == range->ordinal || b->ordinal == ORDINAL_NONE) &&
	       b->offset >= range->offset && b->offset - range->offset < range->size;
}

void binding_end(struct process *p, const struct binding *range, uint64_t ts_ns)
{
	end_bindings(p, range, ts_ns, is_inside, 0, NULL);
}

void binding_end_all(struct process *p, enum binding_kind kind, uint64_t holder, uint64_t ts_ns, struct undo *u)
{
	uint64_t tiles = 0;

	if (kind == BINDING_ARRAY)
		hash_take(&p->vmm.tiles, holder, &tiles);
	end_bindings(p, &(struct binding){ .kind = kind, .holder = holder }, ts_ns, is_held, tiles, u);
}

static void restore_one(struct event *e, const struct unbound *gone)
{
	const struct binding *b = &gone->binding;
	struct vmm *vmm = &e->proc->vmm;
	bool is_new;
	struct binding *place = hash_put(&vmm->bindings, binding_key(&vmm->bindings, b), &is_new);

	/* A holder that was given out again says that the old one is gone after all. */
	if (!is_new) {
		e->proc->anomalies[GMT_ANOMALY_UNDO_UNKNOWN]++;
		return;
	}
	*place = *b;
	if (!gone->before.maps)
		return; /* nothing is known of the object */
	struct vmm_object *o = hash_get(&vmm->objects, b->object);

	if (!o)
		o = vmm_revive(e, b->object, &gone->before);
	o->maps++;
	if (!gone->tiles)
		return;
	uint64_t *tiles = hash_put(&vmm->tiles, b->holder, &is_new);

	if (is_new)
		*tiles = gone->tiles;
}

void binding_forget(struct undo *u, uint64_t holder)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < u->unbound_count; i++)
		if (u->unbound[i].binding.holder != holder)
			u->unbound[kept++] = u->unbound[i];
	u->unbound_count = kept;
}

void binding_restore(struct event *e, struct undo *u)
{
	for (uint32_t i = 0; i < u->unbound_count; i++)
		restore_one(e, &u->unbound[i]);
}
