/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory of other processes: IPC handles and external memory (Vulkan, OpenGL, dma-buf). Each import is counted with 0
 * bytes: the bytes are the exporting process's. Imports of pools and of VMM handles are in pool.c and vmm.c.
 */
#include "core/ledger/import.h"

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

bool import_opens(struct event *e)
{
	bool is_new;
	uint32_t *opens;

	if (!e->val[0])
		return false;
	opens = hash_put(&e->proc->allocs.opens, e->val[0], &is_new);
	(*opens)++;
	return is_new;
}

static void import_ipc_open(struct event *e)
{
	if (import_opens(e))
		alloc_in_context(e, GMT_CLASS_IMPORTED, 0, false);
}

static void import_external_destroy(struct event *e)
{
	alloc_release(e, &e->proc->allocs.externals);
}

const struct operation import_operations[GMT_OP_COUNT] = {
	[GMT_OP_IPC_OPEN] = OPERATION_CALL(import_ipc_open),
	[GMT_OP_EXT_IMPORT] = OPERATION_CALL(import_external),
	[GMT_OP_EXT_MAP] = OPERATION_CALL(import_external_map),
	[GMT_OP_EXT_MAP_ARRAY] = OPERATION_CALL(import_external_map_array),
	[GMT_OP_EXT_DESTROY] = OPERATION_RELEASE(import_external_destroy, alloc_release_undo),
};
