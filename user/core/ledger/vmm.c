/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/ledger/vmm.h"

#include <stdlib.h>

#include "base/xalloc.h"
#include "core/ledger/alloc.h"
#include "core/ledger/books.h"
#include "core/ledger/operations.h"
#include "core/ledger/process.h"
#include "core/ledger/vmm_object.h"

/* ---- GPUs that become known later ---- */

void vmm_resolve(struct process *p, uint64_t ts_ns)
{
	size_t pos = 0;
	void *value;

	while (hash_next(&p->vmm.objects, &pos, NULL, &value)) {
		struct vmm_object *o = value;

		vmm_place(p, o, context_gpu(&p->contexts, o->ordinal), ts_ns);
	}
}

void vmm_resolve_at(struct process *p, uint64_t address, int gpu, uint64_t ts_ns)
{
	const struct vmm_mapping *m = hash_get(&p->vmm.mappings, address);
	struct vmm_object *o = m ? hash_get(&p->vmm.objects, m->object) : NULL;

	if (o)
		vmm_place(p, o, gpu, ts_ns);
}

/* ---- operations ---- */

static void vmm_create(struct event *e)
{
	struct process *p = e->proc;
	uint64_t size = e->val[1], location = e->val[2];
	unsigned int class = pool_class_at(location < 256 ? location : 0, e->val[4] < 256 ? e->val[4] : 0,
					   GMT_CLASS_VMM);
	/* The call itself says the place, whatever context is current. */
	unsigned int ordinal = event_unread(e, 3) ? ORDINAL_NONE : context_ordinal_at(location, e->val[3]);

	if (!e->call->rc && (event_unread(e, 0) || event_unread(e, 1) || size > ALLOC_SIZE_MAX)) {
		p->anomalies[GMT_ANOMALY_SIZE_UNKNOWN]++;
		size = 0;
		if (event_unread(e, 0))
			return;
	}
	vmm_add(e, size, class, ordinal);
}

/* An import of memory that the process has itself may give the same handle, which gets one more reference. */
static void vmm_import(struct event *e)
{
	struct vmm_object *o = vmm_find(&e->proc->vmm, e->val[0], NULL);

	if (event_unread(e, 0))
		return;
	if (o && o->refs)
		o->refs++;
	else
		vmm_add(e, 0, GMT_CLASS_IMPORTED, ORDINAL_NONE);
}

/* A multicast object is an address in the switch, not memory. */
static void vmm_multicast(struct event *e)
{
	if (!event_unread(e, 0))
		vmm_add(e, 0, CLASS_NONE, ORDINAL_NONE);
}

/* Gives "the same handle value used to map the memory" (cuda.h). */
static void vmm_retain(struct event *e)
{
	struct vmm *vmm = &e->proc->vmm;
	const struct vmm_mapping *m = hash_get(&vmm->mappings, e->val[1]);
	struct vmm_object *o = m ? hash_get(&vmm->objects, m->object) : NULL;

	if (event_unread(e, 0))
		return;
	if (!o)
		o = vmm_find(vmm, e->val[0], NULL);
	else if (!vmm_find(vmm, e->val[0], NULL))
		vmm_name(vmm, e->val[0], m->object);
	if (o)
		o->refs++;
	else
		vmm_add(e, 0, CLASS_NONE, ORDINAL_NONE); /* from before attach */
}

static void vmm_map(struct event *e)
{
	struct process *p = e->proc;
	uint64_t address = e->val[0], size = e->val[1], number = 0;
	struct vmm_object *o = event_unread(e, 3) ? NULL : vmm_find(&p->vmm, e->val[3], &number);
	struct vmm_mapping m = { .size = size, .ts_ns = e->ts_ns };

	if (event_unread(e, 0))
		return;
	if (o)
		o->maps++;
	mapping_displace(p, address, e->ts_ns);
	alloc_displace(p, address, e->ts_ns);
	if (!o)
		return; /* from before attach */
	m.object = number;
	*(struct vmm_mapping *)hash_put(&p->vmm.mappings, address, NULL) = m;
	if (p->rm)
		vmm_resolve_at(p, address, rm_gpu_of_address(p->rm, address), e->ts_ns);
	mapping_book(p, DELTA_MAP, address, size, hash_get(&p->vmm.objects, number), e->ts_ns);
}

/* cuMemGetAllocationPropertiesFromHandle tells the device as a CUmemLocation, the type below the id. */
static void vmm_properties(struct event *e)
{
	struct process *p = e->proc;
	struct vmm_object *o = vmm_find(&p->vmm, e->val[0], NULL);

	if (!o || event_unread(e, 1) || o->ordinal != ORDINAL_NONE)
		return;
	o->ordinal = context_ordinal_at((uint32_t)e->val[1], e->val[1] >> 32);
	vmm_place(p, o, context_gpu(&p->contexts, o->ordinal), e->ts_ns);
}

