/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory of cuMemCreate that is bound to a multicast object, a logical endpoint, or the tiles of a sparse array. The
 * memory lives as long as it is bound there, even if its handle was released.
 *
 * Only memory that has bytes here is noted: not an import, and never a multicast object itself. So what is bound holds
 * nothing, whatever records say.
 */
#include "core/ledger/operations.h"
#include "core/ledger/process.h"
#include "core/ledger/vmm_object.h"

#define ARRAY_MAP 1          /* CUmemOperationType of cuda.h */
#define ARRAY_UNMAP 2

/* ---- operations: multicast objects and endpoints ---- */

static enum binding_kind kind_of(const struct event *e)
{
	bool is_multicast = e->op == GMT_OP_MULTICAST_BIND || e->op == GMT_OP_MULTICAST_BIND_ADDR ||
			    e->op == GMT_OP_MULTICAST_UNBIND;

	return is_multicast ? BINDING_MULTICAST : BINDING_ENDPOINT;
}

/* A multicast object's handle may be given out again while the old one is mapped. One from before the attach has a
 * handle only, which no number equals. */
static uint64_t holder_of(struct event *e)
{
	uint64_t number;

	if (kind_of(e) != BINDING_MULTICAST)
		return e->val[0];
	return vmm_find(&e->proc->vmm, e->val[0], &number) ? number : ~e->val[0];
}

static bool has_bytes(const struct vmm_object *o)
{
	return o && o->class != GMT_CLASS_IMPORTED && o->class != CLASS_NONE;
}

static void bind_object(struct event *e, const struct vmm_object *o, uint64_t number)
{
	bool says_device = e->call->hdr.size >= sizeof(*e->call) + 5 * sizeof(e->call->vals[0]);

	if (!has_bytes(o))
		return;
	binding_add(e->proc, &(struct binding){
		.kind = kind_of(e),
		.holder = holder_of(e),
		.offset = e->val[1],
		.size = e->val[2],
		.object = number,
		/* The older calls bind on the memory's own device. */
		.ordinal = says_device ? context_ordinal_of(e->val[4]) : o->ordinal,
	}, e->ts_ns);
}

static void bind_memory(struct event *e)
{
	uint64_t number;
	const struct vmm_object *o = vmm_find(&e->proc->vmm, e->val[3], &number);

	bind_object(e, o, number);
}

/* Memory of a pool may be bound, too. Its allocation is counted until it is freed, bound or not. */
static void bind_address(struct event *e)
{
	uint64_t number = 0;
	const struct vmm_object *o = vmm_find_at(e->proc, e->val[3], &number);

	bind_object(e, o, number);
}

static void bind_unbind(struct event *e)
{
	struct binding range = {
		.kind = kind_of(e), .holder = holder_of(e), .offset = e->val[1], .size = e->val[2],
		.ordinal = context_ordinal_of(e->val[3]),
	};

	binding_end(e->proc, &range, e->ts_ns);
}

static void bind_endpoint_destroy(struct event *e)
{
	binding_end_all(e->proc, BINDING_ENDPOINT, e->val[0], e->ts_ns, NULL);
}

/* ---- operations: sparse arrays ---- */

/*
 * Of a list only the first element is known; the others are taken to be like it. An unmapping does not say which
 * memory the tile had. So an array holds all memory that was ever put behind it until its last tile is unmapped.
 */
static void bind_array(struct event *e)
{
	struct process *p = e->proc;
	uint64_t array = e->val[1], count = e->val[3], number;
	const struct vmm_object *o = vmm_find(&p->vmm, e->val[2], &number);
	struct binding b = { .kind = BINDING_ARRAY, .holder = array, .ordinal = ORDINAL_NONE };

	if (e->call->unread || !array || !count)
		return;
	if (e->val[0] == ARRAY_MAP) {
		*(uint64_t *)hash_put(&p->vmm.tiles, array, NULL) += count;
		if (!has_bytes(o))
			return;
		b.object = number;
		binding_add(p, &b, e->ts_ns);
	} else if (e->val[0] == ARRAY_UNMAP) {
		uint64_t *tiles = hash_get(&p->vmm.tiles, array);

		if (tiles && *tiles > count)
			*tiles -= count;
		else
			binding_end_all(p, BINDING_ARRAY, array, e->ts_ns, NULL);
	}
}

const struct operation bind_operations[GMT_OP_COUNT] = {
	[GMT_OP_MULTICAST_BIND] = OPERATION_CALL(bind_memory),
	[GMT_OP_MULTICAST_BIND_ADDR] = OPERATION_CALL(bind_address),
	[GMT_OP_MULTICAST_UNBIND] = OPERATION_CALL(bind_unbind),
	[GMT_OP_ENDPOINT_BIND] = OPERATION_CALL(bind_memory),
	[GMT_OP_ENDPOINT_BIND_ADDR] = OPERATION_CALL(bind_address),
	[GMT_OP_ENDPOINT_UNBIND] = OPERATION_CALL(bind_unbind),
	[GMT_OP_ENDPOINT_DESTROY] = OPERATION_CALL(bind_endpoint_destroy),
	[GMT_OP_VMM_MAP_ARRAY] = OPERATION_CALL(bind_array),
};
