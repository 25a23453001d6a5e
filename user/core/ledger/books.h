/* SPDX-License-Identifier: BSD-2-Clause */
/* Books a change of a process's memory in the account, and gives the change out as a delta (delta.h), by one call. */
#ifndef GPUMEMTRACE_CORE_LEDGER_BOOKS_H
#define GPUMEMTRACE_CORE_LEDGER_BOOKS_H

#include "core/ledger/delta.h"
#include "core/ledger/process.h"

struct event;

void books_give_memory(const struct process *p, enum delta_kind kind, const struct delta_memory *memory);

/* For the kinds ALLOC to FAIL. The booking's time is the time of the change. CLASS_NONE: nothing is booked. Inline,
 * because each caller knows the kind, and each allocation passes here. */
static inline void book_memory(struct process *p, enum delta_kind kind, const struct delta_memory *memory)
{
	const struct booking *b = &memory->booking;

	if (b->class >= GMT_CLASS_COUNT)
		return;
	if (kind == DELTA_ALLOC)
		account_add(&p->account, b);
	else if (kind == DELTA_FREE)
		account_remove(&p->account, b);
	else if (kind == DELTA_RESTORE)
		account_restore(&p->account, b);
	else if (kind == DELTA_MOVE)
		account_move(&p->account, b, memory->to);
	else if (kind == DELTA_RESIZE)
		account_resize(&p->account, b, memory->bytes);
	else
		account_fail(&p->account, b);
	if (p->out->wanted & DELTA_BIT(kind))
		books_give_memory(p, kind, memory);
}

/* For the kinds MAP, UNMAP and REMAP. The same memory may be mapped several times. */
void book_place(const struct process *p, enum delta_kind kind, const struct delta_place *place);

/* The event releases [address, address + length), or takes the release back. */
void book_release(const struct event *e, uint64_t address, uint64_t length);

#endif
