/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Contexts, and the current context of each thread: these say in which context, and on which CUDA device, an
 * allocation was asked for. What was set before the attach is unknown (0), never guessed.
 *
 * A context has a number from 1 on. A handle that is given out again keeps its number, because all memory that the old
 * context owned went with the context.
 */
#include <string.h>

#include "base/xalloc.h"
#include "core/ledger/alloc.h"
#include "core/ledger/ends.h"
#include "core/ledger/operations.h"
#include "core/ledger/process.h"
#include "core/ledger/vmm.h"

/* Looks again at the allocations on the unknown GPU, because a GPU has become known. */
static void resolve_unknown(struct event *e)
{
	const struct row *unknown = &e->proc->account.rows[0];

	for (int class = 0; class < GMT_CLASS_COUNT; class++) {
		if (!unknown->by_class[class].live_count)
			continue;
		alloc_resolve(e->proc, e->ts_ns);
		vmm_resolve(e->proc, e->ts_ns);
		return;
	}
}

static void place_context(struct event *e, unsigned int number, unsigned int ordinal, enum context_kind kind)
{
	struct context *c = &e->proc->contexts.list[number];
	bool is_new = c->ordinal != ordinal;

	if (!number || ordinal == ORDINAL_NONE)
		return;
	c->ordinal = ordinal;
	c->kind = kind;
	c->green = 0;
	if (is_new)
		resolve_unknown(e);
}

static unsigned int learn_context(struct event *e, uint64_t handle, unsigned int ordinal, enum context_kind kind)
{
	unsigned int number = contexts_get(&e->proc->contexts, handle);

	place_context(e, number, ordinal, kind);
	return number;
}

/* ---- each thread's current context ---- */

static void push_context(struct thread *t, unsigned int context)
{
	t->stack = xgrow(t->stack, t->depth, sizeof(*t->stack));
	t->stack[t->depth++] = context;
}

static void pop_context(struct thread *t)
{
	t->depth -= t->depth > 0;
}

static void context_set(struct event *e)
{
	struct thread *t = e->thread;

	pop_context(t); /* the call replaces the top; a null context only removes the top */
	if (e->val[0])
		push_context(t, contexts_get(&e->proc->contexts, e->val[0]));
}

static void context_push(struct event *e)
{
	push_context(e->thread, contexts_get(&e->proc->contexts, e->val[0]));
}

static void context_pop(struct event *e)
{
	pop_context(e->thread);
}

/* ---- lifetimes ---- */

static void context_create(struct event *e)
{
	struct contexts *contexts = &e->proc->contexts;

	/* The context that had this handle before must have gone. */
	ends_context(e, contexts_find(contexts, e->val[0]), NULL);
	unsigned int number = learn_context(e, e->val[0], context_ordinal_of(e->val[1]), CONTEXT_OTHER);

	contexts->list[number].made = number != 0;
	contexts->list[number].attached = 0;
	push_context(e->thread, number);
}

/* Room to keep what goes with a context. */
static struct undo *push_end(struct event *e)
{
	struct undo *u = undo_push(e, e->val[0]);

	u->popped = u->unmade = u->detached = 0;
	u->has_dropped_own = false;
	u->released = ORDINAL_NONE;
	return u;
}

/* If a call works in the context later, the handle was given out again, unseen, for any GPU. */
static void unmake_context(struct event *e, unsigned int number, struct undo *u)
{
	struct context *c = &e->proc->contexts.list[number];

	u->unmade = number;
	u->device = c->ordinal;
	u->kind = c->kind;
	c->ordinal = ORDINAL_NONE;
	c->made = false;
}

static void context_destroy(struct event *e)
{
	unsigned int number = contexts_find(&e->proc->contexts, e->val[0]);
	struct undo *u = push_end(e);

	if (!number)
		return;
	ends_context(e, number, u);
	if (e->proc->contexts.list[number].made)
		unmake_context(e, number, u);
	/* Only the calling thread's stack loses the context; in other threads it stays current, and unusable. */
	if (context_current(e) != number)
		return;
	pop_context(e->thread);
	u->popped = number;
}

static void context_attach(struct event *e)
{
	struct contexts *contexts = &e->proc->contexts;
	unsigned int number = contexts_get(contexts, e->val[0]);

	if (number && contexts->list[number].attached < UINT16_MAX)
		contexts->list[number].attached++;
}

/* "Destroys the context if the usage count goes to 0" (cuda.h, cuCtxDetach). Its creation is a use, seen or not. */
static void context_detach(struct event *e)
{
	struct contexts *contexts = &e->proc->contexts;
	unsigned int number = contexts_find(contexts, e->val[0]);

	if (!contexts->list[number].attached) {
		context_destroy(e);
		return;
	}
	contexts->list[number].attached--;
	push_end(e)->detached = number;
}

