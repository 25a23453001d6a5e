/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory of other processes: IPC handles and external memory (Vulkan, OpenGL, dma-buf). Each import is counted with 0
 * bytes: the bytes are the exporting process's. Imports of pools and of VMM handles are in pool.c and vmm.c.
 */
#include "core/ledger/alloc.h"
#include "core/ledger/operations.h"
#include "core/ledger/process.h"

static void import_external(struct event *e)
{
	unsigned int owner = context_current(e);

	alloc_add(e, &(struct alloc_request){
		.table = &e->proc->allocs.externals,
		.key = e->val[0],
		.class = GMT_CLASS_IMPORTED,
		.owner = owner,
		.ordinal = context_ordinal(&e->proc->contexts, owner),
	});
}

/* Remembers an address of memory that import_external() counted, because cuMemFree will release the address. */
static void import_external_map(struct event *e)
{
	alloc_in_context(e, CLASS_NONE, 0, false);
}

/* Remembers an array in memory that import_external() counted, because cuMipmappedArrayDestroy will end the array. */
static void import_external_map_array(struct event *e)
{
	alloc_add(e, &(struct alloc_request){
		.table = &e->proc->allocs.arrays,
		.key = e->val[0],
		.class = CLASS_NONE,
		.flags = ALLOC_DEFERRED,
		.owner = context_current(e),
		.ordinal = ORDINAL_NONE,
	});
}

static void import_ipc_open(struct event *e)
{
	struct process *p = e->proc;
	bool is_new;

	if (!e->val[0])
		return;
	uint32_t *opens = hash_put(&p->allocs.opens, e->val[0], &is_new);

	(*opens)++;
	/* Opening the handle again gives the same address: the import is one, but needs two closes. */
	if (is_new)
		alloc_in_context(e, GMT_CLASS_IMPORTED, 0, false);
}

static void import_external_destroy(struct event *e)
{
	alloc_release(e, &e->proc->allocs.externals);
}

static void import_ipc_close(struct event *e)
{
	struct process *p = e->proc;
	uint32_t *opens = hash_get(&p->allocs.opens, e->val[0]);

	if (!opens || *opens == 1) {
		alloc_release(e, &p->allocs.by_address);
		hash_erase(&p->allocs.opens, e->val[0]);
		return;
	}
	undo_push(e, e->val[0])->opens = *opens;
	--*opens;
}

static void import_ipc_close_undo(struct event *e, struct undo *u)
{
	if (u->opens < 2)
		alloc_release_undo(e, u);
	if (u->found || u->opens >= 2)
		++*(uint32_t *)hash_put(&e->proc->allocs.opens, u->key, NULL);
}

const struct operation import_operations[GMT_OP_COUNT] = {
	[GMT_OP_IPC_OPEN] = OPERATION_CALL(import_ipc_open),
	[GMT_OP_IPC_CLOSE] = OPERATION_RELEASE(import_ipc_close, import_ipc_close_undo),
	[GMT_OP_EXT_IMPORT] = OPERATION_CALL(import_external),
	[GMT_OP_EXT_MAP] = OPERATION_CALL(import_external_map),
	[GMT_OP_EXT_MAP_ARRAY] = OPERATION_CALL(import_external_map_array),
	[GMT_OP_EXT_DESTROY] = OPERATION_RELEASE(import_external_destroy, alloc_release_undo),
};
