// SPDX-License-Identifier: BSD-2-Clause
#include "core/ledger/books.h"

#include "core/ledger/event.h"
#include "core/ledger/process.h"

static void move_booking(struct account *account, const struct delta_memory *m)
{
	account_move(account, &m->booking, m->to);
}

static void resize_booking(struct account *account, const struct delta_memory *m)
{
	account_resize(account, &m->booking, m->bytes);
}

static void add_booking(struct account *account, const struct delta_memory *m)
{
	account_add(account, &m->booking);
}

static void remove_booking(struct account *account, const struct delta_memory *m)
{
	account_remove(account, &m->booking);
}

static void restore_booking(struct account *account, const struct delta_memory *m)
{
	account_restore(account, &m->booking);
}

static void fail_booking(struct account *account, const struct delta_memory *m)
{
	account_fail(account, &m->booking);
}

static void (*const bookings[])(struct account *account, const struct delta_memory *m) = {
	[DELTA_ALLOC] = add_booking,
	[DELTA_FREE] = remove_booking,
	[DELTA_RESTORE] = restore_booking,
	[DELTA_MOVE] = move_booking,
	[DELTA_RESIZE] = resize_booking,
	[DELTA_FAIL] = fail_booking,
};

void book_memory(struct process *p, enum delta_kind kind, const struct delta_memory *memory)
{
	if (memory->booking.class >= GMT_CLASS_COUNT)
		return;
	bookings[kind](&p->account, memory);
	if (p->out->wanted & DELTA_BIT(kind))
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