static void release_primary(struct event *e, unsigned int ordinal, struct undo *u)
{
	struct device *device = context_device(&e->proc->contexts, ordinal);

	if (!device || !device->refs)
		return;
	device->refs--;
	u->released = ordinal;
	/* After a late attach nobody knows how often the context had been retained before. */
	if (!device->refs && e->proc->from_start)
		ends_primary(e, ordinal, u);
}

static void context_end_undo(struct event *e, struct undo *u)
{
	struct device *device = context_device(&e->proc->contexts, u->released);
	struct context *unmade = &e->proc->contexts.list[u->unmade];

	if (device)
		device->refs++;
	if (u->popped)
		push_context(e->thread, u->popped);
	if (u->detached)
		e->proc->contexts.list[u->detached].attached++;
	/* By the context's number: the undo may be of an older thread's call, and name another handle. */
	if (u->unmade) {
		unmade->made |= u->kind == CONTEXT_OTHER;
		if (unmade->ordinal == ORDINAL_NONE)
			place_context(e, u->unmade, u->device, u->kind);
	}
	ends_undo(e, u);
}

static void retain_primary(struct event *e, enum context_kind kind)
{
	unsigned int ordinal = context_ordinal_of(e->val[1]);
	struct device *device = context_device(&e->proc->contexts, ordinal);

	if (device)
		device->refs++;
	learn_context(e, e->val[0], ordinal, kind);
}

static void context_primary_retain(struct event *e)
{
	retain_primary(e, CONTEXT_PRIMARY);
}

/* A green context holds its device's primary context (cuda.h, cuGreenCtxDestroy). */
static void context_green_create(struct event *e)
{
	retain_primary(e, CONTEXT_GREEN);
}

static void context_primary_release(struct event *e)
{
	release_primary(e, context_ordinal_of(e->val[0]), push_end(e));
}

/* "Resetting the primary context does not release it" (cuda.h). */
static void context_primary_reset(struct event *e)
{
	ends_primary(e, context_ordinal_of(e->val[0]), push_end(e));
}

static void context_green_destroy(struct event *e)
{
	const struct contexts *contexts = &e->proc->contexts;
	unsigned int number = contexts_find(contexts, e->val[0]);
	struct undo *u = push_end(e);

	ends_green(e, number, u);
	release_primary(e, context_ordinal(contexts, number), u);
	if (number)
		unmake_context(e, number, u);
}

/* The context is on the green context's GPU for as long as that is known. */
static void context_from_green(struct event *e)
{
	struct contexts *contexts = &e->proc->contexts;
	unsigned int green = contexts_get(contexts, e->val[1]);
	unsigned int number = contexts_get(contexts, e->val[0]);

	if (!number || number == green)
		return;
	contexts->list[number].green = green;
	contexts->list[number].kind = CONTEXT_GREEN;
	resolve_unknown(e);
}

static void context_device_uuid(struct event *e)
{
	struct process *p = e->proc;
	unsigned int ordinal = context_ordinal_of(e->val[2]);
	struct device *device = context_device(&p->contexts, ordinal);
	uint8_t uuid[GMT_UUID_BYTES];

	/* The bytes as they lay in the target's memory, read as two words. */
	memcpy(uuid, &e->val[0], 8);
	memcpy(uuid + 8, &e->val[1], 8);
	if (!device || event_unread(e, 0) || event_unread(e, 1))
		return;
	int gpu = gpus_number(p->gpus, uuid);

	if (gpu == GPU_UNKNOWN || gpu == device->gpu)
		return;
	device->gpu = gpu;
	if (gpus_is_mig(p->gpus, gpu))
		p->mig = gpu;
	resolve_unknown(e);
}

const struct operation context_operations[GMT_OP_COUNT] = {
	[GMT_OP_CTX_CREATE] = OPERATION_CALL(context_create),
	[GMT_OP_CTX_DESTROY] = OPERATION_END(context_destroy, context_end_undo),
	[GMT_OP_CTX_ATTACH] = OPERATION_CALL(context_attach),
	[GMT_OP_CTX_DETACH] = OPERATION_END(context_detach, context_end_undo),
	[GMT_OP_CTX_SET] = OPERATION_CALL(context_set),
	[GMT_OP_CTX_PUSH] = OPERATION_CALL(context_push),
	[GMT_OP_CTX_POP] = OPERATION_CALL(context_pop),
	[GMT_OP_PRIMARY_RETAIN] = OPERATION_CALL(context_primary_retain),
	[GMT_OP_PRIMARY_RELEASE] = OPERATION_END(context_primary_release, context_end_undo),
	[GMT_OP_PRIMARY_RESET] = OPERATION_END(context_primary_reset, context_end_undo),
	[GMT_OP_GREEN_CREATE] = OPERATION_CALL(context_green_create),
	[GMT_OP_GREEN_DESTROY] = OPERATION_END(context_green_destroy, context_end_undo),
	[GMT_OP_GREEN_CTX] = OPERATION_CALL(context_from_green),
	[GMT_OP_DEVICE_UUID] = OPERATION_CALL(context_device_uuid),
};
