/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Checkpoints. The calls are about another process, and nothing happens to that process's memory. A process does to itself
 * what a checkpoint does: standin_checkpoint().
 */
#include <signal.h>

#include "standin.h"

#ifndef STANDIN_OLD_EXPORTS
static CUresult is_process(int pid)
{
	return pid > 0 && !kill(pid, 0) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuCheckpointProcessLock(int pid, void *args)
{
	(void)args;
	API(is_process(pid));
}

CUresult cuCheckpointProcessCheckpoint(int pid, void *args)
{
	(void)args;
	API(is_process(pid));
}

CUresult cuCheckpointProcessRestore(int pid, void *args)
{
	(void)args;
	API(is_process(pid));
}

CUresult cuCheckpointProcessUnlock(int pid, void *args)
{
	(void)args;
	API(is_process(pid));
}
#endif

static void put_away(struct chunk *chunk)
{
	uvm_free(chunk->base, chunk->size);
	rm_free_vidmem(chunk->device, chunk->rm, chunk->size);
	chunk->rm = 0;
	chunk->mapped = false;
}

static void bring_back(struct chunk *chunk)
{
	chunk->rm = rm_vidmem(chunk->device, chunk->size, RM_ATTR_VIDMEM);
	if (!chunk->rm)
		return;
	uvm_create_range(chunk->base, chunk->size);
	uvm_map(chunk->device, chunk->base, chunk->size, chunk->rm);
	chunk->mapped = true;
}

/* The video memory of the contexts' allocations goes, or comes back at its addresses, as far as the GPU has room, without
 * a call of the process. Not an entry of the real library. */
__attribute__((visibility("default"))) void standin_checkpoint(bool away);
void standin_checkpoint(bool away)
{
	pthread_mutex_lock(&g.lock);
	for (struct ctx *ctx = g.contexts; ctx; ctx = ctx->next)
		for (struct chunk *chunk = ctx->heap.all; chunk; chunk = chunk->next)
			if (away && chunk->mapped)
				put_away(chunk);
			else if (!away && !chunk->rm)
				bring_back(chunk);
	pthread_mutex_unlock(&g.lock);
}
