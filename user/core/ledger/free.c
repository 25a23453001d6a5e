/* SPDX-License-Identifier: BSD-2-Clause */
/* Frees of what has an address: allocations, and imports of other processes' memory. */
#include "core/ledger/alloc.h"
#include "core/ledger/books.h"
#include "core/ledger/operations.h"
#include "core/ledger/process.h"

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

const struct operation free_operations[GMT_OP_COUNT] = {
	[GMT_OP_MEM_FREE] = OPERATION_RELEASE(free_at_address, free_at_address_undo),
	[GMT_OP_HOST_FREE] = OPERATION_RELEASE(free_at_address, free_at_address_undo),
	[GMT_OP_HOST_UNREGISTER] = OPERATION_RELEASE(free_at_address, free_at_address_undo),
	[GMT_OP_ASYNC_FREE] = OPERATION_RELEASE(free_at_address, free_at_address_undo),
	[GMT_OP_IPC_CLOSE] = OPERATION_RELEASE(release_import, release_import_undo),
};