static void vmm_release(struct event *e)
{
	struct process *p = e->proc;
	struct undo *u = undo_push(e, e->val[0]);
	struct vmm_object *o = vmm_find(&p->vmm, e->val[0], &u->number);

	if (!o || !o->refs) {
		p->anomalies[GMT_ANOMALY_FREE_UNKNOWN]++;
		return;
	}
	u->found = true;
	u->object = *o;
	o->refs--;
	vmm_drop_if_unused(p, u->number, e->ts_ns, u);
}

static void vmm_release_undo(struct event *e, struct undo *u)
{
	struct process *p = e->proc;

	if (!u->found) {
		p->anomalies[GMT_ANOMALY_FREE_UNKNOWN]--;
		return;
	}
	struct vmm_object *o = hash_get(&p->vmm.objects, u->number);

	if (!o)
		o = vmm_revive(e, u->number, &u->object);
	o->refs++;
	binding_restore(e, u);
}

static void unmap_at(struct event *e, struct undo *u, uint64_t address, const struct vmm_mapping *m)
{
	struct vmm_mapping gone = *m;
	const struct vmm_object *o = hash_get(&e->proc->vmm.objects, gone.object);

	u->unmapped = xgrow(u->unmapped, u->unmapped_count, sizeof(*u->unmapped));
	struct vmm_unmapped *saved = &u->unmapped[u->unmapped_count++];

	*saved = (struct vmm_unmapped){ .address = address, .mapping = gone };
	if (o)
		saved->before = *o;
	mapping_remove(e->proc, address, &gone, e->ts_ns, u);
}

struct addresses {
	uint64_t start, end;
};

static bool starts_inside(uint64_t address, const void *value, const void *arg)
{
	const struct addresses *range = arg;

	(void)value;
	return address >= range->start && address < range->end;
}

/* Unmaps what is left inside [start, end): mappings between those from before the attach. */
static void unmap_scattered(struct event *e, struct undo *u, uint64_t start, uint64_t end)
{
	const struct addresses range = { start, end };
	size_t count;
	/* The order is seen in the history. */
	uint64_t *addresses = hash_sorted_keys_of(&e->proc->vmm.mappings, starts_inside, &range, &count);

	for (size_t i = 0; i < count; i++)
		unmap_at(e, u, addresses[i], hash_get(&e->proc->vmm.mappings, addresses[i]));
	free(addresses);
}

/* One call may cover several mappings: "the entire contiguous address range" (cuda.h). */
static void vmm_unmap(struct event *e)
{
	uint64_t address = e->val[0], end = address + e->val[1];
	struct undo *u = undo_push(e, address);
	const struct vmm_mapping *m;

	u->unmapped_count = 0;
	if (end < address)
		end = UINT64_MAX;
	while (address < end && (m = hash_get(&e->proc->vmm.mappings, address))) {
		uint64_t size = m->size;

		unmap_at(e, u, address, m);
		if (!size || size > end - address)
			break;
		address += size;
	}
	if (address < end && hash_count(&e->proc->vmm.mappings))
		unmap_scattered(e, u, address, end);
	book_release(e, e->val[0], e->val[1]);
}

static void vmm_unmap_undo(struct event *e, struct undo *u)
{
	struct process *p = e->proc;

	for (uint32_t i = 0; i < u->unmapped_count; i++) {
		const struct vmm_unmapped *saved = &u->unmapped[i];
		struct vmm_object *o = hash_get(&p->vmm.objects, saved->mapping.object);
		bool is_new;

		struct vmm_mapping *m = hash_put(&p->vmm.mappings, saved->address, &is_new);

		if (!is_new) {
			p->anomalies[GMT_ANOMALY_UNDO_UNKNOWN]++;
			continue;
		}
		*m = saved->mapping;
		if (!saved->before.maps) {
			/* Nothing is known of the object, which was dropped before. */
			mapping_book(p, DELTA_REMAP, saved->address, saved->mapping.size, NULL, e->ts_ns);
			continue;
		}
		if (!o)
			o = vmm_revive(e, saved->mapping.object, &saved->before);
		o->maps++;
		mapping_book(p, DELTA_REMAP, saved->address, saved->mapping.size, o, e->ts_ns);
	}
	binding_restore(e, u);
	book_release(e, e->val[0], e->val[1]);
}

const struct operation vmm_operations[GMT_OP_COUNT] = {
	[GMT_OP_VMM_CREATE] = OPERATION_REQUEST(vmm_create),
	[GMT_OP_VMM_RELEASE] = OPERATION_RELEASE(vmm_release, vmm_release_undo),
	[GMT_OP_VMM_RETAIN] = OPERATION_CALL(vmm_retain),
	[GMT_OP_VMM_MAP] = OPERATION_CALL(vmm_map),
	[GMT_OP_VMM_UNMAP] = OPERATION_RELEASE(vmm_unmap, vmm_unmap_undo),
	[GMT_OP_VMM_IMPORT] = OPERATION_CALL(vmm_import),
	[GMT_OP_VMM_PROPERTIES] = OPERATION_CALL(vmm_properties),
	[GMT_OP_MULTICAST_CREATE] = OPERATION_CALL(vmm_multicast),
};
