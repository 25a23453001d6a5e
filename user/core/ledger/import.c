/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory of other processes: IPC handles and external memory (Vulkan, OpenGL, dma-buf). Each import is counted with 0
 * bytes: the bytes are the exporting process's. Imports of pools and of VMM handles are in pool.c and vmm.c. Some calls
 * free imports as well as allocations: so all frees of what has an address are here, too.
 */
#include "core/ledger/import.h"

#include "core/ledger/alloc.h"
#include "core/ledger/books.h"
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

/* ---- releases ---- */

/* One release less of memory that was imported several times. The import is kept as for its last release, because
 * other releases may come before this one turns out to have failed. */
static void release_one_import(struct event *e, uint32_t *opens)
{
	const struct alloc *a = hash_get(&e->proc->allocs.by_address, e->val[0]);
	struct undo *u = undo_push(e, e->val[0]);

	u->table = &e->proc->allocs.by_address;
	u->opens = *opens;
	u->found = a != NULL;
	if (a)
		u->alloc = *a;
	--*opens;
}

static void release_import(struct event *e)
{
	struct process *p = e->proc;
	uint32_t *opens = hash_get(&p->allocs.opens, e->val[0]), before = opens ? *opens : 0;

	if (before > 1) {
		release_one_import(e, opens);
		return;
	}
	alloc_release(e, &p->allocs.by_address)->opens = before;
	hash_erase(&p->allocs.opens, e->val[0]);
}

static void release_import_undo(struct event *e, struct undo *u)
{
	bool is_there = u->opens && hash_get(&e->proc->allocs.opens, u->key);

	if (!is_there && (u->found || u->opens < 2))
		alloc_release_undo(e, u);
	if (u->opens)
		++*(uint32_t *)hash_put(&e->proc->allocs.opens, u->key, NULL);
}

static void free_at_address(struct event *e)
{
	if (hash_count(&e->proc->allocs.opens))
		release_import(e);
	else
		alloc_release(e, &e->proc->allocs.by_address);
	book_release(e, e->val[0], 1);
}

static void free_at_address_undo(struct event *e, struct undo *u)
{
	release_import_undo(e, u);
	book_release(e, e->val[0], 1);
}

const struct operation import_operations[GMT_OP_COUNT] = {
	[GMT_OP_IPC_OPEN] = OPERATION_CALL(import_ipc_open),
	[GMT_OP_EXT_IMPORT] = OPERATION_CALL(import_external),
	[GMT_OP_EXT_MAP] = OPERATION_CALL(import_external_map),
	[GMT_OP_EXT_MAP_ARRAY] = OPERATION_CALL(import_external_map_array),
	[GMT_OP_EXT_DESTROY] = OPERATION_RELEASE(import_external_destroy, alloc_release_undo),
	[GMT_OP_MEM_FREE] = OPERATION_RELEASE(free_at_address, free_at_address_undo),
	[GMT_OP_HOST_FREE] = OPERATION_RELEASE(free_at_address, free_at_address_undo),
	[GMT_OP_HOST_UNREGISTER] = OPERATION_RELEASE(free_at_address, free_at_address_undo),
	[GMT_OP_ASYNC_FREE] = OPERATION_RELEASE(free_at_address, free_at_address_undo),
	[GMT_OP_IPC_CLOSE] = OPERATION_RELEASE(release_import, release_import_undo),
};
