/* SPDX-License-Identifier: BSD-2-Clause */
/* Frees of what has an address: allocations, and imports of other processes' memory. */
#include "core/ledger/alloc.h"
#include "core/ledger/books.h"
#include "core/ledger/operations.h"
#include "core/ledger/process.h"

/* Memory that was imported several times at one address needs as many releases. */
static void release_import(struct event *e)
{
	struct process *p = e->proc;
	uint32_t *opens = hash_get(&p->allocs.opens, e->val[0]), before = opens ? *opens : 0;

	if (before < 2) {
		alloc_release(e, &p->allocs.by_address)->opens = before;
		hash_erase(&p->allocs.opens, e->val[0]);
		return;
	}
	undo_push(e, e->val[0])->opens = before;
	--*opens;
}

static void release_import_undo(struct event *e, struct undo *u)
{
	if (u->opens < 2)
		alloc_release_undo(e, u);
	if (u->opens)
		++*(uint32_t *)hash_put(&e->proc->allocs.opens, u->key, NULL);
}

static void free_memory(struct event *e)
{
	if (hash_count(&e->proc->allocs.opens))
		release_import(e);
	else
		alloc_release(e, &e->proc->allocs.by_address);
	book_release(e, e->val[0], 1);
}

static void free_memory_undo(struct event *e, struct undo *u)
{
	release_import_undo(e, u);
	book_release(e, e->val[0], 1);
}

const struct operation free_operations[GMT_OP_COUNT] = {
	[GMT_OP_MEM_FREE] = OPERATION_RELEASE(free_memory, free_memory_undo),
	[GMT_OP_HOST_FREE] = OPERATION_RELEASE(free_memory, free_memory_undo),
	[GMT_OP_HOST_UNREGISTER] = OPERATION_RELEASE(free_memory, free_memory_undo),
	[GMT_OP_ASYNC_FREE] = OPERATION_RELEASE(free_memory, free_memory_undo),
	[GMT_OP_IPC_CLOSE] = OPERATION_RELEASE(release_import, release_import_undo),
};
