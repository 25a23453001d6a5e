// SPDX-License-Identifier: BSD-2-Clause
#include "core/ledger/books.h"

#include "core/ledger/event.h"
#include "core/ledger/process.h"

void books_give_memory(const struct process *p, enum delta_kind kind, const struct delta_memory *memory)
{
	deltas_give(p->out, &(struct delta){
		.kind = kind, .p = p, .ts_ns = memory->booking.ts_ns, .memory = *memory,
	});
}

void book_place(const struct process *p, enum delta_kind kind, const struct delta_place *place)
{
	if (p->out->wanted & DELTA_BIT(kind))
		deltas_give(p->out, &(struct delta){
			.kind = kind, .p = p, .ts_ns = place->booking.ts_ns, .place = *place,
		});
}

void book_release(const struct event *e, uint64_t address, uint64_t length)
{
	enum delta_kind kind = e->call->phase == GMT_PHASE_UNDO ? DELTA_RELEASE_FAILED : DELTA_RELEASE;

	if (e->proc->out->wanted & DELTA_BIT(kind))
		deltas_give(e->proc->out, &(struct delta){
			.kind = kind, .tid = e->call->hdr.tid, .p = e->proc, .ts_ns = e->ts_ns,
			.place = { .address = address, .length = length, .booking.class = CLASS_NONE },
		});
}
